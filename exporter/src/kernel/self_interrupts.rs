//! Perf events by which a kernel program interrupts its own CPU.
//!
//! `exporter-ebpf/src/wait_sample.rs` says what for. Nobody wants the records; they are thrown away
//! once a second, so that the buffer does not fill: a write to a full one raises no interrupt.

use std::collections::BTreeMap;

use aya::maps::{
    Map, MapData, PerfEventArray,
    perf::{PerfBufferError, PerfEventArrayBuffer},
};

/// Pages of each buffer: 64 KiB hold 2,000 records, of which a CPU writes at most 300 a second.
const PAGES: usize = 16;

/// The events, by CPU.
#[derive(Default)]
pub(super) struct SelfInterrupts {
    map: Option<PerfEventArray<MapData>>,
    buffers: BTreeMap<u32, PerfEventArrayBuffer<MapData>>,
}

impl std::fmt::Debug for SelfInterrupts {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("SelfInterrupts")
            .field("cpus", &self.buffers.keys())
            .finish_non_exhaustive()
    }
}

impl SelfInterrupts {
    /// No CPU has one yet; `map` is the map that the programs write to.
    pub(super) fn new(map: Option<Map>) -> Self {
        Self {
            map: map.and_then(|map| PerfEventArray::try_from(map).ok()),
            buffers: BTreeMap::new(),
        }
    }

    /// Gives each of these CPUs an event, and takes those of others away; why one has none, if so.
    pub(super) fn follow(&mut self, online: &[u32]) -> Option<String> {
        let Some(map) = &mut self.map else {
            return Some("the kernel object has no map SELF_INTERRUPTS".into());
        };
        self.buffers.retain(|cpu, _| online.contains(cpu));
        let mut refused: Option<PerfBufferError> = None;
        for cpu in online {
            if !self.buffers.contains_key(cpu) {
                match map.open(*cpu, Some(PAGES)) {
                    Ok(buffer) => {
                        self.buffers.insert(*cpu, buffer);
                    }
                    Err(error) => refused = refused.or(Some(error)),
                }
            }
        }
        refused.map(|error| error.to_string())
    }

    /// Throws the records away.
    pub(super) fn drain(&mut self) {
        for buffer in self.buffers.values_mut() {
            buffer.for_each(|_| ());
        }
    }
}
