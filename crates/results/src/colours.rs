//! The table of colours: what a colour means, on a light and on a dark ground, for the report, the viewer, the pages
//! and figures of the Python package, and the studies.
//!
//! `colours.json` is the only place with these colours. Series are jobs, topologies and other lines. `time` has the
//! causes of the time of a rank; those of collectives have the same colour with a hatch.
//!
//! SOURCE: the tests simulate colour blindness by G. M. Machado, M. M. Oliveira, L. A. F. Fernandes, "A
//! physiologically-based model for simulation of color vision deficiency", IEEE TVCG 15(6), 2009, and measure
//! distances in Oklab (B. Ottosson, 2020).

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::LazyLock;

use serde::Deserialize;

/// The table as JSON: each colour is a pair of hexadecimal values, for a light and for a dark ground.
pub const TABLE: &str = include_str!("colours.json");

/// A colour on a light and on a dark ground.
#[derive(Clone, Debug, Deserialize)]
struct Paint(String, String);

/// The table of colours.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ColourTable {
    /// Text, lines and grounds of pages.
    page: BTreeMap<String, Paint>,
    series: Vec<Paint>,
    /// Everything else: the rest of a sum, idle threads.
    other: Paint,
    /// Indexes into the series, by kind of topology.
    #[cfg_attr(not(test), expect(dead_code, reason = "the figures of the studies read it"))]
    topologies: BTreeMap<String, usize>,
    /// Causes of the time of a rank.
    time: BTreeMap<String, Paint>,
    /// Calls of MPI, in the order of their names.
    states: Vec<Paint>,
    /// The critical path on a map.
    critical: Paint,
    /// From idle to nearly full, in even steps of lightness.
    load: Vec<Paint>,
    full: Paint,
    unknown: Paint,
}

static COLOURS: LazyLock<ColourTable> =
    LazyLock::new(|| serde_json::from_str(TABLE).expect("the table of colours is complete"));

/// The i-th series on a light ground. Colours repeat.
pub(crate) fn series(i: usize) -> &'static str {
    &COLOURS.series[i % COLOURS.series.len()].0
}

/// Number of series with distinct colours.
pub(crate) const SERIES: usize = 7;

/// A cause of the time of a rank on a light ground.
pub(crate) fn time(cause: &str) -> &'static str {
    &COLOURS.time[cause].0
}

/// The i-th call of MPI in the order of their names, on a light ground.
pub(crate) fn state(i: usize) -> &'static str {
    &COLOURS.states[i % COLOURS.states.len()].0
}

/// Everything else, on a light ground.
pub(crate) fn other() -> &'static str {
    &COLOURS.other.0
}

/// A part of the page on a light ground.
pub(crate) fn page(part: &str) -> &'static str {
    &COLOURS.page[part].0
}

/// Loads from idle to nearly full, on a light ground.
pub(crate) fn load() -> impl ExactSizeIterator<Item = &'static str> {
    COLOURS.load.iter().map(|paint| paint.0.as_str())
}

/// All colours as variables of CSS, for the ground that the reader's system asks for. Paper is white.
pub fn style() -> &'static str {
    static STYLE: LazyLock<String> = LazyLock::new(|| {
        let [light, dark] =
            [|paint: &'static Paint| &paint.0, |paint: &'static Paint| &paint.1].map(variables);
        format!(
            ":root {{ color-scheme: light dark;{light} }}\n.print {{ color-scheme: light; }}\n\
             @media screen and (prefers-color-scheme: dark) {{ :root:not(.print) {{{dark} }} }}\n\
             @media print {{ :root {{ color-scheme: light; }} }}\n"
        )
    });
    &STYLE
}

fn variables(of: fn(&'static Paint) -> &'static String) -> String {
    let table: &'static ColourTable = &COLOURS;
    let page = table.page.iter().map(|(name, paint)| (name.clone(), paint));
    // The viewer has eight lines.
    let lines = table.series.iter().chain([&table.other]).enumerate();
    let lines = lines.map(|(i, paint)| (format!("line{i}"), paint));
    let time = table
        .time
        .iter()
        .map(|(cause, paint)| (format!("time-{}", cause.replace('_', "-")), paint));
    let mut text = String::new();
    for (name, paint) in page.chain(lines).chain(time) {
        let _ = write!(text, " --{name}: {};", of(paint));
    }
    text
}

/// The table as a module of JavaScript.
pub fn module() -> &'static str {
    concat!("export default ", include_str!("colours.json"), ";\n")
}

/// The script at the end of a page with plots of Plotly, which repaints them for a dark ground.
pub fn script() -> &'static str {
    static SCRIPT: LazyLock<String> = LazyLock::new(|| {
        let dark = serde_json::to_string(&darkened()).expect("texts are JSON");
        format!("const DARK = {dark};\n{}", include_str!("colours.js"))
    });
    &SCRIPT
}

/// The dark value of each light one.
fn darkened() -> BTreeMap<&'static str, &'static str> {
    all()
        .into_iter()
        .map(|(_, paint)| (paint.0.as_str(), paint.1.as_str()))
        .collect()
}

/// All colours with their names.
fn all() -> Vec<(String, &'static Paint)> {
    let table: &'static ColourTable = &COLOURS;
    let numbered = |name: &'static str, paints: &'static [Paint]| {
        paints
            .iter()
            .enumerate()
            .map(move |(i, paint)| (format!("{name} {i}"), paint))
    };
    let named = |name: &'static str, paints: &'static BTreeMap<String, Paint>| {
        paints
            .iter()
            .map(move |(key, paint)| (format!("{name} {key}"), paint))
    };
    let single = [
        ("other", &table.other),
        ("critical", &table.critical),
        ("full", &table.full),
        ("unknown", &table.unknown),
    ];
    named("page", &table.page)
        .chain(numbered("series", &table.series))
        .chain(named("time", &table.time))
        .chain(numbered("states", &table.states))
        .chain(numbered("load", &table.load))
        .chain(single.map(|(name, paint)| (name.into(), paint)))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;

    type Vector = [f64; 3];

    /// Severity 1 of the three kinds of colour blindness.
    const VISIONS: [(&str, [Vector; 3]); 3] = [
        ("normal", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
        (
            "deuteranopia",
            [
                [0.367322, 0.860646, -0.227968],
                [0.280085, 0.672501, 0.047413],
                [-0.011820, 0.042940, 0.968881],
            ],
        ),
        (
            "protanopia",
            [
                [0.152286, 1.052583, -0.204868],
                [0.114503, 0.786281, 0.099216],
                [-0.003882, -0.048116, 1.051998],
            ],
        ),
    ];

    /// Least distance in Oklab of two colours that a figure has beside each other. A just noticeable one is 0.02.
    const LEAST: f64 = 0.1;

    fn channels(hex: &str) -> Vector {
        [1, 3, 5].map(|at| f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0)
    }

    fn linear(hex: &str) -> Vector {
        channels(hex).map(|c| {
            if c <= 0.04045 {
                c / 12.92
            } else {
                ((c + 0.055) / 1.055).powf(2.4)
            }
        })
    }

    fn times(matrix: &[Vector; 3], vector: Vector) -> Vector {
        matrix.map(|row| row.iter().zip(vector).map(|(m, v)| m * v).sum())
    }

    fn oklab(rgb: Vector) -> Vector {
        let lms = times(
            &[
                [0.4122214708, 0.5363325363, 0.0514459929],
                [0.2119034982, 0.6806995451, 0.1073969566],
                [0.0883024619, 0.2817188376, 0.6299787005],
            ],
            rgb.map(|c| c.clamp(0.0, 1.0)),
        );
        times(
            &[
                [0.2104542553, 0.7936177850, -0.0040720468],
                [1.9779984951, -2.4285922050, 0.4505937099],
                [0.0259040371, 0.7827717662, -0.8086757660],
            ],
            lms.map(f64::cbrt),
        )
    }

    fn distance(a: &str, b: &str, vision: &[Vector; 3]) -> f64 {
        let [a, b] = [a, b].map(|hex| oklab(times(vision, linear(hex))));
        a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let [a, b] = [a, b].map(|hex| {
            let [red, green, blue] = linear(hex);
            0.2126 * red + 0.7152 * green + 0.0722 * blue
        });
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    /// A ground: its name, its colour, and the value of a colour on it.
    type Ground = (&'static str, &'static str, fn(&'static Paint) -> &'static str);

    fn grounds() -> [Ground; 2] {
        let paper = &COLOURS.page["paper"];
        [
            ("light", &paper.0, |paint| &paint.0),
            ("dark", &paper.1, |paint| &paint.1),
        ]
    }

    #[test]
    fn distances_are_those_of_the_sources() {
        assert!((contrast("#000000", "#ffffff") - 21.0).abs() < 1e-9);
        assert!((distance("#000000", "#ffffff", &VISIONS[0].1) - 1.0).abs() < 1e-6);
        // Red and green of one lightness are nearly equal for deuteranopes, blue and yellow are not.
        let (red, green) = ("#c06000", "#7f8000");
        assert!(distance(red, green, &VISIONS[0].1) > 2.0 * distance(red, green, &VISIONS[1].1));
        assert!(distance("#0000ff", "#ffff00", &VISIONS[1].1) > 0.5);
    }

    #[test]
    fn colours_of_one_figure_differ_for_all_readers_on_both_grounds() {
        let table: &'static ColourTable = &COLOURS;
        assert_eq!(table.series.len(), SERIES);
        let causes: Vec<&'static Paint> = table.time.values().chain([&table.other]).collect();
        for (figure, paints) in [("series", table.series.iter().collect()), ("time", causes)] {
            for (ground, _, of) in grounds() {
                for (i, a) in paints.iter().enumerate() {
                    for b in &paints[..i] {
                        for (vision, matrix) in &VISIONS {
                            let apart = distance(of(a), of(b), matrix);
                            assert!(
                                apart >= LEAST,
                                "{figure}: {} and {} are {apart:.3} apart, {vision}, {ground}",
                                of(a),
                                of(b)
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn marks_have_contrast_to_their_ground() {
        for (name, paint) in all() {
            let is_mark = ["series", "time", "states", "other", "critical", "full"]
                .iter()
                .any(|kind| name.starts_with(kind));
            for (ground, paper, of) in grounds() {
                let found = contrast(of(paint), paper);
                assert!(!is_mark || found >= 3.0, "{name}: {found:.2} on {ground}");
                let is_text = ["page ink", "page quiet", "page link"].contains(&name.as_str());
                assert!(!is_text || found >= 4.5, "{name}: {found:.2} on {ground}");
            }
        }
    }

    #[test]
    fn loads_are_in_order_of_lightness_and_a_cause_is_no_series() {
        for (ground, _, of) in grounds() {
            let lightness: Vec<f64> = COLOURS
                .load
                .iter()
                .map(|paint| oklab(linear(of(paint)))[0])
                .collect();
            let falls = ground == "light";
            assert!(
                lightness.windows(2).all(|pair| (pair[1] < pair[0]) == falls),
                "{ground}: {lightness:?}"
            );
        }
        for cause in COLOURS.time.values() {
            assert!(
                COLOURS
                    .series
                    .iter()
                    .all(|series| series.0 != cause.0 && series.1 != cause.1)
            );
        }
    }

    #[test]
    fn a_light_value_has_one_dark_one() {
        let dark = darkened();
        for (name, paint) in all() {
            for hex in [&paint.0, &paint.1] {
                assert!(
                    hex.len() == 7 && hex.starts_with('#') && *hex == hex.to_lowercase(),
                    "{name}: {hex}"
                );
            }
            assert_eq!(dark[paint.0.as_str()], paint.1, "{name}");
        }
    }

    #[test]
    fn topologies_have_colours_of_series() {
        for (kind, index) in &COLOURS.topologies {
            assert!(*index < SERIES, "{kind}");
        }
        // A study compares these.
        let compared = [
            "fat-tree",
            "hyperx",
            "dragonfly",
            "dragonfly-plus",
            "slim-fly",
            "torus",
        ];
        let mut indexes: Vec<usize> = compared.map(|kind| COLOURS.topologies[kind]).into();
        indexes.sort_unstable();
        indexes.dedup();
        assert_eq!(indexes.len(), compared.len());
    }

    fn files(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let ending = path.extension().and_then(|ending| ending.to_str());
            if path.is_dir() {
                if path
                    .file_name()
                    .is_some_and(|name| name != "vendor" && name != "__pycache__")
                {
                    files(&path, found);
                }
            } else if matches!(ending, Some("rs" | "js" | "css" | "html" | "py")) {
                found.push(path);
            }
        }
    }

    /// Hexadecimal colours of a text: those of six and of three digits.
    fn hexes(text: &str) -> Vec<&str> {
        let mut found = Vec::new();
        for (at, _) in text.match_indices('#') {
            let digits = text[at + 1..].bytes().take_while(u8::is_ascii_hexdigit).count();
            let after = text[at + 1 + digits..].bytes().next();
            let ends = after.is_none_or(|byte| !byte.is_ascii_alphanumeric() && byte != b'-' && byte != b'_');
            let before = text[..at].bytes().next_back();
            if ends && (digits == 6 || digits == 3) && before != Some(b'&') {
                found.push(&text[at..=at + digits]);
            }
        }
        found
    }

    /// Whether it is a colour and no grey.
    fn is_chromatic(hex: &str) -> bool {
        let long: String = if hex.len() == 4 {
            hex[1..].chars().flat_map(|digit| [digit, digit]).collect()
        } else {
            hex[1..].into()
        };
        let channels = channels(&format!("#{long}"));
        let (least, most) = (
            channels.into_iter().fold(1.0, f64::min),
            channels.into_iter().fold(0.0, f64::max),
        );
        most - least > 0.15
    }

    #[test]
    fn only_colours_are_found() {
        assert_eq!(
            hexes("a #0072B2; b #fff, #12 &#123; x#abcd \"#444\""),
            ["#0072B2", "#fff", "#444"]
        );
        assert!(is_chromatic("#0072B2") && is_chromatic("#f00"));
        assert!(!is_chromatic("#57606a") && !is_chromatic("#ddd"));
    }

    #[test]
    fn no_other_file_has_colours() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut found = Vec::new();
        let folders = [
            "crates/results/src/report",
            "crates/view/assets",
            "python/fabricsim/plot",
            "python/fabricsim/sweep",
            "python/fabricsim/calibrate",
            "studies",
        ];
        for folder in folders {
            files(&root.join(folder), &mut found);
        }
        assert!(found.len() > 80, "{} files", found.len());
        let mut own = Vec::new();
        for path in found {
            let text = std::fs::read_to_string(&path).unwrap();
            let name = path.strip_prefix(&root).unwrap().display().to_string();
            for hex in hexes(&text) {
                if is_chromatic(hex) && !ALLOWED.contains(&(&*name, hex)) {
                    own.push(format!("{name}: {hex}"));
                }
            }
        }
        assert!(own.is_empty(), "colours outside colours.json: {own:#?}");
    }

    /// Colours of the viewer's controls.
    const ALLOWED: &[(&str, &str)] = &[
        ("crates/view/assets/style.css", "#1f4766"),
        ("crates/view/assets/ranks.js", "#0072b2"),
        ("crates/view/assets/lanes.js", "#0072b2"),
    ];
}
