//! A Rust mutex and a Rust condition variable for SECONDS: threads `mutex-a` and `mutex-b` take the mutex by
//! turns and hold it for five milliseconds, and `consumer` waits for what `producer` hands over every three.
//! Usage: rust_locks SECONDS

use std::{
    hint::spin_loop,
    sync::{Arc, Condvar, Mutex},
    thread,
    time::{Duration, Instant},
};

#[inline(never)]
fn spin(duration: Duration) {
    let end = Instant::now() + duration;
    while Instant::now() < end {
        spin_loop();
    }
}

#[inline(never)]
fn take_turns(mutex: &Mutex<u64>, end: Instant) {
    while Instant::now() < end {
        {
            let mut value = mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            *value += 1;
            spin(Duration::from_millis(5));
        }
        // A mutex is not fair: who has just had it would mostly take it again.
        thread::sleep(Duration::from_micros(100));
    }
}

#[inline(never)]
fn consume(queue: &(Mutex<u64>, Condvar), end: Instant) {
    while Instant::now() < end {
        let (mutex, filled) = queue;
        let mut items = mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        while *items == 0 {
            items = filled.wait(items).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        *items -= 1;
    }
}

fn main() {
    let seconds = std::env::args()
        .nth(1)
        .and_then(|text| text.parse::<f64>().ok())
        .filter(|seconds| *seconds > 0.0 && *seconds <= 900.0);
    let Some(seconds) = seconds else {
        eprintln!("usage: rust_locks SECONDS, above 0 and at most 900");
        std::process::exit(2);
    };
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let mutex = Arc::new(Mutex::new(0));
    let queue = Arc::new((Mutex::new(0), Condvar::new()));
    let mut threads = Vec::new();
    for name in ["mutex-a", "mutex-b"] {
        let mutex = mutex.clone();
        let body = move || take_turns(&mutex, end);
        threads.push(thread::Builder::new().name(name.into()).spawn(body));
    }
    let consumed = queue.clone();
    let body = move || consume(&consumed, end);
    threads.push(thread::Builder::new().name("consumer".into()).spawn(body));
    while Instant::now() < end + Duration::from_millis(50) {
        thread::sleep(Duration::from_millis(3));
        *queue.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) += 1;
        queue.1.notify_one();
    }
    for thread in threads {
        if !thread.is_ok_and(|thread| thread.join().is_ok()) {
            std::process::exit(1);
        }
    }
}
