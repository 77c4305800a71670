//! What is delivered.

use evenkeel_semconv::attribute::value::evenkeel_export_signal;

/// One stream of exports: it has a queue, a connection and accounts of its own, so that a
/// backend that refuses one of them holds up no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Signal {
    /// Profiles of the windows.
    Profiles,
    /// Metrics of the windows.
    Metrics,
    /// The agent's metrics about itself. They go to the same place as [`Signal::Metrics`] and
    /// are kept apart so that the accounts of the other two count windows and nothing else.
    AgentMetrics,
}

impl Signal {
    /// Every signal, in the order of [`Signal::index`].
    pub const ALL: [Self; 3] = [Self::Profiles, Self::Metrics, Self::AgentMetrics];

    /// Position in [`Signal::ALL`].
    pub(crate) const fn index(self) -> usize {
        match self {
            Self::Profiles => 0,
            Self::Metrics => 1,
            Self::AgentMetrics => 2,
        }
    }

    /// The name used in log lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Profiles => "profiles",
            Self::Metrics => "metrics",
            Self::AgentMetrics => "agent metrics",
        }
    }

    /// The value of `evenkeel.export.signal`; none for the agent's metrics about itself, which
    /// would otherwise count their own sending.
    pub const fn attribute(self) -> Option<&'static str> {
        match self {
            Self::Profiles => Some(evenkeel_export_signal::PROFILES),
            Self::Metrics => Some(evenkeel_export_signal::METRICS),
            Self::AgentMetrics => None,
        }
    }

    /// What is appended to a base URL of OTLP/HTTP (OTLP specification, "OTLP/HTTP Request").
    pub(crate) const fn http_path(self) -> &'static str {
        match self {
            Self::Profiles => "v1development/profiles",
            Self::Metrics | Self::AgentMetrics => "v1/metrics",
        }
    }

    /// The full name of the gRPC method.
    pub(crate) const fn grpc_method(self) -> &'static str {
        match self {
            Self::Profiles => {
                "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
            }
            Self::Metrics | Self::AgentMetrics => {
                "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"
            }
        }
    }
}
