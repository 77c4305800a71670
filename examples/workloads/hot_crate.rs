//! Spins for SECONDS in `hot_crate::module::hot_rust` and, by turns, in the method of a generic type,
//! then prints its work. Usage: hot_crate SECONDS

use std::time::{Duration, Instant};

mod module {
    use std::hint::black_box;

    /// About a millisecond of arithmetic.
    #[inline(never)]
    pub fn hot_rust(seed: u64) -> u64 {
        let mut value = seed;
        for _ in 0..400_000_u64 {
            value = black_box(value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
        value
    }

    /// Its instance's name holds a type argument, which v0 mangling spells out.
    pub struct Mixer<T>(pub T);

    impl<T: Into<u64> + Copy> Mixer<T> {
        #[inline(never)]
        pub fn hot_method(&self, seed: u64) -> u64 {
            let mut value = seed ^ self.0.into();
            for _ in 0..400_000_u64 {
                value = black_box(value.rotate_left(7).wrapping_add(3));
            }
            value
        }
    }
}

fn main() {
    let seconds: f64 = std::env::args()
        .nth(1)
        .and_then(|text| text.parse().ok())
        .filter(|seconds| (0.0..=900.0).contains(seconds))
        .unwrap_or_else(|| {
            eprintln!("usage: hot_crate SECONDS (at most 900)");
            std::process::exit(2);
        });
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let mixer = module::Mixer(41_u32);
    let mut value = 1;
    while Instant::now() < end {
        value = module::hot_rust(value);
        value = mixer.hot_method(value);
    }
    println!("result {value}");
}
