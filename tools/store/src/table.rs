//! A table of named columns, to and from one Parquet file. Every column may lack values.

use anyhow::{Context, Result, bail};
use parquet::basic::{LogicalType, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::fs::File;
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq)]
pub enum ColumnValues {
    Text(Vec<Option<String>>),
    Number(Vec<Option<f64>>),
    Count(Vec<Option<i64>>),
    /// Nanoseconds since 1970, UTC.
    Moment(Vec<Option<i64>>),
}

impl ColumnValues {
    fn kind(&self) -> (&'static str, &'static str) {
        match self {
            ColumnValues::Text(_) => ("binary", "(UTF8)"),
            ColumnValues::Number(_) => ("double", ""),
            ColumnValues::Count(_) => ("int64", ""),
            ColumnValues::Moment(_) => ("int64", "(TIMESTAMP(NANOS,true))"),
        }
    }

    fn len(&self) -> usize {
        match self {
            ColumnValues::Text(values) => values.len(),
            ColumnValues::Number(values) => values.len(),
            ColumnValues::Count(values) | ColumnValues::Moment(values) => values.len(),
        }
    }

    /// The rows of `which`, and none where it names none.
    fn keep(&mut self, which: &[bool]) {
        fn kept<T>(values: &mut Vec<T>, which: &[bool]) {
            let mut place = which.iter();
            values.retain(|_| *place.next().unwrap_or(&false));
        }
        match self {
            ColumnValues::Text(values) => kept(values, which),
            ColumnValues::Number(values) => kept(values, which),
            ColumnValues::Count(values) | ColumnValues::Moment(values) => kept(values, which),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoreTable {
    pub columns: Vec<(String, ColumnValues)>,
}

impl StoreTable {
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, values)| values.len())
    }

    pub fn column(&self, name: &str) -> Option<&ColumnValues> {
        self.columns.iter().find(|(known, _)| known == name).map(|(_, values)| values)
    }

    pub fn text(&self, name: &str) -> Result<&[Option<String>]> {
        match self.column(name) {
            Some(ColumnValues::Text(values)) => Ok(values),
            _ => bail!("it has no text column {name}"),
        }
    }

    pub fn numbers(&self, name: &str) -> Result<&[Option<f64>]> {
        match self.column(name) {
            Some(ColumnValues::Number(values)) => Ok(values),
            _ => bail!("it has no column of numbers {name}"),
        }
    }

    pub fn keep(&mut self, which: &[bool]) {
        self.columns.iter_mut().for_each(|(_, values)| values.keep(which));
    }

    /// The rows of another table with these columns after its own.
    pub fn append(&mut self, other: StoreTable) -> Result<()> {
        if self.columns.is_empty() {
            *self = other;
            return Ok(());
        }
        if self.columns.len() != other.columns.len() {
            bail!("its columns are those of another version: add the runs to a new store");
        }
        for ((name, ours), (other_name, theirs)) in self.columns.iter_mut().zip(other.columns) {
            match (ours, theirs) {
                _ if *name != other_name => {
                    bail!("it has no column {other_name}: add the runs to a new store")
                }
                (ColumnValues::Text(ours), ColumnValues::Text(theirs)) => ours.extend(theirs),
                (ColumnValues::Number(ours), ColumnValues::Number(theirs)) => ours.extend(theirs),
                (ColumnValues::Count(ours), ColumnValues::Count(theirs)) => ours.extend(theirs),
                (ColumnValues::Moment(ours), ColumnValues::Moment(theirs)) => ours.extend(theirs),
                _ => bail!("its column {name} has another type: add the runs to a new store"),
            }
        }
        Ok(())
    }

    /// A whole Parquet file.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        let field = |(name, values): &(String, ColumnValues)| {
            let (physical, logical) = values.kind();
            format!("optional {physical} {name} {logical};")
        };
        let fields: String = self.columns.iter().map(field).collect();
        let schema = Arc::new(parse_message_type(&format!("message row {{ {fields} }}"))?);
        let properties = Arc::new(properties());
        let mut writer = SerializedFileWriter::new(Vec::new(), schema, properties)?;
        let mut group = writer.next_row_group()?;
        for (_, values) in &self.columns {
            let mut column = group.next_column()?.context("a column of the schema")?;
            match values {
                ColumnValues::Text(values) => {
                    let (bytes, there) = apart(values, |text| ByteArray::from(text.as_str()));
                    column.typed::<ByteArrayType>().write_batch(&bytes, Some(&there), None)?
                }
                ColumnValues::Number(values) => {
                    let (numbers, there) = apart(values, |number| *number);
                    column.typed::<DoubleType>().write_batch(&numbers, Some(&there), None)?
                }
                ColumnValues::Count(values) | ColumnValues::Moment(values) => {
                    let (numbers, there) = apart(values, |number| *number);
                    column.typed::<Int64Type>().write_batch(&numbers, Some(&there), None)?
                }
            };
            column.close()?;
        }
        group.close()?;
        Ok(writer.into_inner()?)
    }

    /// The columns of a file, or only those named.
    pub fn read(file: File, only: &[&str]) -> Result<StoreTable> {
        let reader = SerializedFileReader::new(file)?;
        let schema = reader.metadata().file_metadata().schema_descr_ptr();
        let mut table = StoreTable::default();
        for (place, column) in schema.columns().iter().enumerate() {
            let name = column.name();
            if !only.is_empty() && !only.contains(&name) {
                continue;
            }
            let is_moment = matches!(column.logical_type_ref(), Some(LogicalType::Timestamp { .. }));
            let mut values = match (column.physical_type(), is_moment) {
                (Type::BYTE_ARRAY, _) => ColumnValues::Text(Vec::new()),
                (Type::DOUBLE, _) => ColumnValues::Number(Vec::new()),
                (Type::INT64, true) => ColumnValues::Moment(Vec::new()),
                (Type::INT64, false) => ColumnValues::Count(Vec::new()),
                (other, _) => bail!("its column {name} is of a type that no store has: {other}"),
            };
            for group in 0..reader.num_row_groups() {
                let group = reader.get_row_group(group)?;
                read_column(&*group, place, &mut values)?;
            }
            table.columns.push((name.into(), values));
        }
        Ok(table)
    }
}

/// A history opens thousands of small files: each has one page a column, so indices of pages would only be read in vain.
fn properties() -> WriterProperties {
    let plain = WriterProperties::builder().set_created_by("syscost".into());
    plain.set_statistics_enabled(EnabledStatistics::Chunk).set_offset_index_disabled(true).build()
}

/// What is there, and where.
fn apart<T, U>(values: &[Option<T>], of: impl Fn(&T) -> U) -> (Vec<U>, Vec<i16>) {
    let there = values.iter().map(|value| i16::from(value.is_some())).collect();
    (values.iter().flatten().map(of).collect(), there)
}

fn read_column(group: &dyn RowGroupReader, place: usize, values: &mut ColumnValues) -> Result<()> {
    let rows = usize::try_from(group.metadata().num_rows()).context("a number of rows")?;
    match (group.get_column_reader(place)?, values) {
        (ColumnReader::ByteArrayColumnReader(reader), ColumnValues::Text(values)) => {
            for value in all(reader, rows)? {
                let text = value.map(|bytes| bytes.as_utf8().map(str::to_string)).transpose()?;
                values.push(text);
            }
        }
        (ColumnReader::DoubleColumnReader(reader), ColumnValues::Number(values)) => {
            values.extend(all(reader, rows)?)
        }
        (
            ColumnReader::Int64ColumnReader(reader),
            ColumnValues::Count(values) | ColumnValues::Moment(values),
        ) => {
            values.extend(all(reader, rows)?);
        }
        _ => bail!("a row group disagrees with the schema"),
    }
    Ok(())
}

/// Every value of a column in a row group.
fn all<T: DataType>(mut reader: ColumnReaderImpl<T>, rows: usize) -> Result<Vec<Option<T::T>>, ParquetError> {
    let (mut there, mut found, mut read) = (Vec::new(), Vec::new(), 0);
    while read < rows {
        let (records, _, _) = reader.read_records(rows - read, Some(&mut there), None, &mut found)?;
        if records == 0 {
            return Err(ParquetError::EOF("a column ends before its rows".into()));
        }
        read += records;
    }
    let mut found = found.into_iter();
    Ok(there.into_iter().map(|is| if is > 0 { found.next() } else { None }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, Write};

    fn table() -> StoreTable {
        let columns = vec![
            ("name".to_string(), ColumnValues::Text(vec![Some("a".into()), None, Some("\u{e9}".into())])),
            ("value".to_string(), ColumnValues::Number(vec![None, Some(0.1), Some(-2.0)])),
            ("rounds".to_string(), ColumnValues::Count(vec![Some(3), Some(i64::MAX), None])),
            ("started".to_string(), ColumnValues::Moment(vec![Some(1), None, None])),
        ];
        StoreTable { columns }
    }

    fn file(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file.rewind().unwrap();
        file
    }

    #[test]
    fn a_table_is_read_as_it_was_written() {
        let bytes = table().bytes().unwrap();
        assert_eq!(StoreTable::read(file(&bytes), &[]).unwrap(), table());
        let only = StoreTable::read(file(&bytes), &["value"]).unwrap();
        assert_eq!(only.columns.len(), 1);
        assert_eq!(only.numbers("value").unwrap()[1], Some(0.1));
        assert!(only.text("value").is_err() && only.numbers("name").is_err());
    }

    #[test]
    fn rows_are_kept_and_appended_where_the_columns_are_the_same() {
        let mut both = table();
        both.append(table()).unwrap();
        assert_eq!(both.rows(), 6);
        both.keep(&[true, false, false, false, false, true]);
        assert_eq!(both.text("name").unwrap(), [Some("a".to_string()), Some("\u{e9}".to_string())]);
        let mut other = table();
        other.columns.remove(0);
        assert!(both.append(other).is_err());
    }

    #[test]
    fn a_damaged_file_is_an_error() {
        let bytes = table().bytes().unwrap();
        for length in [0, 3, bytes.len() / 2, bytes.len() - 1] {
            assert!(StoreTable::read(file(&bytes[..length]), &[]).is_err(), "{length} bytes");
        }
    }
}
