//! What becomes of each column of a grid.

use crate::TableColumn;
use crate::dictionary::{Quality, ReadAs};

/// What becomes of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnUse {
    Read(ReadAs),
    /// Names that nothing knows: they keep rows apart.
    Apart,
    /// Known, and judged by nothing.
    Ignored,
    /// Not read, with the option that says what it is.
    Left,
}

impl ColumnUse {
    /// What it is read as, where its headings are no values.
    pub fn read(&self) -> Option<&ReadAs> {
        self.any().filter(|of| of.value.is_none())
    }

    pub fn any(&self) -> Option<&ReadAs> {
        if let ColumnUse::Read(of) = self { Some(of) } else { None }
    }

    /// Of the figures themselves, and not of their scatter.
    pub fn mean(&self) -> Option<&ReadAs> {
        self.any().filter(|of| of.quality == Quality::Mean)
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnPlan {
    pub uses: Vec<ColumnUse>,
    pub across: Option<TableColumn>,
    pub operations: bool,
    pub not_read: Vec<String>,
}
