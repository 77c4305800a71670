//! Jitdump: records of code as it is made, moved and described by lines.
//!
//! Format: tools/perf/Documentation/jitdump-specification.txt in the kernel's source, version 1, in
//! the byte order of this machine. The code itself, most of the file, is passed over.

use std::{fs::File, io, os::unix::fs::FileExt as _, sync::Arc};

use super::{
    code_table::{Code, CodeTable, SourceLine},
    name::is_of_v8,
};

/// `JiTD`.
const MAGIC: u32 = 0x4a69_5444;

/// Bytes of a record before its contents: kind, size, time.
const RECORD_BYTES: u64 = 16;

/// Bytes read of a record: enough for the numbers and a name.
const HEAD: usize = 2048;

/// Largest record of lines read, in bytes.
const MAX_LINES_BYTES: u64 = 1 << 20;

/// Most records read of one file.
const MAX_RECORDS: u64 = 1 << 20;

/// Longest name kept, in bytes.
const MAX_NAME_BYTES: usize = 1024;

/// Stands for the file of the entry before.
const SAME_FILE: &[u8] = b"\xff";

/// V8 counts the addresses of lines from the ELF header that `perf inject` would put before the
/// code (`kElfHeaderSize` in src/diagnostics/perf-jit.cc).
const V8_HEADER_BYTES: u64 = 0x40;

/// How far a jitdump was read.
#[derive(Debug, Default)]
pub(super) struct Dump {
    /// Place of the next record; zero before the header was read.
    at: u64,
    records: u64,
    /// It is none, or is broken from here on.
    broken: bool,
    /// Lines of the function that the next record loads.
    lines: Option<(u64, Vec<SourceLine>)>,
}

impl Dump {
    /// Whether something contradicted itself, so that the rest is not read.
    pub(super) fn is_broken(&self) -> bool {
        self.broken
    }

    /// Takes what was added to the file since the last time into `table`; lines if `lines`.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(super) fn follow(
        &mut self,
        file: &File,
        table: &mut CodeTable,
        lines: bool,
    ) -> io::Result<()> {
        let length = file.metadata()?.len();
        let mut head = vec![0; HEAD];
        if self.at == 0 && !self.broken {
            let read = file.read_at(&mut head, 0)?;
            if read < 40 {
                return Ok(());
            }
            let size = u32_at(&head, 8).map_or(0, u64::from);
            self.broken = u32_at(&head, 0) != Some(MAGIC) || !(40..=4096).contains(&size);
            self.at = size;
        }
        while !self.broken && self.records < MAX_RECORDS {
            let read = file.read_at(&mut head, self.at)?;
            let head = head.get(..read).unwrap_or(&[]);
            let (Some(kind), Some(size)) = (u32_at(head, 0), u32_at(head, 4)) else {
                break;
            };
            let size = u64::from(size);
            if size < RECORD_BYTES {
                self.broken = true;
                break;
            }
            // A record that is being written is left for the next time.
            if self.at.saturating_add(size) > length {
                break;
            }
            let contents = head
                .get(RECORD_BYTES as usize..head.len().min(usize::try_from(size).unwrap_or(0)))
                .unwrap_or(&[]);
            match kind {
                0 => self.load(contents, table),
                1 => moved(contents, table),
                2 if lines && size <= MAX_LINES_BYTES => {
                    let mut record = vec![0; usize::try_from(size - RECORD_BYTES).unwrap_or(0)];
                    file.read_exact_at(&mut record, self.at + RECORD_BYTES)?;
                    self.lines = source_lines(&record);
                }
                _ => {}
            }
            self.at += size;
            self.records += 1;
        }
        Ok(())
    }

    /// `JIT_CODE_LOAD`: process and thread, two addresses (the second is where the code runs), size,
    /// index, name.
    fn load(&mut self, contents: &[u8], table: &mut CodeTable) {
        let (Some(start), Some(size)) = (u64_at(contents, 16), u64_at(contents, 24)) else {
            return;
        };
        let mut lines = self
            .lines
            .take()
            .filter(|(of, _)| *of == start)
            .map(|(_, lines)| lines)
            .unwrap_or_default();
        let name = contents.get(40..).map(text).unwrap_or_default();
        if name.is_empty() {
            return;
        }
        if is_of_v8(&name) {
            for line in &mut lines {
                line.address = line.address.saturating_sub(V8_HEADER_BYTES);
            }
        }
        table.insert(
            start,
            size,
            Code {
                name: name.into(),
                lines: lines.into(),
            },
        );
    }
}

/// `JIT_CODE_MOVE`: process and thread, address, old address, new address, size, index.
fn moved(contents: &[u8], table: &mut CodeTable) {
    let (Some(old), Some(new), Some(size)) = (
        u64_at(contents, 16),
        u64_at(contents, 24),
        u64_at(contents, 32),
    ) else {
        return;
    };
    if let Some(code) = table.remove(old) {
        let lines = code
            .lines
            .iter()
            .map(|line| SourceLine {
                address: line.address.wrapping_sub(old).wrapping_add(new),
                ..line.clone()
            })
            .collect();
        table.insert(new, size, Code { lines, ..code });
    }
}

/// `JIT_CODE_DEBUG_INFO`: address of the code, number of entries, entries of address, line,
/// discriminator and file.
fn source_lines(contents: &[u8]) -> Option<(u64, Vec<SourceLine>)> {
    let code = u64_at(contents, 0)?;
    let count = u64_at(contents, 8)?;
    let mut lines: Vec<SourceLine> = Vec::new();
    let mut at = 16;
    for _ in 0..count {
        let (Some(address), Some(line)) = (u64_at(contents, at), u32_at(contents, at + 8)) else {
            break;
        };
        let name = contents.get(at + 16..)?;
        let length = name.iter().position(|byte| *byte == 0)?;
        let name = name.get(..length)?;
        let file = match lines.last() {
            Some(last) if name == SAME_FILE => Arc::clone(&last.file),
            Some(last) if name == last.file.as_bytes() => Arc::clone(&last.file),
            _ => file_name(name),
        };
        lines.push(SourceLine {
            address,
            line,
            file,
        });
        at += 16 + length + 1;
    }
    lines.sort_by_key(|line| line.address);
    // Of a line in a file that is not known nothing can be said.
    lines.retain(|line| !line.file.is_empty());
    Some((code, lines))
}

/// The name of a file; empty where it is none. Node.js 20 writes something else for baseline code.
fn file_name(bytes: &[u8]) -> Arc<str> {
    match str::from_utf8(bytes) {
        Ok(name) if !name.contains(char::is_control) && name.len() <= MAX_NAME_BYTES => name.into(),
        _ => "".into(),
    }
}

/// A text with a closing NUL, without control characters.
fn text(bytes: &[u8]) -> String {
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or(&[]);
    let text = text.get(..MAX_NAME_BYTES).unwrap_or(text);
    String::from_utf8_lossy(text)
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// A file as a compiler writes it.
    #[derive(Default)]
    struct Written(Vec<u8>);

    impl Written {
        fn new() -> Self {
            let mut written = Self::default();
            for word in [MAGIC, 1, 40, 62, 0, 77, 0, 0, 0, 0] {
                written.0.extend(word.to_ne_bytes());
            }
            written
        }

        fn record(&mut self, kind: u32, contents: &[u8]) {
            self.0.extend(kind.to_ne_bytes());
            let size = 16 + u32::try_from(contents.len()).expect("short");
            self.0.extend(size.to_ne_bytes());
            self.0.extend(5u64.to_ne_bytes());
            self.0.extend(contents);
        }

        fn load(&mut self, start: u64, size: u64, name: &str) {
            let mut contents = words(&[0, start, start, size, 1]);
            contents.extend(name.as_bytes());
            contents.push(0);
            contents.extend(vec![0x90; usize::try_from(size).expect("short")]);
            self.record(0, &contents);
        }

        fn lines(&mut self, code: u64, lines: &[(u64, u32, &[u8])]) {
            let mut contents = words(&[code, lines.len() as u64]);
            for (address, line, file) in lines {
                contents.extend(address.to_ne_bytes());
                contents.extend(line.to_ne_bytes());
                contents.extend(0u32.to_ne_bytes());
                contents.extend(*file);
                contents.push(0);
            }
            self.record(2, &contents);
        }
    }

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    fn follow(dump: &mut Dump, bytes: &[u8], table: &mut CodeTable) {
        let mut file = tempfile::tempfile().expect("temporary file");
        file.write_all(bytes).expect("write");
        dump.follow(&file, table, true).expect("read");
    }

    /// Code is loaded with its lines, moved with them, and replaced; the rest of a record that was
    /// half written is read later.
    #[test]
    fn records() {
        let mut written = Written::new();
        written.lines(0x1000, &[(0x1008, 7, b"a.js"), (0x1000, 3, b"a.js")]);
        written.load(0x1000, 0x20, "one");
        written.load(0x2000, 0x20, "two");
        written.record(9, &[1, 2, 3]);
        written.record(1, &words(&[0, 0, 0x1000, 0x5000, 0x20, 1]));
        let whole = written.0.len();
        written.load(0x2010, 0x20, "three");
        let (mut dump, mut table) = (Dump::default(), CodeTable::default());
        follow(&mut dump, &written.0[..30], &mut table);
        follow(&mut dump, &written.0[..whole + 40], &mut table);
        assert_eq!(table.find(0x1000), None);
        let moved = table.find(0x5008).expect("moved");
        assert_eq!(&*moved.name, "one");
        let lines: Vec<(u64, u32)> = moved
            .lines
            .iter()
            .map(|line| (line.address, line.line))
            .collect();
        assert_eq!(lines, [(0x5000, 3), (0x5008, 7)]);
        assert_eq!(&*table.find(0x2010).expect("two").name, "two");
        follow(&mut dump, &written.0, &mut table);
        assert_eq!(&*table.find(0x2010).expect("three").name, "three");
        assert_eq!(table.find(0x2000), None);
        assert!(!dump.is_broken());
    }

    /// A file of V8's repeats a file's name as one byte.
    #[test]
    fn same_file() {
        let mut written = Written::new();
        written.lines(0x1000, &[(0x1000, 3, b"a.js"), (0x1008, 7, SAME_FILE)]);
        written.load(0x1000, 0x20, "one");
        let (mut dump, mut table) = (Dump::default(), CodeTable::default());
        follow(&mut dump, &written.0, &mut table);
        let lines = &table.find(0x1000).expect("one").lines;
        assert!(lines.iter().all(|line| &*line.file == "a.js"));
    }

    /// Any byte changed, any end: read or given up, without a panic, in bounded time.
    #[test]
    fn damaged() {
        let mut written = Written::new();
        written.lines(0x1000, &[(0x1000, 3, b"a.js")]);
        written.load(0x1000, 0x20, "one");
        for at in 0..written.0.len() {
            for value in [0, 0x7f, 0xff] {
                let mut bytes = written.0.clone();
                bytes[at] = value;
                let (mut dump, mut table) = (Dump::default(), CodeTable::default());
                follow(&mut dump, &bytes, &mut table);
                follow(&mut dump, &written.0[..at], &mut CodeTable::default());
            }
        }
        let mut dump = Dump::default();
        follow(&mut dump, &[0; 100], &mut CodeTable::default());
        assert!(dump.is_broken());
    }
}
