//! The files of the page, compiled in. They load nothing from elsewhere. The colours are those of all pages.

/// A file of the page.
pub(crate) struct Asset {
    /// Path in the URL.
    pub path: &'static str,
    /// Media type.
    pub kind: &'static str,
    /// Content.
    pub text: fn() -> &'static str,
}

macro_rules! assets {
    ($($path:literal $kind:literal $file:literal,)*) => {
        &[$(Asset { path: $path, kind: $kind, text: || include_str!(concat!("../assets/", $file)) }),*]
    };
}

const JS: &str = "text/javascript; charset=utf-8";

/// A file of the page by its path in the URL.
pub(crate) fn asset(path: &str) -> Option<&'static Asset> {
    ASSETS.iter().chain(COLOURS).find(|asset| asset.path == path)
}

/// The table of colours, for the style sheet and for scripts.
const COLOURS: &[Asset] = &[
    Asset {
        path: "/table-of-colours.css",
        kind: "text/css; charset=utf-8",
        text: results::colours::style,
    },
    Asset {
        path: "/table-of-colours.js",
        kind: "js",
        text: results::colours::module,
    },
];

/// The files of the folder `assets`.
const ASSETS: &[Asset] = assets! {
    "/" "text/html; charset=utf-8" "index.html",
    "/style.css" "text/css; charset=utf-8" "style.css",
    "/address.js" "js" "address.js",
    "/bars.js" "js" "bars.js",
    "/catalogue.js" "js" "catalogue.js",
    "/colours.js" "js" "colours.js",
    "/compare.js" "js" "compare.js",
    "/data.js" "js" "data.js",
    "/detail.js" "js" "detail.js",
    "/dom.js" "js" "dom.js",
    "/drawing.js" "js" "drawing.js",
    "/format.js" "js" "format.js",
    "/lanes.js" "js" "lanes.js",
    "/layouts.js" "js" "layouts.js",
    "/main.js" "js" "main.js",
    "/map.js" "js" "map.js",
    "/matrix.js" "js" "matrix.js",
    "/plot.js" "js" "plot.js",
    "/ranks.js" "js" "ranks.js",
    "/sums.js" "js" "sums.js",
    "/time.js" "js" "time.js",
    "/verdict.js" "js" "verdict.js",
    "/vendor/uPlot.iife.min.js" "js" "vendor/uPlot.iife.min.js",
    "/vendor/uPlot.min.css" "text/css; charset=utf-8" "vendor/uPlot.min.css",
};

impl Asset {
    /// The value of the header `Content-Type`.
    pub fn media_type(&self) -> &'static str {
        match self.kind {
            "js" => JS,
            kind => kind,
        }
    }
}
