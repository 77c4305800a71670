//! What looking up costs, for reports and docs.

use std::{
    fs,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    AddressSpace, ExecutableTable,
    maps::{MapsParser, read_maps},
    symbolizer::{Address, Batch},
    tests::{frames, leaf, symbolizer},
};

const PROC: &str = "/proc";
const TIMEOUT: Duration = Duration::from_secs(60);

/// Prints the figures of docs and reports; run by hand with `--ignored --nocapture`.
#[test]
#[ignore = "prints figures, asserts nothing that a busy machine could not break"]
fn figures() {
    let rss = || {
        let status = fs::read_to_string("/proc/self/status").expect("status");
        let field = |name: &str| {
            status
                .lines()
                .find_map(|line| line.strip_prefix(name))
                .map_or("", str::trim)
                .to_owned()
        };
        format!("{} (anon {})", field("VmRSS:"), field("RssAnon:"))
    };
    let names = symbolizer(false);
    let mut table = ExecutableTable::new(2048, Some(names.evictions()));
    let started = Instant::now();
    let space =
        AddressSpace::read(Path::new(PROC), std::process::id(), &mut table).expect("own maps");
    println!(
        "first address space: {:?}, {} regions",
        started.elapsed(),
        space.len()
    );
    let time = |label: &str, table: &mut ExecutableTable| {
        let mut maps = Vec::new();
        read_maps(Path::new(PROC), std::process::id(), &mut maps).expect("maps");
        let lines = MapsParser::new(&maps).count();
        let started = Instant::now();
        for _ in 0..100 {
            AddressSpace::read(Path::new(PROC), std::process::id(), table).expect("own maps");
        }
        println!(
            "{label}: {lines} mappings, {:?} each",
            started.elapsed() / 100
        );
    };
    time("again", &mut table);
    // Alternating permissions keep the kernel from merging them.
    let kept: Vec<_> = (0..990)
        .map(|_| {
            let writable = memmap2::MmapOptions::new()
                .len(4096)
                .map_anon()
                .expect("memory");
            let readable = memmap2::MmapOptions::new()
                .len(4096)
                .map_anon()
                .and_then(memmap2::MmapMut::make_read_only)
                .expect("memory");
            (writable, readable)
        })
        .collect();
    time("with more memory", &mut table);
    drop(kept);
    let kept: Vec<_> = (0..990)
        .map(|_| {
            let writable = memmap2::MmapOptions::new()
                .len(4096)
                .map_anon()
                .expect("memory");
            let executable = memmap2::MmapOptions::new()
                .len(4096)
                .map_anon()
                .and_then(memmap2::MmapMut::make_exec)
                .expect("memory");
            (writable, executable)
        })
        .collect();
    time("with code made at run time", &mut table);
    drop(kept);
    let libc = space
        .executables()
        .find(|executable| executable.name.starts_with("libc"))
        .expect("libc");
    let (start, end) = (libc.mapping.start, libc.mapping.limit);
    println!("before: {}", rss());
    let started = Instant::now();
    frames(&names, libc, &[leaf(start + 0x1000)]);
    println!("libc, first: {:?}, {}", started.elapsed(), rss());
    let addresses: Vec<Address> = (0..1000)
        .map(|index| leaf(start + (end - start) / 1000 * index))
        .collect();
    for label in ["new", "cached"] {
        let started = Instant::now();
        frames(&names, libc, &addresses);
        println!("libc, 1000 {label}: {:?}, {}", started.elapsed(), rss());
    }
    let kernel = |value: u64| {
        Arc::new(Batch {
            kernel: (0..1000).map(|i| leaf(value + i * 64)).collect(),
            ..Batch::default()
        })
    };
    for label in ["first 1000", "cached 1000"] {
        let started = Instant::now();
        names
            .symbolize(&kernel(0xffff_ffff_8110_0000), TIMEOUT)
            .expect("an answer");
        println!("kernel, {label}: {:?}, {}", started.elapsed(), rss());
    }
    let own = space.executables().next().expect("own");
    let many: Vec<Address> = (0..65_536)
        .map(|index| leaf(own.mapping.start + index * 8))
        .collect();
    let started = Instant::now();
    frames(&names, own, &many);
    println!(
        "65,536 frames of our own: {:?}, {}",
        started.elapsed(),
        rss()
    );
    println!("{:?}", names.counters());
    let lines = symbolizer(true);
    let started = Instant::now();
    frames(&lines, libc, &addresses[..1]);
    println!("libc with lines, first: {:?}, {}", started.elapsed(), rss());
    let started = Instant::now();
    frames(&lines, libc, &addresses);
    println!("libc with lines, 1000: {:?}, {}", started.elapsed(), rss());
}
