//! Values by address: lines, files, depths of the stack.
//!
//! A table is a list of pairs of numbers: how the value changes, then for how much code it holds.
//! Both have seven bits a byte, the change with its sign in the lowest bit. The value begins at
//! -1, and a change of zero that is not at the start of the function ends the table (`step` in runtime/symtab.go).

/// A value and where it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PcValue {
    /// First byte of code that has the value, from the start of the function.
    pub(super) start: u64,
    /// One past the last byte.
    pub(super) end: u64,
    pub(super) value: i32,
}

/// The values of a table in the order of the code.
#[derive(Debug)]
pub(super) struct PcValues<'a> {
    bytes: &'a [u8],
    quantum: u32,
    at: u64,
    value: i32,
    cut: bool,
}

impl<'a> PcValues<'a> {
    /// The table at the start of `bytes`. One step of it is `quantum` bytes of code.
    pub(super) fn new(bytes: &'a [u8], quantum: u32) -> Self {
        Self {
            bytes,
            quantum,
            at: 0,
            value: -1,
            cut: false,
        }
    }

    /// Whether the bytes ended before the table did.
    pub(super) fn is_cut(&self) -> bool {
        self.cut
    }

    fn number(&mut self) -> Option<u32> {
        // 32 bits take five bytes.
        const MOST: usize = 5;
        let mut number = 0;
        for index in 0..MOST {
            let Some(byte) = self.bytes.get(index) else {
                self.cut = true;
                return None;
            };
            number |= u32::from(byte & 0x7f) << (7 * index);
            if byte & 0x80 == 0 {
                self.bytes = self.bytes.get(index + 1..)?;
                return Some(number);
            }
        }
        None
    }
}

impl Iterator for PcValues<'_> {
    type Item = PcValue;

    fn next(&mut self) -> Option<PcValue> {
        let change = self.number()?;
        if change == 0 && self.at > 0 {
            // Nothing may be read after this.
            self.bytes = &[0];
            return None;
        }
        let steps = self.number()?;
        let change = (change >> 1).cast_signed() ^ -((change & 1).cast_signed());
        self.value = self.value.wrapping_add(change);
        let start = self.at;
        self.at = self
            .at
            .saturating_add(u64::from(steps) * u64::from(self.quantum));
        Some(PcValue {
            start,
            end: self.at,
            value: self.value,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(bytes: &[u8], quantum: u32) -> Vec<(u64, u64, i32)> {
        PcValues::new(bytes, quantum)
            .map(|value| (value.start, value.end, value.value))
            .collect()
    }

    /// Changes up, down and of many bits; what follows the end is not read.
    #[test]
    fn steps() {
        // +1 for 4, +24 for 200, -24 for 1.
        let bytes = [2, 4, 48, 0xc8, 1, 47, 1, 0, 9, 9];
        assert_eq!(values(&bytes, 1), [(0, 4, 0), (4, 204, 24), (204, 205, 0)]);
        assert_eq!(values(&bytes, 4)[2], (816, 820, 0));
        // A first change of zero is a value of -1.
        assert_eq!(values(&[0, 7, 0], 1), [(0, 7, -1)]);
    }

    /// Bytes that end early are told from a table that ends; numbers without end are refused.
    #[test]
    fn cut() {
        let mut whole = PcValues::new(&[2, 4, 0], 1);
        assert_eq!(whole.by_ref().count(), 1);
        assert!(!whole.is_cut());
        for bytes in [&[][..], &[2], &[2, 4], &[2, 0x80]] {
            let mut table = PcValues::new(bytes, 1);
            table.by_ref().for_each(drop);
            assert!(table.is_cut(), "{bytes:?}");
        }
        let mut endless = PcValues::new(&[0x80; 64], 1);
        assert_eq!(endless.next(), None);
        assert!(!endless.is_cut());
    }
}
