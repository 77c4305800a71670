//! Whose each series of the kernel's is, from when a disk is first seen until it has gone.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use aya::maps::Array;
use evenkeel_abi::{
    DISK_BANK_SERIES, DISK_IDENTITY_WORDS, DISK_NAME_LEN, DISK_SERIES, DiskOperation,
};
use rustix::time::{ClockId, Timespec, clock_gettime};

use super::counts::{Counts, Reading};
use crate::kernel::Kernel;

/// The map in which programs say whose a series is.
const DISKS: &str = "DISKS";

/// The array of what they count.
const DISK_IO: &str = "DISK_IO";

/// The name of all disks that found no series.
const OTHER: &str = "other";

/// One operation of one disk.
#[derive(Clone, Debug)]
pub(super) struct Series {
    /// Name of the whole disk, as in sysfs.
    pub(super) disk: Arc<str>,
    /// 2 for the second of two disks of that name that have series, and so on; else 1.
    pub(super) instance: u32,
    /// The operation.
    pub(super) operation: DiskOperation,
    /// When the disk was first seen.
    pub(super) start_unix_nanos: u64,
    /// What was counted since.
    pub(super) counts: Counts,
}

/// A disk for as long as it exists: neither its name nor its number stays with it, but this does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DiskKey {
    address: u64,
    sequence: u64,
}

/// The disk that has a series.
#[derive(Debug)]
struct Owner {
    /// `None` for what has no disk of its own.
    key: Option<DiskKey>,
    series: Series,
    /// sysfs has it no more.
    gone: bool,
    /// It had gone when its counts were sent, and they did not grow since the time before.
    settled: bool,
}

/// A series of the kernel's.
#[derive(Debug)]
struct Place {
    /// How far it was counted, whoever had it.
    seen: Reading,
    owner: Option<Owner>,
}

/// A disk of which something is known, for sampling.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Disk {
    /// Its name.
    pub(super) name: Arc<str>,
    /// As in `Series`.
    pub(super) instance: u32,
    /// Whether sysfs still has it.
    pub(super) present: bool,
}

/// All series.
#[derive(Debug)]
pub(super) struct Disks {
    block: PathBuf,
    /// By number; made when a series is taken.
    places: Vec<Option<Place>>,
    operations: u64,
}

impl Disks {
    /// No disk is known yet; whether one has gone is looked up below `sys`.
    pub(super) fn new(sys: &Path) -> Self {
        let mut places: Vec<_> = (0..DISK_SERIES).map(|_| None).collect();
        places.extend(DiskOperation::ALL.map(|operation| Some(Place::other(operation))));
        debug_assert_eq!(places.len(), DISK_BANK_SERIES as usize);
        Self {
            block: sys.join("block"),
            places,
            operations: 0,
        }
    }

    /// Looks for disks that took a series since the last look.
    pub(super) fn find(&mut self, kernel: &Kernel) {
        let Some(map) = kernel.map(DISKS) else { return };
        let Ok(map) = Array::<_, [u64; DISK_IDENTITY_WORDS]>::try_from(map) else {
            return;
        };
        for series in 0..DISK_SERIES {
            let is_new = match &self.places[series as usize] {
                None => true,
                Some(place) => place.owner.is_none(),
            };
            if is_new && let Some(identity) = map.get(&series, 0).ok().and_then(Identity::new) {
                self.take(series as usize, identity);
            }
        }
    }

    fn take(&mut self, series: usize, identity: Identity) {
        let (disk, instance) = self.name(&identity);
        let owner = Owner {
            key: Some(identity.key),
            series: Series {
                disk,
                instance,
                operation: identity.operation,
                start_unix_nanos: unix_nanos_of(identity.first_seen),
                counts: Counts::new(),
            },
            gone: false,
            settled: false,
        };
        self.places[series]
            .get_or_insert_with(|| Place {
                seen: Reading::zero(),
                owner: None,
            })
            .owner = Some(owner);
    }

    /// The name of a disk and which of that name it is.
    fn name(&self, identity: &Identity) -> (Arc<str>, u32) {
        let known = self.owners().find(|owner| owner.key == Some(identity.key));
        if let Some(known) = known {
            return (known.series.disk.clone(), known.series.instance);
        }
        let taken = |instance| {
            self.owners().any(|owner| {
                owner.series.instance == instance && *owner.series.disk == *identity.name
            })
        };
        let instance = (1..).find(|instance| !taken(*instance)).unwrap_or(1);
        (identity.name.as_str().into(), instance)
    }

    /// Reads what was counted. A disk that had gone before and of which nothing more was counted can
    /// be forgotten from then on: its last counts are what the caller sends now.
    pub(super) fn read(&mut self, kernel: &Kernel) {
        let Some(array) = kernel.array(DISK_IO) else {
            return;
        };
        for (number, place) in self.places.iter_mut().enumerate() {
            // What is counted in a series that nobody has yet is read when it is known whose it is.
            let Some(place) = place.as_mut().filter(|place| place.owner.is_some()) else {
                continue;
            };
            let reading = Reading::of(array, u32::try_from(number).unwrap_or(0));
            self.operations += reading.operations_since(&place.seen);
            place.advance(reading);
        }
    }

    /// Frees the series of disks that have gone.
    pub(super) fn release_gone(&mut self, kernel: &mut Kernel) {
        if !self.block.is_dir() {
            return;
        }
        for place in self.places.iter_mut().flatten() {
            if let Some(owner) = &mut place.owner
                && let Some(key) = owner.key
            {
                owner.gone = !is_present(&self.block, &owner.series.disk, key.sequence);
            }
        }
        if !self.owners().any(|owner| owner.gone && owner.settled) {
            return;
        }
        let Some(Ok(mut map)) = kernel
            .map_mut(DISKS)
            .map(Array::<_, [u64; DISK_IDENTITY_WORDS]>::try_from)
        else {
            return;
        };
        for (number, place) in (0_u32..).zip(&mut self.places) {
            let Some(place) = place else { continue };
            if place
                .owner
                .as_ref()
                .is_some_and(|owner| owner.gone && owner.settled)
                && map.set(number, [0; DISK_IDENTITY_WORDS], 0).is_ok()
            {
                place.owner = None;
            }
        }
    }

    fn owners(&self) -> impl Iterator<Item = &Owner> {
        self.places
            .iter()
            .flatten()
            .filter_map(|place| place.owner.as_ref())
    }

    /// Each operation of each disk once.
    pub(super) fn series(&self) -> impl Iterator<Item = Series> {
        let mut merged: Vec<(Option<DiskKey>, Series)> = Vec::new();
        for owner in self.owners() {
            // The series of all other disks are there only if they are used.
            if owner.key.is_none() && owner.series.counts.operations() == 0 {
                continue;
            }
            let same = merged.iter_mut().find(|(key, series)| {
                *key == owner.key && series.operation == owner.series.operation
            });
            match same {
                Some((_, series)) => {
                    series.counts.merge(&owner.series.counts);
                    series.start_unix_nanos =
                        series.start_unix_nanos.min(owner.series.start_unix_nanos);
                }
                None => merged.push((owner.key, owner.series.clone())),
            }
        }
        merged.into_iter().map(|(_, series)| series)
    }

    /// Operations of all disks that ended until the last reading.
    pub(super) fn operations(&self) -> u64 {
        self.operations
    }

    /// The disks that have series.
    pub(super) fn disks(&self) -> Vec<Disk> {
        let mut disks: Vec<_> = self
            .owners()
            .filter(|owner| owner.key.is_some())
            .map(|owner| Disk {
                name: owner.series.disk.clone(),
                instance: owner.series.instance,
                present: !owner.gone,
            })
            .collect();
        disks.sort();
        disks.dedup();
        disks
    }
}

impl Place {
    /// The series of disks that found none.
    fn other(operation: DiskOperation) -> Self {
        Self {
            seen: Reading::zero(),
            owner: Some(Owner {
                key: None,
                series: Series {
                    disk: OTHER.into(),
                    instance: 1,
                    operation,
                    start_unix_nanos: 0,
                    counts: Counts::new(),
                },
                gone: false,
                settled: false,
            }),
        }
    }

    fn advance(&mut self, reading: Reading) {
        if let Some(owner) = &mut self.owner {
            owner.settled = owner.gone && self.seen == reading;
            owner.series.counts.add_growth(&self.seen, &reading);
        }
        self.seen = reading;
    }
}

/// What a program wrote of a disk.
#[derive(Debug)]
struct Identity {
    key: DiskKey,
    operation: DiskOperation,
    first_seen: u64,
    name: String,
}

impl Identity {
    /// `None` when the series is free or not filled in yet.
    fn new(words: [u64; DISK_IDENTITY_WORDS]) -> Option<Self> {
        let [taken, address, sequence, operation, first_seen, name @ ..] = words;
        if taken == 0 || address == 0 {
            return None;
        }
        let operation = operation & u64::from(u32::MAX);
        let bytes: Vec<u8> = name.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let length = bytes
            .iter()
            .position(|byte| *byte == 0)
            .unwrap_or(DISK_NAME_LEN);
        Some(Self {
            key: DiskKey { address, sequence },
            operation: *DiskOperation::ALL.get(usize::try_from(operation).ok()?)?,
            first_seen,
            name: String::from_utf8_lossy(&bytes[..length]).into_owned(),
        })
    }
}

/// Whether sysfs has this disk and not another of its name.
fn is_present(block: &Path, name: &str, sequence: u64) -> bool {
    fs::read_to_string(block.join(directory(name)).join("diskseq"))
        .is_ok_and(|text| text.trim().parse() == Ok(sequence))
}

/// The directory of a disk in sysfs: a slash in a name is an exclamation mark there.
pub(super) fn directory(name: &str) -> String {
    name.replace('/', "!")
}

/// The time of day of a reading of the kernel programs' clock.
fn unix_nanos_of(monotonic_nanos: u64) -> u64 {
    let nanos = |clock| {
        let Timespec { tv_sec, tv_nsec } = clock_gettime(clock);
        Duration::new(
            u64::try_from(tv_sec).unwrap_or(0),
            u32::try_from(tv_nsec).unwrap_or(0),
        )
    };
    let age = nanos(ClockId::Monotonic).saturating_sub(Duration::from_nanos(monotonic_nanos));
    let then = nanos(ClockId::Realtime).saturating_sub(age);
    u64::try_from(then.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(address: u64, sequence: u64, operation: DiskOperation, name: &str) -> Identity {
        let mut words = [1, address, sequence, operation as u64, 1_000, 0, 0, 0, 0];
        let mut bytes = [0_u8; DISK_NAME_LEN];
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        for (word, bytes) in words[5..].iter_mut().zip(bytes.chunks(8)) {
            *word = u64::from_ne_bytes(bytes.try_into().unwrap());
        }
        Identity::new(words).unwrap()
    }

    fn sysfs(disks: &[(&str, u64)]) -> tempfile::TempDir {
        let sys = tempfile::tempdir().unwrap();
        for (name, sequence) in disks {
            let directory = sys.path().join("block").join(name);
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join("diskseq"), format!("{sequence}\n")).unwrap();
        }
        sys
    }

    fn names(disks: &Disks) -> Vec<(String, u32)> {
        disks
            .series()
            .map(|series| (series.disk.to_string(), series.instance))
            .collect()
    }

    /// A series is not read before a program has filled in whose it is.
    #[test]
    fn half_an_identity_is_none() {
        let words = |taken, address| [taken, address, 9, 0, 0, 0, 0, 0, 0];
        assert!(Identity::new(words(0, 0)).is_none());
        assert!(Identity::new(words(1, 0)).is_none());
        assert!(Identity::new(words(1, 5)).is_some());
        assert!(Identity::new([1, 5, 9, 77, 0, 0, 0, 0, 0]).is_none());
    }

    /// All operations of a disk have its name; another disk of that name, be it at the same address or
    /// not, is told apart for as long as the first one has series.
    #[test]
    fn a_reused_name_is_another_disk() {
        let mut disks = Disks::new(Path::new("/nowhere"));
        disks.take(0, identity(1, 9, DiskOperation::Read, "loop0"));
        disks.take(1, identity(1, 9, DiskOperation::Write, "loop0"));
        disks.take(2, identity(1, 10, DiskOperation::Read, "loop0"));
        disks.take(3, identity(2, 11, DiskOperation::Read, "loop0"));
        let name = |instance| ("loop0".to_owned(), instance);
        assert_eq!(names(&disks), [name(1), name(1), name(2), name(3)]);

        disks.places[0].as_mut().unwrap().owner = None;
        disks.places[1].as_mut().unwrap().owner = None;
        disks.take(0, identity(7, 12, DiskOperation::Read, "loop0"));
        assert_eq!(names(&disks), [name(1), name(2), name(3)]);
    }

    /// Two series that two CPUs took for one disk at once are shown as one.
    #[test]
    fn twice_taken_is_shown_once() {
        let mut disks = Disks::new(Path::new("/nowhere"));
        disks.take(0, identity(1, 9, DiskOperation::Read, "vda"));
        disks.take(1, identity(1, 9, DiskOperation::Read, "vda"));
        assert_eq!(names(&disks), [("vda".to_owned(), 1)]);
    }

    /// A disk is present if sysfs has it with its own sequence number.
    #[test]
    fn another_medium_is_not_the_disk() {
        let sys = sysfs(&[("loop0", 9), ("cciss!c0d0", 3)]);
        let block = sys.path().join("block");
        assert!(is_present(&block, "loop0", 9));
        assert!(!is_present(&block, "loop0", 8));
        assert!(!is_present(&block, "loop1", 9));
        assert!(is_present(&block, "cciss/c0d0", 3));
    }

    /// The counts of a disk that has gone are kept until they were sent once more without growing.
    #[test]
    fn a_gone_disk_is_kept_until_it_was_sent() {
        let mut disks = Disks::new(Path::new("/nowhere"));
        disks.take(0, identity(1, 9, DiskOperation::Read, "loop0"));
        let place = disks.places[0].as_mut().unwrap();
        place.advance(Reading::zero());
        let settled = |place: &Place| place.owner.as_ref().unwrap().settled;
        assert!(!settled(place), "it is still there");
        place.owner.as_mut().unwrap().gone = true;
        place.advance(Reading::zero());
        assert!(settled(place));
    }
}
