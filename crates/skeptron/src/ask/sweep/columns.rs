//! The table of a sweep as a Parquet file.

use std::io::Write;
use std::sync::Arc;

use anyhow::Result;
use parquet::basic::{ConvertedType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use serde_json::Value;

use super::{Row, Sweep, Table, shown};

/// One column; what is missing is null.
enum Column {
    Whole(Vec<Option<i64>>),
    Real(Vec<Option<f64>>),
    Text(Vec<Option<String>>),
}

/// Writes the table, in one row group.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn parquet(sweep: &Sweep, table: &Table, out: impl Write + Send) -> Result<()> {
    let columns = columns(sweep, table);
    let fields = columns.iter().map(|(name, column)| column.field(name));
    let fields = fields.collect::<Result<Vec<_>>>()?;
    let schema = Type::group_type_builder("sweep").with_fields(fields).build()?;
    let mut file = SerializedFileWriter::new(out, Arc::new(schema), Arc::default())?;
    let mut rows = file.next_row_group()?;
    for (_, column) in &columns {
        column.write(&mut rows)?;
    }
    rows.close()?;
    file.close()?;
    Ok(())
}

fn columns(sweep: &Sweep, table: &Table) -> Vec<(String, Column)> {
    let whole = |value: fn(&Row) -> usize| {
        Column::Whole(table.rows.iter().map(|row| i64::try_from(value(row)).ok()).collect())
    };
    let real =
        |value: fn(&Row) -> Option<f64>| Column::Real(table.rows.iter().map(value).collect());
    let mut columns = vec![("point".to_string(), whole(|row| row.point))];
    for (place, name) in sweep.columns.iter().enumerate() {
        let value = |row: &Row| &sweep.points[row.point].values[place];
        columns.push((name.clone(), Column::of(table.rows.iter().map(value).collect())));
    }
    let figures = table.rows.iter().map(|row| Some(row.figure.to_string()));
    columns.push(("figure".into(), Column::Text(figures.collect())));
    let measured = [
        ("runs", whole(|row| row.runs)),
        ("mean", real(|row| Some(row.estimate?.mean))),
        ("half_width", real(Row::half_width)),
        ("min", real(|row| Some(row.estimate?.min))),
        ("max", real(|row| Some(row.estimate?.max))),
        ("failed", whole(|row| row.failed)),
    ];
    columns.extend(measured.map(|(name, column)| (name.to_string(), column)));
    columns
}

impl Column {
    /// The narrowest type that all values have.
    fn of(values: Vec<&Value>) -> Self {
        let given = || values.iter().filter(|value| !value.is_null());
        if given().all(|value| value.is_i64()) {
            Column::Whole(values.iter().map(|value| value.as_i64()).collect())
        } else if given().all(|value| value.is_number()) {
            Column::Real(values.iter().map(|value| value.as_f64()).collect())
        } else {
            let text = |value: &&Value| (!value.is_null()).then(|| shown(value));
            Column::Text(values.iter().map(text).collect())
        }
    }

    fn field(&self, name: &str) -> Result<Arc<Type>> {
        let (physical, converted) = match self {
            Column::Whole(_) => (Physical::INT64, ConvertedType::NONE),
            Column::Real(_) => (Physical::DOUBLE, ConvertedType::NONE),
            Column::Text(_) => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
        };
        let field = Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_converted_type(converted);
        Ok(Arc::new(field.build()?))
    }

    fn write<W: Write + Send>(&self, rows: &mut SerializedRowGroupWriter<'_, W>) -> Result<()> {
        match self {
            Column::Whole(values) => write::<Int64Type, W>(rows, values),
            Column::Real(values) => write::<DoubleType, W>(rows, values),
            Column::Text(values) => {
                let bytes = |text: &String| ByteArray::from(text.as_str());
                let values: Vec<_> = values.iter().map(|text| text.as_ref().map(bytes)).collect();
                write::<ByteArrayType, W>(rows, &values)
            }
        }
    }
}

fn write<T: DataType, W: Write + Send>(
    rows: &mut SerializedRowGroupWriter<'_, W>,
    values: &[Option<T::T>],
) -> Result<()> {
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let present: Vec<T::T> = values.iter().flatten().cloned().collect();
    if let Some(mut column) = rows.next_column()? {
        column.typed::<T>().write_batch(&present, Some(&levels), None)?;
        column.close()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use parquet::record::Field;

    use super::*;
    use crate::ask::sweep::{Measured, Outcome};

    #[test]
    fn what_is_written_is_read_back() {
        let text = "algorithm = [\"lamport\", \"raymond\"]\nnodes = 3\ntree = \"star\"\nloss = [0, 0.5]\nseeds = 2\n";
        let sweep = Sweep::parse("a.toml", text).unwrap();
        let run = |run: usize| Measured {
            outcome: if run == 1 { Outcome::Stalled } else { Outcome::Fine },
            figures: vec![("throughput", run as f64 / 3.0)],
        };
        let runs: Vec<Measured> = (0..sweep.runs()).map(run).collect();
        let table = Table::new(&sweep, &runs).unwrap();
        let mut file = Vec::new();
        parquet(&sweep, &table, &mut file).unwrap();
        let mut again = Vec::new();
        parquet(&sweep, &table, &mut again).unwrap();
        assert_eq!(file, again);
        let reader = SerializedFileReader::new(bytes::Bytes::from(file)).unwrap();
        let found: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert_eq!(found.len(), table.rows.len());
        for (found, row) in found.iter().zip(&table.rows) {
            let found: Vec<(&str, &Field)> =
                found.get_column_iter().map(|(name, value)| (name.as_str(), value)).collect();
            let get = |name: &str| found.iter().find(|it| it.0 == name).unwrap().1.clone();
            let real = |value: Option<f64>| value.map_or(Field::Null, Field::Double);
            assert_eq!(get("point"), Field::Long(row.point as i64));
            assert_eq!(get("nodes"), Field::Long(3));
            assert_eq!(get("figure"), Field::Str(row.figure.into()));
            assert_eq!(get("mean"), real(row.estimate.map(|it| it.mean)));
            assert_eq!(get("half_width"), real(row.half_width()));
            assert_eq!(get("failed"), Field::Long(i64::from(row.point == 0)));
            let is_raymond = row.point >= 2;
            assert_eq!(get("tree") == Field::Null, !is_raymond);
            assert_eq!(get("loss"), Field::Double([0.0, 0.5][row.point % 2]));
        }
    }
}
