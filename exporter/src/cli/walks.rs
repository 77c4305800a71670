//! How walks of the stacks of one process end, seen for a while.

use std::{collections::HashSet, time::Duration};

use serde_json::{Map, Value};

use super::outcome::Failure;
use crate::{
    capture::{Capture, CaptureOptions},
    identity::{
        HostIdentity, Roots,
        cloud::{Choice, CloudSettings},
        kubernetes::KubernetesSettings,
    },
    settings::DEFAULT_FREQUENCY,
    signal::{Signal, status::WALK_ENDS, syscalls},
};

/// Samples a process for some time, running and waiting, and counts how the walks ended, by name. Names of
/// what did not happen are left out.
pub(super) fn watch(
    pid: u32,
    time: Duration,
    roots: &Roots,
    host: HostIdentity,
) -> Result<Value, Failure> {
    let options = CaptureOptions {
        frequency: DEFAULT_FREQUENCY,
        window: time,
        signals: vec![Signal::OnCpu, Signal::OffCpu, Signal::RunQueue],
        wait_period: Duration::from_millis(10),
        waker_stacks: false,
        focus: Vec::new(),
        pids: HashSet::from([pid]),
        lines: false,
        syscalls: syscalls::Settings::default(),
        // Nothing that is sent or written needs an identity here.
        cloud: CloudSettings {
            choice: Choice::Off,
            endpoint: None,
        },
        kubernetes: KubernetesSettings::off(),
        detailed_samples: false,
    };
    let mut capture = Capture::start(options, roots, host)?;
    std::thread::sleep(time);
    capture.end_window()?;
    let walks = capture
        .last_reading()
        .map(|reading| reading.walks)
        .unwrap_or_default();
    let counts = WALK_ENDS.iter().filter_map(|(end, name)| {
        let count = walks
            .get(*end as usize)
            .copied()
            .filter(|count| *count > 0)?;
        Some(((*name).to_owned(), Value::from(count)))
    });
    Ok(Value::Object(counts.collect::<Map<_, _>>()))
}
