//! One self-contained page: flame graphs, tables, distributions, the platform and what was lost.

mod account;
mod chart;
mod escape;
mod flame;
mod tables;

use std::{
    fmt::Write as _,
    io::{self, Write},
};

use evenkeel_semconv::attribute::value::{
    cpu_mode,
    evenkeel_signal_name::{ON_CPU, STOLEN},
};

use self::escape::text;
use super::{
    Grouping, Options, ReportError, chosen,
    label::{Detail, Labels},
    listing::{Listing, idle_note},
    overview::Overview,
    ranking::OwnerKey,
    units::{amount, grouped, percent, saturated, seconds, utc},
};
use crate::summary::{Profile, Summary};

/// No request leaves the page, whatever a name in it contains.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

/// Writes the page.
pub(super) fn write(
    summary: &Summary,
    options: &Options,
    detail: Detail,
    out: &mut dyn Write,
) -> Result<(), ReportError> {
    let overview = Overview::new(summary);
    let profiles = chosen(summary, options)?;
    let title = text(&overview.title());
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"referrer\" content=\"no-referrer\">\
         <title>Evenkeel: {title}</title><style>{}</style></head><body><main>\n",
        include_str!("page.css")
    )?;
    head(summary, &overview, &title, out)?;
    timelines(summary, &overview, out)?;
    let labels = Labels::new(summary.stacks(), detail);
    profile_panels(summary, &profiles, &labels, owner_key(options.by), out)?;
    account::waits(&overview, out)?;
    account::platform(&overview, out)?;
    writeln!(
        out,
        "</main><script>{}</script></body></html>",
        include_str!("page.js")
    )?;
    Ok(())
}

fn head(
    summary: &Summary,
    overview: &Overview,
    title: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    let windows = summary.windows().len();
    writeln!(
        out,
        "<header><h1>{title}</h1><p class=\"soft\">{}, {:.1} s in {windows} {}</p></header>",
        utc(summary.start()),
        summary.duration() as f64 / 1e9,
        if windows == 1 { "window" } else { "windows" },
    )?;
    let mut tiles = Vec::new();
    let share = |share: f64| format!("{} %", percent(share, 1.0));
    if let Some(cpus) = overview.cpus {
        tiles.push((grouped(cpus), "CPUs".to_owned()));
    }
    if let Some(busy) = overview.busy() {
        tiles.push((share(busy), "CPU busy".to_owned()));
    } else if let Some(busy) = overview.sampled_busy {
        tiles.push((share(busy), "CPU busy, by samples".to_owned()));
    }
    for mode in [cpu_mode::USER, cpu_mode::SYSTEM, cpu_mode::STEAL] {
        if let Some((_, value)) = overview.cpu_modes.iter().find(|(name, _)| name == mode) {
            tiles.push((share(*value), format!("CPU {mode}")));
        }
    }
    for pressure in overview.pressure.iter().filter(|p| p.scope == "some") {
        tiles.push((
            share(pressure.share),
            format!("stalled for {}", pressure.resource),
        ));
    }
    let all_waits = overview.waits.first();
    if let Some(p99) = all_waits.and_then(|waits| waits.distribution.quantile(0.99)) {
        tiles.push((seconds(p99), "run-queue wait, p99".to_owned()));
    }
    write!(out, "<div class=\"tiles\">")?;
    for (value, name) in tiles {
        write!(
            out,
            "<div class=\"tile\"><b>{}</b><span>{}</span></div>",
            text(&value),
            text(&name)
        )?;
    }
    writeln!(out, "</div>")
}

/// Busy and stolen share of each window, from the profiles themselves.
fn timelines(summary: &Summary, overview: &Overview, out: &mut dyn Write) -> io::Result<()> {
    let Some(cpus) = overview.cpus.filter(|_| summary.windows().len() > 1) else {
        return Ok(());
    };
    let shares = |profile: &Profile| {
        summary
            .windows()
            .iter()
            .map(|(start, duration)| {
                let value = profile.windows.get(start).map_or(0, |window| window.value);
                let whole = *duration as f64 / 1e9 * cpus as f64;
                profile
                    .seconds(value)
                    .filter(|_| whole > 0.0)
                    .map(|seconds| seconds / whole)
            })
            .collect::<Option<Vec<_>>>()
            .unwrap_or_default()
    };
    let mut charts = String::new();
    for (name, class, label) in [
        (ON_CPU, "bar-fill", "CPU busy by window"),
        (STOLEN, "steal-fill", "CPU stolen by window"),
    ] {
        if let Some(profile) = summary.profiles().get(name) {
            charts.push_str(&chart::timeline(&shares(profile), class, label));
        }
    }
    if !charts.is_empty() {
        writeln!(out, "<section class=\"card\">{charts}</section>")?;
    }
    Ok(())
}

/// What stands beside the functions.
fn owner_key(by: Grouping) -> OwnerKey {
    match by {
        Grouping::Function | Grouping::Line | Grouping::Process => OwnerKey::Process,
        Grouping::Container => OwnerKey::Container,
        Grouping::Service => OwnerKey::Service,
    }
}

fn profile_panels(
    summary: &Summary,
    profiles: &[(&str, &Profile)],
    labels: &Labels,
    owners: OwnerKey,
    out: &mut dyn Write,
) -> Result<(), ReportError> {
    if profiles.is_empty() {
        writeln!(
            out,
            "<section class=\"card\"><h2>No samples</h2><p>Nothing ran while this was \
             recorded.</p></section>"
        )?;
        return Ok(());
    }
    write!(
        out,
        "<section class=\"card\"><div class=\"tabs\" role=\"tablist\">"
    )?;
    for (index, (name, _)) in profiles.iter().enumerate() {
        write!(
            out,
            "<button type=\"button\" role=\"tab\" data-tab=\"{index}\">{}</button>",
            text(name)
        )?;
    }
    writeln!(out, "</div>")?;
    for (index, (name, profile)) in profiles.iter().enumerate() {
        write!(
            out,
            "<div data-panel=\"{index}\" role=\"tabpanel\"><h2>{}: {}</h2>",
            text(name),
            text(&amount(profile, profile.total))
        )?;
        if let Some(note) = idle_note(profile) {
            write!(out, "<p class=\"soft\">{}</p>", text(&note))?;
        }
        if let Some(flame) = flame::draw(summary, name, profile, labels)? {
            flame_graph(name, &flame, out)?;
        }
        write!(out, "<div class=\"columns\">")?;
        account::listing("Waits", Listing::causes(summary, profile, false), out)?;
        tables::functions(summary, profile, labels, out)?;
        tables::owners(summary, profile, owners, out)?;
        writeln!(out, "</div></div>")?;
    }
    writeln!(out, "</section>")?;
    Ok(())
}

fn flame_graph(name: &str, flame: &flame::Flame, out: &mut dyn Write) -> io::Result<()> {
    let mut legend = String::new();
    for (kind, word) in flame::Kind::LEGEND {
        let colour = kind.colour("");
        // Writing to a String cannot fail.
        let _ = write!(
            legend,
            "<span><i style=\"background:rgb({},{},{})\"></i>{word}</span>",
            colour.r, colour.g, colour.b
        );
    }
    let dropped = match flame.dropped {
        0 => String::new(),
        count => format!(
            "<p class=\"soft\">{} frames too narrow to draw count for their callers.</p>",
            grouped(saturated(count as u64))
        ),
    };
    write!(
        out,
        "<div class=\"bar\"><form data-search><input type=\"search\" placeholder=\"Search \
         (regular expression)\" aria-label=\"Search frames of {}\"><button>Search</button>\
         <output></output></form><div class=\"legend\">{legend}</div></div>\
         <iframe title=\"Flame graph of {}\" height=\"{}\" data-document=\"{}\"></iframe>\
         <p class=\"soft\">Callers above, callees below. Click a frame to zoom.</p>{dropped}",
        text(name),
        text(name),
        flame.height,
        flame.document
    )
}

#[cfg(test)]
mod tests {
    use super::super::{Format, Grouping, Options, write};
    use crate::{
        fixture::{self, ON_CPU, Profiles, string},
        summary::{Filter, Limits, Summary},
    };

    fn page(summary: &Summary) -> String {
        let options = Options {
            format: Format::Html,
            ..Options::default()
        };
        let mut out = Vec::new();
        write(summary, &options, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// Tags of the page itself, those of the framed documents left out.
    fn tags(page: &str, name: &str) -> usize {
        page.matches(&format!("<{name}")).count()
    }

    /// Names from processes add no tag, no attribute and no script, in the page and, once
    /// unescaped as `srcdoc` will be, in the framed drawing.
    #[test]
    fn hostile_names_stay_text() {
        let hostile = "</title></svg><script>alert(1)</script>\"'><img src=x onerror=y> 12";
        let mut profiles = Profiles::new(0);
        let frame = profiles.frame(Some("native"), hostile, 1, &[(hostile, hostile, 1)]);
        let attributes = vec![
            ("process.executable.name", string(hostile)),
            ("service.name", string(hostile)),
            ("container.id", string(hostile)),
        ];
        profiles.sample(ON_CPU, &[("host.name", hostile)], attributes, &[frame], 3);
        let mut summary = Summary::new(Filter::default(), Limits::default());
        summary.add_profiles(&profiles.finish());
        let page = page(&summary);
        assert!(page.contains("alert(1)"), "the name is shown");
        assert_eq!(
            (
                tags(&page, "script"),
                tags(&page, "img"),
                tags(&page, "svg")
            ),
            (1, 0, 0)
        );
        let start = page.find("data-document=\"").unwrap() + "data-document=\"".len();
        let framed = page[start..].split('"').next().unwrap();
        let framed = framed
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&quot;", "\"")
            .replace("&#39;", "'")
            .replace("&amp;", "&");
        assert_eq!((tags(&framed, "script"), tags(&framed, "img")), (3, 0));
        assert_eq!(tags(&framed, "svg"), 2);
        assert!(
            framed.contains("&lt;script&gt;alert(1)"),
            "the name is drawn"
        );
    }

    /// The table beside the functions counts by what was asked for.
    #[test]
    fn counts_by_container() {
        let options = Options {
            format: Format::Html,
            by: Grouping::Container,
            ..Options::default()
        };
        let mut out = Vec::new();
        write(&fixture::summary(Filter::default()), &options, &mut out).unwrap();
        let page = String::from_utf8(out).unwrap();
        assert!(page.contains("<td class=\"name\">001122334455</td><td class=\"name\">web</td>"));
    }

    /// Nothing is loaded from elsewhere, and the policy says so too.
    #[test]
    fn is_self_contained() {
        let page = page(&fixture::summary(Filter::default()));
        assert!(page.contains("default-src 'none'"));
        for loading in ["src=\"http", "href=\"http", "url(http", "@import", "<link"] {
            assert!(!page.contains(loading), "{loading}");
        }
    }

    /// Both profiles have a graph of their own, and every sample is in it.
    #[test]
    fn draws_every_profile() {
        let page = page(&fixture::summary(Filter::default()));
        assert_eq!(page.matches("<iframe").count(), 2);
        assert!(page.contains("all (20 samples, 100%)"));
        assert!(page.contains("all (5,000 µs, 100%)"));
        assert!(page.contains("a b\\x3bc 12 (1 samples, 5.00%)"));
    }
}
