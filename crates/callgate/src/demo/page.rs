//! The show for a pipe or a narrow terminal: one side behind the other, when both are complete.

use std::io::{self, Write as _};

use super::{
    ask::{Heard, Side},
    case::Case,
    column::Column,
    verdict::Ending,
};
use crate::paint::Paint;

/// One case, written when it is over.
pub(super) struct Page {
    paint: Paint,
    model: Column,
    client: Column,
}

impl Page {
    pub(super) fn new(paint: Paint) -> Self {
        let column = |side| Column::new(side, usize::MAX);
        Self { paint, model: column(Side::Model), client: column(Side::Client) }
    }

    pub(super) fn open(&mut self, case: &Case) -> io::Result<()> {
        let mut out = io::stdout().lock();
        writeln!(out)?;
        writeln!(out, "{}: {}", self.paint.bold(&case.script.name), case.script.about)?;
        writeln!(out, "{}", self.paint.dim(&format!("user: {}", case.script.sample.user)))
    }

    pub(super) fn hear(&mut self, side: Side, heard: &Heard) {
        match side {
            Side::Model => self.model.hear(heard),
            Side::Client => self.client.hear(heard),
        }
    }

    pub(super) fn close(&mut self, ending: &Ending) -> io::Result<()> {
        let mut out = io::stdout().lock();
        let sides = [("the model writes", &mut self.model), ("the client gets", &mut self.client)];
        for (name, column) in sides {
            column.finish();
            writeln!(out, "  {name}")?;
            for row in &column.rows {
                let text = row.look.paint(self.paint, &row.text).to_string();
                writeln!(out, "{}", format!("    │ {text}").trim_end())?;
            }
        }
        writeln!(out, "  {}", ending.paint(self.paint, &ending.line()))
    }
}
