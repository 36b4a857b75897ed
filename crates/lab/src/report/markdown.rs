//! Blocks as Markdown. Plots are left to the HTML file.

use std::fmt::Write as _;

use super::block::{Block, Table};

/// The report.
pub(super) fn render(blocks: &[Block]) -> String {
    let mut out = String::new();
    for block in blocks {
        if !out.is_empty() {
            out.push('\n');
        }
        // Writing to a string cannot fail.
        let _ = match block {
            Block::Title(text) => writeln!(out, "# {text}"),
            Block::Heading(text) => writeln!(out, "## {text}"),
            Block::Subheading(text) => writeln!(out, "### {text}"),
            Block::Text(text) => writeln!(out, "{text}"),
            Block::List(points) => points.iter().try_for_each(|point| writeln!(out, "- {point}")),
            Block::Facts(facts) => facts
                .iter()
                .try_for_each(|fact| writeln!(out, "- **{}** {}", fact.figure, fact.meaning)),
            Block::Table(table) => render_table(&mut out, table),
            Block::Plot { caption, .. } => writeln!(out, "*Plot in report.html: {caption}*"),
        };
    }
    out
}

fn render_table(out: &mut String, table: &Table) -> std::fmt::Result {
    let row = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        format!("| {} |", cells.join(" | "))
    };
    let rule = "| ---: ".repeat(table.head.len().saturating_sub(1));
    writeln!(out, "{}\n\n{}\n| --- {rule}|", table.caption, row(&table.head))?;
    table.rows.iter().try_for_each(|cells| writeln!(out, "{}", row(cells)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_names_on_the_left_and_figures_on_the_right() {
        let rows = vec![vec!["a|b".to_owned(), "1".to_owned()]];
        let out = render(&[Block::title("T"), Block::table("About.", &["name", "n"], rows)]);
        assert_eq!(out, "# T\n\nAbout.\n\n| name | n |\n| --- | ---: |\n| a\\|b | 1 |\n");
    }
}
