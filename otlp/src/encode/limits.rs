//! How large a request and its profiles may be.

/// Bounds of what one request carries. What does not fit goes into further requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of an encoded request before compression; each is smaller than this. Many gRPC
    /// servers refuse more than 4 MiB. At most 64 MiB takes effect (OTLP specification, "message
    /// size").
    pub request_bytes: usize,
    /// Samples of one profile (Pyroscope refuses more than 16,000 per profile and service).
    pub profile_samples: usize,
    /// Bytes of one profile after its conversion to pprof with strings repeated for every set of
    /// sample attributes, as estimated. Pyroscope refuses more than its burst of 2 MiB per profile
    /// and service; the default leaves an eighth of that to what the estimate does not see.
    pub profile_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            request_bytes: 7 << 19,
            profile_samples: 16_000,
            profile_bytes: 7 << 18,
        }
    }
}

impl Limits {
    /// Largest `request_bytes` that takes effect.
    const MAX_REQUEST_BYTES: usize = 64 << 20;

    /// `request_bytes` within its range.
    pub(super) fn request(&self) -> usize {
        self.request_bytes.min(Self::MAX_REQUEST_BYTES)
    }
}
