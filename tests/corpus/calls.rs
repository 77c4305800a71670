//! main -> outer -> Work::inner, for as many seconds as the first argument says.

use std::time::{Duration, Instant};

mod module {
    use super::*;

    pub struct Work<T>(pub T);

    impl Work<u64> {
        /// The clock is read so seldom that nearly all samples are here.
        #[inline(never)]
        pub fn inner(&mut self, end: Instant) {
            while Instant::now() < end {
                for _ in 0..1_000_000 {
                    self.0 = std::hint::black_box(self.0.wrapping_mul(31).wrapping_add(7));
                }
            }
        }
    }

    #[inline(never)]
    pub fn outer(work: &mut Work<u64>, end: Instant) -> u64 {
        work.inner(end);
        std::hint::black_box(work.0)
    }
}

fn main() {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let end = Instant::now() + Duration::from_secs(seconds.unwrap_or(1));
    let mut work = module::Work(1);
    std::process::exit((module::outer(&mut work, end) == 0).into());
}
