//! The file of settings: TOML, with an eye for lines.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::ops::Range;
use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use toml::de::{DeTable, DeValue};

use super::super::names;
use super::fields::{self, Field, Kind, Raw};
use super::roles::{self, RoleSetting};
use super::settings::{Origin, Prefix, Setting};

/// Where roles stand.
const ROLES: &str = "api.roles";

/// What a file says.
#[derive(Debug, Default)]
pub(super) struct Read {
    /// The settings that it has.
    pub(super) values: BTreeMap<&'static str, Setting>,
    /// Its `[[prefix]]` tables.
    pub(super) prefixes: Vec<Prefix>,
    /// Its `[[api.roles]]` tables.
    pub(super) roles: Vec<RoleSetting>,
}

/// No file of settings is larger than this, in bytes.
const MOST_BYTES: u64 = 1 << 20;

/// A text file that is not too large to be meant.
pub(super) fn text(path: &Path) -> Result<String> {
    let shown = path.display();
    let mut text = String::new();
    let file = File::open(path).with_context(|| shown.to_string())?;
    file.take(MOST_BYTES + 1).read_to_string(&mut text).with_context(|| shown.to_string())?;
    ensure!(text.len() as u64 <= MOST_BYTES, "{shown}: it is larger than {MOST_BYTES} bytes");
    Ok(text)
}

/// Reads the settings of a file.
pub(super) fn read(path: &Path, fields: &[Field]) -> Result<Read> {
    let text = text(path)?;
    let mut reader =
        Reader { path: path.display().to_string(), text: &text, fields, read: Read::default() };
    let table = DeTable::parse(&text).map_err(|error| {
        let line = error.span().map_or(1, |span| reader.line(&span));
        anyhow!("{}: line {line}: {}", reader.path, error.message().replace('\n', "; "))
    })?;
    reader.table("", table.get_ref())?;
    Ok(reader.read)
}

struct Reader<'a> {
    path: String,
    text: &'a str,
    fields: &'a [Field],
    read: Read,
}

impl Reader<'_> {
    fn line(&self, span: &Range<usize>) -> usize {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        before.matches('\n').count() + 1
    }

    fn origin(&self, span: &Range<usize>) -> Origin {
        Origin::File { path: self.path.clone(), line: self.line(span) }
    }

    /// The table whose keys all begin with `outer`, which is empty or ends with a dot.
    fn table(&mut self, outer: &str, table: &DeTable<'_>) -> Result<()> {
        for (name, value) in table {
            let key = format!("{outer}{}", name.get_ref());
            let origin = self.origin(&name.span());
            let known = self.fields.iter().find(|field| field.key == key);
            match (known, value.get_ref()) {
                (Some(field), value) => {
                    let raw = raw(field, value).with_context(|| format!("{origin}: {key}"))?;
                    self.read.values.insert(field.key, Setting { raw, origin });
                }
                (None, DeValue::Table(inner)) if self.is_table(&key) => {
                    self.table(&format!("{key}."), inner)?;
                }
                (None, DeValue::Array(tables)) if key == "prefix" => {
                    for table in tables {
                        let origin = self.origin(&table.span());
                        let prefix = self.prefix(table.get_ref(), &origin)?;
                        self.read.prefixes.push(prefix);
                    }
                }
                (None, DeValue::Array(tables)) if key == ROLES => {
                    for table in tables {
                        let origin = self.origin(&table.span());
                        let role = self.role(table.get_ref(), origin)?;
                        self.read.roles.push(role);
                    }
                }
                (None, _) if key == ROLES => {
                    bail!("{origin}: `{key}` is a table; write [[{key}]] and its keys below")
                }
                (None, _) if key == "prefix" || self.is_table(&key) => {
                    let brackets = if key == "prefix" { "[[prefix]]" } else { &format!("[{key}]") };
                    bail!("{origin}: `{key}` is a table; write {brackets} and its keys below")
                }
                (None, _) => match fields::former(&key) {
                    Some(instead) => bail!("{origin}: {key}: {instead}"),
                    None => bail!("{origin}: there is no setting `{key}`{}", self.near(&key)),
                },
            }
        }
        Ok(())
    }

    fn is_table(&self, key: &str) -> bool {
        self.fields.iter().any(|field| field.key.split_once('.').is_some_and(|(t, _)| t == key))
    }

    /// What was probably meant. Somebody may have forgotten the table, or the key is fine but misspelt.
    fn near(&self, key: &str) -> String {
        let last = |known: &str| known.rsplit('.').next() == Some(key);
        match self.fields.iter().find(|field| last(field.key)) {
            Some(field) => format!("; did you mean `{}`?", field.key),
            None => names::did_you_mean(key, self.fields.iter().map(|field| field.key)),
        }
    }

    fn role(&self, value: &DeValue<'_>, origin: Origin) -> Result<RoleSetting> {
        let DeValue::Table(table) = value else {
            bail!("{origin}: a role is a table; write [[{ROLES}]] and its keys below")
        };
        let (fields, mut values) = (roles::fields(), BTreeMap::new());
        for (name, value) in table {
            let (key, at) = (name.get_ref(), self.origin(&name.span()));
            let keys = fields.iter().map(|field| field.key);
            let Some(field) = fields.iter().find(|field| field.key == &**key) else {
                let hint = names::did_you_mean(key, keys.clone());
                let keys: Vec<&str> = keys.collect();
                bail!("{at}: a [[{ROLES}]] has no `{key}`, only {}{hint}", keys.join(", "))
            };
            let raw = raw(field, value.get_ref()).with_context(|| format!("{at}: {key}"))?;
            values.insert(field.key, raw);
        }
        Ok(RoleSetting { values, origin })
    }

    fn prefix(&self, value: &DeValue<'_>, origin: &Origin) -> Result<Prefix> {
        let DeValue::Table(table) = value else {
            bail!("{origin}: a prefix is a table; write [[prefix]] and its keys below")
        };
        let mut values = BTreeMap::new();
        for (name, value) in table {
            let (key, at) = (name.get_ref(), self.origin(&name.span()));
            let Some(known) = Prefix::KEYS.into_iter().find(|known| known == key) else {
                if let Some(instead) = fields::former(key) {
                    bail!("{at}: {key}: {instead}");
                }
                let hint = names::did_you_mean(key, Prefix::KEYS.into_iter());
                bail!("{at}: a [[prefix]] has no `{key}`, only {}{hint}", Prefix::KEYS.join(", "))
            };
            let DeValue::String(text) = value.get_ref() else {
                bail!("{at}: {key} must be a text in quotes, not {}", kind(value.get_ref()))
            };
            values.insert(known, text.to_string());
        }
        for needed in ["prefix", "algorithm"] {
            ensure!(values.contains_key(needed), "{origin}: this [[prefix]] lacks its `{needed}`");
        }
        Ok(Prefix { values, origin: origin.clone() })
    }
}

/// The value as text, if it is of the kind that the field takes.
fn raw(field: &Field, value: &DeValue<'_>) -> Result<Raw> {
    let wanted = match (field.kind, value) {
        (Kind::Number, DeValue::Integer(number)) => return Ok(Raw::One(number.to_string())),
        (Kind::Switch | Kind::Addresses, DeValue::Boolean(switch)) => {
            return Ok(Raw::One(switch.to_string()));
        }
        (Kind::Text | Kind::Secret | Kind::Time, DeValue::String(text)) => {
            return Ok(Raw::One(text.to_string()));
        }
        (Kind::List | Kind::Addresses, DeValue::Array(values)) => {
            let texts = values.iter().map(|value| match value.get_ref() {
                DeValue::String(text) => Ok(text.to_string()),
                other => bail!("it must be a list of texts in quotes, not of {}", kind(other)),
            });
            return Ok(Raw::Many(texts.collect::<Result<_>>()?));
        }
        (Kind::Number, _) => "a whole number",
        (Kind::Switch, _) => "true or false",
        (Kind::Addresses, _) => "true, false, or a list as in [\"127.0.0.1:2379\"]",
        (Kind::Text | Kind::Secret, _) => "a text in quotes",
        (Kind::Time, _) => "a duration in quotes, as in \"500ms\" or \"5s\"",
        (Kind::List, _) => "a list, as in [\"10.0.0.1:7570\", \"10.0.0.2:7570\"]",
    };
    bail!("it must be {wanted}, not {}", kind(value))
}

/// What a value is, in words.
fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a point",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
