//! Columns that align in a terminal; a cell may have several lines.

/// The rows under their headers, each column as wide as its widest line.
pub fn columns(headers: &[&str], rows: &[Vec<String>]) -> String {
    let head: Vec<String> = headers.iter().map(|text| text.to_string()).collect();
    let lines: Vec<Vec<&str>> = std::iter::once(&head).chain(rows).flat_map(|row| lines(row)).collect();
    let width = |column: usize| {
        lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..headers.len()).map(width).collect();
    let aligned = |line: &Vec<&str>| {
        let cells = line.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_string()
    };
    lines.iter().map(aligned).collect::<Vec<_>>().join("\n")
}

/// A row as lines of cells.
fn lines(row: &[String]) -> Vec<Vec<&str>> {
    let height = row.iter().map(|cell| cell.lines().count()).max().unwrap_or(0);
    (0..height).map(|at| row.iter().map(|cell| cell.lines().nth(at).unwrap_or("")).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_as_wide_as_its_widest_line() {
        let rows = [vec!["64 B".to_string(), "0.99\n0.90-1.05".into(), "x".into()]];
        let text = "size  ratio      peer\n64 B  0.99       x\n      0.90-1.05";
        assert_eq!(columns(&["size", "ratio", "peer"], &rows), text);
    }
}
