//! Room in an array that kernel programs read at any time.

use std::{
    collections::{BTreeMap, VecDeque},
    time::{Duration, Instant},
};

/// How long room that was given back is left alone: a walk that has just read where it is takes 60 µs
/// at its longest, and a CPU of ours can be stolen for tens of milliseconds meanwhile.
pub(super) const GRACE: Duration = Duration::from_millis(200);

/// Room in an array, in entries: first fit, neighbours joined.
#[derive(Debug)]
pub(super) struct Space {
    capacity: u32,
    used: u32,
    /// Length by first entry; no two touch.
    free: BTreeMap<u32, u32>,
    /// Given back, oldest first: when, first entry, length.
    retired: VecDeque<(Instant, u32, u32)>,
}

impl Space {
    /// An array of `capacity` entries, all free.
    pub(super) fn new(capacity: u32) -> Self {
        Self {
            capacity,
            used: 0,
            free: BTreeMap::from([(0, capacity)]),
            retired: VecDeque::new(),
        }
    }

    /// Entries in all.
    pub(super) fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Entries that are taken, those not counted that wait to be free again.
    pub(super) fn used(&self) -> u32 {
        self.used
    }

    /// Takes `length` entries; the first one's place, or `None` when no gap is wide enough.
    pub(super) fn take(&mut self, length: u32, now: Instant) -> Option<u32> {
        self.reclaim(now);
        if length == 0 {
            return Some(0);
        }
        let (first, found) = self
            .free
            .iter()
            .find(|(_, found)| **found >= length)
            .map(|(first, found)| (*first, *found))?;
        self.free.remove(&first);
        if found > length {
            self.free.insert(first + length, found - length);
        }
        self.used += length;
        Some(first)
    }

    /// Gives entries back, to be used again after [`GRACE`].
    pub(super) fn give_back(&mut self, first: u32, length: u32, now: Instant) {
        if length > 0 {
            self.used -= length;
            self.retired.push_back((now, first, length));
        }
    }

    /// Whether entries that were given back are still left alone.
    pub(super) fn is_waiting(&mut self, now: Instant) -> bool {
        self.reclaim(now);
        !self.retired.is_empty()
    }

    fn reclaim(&mut self, now: Instant) {
        while let Some((since, first, length)) = self.retired.front().copied() {
            if now.duration_since(since) < GRACE {
                break;
            }
            self.retired.pop_front();
            self.insert(first, length);
        }
    }

    fn insert(&mut self, mut first: u32, mut length: u32) {
        if let Some((before, before_length)) = self.free.range(..first).next_back()
            && before + before_length == first
        {
            let before = *before;
            length += self.free.remove(&before).unwrap_or(0);
            first = before;
        }
        if let Some(after) = self.free.remove(&(first + length)) {
            length += after;
        }
        self.free.insert(first, length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was given back is not given out before programs that may still read it have ended.
    #[test]
    fn given_back_room_waits() {
        let mut space = Space::new(10);
        let begin = Instant::now();
        assert_eq!(space.take(10, begin), Some(0));
        space.give_back(0, 10, begin);
        assert_eq!(
            (space.take(1, begin), space.is_waiting(begin)),
            (None, true)
        );
        let later = begin + GRACE;
        assert!(!space.is_waiting(later));
        assert_eq!(space.take(1, later), Some(0));
        assert_eq!(space.used(), 1);
    }

    /// Neighbours are joined on both sides, so that room comes back whole; nothing is given out twice.
    #[test]
    fn neighbours_are_joined() {
        let mut space = Space::new(12);
        let now = Instant::now();
        let places: Vec<_> = (0..4).map(|_| space.take(3, now)).collect();
        assert_eq!(places, [Some(0), Some(3), Some(6), Some(9)]);
        assert_eq!(space.take(1, now), None);
        for first in [3, 9, 0, 6] {
            space.give_back(first, 3, now);
        }
        assert_eq!(space.take(12, now + GRACE), Some(0));
    }

    /// Any sequence of takings and givings keeps the places apart and the sum right.
    #[test]
    fn places_never_overlap() {
        let mut space = Space::new(1000);
        let mut taken: Vec<(u32, u32)> = Vec::new();
        let mut now = Instant::now();
        let mut random = 1_u32;
        for _ in 0..5000 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            now += GRACE / 3;
            let length = random >> 24 & 63;
            if random >> 16 & 1 == 0 {
                if let Some(first) = space.take(length, now) {
                    assert!(first + length <= 1000);
                    let apart = |(other, its): &(u32, u32)| {
                        first + length <= *other || other + its <= first
                    };
                    assert!(length == 0 || taken.iter().all(apart));
                    if length > 0 {
                        taken.push((first, length));
                    }
                }
            } else if !taken.is_empty() {
                let index = random as usize % taken.len();
                let (first, length) = taken.swap_remove(index);
                space.give_back(first, length, now);
            }
            let sum: u32 = taken.iter().map(|(_, length)| length).sum();
            assert_eq!(sum, space.used());
        }
    }
}
