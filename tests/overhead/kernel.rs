//! What the kernel accounts for the BPF objects that a process holds.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use anyhow::{Context as _, Result};

/// The fields of each open file of `pid` that is a BPF object (`bpf_prog_show_fdinfo` and
/// `bpf_map_show_fdinfo` of kernel/bpf/syscall.c).
fn fdinfo(pid: u32) -> Result<Vec<BTreeMap<String, String>>> {
    let mut objects = Vec::new();
    let folder = format!("/proc/{pid}/fdinfo");
    for entry in fs::read_dir(&folder).with_context(|| folder.clone())? {
        // A file may be closed between the listing and the reading.
        let Ok(text) = fs::read_to_string(entry?.path()) else {
            continue;
        };
        let fields: BTreeMap<String, String> = text
            .lines()
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
            .collect();
        objects.push(fields);
    }
    Ok(objects)
}

fn number(fields: &BTreeMap<String, String>, name: &str) -> Result<u64> {
    let text = fields
        .get(name)
        .with_context(|| format!("no {name} in fdinfo"))?;
    text.parse()
        .with_context(|| format!("{name} in fdinfo: {text:?}"))
}

/// Kernel memory in bytes of all maps that the process holds, each once.
pub(crate) fn map_memory(pid: u32) -> Result<u64> {
    let (mut seen, mut sum) = (BTreeSet::new(), 0);
    for fields in fdinfo(pid)? {
        if fields.contains_key("map_type") && seen.insert(number(&fields, "map_id")?) {
            sum += number(&fields, "memlock")?;
        }
    }
    Ok(sum)
}

/// Run counts of programs by id.
#[derive(Debug)]
pub(crate) struct Programs(BTreeMap<u64, Runs>);

/// What one program has done.
#[derive(Clone, Debug)]
pub(crate) struct Runs {
    /// Its name as the kernel shows it, cut to 15 bytes, or its tag.
    pub(crate) name: String,
    /// Number of runs.
    pub(crate) runs: u64,
    nanos: u64,
}

impl Runs {
    #[cfg(test)]
    pub(crate) fn new(name: &str, runs: u64, nanos: u64) -> Self {
        Self {
            name: name.to_owned(),
            runs,
            nanos,
        }
    }

    /// Number of runs.
    #[expect(
        clippy::cast_precision_loss,
        reason = "run counts of minutes fit 53 bits"
    )]
    pub(crate) fn count(&self) -> f64 {
        self.runs as f64
    }

    /// Time spent in it.
    #[expect(
        clippy::cast_precision_loss,
        reason = "run times of minutes fit 53 bits"
    )]
    pub(crate) fn seconds(&self) -> f64 {
        self.nanos as f64 / 1e9
    }

    /// Time of one run, 0 without any.
    pub(crate) fn mean_nanos(&self) -> f64 {
        self.seconds() * 1e9 / self.count().max(1.0)
    }
}

impl Programs {
    /// Before there were any.
    pub(crate) fn none() -> Self {
        Self(BTreeMap::new())
    }

    /// The programs that `pid` holds.
    pub(crate) fn of(pid: u32) -> Result<Self> {
        let symbols = fs::read_to_string("/proc/kallsyms").unwrap_or_default();
        let mut programs = BTreeMap::new();
        for fields in fdinfo(pid)? {
            let (Some(tag), true) = (fields.get("prog_tag"), fields.contains_key("prog_type"))
            else {
                continue;
            };
            let runs = Runs {
                name: name(&symbols, tag),
                runs: number(&fields, "run_cnt")?,
                nanos: number(&fields, "run_time_ns")?,
            };
            programs.insert(number(&fields, "prog_id")?, runs);
        }
        Ok(Self(programs))
    }

    /// What was added since `before`, most time first.
    pub(crate) fn since(&self, before: &Self) -> Vec<Runs> {
        let mut rows: Vec<Runs> = self
            .0
            .iter()
            .map(|(id, after)| {
                let (runs, nanos) = before
                    .0
                    .get(id)
                    .map_or((0, 0), |runs| (runs.runs, runs.nanos));
                Runs {
                    name: after.name.clone(),
                    runs: after.runs.saturating_sub(runs),
                    nanos: after.nanos.saturating_sub(nanos),
                }
            })
            .collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.nanos));
        rows
    }
}

/// fdinfo has no names, but a compiled program is a symbol of the kernel: `bpf_prog_TAG_NAME`.
fn name(symbols: &str, tag: &str) -> String {
    let prefix = format!("bpf_prog_{tag}_");
    symbols
        .lines()
        .rev()
        .filter_map(|line| line.split_whitespace().nth(2))
        .find_map(|symbol| symbol.strip_prefix(&prefix))
        .unwrap_or(tag)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program's name stands behind its tag; without a symbol the tag itself is shown.
    #[test]
    fn names_stand_behind_tags() {
        let symbols = "ffffffffc0000000 t bpf_prog_6deef7357e7b4530_sd_fw_egress\t[bpf]\n\
                       ffffffffc0000100 t bpf_prog_0123456789abcdef_on_cpu\t[bpf]\n";
        assert_eq!(name(symbols, "0123456789abcdef"), "on_cpu");
        assert_eq!(name(symbols, "ffffffffffffffff"), "ffffffffffffffff");
    }
}
