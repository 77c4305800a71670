//! Telling encoded messages apart without decoding them.

use prost::encoding::{DecodeContext, decode_key, skip_field};

/// Whether an encoded message has a top-level field of that number. A damaged message has what is
/// before the damage.
pub(super) fn has_field(mut bytes: &[u8], number: u32) -> bool {
    while !bytes.is_empty() {
        let Ok((tag, wire_type)) = decode_key(&mut bytes) else {
            return false;
        };
        if tag == number {
            return true;
        }
        if skip_field(wire_type, tag, &mut bytes, DecodeContext::default()).is_err() {
            return false;
        }
    }
    false
}
