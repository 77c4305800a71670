//! Flame graphs: inferno draws them, each lives in a frame of its own.

use inferno::flamegraph::color::{BackgroundColor, Color, PaletteMap};
use inferno::flamegraph::{self, Direction, Options, TextTruncateDirection};

use super::{
    super::{
        ReportError,
        label::{Class, Label, Labels, Placed},
        printable::escape,
        tree::CallTree,
    },
    escape::markup,
};
use crate::summary::{Profile, Summary};

/// A frame of less than this share of the profile is not drawn: at 1,200 pixels it would be a
/// quarter of a pixel wide. Its samples count for its caller. Bounds the drawing whatever the
/// recording holds: no level has more than this many frames.
const SHARES: i64 = 5000;

/// Stands for a space in names while inferno reads its lines, where a space and digits at the end
/// of a name would be taken for a second value.
const SPACE: char = '\u{a0}';

/// What a frame of a flame graph is; the order is that of the legend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Kernel,
    Native,
    Inlined,
    Language,
    Unnamed,
    Process,
}

impl Kind {
    /// Kinds and their words in the legend.
    pub(super) const LEGEND: [(Self, &'static str); 6] = [
        (Self::Kernel, "kernel"),
        (Self::Native, "user"),
        (Self::Inlined, "inlined"),
        (Self::Language, "Go, Rust and other runtimes"),
        (Self::Unnamed, "no name known"),
        (Self::Process, "process or marker"),
    ];

    fn of(label: &Label, inlined: bool) -> Self {
        match label.class {
            Class::Kernel => Self::Kernel,
            Class::Marker => Self::Process,
            Class::Unnamed => Self::Unnamed,
            Class::Native | Class::Language if inlined => Self::Inlined,
            Class::Native => Self::Native,
            Class::Language => Self::Language,
        }
    }

    /// The suffix that inferno strips before it shows a name: it tells frames of one name apart.
    fn suffix(self) -> &'static str {
        match self {
            Self::Kernel => "_[k]",
            Self::Inlined => "_[i]",
            Self::Language => "_[j]",
            Self::Native | Self::Unnamed | Self::Process => "",
        }
    }

    /// Hue and saturation. Hues are far apart also for people who see red and green alike.
    fn hue(self) -> (f64, f64) {
        match self {
            Self::Kernel => (28.0, 0.85),
            Self::Native => (211.0, 0.75),
            Self::Inlined => (172.0, 0.50),
            Self::Language => (266.0, 0.60),
            Self::Unnamed => (211.0, 0.14),
            Self::Process => (40.0, 0.06),
        }
    }

    /// The colour of a frame: neighbours of one kind differ a little by their names.
    pub(super) fn colour(self, name: &str) -> Color {
        let (hue, saturation) = self.hue();
        // FNV-1a: the same name has the same colour in every report.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let vary = |shift: u32| ((hash >> shift) & 0xff) as f64 / 255.0 - 0.5;
        rgb(hue + 14.0 * vary(16), saturation, 0.71 + 0.10 * vary(32))
    }
}

/// HSL to RGB (CSS Color 4, "Converting HSL Colors to sRGB").
fn rgb(hue: f64, saturation: f64, lightness: f64) -> Color {
    let channel = |n: f64| {
        let k = (n + hue / 30.0).rem_euclid(12.0);
        let a = saturation * lightness.min(1.0 - lightness);
        let value = lightness - a * (k - 3.0).min(9.0 - k).clamp(-1.0, 1.0);
        (value * 255.0).round().clamp(0.0, 255.0) as u8
    };
    Color {
        r: channel(0.0),
        g: channel(8.0),
        b: channel(4.0),
    }
}

/// A name that is one frame of one line.
fn safe(name: &str) -> String {
    let name = escape(name, |c| c == ';').replace(|c: char| c.is_whitespace(), "\u{a0}");
    if name.trim().is_empty() {
        "[blank]".to_owned()
    } else {
        name
    }
}

/// A drawn flame graph.
pub(super) struct Flame {
    /// The document of its frame, escaped for `srcdoc`.
    pub(super) document: String,
    /// Height of the drawing in pixels.
    pub(super) height: u32,
    /// Frames that were too narrow to draw.
    pub(super) dropped: usize,
}

/// Draws a profile; `None` without samples.
pub(super) fn draw(
    summary: &Summary,
    name: &str,
    profile: &Profile,
    labels: &Labels,
) -> Result<Option<Flame>, ReportError> {
    if profile.total <= 0 {
        return Ok(None);
    }
    let frame_name = |label: &Label, placed: Placed| {
        let kind = Kind::of(label, placed.inlined);
        format!("{}{}", safe(&label.with_place()), kind.suffix())
    };
    let mut tree = CallTree::new(summary, profile, labels, safe, frame_name);
    let dropped = tree.prune((profile.total / SHARES).max(1));
    let mut lines = Vec::new();
    let Ok(()) = tree.visit(|names, value| {
        lines.push(format!("{} {value}", names.join(";")));
        Ok::<_, std::convert::Infallible>(())
    });
    let mut palette = palette(summary, profile, labels, frame_name);
    let mut options = options(profile, &mut palette);
    // "Flame chart" keeps our order, in which frames of one name already stand together, and
    // spares a check of the order that a name with a space can fail; it reads from the end.
    let mut svg = Vec::new();
    flamegraph::from_lines(
        &mut options,
        lines.iter().rev().map(String::as_str),
        &mut svg,
    )
    .map_err(|source| ReportError::FlameGraph {
        profile: name.to_owned(),
        source,
    })?;
    let svg = String::from_utf8_lossy(&svg).replace(SPACE, " ");
    Ok(Some(Flame {
        height: height(&svg).unwrap_or(400),
        document: markup(&document(&svg)),
        dropped,
    }))
}

fn options<'a>(profile: &Profile, palette: &'a mut PaletteMap) -> Options<'a> {
    let is_time = profile.sample_type.unit == "nanoseconds";
    // The struct is non-exhaustive: it can only be changed field by field.
    let mut options = Options::default();
    options.title = String::new();
    options.direction = Direction::Inverted;
    options.flame_chart = true;
    options.text_truncate_direction = TextTruncateDirection::Right;
    options.bgcolors = Some(BackgroundColor::Flat(Color {
        r: 255,
        g: 255,
        b: 255,
    }));
    options.font_type = "monospace".to_owned();
    options.font_size = 12;
    options.frame_height = 18;
    // Only a text makes this colour, and it is always one.
    options.search_color = "#ff5ca8".parse().unwrap_or(options.search_color);
    options.min_width = 0.0;
    options.factor = if is_time { 1e-3 } else { 1.0 };
    options.count_name = match (is_time, profile.sample_type.unit.as_str()) {
        (true, _) => "µs".to_owned(),
        (false, "count") => "samples".to_owned(),
        (false, unit) => safe(unit),
    };
    options.palette_map = Some(palette);
    options
}

fn palette(
    summary: &Summary,
    profile: &Profile,
    labels: &Labels,
    frame_name: impl Fn(&Label, Placed) -> String,
) -> PaletteMap {
    let mut palette = PaletteMap::default();
    let all = Kind::Process.colour("");
    palette.insert(String::new(), all);
    for (process, _) in profile.processes.keys() {
        let name = safe(summary.stacks().resolve(*process));
        let colour = Kind::Process.colour(&name);
        palette.insert(name, colour);
    }
    for label in labels.all() {
        for inlined in [false, true] {
            let name = frame_name(label, Placed { label: 0, inlined });
            let colour = Kind::of(label, inlined).colour(&label.name);
            palette.insert(name, colour);
        }
    }
    palette
}

/// The drawing as a page for a frame: what the standalone SVG does by `onload` and by the address
/// bar is done here by a script, as a frame from `srcdoc` has neither.
fn document(svg: &str) -> String {
    let start = svg.find("<svg").unwrap_or(0);
    let svg = svg.get(start..).unwrap_or(svg);
    let svg = svg.replacen(" onload=\"init(evt)\"", "", 1);
    format!(
        "<!doctype html><meta charset=\"utf-8\"><style>{}</style>\
         <script>history.replaceState=function(){{}};</script>{svg}<script>{}</script>",
        include_str!("flame.css"),
        include_str!("flame.js")
    )
}

/// The height that inferno gave the drawing.
fn height(svg: &str) -> Option<u32> {
    let tag = svg.get(svg.find("<svg")?..)?;
    let value = tag.get(tag.find(" height=\"")? + 9..)?;
    value.get(..value.find('"')?)?.parse().ok()
}
