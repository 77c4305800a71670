//! Where the fuzz targets (`fuzz/`) reach what reads other processes' bytes.

use std::hint::black_box;

use evenkeel_symbols::elf_image::ElfImage;

use crate::{
    kernel::btf::Btf,
    symbol::maps::MapsParser,
    unwind::{RowsLimits, rows_of},
};

/// Type information of a kernel, and a look-up in it.
pub fn btf(bytes: &[u8]) {
    if let Ok(btf) = Btf::parse(bytes.to_vec()) {
        let _ = black_box(btf.member_offset("task_struct", "se.cfs_rq"));
        black_box(btf.enumerators("cpu_usage_stat"));
    }
}

/// Rows of an ELF file.
pub fn eh_frame(bytes: &[u8]) {
    let limits = RowsLimits::default();
    if let Ok(rows) = rows_of(bytes, bytes.len() as u64, &limits, std::iter::empty()) {
        for address in [0, rows.first_address, u64::MAX] {
            black_box(rows.rule_at(address));
        }
    }
}

/// Headers of an ELF file.
pub fn elf(bytes: &[u8]) {
    let _ = black_box(ElfImage::read_from(bytes, bytes.len() as u64));
}

/// `/proc/PID/maps`.
pub fn maps(bytes: &[u8]) {
    for entry in MapsParser::new(bytes) {
        black_box((entry.backing(), entry.path()));
    }
}
