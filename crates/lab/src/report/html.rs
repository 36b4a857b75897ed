//! Blocks as one HTML file: styles and plots inside, no script, nothing loaded.

use std::fmt::Write as _;

use super::block::{Block, Table};
use crate::plot;

const STYLE: &str = "\
:root{color-scheme:light dark;--bg:#fcfcfb;--card:#f3f3f0;--ink:#1c1c1a;--muted:#5f5f5a;--faint:#b9b9b2;\
--grid:#e3e3de;--accent:#1f5fa8;--warn:#b8431f;\
--sans:system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','DejaVu Sans',sans-serif;\
--mono:ui-monospace,'SF Mono',Menlo,Consolas,'DejaVu Sans Mono',monospace}
@media(prefers-color-scheme:dark){:root{--bg:#161719;--card:#202225;--ink:#e9e9e6;--muted:#a3a39c;--faint:#5c5d5f;\
--grid:#2d2f32;--accent:#78b0ee;--warn:#f0875f}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--ink);font:16px/1.6 var(--sans)}
main{max-width:62rem;margin:0 auto;padding:3rem 1.5rem 5rem}
h1{font-size:2.1rem;line-height:1.2;margin:0 0 1rem;letter-spacing:-.02em}
h2{font-size:1.4rem;line-height:1.3;margin:3.5rem 0 .75rem;padding-top:1rem;border-top:1px solid var(--grid)}
h3{font-size:1.08rem;margin:2.25rem 0 .5rem}
p,ul{max-width:46rem;margin:.75rem 0}
ul{padding-left:1.2rem}li{margin:.4rem 0}
code{font:.88em var(--mono);background:var(--card);padding:.1em .3em;border-radius:3px}
.facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(13rem,1fr));gap:1rem;margin:2rem 0;padding:0}
.facts div{background:var(--card);border-radius:8px;padding:1rem 1.1rem}
.facts dt{font-size:1.75rem;line-height:1.2;font-weight:650;letter-spacing:-.02em;font-variant-numeric:tabular-nums}
.facts dd{margin:.35rem 0 0;font-size:.87rem;line-height:1.45;color:var(--muted)}
.scroll{overflow-x:auto;margin:1.25rem 0}
table{border-collapse:collapse;font-size:.87rem;line-height:1.4;font-variant-numeric:tabular-nums;min-width:100%}
caption{text-align:left;color:var(--muted);padding-bottom:.5rem;max-width:46rem}
th,td{padding:.35rem .7rem;text-align:right;vertical-align:top;border-bottom:1px solid var(--grid)}
th{color:var(--muted);font-weight:500;vertical-align:bottom}
td{white-space:nowrap}
th:first-child,td:first-child{text-align:left;padding-left:0}
tbody th{color:var(--ink);font-weight:500;white-space:nowrap}
figure{margin:1.5rem 0}
figcaption{font-size:.87rem;line-height:1.5;color:var(--muted);max-width:46rem;margin-top:.6rem}
@media print{body{font-size:11pt}main{max-width:none;padding:0}h2{break-after:avoid}figure,.scroll{break-inside:avoid}}
";

/// The report.
pub(super) fn render(blocks: &[Block]) -> String {
    let title = blocks.iter().find_map(|block| match block {
        Block::Title(text) => Some(text.as_str()),
        _ => None,
    });
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <title>{}</title>\n<style>\n{STYLE}{}</style>\n<main>\n",
        inline(title.unwrap_or_default()),
        plot::STYLE
    );
    for block in blocks {
        // Writing to a string cannot fail.
        let _ = match block {
            Block::Title(text) => writeln!(out, "<h1>{}</h1>", inline(text)),
            Block::Heading(text) => writeln!(out, "<h2>{}</h2>", inline(text)),
            Block::Subheading(text) => writeln!(out, "<h3>{}</h3>", inline(text)),
            Block::Text(text) => writeln!(out, "<p>{}</p>", inline(text)),
            Block::List(points) => {
                let points: String =
                    points.iter().map(|point| format!("<li>{}</li>\n", inline(point))).collect();
                writeln!(out, "<ul>\n{points}</ul>")
            }
            Block::Facts(facts) => {
                out.push_str("<dl class=\"facts\">\n");
                for fact in facts {
                    let (figure, meaning) = (inline(&fact.figure), inline(&fact.meaning));
                    let _ = writeln!(out, "<div><dt>{figure}</dt><dd>{meaning}</dd></div>");
                }
                writeln!(out, "</dl>")
            }
            Block::Table(table) => render_table(&mut out, table),
            Block::Plot { svg, caption } => writeln!(
                out,
                "<figure>\n<div class=\"scroll\">{svg}</div><figcaption>{}</figcaption>\n</figure>",
                inline(caption)
            ),
        };
    }
    out.push_str("</main>\n</html>\n");
    out
}

fn render_table(out: &mut String, table: &Table) -> std::fmt::Result {
    writeln!(
        out,
        "<div class=\"scroll\" tabindex=\"0\"><table>\n<caption>{}</caption>",
        inline(&table.caption)
    )?;
    let head: String =
        table.head.iter().map(|name| format!("<th scope=\"col\">{}</th>", inline(name))).collect();
    writeln!(out, "<thead><tr>{head}</tr></thead>\n<tbody>")?;
    for row in &table.rows {
        for (at, cell) in row.iter().enumerate() {
            let cell = inline(cell);
            match at {
                0 => write!(out, "<tr><th scope=\"row\">{cell}</th>")?,
                _ => write!(out, "<td>{cell}</td>")?,
            }
        }
        writeln!(out, "</tr>")?;
    }
    writeln!(out, "</tbody></table></div>")
}

/// Text with its marks. Nothing in it is taken for markup.
fn inline(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut code, mut strong, mut emphasis) = (false, false, false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '`' => out.push_str(toggled(&mut code, "<code>", "</code>")),
            '*' if !code && chars.next_if_eq(&'*').is_some() => {
                out.push_str(toggled(&mut strong, "<strong>", "</strong>"));
            }
            '*' if !code => out.push_str(toggled(&mut emphasis, "<em>", "</em>")),
            c => out.push(c),
        }
    }
    out
}

fn toggled<'t>(is_open: &mut bool, open: &'t str, close: &'t str) -> &'t str {
    *is_open = !*is_open;
    if *is_open { open } else { close }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_elements_and_the_rest_is_text() {
        let check = |text: &str, expected: &str| assert_eq!(inline(text), expected);
        check("a `<b>` **c** *d*", "a <code>&lt;b&gt;</code> <strong>c</strong> <em>d</em>");
        check("`a*b*`", "<code>a*b*</code>");
        check("2 < 3 & \"x\"", "2 &lt; 3 &amp; &quot;x&quot;");
    }
}
