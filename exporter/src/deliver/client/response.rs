//! The body of a successful answer.

use super::outcome::{Outcome, legible};
use crate::deliver::signal::Signal;
use opentelemetry_proto::tonic::collector::{
    metrics::v1::ExportMetricsServiceResponse,
    profiles::v1development::ExportProfilesServiceResponse,
};
use prost::Message;

/// An answer holds a count and a message; whatever is longer is not one.
pub(super) const LARGEST_BYTES: usize = 64 * 1024;

/// What a successful answer says of its request.
///
/// A body that cannot be read changes nothing: the status said that the request was accepted, and
/// sending it again would count it twice.
pub(super) fn outcome(signal: Signal, body: &[u8]) -> Outcome {
    let partial = match signal {
        Signal::Profiles => ExportProfilesServiceResponse::decode(body)
            .ok()
            .and_then(|response| response.partial_success)
            .map(|partial| (partial.rejected_profiles, partial.error_message)),
        Signal::Metrics | Signal::AgentMetrics => ExportMetricsServiceResponse::decode(body)
            .ok()
            .and_then(|response| response.partial_success)
            .map(|partial| (partial.rejected_data_points, partial.error_message)),
    };
    match partial {
        // "Servers MAY also set partial_success with rejected 0 to convey warnings."
        Some((rejected, message)) if rejected > 0 || !message.is_empty() => Outcome::Partial {
            rejected: u64::try_from(rejected).unwrap_or(0),
            message: legible(&message),
        },
        Some(_) | None => Outcome::Accepted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rubbish after a success is a success; a negative count is no count.
    #[test]
    fn odd_bodies() {
        assert_eq!(outcome(Signal::Metrics, b""), Outcome::Accepted);
        assert_eq!(outcome(Signal::Metrics, b"\xff\xff"), Outcome::Accepted);
        // partial_success { rejected: -1 }
        let negative = [
            0x0a, 0x0b, 0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01,
        ];
        assert_eq!(outcome(Signal::Profiles, &negative), Outcome::Accepted);
    }
}
