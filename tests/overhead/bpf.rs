//! The kernel's statistics of BPF programs, and what they count for a program that does nothing.
//!
//! They read the clock before and after each run, and part of that is in the run. The share is measured here,
//! so that what is left is the program's.

use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

use anyhow::{Context as _, Result, ensure};

use crate::{kernel::Programs, load::Load};

/// `bpf(2)` commands and constants (`include/uapi/linux/bpf.h`).
const BPF_PROG_LOAD: libc::c_int = 5;
const BPF_RAW_TRACEPOINT_OPEN: libc::c_int = 17;
const BPF_ENABLE_STATS: libc::c_int = 32;
const BPF_PROG_TYPE_RAW_TRACEPOINT: u32 = 17;
const BPF_STATS_RUN_TIME: u32 = 0;

/// `r0 = 0; exit`.
const INSTRUCTIONS: [u64; 2] = [0xb7, 0x95];

/// `union bpf_attr` for `BPF_PROG_LOAD`, as far as it is used; the kernel takes what follows as 0.
#[repr(C)]
struct ProgramAttributes {
    kind: u32,
    instruction_count: u32,
    instructions: u64,
    license: u64,
}

/// The same for `BPF_RAW_TRACEPOINT_OPEN`.
#[repr(C)]
struct TracepointAttributes {
    name: u64,
    program: u32,
    padding: u32,
}

fn bpf<T>(command: libc::c_int, attributes: &T) -> Result<OwnedFd> {
    let attributes: *const T = attributes;
    // SAFETY: the kernel reads `size_of::<T>()` bytes, which are there, and what they point to, which the
    // callers keep alive; it writes nothing for these commands.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, attributes, size_of::<T>()) };
    let descriptor = libc::c_int::try_from(result).context("a descriptor")?;
    ensure!(descriptor >= 0, std::io::Error::last_os_error());
    // SAFETY: these commands return a new descriptor, which nobody else has.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Has the kernel count runs and run times of all programs as long as it lives.
pub(crate) struct RunStatistics {
    _descriptor: OwnedFd,
}

impl RunStatistics {
    pub(crate) fn enable() -> Result<Self> {
        let descriptor = bpf(BPF_ENABLE_STATS, &BPF_STATS_RUN_TIME).context("BPF statistics")?;
        Ok(Self {
            _descriptor: descriptor,
        })
    }
}

/// Nanoseconds a run of an empty program on context switches, measured under `load`.
pub(crate) fn bias_nanos(load: &Load) -> Result<f64> {
    let _statistics = RunStatistics::enable()?;
    let program = bpf(
        BPF_PROG_LOAD,
        &ProgramAttributes {
            kind: BPF_PROG_TYPE_RAW_TRACEPOINT,
            instruction_count: 2,
            instructions: INSTRUCTIONS.as_ptr().expose_provenance() as u64,
            license: c"GPL".as_ptr().expose_provenance() as u64,
        },
    )
    .context("loading an empty program")?;
    let _attached = bpf(
        BPF_RAW_TRACEPOINT_OPEN,
        &TracepointAttributes {
            name: c"sched_switch".as_ptr().expose_provenance() as u64,
            program: u32::try_from(program.as_raw_fd()).context("a descriptor")?,
            padding: 0,
        },
    )
    .context("attaching an empty program")?;
    load.run(1.0)?;
    let runs = Programs::of(std::process::id())?;
    let runs = runs.since(&Programs::none());
    let own = runs
        .first()
        .context("the empty program is not to be found")?;
    ensure!(
        own.runs > 1000,
        "the empty program ran {} times only",
        own.runs
    );
    Ok(own.mean_nanos())
}
