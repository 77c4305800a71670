//! Aligned tables that fit a width.

use std::io::{self, Write};

use super::super::printable::{elide, printable};

/// How the cells of a column stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    /// To the right, as numbers do.
    Right,
    /// To the left.
    Left,
    /// To the left, shortened in the middle when the table is too wide.
    Elastic,
}

/// Space between columns, and before the first one.
const GAP: usize = 2;

/// Fewest characters that an elastic column shrinks to.
const LEAST: usize = 12;

/// A table: a head and rows of cells.
#[derive(Debug)]
pub(super) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table of named columns.
    pub(super) fn new(columns: &[(&str, Column)]) -> Self {
        Self {
            columns: columns.iter().map(|(_, column)| *column).collect(),
            rows: vec![columns.iter().map(|(name, _)| (*name).to_owned()).collect()],
        }
    }

    /// Adds a row. Cells may hold anything: they are made printable here.
    pub(super) fn push(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells = cells
            .into_iter()
            .map(|cell| printable(&cell).into_owned())
            .collect();
        self.rows.push(cells);
    }

    /// Writes the table in at most `width` columns; `style` marks the head.
    pub(super) fn write(
        &self,
        out: &mut dyn Write,
        width: usize,
        style: fn(&str) -> String,
    ) -> io::Result<()> {
        let widths = self.widths(width);
        for (number, row) in self.rows.iter().enumerate() {
            let mut line = String::new();
            for ((cell, column), &width) in row.iter().zip(&self.columns).zip(&widths) {
                let cell = elide(cell, width);
                let space = " ".repeat(width.saturating_sub(cell.chars().count()));
                line.push_str(&" ".repeat(GAP));
                match column {
                    Column::Right => line.extend([space.as_str(), &cell]),
                    Column::Left | Column::Elastic => line.extend([&cell, space.as_str()]),
                }
            }
            let line = line.trim_end();
            if number == 0 {
                writeln!(out, "{}", style(line))?;
            } else {
                writeln!(out, "{line}")?;
            }
        }
        Ok(())
    }

    /// Widths of the columns: as wide as their cells, then the widest elastic ones give way.
    fn widths(&self, width: usize) -> Vec<usize> {
        let mut widths = vec![0; self.columns.len()];
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let gaps = GAP * self.columns.len();
        while widths.iter().sum::<usize>() + gaps > width {
            let widest = widths
                .iter_mut()
                .zip(&self.columns)
                .filter(|(width, column)| **column == Column::Elastic && **width > LEAST)
                .map(|(width, _)| width)
                .max();
            match widest {
                Some(widest) => *widest -= 1,
                None => break,
            }
        }
        widths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers stand right, names left, and the elastic column alone gives way to the width.
    #[test]
    fn aligns_and_fits() {
        let mut table = Table::new(&[
            ("self %", Column::Right),
            ("function", Column::Elastic),
            ("module", Column::Left),
        ]);
        table.push(["99.5", "a_very_long_function_name_of_a_crate", "app"].map(str::to_owned));
        table.push(["0.5", "main\x1b", "app"].map(str::to_owned));
        let mut out = Vec::new();
        table.write(&mut out, 40, str::to_owned).unwrap();
        let text = String::from_utf8(out).unwrap();
        let expected = "  self %  function                module
    99.5  a_very_lon…_of_a_crate  app
     0.5  main\\x1b                app
";
        assert_eq!(text, expected);
        assert!(
            text.lines().all(|line| line.chars().count() <= 40),
            "{text}"
        );
    }
}
