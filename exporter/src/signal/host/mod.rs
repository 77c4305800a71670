//! The host signal: what the kernel itself counts, read from procfs.
//!
//! `/proc/stat` is known to go back, to jump and to lie (`docs/signals.md`): every number goes
//! through a stream that keeps the published series monotone and counts what it refused. Disks and
//! interfaces come and go: theirs are in `device`.

mod device;
mod disks;
mod interfaces;
mod losses;
mod moment;
mod pressure;
mod sampler;
mod schedstat;
mod stat;
mod steal_clock;
mod stolen;
mod stream;

pub use self::{
    losses::Losses,
    moment::Moment,
    sampler::HostSampler,
    stat::{CpuTicks, Stat},
    steal_clock::StealClock,
    stolen::StealTicker,
};

use std::{fs::File, io, io::Read, path::Path};

/// Most bytes read of one file. `/proc/stat` has 40 KB on 256 CPUs; its interrupt counts can make
/// that a few hundred.
const MAX_FILE_BYTES: u64 = 8 << 20;

/// Reads a whole file of procfs into `buffer`.
fn read(path: &Path, buffer: &mut Vec<u8>) -> io::Result<()> {
    buffer.clear();
    File::open(path)?
        .take(MAX_FILE_BYTES)
        .read_to_end(buffer)
        .map(drop)
}

/// The first word of `text` as a number of digits alone; absent where it is anything else or too
/// large.
fn digits(text: &[u8]) -> Option<u64> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// The words of a line.
fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests;
