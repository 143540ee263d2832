//! What the settings of a node are, and who said so: a file, then the environment, then options.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail, ensure};

use super::super::{duration, names};
use super::fields::{self, Field, Kind, Raw};
use super::file;
use super::roles::RoleSetting;

/// All settings of a node.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    /// Of each field that has a value.
    values: BTreeMap<&'static str, Setting>,
    /// The plans for prefixes of lock names, in order.
    pub(super) prefixes: Vec<Prefix>,
    /// Who may do what, in order.
    pub(super) roles: Vec<RoleSetting>,
    /// The folder of the file, beside which the files lie that it names.
    folder: PathBuf,
}

/// One value and who said so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    /// What was written.
    pub(super) raw: Raw,
    /// Where.
    pub(super) origin: Origin,
}

/// Where a value is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// Nobody said anything.
    Default,
    /// A line of the file.
    File {
        /// Which file.
        path: String,
        /// Which line, from 1.
        line: usize,
    },
    /// A variable of the environment.
    Environment(String),
    /// An option on the command line.
    Option(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => write!(f, "default"),
            Origin::File { path, line } => write!(f, "{path}: line {line}"),
            Origin::Environment(variable) => write!(f, "{variable}"),
            Origin::Option(option) => write!(f, "{option}"),
        }
    }
}

/// The algorithm for locks whose names begin in one way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Prefix {
    /// What a `[[prefix]]` says, by key.
    pub(super) values: BTreeMap<&'static str, String>,
    /// Where.
    pub(super) origin: Origin,
}

impl Prefix {
    /// The keys of a `[[prefix]]`.
    pub(super) const KEYS: [&str; 2] = ["prefix", "algorithm"];

    /// The variable with `PREFIX=ALGORITHM,…` that replaces all those of the file.
    pub(super) const VARIABLE: &str = "SKEPTRON_PREFIX";

    fn from_variable(text: &str) -> Result<Self> {
        let origin = Origin::Environment(Self::VARIABLE.to_string());
        let Some((prefix, algorithm)) = text.trim().rsplit_once('=') else {
            bail!(
                "{origin}: `{text}` is no prefix with its algorithm; write it as in orders/=raymond"
            )
        };
        let values = [("prefix", prefix), ("algorithm", algorithm)];
        let values = values.map(|(key, value)| (key, value.to_string())).into();
        Ok(Prefix { values, origin })
    }
}

/// What an option on the command line says: the setting, the option, the value.
pub(super) type Given = (&'static str, &'static str, Raw);

/// The variable of a setting that there is no more, on which whole clusters were built.
const MEMBERS: &str = "SKEPTRON_MEMBERS";

/// Variables that other commands read, or that `skeptron lock` sets.
const OTHER_VARIABLES: [&str; 6] = [
    "SKEPTRON_ENDPOINT",
    "SKEPTRON_TOKEN",
    "SKEPTRON_TLS",
    "SKEPTRON_PROTOCOL",
    "SKEPTRON_LOCK",
    "SKEPTRON_FENCE",
];

/// What is to be said of variables that look like settings and are none.
pub(super) fn misspelt(variables: impl Iterator<Item = String>) -> Vec<String> {
    let fields = fields::all();
    let is_known = |name: &str| {
        name == Prefix::VARIABLE
            || OTHER_VARIABLES.contains(&name)
            || fields.iter().any(|field| field.variable() == name)
    };
    let say = |name: String| {
        let key = name.strip_prefix("SKEPTRON_").filter(|_| !is_known(&name))?;
        let hint = names::did_you_mean(key, fields.iter().map(|field| field.key));
        Some(format!("{name} is no setting of a node{hint}"))
    };
    variables.filter_map(say).collect()
}

impl Settings {
    /// From a file, if there is one, the environment and options.
    ///
    /// # Errors
    /// With the line, and what was probably meant.
    pub(super) fn load(
        path: Option<&Path>,
        variable: impl Fn(&str) -> Option<String>,
        options: &[Given],
    ) -> Result<Self> {
        let fields = fields::all();
        let defaults = fields.iter().filter_map(|field| {
            let raw = field.default.clone()?;
            Some((field.key, Setting { raw, origin: Origin::Default }))
        });
        let mut settings = Settings {
            values: defaults.collect(),
            prefixes: Vec::new(),
            roles: Vec::new(),
            folder: path.and_then(Path::parent).map(Path::to_path_buf).unwrap_or_default(),
        };
        if let Some(path) = path {
            let read = file::read(path, &fields)?;
            settings.values.extend(read.values);
            settings.prefixes = read.prefixes;
            settings.roles = read.roles;
        }
        settings.override_by(&fields, variable)?;
        for (key, option, raw) in options {
            let (raw, origin) = (raw.clone(), Origin::Option(option));
            settings.values.insert(key, Setting { raw, origin });
        }
        fields.iter().try_for_each(|field| settings.check(field))?;
        Ok(settings)
    }

    /// An empty variable is none.
    fn override_by(
        &mut self,
        fields: &[Field],
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<()> {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        if let Some(instead) = fields::former("members").filter(|_| variable(MEMBERS).is_some()) {
            bail!("{MEMBERS}: {instead}");
        }
        for field in fields {
            let name = field.variable();
            if let Some(value) = variable(&name) {
                let is_switch = matches!(value.as_str(), "true" | "false");
                let raw = match field.kind {
                    Kind::Addresses if is_switch => Raw::One(value),
                    Kind::List | Kind::Addresses => {
                        Raw::Many(value.split(',').map(|part| part.trim().to_string()).collect())
                    }
                    _ => Raw::One(value),
                };
                self.values.insert(field.key, Setting { raw, origin: Origin::Environment(name) });
            }
        }
        if let Some(value) = variable(Prefix::VARIABLE) {
            self.prefixes = value.split(',').map(Prefix::from_variable).collect::<Result<_>>()?;
        }
        Ok(())
    }

    /// Whatever is of the wrong kind is found before anything is done with it.
    fn check(&self, field: &Field) -> Result<()> {
        match field.kind {
            _ if self.setting(field.key).is_none() => Ok(()),
            Kind::Number => self.number::<u64>(field.key).map(drop),
            Kind::Time => self.time(field.key).map(drop),
            Kind::Switch => self.switch(field.key).map(drop),
            Kind::Text | Kind::Secret | Kind::List | Kind::Addresses => Ok(()),
        }
    }

    /// The value and where it is from.
    pub(super) fn setting(&self, key: &str) -> Option<&Setting> {
        self.values.get(key)
    }

    /// Where a value is from, for an error.
    pub(super) fn place(&self, key: &str) -> String {
        match self.setting(key).map(|setting| &setting.origin) {
            None | Some(Origin::Default) => key.to_string(),
            Some(origin @ Origin::File { .. }) => format!("{origin}: {key}"),
            Some(origin) => origin.to_string(),
        }
    }

    /// A text, if there is one.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        match &self.setting(key)?.raw {
            Raw::One(text) => Some(text),
            Raw::Many(_) => None,
        }
    }

    /// The texts of a list.
    pub(super) fn list(&self, key: &str) -> Vec<String> {
        match self.setting(key).map(|setting| &setting.raw) {
            Some(Raw::Many(texts)) => texts.clone(),
            Some(Raw::One(text)) => vec![text.clone()],
            None => Vec::new(),
        }
    }

    /// The texts, if anybody said which: none is not an empty list.
    pub(super) fn given_list(&self, key: &str) -> Option<Vec<String>> {
        self.setting(key).map(|_| self.list(key))
    }

    /// A whole number; every such field has a default.
    pub(super) fn number<T: TryFrom<u64>>(&self, key: &str) -> Result<T> {
        let text = self.text(key).unwrap_or_default();
        let number = names::whole::<u64>(text)
            .map_err(|why| anyhow!("`{text}`: {why}"))
            .and_then(|number| T::try_from(number).map_err(|_| anyhow!("{text} is too large")));
        number.with_context(|| self.place(key))
    }

    /// A duration; every such field has a default.
    pub(super) fn time(&self, key: &str) -> Result<Duration> {
        let text = self.text(key).unwrap_or_default();
        duration::parse(text)
            .map_err(|why| anyhow!("`{text}` is no duration: {why}"))
            .with_context(|| self.place(key))
    }

    /// True or false; every such field has a default.
    pub(super) fn switch(&self, key: &str) -> Result<bool> {
        match self.text(key) {
            Some("true") => Ok(true),
            Some("false") => Ok(false),
            other => bail!(
                "{}: `{}` is neither true nor false",
                self.place(key),
                other.unwrap_or_default()
            ),
        }
    }

    /// Addresses, where true stands for the usual one.
    pub(super) fn addresses(&self, key: &str, usual: &str) -> Vec<String> {
        match self.text(key) {
            None => self.list(key),
            Some("true") => vec![usual.to_string()],
            Some(_) => Vec::new(),
        }
    }

    /// One of a few words; every such field has a default.
    pub(super) fn word<T: Copy, const N: usize>(
        &self,
        key: &str,
        known: [(&'static str, T); N],
    ) -> Result<T> {
        let text = self.text(key).unwrap_or_default();
        let words = known.map(|(word, _)| word);
        known.iter().find(|(word, _)| *word == text).map(|(_, value)| *value).ok_or_else(|| {
            let hint = names::did_you_mean(text, words.into_iter());
            anyhow!("{}: `{text}` is none of {}{hint}", self.place(key), words.join(", "))
        })
    }

    /// A file that is named: beside the file of settings, unless its path is absolute.
    pub(super) fn path(&self, key: &str) -> Option<PathBuf> {
        self.text(key).map(|path| self.folder.join(path))
    }

    /// A file's first kilobytes, as text without the last line's end.
    pub(super) fn read(&self, key: &str) -> Result<Option<String>> {
        let Some(name) = self.text(key) else { return Ok(None) };
        self.read_beside(name).with_context(|| self.place(key)).map(Some)
    }

    /// The same of a file beside the file of settings.
    pub(super) fn read_beside(&self, name: &str) -> Result<String> {
        let path = self.folder.join(name);
        let text = file::text(&path)?;
        let text = text.trim_end_matches(['\r', '\n']).to_string();
        ensure!(!text.is_empty(), "{} is empty", path.display());
        Ok(text)
    }
}
