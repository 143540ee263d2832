//! The file of settings: TOML, with an eye for lines.

use std::fs::File;
use std::io::Read as _;
use std::ops::Range;
use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use figment::value::{Dict, Value};
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::fields::{Settings, Table as _};
use super::settings::{Given, listed};

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

/// Reads all values of a file.
pub(super) fn read(path: &Path) -> Result<Vec<Given>> {
    let text = text(path)?;
    let keys = Settings::fields().iter().map(|field| field.key).collect();
    let lists = Settings::lists().iter().map(|(list, _)| *list).collect();
    let mut reader = Reader { path, text: &text, keys, lists, given: Vec::new() };
    let table = DeTable::parse(&text).map_err(|error| reader.malformed(&error))?;
    reader.table("", table.get_ref())?;
    Ok(reader.given)
}

struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
    keys: Vec<&'static str>,
    lists: Vec<&'static str>,
    given: Vec<Given>,
}

impl Reader<'_> {
    fn line(&self, span: &Range<usize>) -> usize {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        before.matches('\n').count() + 1
    }

    fn malformed(&self, error: &toml::de::Error) -> anyhow::Error {
        let line = error.span().map_or(1, |span| self.line(&span));
        let why = error.message().replace('\n', "; ");
        anyhow!("{}: line {line}: {why}", self.path.display())
    }

    /// The table whose keys all begin with `outer`, which is empty or ends with a dot.
    fn table(&mut self, outer: &str, table: &DeTable<'_>) -> Result<()> {
        for (name, value) in table {
            self.value(&format!("{outer}{}", name.get_ref()), &name.span(), value)?;
        }
        Ok(())
    }

    fn value(&mut self, key: &str, at: &Range<usize>, value: &Spanned<DeValue<'_>>) -> Result<()> {
        let is_list = self.lists.contains(&key);
        let within = format!("{key}.");
        let is_table = self.keys.iter().any(|known| known.starts_with(&within));
        match value.get_ref() {
            DeValue::Array(tables)
                if is_list && tables.iter().all(|it| it.get_ref().is_table()) =>
            {
                for (place, table) in tables.iter().enumerate() {
                    self.value(&listed(key, place), &table.span(), table)?;
                }
            }
            DeValue::Table(table) if !is_list => {
                self.table(&within, table)?;
                // The last layer that has something to say of a table is its origin.
                self.give(key, at, Dict::new().into());
            }
            _ if is_list || is_table => {
                let brackets = if is_list { format!("[[{key}]]") } else { format!("[{key}]") };
                let (path, line) = (self.path.display(), self.line(at));
                bail!(
                    "{path}: line {line}: `{key}` is a table; write {brackets} and its keys below"
                )
            }
            _ => {
                let read = Deserialize::deserialize(ValueDeserializer::from(value.clone()));
                let value = read.map_err(|error| self.malformed(&error))?;
                self.give(key, at, value);
            }
        }
        Ok(())
    }

    fn give(&mut self, key: &str, at: &Range<usize>, value: Value) {
        let line = self.line(at);
        self.given.push(Given::in_file(key, value, self.path, line));
    }
}
