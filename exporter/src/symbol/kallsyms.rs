//! `/proc/kallsyms`: the kernel's own symbol table.
//!
//! Read here and not by blazesym, which takes data for functions, forgets which module a symbol
//! is of, and among names for one address takes the first in the file.

use std::{
    collections::HashMap,
    io::{self, BufRead, BufReader, Read},
    ops::Range,
};

/// Most symbols kept. A distribution kernel with its modules has about 200,000, one with
/// everything built in twice that.
pub const MAX_SYMBOLS: usize = 2 << 20;

/// Most bytes of names kept.
const MAX_NAME_BYTES: usize = 64 << 20;

/// Longest line read; the kernel's names have at most 511 bytes (`KSYM_NAME_LEN`).
const MAX_LINE_BYTES: u64 = 4096;

/// Farthest from its start that a symbol is believed, in bytes: kallsyms has no sizes. The largest
/// functions have some ten thousand bytes, more with KASAN.
const MAX_SYMBOL_BYTES: u64 = 256 << 10;

/// What a kallsyms file holds.
#[derive(Debug)]
pub enum Kallsyms {
    /// Symbols with addresses.
    Symbols(KernelSymbols),
    /// Names without addresses: the reader lacks `CAP_SYSLOG`, or `kernel.kptr_restrict` is 2.
    Hidden,
    /// No symbols at all.
    Empty,
}

/// A kernel symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelSymbol<'a> {
    /// Its name.
    pub name: &'a str,
    /// The module it is of, without brackets; `None` for the kernel itself.
    pub module: Option<&'a str>,
    /// Its address.
    pub address: u64,
}

/// Functions of the kernel by address.
#[derive(Debug)]
pub struct KernelSymbols {
    /// Sorted by address, one a address. Data symbols have no name: they only end what is before.
    symbols: Vec<Symbol>,
    names: String,
    modules: Vec<Box<str>>,
    text: Option<Range<u64>>,
    dropped: u64,
}

/// 16 bytes: a distribution kernel's 200,000 symbols cost 3 MiB and their names 5 MiB.
#[derive(Clone, Copy, Debug)]
struct Symbol {
    address: u64,
    name_start: u32,
    name_length: u16,
    /// Index into `modules` plus one; 0 is the kernel.
    module: u16,
}

const _: () = assert!(size_of::<Symbol>() == 16);

impl Kallsyms {
    /// Reads a kallsyms file.
    ///
    /// # Errors
    /// As `read`. Lines that do not have the form are skipped.
    pub fn read(reader: impl Read) -> io::Result<Self> {
        let mut builder = Builder::default();
        let mut reader = BufReader::with_capacity(64 << 10, reader);
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = (&mut reader)
                .take(MAX_LINE_BYTES)
                .read_until(b'\n', &mut line)?;
            if read == 0 {
                break;
            }
            if let Ok(line) = str::from_utf8(&line) {
                builder.add_line(line);
            }
        }
        Ok(builder.finish())
    }
}

impl KernelSymbols {
    /// The function that `address` is in.
    pub fn find(&self, address: u64) -> Option<KernelSymbol<'_>> {
        let after = self
            .symbols
            .partition_point(|symbol| symbol.address <= address);
        let symbol = self.symbols.get(after.checked_sub(1)?)?;
        if symbol.name_length == 0 || address - symbol.address >= MAX_SYMBOL_BYTES {
            return None;
        }
        Some(KernelSymbol {
            name: self.name(symbol),
            module: usize::from(symbol.module)
                .checked_sub(1)
                .and_then(|index| self.modules.get(index))
                .map(AsRef::as_ref),
            address: symbol.address,
        })
    }

    /// The kernel's own code, `_stext` to `_etext` (to `_einittext` where that is later): modules
    /// are not in it.
    pub fn text(&self) -> Option<Range<u64>> {
        self.text.clone()
    }

    /// Functions known.
    pub fn len(&self) -> usize {
        self.symbols.len()
    }

    /// Whether none is known.
    pub fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }

    /// Symbols left out because a bound was met.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    fn name(&self, symbol: &Symbol) -> &str {
        let start = symbol.name_start as usize;
        self.names
            .get(start..start + usize::from(symbol.name_length))
            .unwrap_or("")
    }
}

#[derive(Debug, Default)]
struct Builder {
    symbols: Vec<Symbol>,
    names: String,
    modules: Vec<Box<str>>,
    module_indices: HashMap<Box<str>, u16>,
    start: Option<u64>,
    end: Option<u64>,
    lines: u64,
    dropped: u64,
}

impl Builder {
    /// `ADDRESS TYPE NAME` and, behind a tab, `[MODULE]`.
    fn add_line(&mut self, line: &str) {
        let mut words = line.split_ascii_whitespace();
        let (Some(address), Some(kind), Some(name)) = (words.next(), words.next(), words.next())
        else {
            return;
        };
        let Ok(address) = u64::from_str_radix(address, 16) else {
            return;
        };
        self.lines += 1;
        if address == 0 {
            return;
        }
        match name {
            "_stext" => self.start = Some(address),
            "_etext" | "_einittext" => self.end = self.end.max(Some(address)),
            _ => {}
        }
        // `t` and `T` are code, `w` and `W` weak code. Everything else is data or a constant.
        let is_code = matches!(kind, "t" | "T" | "w" | "W");
        // Code that pads the way to a function (`CONFIG_CALL_PADDING`) is that function's.
        let name = name.strip_prefix("__pfx_").unwrap_or(name);
        let name = if is_code { name } else { "" };
        let full =
            self.symbols.len() >= MAX_SYMBOLS || self.names.len() + name.len() > MAX_NAME_BYTES;
        let (Ok(name_start), Ok(name_length), false) = (
            u32::try_from(self.names.len()),
            u16::try_from(name.len()),
            full,
        ) else {
            self.dropped += 1;
            return;
        };
        let module = match words.next() {
            Some(module) => self.module(module.trim_matches(['[', ']'])),
            None => 0,
        };
        self.names.push_str(name);
        self.symbols.push(Symbol {
            address,
            name_start,
            name_length,
            module,
        });
    }

    fn module(&mut self, name: &str) -> u16 {
        if let Some(index) = self.module_indices.get(name) {
            return *index;
        }
        let Ok(index) = u16::try_from(self.modules.len() + 1) else {
            return 0;
        };
        self.modules.push(name.into());
        self.module_indices.insert(name.into(), index);
        index
    }

    fn finish(self) -> Kallsyms {
        let Self {
            symbols,
            names,
            modules,
            module_indices: _,
            start,
            end,
            lines,
            dropped,
        } = self;
        if symbols.is_empty() {
            return if lines > 0 {
                Kallsyms::Hidden
            } else {
                Kallsyms::Empty
            };
        }
        let mut table = KernelSymbols {
            symbols: Vec::new(),
            names,
            modules,
            text: start
                .zip(end)
                .map(|(start, end)| start..end)
                .filter(|text| !text.is_empty()),
            dropped,
        };
        let mut symbols = symbols;
        symbols.sort_by(|left, right| {
            left.address
                .cmp(&right.address)
                .then_with(|| preference(table.name(left)).cmp(&preference(table.name(right))))
        });
        symbols.dedup_by_key(|symbol| symbol.address);
        symbols.shrink_to_fit();
        table.names.shrink_to_fit();
        table.symbols = symbols;
        Kallsyms::Symbols(table)
    }
}

/// Order among names for one address, best first, whatever their order in the file: functions
/// before marks of sections, few leading underscores, short, alphabetic. No name comes last.
fn preference(name: &str) -> (bool, bool, usize, usize, &str) {
    let underscores = name.len() - name.trim_start_matches('_').len();
    (
        name.is_empty(),
        is_mark(name),
        underscores,
        name.len(),
        name,
    )
}

/// Symbols of the linker script that stand where a section begins or ends.
fn is_mark(name: &str) -> bool {
    matches!(
        name,
        "_text" | "_stext" | "_etext" | "_sinittext" | "_einittext" | "_end" | "startup_64"
    ) || name.starts_with("__start_")
        || name.starts_with("__stop_")
        || name.starts_with("__cfi_")
        || (name.starts_with("__") && (name.ends_with("_start") || name.ends_with("_end")))
        || name.ends_with("_text_start")
        || name.ends_with("_text_end")
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIRKS: &str = include_str!("../../tests/cases/kallsyms_quirks.txt");

    fn symbols(text: &str) -> KernelSymbols {
        match Kallsyms::read(text.as_bytes()).expect("readable") {
            Kallsyms::Symbols(symbols) => symbols,
            other => panic!("{other:?}"),
        }
    }

    /// Ordinary names win over padding and marks, data has no name, modules are kept.
    #[test]
    fn quirks() {
        let symbols = symbols(QUIRKS);
        let name = |address| symbols.find(address).map(|symbol| symbol.name);
        assert_eq!(name(0xffff_ffff_8100_0000), Some("srso_alias_untrain_ret"));
        assert_eq!(
            name(0xffff_ffff_813a_2200),
            Some("finish_task_switch.isra.0")
        );
        assert_eq!(
            name(0xffff_ffff_813a_21f8),
            Some("finish_task_switch.isra.0")
        );
        assert_eq!(name(0xffff_ffff_8200_0010), None);
        let nfsd = symbols.find(0xffff_ffff_c0ab_8e10).expect("nfsd_open");
        assert_eq!((nfsd.name, nfsd.module), ("nfsd_open", Some("nfsd")));
        assert_eq!(name(0xffff_ffff_80ff_ffff), None);
        assert_eq!(name(0), None);
    }

    /// The name chosen for an address does not depend on the order of the file.
    #[test]
    fn stable_alias() {
        let mut lines: Vec<&str> = QUIRKS.lines().collect();
        let forward = symbols(&lines.join("\n"));
        lines.reverse();
        let backward = symbols(&lines.join("\n"));
        for address in [0xffff_ffff_8100_0000, 0xffff_ffff_813a_2204] {
            assert_eq!(forward.find(address), backward.find(address));
        }
    }

    /// A symbol without a size does not name what is far behind it.
    #[test]
    fn far_from_a_symbol() {
        let symbols = symbols(QUIRKS);
        assert!(symbols.find(0xffff_ffff_c0ab_8e00 + 0x3_ffff).is_some());
        assert!(symbols.find(0xffff_ffff_c0ab_8e00 + 0x4_0000).is_none());
    }

    /// Addresses that are all zero are hidden, which is not the same as an empty file.
    #[test]
    fn hidden_and_empty() {
        let zero = include_str!("../../tests/cases/kallsyms_zero.txt");
        assert!(matches!(
            Kallsyms::read(zero.as_bytes()),
            Ok(Kallsyms::Hidden)
        ));
        assert!(matches!(Kallsyms::read(&b""[..]), Ok(Kallsyms::Empty)));
        assert!(matches!(
            Kallsyms::read(&b"\xff\xfe\nnonsense\nzz T x\n"[..]),
            Ok(Kallsyms::Empty)
        ));
    }
}
