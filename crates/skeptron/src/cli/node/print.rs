//! `--print-config`: the settings as a file that could be read again, each with where it is from.

use std::io::Write;

use anyhow::Result;

use super::fields::{self, Field, Kind, Raw};
use super::roles::{self, RoleSetting};
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
    settings.prefixes.iter().try_for_each(|prefix| print_prefix(prefix, out))?;
    settings.roles.iter().try_for_each(|role| print_role(role, out))
}

fn print_role(role: &RoleSetting, out: &mut impl Write) -> Result<()> {
    writeln!(out, "\n{:<44} # {}", "[[api.roles]]", role.origin)?;
    for field in roles::fields() {
        if let Some(raw) = role.values.get(field.key) {
            match field.kind {
                Kind::Secret => writeln!(out, "# {} = ***", field.key)?,
                kind => writeln!(out, "{} = {}", field.key, value(raw, kind))?,
            }
        }
    }
    Ok(())
}

fn line(settings: &Settings, field: &Field, name: &str) -> (String, String) {
    let Some(setting) = settings.setting(field.key) else {
        return (format!("# {name} ="), "not set".to_string());
    };
    if field.kind == Kind::Secret {
        return (format!("# {name} = ***"), setting.origin.to_string());
    }
    (format!("{name} = {}", value(&setting.raw, field.kind)), setting.origin.to_string())
}

fn value(raw: &Raw, kind: Kind) -> String {
    match (raw, kind) {
        (Raw::One(text), Kind::Number | Kind::Switch | Kind::Addresses) => text.clone(),
        (Raw::One(text), _) => quoted(text),
        (Raw::Many(texts), _) => {
            format!("[{}]", texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", "))
        }
    }
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
