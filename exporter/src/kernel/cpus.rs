//! Which CPUs there are, and which come and go.

use std::{
    fs::File,
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use thiserror::Error;

/// Highest number of CPUs looked at: `NR_CPUS` of the largest distribution kernels.
pub const MAX_CPUS: u32 = 8192;

/// Bytes of a CPU list. The kernel's own limit for such a file is one page.
const MAX_LIST_BYTES: usize = 4096;

const ONLINE: &str = "devices/system/cpu/online";
const POSSIBLE: &str = "devices/system/cpu/possible";

/// Why the CPUs cannot be told.
#[derive(Debug, Error)]
pub enum CpuError {
    /// The file cannot be read.
    #[error("cannot read {path}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
    /// The text is not an ascending list of CPU numbers below [`MAX_CPUS`].
    #[error("not a list of CPUs: {0:?}")]
    Malformed(String),
}

/// Parses the kernel's list format, `0-1,4,7-9` (`bitmap_print_to_pagebuf`). An empty text is an
/// empty list.
///
/// # Errors
/// Anything but ascending numbers and ranges below [`MAX_CPUS`].
pub fn parse_list(text: &str) -> Result<Vec<u32>, CpuError> {
    let malformed = || CpuError::Malformed(text.chars().take(64).collect());
    let mut cpus = Vec::new();
    let text = text.trim_end_matches('\n');
    if text.is_empty() {
        return Ok(cpus);
    }
    let number = |digits: &str| {
        // `parse` alone would take a leading plus sign.
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        digits.parse().ok().filter(|cpu| *cpu < MAX_CPUS)
    };
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first = number(first).ok_or_else(malformed)?;
        let last = number(last).ok_or_else(malformed)?;
        if first > last || cpus.last().is_some_and(|previous| *previous >= first) {
            return Err(malformed());
        }
        cpus.extend(first..=last);
    }
    Ok(cpus)
}

/// CPUs that run now, ascending.
///
/// # Errors
/// `<sys_root>/devices/system/cpu/online` cannot be read or makes no sense.
pub fn online(sys_root: &Path) -> Result<Vec<u32>, CpuError> {
    ListFile::open(sys_root.join(ONLINE))?
        .read()
        .and_then(parse_list)
}

/// One more than the highest number that a CPU of this kernel could have. Numbers may have holes.
///
/// # Errors
/// `<sys_root>/devices/system/cpu/possible` cannot be read or makes no sense.
pub fn number_limit(sys_root: &Path) -> Result<usize, CpuError> {
    let list = ListFile::open(sys_root.join(POSSIBLE))?
        .read()
        .and_then(parse_list)?;
    Ok(list.last().map_or(0, |last| *last as usize + 1))
}

/// An open list and the bytes read last.
#[derive(Debug)]
struct ListFile {
    path: PathBuf,
    file: File,
    bytes: Vec<u8>,
}

impl ListFile {
    fn open(path: PathBuf) -> Result<Self, CpuError> {
        match File::open(&path) {
            Ok(file) => Ok(Self {
                path,
                file,
                bytes: vec![0; MAX_LIST_BYTES],
            }),
            Err(source) => Err(CpuError::Unreadable { path, source }),
        }
    }

    /// Reads from the beginning again; sysfs then writes its list anew.
    fn read(&mut self) -> Result<&str, CpuError> {
        let mut filled = 0;
        while let Some(rest) = self.bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            let read =
                self.file
                    .read_at(rest, filled as u64)
                    .map_err(|source| CpuError::Unreadable {
                        path: self.path.clone(),
                        source,
                    })?;
            if read == 0 {
                break;
            }
            filled += read;
        }
        let bytes = self.bytes.get(..filled).unwrap_or_default();
        // A full buffer may end inside a number.
        if filled == MAX_LIST_BYTES {
            return Err(CpuError::Malformed("longer than a page".into()));
        }
        std::str::from_utf8(bytes).map_err(|_| CpuError::Malformed("not text".into()))
    }
}

/// CPUs that came or went between two polls, each list ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuChanges {
    /// Run now and did not.
    pub online: Vec<u32>,
    /// Ran and do not now.
    pub offline: Vec<u32>,
}

impl CpuChanges {
    /// Whether nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.online.is_empty() && self.offline.is_empty()
    }
}

/// Follows the CPUs that are online. A poll is one read of a few bytes (about 2 us), so that once
/// a second costs nothing.
#[derive(Debug)]
pub struct CpuWatch {
    file: ListFile,
    text: String,
    online: Vec<u32>,
}

impl CpuWatch {
    /// Starts with the CPUs that are online now.
    ///
    /// # Errors
    /// As [`online`].
    pub fn new(sys_root: &Path) -> Result<Self, CpuError> {
        let mut file = ListFile::open(sys_root.join(ONLINE))?;
        let text = file.read()?.to_owned();
        let online = parse_list(&text)?;
        Ok(Self { file, text, online })
    }

    /// CPUs that were online at the last poll, ascending.
    #[must_use]
    pub fn online(&self) -> &[u32] {
        &self.online
    }

    /// What changed since the last poll. After an error the state is as before, and the next poll
    /// reports the change.
    ///
    /// # Errors
    /// As [`online`].
    pub fn poll(&mut self) -> Result<CpuChanges, CpuError> {
        let text = self.file.read()?;
        if text == self.text {
            return Ok(CpuChanges::default());
        }
        let now = parse_list(text)?;
        let missing = |from: &[u32], other: &[u32]| {
            from.iter()
                .copied()
                .filter(|cpu| other.binary_search(cpu).is_err())
                .collect()
        };
        let changes = CpuChanges {
            online: missing(&now, &self.online),
            offline: missing(&self.online, &now),
        };
        self.text.clear();
        self.text.push_str(text);
        self.online = now;
        Ok(changes)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The kernel's lists come out as numbers.
    #[test]
    fn parses_lists() {
        assert_eq!(parse_list("0-1,4,7-9\n").unwrap(), [0, 1, 4, 7, 8, 9]);
        assert_eq!(parse_list("0").unwrap(), [0]);
        assert_eq!(parse_list("\n").unwrap(), [0_u32; 0]);
        assert_eq!(parse_list("0-8191").unwrap().len(), 8192);
    }

    /// Nonsense, also of the kind that would make a list of billions, is refused.
    #[test]
    fn refuses_nonsense() {
        for text in [
            "0-",
            "-1",
            "a",
            "0,,1",
            "1,0",
            "0-1,1",
            "3-2",
            "0-4294967295",
            "8192",
            "+1",
            "0 1",
            "99999999999999999999",
            "0-1-2",
            ",",
        ] {
            assert!(parse_list(text).is_err(), "{text}");
        }
    }

    fn root(list: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("devices/system/cpu")).unwrap();
        fs::write(root.path().join(ONLINE), list).unwrap();
        root
    }

    /// Both directions of change are reported once, and an unreadable list changes nothing.
    #[test]
    fn follows_changes() {
        let root = root("0-3\n");
        let mut watch = CpuWatch::new(root.path()).unwrap();
        assert!(watch.poll().unwrap().is_empty());
        fs::write(root.path().join(ONLINE), "0,2,5\n").unwrap();
        let changes = watch.poll().unwrap();
        assert_eq!((changes.online, changes.offline), (vec![5], vec![1, 3]));
        assert!(watch.poll().unwrap().is_empty());
        fs::write(root.path().join(ONLINE), "garbage").unwrap();
        assert!(watch.poll().is_err());
        assert_eq!(watch.online(), [0, 2, 5]);
        fs::write(root.path().join(ONLINE), "0,2,5-6\n").unwrap();
        assert_eq!(watch.poll().unwrap().online, [6]);
    }

    /// A list that fills the page is not trusted, as its last number may be cut.
    #[test]
    fn a_list_of_a_page_is_refused() {
        let list: Vec<_> = (0..2000).map(|cpu| (2 * cpu).to_string()).collect();
        assert!(online(root(&list.join(",")).path()).is_err());
    }

    /// This machine has CPUs online, and not more than are possible.
    #[test]
    fn reads_this_machine() {
        let sys = Path::new("/sys");
        let online = online(sys).unwrap();
        assert!(!online.is_empty() && online.len() <= number_limit(sys).unwrap());
        let mut watch = CpuWatch::new(sys).unwrap();
        let begin = std::time::Instant::now();
        for _ in 0..1000 {
            watch.poll().unwrap();
        }
        eprintln!("poll: {:?}", begin.elapsed() / 1000);
    }
}
