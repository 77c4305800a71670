//! Builds small type information for tests.

/// Type information under construction; ids count from 1 in the order of the calls.
#[derive(Default)]
pub(super) struct Blob {
    types: Vec<u8>,
    strings: Vec<u8>,
    count: u32,
}

/// `(name, type, bit offset, bit width)`.
pub(super) type Entry = (&'static str, u32, u32, u32);

impl Blob {
    pub(super) fn new() -> Self {
        Self {
            strings: vec![0],
            ..Self::default()
        }
    }

    fn text(&mut self, text: &str) -> u32 {
        if text.is_empty() {
            return 0;
        }
        let at = self.strings.len() as u32;
        self.strings.extend_from_slice(text.as_bytes());
        self.strings.push(0);
        at
    }

    /// A raw record; gives its id.
    pub(super) fn record(
        &mut self,
        name: &str,
        kind: u32,
        flag: bool,
        count: u32,
        size_or_type: u32,
        tail: &[u32],
    ) -> u32 {
        let name = self.text(name);
        let info = (u32::from(flag) << 31) | (kind << 24) | count;
        for word in [name, info, size_or_type].iter().chain(tail) {
            self.types.extend_from_slice(&word.to_le_bytes());
        }
        self.count += 1;
        self.count
    }

    pub(super) fn integer(&mut self, name: &str, bytes: u32, signed: bool) -> u32 {
        let encoding = (u32::from(signed) << 24) | (bytes * 8);
        self.record(name, 1, false, 0, bytes, &[encoding])
    }

    pub(super) fn pointer(&mut self, to: u32) -> u32 {
        self.record("", 2, false, 0, to, &[])
    }

    pub(super) fn array(&mut self, of: u32, length: u32) -> u32 {
        self.record("", 3, false, 0, 0, &[of, 0, length])
    }

    /// A struct (`kind` 4) or union (5); offsets carry widths as compilers of today write them.
    pub(super) fn composite(
        &mut self,
        kind: u32,
        name: &str,
        bytes: u32,
        members: &[Entry],
    ) -> u32 {
        let mut tail = Vec::new();
        for (member, type_id, offset, width) in members {
            let member = self.text(member);
            tail.extend_from_slice(&[member, *type_id, (width << 24) | offset]);
        }
        self.record(name, kind, true, members.len() as u32, bytes, &tail)
    }

    pub(super) fn structure(&mut self, name: &str, bytes: u32, members: &[Entry]) -> u32 {
        self.composite(4, name, bytes, members)
    }

    pub(super) fn forward(&mut self, name: &str) -> u32 {
        self.record(name, 7, false, 0, 0, &[])
    }

    pub(super) fn typedef(&mut self, name: &str, of: u32) -> u32 {
        self.record(name, 8, false, 0, of, &[])
    }

    /// A function prototype with parameters of type `void *`-like id 0 and no names.
    pub(super) fn prototype(&mut self, parameters: u32) -> u32 {
        let tail = vec![0; 2 * parameters as usize];
        self.record("", 13, false, parameters, 0, &tail)
    }

    pub(super) fn enumeration(&mut self, name: &str, values: &[(&str, u32)]) -> u32 {
        let mut tail = Vec::new();
        for (enumerator, value) in values {
            let enumerator = self.text(enumerator);
            tail.extend_from_slice(&[enumerator, *value]);
        }
        self.record(name, 6, false, values.len() as u32, 4, &tail)
    }

    pub(super) fn enumeration_wide(&mut self, name: &str, values: &[(&str, u64)]) -> u32 {
        let mut tail = Vec::new();
        for (enumerator, value) in values {
            let enumerator = self.text(enumerator);
            tail.extend_from_slice(&[enumerator, *value as u32, (*value >> 32) as u32]);
        }
        self.record(name, 19, false, values.len() as u32, 8, &tail)
    }

    /// The finished bytes.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0x9f, 0xeb, 1, 0];
        let types = self.types.len() as u32;
        let strings = self.strings.len() as u32;
        for word in [24, 0, types, types, strings] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.extend_from_slice(&self.types);
        bytes.extend_from_slice(&self.strings);
        bytes
    }
}
