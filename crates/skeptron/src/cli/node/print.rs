//! `--print-config`: the settings as a file that could be read again, each with where it is from.

use std::io::Write;

use anyhow::Result;

use super::fields::{self, Field, Kind, Raw};
use super::settings::{Prefix, Settings};

/// Writes all settings.
pub(super) fn print(settings: &Settings, out: &mut impl Write) -> Result<()> {
    let mut fields = fields::all();
    // TOML wants those without a table first. The sort keeps the order otherwise.
    fields.sort_by_key(|field| field.key.split_once('.').map_or("", |(table, _)| table));
    let mut current = "";
    for field in &fields {
        let (table, name) = field.key.split_once('.').unwrap_or(("", field.key));
        if table != current {
            writeln!(out, "\n[{table}]")?;
            current = table;
        }
        let (line, origin) = line(settings, field, name);
        writeln!(out, "{line:<44} # {origin}")?;
    }
    settings.prefixes.iter().try_for_each(|prefix| print_prefix(prefix, out))
}

fn line(settings: &Settings, field: &Field, name: &str) -> (String, String) {
    let Some(setting) = settings.setting(field.key) else {
        return (format!("# {name} ="), "not set".to_string());
    };
    let value = match (&setting.raw, field.kind) {
        (_, Kind::Secret) => return (format!("# {name} = ***"), setting.origin.to_string()),
        (Raw::One(text), Kind::Number | Kind::Switch) => text.clone(),
        (Raw::One(text), _) => quoted(text),
        (Raw::Many(texts), _) => {
            format!("[{}]", texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", "))
        }
    };
    (format!("{name} = {value}"), setting.origin.to_string())
}

fn print_prefix(prefix: &Prefix, out: &mut impl Write) -> Result<()> {
    writeln!(out, "\n{:<44} # {}", "[[prefix]]", prefix.origin)?;
    for (key, value) in &prefix.values {
        writeln!(out, "{key} = {}", quoted(value))?;
    }
    Ok(())
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_string()).to_string()
}
