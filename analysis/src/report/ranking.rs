//! Who took how much: functions, lines, processes, containers, services.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::label::Labels;
use crate::summary::{NodeId, Owner, Profile, Summary};

/// How much of a profile a label took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ranked {
    /// Position among the labels.
    pub(super) label: u32,
    /// Value of samples in it, callees left out.
    pub(super) self_value: i64,
    /// Value of samples that have it anywhere in their stack; recursion counts once.
    pub(super) total: i64,
}

/// Labels of a profile by their own value, then by total, then by name.
pub(super) fn labels(
    summary: &Summary,
    profile: &Profile,
    labels: &Labels,
    wanted: impl Fn(&Owner) -> bool,
) -> Vec<Ranked> {
    let stacks = summary.stacks();
    // Owners that share a stack walk it once.
    let mut by_node = HashMap::<NodeId, i64>::new();
    for (&(node, owner), &value) in &profile.samples {
        if summary.owner(owner).is_some_and(&wanted) {
            let entry = by_node.entry(node).or_insert(0);
            *entry = entry.saturating_add(value);
        }
    }
    let count = labels.all().len();
    let mut selfs = vec![0_i64; count];
    let mut totals = vec![0_i64; count];
    // The number of the last stack that met a label, so that recursion counts once.
    let mut met = vec![0_u64; count];
    for ((node, value), number) in by_node.into_iter().zip(1_u64..) {
        let mut is_leaf = true;
        for frame in stacks.leaf_first(node) {
            for placed in labels.of(frame).iter().rev() {
                let index = placed.label as usize;
                if is_leaf {
                    add(&mut selfs, index, value);
                    is_leaf = false;
                }
                if let Some(last) = met.get_mut(index)
                    && *last != number
                {
                    *last = number;
                    add(&mut totals, index, value);
                }
            }
        }
        if is_leaf {
            add(&mut selfs, Labels::NO_STACK as usize, value);
            add(&mut totals, Labels::NO_STACK as usize, value);
        }
    }
    let mut ranked = selfs
        .into_iter()
        .zip(totals)
        .zip(0_u32..)
        .filter(|((_, total), _)| *total > 0)
        .map(|((self_value, total), label)| Ranked {
            label,
            self_value,
            total,
        })
        .collect::<Vec<_>>();
    ranked.sort_by(|a, b| {
        let name = |ranked: &Ranked| {
            labels
                .all()
                .get_index(ranked.label as usize)
                .map(|label| (&label.name, &label.module, &label.file, label.line))
        };
        (b.self_value, b.total)
            .cmp(&(a.self_value, a.total))
            .then_with(|| name(a).cmp(&name(b)))
    });
    ranked
}

fn add(values: &mut [i64], index: usize, value: i64) {
    if let Some(entry) = values.get_mut(index) {
        *entry = entry.saturating_add(value);
    }
}

/// What owners are grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnerKey {
    /// Executable name.
    Process,
    /// Container id; empty for what runs outside containers.
    Container,
    /// Service name.
    Service,
}

/// How much of a profile a group of owners took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OwnerRow {
    /// Name of the group; empty when the recording gives none.
    pub(super) name: String,
    /// Value of its samples.
    pub(super) value: i64,
    /// Process names in it.
    pub(super) processes: BTreeSet<String>,
    /// Services in it.
    pub(super) services: BTreeSet<String>,
    /// Containers in it.
    pub(super) containers: BTreeSet<String>,
    /// Process ids by value, largest first; only for groups of processes.
    pub(super) pids: Vec<(i64, i64)>,
}

impl OwnerRow {
    /// The process id, or how many there are.
    pub(super) fn pids_text(&self) -> String {
        match self.pids.as_slice() {
            [] => or_dash(""),
            [(pid, _)] => pid.to_string(),
            several => format!("{} pids", several.len()),
        }
    }

    /// The first services.
    pub(super) fn services_text(&self) -> String {
        first(&self.services)
    }

    /// The first processes.
    pub(super) fn processes_text(&self) -> String {
        first(&self.processes)
    }

    /// The container, if it is one.
    pub(super) fn container_text(&self) -> String {
        let mut ids = self.containers.iter();
        match (ids.next(), ids.next()) {
            (None, _) => or_dash(""),
            (Some(only), None) => short_container(only),
            _ => "(several)".to_owned(),
        }
    }
}

/// The first three names, and how many more there are.
fn first(names: &BTreeSet<String>) -> String {
    let mut shown = names.iter().take(3).cloned().collect::<Vec<_>>().join(" ");
    if names.len() > 3 {
        shown.push_str(&format!(" +{}", names.len() - 3));
    }
    or_dash(&shown)
}

/// The first twelve digits, as container tools print them.
pub(super) fn short_container(id: &str) -> String {
    if id.is_empty() {
        "(none)".to_owned()
    } else {
        id.chars().take(12).collect()
    }
}

/// The text, or a dash where there is none.
pub(super) fn or_dash(text: &str) -> String {
    if text.is_empty() { "-" } else { text }.to_owned()
}

/// Groups of owners by value, then by name.
pub(super) fn owners(
    summary: &Summary,
    profile: &Profile,
    key: OwnerKey,
    wanted: impl Fn(&Owner) -> bool,
) -> Vec<OwnerRow> {
    let stacks = summary.stacks();
    let mut rows = BTreeMap::<&str, OwnerRow>::new();
    for (&(_, owner), &value) in &profile.samples {
        let Some(owner) = summary.owner(owner).filter(|owner| wanted(owner)) else {
            continue;
        };
        let name = stacks.resolve(match key {
            OwnerKey::Process => owner.process,
            OwnerKey::Container => owner.container,
            OwnerKey::Service => owner.service,
        });
        let row = rows.entry(name).or_insert_with(|| OwnerRow {
            name: name.to_owned(),
            ..OwnerRow::default()
        });
        row.value = row.value.saturating_add(value);
        for (set, id) in [
            (&mut row.processes, owner.process),
            (&mut row.services, owner.service),
            (&mut row.containers, owner.container),
        ] {
            let text = stacks.resolve(id);
            if !text.is_empty() && !set.contains(text) {
                set.insert(text.to_owned());
            }
        }
    }
    if key == OwnerKey::Process {
        for (&(process, pid), &value) in &profile.processes {
            if let (Some(row), Some(pid)) = (rows.get_mut(stacks.resolve(process)), pid) {
                row.pids.push((pid, value));
            }
        }
        for row in rows.values_mut() {
            row.pids.sort_by_key(|&(pid, value)| (-value, pid));
        }
    }
    let mut rows = rows.into_values().collect::<Vec<_>>();
    rows.sort_by(|a, b| b.value.cmp(&a.value).then_with(|| a.name.cmp(&b.name)));
    rows
}
