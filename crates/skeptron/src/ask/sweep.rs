//! A sweep: a grid of options of `skeptron sim`, each point of which runs with several seeds.

use std::ops::RangeInclusive;

use anyhow::{Result, anyhow};
use serde_json::{Map, Value};

use super::{Request as _, SimOptions, command};
pub(crate) use measure::{Measured, Outcome, Prepared};
pub(crate) use table::{Row, Table, field, shown};

mod columns;
mod file;
mod measure;
mod table;

pub(crate) use columns::parquet;

/// What a file of a sweep asks for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sweep {
    /// Each point runs with each of them.
    pub(crate) seeds: RangeInclusive<u64>,
    /// The options that some point sets, in the order of the command line.
    pub(crate) columns: Vec<String>,
    /// What is measured of some point.
    pub(crate) figures: Vec<&'static str>,
    pub(crate) points: Vec<Point>,
    /// Whether points that cannot be run are left out.
    pub(crate) skips_impossible: bool,
}

/// One setting of all options.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    /// Of each column; null where its algorithm does not take the option.
    pub(crate) values: Vec<Value>,
    /// Where the file says so.
    lines: Vec<usize>,
}

/// Where the file says it makes no difference.
impl PartialEq for Point {
    fn eq(&self, other: &Self) -> bool {
        self.values == other.values
    }
}

impl Sweep {
    /// Reads the text of a file; `name` is its name.
    ///
    /// # Errors
    /// What is wrong with it, and in which line.
    pub(crate) fn parse(name: &str, text: &str) -> Result<Self> {
        file::parse(name, text)
    }

    pub(crate) fn seeds(&self) -> usize {
        (self.seeds.end() - self.seeds.start()) as usize + 1
    }

    /// How many runs there are; they are numbered point by point.
    pub(crate) fn runs(&self) -> usize {
        self.points.len() * self.seeds()
    }

    /// Which point and seed a run is of.
    pub(crate) fn run(&self, number: usize) -> (usize, u64) {
        (number / self.seeds(), self.seeds.start() + (number % self.seeds()) as u64)
    }

    /// What `skeptron sim` would be asked at that point, with its first seed.
    pub(crate) fn options(&self, point: usize) -> Result<SimOptions> {
        let values = self.columns.iter().cloned().zip(self.points[point].values.iter().cloned());
        let fields: Map<String, Value> = values.filter(|(_, value)| !value.is_null()).collect();
        let options: SimOptions = serde_json::from_value(fields.into())?;
        Ok(SimOptions { seed: *self.seeds.start(), ..options })
    }

    /// The command that makes one of the runs.
    pub(crate) fn command(&self, run: usize) -> Result<String> {
        let (point, seed) = self.run(run);
        Ok(SimOptions { seed, ..self.options(point)? }.command())
    }

    /// Says where the file asks for what cannot be run.
    pub(crate) fn blame(&self, name: &str, point: usize, error: &anyhow::Error) -> anyhow::Error {
        let why = format!("{error:#}");
        let Point { lines, values } = &self.points[point];
        // An error names the option that it is about, or its value; else it is about the algorithm in general.
        let is_named = |place: &usize| {
            let value = format!("`{}`", shown(&values[*place]));
            why.contains(&command::long(&self.columns[*place])) || why.contains(&value)
        };
        let line = (0..lines.len()).filter(|&place| lines[place] > 0).find(is_named);
        let line = lines[line.unwrap_or(0)];
        let command = self.command(point * self.seeds()).unwrap_or_default();
        anyhow!(
            "{name}: line {line}: {why} (`{command}`); where other points are fine, give them a [[grid]] of \
             their own, or write impossible = \"skip\" to leave such points out"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Sweep {
        Sweep::parse("a.toml", text).unwrap()
    }

    fn refused(text: &str) -> String {
        format!("{:#}", Sweep::parse("a.toml", text).unwrap_err())
    }

    #[test]
    fn a_grid_is_the_product_of_its_lists() {
        let sweep = parsed(
            "algorithm = [\"lamport\", \"raymond\"]\nnodes = [3, 5]\ntree = [\"star\", \"line\"]\nseeds = 4\n",
        );
        assert_eq!(sweep.columns, ["algorithm", "nodes", "tree"]);
        assert_eq!((sweep.points.len(), sweep.runs()), (6, 24), "only raymond has a tree");
        let commands = [0, 3, 8, 23].map(|run| sweep.command(run).unwrap());
        assert_eq!(
            commands,
            [
                "skeptron sim lamport -n 3 --seed 1",
                "skeptron sim lamport -n 3 --seed 4",
                "skeptron sim raymond -n 3 --tree star --seed 1",
                "skeptron sim raymond -n 5 --tree line --seed 4",
            ]
        );
    }

    #[test]
    fn grids_have_what_is_above_them_and_their_own() {
        let sweep = parsed(
            "nodes = [3, 5]\nloss = 0.0\nseeds = \"7..8\"\n\
             [[grid]]\nalgorithm = \"lamport\"\nnodes = 4\n\
             [[grid]]\nalgorithm = [\"bully\", \"lamport\"]\ncrash = [[], [\"1@2\", \"2@3\"]]\n\
             [[grid]]\nalgorithm = \"lamport\"\nnodes = 4\ncrash = []\n",
        );
        let commands: Vec<String> =
            (0..sweep.points.len()).map(|point| sweep.command(2 * point).unwrap()).collect();
        assert_eq!(
            commands,
            [
                "skeptron sim lamport -n 4 --seed 7",
                "skeptron sim bully -n 3 --seed 7",
                "skeptron sim bully -n 3 --crash 1@2 --crash 2@3 --seed 7",
                "skeptron sim bully -n 5 --seed 7",
                "skeptron sim bully -n 5 --crash 1@2 --crash 2@3 --seed 7",
                "skeptron sim lamport -n 3 --seed 7",
                "skeptron sim lamport -n 3 --crash 1@2 --crash 2@3 --seed 7",
                "skeptron sim lamport -n 5 --seed 7",
                "skeptron sim lamport -n 5 --crash 1@2 --crash 2@3 --seed 7",
            ],
            "a point that two grids have is one"
        );
        assert!(sweep.figures.contains(&"time") && sweep.figures.contains(&"sync_delay"));
    }

    #[test]
    fn mistakes_are_told_with_their_line_and_a_remedy() {
        let fine = "algorithm = \"maekawa\"\nnodes = 4\n";
        for (text, said) in [
            ("algorithm = \"maekawa\"\nnode = 4\n", "a.toml: line 2: there is no option `node`"),
            ("algorithm = \"maekawa\"\nnode = 4\n", "did you mean `nodes`?"),
            (
                "algorithm = [\"lamport\",\n  \"maekawva\"]\nnodes = 4\n",
                "line 2: there is no algor",
            ),
            ("nodes = 4\n", "algorithm = "),
            ("algorithm = \"maekawa\"\n", "nodes = "),
            ("algorithm = \"maekawa\"\nnodes = [4,\n\"x\"]\n", "line 3: "),
            (&format!("{fine}seed = 3\n"), "line 3: write seeds"),
            (&format!("{fine}seeds = \"9..1\"\n"), "line 3: "),
            (&format!("{fine}tree = \"star\"\n"), "line 3: no algorithm here takes `tree`"),
            (&format!("{fine}loss = []\n"), "line 3: `loss` is an empty list"),
            (&format!("{fine}latency = {{ a = 1 }}\n"), "line 3: `latency`"),
            (&format!("{fine}impossible = \"ignore\"\n"), "line 3: "),
            (&format!("{fine}at_once = 2\n"), "--modes"),
            (&format!("{fine}grid = 3\n"), "line 3: "),
            ("algorithm = \n", "line 1: "),
        ] {
            let why = refused(text);
            assert!(why.contains(said) && why.starts_with("a.toml"), "{text}: {why}");
        }
        assert!(refused(&format!("{fine}seeds = 99999999999\n")).contains("runs"));
    }

    #[test]
    fn what_cannot_be_run_is_told_with_its_line() {
        let sweep = parsed("algorithm = \"maekawa\"\nnodes = 8\nquorum = [\"grid\",\n\"fano\"]\n");
        let error = Prepared::new(sweep.options(1).unwrap()).err().unwrap();
        let why = sweep.blame("a.toml", 1, &error).to_string();
        assert!(why.starts_with("a.toml: line 4: ") && why.contains("-n 8 --quorum fano"), "{why}");
    }
}
