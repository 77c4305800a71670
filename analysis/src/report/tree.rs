//! Stacks merged by name: what folded lines and flame graphs are drawn from.

use std::collections::HashMap;

use indexmap::IndexSet;

use super::label::{Label, Labels, Placed};
use crate::summary::{NodeId, Profile, Summary, TextId};

/// A tree of names from the root, the process first.
#[derive(Debug)]
pub(super) struct CallTree {
    names: IndexSet<String>,
    /// Parent and name of each node; node 0 is the root and its own parent.
    nodes: IndexSet<(u32, u32)>,
    /// Value of samples that end in each node.
    selfs: Vec<i64>,
}

impl CallTree {
    /// Merges the stacks of a profile; `name` writes processes (`None`) and labels.
    pub(super) fn new(
        summary: &Summary,
        profile: &Profile,
        labels: &Labels,
        process_name: impl Fn(&str) -> String,
        label_name: impl Fn(&Label, Placed) -> String,
    ) -> Self {
        let stacks = summary.stacks();
        let mut tree = Self {
            names: IndexSet::new(),
            nodes: IndexSet::from([(0, 0)]),
            selfs: vec![0],
        };
        tree.names.insert(String::new());
        let mut label_names = HashMap::<(u32, bool), u32>::new();
        // Where each stack of each process ended up, so that shared callers are merged once.
        let mut merged = HashMap::<(TextId, NodeId), u32>::new();
        let mut pending = Vec::new();
        for (&(node, owner), &value) in &profile.samples {
            let Some(owner) = summary.owner(owner) else {
                continue;
            };
            let mut at = node;
            let mut found = None;
            while found.is_none() {
                found = merged.get(&(owner.process, at)).copied();
                if found.is_none() {
                    match stacks.caller(at) {
                        Some((parent, frame)) => {
                            pending.push((at, frame));
                            at = parent;
                        }
                        None => {
                            let name = process_name(stacks.resolve(owner.process));
                            let name = tree.names.insert_full(name).0 as u32;
                            let root = tree.child(0, name);
                            merged.insert((owner.process, at), root);
                            found = Some(root);
                        }
                    }
                }
            }
            let mut position = found.unwrap_or(0);
            while let Some((node, frame)) = pending.pop() {
                for &placed in labels.of(frame) {
                    let name = match label_names.get(&(placed.label, placed.inlined)) {
                        Some(name) => *name,
                        None => {
                            let Some(label) = labels.all().get_index(placed.label as usize) else {
                                continue;
                            };
                            let name = label_name(label, placed);
                            let name = tree.names.insert_full(name).0 as u32;
                            label_names.insert((placed.label, placed.inlined), name);
                            name
                        }
                    };
                    position = tree.child(position, name);
                }
                merged.insert((owner.process, node), position);
            }
            if let Some(entry) = tree.selfs.get_mut(position as usize) {
                *entry = entry.saturating_add(value);
            }
        }
        tree
    }

    fn child(&mut self, parent: u32, name: u32) -> u32 {
        let (index, is_new) = self.nodes.insert_full((parent, name));
        if is_new {
            self.selfs.push(0);
        }
        index as u32
    }

    /// Moves the value of nodes that hold less than `least` into their callers, so that a drawing
    /// has no more nodes than it can show. Returns how many nodes were dropped.
    pub(super) fn prune(&mut self, least: i64) -> usize {
        let mut totals = self.selfs.clone();
        let mut dropped = 0;
        // A node comes after its caller, so from the end each total is complete when it is met.
        for index in (1..self.nodes.len()).rev() {
            let (Some(&(parent, _)), Some(&total)) =
                (self.nodes.get_index(index), totals.get(index))
            else {
                continue;
            };
            if let Some(above) = totals.get_mut(parent as usize) {
                *above = above.saturating_add(total);
            }
            // Children are smaller than their callers, so they are in the node by now.
            if total < least && total > 0 {
                dropped += 1;
                if let Some(own) = self.selfs.get_mut(index) {
                    *own = 0;
                }
                if let Some(above) = self.selfs.get_mut(parent as usize) {
                    *above = above.saturating_add(total);
                }
            }
        }
        dropped
    }

    /// Calls `visit` with the names from the process to the leaf and the value of every stack that
    /// has samples, in the order of a walk that visits children by name: stacks that share callers
    /// come one after the other. Stops at the first error.
    pub(super) fn visit<'a, E>(
        &'a self,
        mut visit: impl FnMut(&[&'a str], i64) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut children = vec![Vec::new(); self.nodes.len()];
        for (index, &(parent, _)) in self.nodes.iter().enumerate().skip(1) {
            if let Some(list) = children.get_mut(parent as usize) {
                list.push(index as u32);
            }
        }
        for list in &mut children {
            list.sort_by(|&a, &b| self.name(a).cmp(self.name(b)));
        }
        let mut names = Vec::new();
        // A node, and how many names lie above it with its own.
        let mut pending = vec![(0_u32, 0_usize)];
        while let Some((node, depth)) = pending.pop() {
            names.truncate(depth.saturating_sub(1));
            if node != 0 {
                names.push(self.name(node));
            }
            let value = self.selfs.get(node as usize).copied().unwrap_or(0);
            if value > 0 {
                visit(&names, value)?;
            }
            let below = children.get(node as usize).into_iter().flatten().rev();
            pending.extend(below.map(|&child| (child, depth + 1)));
        }
        Ok(())
    }

    fn name(&self, node: u32) -> &str {
        self.nodes
            .get_index(node as usize)
            .and_then(|&(_, name)| self.names.get_index(name as usize))
            .map_or("", |name| name)
    }
}
