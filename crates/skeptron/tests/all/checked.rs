//! The checker held against the catalogue, against itself, against the simulator and against the spec.

use std::fs;
use std::process::Command;

use skeptron::ask::{Files, Request as _, SimOptions};
use skeptron::cli::check::{CheckArgs, Refutation};
use skeptron_check::{Options, Report};
use skeptron_core::catalogue::{self, Breaks, Info, Order};
use skeptron_core::claims::Quantity;
use skeptron_sim::trace::What;
use skeptron_testing::{amount, is_full, sample};

fn explore(words: &str, options: &Options<'_>) -> Report {
    CheckArgs::parse(words).unwrap().ask.question(Files::Disk).unwrap().answer(options).unwrap()
}

fn is_as_it_was(name: &str, description: &str, shown: &str) {
    insta::with_settings!({
        description => description, omit_expression => true,
        snapshot_path => "../snapshots", prepend_module_to_snapshot => false,
    }, {
        insta::assert_snapshot!(format!("checked__{name}"), shown);
    });
}

fn orders(info: &Info) -> &'static [&'static str] {
    match info.channel {
        Order::Fifo => &["fifo"],
        Order::Any => &["fifo", "any"],
    }
}

/// Every broken variant is refuted by a shortest run that a person can read.
#[test]
fn every_broken_variant_has_its_counterexample() {
    let mutexes = catalogue::all().filter_map(|info| Some((info.name, info.broken?)));
    let elections = catalogue::elections().filter_map(|info| Some((info.name, info.broken?)));
    for (name, broken) in mutexes.chain(elections) {
        let expected = match broken.breaks {
            Breaks::Safety => "exclusion",
            Breaks::Liveness => "progress",
            Breaks::Starvation => "starvation",
            Breaks::Order => "order",
            Breaks::Refused => "refused",
            Breaks::Agreement => "agreement",
            Breaks::Validity => "validity",
            Breaks::Termination => "termination",
            Breaks::Convergence => "convergence",
        };
        let words = format!("{name} {}", broken.refuted_by);
        let drawn = |words: &str| CheckArgs::parse(words).unwrap().refutations().unwrap();
        let shown = |refutations: Vec<Refutation>| {
            refutations.into_iter().find(|r| r.property.name() == expected)
        };
        // Something else may break sooner.
        let Refutation { diagram, .. } = shown(drawn(&words))
            .or_else(|| shown(drawn(&format!("{words} --keep-going"))))
            .unwrap_or_else(|| panic!("{words}: {expected}"));
        is_as_it_was(name, broken.flaw, &format!("skeptron check {words}\n\n{diagram}"));
    }
}

/// What the spec says of elections whose timing assumption is violated: two leaders of one epoch.
#[test]
fn an_early_alarm_makes_two_leaders() {
    let words = "bully -n 3 --initiators P1 --premature 1 --keep-going";
    let found = CheckArgs::parse(words).unwrap().refutations().unwrap();
    let diagram = &found.iter().find(|r| r.property.name() == "agreement").unwrap().diagram;
    let early = "an alarm rings too early";
    is_as_it_was("bully-early-alarm", early, &format!("skeptron check {words}\n\n{diagram}"));
}

/// What is left out makes no difference: the same verdicts, and the same shortest traces.
#[test]
fn the_reduction_changes_no_verdict() {
    let mut reduced = 0;
    let mut compare = |words: &str, is_broken: bool, keep_going: bool| {
        let options = Options { keep_going, max_memory: 96 << 20, ..Options::default() };
        let with = explore(words, &options);
        let without = explore(words, &Options { reduction: false, ..options });
        // A wrong rule may send without end: what no search finishes has no verdict to compare.
        if with.out_of_memory || without.out_of_memory {
            assert!(is_broken, "{words}");
            return;
        }
        let verdicts = |report: &Report| {
            let length =
                |v: &skeptron_check::Verdict| v.counterexample.as_ref().map(|c| c.steps.len());
            let all = report.verdicts.iter();
            all.map(|v| (v.property, v.holds, length(v))).collect::<Vec<_>>()
        };
        assert_eq!(verdicts(&with), verdicts(&without), "{words}");
        assert!(with.states <= without.states, "{words}");
        assert!(!without.reduction);
        reduced += usize::from(with.reduction && with.states < without.states);
    };
    let mut systems = Vec::new();
    for info in catalogue::all() {
        if let Some(broken) = info.broken {
            // Some have too many states to decide everything.
            let is_large = |word| broken.refuted_by.contains(word);
            let keep_going =
                !["--quorum fano", "--quorum maekawa-13", "--judge"].into_iter().any(is_large);
            systems.push((format!("{} {}", info.name, broken.refuted_by), true, keep_going));
        }
        for order in orders(info) {
            for size in ["-n 2 --requests 2", "-n 3 --requests 1", "-n 3 --requests 1,1,2"] {
                let words = format!("{} {size} --order {order}", info.name);
                systems.push((words, info.broken.is_some(), true));
            }
        }
    }
    for (words, is_broken, keep_going) in sample("reduced systems", systems, 100) {
        compare(&words, is_broken, keep_going);
    }
    let expected = if is_full() { 10 } else { 0 };
    assert!(reduced > expected, "only {reduced} systems were reduced at all");
}

/// No random run does what the checker excludes: three nodes, all claims, the bound on messages.
#[test]
fn the_simulator_never_does_what_the_checker_excludes() {
    for info in catalogue::sound() {
        for order in orders(info) {
            let proved = explore(&format!("{} --order {order}", info.name), &Options::default());
            assert!(proved.complete && proved.holds());
            for seed in 1..=amount("SKEPTRON_RUNS", 40, 200) {
                let words = format!(
                    "{} -n 3 --requesters P1,P2,P3 --order {order} --latency uniform:0.1..3 \
                     --think exp:2 --section exp:1 --entries 3 --warmup 0 --seed {seed}",
                    info.name
                );
                let args = SimOptions::parse(&words).unwrap();
                let (_, scenario) = args.scenario(Files::Disk).unwrap();
                let records = args.trace(Files::Disk).unwrap().records;
                let count = |is: &dyn Fn(&What) -> bool| {
                    records.iter().filter(|record| is(&record.what)).count() as f64
                };
                let wrong =
                    |what: &What| matches!(what, What::Violation { .. } | What::Refuse { .. });
                assert_eq!(count(&wrong), 0.0, "{words}");
                let entries = count(&|what| matches!(what, What::Enter { .. }));
                assert_eq!(entries, count(&|what| *what == What::Request), "{words}");
                if let Some(most) = info.claims.most(Quantity::Messages) {
                    let sent = count(&|what| matches!(what, What::Send { .. }));
                    let figures = scenario.setup.figures(&scenario.requesters);
                    assert!(sent <= most.value(&figures) * entries + 1e-9, "{words}");
                }
            }
        }
    }
}

/// The assumption table agrees with the spec (exit code 0) and stands in the docs as it is printed.
#[test]
fn the_assumption_table_agrees_with_the_spec_and_the_docs() {
    let folder = tempfile::tempdir().unwrap();
    let html = folder.path().join("assumptions.html");
    let mut command = Command::new(env!("CARGO_BIN_EXE_skeptron"));
    let out = command.args(["check", "--all", "--html"]).arg(&html).output().unwrap();
    let table = String::from_utf8(out.stdout).unwrap();
    assert_eq!(out.status.code(), Some(0), "{table}");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/checker.md");
    let page = fs::read_to_string(path).unwrap();
    let indented: String =
        table.lines().map(|line| format!("    {line}").trim_end().to_string() + "\n").collect();
    assert!(page.contains(&indented), "docs/checker.md should contain:\n{indented}");
    let html = fs::read_to_string(html).unwrap();
    let (_, answers) = html.split_once("id=\"answers\">").unwrap();
    let (answers, _) = answers.split_once("</script>").unwrap();
    let answers: serde_json::Value = serde_json::from_str(answers).unwrap();
    let report = &answers["/lab/assumptions"];
    let cells = report["cells"].as_array().unwrap();
    assert!(catalogue::sound().all(|info| cells.iter().any(|cell| cell["algorithm"] == info.name)));
    let diagrams = report["diagrams"].as_array().unwrap();
    for (index, cell) in cells.iter().enumerate() {
        let drawn = diagrams.iter().filter(|diagram| diagram["cell"] == index);
        let drawn: Vec<_> = drawn.map(|diagram| &diagram["property"]).collect();
        let is_broken = |judged: &&serde_json::Value| judged["trace_length"].is_number();
        let broken = cell["properties"].as_array().unwrap().iter().filter(is_broken);
        let broken: Vec<_> = broken.map(|judged| &judged["name"]).collect();
        assert_eq!(drawn, broken, "a diagram for everything that breaks: {cell}");
    }
}
