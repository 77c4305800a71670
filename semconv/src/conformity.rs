//! Whether telemetry is what the registry says, for tests that receive it.
//!
//! Plain values go in, so that this crate needs no protobuf: [`metric`] once per metric,
//! [`point`] once per data point, [`attribute`] for attributes of resources, scopes and samples.

use crate::{
    AttributeDescriptor, AttributeKind, Instrument, MetricDescriptor, Number, Requirement,
};

/// How a received metric is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// OTLP `Sum`.
    Sum {
        /// `is_monotonic`.
        monotonic: bool,
        /// `aggregation_temporality`; `None` when unspecified.
        temporality: Option<Temporality>,
    },
    /// OTLP `Gauge`.
    Gauge,
    /// OTLP `Histogram` or `ExponentialHistogram`.
    Histogram {
        /// `aggregation_temporality`; `None` when unspecified.
        temporality: Option<Temporality>,
    },
    /// OTLP `Summary`, or none at all.
    Other,
}

/// What a value is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Temporality {
    /// The start of the stream.
    Cumulative,
    /// The previous point.
    Delta,
}

/// A received attribute value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// Text.
    String(&'a str),
    /// A 64-bit integer.
    Int(i64),
    /// A 64-bit floating point number.
    Double(f64),
    /// True or false.
    Boolean(bool),
    /// An array, a map, bytes, or none at all.
    Other,
}

/// Something that the registry does not say.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// No metric has this name.
    #[error("metric `{0}` is not in the registry")]
    UnknownMetric(String),
    /// The metric has another unit.
    #[error("metric `{metric}` is in `{expected}`, not in `{found}`")]
    Unit {
        /// Name of the metric.
        metric: &'static str,
        /// Unit in the registry.
        expected: &'static str,
        /// Unit received.
        found: String,
    },
    /// The metric is of another instrument.
    #[error("metric `{metric}` is a {expected:?}, which {found:?} does not encode")]
    Shape {
        /// Name of the metric.
        metric: &'static str,
        /// Instrument in the registry.
        expected: Instrument,
        /// Encoding received.
        found: Shape,
    },
    /// The metric's numbers are of another type.
    #[error("the numbers of metric `{metric}` are of type {expected:?}, not {found:?}")]
    Number {
        /// Name of the metric.
        metric: &'static str,
        /// Type in the registry.
        expected: Number,
        /// Type received.
        found: Number,
    },
    /// The metric has no such attribute.
    #[error("metric `{metric}` has no attribute `{attribute}`")]
    NotOfMetric {
        /// Name of the metric.
        metric: &'static str,
        /// Attribute received.
        attribute: String,
    },
    /// A point lacks an attribute that each must have.
    #[error("a point of metric `{metric}` lacks the attribute `{attribute}`")]
    Missing {
        /// Name of the metric.
        metric: &'static str,
        /// Attribute that it needs.
        attribute: &'static str,
    },
    /// A list has an attribute twice.
    #[error("attribute `{0}` stands twice in one list")]
    Twice(String),
    /// No attribute has this name.
    #[error("attribute `{0}` is not in the registry")]
    UnknownAttribute(String),
    /// The value is of another type.
    #[error("attribute `{attribute}` is of type {expected:?}: found {found}")]
    Type {
        /// Name of the attribute.
        attribute: &'static str,
        /// Type in the registry.
        expected: AttributeKind,
        /// Value received.
        found: String,
    },
    /// The text is not one of the enumeration's.
    #[error("attribute `{attribute}` cannot be `{found}`")]
    Member {
        /// Name of the attribute.
        attribute: &'static str,
        /// Value received.
        found: String,
    },
}

/// The metric of this name, and what is wrong with its unit and shape.
///
/// # Errors
///
/// [`Violation::UnknownMetric`] when the registry has no such metric.
pub fn metric(
    name: &str,
    unit: &str,
    shape: Shape,
) -> Result<(&'static MetricDescriptor, Vec<Violation>), Violation> {
    let descriptor = crate::metric::ALL
        .iter()
        .find(|descriptor| descriptor.name == name)
        .copied()
        .ok_or_else(|| Violation::UnknownMetric(name.to_owned()))?;
    let mut violations = Vec::new();
    if descriptor.unit != unit {
        violations.push(Violation::Unit {
            metric: descriptor.name,
            expected: descriptor.unit,
            found: unit.to_owned(),
        });
    }
    if !encodes(shape, descriptor.instrument) {
        violations.push(Violation::Shape {
            metric: descriptor.name,
            expected: descriptor.instrument,
            found: shape,
        });
    }
    Ok((descriptor, violations))
}

/// What is wrong with a point of a metric. `number` is the type of its value, `None` for
/// histograms.
#[must_use]
pub fn point(
    descriptor: &'static MetricDescriptor,
    number: Option<Number>,
    attributes: &[(&str, Value<'_>)],
) -> Vec<Violation> {
    let mut violations = Vec::new();
    if let Some(found) = number
        && found != descriptor.number
    {
        violations.push(Violation::Number {
            metric: descriptor.name,
            expected: descriptor.number,
            found,
        });
    }
    for (index, (name, value)) in attributes.iter().enumerate() {
        if attributes[..index]
            .iter()
            .any(|(earlier, _)| earlier == name)
        {
            violations.push(Violation::Twice((*name).to_owned()));
        }
        if descriptor
            .attributes
            .iter()
            .any(|expected| expected.name == *name)
        {
            violations.extend(attribute(name, *value).err());
        } else {
            violations.push(Violation::NotOfMetric {
                metric: descriptor.name,
                attribute: (*name).to_owned(),
            });
        }
    }
    for expected in descriptor.attributes {
        if expected.requirement == Requirement::Required
            && !attributes.iter().any(|(name, _)| *name == expected.name)
        {
            violations.push(Violation::Missing {
                metric: descriptor.name,
                attribute: expected.name,
            });
        }
    }
    violations
}

/// The attribute of this name, if the value is one that it may have.
///
/// # Errors
///
/// When the registry has no such attribute, or the value is of another type or not among those of
/// the enumeration.
pub fn attribute(name: &str, value: Value<'_>) -> Result<&'static AttributeDescriptor, Violation> {
    let descriptor = crate::attribute::ALL
        .iter()
        .find(|descriptor| descriptor.name == name)
        .ok_or_else(|| Violation::UnknownAttribute(name.to_owned()))?;
    match (descriptor.kind, value) {
        (AttributeKind::Enum(members), Value::String(text)) if !members.contains(&text) => {
            Err(Violation::Member {
                attribute: descriptor.name,
                found: text.to_owned(),
            })
        }
        (AttributeKind::Enum(_) | AttributeKind::String, Value::String(_))
        | (AttributeKind::Int, Value::Int(_))
        | (AttributeKind::Double, Value::Double(_))
        | (AttributeKind::Boolean, Value::Boolean(_)) => Ok(descriptor),
        (expected, found) => Err(Violation::Type {
            attribute: descriptor.name,
            expected,
            found: format!("{found:?}"),
        }),
    }
}

/// Whether the encoding is one of the instrument (metrics SDK, "temporality preference": up-down
/// counters are cumulative whatever is preferred).
fn encodes(shape: Shape, instrument: Instrument) -> bool {
    matches!(
        (shape, instrument),
        (
            Shape::Sum {
                monotonic: true,
                temporality: Some(_)
            },
            Instrument::Counter
        ) | (
            Shape::Sum {
                monotonic: false,
                temporality: Some(Temporality::Cumulative)
            },
            Instrument::UpDownCounter
        ) | (Shape::Gauge, Instrument::Gauge)
            | (
                Shape::Histogram {
                    temporality: Some(_)
                },
                Instrument::Histogram
            )
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        attribute::{self as key, value},
        metric as registry,
    };

    const CUMULATIVE: Option<Temporality> = Some(Temporality::Cumulative);

    /// Each metric of the registry conforms to itself in the shape of its instrument, and in no
    /// other shape.
    #[test]
    fn each_instrument_has_one_shape() {
        let shapes = [
            (
                Instrument::Counter,
                Shape::Sum {
                    monotonic: true,
                    temporality: CUMULATIVE,
                },
            ),
            (
                Instrument::UpDownCounter,
                Shape::Sum {
                    monotonic: false,
                    temporality: CUMULATIVE,
                },
            ),
            (Instrument::Gauge, Shape::Gauge),
            (
                Instrument::Histogram,
                Shape::Histogram {
                    temporality: CUMULATIVE,
                },
            ),
        ];
        for descriptor in registry::ALL {
            for (instrument, shape) in shapes {
                let (found, violations) = metric(descriptor.name, descriptor.unit, shape).unwrap();
                assert_eq!(found, *descriptor);
                assert_eq!(violations.is_empty(), descriptor.instrument == instrument);
            }
        }
    }

    /// A sum without temporality cannot be read, and a delta of an up-down counter loses its value.
    #[test]
    fn temporality_is_part_of_the_shape() {
        let counter = registry::EVENKEEL_SIGNAL_EVENTS.name;
        let unspecified = Shape::Sum {
            monotonic: true,
            temporality: None,
        };
        assert_eq!(metric(counter, "{event}", unspecified).unwrap().1.len(), 1);
        let delta = Shape::Sum {
            monotonic: false,
            temporality: Some(Temporality::Delta),
        };
        let status = registry::EVENKEEL_SIGNAL_STATUS.name;
        assert_eq!(metric(status, "1", delta).unwrap().1.len(), 1);
    }

    /// Unknown names and other units are told apart.
    #[test]
    fn names_and_units_are_checked() {
        assert_eq!(
            metric("evenkeel.nothing", "s", Shape::Gauge),
            Err(Violation::UnknownMetric("evenkeel.nothing".to_owned()))
        );
        let name = registry::EVENKEEL_CPU_STOLEN_TIME.name;
        let shape = Shape::Sum {
            monotonic: true,
            temporality: CUMULATIVE,
        };
        let (_, violations) = metric(name, "ms", shape).unwrap();
        assert!(
            matches!(
                violations.as_slice(),
                [Violation::Unit { expected: "s", .. }]
            ),
            "{violations:?}"
        );
    }

    /// A point has the required attributes, only those of its metric, each once, with values that
    /// they may have, and a number of the right type.
    #[test]
    fn points_are_checked() {
        let metric = &registry::EVENKEEL_PRESSURE_STALL_TIME;
        let resource = (key::EVENKEEL_PRESSURE_RESOURCE, Value::String("cpu"));
        let scope = (
            key::EVENKEEL_PRESSURE_SCOPE,
            Value::String(value::evenkeel_pressure_scope::SOME),
        );
        assert_eq!(point(metric, Some(Number::Double), &[resource, scope]), []);

        let found = point(
            metric,
            Some(Number::Int),
            &[resource, resource, ("other", Value::Int(1))],
        );
        assert_eq!(
            found,
            [
                Violation::Number {
                    metric: metric.name,
                    expected: Number::Double,
                    found: Number::Int
                },
                Violation::Twice(resource.0.to_owned()),
                Violation::NotOfMetric {
                    metric: metric.name,
                    attribute: "other".to_owned()
                },
                Violation::Missing {
                    metric: metric.name,
                    attribute: scope.0
                },
            ]
        );
        let wrong = (scope.0, Value::String("most"));
        assert_eq!(
            point(metric, None, &[resource, wrong]),
            [Violation::Member {
                attribute: scope.0,
                found: "most".to_owned()
            }]
        );
    }

    /// Attributes have the type of the registry, whatever they are put on.
    #[test]
    fn attributes_are_checked() {
        assert!(attribute(key::PROCESS_PID, Value::Int(1)).is_ok());
        assert!(attribute(key::EVENKEEL_COMMAND_TREE, Value::Boolean(true)).is_ok());
        assert!(attribute(key::SERVICE_NAME, Value::String("shop")).is_ok());
        for (name, value) in [
            (key::PROCESS_PID, Value::String("1")),
            (key::SERVICE_NAME, Value::Other),
            (key::EVENKEEL_COMMAND_TREE, Value::Int(1)),
            (key::CPU_MODE, Value::Double(1.0)),
        ] {
            let found = attribute(name, value);
            assert!(
                matches!(found, Err(Violation::Type { .. })),
                "{name}: {found:?}"
            );
        }
        assert!(matches!(
            attribute("service_name", Value::String("shop")),
            Err(Violation::UnknownAttribute(_))
        ));
    }
}
