//! Sweeps and shards: whoever stops them, wherever they run, the files are the same, byte for byte.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;
use yaml_rust2::{Yaml, YamlLoader};

use crate::signals::heed_signals;

/// Enough runs to be stopped among them: two grids, an impossible point, an election, kinds, chance.
const FILE: &str = r#"
impossible = "skip"
seeds = 25
[[grid]]
algorithm = ["central", "maekawa", "raymond"]
nodes = [3, 7]
quorum = ["grid", "fano"]
tree = ["star", "balanced:2"]
latency = ["exp:1", "normal:1,0.2"]
entries = 300
[[grid]]
algorithm = ["bully", "naimi-trehel"]
nodes = 4
modes = "shared,exclusive"
detector = "imperfect:2,0.01"
entries = 50
"#;

struct Place {
    folder: TempDir,
}

impl Place {
    fn new(file: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.toml"), file).unwrap();
        Place { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_skeptron"));
        command.args(words.split_whitespace()).current_dir(self.folder.path());
        command
    }

    fn run(&self, words: &str) -> String {
        let output = self.command(words).output().unwrap();
        said(words, &output)
    }

    fn start(&self, words: &str) -> Child {
        heed_signals();
        let mut command = self.command(words);
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// What is in a folder.
    fn files(&self, name: &str) -> BTreeMap<String, Vec<u8>> {
        let file = |entry: std::io::Result<fs::DirEntry>| {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read(entry.path()).unwrap())
        };
        fs::read_dir(self.path(name)).unwrap().map(file).collect()
    }

    fn lines(&self, name: &str) -> usize {
        fs::read(self.path(name)).map_or(0, |text| text.iter().filter(|&&b| b == b'\n').count())
    }
}

fn said(what: &str, output: &Output) -> String {
    assert!(output.status.success(), "{what}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(120), "{what} did not come");
        std::thread::sleep(Duration::from_millis(1));
    }
}

const NAMES: [&str; 5] = ["report.html", "runs.csv", "sweep.json", "table.csv", "table.parquet"];

#[test]
fn a_sweep_that_was_killed_goes_on_and_gives_the_same_files() {
    let place = Place::new(FILE);
    let told = place.run("sweep a.toml --out whole --json");
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    let runs = told["runs"].as_u64().unwrap() as usize;
    assert_eq!((told["made"].as_u64(), told["impossible"].as_u64()), (Some(runs as u64), Some(2)));
    let whole = place.files("whole");
    assert!(whole.keys().eq(NAMES), "{:?}", whole.keys());

    for kills in 1..=3 {
        let least = place.lines("killed/runs.csv") + 60;
        let mut sweep = place.start("sweep a.toml --out killed --threads 1");
        until("a line", || place.lines("killed/runs.csv") > least);
        sweep.kill().unwrap();
        sweep.wait().unwrap();
        let made = place.lines("killed/runs.csv");
        assert!(made < runs, "kill {kills} came too late");
        assert!(!place.path("killed/table.csv").exists());
        // A crash of the machine may tear the last line, or lose what is in the middle.
        let path = place.path("killed/runs.csv");
        let mut text = fs::read(&path).unwrap();
        match kills {
            1 => text.extend(b"17,central,3,"),
            2 => text.truncate(text.len() - 20),
            _ => {
                let middle = text.len() / 2;
                text[middle] ^= 1;
            }
        }
        fs::write(&path, text).unwrap();
    }
    let told = place.run("sweep a.toml --out killed --json");
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    let made = told["made"].as_u64().unwrap() as usize;
    assert!(made > 0 && made < runs - 150, "{made} of {runs} were made again");
    assert!(told["dropped_lines"].as_u64().unwrap() >= 1);
    assert!(place.files("killed") == whole);
    // Nothing is left to do, and nothing changes.
    let told = place.run("sweep a.toml --out killed");
    assert!(told.contains(", 0 made"), "{told}");
    assert!(place.files("killed") == whole);
}

#[test]
fn a_signal_ends_it_with_what_there_is() {
    let place = Place::new(FILE);
    let sweep = place.start("sweep a.toml --threads 1");
    until("a line", || place.lines("a.sweep/runs.csv") > 20);
    kill(Pid::from_raw(sweep.id() as i32), Signal::SIGINT).unwrap();
    let ended = sweep.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130));
    let why = String::from_utf8(ended.stderr).unwrap();
    assert!(why.starts_with("interrupted: ") && why.contains("the same command"), "{why}");
    place.run("sweep a.toml");
    place.run("sweep a.toml --out whole");
    assert!(place.files("a.sweep") == place.files("whole"));
}

#[test]
fn shards_together_are_the_whole_wherever_they_ran() {
    let place = Place::new(FILE);
    place.run("sweep a.toml --out whole");
    let whole = place.files("whole");
    for (shard, threads) in [(1, 1), (2, 2), (3, 3)] {
        // All in one folder, and each in its own, with other threads.
        place.run(&format!("sweep a.toml --out shared --shard {shard}/3 --threads {threads}"));
        place.run(&format!("sweep a.toml --out own{shard} --shard {shard}/3"));
        let name = format!("runs-{shard}-of-3.csv");
        assert!(place.files("shared")[&name] == place.files(&format!("own{shard}"))[&name]);
    }
    place.run("sweep merge shared");
    place.run("sweep merge own3 own1 own2 --out merged");
    let shared = place.files("shared");
    assert!(NAMES.iter().all(|name| shared[*name] == whole[*name]));
    assert!(place.files("merged") == whole);

    let missing = place.command("sweep merge own1 own3 --out two").output().unwrap();
    let why = String::from_utf8(missing.stderr).unwrap();
    assert_eq!(missing.status.code(), Some(2));
    assert!(why.contains("missing, the first is run 1 (`skeptron sim central"), "{why}");
    // Another sweep does not mix with this one; a comment makes none.
    fs::write(place.path("a.toml"), format!("# The same.\n{FILE}")).unwrap();
    place.run("sweep a.toml --out whole");
    fs::write(place.path("a.toml"), FILE.replace("300", "301")).unwrap();
    let other = place.command("sweep a.toml --out whole").output().unwrap();
    assert!(String::from_utf8(other.stderr).unwrap().contains("different sweeps"));
}

#[test]
fn a_file_that_a_sweep_reads_may_not_change_meanwhile() {
    let place =
        Place::new("algorithm = \"lamport\"\nnodes = 4\nlatency = \"rtt:table\"\nentries = 20\n");
    fs::write(place.path("table"), "0 10\n10 0\n").unwrap();
    place.run("sweep a.toml");
    fs::write(place.path("table"), "0 20\n20 0\n").unwrap();
    let changed = place.command("sweep a.toml").output().unwrap();
    let why = String::from_utf8(changed.stderr).unwrap();
    assert!(why.contains("table is not what it was"), "{why}");
}

#[test]
fn shards_of_a_storm_add_up() {
    let place = Place::new("");
    let storm = "storm --seeds 1..7 --algorithm central --entries 20 --json";
    let shard = |shard: &str| {
        let output = place.command(storm).args(["--shard", shard]).output().unwrap();
        let text = said(shard, &output);
        fs::write(place.path(&shard.replace('/', "-")), &text).unwrap();
        text
    };
    let whole = shard("1/1");
    for one in ["1/3", "2/3", "3/3"] {
        assert_eq!(shard(one), shard(one), "the same shard, the same result");
    }
    assert_eq!(place.run("storm merge 3-3 1-3 2-3 --json"), whole);
    assert!(place.run("storm merge 3-3 1-3 2-3").contains("0 of 7 runs failed"));
    let plain: serde_json::Value = serde_json::from_str(&place.run(storm)).unwrap();
    let whole: serde_json::Value = serde_json::from_str(&whole).unwrap();
    for key in ["runs", "failed", "hash", "entries", "events", "survived", "figures"] {
        assert_eq!(plain[key], whole[key], "{key}");
    }
    let missing = place.command("storm merge 1-3 3-3").output().unwrap();
    let why = String::from_utf8(missing.stderr).unwrap();
    assert!(why.contains("shard 2/3 is missing; run `skeptron storm --seeds 1..7"), "{why}");
    for (words, why) in [("1-3 1-3", "twice"), ("1-3 1-1", "others are of"), ("a.toml", "not what")]
    {
        let refused = place.command(&format!("storm merge {words}")).output().unwrap();
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(refused.status.code() == Some(2) && said.contains(why), "{words}: {said}");
    }
}

/// The examples in `deploy/sweeps/`, with programs in the place of those that start shards.
struct Deployed {
    place: Place,
    path: String,
}

const SMALL: &str =
    "algorithm = [\"central\", \"raymond\"]\nnodes = [3, 4]\nentries = 20\nseeds = 5\n";

impl Deployed {
    fn new() -> Self {
        let place = Place::new(SMALL);
        place.run("sweep a.toml --out whole");
        fs::create_dir(place.path("bin")).unwrap();
        let program = place.path("bin/skeptron");
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_skeptron"), program).unwrap();
        let path = format!("{}:{}", place.path("bin").display(), std::env::var("PATH").unwrap());
        Deployed { place, path }
    }

    fn shell(&self, words: &[&str], variables: &[(&str, String)]) {
        let mut command = Command::new("sh");
        command.args(words).current_dir(self.place.folder.path()).env("PATH", &self.path);
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        said(&words.join(" "), &command.output().unwrap());
    }

    fn is_whole(&self, name: &str) {
        let (whole, found) = (self.place.files("whole"), self.place.files(name));
        assert!(NAMES.iter().all(|file| found.get(*file) == whole.get(*file)), "{name}");
    }
}

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/sweeps").join(name)
}

#[test]
fn the_example_for_gnu_parallel_makes_the_whole_sweep() {
    let deployed = Deployed::new();
    // What GNU parallel does with these words: a command for each argument behind `:::`.
    let parallel = deployed.place.path("bin/parallel");
    let stand_in = r#"#!/bin/sh
set -eu
[ "$1 $2" = "--halt soon,fail=1" ]; shift 2
command=; while [ "$1" != ::: ]; do command="$command $1"; shift; done; shift
for argument; do $(echo "$command" | sed "s/{}/$argument/g"); done
"#;
    fs::File::create(&parallel).unwrap().write_all(stand_in.as_bytes()).unwrap();
    Command::new("chmod").arg("+x").arg(&parallel).status().unwrap();
    let script = example("parallel.sh");
    deployed.shell(&[script.to_str().unwrap(), "a.toml", "out", "3"], &[]);
    deployed.is_whole("out");
    assert!(deployed.place.path("out/runs-3-of-3.csv").exists());
}

#[test]
fn the_example_for_slurm_makes_the_whole_sweep() {
    let deployed = Deployed::new();
    let script = example("slurm.sbatch");
    // The variables of an array job; the array may begin anywhere.
    for task in 5..=7 {
        let variables = [
            ("SLURM_ARRAY_TASK_ID", task),
            ("SLURM_ARRAY_TASK_MIN", 5),
            ("SLURM_ARRAY_TASK_COUNT", 3),
            ("SLURM_CPUS_PER_TASK", 2),
        ];
        let variables = variables.map(|(name, value)| (name, value.to_string()));
        deployed.shell(&[script.to_str().unwrap(), "a.toml", "out"], &variables);
    }
    deployed.place.run("sweep merge out");
    deployed.is_whole("out");
}

fn yaml(name: &str, kind: &str) -> Yaml {
    let documents = YamlLoader::load_from_str(&fs::read_to_string(example(name)).unwrap()).unwrap();
    documents.into_iter().find(|it| it["kind"].as_str() == Some(kind)).unwrap()
}

/// What a container runs, with paths of this machine.
fn container(job: &Yaml, out: &Path, file: &Path) -> (Vec<String>, Vec<(String, String)>) {
    let container = &job["spec"]["template"]["spec"]["containers"][0];
    let here = |word: &Yaml| {
        let word = word.as_str().unwrap().replace("/results", out.to_str().unwrap());
        word.replace("/sweep/wan.toml", file.to_str().unwrap())
    };
    let words = container["command"].as_vec().unwrap().iter().map(here).collect();
    let variable = |it: &Yaml| {
        (it["name"].as_str().unwrap().to_string(), it["value"].as_str().unwrap().to_string())
    };
    let variables = container["env"].as_vec().map_or(&[][..], Vec::as_slice);
    (words, variables.iter().map(variable).collect())
}

#[test]
fn the_example_for_kubernetes_makes_the_whole_sweep() {
    let deployed = Deployed::new();
    let (out, file) = (deployed.place.path("out"), deployed.place.path("a.toml"));
    let job = yaml("kubernetes.yaml", "Job");
    let completions = job["spec"]["completions"].as_i64().unwrap();
    assert_eq!(job["spec"]["completionMode"].as_str(), Some("Indexed"));
    let (words, variables) = container(&job, &out, &file);
    let shards = variables.iter().find(|it| it.0 == "SHARDS").unwrap();
    assert_eq!(shards.1, completions.to_string());
    let claim = yaml("kubernetes.yaml", "PersistentVolumeClaim")["metadata"]["name"].clone();
    let run = |words: &[String], variables: &[(String, String)]| {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).env("PATH", &deployed.path);
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        said(&words.join(" "), &command.output().unwrap());
    };
    for index in 0..completions {
        let mut variables = variables.clone();
        variables.push(("JOB_COMPLETION_INDEX".into(), index.to_string()));
        run(&words, &variables);
    }
    let merge = yaml("kubernetes-merge.yaml", "Job");
    for job in [&job, &merge] {
        let volumes = job["spec"]["template"]["spec"]["volumes"].as_vec().unwrap();
        assert!(volumes.iter().any(|it| it["persistentVolumeClaim"]["claimName"] == claim));
    }
    let (words, variables) = container(&merge, &out, &file);
    run(&words, &variables);
    deployed.is_whole("out");
}

#[test]
fn the_example_of_a_sweep_can_be_run() {
    let place = Place::new(&fs::read_to_string(example("wan.toml")).unwrap());
    let told = place.run("sweep a.toml --dry-run --json");
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["points"], 4 * 18 + 2 * 36);
    let small = fs::read_to_string(example("wan.toml")).unwrap();
    let small = small.replace("entries = 200", "entries = 3").replace("seeds = 10", "seeds = 1");
    fs::write(place.path("a.toml"), small).unwrap();
    place.run("sweep a.toml");
}
