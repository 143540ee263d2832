//! The file of a sweep: TOML, with an eye for lines.

use std::collections::BTreeSet;
use std::ops::{Range, RangeInclusive};

use anyhow::{Result, anyhow, bail, ensure};
use clap::{Arg, ArgAction};
use serde_json::Value;
use skeptron_core::catalogue;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::super::{SimOptions, command, names};
use super::{Point, Sweep, measure};

/// The finished runs are kept in memory.
const MOST_RUNS: usize = 10_000_000;

/// What a file can say besides options.
const SEEDS: &str = "seeds";
const IMPOSSIBLE: &str = "impossible";
const GRID: &str = "grid";

/// An option with all that it is to be, in the order of the file.
#[derive(Clone)]
struct Axis {
    /// The place of the option on the command line.
    option: usize,
    line: usize,
    settings: Vec<Setting>,
}

/// One of the things that an option is to be.
#[derive(Clone)]
struct Setting {
    /// As it is typed.
    words: Vec<String>,
    line: usize,
    /// As the question has it; it is known once the words were parsed.
    value: Value,
}

pub(super) fn parse(name: &str, text: &str) -> Result<Sweep> {
    let options = command::options::<SimOptions>();
    let reader = Reader { name, text, options: &options };
    let table = DeTable::parse(text).map_err(|error| reader.malformed(&error))?;
    let mut seeds = 1..=1;
    let mut skips_impossible = false;
    let mut shared = Vec::new();
    let mut grids = None;
    for (key, value) in table.get_ref() {
        match &**key.get_ref() {
            SEEDS => seeds = reader.seeds(value)?,
            IMPOSSIBLE => skips_impossible = reader.skips(value)?,
            GRID => grids = Some(reader.grids(value)?),
            _ => shared.push(reader.axis(key, value)?),
        }
    }
    let own = grids.unwrap_or_else(|| vec![(1, Vec::new())]);
    let grids: Vec<Vec<Axis>> = own
        .into_iter()
        .map(|(line, own)| reader.typed(line, &shared, own))
        .collect::<Result<_>>()?;
    reader.swept(&grids, seeds, skips_impossible)
}

struct Reader<'a> {
    name: &'a str,
    text: &'a str,
    options: &'a [Arg],
}

impl Reader<'_> {
    fn line(&self, span: &Range<usize>) -> usize {
        self.text.get(..span.start).unwrap_or(self.text).matches('\n').count() + 1
    }

    fn wrong(&self, line: usize, what: impl std::fmt::Display) -> anyhow::Error {
        anyhow!("{}: line {line}: {what}", self.name)
    }

    fn malformed(&self, error: &toml::de::Error) -> anyhow::Error {
        let line = error.span().map_or(1, |span| self.line(&span));
        self.wrong(line, error.message().replace('\n', "; "))
    }

    /// `20`, which is `"1..20"`.
    fn seeds(&self, value: &Spanned<DeValue<'_>>) -> Result<RangeInclusive<u64>> {
        let line = self.line(&value.span());
        let text = scalar(value.get_ref()).unwrap_or_default();
        let ends = match text.split_once("..") {
            Some((from, to)) => from.parse().ok().zip(to.parse().ok()),
            None => text.parse().ok().map(|to| (1, to)),
        };
        match ends {
            Some((from, to)) if from <= to && to < u64::MAX => Ok(from..=to),
            _ => {
                Err(self
                    .wrong(line, "write seeds = 20, or the first and the last as in \"21..40\""))
            }
        }
    }

    fn skips(&self, value: &Spanned<DeValue<'_>>) -> Result<bool> {
        match value.get_ref().as_str() {
            Some("skip") => Ok(true),
            Some("refuse") => Ok(false),
            _ => {
                let line = self.line(&value.span());
                Err(self.wrong(line, "write impossible = \"skip\" or impossible = \"refuse\""))
            }
        }
    }

    /// The tables `[[grid]]`, each with its line.
    fn grids(&self, value: &Spanned<DeValue<'_>>) -> Result<Vec<(usize, Vec<Axis>)>> {
        let wrong = || {
            let line = self.line(&value.span());
            self.wrong(line, "write [[grid]], and below it the options of that grid")
        };
        let tables = value.get_ref().as_array().filter(|it| !it.is_empty()).ok_or_else(wrong)?;
        let grid = |table: &Spanned<DeValue<'_>>| {
            let options = table.get_ref().as_table().ok_or_else(wrong)?;
            let axes = options.iter().map(|(key, value)| self.axis(key, value));
            Ok((self.line(&table.span()), axes.collect::<Result<_>>()?))
        };
        tables.iter().map(grid).collect()
    }

    fn axis(&self, key: &Spanned<impl AsRef<str>>, value: &Spanned<DeValue<'_>>) -> Result<Axis> {
        let (line, name) = (self.line(&key.span()), key.get_ref().as_ref());
        let names = || self.options.iter().map(|option| option.get_id().as_str());
        let place = names().position(|known| known == name.replace('-', "_") && known != "seed");
        let Some(option) = place else {
            if [SEEDS, IMPOSSIBLE].contains(&name) {
                bail!(
                    self.wrong(
                        line,
                        format!("`{name}` is for all grids; write it above the first")
                    )
                );
            }
            if name == "seed" {
                bail!(self.wrong(line, "write seeds = 20, or seeds = \"3..3\" for one of them"));
            }
            let hint = names::did_you_mean(name, names().chain([SEEDS, IMPOSSIBLE, GRID]));
            let what =
                format!("there is no option `{name}`; `skeptron sim --help` shows them{hint}");
            bail!(self.wrong(line, what));
        };
        let arg = &self.options[option];
        let one = |value: &Spanned<DeValue<'_>>| self.setting(arg, value);
        // Of an option that can be given several times a list in the list is all of one run.
        let settings: Vec<Setting> = match value.get_ref() {
            DeValue::Array(list) if !is_one(arg, list.iter().map(Spanned::get_ref)) => {
                list.iter().map(one).collect::<Result<_>>()?
            }
            _ => vec![one(value)?],
        };
        ensure!(!settings.is_empty(), self.wrong(line, format!("`{name}` is an empty list")));
        let all = settings.iter().any(|setting| setting.words == ["all"]);
        let settings = match arg.is_positional() && all {
            true => catalogue::sound().map(|info| Setting::named(info.name, line)).collect(),
            false => settings,
        };
        Ok(Axis { option, line, settings })
    }

    fn setting(&self, arg: &Arg, value: &Spanned<DeValue<'_>>) -> Result<Setting> {
        let line = self.line(&value.span());
        let wrong = || {
            let what = format!("`{}` takes a text, a number or true and false", arg.get_id());
            self.wrong(line, format!("{what}, or a list of these"))
        };
        let typed = |value: &DeValue<'_>| {
            let text = scalar(value).ok_or_else(wrong)?;
            Ok::<_, anyhow::Error>(match (arg.get_long(), arg.get_action(), text.as_str()) {
                (None, ..) => text,
                (Some(long), ArgAction::SetTrue, "true") => format!("--{long}"),
                (Some(_), ArgAction::SetTrue, "false") => String::new(),
                (Some(long), ..) => format!("--{long}={text}"),
            })
        };
        let mut words = match value.get_ref() {
            DeValue::Array(list) if is_list(arg) => {
                list.iter().map(|value| typed(value.get_ref())).collect::<Result<_>>()?
            }
            value => vec![typed(value)?],
        };
        words.retain(|word| !word.is_empty());
        if arg.is_positional() && words != ["all"] {
            let name = words.first().map_or("", String::as_str);
            names::algorithm(name).map_err(|error| self.wrong(line, error))?;
        }
        Ok(Setting { words, line, value: Value::Null })
    }

    /// The axes of a grid, its own before those that all have, with values as the question has them.
    fn typed(&self, line: usize, shared: &[Axis], own: Vec<Axis>) -> Result<Vec<Axis>> {
        let is_own = |axis: &&Axis| own.iter().any(|own| own.option == axis.option);
        let inherited: Vec<Axis> = shared.iter().filter(|axis| !is_own(axis)).cloned().collect();
        let mut axes: Vec<Axis> = own.into_iter().chain(inherited).collect();
        axes.sort_by_key(|axis| axis.option);
        for (name, example) in [("algorithm", "[\"raymond\", \"maekawa\"]"), ("nodes", "[4, 16]")] {
            let is_it = |axis: &Axis| self.options[axis.option].get_id() == name;
            let what = format!("this grid does not say `{name}`; write {name} = {example}, say");
            ensure!(axes.iter().any(is_it), self.wrong(line, what));
        }
        let usual: Vec<Vec<String>> = axes.iter().map(|it| it.settings[0].words.clone()).collect();
        for (place, axis) in axes.iter_mut().enumerate() {
            let id = self.options[axis.option].get_id().as_str();
            for setting in &mut axis.settings {
                // Together with the others: some options need another one.
                let mut words = usual.clone();
                words[place] = setting.words.clone();
                let asked: SimOptions = command::of_typed(words.concat())
                    .map_err(|what| self.wrong(setting.line, what))?;
                setting.value = command::fields(&asked).remove(id).unwrap_or_default();
            }
        }
        Ok(axes)
    }

    /// All points of all grids.
    fn swept(
        &self,
        grids: &[Vec<Axis>],
        seeds: RangeInclusive<u64>,
        skips_impossible: bool,
    ) -> Result<Sweep> {
        let id = |option: usize| self.options[option].get_id().as_str();
        let present: BTreeSet<usize> = grids.iter().flatten().map(|axis| axis.option).collect();
        let place = |option: usize| present.iter().position(|&it| it == option);
        let mut points: Vec<Point> = Vec::new();
        let mut used: BTreeSet<usize> = BTreeSet::new();
        let most = MOST_RUNS as u64 / (seeds.end() - seeds.start()).saturating_add(1);
        for axes in grids {
            let Some((names, others)) = axes.split_first() else { continue };
            for algorithm in &names.settings {
                let entry = names::algorithm(algorithm.value.as_str().unwrap_or_default())?;
                let takes = |axis: &&Axis| SimOptions::takes(entry, id(axis.option));
                let taken: Vec<&Axis> = others.iter().filter(takes).collect();
                used.extend(taken.iter().map(|axis| axis.line));
                let empty = Point {
                    values: vec![Value::Null; present.len()],
                    lines: vec![0; present.len()],
                };
                let mut product = vec![empty.with(place(names.option), algorithm)];
                for axis in taken {
                    let all = product.len().saturating_mul(axis.settings.len()) as u64;
                    ensure!(
                        all.saturating_add(points.len() as u64) <= most,
                        "{}: there are more than {MOST_RUNS} runs; divide it into several sweeps",
                        self.name
                    );
                    let each = |point: Point| {
                        let at = place(axis.option);
                        axis.settings.iter().map(move |setting| point.with(at, setting))
                    };
                    product = product.into_iter().flat_map(each).collect();
                }
                points.append(&mut product);
            }
        }
        let mut others = grids.iter().flat_map(|axes| axes.iter().skip(1));
        if let Some(axis) = others.find(|axis| !used.contains(&axis.line)) {
            let what = format!("no algorithm here takes `{}`; leave it out", id(axis.option));
            bail!(self.wrong(axis.line, what));
        }
        let columns = present.iter().map(|&option| id(option).to_string()).collect();
        let mut sweep = Sweep { seeds, columns, figures: Vec::new(), points, skips_impossible };
        sweep.without_repetitions()?;
        Ok(sweep)
    }
}

impl Sweep {
    /// Two grids may ask for the same; what is measured follows from what is asked.
    fn without_repetitions(&mut self) -> Result<()> {
        let (mut known, mut families) = (BTreeSet::new(), BTreeSet::new());
        let mut is_new = Vec::new();
        for point in 0..self.points.len() {
            let options = self.options(point)?;
            families.insert(measure::Family::of(&options)?);
            is_new.push(known.insert(serde_json::to_string(&options)?));
        }
        let mut is_new = is_new.into_iter();
        self.points.retain(|_| is_new.next().unwrap_or(true));
        self.figures = measure::Family::figures_of(&families);
        Ok(())
    }
}

impl Point {
    fn with(&self, place: Option<usize>, setting: &Setting) -> Self {
        let mut point = self.clone();
        if let Some(place) = place {
            (point.values[place], point.lines[place]) = (setting.value.clone(), setting.line);
        }
        point
    }
}

impl Setting {
    fn named(algorithm: &str, line: usize) -> Self {
        Setting { words: vec![algorithm.into()], line, value: Value::Null }
    }
}

/// Whether the option can be given several times.
fn is_list(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Append)
}

/// Whether a list is what one run is given: that of an option which can be given several times, if no list is in it.
fn is_one<'v, 'i: 'v>(arg: &Arg, mut list: impl Iterator<Item = &'v DeValue<'i>>) -> bool {
    is_list(arg) && list.all(|value| !value.is_array())
}

/// A value as it is typed.
fn scalar(value: &DeValue<'_>) -> Option<String> {
    Some(match value {
        // A run is one line of a file.
        DeValue::String(text) if !text.contains(['\n', '\r']) => text.to_string(),
        DeValue::Integer(number) if number.radix() == 10 => number.as_str().to_string(),
        DeValue::Float(number) => number.as_str().to_string(),
        DeValue::Boolean(is_true) => is_true.to_string(),
        _ => return None,
    })
}
