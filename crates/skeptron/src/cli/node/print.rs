//! `--print-config`: the settings as a file that could be read again, each with where it is from.

use std::io::Write;

use anyhow::Result;
use figment::value::Value;

use super::fields::{Field, Settings, Table as _};
use super::settings::{Loaded, listed};

/// Writes all settings.
pub(super) fn print(loaded: &Loaded, out: &mut impl Write) -> Result<()> {
    let mut fields = Settings::fields();
    // TOML wants those without a table first. The sort keeps the order otherwise.
    fields.sort_by_key(|field| field.key.split_once('.').map_or("", |(table, _)| table));
    let mut current = "";
    for field in &fields {
        let (table, name) = field.key.split_once('.').unwrap_or(("", field.key));
        if table != current {
            writeln!(out, "\n[{table}]")?;
            current = table;
        }
        let value = loaded.value(field.key);
        let origin = if value.is_some() { loaded.origin(field.key) } else { "not set" };
        writeln!(out, "{:<44} # {origin}", line(field, name, value.as_ref())?)?;
    }
    let lists = Settings::lists();
    lists.iter().try_for_each(|(list, fields)| print_list(loaded, list, fields, out))
}

fn print_list(loaded: &Loaded, list: &str, fields: &[Field], out: &mut impl Write) -> Result<()> {
    let tables = (0..).map(|place| listed(list, place));
    for table in tables.take_while(|table| loaded.value(table).is_some()) {
        writeln!(out, "\n{:<44} # {}", format!("[[{list}]]"), loaded.origin(&table))?;
        for field in fields {
            let name = field.key.rsplit('.').next().unwrap_or(field.key);
            if let Some(value) = loaded.value(&format!("{table}.{name}")) {
                writeln!(out, "{}", line(field, name, Some(&value))?)?;
            }
        }
    }
    Ok(())
}

fn line(field: &Field, name: &str, value: Option<&Value>) -> Result<String> {
    Ok(match value {
        None => format!("# {name} ="),
        Some(_) if field.is_secret => format!("# {name} = ***"),
        Some(value) => format!("{name} = {}", toml::Value::try_from(value)?),
    })
}
