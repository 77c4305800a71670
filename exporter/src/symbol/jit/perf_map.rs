//! Perf maps: a line for each function, `START SIZE NAME`, numbers in hexadecimal.
//!
//! The file grows while the process runs, and may be written anew (`jcmd PID Compiler.perfmap`).
//! Only what was added is read. Format: tools/perf/Documentation/jit-interface.txt in the kernel's
//! source; HotSpot writes the numbers with `0x`.

use std::{
    fs::File,
    io,
    os::unix::fs::{FileExt as _, MetadataExt as _},
};

use super::code_table::{Code, CodeTable};

/// Longest name kept, in bytes; the rest is cut.
const MAX_NAME_BYTES: usize = 1024;

/// Longest line; a longer one is skipped as a whole.
const MAX_LINE_BYTES: usize = 64 << 10;

/// Longest file that is read to its end. A Node.js program with 100,000 functions writes 10 MB.
const MAX_BYTES: u64 = 64 << 20;

/// Most bytes read at a time, which is once a window; the rest is read then. They take 0.1 s.
const MAX_BYTES_AT_ONCE: u64 = 16 << 20;

/// Bytes read at a time.
const CHUNK: usize = 256 << 10;

/// Bytes before the place reached by which a file is known to be the one read so far.
const TAIL: usize = 64;

/// What happened so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PerfMapCounters {
    /// Lines that have no known form, or are too long.
    pub(super) malformed: u64,
    /// Times that the file had been written anew.
    pub(super) rewritten: u64,
    /// Files that were too long to be read to their end.
    pub(super) cut: u64,
}

/// How far a perf map was read.
#[derive(Debug, Default)]
pub(super) struct PerfMap {
    inode: (u64, u64),
    /// Bytes taken into the table: whole lines.
    done: u64,
    /// It is longer than what is read of it, which was counted.
    is_cut: bool,
    tail: Vec<u8>,
    counters: PerfMapCounters,
}

impl PerfMap {
    /// What happened so far.
    pub(super) fn counters(&self) -> PerfMapCounters {
        self.counters
    }

    /// Takes what was added to the file since the last time into `table`.
    ///
    /// # Errors
    /// When the file cannot be read; what was taken before stays.
    pub(super) fn follow(&mut self, file: &File, table: &mut CodeTable) -> io::Result<()> {
        let metadata = file.metadata()?;
        let inode = (metadata.dev(), metadata.ino());
        if inode != self.inode || metadata.len() < self.done || !self.tail_is_there(file)? {
            self.counters.rewritten += u64::from(self.done > 0);
            table.forget_all();
            self.inode = inode;
            self.done = 0;
            self.is_cut = false;
            self.tail.clear();
        }
        let mut chunk = vec![0; CHUNK];
        let end = MAX_BYTES.min(self.done.saturating_add(MAX_BYTES_AT_ONCE));
        while self.done < end {
            let read = file.read_at(&mut chunk, self.done)?;
            if read == 0 {
                break;
            }
            let bytes = chunk.get(..read).unwrap_or(&[]);
            // A line that has no end yet is left for the next time.
            let whole = match bytes.iter().rposition(|byte| *byte == b'\n') {
                Some(end) => end + 1,
                None if read < MAX_LINE_BYTES => break,
                None => read,
            };
            let lines = bytes.get(..whole).unwrap_or(&[]);
            self.take(lines, table);
            self.done += whole as u64;
            self.tail = lines
                .get(lines.len().saturating_sub(TAIL)..)
                .unwrap_or(lines)
                .to_vec();
        }
        if self.done >= MAX_BYTES && !self.is_cut {
            self.is_cut = true;
            self.counters.cut += 1;
        }
        Ok(())
    }

    /// Whether the bytes before the place reached are those that were read.
    fn tail_is_there(&self, file: &File) -> io::Result<bool> {
        let mut bytes = vec![0; self.tail.len()];
        let start = self.done.saturating_sub(self.tail.len() as u64);
        match file.read_exact_at(&mut bytes, start) {
            Ok(()) => Ok(bytes == self.tail),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn take(&mut self, lines: &[u8], table: &mut CodeTable) {
        for line in lines
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
        {
            match parse(line) {
                Some((start, size, name)) => table.insert(start, size, Code::named(&name)),
                None => self.counters.malformed += 1,
            }
        }
    }
}

/// Start, size and name. `None` for a line of another form, and for one without a name.
fn parse(line: &[u8]) -> Option<(u64, u64, String)> {
    let mut parts = line.splitn(3, |byte| *byte == b' ');
    let start = hexadecimal(parts.next()?)?;
    let size = hexadecimal(parts.next()?)?;
    let name = parts.next()?.trim_ascii();
    let name = name.get(..MAX_NAME_BYTES).unwrap_or(name);
    // Control characters would end up in terminals.
    let name: String = String::from_utf8_lossy(name)
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    (!name.is_empty()).then_some((start, size, name))
}

fn hexadecimal(digits: &[u8]) -> Option<u64> {
    let digits = digits.strip_prefix(b"0x").unwrap_or(digits);
    // `from_str_radix` would take a sign.
    if !digits.first()?.is_ascii_hexdigit() {
        return None;
    }
    u64::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write as _};

    use super::*;

    const JAVA: &[u8] = include_bytes!("../../../tests/cases/perfmap_java17.map");
    const NODE: &[u8] = include_bytes!("../../../tests/cases/perfmap_node.map");

    fn name(table: &CodeTable, address: u64) -> Option<&str> {
        table.find(address).map(|code| &*code.name)
    }

    struct Followed {
        file: tempfile::NamedTempFile,
        map: PerfMap,
        table: CodeTable,
    }

    impl Followed {
        fn new(bytes: &[u8]) -> Self {
            let mut followed = Self {
                file: tempfile::NamedTempFile::new().expect("temporary file"),
                map: PerfMap::default(),
                table: CodeTable::default(),
            };
            followed.append(bytes);
            followed
        }

        fn append(&mut self, bytes: &[u8]) {
            self.file.write_all(bytes).expect("write");
            self.follow();
        }

        fn follow(&mut self) {
            let file = File::open(self.file.path()).expect("open");
            self.map.follow(&file, &mut self.table).expect("read");
        }
    }

    /// HotSpot's file: `0x`, and names with types and spaces.
    #[test]
    fn java() {
        let followed = Followed::new(JAVA);
        let table = &followed.table;
        assert_eq!(name(table, 0x7fb3_e4ec_7610), Some("int Hot.hotJava(int)"));
        assert_eq!(name(table, 0x7fb3_dc94_a5c0), Some("Interpreter"));
        assert_eq!(
            name(table, 0x7fb3_dc92_b000),
            Some("StubRoutines (initial stubs)")
        );
        assert_eq!(name(table, 0x7fb3_e4ec_7600 + 0xd8), None);
        assert_eq!(followed.map.counters(), PerfMapCounters::default());
    }

    /// V8's file, with reused addresses, code of no size, and lines of other forms: later lines
    /// win, bad ones are counted, a last line without end waits for it.
    #[test]
    fn node() {
        let mut followed = Followed::new(NODE);
        let table = &followed.table;
        for (address, expected) in [
            (0x7f24_66fe_3f50, Some("JS:^hotNode /srv/app/s.js:1:17")),
            (0x7f24_66fe_4650, Some("JS:*other /srv/app/s.js:9:3")),
            (0x7f24_66fe_47c8, None),
            (0x7f24_66fe_6000, None),
            (0x7f24_66fe_9010, None),
            (0x80_b65d_1c70, Some("JS:~hotNode /srv/app/s.js:1:17")),
            (0x7f24_66fe_3b7f, None),
        ] {
            assert_eq!(name(table, address), expected, "{address:#x}");
        }
        assert_eq!(followed.map.counters().malformed, 3);
        followed.append(b"dle /srv/app/s.js:2:2\n");
        assert_eq!(
            name(&followed.table, 0x7f24_66fe_9010),
            Some("LazyCompile:*cut in the middle /srv/app/s.js:2:2")
        );
    }

    /// Only what was added is read; a file written anew is read from its start, also when it has
    /// grown beyond the place reached.
    #[test]
    fn growing() {
        let mut followed = Followed::new(b"1000 10 one\n");
        followed.append(b"2000 10 two\n");
        assert_eq!(followed.map.done, 24);
        followed.follow();
        assert_eq!(followed.map.done, 24);
        assert_eq!(name(&followed.table, 0x1000), Some("one"));
        for anew in [
            "3000 10 three\n",
            "4000 10 four\n5000 10 five\n6000 10 six\n",
        ] {
            fs::write(followed.file.path(), anew).expect("write");
            followed.follow();
            assert_eq!(name(&followed.table, 0x1000), None);
        }
        assert_eq!(name(&followed.table, 0x3000), None);
        assert_eq!(name(&followed.table, 0x4000), Some("four"));
        assert_eq!(followed.map.counters().rewritten, 2);
    }

    /// Lines without end and numbers without end cost what they are long, and nothing more.
    #[test]
    fn hostile() {
        let mut bytes = vec![b'a'; 3 << 20];
        bytes.extend_from_slice(b"\n7000 10 after\n-8000 10 sign\nffffffffffffffffff 1 big\n");
        bytes.extend_from_slice(b"9000 10 a\x1b[31mb\n");
        bytes.extend_from_slice(&b"a000 10 ".repeat(2));
        let followed = Followed::new(&bytes);
        assert_eq!(name(&followed.table, 0x7000), Some("after"));
        assert_eq!(name(&followed.table, 0x9000), Some("a\u{fffd}[31mb"));
        assert!(followed.map.counters().malformed >= 3);
    }
}
