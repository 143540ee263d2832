//! The textbook run of each algorithm, as a timeline that can be read beside its paper.

use skeptron::cli::textbook;
use skeptron_core::catalogue;
use skeptron_sim::trace::Format;

#[test]
fn textbook_runs_are_as_they_were() {
    for info in catalogue::sound() {
        let trace = textbook::run_of(info).unwrap().trace().unwrap();
        let mut timeline = Vec::new();
        trace.write(Format::Text, &mut timeline).unwrap();
        let timeline = String::from_utf8(timeline).unwrap();
        insta::with_settings!({ description => info.paper, omit_expression => true }, {
            insta::assert_snapshot!(info.name, timeline);
        });
    }
}
