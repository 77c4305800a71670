//! The lane against a scripted destination, in paused time: minutes pass in milliseconds.

use super::{
    super::{
        client::{Outcome, Transport},
        lane::Lane,
    },
    *,
};
use std::sync::{Arc, Mutex};
use tokio::{sync::watch, time::Instant};

/// Answers by the clock and keeps when it was asked for what.
#[derive(Clone)]
struct Scripted<F> {
    answer: F,
    start: Instant,
    asked: Arc<Mutex<Vec<(Duration, Bytes)>>>,
}

impl<F: Fn(Duration, usize) -> (Duration, Outcome) + Send + Sync> Transport for Scripted<F> {
    /// The script says how long the answer takes and what it is.
    async fn export(&mut self, request: Bytes) -> Outcome {
        let at = self.start.elapsed();
        let count = {
            let mut asked = self.asked.lock().unwrap();
            asked.push((at, request));
            asked.len() - 1
        };
        let (takes, outcome) = (self.answer)(at, count);
        tokio::time::sleep(takes).await;
        outcome
    }
}

struct Rig {
    lane: Arc<Lane>,
    stop: watch::Sender<Option<Instant>>,
    asked: Arc<Mutex<Vec<(Duration, Bytes)>>>,
    running: tokio::task::JoinHandle<()>,
}

impl Rig {
    fn start(
        bounds: QueueBounds,
        answer: impl Fn(Duration, usize) -> (Duration, Outcome) + Send + Sync + Clone + 'static,
    ) -> Self {
        let lane = Arc::new(Lane::new(Signal::Metrics, "test".to_owned(), bounds));
        let (stop, told) = watch::channel(None);
        let asked = Arc::default();
        let transport = Scripted {
            answer,
            start: Instant::now(),
            asked: Arc::clone(&asked),
        };
        let running = tokio::spawn({
            let lane = Arc::clone(&lane);
            async move { lane.run(transport, RetryPolicy::default(), told).await }
        });
        Self {
            lane,
            stop,
            asked,
            running,
        }
    }

    fn push(&self, number: u64) {
        self.lane
            .push(number, window(Signal::Metrics, number).requests);
    }

    fn asked_at(&self) -> Vec<Duration> {
        self.asked
            .lock()
            .unwrap()
            .iter()
            .map(|(at, _)| *at)
            .collect()
    }

    async fn stop(self, deadline: Duration) -> SignalAccounts {
        self.stop.send_replace(Some(Instant::now() + deadline));
        self.running.await.unwrap();
        let accounts = self.lane.accounts();
        assert!(accounts.balanced(), "{accounts:?}");
        assert_eq!(
            (accounts.queued, accounts.in_flight, accounts.queued_bytes),
            (0, 0, 0)
        );
        accounts
    }
}

const BOUNDS: QueueBounds = QueueBounds {
    bytes: 1 << 20,
    windows: 32,
};

fn down() -> Outcome {
    Outcome::Retryable {
        reason: "down".to_owned(),
        delay: None,
    }
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Ten minutes without a Collector at a window each 10 s: what the queue held when it came back
/// arrives in order, within one back-off; only what exceeded the queue is lost, and counted; and
/// the tries in between are few.
#[tokio::test(start_paused = true)]
async fn down_for_ten_minutes() {
    let rig = Rig::start(BOUNDS, |at, _| {
        let outcome = if at < seconds(600) {
            down()
        } else {
            Outcome::Accepted
        };
        (Duration::ZERO, outcome)
    });
    for number in 0..60 {
        rig.push(number);
        tokio::time::sleep(seconds(10)).await;
        let accounts = rig.lane.accounts();
        assert!(accounts.balanced() && accounts.queued + accounts.in_flight <= 32);
    }
    tokio::time::sleep(seconds(30)).await;
    let accounts = rig.lane.accounts();
    assert_eq!((accounts.made, accounts.sent), (60, 32));
    assert_eq!(accounts.dropped(DropReason::QueueFull), 28);

    let asked = rig.asked.lock().unwrap().clone();
    let tries = asked.iter().filter(|(at, _)| *at < seconds(600)).count();
    assert!((20..=50).contains(&tries), "{tries}");
    let arrived: Vec<_> = asked
        .iter()
        .filter(|(at, _)| *at >= seconds(600))
        .map(|(_, request)| request.clone())
        .collect();
    let expected: Vec<_> = (28..60)
        .map(|number| request(Signal::Metrics, &number.to_string()))
        .collect();
    assert_eq!(arrived, expected);
    assert_eq!(rig.stop(seconds(5)).await.dropped_in_all(), 28);
}

/// A server that asks for a time gets it, and one that asks for ever gets five minutes.
#[tokio::test(start_paused = true)]
async fn server_delay_is_kept() {
    let rig = Rig::start(BOUNDS, |_, count| {
        let delay = [seconds(90), Duration::MAX].get(count).copied();
        let outcome = delay.map_or(Outcome::Accepted, |delay| Outcome::Retryable {
            reason: "busy".to_owned(),
            delay: Some(delay),
        });
        (Duration::ZERO, outcome)
    });
    rig.push(0);
    tokio::time::sleep(seconds(1000)).await;
    let asked = rig.asked_at();
    let gaps: Vec<_> = asked
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).as_secs())
        .collect();
    assert_eq!(gaps, [90, 300]);
    assert_eq!(rig.stop(seconds(1)).await.sent, 1);
}

/// A refusal for good costs its window only, at once; a partial success is not sent again.
#[tokio::test(start_paused = true)]
async fn no_blocking() {
    let rig = Rig::start(BOUNDS, |_, count| {
        let outcome = match count {
            0 => Outcome::Refused {
                reason: "INVALID_ARGUMENT".to_owned(),
            },
            1 => Outcome::Partial {
                rejected: 5,
                message: "old".to_owned(),
            },
            _ => Outcome::Accepted,
        };
        (Duration::ZERO, outcome)
    });
    (0..3).for_each(|number| rig.push(number));
    tokio::time::sleep(Duration::from_millis(10)).await;
    assert_eq!(rig.asked_at().len(), 3);
    let accounts = rig.stop(seconds(1)).await;
    assert_eq!(
        (accounts.sent, accounts.dropped(DropReason::Refused)),
        (2, 1)
    );
    assert_eq!(
        (accounts.partially_rejected, accounts.rejected_items),
        (1, 5)
    );
    assert_eq!(accounts.retries, 0);
}

/// Of a window of several requests only those that were not accepted are sent again.
#[tokio::test(start_paused = true)]
async fn resends_the_rest() {
    let rig = Rig::start(BOUNDS, |_, count| {
        let outcome = if count == 1 {
            down()
        } else {
            Outcome::Accepted
        };
        (Duration::ZERO, outcome)
    });
    let requests: Vec<_> = ["a", "b", "c"]
        .map(|mark| request(Signal::Metrics, mark))
        .into();
    rig.lane.push(0, requests.clone());
    tokio::time::sleep(seconds(5)).await;
    let asked: Vec<_> = rig
        .asked
        .lock()
        .unwrap()
        .iter()
        .map(|(_, r)| r.clone())
        .collect();
    let [a, b, c] = &requests[..] else { panic!() };
    assert_eq!(asked.iter().collect::<Vec<_>>(), [a, b, b, c]);
    let accounts = rig.stop(seconds(1)).await;
    assert_eq!(
        (accounts.sent, accounts.retries, accounts.requests_sent),
        (1, 1, 3)
    );
}

/// A stop cuts a long back-off short and sends what waits.
#[tokio::test(start_paused = true)]
async fn stop_flushes() {
    let rig = Rig::start(BOUNDS, |at, _| {
        let outcome = if at < seconds(100) {
            down()
        } else {
            Outcome::Accepted
        };
        (Duration::from_millis(100), outcome)
    });
    (0..10).for_each(|number| rig.push(number));
    tokio::time::sleep(seconds(100)).await;
    let begun = Instant::now();
    let accounts = rig.stop(seconds(5)).await;
    assert_eq!((accounts.sent, accounts.dropped_in_all()), (10, 0));
    assert!(begun.elapsed() <= seconds(2), "{:?}", begun.elapsed());
}

/// A stop ends at its deadline although the destination answers never, and counts what it lost.
#[tokio::test(start_paused = true)]
async fn stop_keeps_its_deadline() {
    for takes in [seconds(3600), Duration::ZERO] {
        let rig = Rig::start(BOUNDS, move |_, _| (takes, down()));
        (0..10).for_each(|number| rig.push(number));
        tokio::time::sleep(seconds(1)).await;
        let begun = Instant::now();
        let accounts = rig.stop(seconds(5)).await;
        assert_eq!(begun.elapsed().as_secs(), 5);
        assert_eq!(accounts.dropped(DropReason::Shutdown), 10);
    }
}
