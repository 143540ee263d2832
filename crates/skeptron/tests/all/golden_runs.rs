//! The textbook run of each algorithm, as a timeline that can be read beside its paper.

use skeptron::ask::{self, Files, SimOptions};
use skeptron::cli::sim::SimArgs;
use skeptron::cli::textbook;
use skeptron_core::catalogue;
use skeptron_sim::trace::{Format, Picture};

fn is_as_it_was(name: &str, paper: &str, args: &SimOptions) {
    let mut timeline = Vec::new();
    args.trace(Files::Disk).unwrap().write(Format::Text, &mut timeline).unwrap();
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

/// Those that the command line draws: the README beside them names the command of each.
#[test]
fn the_pictures_of_the_docs_are_what_their_commands_draw() {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/pictures");
    let readme = std::fs::read_to_string(format!("{docs}/README.md")).unwrap();
    let mut drawn = 0;
    for command in readme.split('`').filter_map(|text| text.strip_prefix("skeptron sim ")) {
        let args: SimArgs = ask::parsed(command).unwrap();
        let path = args.trace.first().unwrap();
        let format = Format::of_path(path).unwrap();
        let mut picture = Vec::new();
        let picture_of = Picture {
            steps: args.picture.steps,
            measures: args.picture.measures,
            clocks: args.clocks.show_clocks,
        };
        args.ask
            .trace(Files::Disk)
            .unwrap()
            .write_picture(format, picture_of, &mut picture)
            .unwrap();
        let kept = std::fs::read(format!("{docs}/{}", path.display())).unwrap_or_default();
        assert!(kept == picture, "in docs/pictures: skeptron sim {command}");
        drawn += 1;
    }
    assert!(drawn >= 6, "{drawn}");
}
