//! What becomes of each column of a grid.

use crate::TableColumn;
use crate::dictionary::Quality;
use crate::unit::UnitScale;

/// What becomes of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnUse {
    Read {
        column: TableColumn,
        quality: Quality,
        unit: Option<UnitScale>,
        unit_text: String,
    },
    /// Of a wide layout: figures of one quantity at one value of what stands across.
    Across {
        value: String,
        column: TableColumn,
        unit: Option<UnitScale>,
        unit_text: String,
    },
    /// Names that nothing knows: they keep rows apart.
    Apart,
    /// Known, and judged by nothing.
    Ignored,
    /// Not read, with the option that says what it is.
    Left,
    /// Another column of one quantity that is read already.
    Twice {
        first: usize,
        unit: Option<UnitScale>,
    },
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnPlan {
    pub uses: Vec<ColumnUse>,
    pub across: Option<TableColumn>,
    pub operations: bool,
    pub not_read: Vec<String>,
}
