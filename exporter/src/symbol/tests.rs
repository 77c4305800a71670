//! The whole way from a running process to names, with programs built on the spot.

use std::{
    fs,
    hint::black_box,
    path::Path,
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

use evenkeel_otlp::model::{Frame, FrameType};

use super::{
    AddressSpace, AddressSpaceError, Executable, ExecutableTable, Location, Provenance, Symbolizer,
    SymbolizerSettings, inspect_address,
    maps::{MapsParser, read_maps},
    symbolizer::{Address, Batch, Names},
    test_program::{TestProgram, symbol_of},
};

mod bounds;
mod files;
mod languages;

const SPIN_C: &str = "
static volatile unsigned long n;
static inline __attribute__((always_inline)) void inner(void) { n += 1; }
__attribute__((noinline)) void outer(void) { for (;;) { inner(); n += 2; } }
int main(void) { outer(); return 0; }
";

const OTHER_C: &str = "
static volatile unsigned long n;
__attribute__((noinline)) void impostor(void) { for (;;) n += 3; }
int main(void) { impostor(); return 0; }
";

const SPIN_RUST: &str = "
mod deep {
    pub struct Wheel;
    pub trait Turn { fn turn(&self); }
    impl Turn for Wheel {
        #[inline(never)]
        fn turn(&self) { loop { std::hint::spin_loop(); } }
    }
}
fn main() { use deep::Turn; deep::Wheel.turn(); }
";

const SPIN_CPP: &str = "
namespace {
volatile unsigned long n;
__attribute__((noinline)) void single_thread(int step) { for (;;) n += step; }
}
int main() { single_thread(1); }
";

const PROC: &str = "/proc";
const TIMEOUT: Duration = Duration::from_secs(60);

pub(super) fn symbolizer(lines: bool) -> Symbolizer {
    Symbolizer::start(SymbolizerSettings::new(lines)).expect("a thread")
}

pub(super) fn leaf(value: u64) -> Address {
    Address {
        value,
        is_return: false,
    }
}

pub(super) fn frames(
    symbolizer: &Symbolizer,
    executable: &Arc<Executable>,
    addresses: &[Address],
) -> Vec<Arc<Frame>> {
    let batch = Arc::new(Batch {
        user: vec![(Arc::clone(executable), addresses.to_vec())],
        ..Batch::default()
    });
    let mut names = symbolizer.symbolize(&batch, TIMEOUT).expect("an answer");
    names.user.remove(0)
}

fn function(frame: &Frame) -> &str {
    frame.lines.last().map_or("", |line| &line.function.name)
}

/// The address in the running process of an ELF virtual address of the file at `path`.
fn in_process(pid: u32, inode: u64, executable: &Executable, address: u64) -> u64 {
    let mut maps = Vec::new();
    read_maps(Path::new(PROC), pid, &mut maps).expect("maps");
    let segment = executable
        .segments
        .iter()
        .find(|segment| (segment.address..segment.address + segment.size).contains(&address))
        .expect("in a segment");
    let offset = address - segment.address + segment.offset;
    MapsParser::new(&maps)
        .find(|entry| {
            entry.inode == inode
                && entry.permissions.execute
                && (entry.offset..entry.offset + (entry.end - entry.start)).contains(&offset)
        })
        .map(|entry| entry.start + (offset - entry.offset))
        .expect("mapped")
}

/// Where `pid` has the code of `part`, a symbol of the program that it was started from.
fn locate(program: &TestProgram, pid: u32, part: &str) -> (Arc<Executable>, u64) {
    let (address, _) = program.symbol(part);
    let mut table = ExecutableTable::new(64, None);
    let space = AddressSpace::read(Path::new(PROC), pid, &mut table).expect("address space");
    let executable = space.executables().next().expect("the program");
    let absolute = in_process(pid, executable.identity.inode, executable, address);
    match space.locate(absolute) {
        Location::File {
            executable,
            address: found,
        } => {
            assert_eq!(found, address);
            (Arc::clone(executable), found)
        }
        other => panic!("{other:?}"),
    }
}
