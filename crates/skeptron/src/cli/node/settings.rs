//! The settings of a node, and who said so: defaults, then a file, then the environment, then options. figment
//! keeps where each value is from.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use figment::value::{Dict, Empty, Map, Value};
use figment::{Figment, Metadata, Profile, Provider, Source};

use super::fields::{Field, Settings, Table as _};
use super::{file, mistakes};

/// The settings, and where they are from.
#[derive(Clone, Debug)]
pub(super) struct Loaded {
    pub(super) settings: Settings,
    layers: Figment,
    /// The folder of the file, beside which the files lie that it names.
    folder: PathBuf,
}

/// One value that somebody gave. Each is a layer of its own, since figment keeps one origin for each layer.
#[derive(Clone, Debug)]
pub(super) struct Given {
    key: String,
    value: Value,
    origin: Metadata,
}

/// The origin of values that nobody gave.
const DEFAULT: &str = "default";

/// The variable with `PREFIX=ALGORITHM,…` that replaces all those of the file.
pub(super) const PREFIX_VARIABLE: &str = "SKEPTRON_PREFIX";

impl Given {
    /// By a line of a file.
    pub(super) fn in_file(key: &str, value: Value, path: &Path, line: usize) -> Self {
        let name = format!("{}: line {line}", path.display());
        Given { key: key.to_string(), value, origin: Metadata::from(name, path) }
    }

    /// By an option on the command line, or a variable of the environment.
    pub(super) fn by(name: impl Into<String>, key: &str, value: impl Into<Value>) -> Self {
        let (key, value) = (key.to_string(), value.into());
        Given { key, value, origin: Metadata::named(name.into()) }
    }

    fn by_default(field: &Field) -> Self {
        let value = field.default.clone().unwrap_or(Empty::None.into());
        Given::by(DEFAULT, field.key, value)
    }
}

impl Provider for Given {
    fn metadata(&self) -> Metadata {
        self.origin.clone()
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        let nested = figment::util::nest(&self.key, self.value.clone());
        Ok(Profile::Default.collect(nested.into_dict().unwrap_or_default()))
    }
}

/// The later ones override the earlier ones. A merge takes time with what is merged, so it is done by halves.
fn layered(given: &[Given]) -> Figment {
    match given {
        [] => Figment::new(),
        [one] => Figment::from(one),
        _ => {
            let (earlier, later) = given.split_at(given.len() / 2);
            layered(earlier).merge(layered(later))
        }
    }
}

/// The key of the table at this place of a list.
pub(super) fn listed(list: &str, place: usize) -> String {
    format!("{list}.{place:06}")
}

/// Where a value is from, for an error.
pub(super) fn place(origin: Option<&Metadata>, key: &str) -> String {
    match origin {
        Some(Metadata { name, source: Some(Source::File(_)), .. }) => format!("{name}: {key}"),
        Some(Metadata { name, .. }) if name != DEFAULT => name.to_string(),
        _ => key.to_string(),
    }
}

impl Loaded {
    /// From a file, if there is one, the environment and options.
    ///
    /// # Errors
    /// With the line or the variable, and what was probably meant.
    pub(super) fn load(
        path: Option<&Path>,
        variable: impl Fn(&str) -> Option<String>,
        options: &[Given],
    ) -> Result<Self> {
        // An empty variable is none.
        let variable = |name: &str| variable(name).filter(|text| !text.is_empty());
        mistakes::former_variable(variable)?;
        let fields = Settings::fields();
        let mut given: Vec<Given> = fields.iter().map(Given::by_default).collect();
        if let Some(path) = path {
            given.extend(file::read(path)?);
        }
        given.extend(fields.iter().filter_map(|field| {
            let text = variable(&field.variable())?;
            Some(Given::by(field.variable(), field.key, field.of_variable(&text)))
        }));
        if let Some(text) = variable(PREFIX_VARIABLE) {
            given.retain(|given| !given.key.starts_with("prefix."));
            for (place, text) in text.split(',').enumerate() {
                given.extend(prefix(&listed("prefix", place), text.trim())?);
            }
        }
        given.extend_from_slice(options);
        let layers = layered(&given);
        let settings = layers.extract().map_err(mistakes::explained)?;
        let folder = path.and_then(Path::parent).map(Path::to_path_buf).unwrap_or_default();
        Ok(Loaded { settings, layers, folder })
    }

    /// A value as it was given, unless nobody gave any.
    pub(super) fn value(&self, key: &str) -> Option<Value> {
        self.layers.find_value(key).ok().filter(|value| value.to_empty().is_none())
    }

    /// Who said so.
    pub(super) fn origin(&self, key: &str) -> &str {
        self.layers.find_metadata(key).map_or(DEFAULT, |origin| &origin.name)
    }

    /// Where a value is from, for an error.
    pub(super) fn place(&self, key: &str) -> String {
        place(self.layers.find_metadata(key), key)
    }

    /// A file that is named: beside the file of settings, unless its path is absolute.
    pub(super) fn path(&self, name: &Option<String>) -> Option<PathBuf> {
        name.as_ref().map(|name| self.folder.join(name))
    }

    /// What is in a file that is named, as text without the last line's end.
    pub(super) fn read(&self, key: &str, name: &Option<String>) -> Result<Option<String>> {
        let read = name.as_ref().map(|name| self.read_beside(name)).transpose();
        read.with_context(|| self.place(key))
    }

    /// The same of a file that no setting of its own names.
    pub(super) fn read_beside(&self, name: &str) -> Result<String> {
        let path = self.folder.join(name);
        let text = file::text(&path)?;
        let text = text.trim_end_matches(['\r', '\n']).to_string();
        ensure!(!text.is_empty(), "{} is empty", path.display());
        Ok(text)
    }
}

fn prefix(key: &str, text: &str) -> Result<[Given; 2]> {
    let Some((prefix, algorithm)) = text.rsplit_once('=') else {
        bail!(
            "{PREFIX_VARIABLE}: `{text}` is no prefix with its algorithm; write it as in orders/=raymond"
        )
    };
    let by_variable = |name, value| Given::by(PREFIX_VARIABLE, &format!("{key}.{name}"), value);
    Ok([by_variable("prefix", prefix), by_variable("algorithm", algorithm)])
}
