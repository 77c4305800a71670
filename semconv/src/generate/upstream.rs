//! The upstream registry, read offline from the doc comments of the crate
//! `opentelemetry-semantic-conventions`, which the OpenTelemetry project generates from it.
//!
//! The comments carry name, description, instrument, unit, stability and attributes of every
//! metric in a fixed form; of attributes they carry examples but neither the type nor the members
//! of an enumeration.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde::Deserialize;

use super::{
    Error,
    document::{Instrument, Level, Primitive, Stability},
};

const CRATE: &str = "opentelemetry-semantic-conventions";

/// An attribute of the upstream registry.
#[derive(Debug)]
pub(super) struct UpstreamAttribute {
    pub(super) brief: String,
    pub(super) stability: Stability,
    /// As the examples show it; `None` without examples or for arrays.
    pub(super) primitive: Option<Primitive>,
    pub(super) deprecated: bool,
}

/// A metric of the upstream registry.
#[derive(Debug)]
pub(super) struct UpstreamMetric {
    pub(super) brief: String,
    pub(super) stability: Stability,
    pub(super) instrument: Instrument,
    pub(super) unit: String,
    pub(super) attributes: Vec<(String, Level)>,
    pub(super) deprecated: bool,
}

/// What the upstream registry defines.
#[derive(Debug)]
pub struct Upstream {
    /// Schema of the copy; it may be older than the one that the manifest names.
    pub(super) schema_url: String,
    pub(super) attributes: BTreeMap<String, UpstreamAttribute>,
    pub(super) metrics: BTreeMap<String, UpstreamMetric>,
}

impl Upstream {
    /// Finds the crate's source through `cargo metadata` and reads it.
    ///
    /// # Errors
    ///
    /// When cargo cannot be run, the crate is not among the dependencies, or its comments have
    /// another form than expected.
    pub fn locate(manifest: &Path) -> Result<Self, Error> {
        Self::read(&source_directory(manifest)?)
    }

    /// Reads `lib.rs`, `attribute.rs` and `metric.rs` in `directory`.
    ///
    /// # Errors
    ///
    /// When a file cannot be read or its comments have another form than expected.
    pub fn read(directory: &Path) -> Result<Self, Error> {
        let read = |name: &str| {
            let path = directory.join(name);
            fs::read_to_string(&path).map_err(|source| Error::Read { path, source })
        };
        Self::parse(
            &read("lib.rs")?,
            &read("attribute.rs")?,
            &read("metric.rs")?,
        )
    }

    /// Reads the texts of the three files.
    pub(super) fn parse(lib: &str, attributes: &str, metrics: &str) -> Result<Self, Error> {
        let schema_url = constants(lib)
            .into_iter()
            .find(|constant| constant.identifier == "SCHEMA_URL")
            .ok_or_else(|| malformed("SCHEMA_URL", "the constant is missing"))?
            .name;
        let constants_of_attributes = constants(attributes);
        let by_identifier: BTreeMap<_, _> = constants_of_attributes
            .iter()
            .map(|constant| (constant.identifier.clone(), constant.name.clone()))
            .collect();
        let metrics = constants(metrics)
            .into_iter()
            .map(|constant| {
                let metric = metric(&constant, &by_identifier)?;
                Ok((constant.name, metric))
            })
            .collect::<Result<_, Error>>()?;
        let attributes = constants_of_attributes
            .into_iter()
            .map(|constant| {
                let attribute = UpstreamAttribute {
                    brief: constant.brief(),
                    stability: constant.stability,
                    primitive: constant.primitive(),
                    deprecated: constant.deprecated,
                };
                (constant.name, attribute)
            })
            .collect();
        Ok(Self {
            schema_url,
            attributes,
            metrics,
        })
    }
}

/// A documented constant of the crate.
struct Constant {
    identifier: String,
    name: String,
    documentation: Vec<String>,
    stability: Stability,
    deprecated: bool,
}

impl Constant {
    /// The first paragraph, on one line, with the period that upstream does not always set.
    fn brief(&self) -> String {
        let text = self
            .documentation
            .iter()
            .filter(|line| *line != "## Description")
            .map(String::as_str)
            .skip_while(|line| line.is_empty())
            .take_while(|line| !line.is_empty() && !line.starts_with('#'))
            .collect::<Vec<_>>()
            .join(" ");
        let text = without_links(&text).replace("\\[", "[").replace("\\]", "]");
        if text.ends_with('.') {
            text
        } else {
            text + "."
        }
    }

    /// The type that the first example shows.
    fn primitive(&self) -> Option<Primitive> {
        let example = self
            .documentation
            .iter()
            .skip_while(|line| *line != "# Examples")
            .find_map(|line| line.strip_prefix("- `")?.strip_suffix('`'))?;
        if example.starts_with('"') {
            Some(Primitive::String)
        } else if example.parse::<i64>().is_ok() {
            Some(Primitive::Int)
        } else if example.parse::<f64>().is_ok() {
            Some(Primitive::Double)
        } else if example.parse::<bool>().is_ok() {
            Some(Primitive::Boolean)
        } else {
            None
        }
    }

    /// The cell of the metadata table after `label`.
    fn cell(&self, label: &str) -> Result<&str, Error> {
        self.documentation
            .iter()
            .find_map(|line| {
                line.strip_prefix("| ")?
                    .strip_prefix(label)?
                    .split('`')
                    .nth(1)
            })
            .ok_or_else(|| malformed(&self.name, &format!("no `{label}` in its comment")))
    }
}

/// Links as their text alone; a bracket after a backslash is text.
fn without_links(markdown: &str) -> String {
    let mut text = String::new();
    let mut rest = markdown;
    while let Some(open) = rest.find('[') {
        let (before, link) = rest.split_at(open);
        text.push_str(before);
        let parts = link[1..].split_once("](").and_then(|(label, target)| {
            let (_, after) = target.split_once(')')?;
            (!before.ends_with('\\') && !label.contains('[')).then_some((label, after))
        });
        if let Some((label, after)) = parts {
            text.push_str(label);
            rest = after;
        } else {
            text.push('[');
            rest = &link[1..];
        }
    }
    text + rest
}

fn metric(
    constant: &Constant,
    attributes: &BTreeMap<String, String>,
) -> Result<UpstreamMetric, Error> {
    let instrument = match constant.cell("Instrument:")? {
        "counter" => Instrument::Counter,
        "updowncounter" => Instrument::UpDownCounter,
        "gauge" => Instrument::Gauge,
        "histogram" => Instrument::Histogram,
        other => return Err(malformed(&constant.name, &format!("instrument `{other}`"))),
    };
    let attributes = constant
        .documentation
        .iter()
        .filter_map(|line| line.strip_prefix("| [`crate::attribute::"))
        .map(|row| {
            let (identifier, rest) = row.split_once('`').unwrap_or((row, ""));
            let name = attributes.get(identifier).ok_or_else(|| {
                malformed(&constant.name, &format!("unknown attribute {identifier}"))
            })?;
            let level = match rest.split('`').nth(1) {
                // The level's own text, such as "if available", follows.
                Some(level) if level.starts_with("{\"recommended\"") => Level::Recommended,
                Some(level) if level.starts_with("{\"opt_in\"") => Level::OptIn,
                Some("Required") => Level::Required,
                Some("Recommended") => Level::Recommended,
                Some("Opt_in") => Level::OptIn,
                Some("Conditionally_required") => {
                    let condition = rest.split_once("`: ").map_or("", |(_, text)| text.trim());
                    Level::ConditionallyRequired(condition.to_owned())
                }
                other => return Err(malformed(&constant.name, &format!("level {other:?}"))),
            };
            Ok((name.clone(), level))
        })
        .collect::<Result<_, Error>>()?;
    Ok(UpstreamMetric {
        brief: constant.brief(),
        stability: constant.stability,
        instrument,
        unit: constant.cell("Unit:")?.to_owned(),
        attributes,
        deprecated: constant.deprecated,
    })
}

/// Every `pub const NAME: &str = "value";` with its comment and attributes.
fn constants(source: &str) -> Vec<Constant> {
    let mut found = Vec::new();
    let mut documentation = Vec::new();
    let mut stability = Stability::Stable;
    let mut deprecated = false;
    let mut identifier: Option<String> = None;
    for line in source.lines() {
        let text = line.trim();
        if let Some(comment) = text.strip_prefix("///") {
            documentation.push(comment.trim().to_owned());
        } else if text.starts_with("#[cfg(feature = \"semconv_experimental\")") {
            stability = Stability::Development;
        } else if text.starts_with("#[deprecated") {
            deprecated = true;
        }
        if let Some(rest) = text.strip_prefix("pub const ") {
            identifier = rest.split(':').next().map(str::to_owned);
        }
        // Long constants have their value on a line of its own.
        if text.ends_with("\";")
            && let Some(identifier) = identifier.take()
        {
            found.push(Constant {
                identifier,
                name: text.rsplit('"').nth(1).unwrap_or_default().to_owned(),
                documentation: std::mem::take(&mut documentation),
                stability,
                deprecated,
            });
        }
        if text.is_empty() {
            documentation.clear();
            stability = Stability::Stable;
            deprecated = false;
        }
    }
    found
}

fn malformed(name: &str, what: &str) -> Error {
    Error::Upstream(format!("{name}: {what}"))
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
}

/// The `src` directory of the crate, wherever cargo has put it.
fn source_directory(manifest: &Path) -> Result<PathBuf, Error> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args([
            "metadata",
            "--format-version=1",
            "--locked",
            "--features=generate",
        ])
        // Without a platform cargo also fetches what only other systems need.
        .arg(format!(
            "--filter-platform={}-unknown-linux-gnu",
            env::consts::ARCH
        ))
        .arg("--manifest-path")
        .arg(manifest)
        .output()
        .map_err(Error::Cargo)?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(Error::Metadata(message));
    }
    let metadata: Metadata = serde_json::from_slice(&output.stdout)
        .map_err(|error| Error::Metadata(error.to_string()))?;
    metadata
        .packages
        .into_iter()
        .find(|package| package.name == CRATE)
        .and_then(|package| Some(package.manifest_path.parent()?.join("src")))
        .ok_or_else(|| Error::Metadata(format!("{CRATE} is not among the dependencies")))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const LIB: &str = "pub const SCHEMA_URL: &str = \"https://opentelemetry.io/schemas/1.42.0\";\n";

    const ATTRIBUTES: &str = r#"
/// The mode \[0..n\], see [modes](https://example.org/m)
///
/// ## Notes
///
/// - `note`
///
/// # Examples
///
/// - `"user"`
#[cfg(feature = "semconv_experimental")]
pub const CPU_MODE: &str = "cpu.mode";

/// The operating system type.
///
/// ## Notes
pub const OS_TYPE: &str = "os.type";

/// The thread.
///
/// # Examples
///
/// - `42`
pub const A_VERY_LONG_NAME_OF_THREAD_ID: &str =
    "thread.id";

/// Gone.
///
/// # Examples
///
/// - `"x"`
#[deprecated(note = "{reason: obsoleted}")]
pub const OLD_NAME: &str = "old.name";

/// Name of the device.
///
/// # Examples
///
/// - `"sda"`
pub const SYSTEM_DEVICE: &str = "system.device";
"#;

    const METRICS: &str = r#"
/// ## Description
///
/// Seconds spent
/// on each mode
///
/// ## Notes
///
/// Whatever
/// ## Metadata
/// | | |
/// |:-|:-
/// | Instrument: | `counter` |
/// | Unit: | `s` |
/// | Status: | `Development`  |
///
/// ## Attributes
/// | Name | Requirement |
/// |:-|:- |
/// | [`crate::attribute::OS_TYPE`] | `{"recommended": "if known"}`
/// | [`crate::attribute::CPU_MODE`] | `Conditionally_required`: If there are any.
/// | [`crate::attribute::A_VERY_LONG_NAME_OF_THREAD_ID`] | `Opt_in`
#[cfg(feature = "semconv_experimental")]
pub const SYSTEM_CPU_TIME: &str = "system.cpu.time";

/// ## Description
///
/// Gone
/// ## Metadata
/// | Instrument: | `gauge` |
/// | Unit: | `1` |
#[deprecated(note = "{reason: obsoleted}")]
pub const OLD_METRIC: &str = "old.metric";

/// ## Description
///
/// Bytes of each device.
/// ## Metadata
/// | Instrument: | `counter` |
/// | Unit: | `By` |
///
/// ## Attributes
/// | [`crate::attribute::SYSTEM_DEVICE`] | `Required`
pub const SYSTEM_DISK_IO: &str = "system.disk.io";
"#;

    /// A small upstream registry in the form of the crate.
    pub(in crate::generate) fn small() -> Upstream {
        Upstream::parse(LIB, ATTRIBUTES, METRICS).unwrap()
    }

    /// Briefs are one line without links and end with a period; types are those of the examples,
    /// not of lists in the notes; experimental items are in development.
    #[test]
    fn attributes_are_read() {
        let upstream = small();
        assert_eq!(
            upstream.schema_url,
            "https://opentelemetry.io/schemas/1.42.0"
        );
        let mode = &upstream.attributes["cpu.mode"];
        assert_eq!(mode.brief, "The mode [0..n], see modes.");
        assert_eq!(mode.primitive, Some(Primitive::String));
        assert_eq!(mode.stability, Stability::Development);
        let thread = &upstream.attributes["thread.id"];
        assert_eq!(thread.primitive, Some(Primitive::Int));
        assert_eq!(thread.stability, Stability::Stable);
        assert_eq!(upstream.attributes["os.type"].primitive, None);
        assert!(upstream.attributes["old.name"].deprecated && !mode.deprecated);
    }

    /// Metrics have the instrument, unit and attributes with levels of their table.
    #[test]
    fn metrics_are_read() {
        let upstream = small();
        let time = &upstream.metrics["system.cpu.time"];
        assert_eq!(time.brief, "Seconds spent on each mode.");
        assert_eq!(
            (time.instrument, time.unit.as_str()),
            (Instrument::Counter, "s")
        );
        assert_eq!(
            time.attributes,
            [
                ("os.type".to_owned(), Level::Recommended),
                (
                    "cpu.mode".to_owned(),
                    Level::ConditionallyRequired("If there are any.".to_owned())
                ),
                ("thread.id".to_owned(), Level::OptIn),
            ]
        );
        assert!(upstream.metrics["old.metric"].deprecated && !time.deprecated);
    }

    /// A table in another form is an error that names the metric, never a metric without a unit.
    #[test]
    fn other_forms_are_refused() {
        for (from, to) in [
            ("| Unit: | `s` |", "| Units: s |"),
            ("`counter`", "`timer`"),
            ("`Opt_in`", "`Sometimes`"),
            ("attribute::OS_TYPE", "attribute::OS_KIND"),
        ] {
            let metrics = METRICS.replacen(from, to, 1);
            let error = Upstream::parse(LIB, ATTRIBUTES, &metrics)
                .unwrap_err()
                .to_string();
            assert!(error.contains("system.cpu.time"), "{error}");
        }
        assert!(Upstream::parse("", ATTRIBUTES, METRICS).is_err());
    }

    /// The crate that cargo knows is read to the end: it has more than 500 metrics and 900
    /// attributes, and no constant is without a brief.
    #[test]
    fn the_real_crate_is_read() {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let upstream = Upstream::locate(&manifest).unwrap();
        assert!(upstream.metrics.len() > 500, "{}", upstream.metrics.len());
        assert!(
            upstream.attributes.len() > 900,
            "{}",
            upstream.attributes.len()
        );
        assert!(
            upstream
                .attributes
                .values()
                .all(|attribute| attribute.brief.len() > 3)
        );
    }
}
