//! What `inspect process` prints; `inspect resource` prints [`HostIdentity::agent_attributes`], an
//! object of attributes with `value` and `source`.

use std::collections::BTreeMap;

use evenkeel_otlp::model::Value;
use serde::Serialize;
use thiserror::Error;

use super::{
    file::read_bounded, host::HostIdentity, process::ProcessKey, process_directory::ProcessReader,
    process_table::ProcessTable, roots::Roots, text::printable,
};

/// `/proc/stat` grows with the CPUs and interrupts; `btime` stands after both.
const MAX_STAT_BYTES: usize = 4 << 20;

/// Enough for the process and the ancestors that it may inherit from.
const CAPACITY: usize = 64;

/// Why a process cannot be inspected.
#[derive(Debug, PartialEq, Eq, Error)]
pub enum InspectError {
    /// No process has this id, or it ended while it was read.
    #[error("there is no process {pid}")]
    NoProcess {
        /// The id that was asked for.
        pid: u32,
    },
}

/// All that is known of a process. Unknown things are `null`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProcessInspection {
    /// Process id on the host.
    pub pid: u32,
    /// When it was started: RFC 3339, UTC, to the clock tick (10 ms).
    pub start_time: Option<String>,
    /// Its program.
    pub executable: ExecutableInspection,
    /// Its container.
    pub container_id: Option<String>,
    /// Its pod.
    pub kubernetes: Option<serde_json::Value>,
    /// The service it is counted to, and why.
    pub service_name: ServiceNameInspection,
    /// The resource that its samples are sent with.
    pub resource: BTreeMap<String, String>,
    /// The state of unwinding; filled in by the unwinder.
    pub unwind: Option<serde_json::Value>,
    /// The state of its symbols; filled in by the symbolizer.
    pub symbols: Option<serde_json::Value>,
}

/// A program file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExecutableInspection {
    /// Path in the process's mount namespace, made printable.
    pub path: Option<String>,
    /// Name in reports.
    pub name: String,
    /// Build id; filled in by the symbolizer.
    pub build_id: Option<String>,
}

/// A service name and the rule that gave it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ServiceNameInspection {
    /// The name.
    pub value: String,
    /// The rule, in words.
    pub source: String,
}

impl ProcessInspection {
    /// Reads a process in the way that the agent does at its first sample.
    pub fn read(roots: &Roots, host: &HostIdentity, pid: u32) -> Result<Self, InspectError> {
        let no_process = InspectError::NoProcess { pid };
        let Some((_, ticks)) = ProcessReader::new(&roots.proc).parent_and_start(pid) else {
            return Err(no_process);
        };
        let key = ProcessKey::from_ticks(pid, ticks);
        let process = ProcessTable::new(roots, host, CAPACITY).observe(key, b"");
        if process.exited {
            return Err(no_process);
        }
        let resource = process.owner.resource.attributes.iter();
        Ok(Self {
            pid,
            start_time: start_time(roots, ticks),
            executable: ExecutableInspection {
                path: process
                    .executable_path
                    .as_ref()
                    .map(|path| printable(path.as_os_str().as_encoded_bytes(), 4096)),
                name: process.executable_name.to_string(),
                build_id: None,
            },
            container_id: process.owner.container_id.as_deref().map(str::to_owned),
            kubernetes: None,
            service_name: ServiceNameInspection {
                value: process.owner.service_name.to_string(),
                source: process.service_name_source.to_string(),
            },
            resource: resource
                .map(|attribute| (attribute.key.to_string(), text(&attribute.value)))
                .collect(),
            unwind: None,
            symbols: None,
        })
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
    }
}

fn start_time(roots: &Roots, start_ticks: u64) -> Option<String> {
    let stat = read_bounded(&roots.proc.join("stat"), MAX_STAT_BYTES).ok()?;
    let boot_seconds: u64 = stat
        .split(|byte| *byte == b'\n')
        .find_map(|line| line.strip_prefix(b"btime "))
        .and_then(|text| std::str::from_utf8(text).ok()?.trim().parse().ok())?;
    let centiseconds = boot_seconds.checked_mul(100)?.checked_add(start_ticks)?;
    rfc3339(centiseconds)
}

/// A time as text. The calendar is Howard Hinnant's `civil_from_days`, for days since 1970 only.
fn rfc3339(unix_centiseconds: u64) -> Option<String> {
    let (seconds, centiseconds) = (unix_centiseconds / 100, unix_centiseconds % 100);
    let (days, second_of_day) = (seconds / 86_400, seconds % 86_400);
    // Eras of 400 years, counted from 1 March of the year 0.
    let days = days.checked_add(719_468)?;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    if year > 9999 {
        return None;
    }
    let (hour, minute, second) = (
        second_of_day / 3600,
        second_of_day / 60 % 60,
        second_of_day % 60,
    );
    Some(format!(
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{centiseconds:02}Z"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::test_support::{FakeProc, FakeProcess};

    /// The keys are those of the contract, with `null` for what is unknown.
    #[test]
    fn has_the_keys_of_the_contract() {
        let fake = FakeProc::new();
        fake.write("proc/stat", "cpu 1 2 3\nbtime 1767225600\n");
        fake.add(&FakeProcess {
            start_ticks: 150,
            environ: b"OTEL_SERVICE_NAME=pay\0",
            ..FakeProcess::default()
        });
        let inspection =
            ProcessInspection::read(&fake.roots(), &HostIdentity::default(), 100).unwrap();
        let json = serde_json::to_value(&inspection).unwrap();
        assert_eq!(json["pid"], 100);
        assert_eq!(json["start_time"], "2026-01-01T00:00:01.50Z");
        assert_eq!(json["executable"]["path"], "/usr/bin/worker");
        assert_eq!(json["executable"]["name"], "worker");
        assert_eq!(json["service_name"]["value"], "pay");
        assert_eq!(
            json["service_name"]["source"],
            "OTEL_SERVICE_NAME of the process"
        );
        assert_eq!(json["resource"]["service.name"], "pay");
        let keys: Vec<_> = json
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        let mut expected = vec![
            "pid",
            "start_time",
            "executable",
            "container_id",
            "kubernetes",
            "service_name",
            "resource",
            "unwind",
            "symbols",
        ];
        expected.sort_unstable();
        assert_eq!(keys, expected);
        assert!(json["kubernetes"].is_null() && json["container_id"].is_null());
    }

    /// A process that is not there is an error.
    #[test]
    fn missing_process() {
        let fake = FakeProc::new();
        assert_eq!(
            ProcessInspection::read(&fake.roots(), &HostIdentity::default(), 7),
            Err(InspectError::NoProcess { pid: 7 })
        );
    }

    /// Leap days and ends of years come out right.
    #[test]
    fn calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00.00Z"),
            (951_782_399, "2000-02-28T23:59:59.00Z"),
            (951_782_400, "2000-02-29T00:00:00.00Z"),
            (1_709_251_199, "2024-02-29T23:59:59.00Z"),
            (4_102_444_799, "2099-12-31T23:59:59.00Z"),
        ] {
            assert_eq!(rfc3339(seconds * 100).as_deref(), Some(expected));
        }
        assert_eq!(rfc3339(u64::MAX), None);
    }
}
