//! Functions, each held once however many addresses are in it.

use std::{num::NonZeroUsize, sync::Arc};

use evenkeel_otlp::model::{FrameType, Function};
use lru::LruCache;

use super::demangle::{demangle, is_go};

/// Functions kept. The frames of the exporter's cache share them; a dropped one is
/// demangled again.
const CAPACITY: NonZeroUsize = NonZeroUsize::new(64 << 10).unwrap();

/// Longest name kept, in bytes; the rest is cut. Only hostile names are longer.
const MAX_NAME_BYTES: usize = 4096;

/// A function and what kind of code it is.
#[derive(Clone, Debug)]
pub struct NamedFunction {
    /// The function, shared.
    pub function: Arc<Function>,
    /// What it is written in.
    pub frame_type: FrameType,
}

/// Functions by linker name and source file, demangled once.
#[derive(Debug)]
pub struct FunctionTable {
    functions: LruCache<Box<str>, NamedFunction>,
    files: LruCache<Arc<str>, ()>,
    key: String,
}

impl Default for FunctionTable {
    fn default() -> Self {
        Self::new()
    }
}

impl FunctionTable {
    /// An empty table.
    pub fn new() -> Self {
        Self {
            functions: LruCache::sparse(CAPACITY),
            files: LruCache::sparse(CAPACITY),
            key: String::new(),
        }
    }

    /// The function that the linker calls `raw`, in `file` (empty when unknown). `None` for an
    /// empty name. `may_be_go` is whether the executable has a Go build id.
    pub fn function(&mut self, raw: &str, file: &str, may_be_go: bool) -> Option<NamedFunction> {
        let raw = cut(raw);
        if raw.is_empty() {
            return None;
        }
        // The language is part of the key: a C function of a Go program and one of a C program may
        // share a name.
        self.set_key(raw, file, if may_be_go { "go" } else { "" });
        if let Some(known) = self.functions.get(self.key.as_str()) {
            return Some(known.clone());
        }
        let demangled = demangle(raw);
        let frame_type = if may_be_go && demangled.frame_type == FrameType::Native && is_go(raw) {
            FrameType::Go
        } else {
            demangled.frame_type
        };
        let system_name: Arc<str> = if demangled.name == raw {
            "".into()
        } else {
            raw.into()
        };
        let name: Arc<str> = demangled.name.as_ref().into();
        let named = NamedFunction {
            function: Arc::new(Function {
                name,
                system_name,
                file: self.file(file),
            }),
            frame_type,
        };
        self.functions.put(self.key.as_str().into(), named.clone());
        Some(named)
    }

    /// The function that is called `name` by what made its code, which needs no demangling. `None`
    /// for an empty name.
    pub fn verbatim(
        &mut self,
        name: &str,
        file: &str,
        frame_type: FrameType,
    ) -> Option<Arc<Function>> {
        let name = cut(name);
        if name.is_empty() {
            return None;
        }
        self.set_key(name, file, "verbatim");
        if let Some(known) = self.functions.get(self.key.as_str()) {
            return Some(Arc::clone(&known.function));
        }
        let function = Arc::new(Function {
            name: name.into(),
            system_name: "".into(),
            file: self.file(file),
        });
        let named = NamedFunction {
            function: Arc::clone(&function),
            frame_type,
        };
        self.functions.put(self.key.as_str().into(), named);
        Some(function)
    }

    /// No name or path holds a NUL.
    fn set_key(&mut self, name: &str, file: &str, kind: &str) {
        self.key.clear();
        for part in [name, "\0", file, "\0", kind] {
            self.key.push_str(part);
        }
    }

    fn file(&mut self, file: &str) -> Arc<str> {
        if let Some((known, ())) = self.files.get_key_value(file) {
            return Arc::clone(known);
        }
        let file: Arc<str> = file.into();
        self.files.put(Arc::clone(&file), ());
        file
    }
}

fn cut(name: &str) -> &str {
    if name.len() <= MAX_NAME_BYTES {
        return name;
    }
    let end = name.floor_char_boundary(MAX_NAME_BYTES);
    &name[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One function, one allocation; another file or language is another function.
    #[test]
    fn shared() {
        let mut table = FunctionTable::new();
        let first = table.function("main.main", "", true).expect("named");
        let again = table.function("main.main", "", true).expect("named");
        assert!(Arc::ptr_eq(&first.function, &again.function));
        assert_eq!(first.frame_type, FrameType::Go);
        let native = table.function("main.main", "", false).expect("named");
        assert_eq!(native.frame_type, FrameType::Native);
        let elsewhere = table.function("main.main", "a.go", true).expect("named");
        assert_ne!(elsewhere.function, first.function);
    }

    /// The linker's name is kept only where it differs, and a name of any length is cut on a
    /// character.
    #[test]
    fn names() {
        let mut table = FunctionTable::new();
        let cpp = table.function("_Z1fv", "", false).expect("named");
        assert_eq!(
            (&*cpp.function.name, &*cpp.function.system_name),
            ("f()", "_Z1fv")
        );
        let c = table.function("f", "", false).expect("named");
        assert_eq!(&*c.function.system_name, "");
        assert!(table.function("", "a.c", false).is_none());
        let long = "é".repeat(4000);
        let cut = table.function(&long, "", false).expect("named");
        assert_eq!(cut.function.name.len(), MAX_NAME_BYTES);
    }
}
