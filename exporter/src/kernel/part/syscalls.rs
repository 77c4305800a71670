//! System calls.

use aya::EbpfLoader;
use evenkeel_abi::{
    ERROR_NUMBERS, HISTOGRAM_WORDS, LISTED_SYSCALLS, SYSCALL_BANK_WORDS, SYSCALL_FAMILIES,
    SYSCALL_NUMBERS,
};

use super::{ArrayMap, Entries, Part};
use crate::{
    kernel::{
        btf::Btf,
        globals::Globals,
        probe::{Hook, Program},
    },
    signal::{Signal, syscalls},
};

/// Most shards that the histograms are kept in. Each CPU has its own on small hosts; on larger
/// ones some share, which at 20,000 samples a second and CPU costs less than the memory would.
const SHARDS: usize = 8;

pub(super) const PART: Part = Part {
    programs: &[
        Program {
            name: "sys_enter",
            hook: Hook::Bursts("sys_enter"),
            needs: &["TASK_ABI"],
            serves: &[Signal::Syscalls],
            essential_to: &[Signal::Syscalls],
            loss: "system calls are not seen",
        },
        Program {
            name: "sys_exit",
            hook: Hook::Bursts("sys_exit"),
            needs: &["TASK_ABI", "REGS_SYSTEM_CALL"],
            serves: &[Signal::Syscalls],
            essential_to: &[Signal::Syscalls],
            loss: "ends of system calls are not seen",
        },
        Program {
            name: "calls_in_flight",
            hook: Hook::Iterator("task"),
            needs: &["TASK_FLAGS", "TASK_ON_CPU", "TASK_ABI", "REGS_SYSTEM_CALL"],
            serves: &[Signal::Syscalls],
            essential_to: &[],
            loss: "calls that are under way are not seen",
        },
    ],
    fields: &[],
    arrays: &[
        ArrayMap {
            name: "SYSCALL_BANKS",
            entries: Entries::PerCpu(1),
            words: SYSCALL_BANK_WORDS,
            serves: &[Signal::Syscalls],
        },
        ArrayMap {
            name: "SYSCALL_HISTOGRAMS",
            entries: Entries::PerShard(SYSCALL_FAMILIES as u32),
            words: HISTOGRAM_WORDS,
            serves: &[Signal::Syscalls],
        },
    ],
};

/// Shards on a host with so many CPU numbers: a power of two.
pub fn shards(cpu_limit: usize) -> usize {
    cpu_limit.next_power_of_two().min(SHARDS)
}

/// Where the ABI of a call is found.
pub fn find_abi(btf: &Btf, globals: &mut Globals) {
    // x86-64 has `TS_COMPAT` (arch/x86/include/asm/thread_info.h), arm64 `TIF_32BIT`
    // (arch/arm64/include/asm/thread_info.h); the low half of the word is read.
    let (word, bit) = if cfg!(target_arch = "aarch64") {
        ("thread_info.flags", 1 << 22)
    } else {
        ("thread_info.status", 1 << 1)
    };
    match btf.member_offset("task_struct", word) {
        Ok(offset) => globals.set("TASK_ABI", u64::from(offset)),
        Err(error) => globals.refuse("TASK_ABI", error.to_string()),
    }
    globals.set("ABI_IS_COMPAT", bit);
}

/// What the programs are told before they are loaded.
#[derive(Debug)]
pub struct Tables {
    rows: [u16; SYSCALL_NUMBERS],
    error_classes: [u8; ERROR_NUMBERS],
    histograms: u64,
    shard_mask: u64,
}

impl Tables {
    /// The tables for these settings, on a host with so many CPU numbers.
    pub fn new(settings: &syscalls::Settings, cpu_limit: usize) -> Self {
        Self {
            rows: syscalls::rows(&settings.listed),
            error_classes: syscalls::error_classes(),
            histograms: (SYSCALL_FAMILIES + settings.listed.len().min(LISTED_SYSCALLS)) as u64,
            shard_mask: shards(cpu_limit) as u64 - 1,
        }
    }

    /// Sets the globals.
    pub fn set<'a>(&'a self, loader: &mut EbpfLoader<'a>) {
        loader
            .override_global("SYSCALL_ROWS", &self.rows, true)
            .override_global("ERROR_CLASS", &self.error_classes, true)
            .override_global("SYSCALL_HISTOGRAMS_PER_SHARD", &self.histograms, true)
            .override_global("SYSCALL_SHARD_MASK", &self.shard_mask, true);
    }
}
