//! Sizes of protobuf fields, so that limits hold without encoding twice.

use prost::{Message, encoding::encoded_len_varint};

/// Upper bound of tag and length of a field that grows while it is built.
pub(super) const OPEN_FIELD: usize = 6;

/// Bytes of a field with that many bytes of content: one for the tag (all tags here are below 16),
/// the length, the content.
pub(super) fn field(content: usize) -> usize {
    1 + encoded_len_varint(content as u64) + content
}

/// Bytes of a message as a field of another one.
pub(super) fn message(message: &impl Message) -> usize {
    field(message.encoded_len())
}
