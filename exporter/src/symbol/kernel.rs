//! Frames of the kernel.

use std::{
    collections::hash_map::DefaultHasher,
    fs::{self, File},
    hash::{Hash as _, Hasher as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use evenkeel_otlp::model::{Frame, FrameType, Function, Line, Mapping};

use super::{
    function_table::FunctionTable,
    kallsyms::{Kallsyms, KernelSymbols},
    kernel_module::{KernelModule, kernel_mapping, kernel_modules},
    symbolizer::Address,
};

/// Name of the one frame that stands for all where the kernel hides its addresses.
pub const HIDDEN_KERNEL: &str = "[unknown kernel function]";

/// Shortest time between two readings of kallsyms when modules changed.
const RELOAD_AFTER_CHANGE: Duration = Duration::from_secs(10);

/// Shortest time between two readings when only an address had no name: BPF programs come and go
/// without a trace in `/proc/modules`. A reading costs about 0.1 s of CPU time, mostly in the
/// kernel.
const RELOAD_AFTER_MISS: Duration = Duration::from_secs(300);

#[derive(Debug)]
enum Symbols {
    NotRead,
    Read(KernelSymbols),
    Hidden(Arc<Frame>),
}

/// The kernel's functions and modules, read at the first need.
#[derive(Debug)]
pub(crate) struct KernelNames {
    proc_root: PathBuf,
    sys_root: PathBuf,
    symbols: Symbols,
    kernel: Option<Arc<Mapping>>,
    modules: Vec<KernelModule>,
    modules_hash: u64,
    read_at: Instant,
    generation: u64,
}

impl KernelNames {
    pub(crate) fn new(proc_root: &Path, sys_root: &Path) -> Self {
        Self {
            proc_root: proc_root.into(),
            sys_root: sys_root.into(),
            symbols: Symbols::NotRead,
            kernel: None,
            modules: Vec::new(),
            modules_hash: 0,
            read_at: Instant::now(),
            generation: 0,
        }
    }

    /// Counts the readings of kallsyms: frames of an older generation may be out of date.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// Kernel symbols known.
    pub(crate) fn len(&self) -> usize {
        match &self.symbols {
            Symbols::Read(symbols) => symbols.len(),
            _ => 0,
        }
    }

    /// Makes sure that kallsyms was read, and reads it again when `/proc/modules` changed.
    /// Called once a batch.
    pub(crate) fn refresh(&mut self) {
        match self.symbols {
            Symbols::NotRead => self.read(),
            Symbols::Hidden(_) => {}
            Symbols::Read(_) => {
                if self.read_at.elapsed() > RELOAD_AFTER_CHANGE
                    && hash_of(&self.modules_text()) != self.modules_hash
                {
                    self.read();
                }
            }
        }
    }

    /// The frame of a kernel address. Without kallsyms' addresses, one frame for all.
    pub(crate) fn frame(&mut self, address: Address, functions: &mut FunctionTable) -> Arc<Frame> {
        if let Symbols::Hidden(frame) = &self.symbols {
            return Arc::clone(frame);
        }
        let lookup = address.lookup();
        let mut line = self.line(lookup, functions);
        let in_kernel = self
            .kernel
            .as_ref()
            .is_some_and(|kernel| contains(kernel, lookup));
        if line.is_none() && !in_kernel && self.read_at.elapsed() > RELOAD_AFTER_MISS {
            self.read();
            if let Symbols::Hidden(frame) = &self.symbols {
                return Arc::clone(frame);
            }
            line = self.line(lookup, functions);
        }
        let (lines, module) = match line {
            Some((line, module)) => (vec![line], module),
            None => (Vec::new(), None),
        };
        Arc::new(Frame {
            mapping: self.mapping(lookup, module.as_deref()),
            address: address.value,
            lines,
            frame_type: Some(FrameType::Kernel),
        })
    }

    fn line(&self, lookup: u64, functions: &mut FunctionTable) -> Option<(Line, Option<Box<str>>)> {
        let Symbols::Read(symbols) = &self.symbols else {
            return None;
        };
        let symbol = symbols.find(lookup)?;
        let named = functions.function(symbol.name, "", false)?;
        let line = Line {
            function: named.function,
            line: 0,
            column: 0,
        };
        Some((line, symbol.module.map(Box::from)))
    }

    /// The kernel, or the module that the symbol or, without one, the address is of. Code that
    /// the kernel makes at run time (`[bpf]`, `[__builtin__ftrace]`) has no file and no build id,
    /// hence no mapping.
    fn mapping(&self, address: u64, module: Option<&str>) -> Option<Arc<Mapping>> {
        if let Some(name) = module {
            return self
                .modules
                .iter()
                .find(|module| *module.name == *name)
                .map(|module| Arc::clone(&module.mapping));
        }
        self.kernel
            .iter()
            .chain(self.modules.iter().map(|module| &module.mapping))
            .find(|mapping| contains(mapping, address))
            .map(Arc::clone)
    }

    fn read(&mut self) {
        let path = self.proc_root.join("kallsyms");
        let modules = self.modules_text();
        self.modules_hash = hash_of(&modules);
        self.read_at = Instant::now();
        self.generation += 1;
        let read = File::open(&path).and_then(Kallsyms::read);
        let why = match read {
            Ok(Kallsyms::Symbols(symbols)) => {
                if symbols.dropped() > 0 {
                    tracing::warn!(dropped = symbols.dropped(), "Too many kernel symbols.");
                }
                self.kernel = kernel_mapping(&self.sys_root, symbols.text());
                self.modules = kernel_modules(&modules, &self.sys_root);
                self.symbols = Symbols::Read(symbols);
                return;
            }
            Ok(Kallsyms::Hidden) => {
                "the kernel hides its addresses (give CAP_SYSLOG, or set kernel.kptr_restrict to 0 or 1)".to_owned()
            }
            Ok(Kallsyms::Empty) => "the kernel has no symbol table".to_owned(),
            Err(error) => error.to_string(),
        };
        tracing::warn!(
            path = %path.display(),
            why,
            "No names for kernel frames."
        );
        self.kernel = kernel_mapping(&self.sys_root, None);
        self.symbols = Symbols::Hidden(Arc::new(Frame {
            mapping: self.kernel.clone(),
            address: 0,
            lines: vec![Line {
                function: Arc::new(Function {
                    name: HIDDEN_KERNEL.into(),
                    ..Function::default()
                }),
                line: 0,
                column: 0,
            }],
            frame_type: Some(FrameType::Kernel),
        }));
    }

    /// Empty on kernels without modules.
    fn modules_text(&self) -> String {
        fs::read_to_string(self.proc_root.join("modules")).unwrap_or_default()
    }
}

fn contains(mapping: &Mapping, address: u64) -> bool {
    (mapping.start..mapping.limit).contains(&address)
}

fn hash_of(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(kallsyms: &str) -> (tempfile::TempDir, KernelNames) {
        let root = tempfile::tempdir().expect("temporary directory");
        fs::write(root.path().join("kallsyms"), kallsyms).expect("write");
        let mut names = KernelNames::new(root.path(), Path::new("/sys"));
        names.refresh();
        (root, names)
    }

    fn at(value: u64) -> Address {
        Address {
            value,
            is_return: false,
        }
    }

    /// Hidden addresses give one frame, whatever the address, with the kernel as its mapping.
    #[test]
    fn hidden() {
        let (_root, mut names) = names(include_str!("../../tests/cases/kallsyms_zero.txt"));
        let mut functions = FunctionTable::new();
        let first = names.frame(at(0xffff_ffff_8100_0000), &mut functions);
        let second = names.frame(at(0xffff_ffff_8200_0000), &mut functions);
        assert_eq!(first, second);
        assert_eq!(&*first.lines[0].function.name, HIDDEN_KERNEL);
        assert_eq!(
            &*first.mapping.as_ref().expect("mapping").filename,
            "[kernel]"
        );
    }

    /// A missing file is the same as a hidden one.
    #[test]
    fn missing() {
        let mut names = KernelNames::new(Path::new("/nonexistent"), Path::new("/nonexistent"));
        names.refresh();
        let frame = names.frame(at(0xffff_ffff_8100_0000), &mut FunctionTable::new());
        assert_eq!(&*frame.lines[0].function.name, HIDDEN_KERNEL);
        assert_eq!(frame.mapping, None);
    }

    /// A return address at the very end of a function is that function's, not the next one's.
    #[test]
    fn return_address() {
        let (_root, mut names) = names(
            "ffffffff81000000 T _stext\nffffffff81000100 T calls\n\
             ffffffff81000200 T next\nffffffff81000300 T _etext\n",
        );
        let mut functions = FunctionTable::new();
        let called = Address {
            value: 0xffff_ffff_8100_0200,
            is_return: true,
        };
        let frame = names.frame(called, &mut functions);
        assert_eq!(&*frame.lines[0].function.name, "calls");
        assert_eq!(frame.address, called.value);
        assert_eq!(frame.frame_type, Some(FrameType::Kernel));
        let leaf = names.frame(at(0xffff_ffff_8100_0200), &mut functions);
        assert_eq!(&*leaf.lines[0].function.name, "next");
        let mapping = leaf.mapping.as_ref().expect("mapping");
        assert!(contains(mapping, leaf.address));
    }
}
