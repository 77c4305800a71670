//! Little-endian numbers in bytes that may end early.

/// The number at `at`, or `None` past the end.
pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(array_at(bytes, at)?))
}

/// The number at `at`, or `None` past the end.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(array_at(bytes, at)?))
}

/// The number at `at`, or `None` past the end.
pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(array_at(bytes, at)?))
}

fn array_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}
