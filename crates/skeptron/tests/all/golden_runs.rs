//! The textbook run of each algorithm, as a timeline that can be read beside its paper.

use skeptron::cli::sim::SimArgs;
use skeptron::cli::textbook;
use skeptron_core::catalogue;
use skeptron_sim::trace::Format;

fn is_as_it_was(name: &str, paper: &str, args: &SimArgs) {
    let mut timeline = Vec::new();
    args.trace().unwrap().write(Format::Text, &mut timeline).unwrap();
    let timeline = String::from_utf8(timeline).unwrap();
    insta::with_settings!({
        description => paper, omit_expression => true,
        snapshot_path => "../snapshots", prepend_module_to_snapshot => false,
    }, {
        insta::assert_snapshot!(format!("golden_runs__{name}"), timeline);
    });
}

#[test]
fn textbook_runs_are_as_they_were() {
    for info in catalogue::sound() {
        is_as_it_was(info.name, info.paper, &textbook::run_of(info).unwrap());
    }
}

#[test]
fn textbook_elections_are_as_they_were() {
    for info in catalogue::elections().filter(|info| info.broken.is_none()) {
        is_as_it_was(info.name, info.paper, &textbook::election_of(info).unwrap());
    }
}
