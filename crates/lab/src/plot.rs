//! Plots as SVG text, made for a page that brings the colours.
//!
//! Shapes carry classes and no colour of their own, so one plot serves a light and a dark page; each
//! has a title and a description for those who do not see it. Equal data give equal bytes. Nothing is
//! measured here.

mod axis;
mod bars;
mod curves;
mod ranges;
mod svg;

pub use bars::{Bar, Bars, Group};
pub use curves::{Curve, Curves};
pub use ranges::{Range, Ranges};

/// What the classes of a plot look like, for the page's style sheet.
pub const STYLE: &str = "\
.plot{width:100%;height:auto;display:block}
.plot text{font:12px var(--sans);fill:var(--muted)}
.plot .name{fill:var(--ink);font-size:13px}
.plot .strong{fill:var(--ink);font-weight:600}
.plot .end{text-anchor:end}
.plot .mid{text-anchor:middle}
.plot .grid{stroke:var(--grid);stroke-width:1}
.plot .base{stroke:var(--faint);stroke-width:1}
.plot .others path,.plot .others use{fill:none;stroke:var(--faint);stroke-width:1}
.plot .limit{fill:none;stroke:var(--muted);stroke-width:1.25;stroke-dasharray:3 3}
.plot .line{fill:none;stroke:var(--accent);stroke-width:2.25;stroke-linejoin:round}
.plot .wrong{fill:var(--warn);fill-opacity:.28;stroke:var(--warn);stroke-width:1.5}
.plot .whisker{stroke:var(--accent);stroke-width:1.5}
.plot .box{stroke:var(--accent);stroke-width:7;stroke-opacity:.35;stroke-linecap:round}
.plot .dot{fill:var(--accent)}
.plot .b0{fill:var(--accent)}
.plot .b1{fill:var(--warn)}
.plot .b2{fill:var(--faint)}
";
