//! Whole runs: events per second by algorithm, and what watching the order and recording cost.

use std::hint::black_box;
use std::ops::ControlFlow;

use divan::Bencher;
use divan::counter::ItemsCount;
use skeptron_core::topology::Tree;
use skeptron_core::{Setup, catalogue};
use skeptron_sim::replay::Snapshots;
use skeptron_sim::{Options, Scenario, run};

fn main() {
    divan::main();
}

fn bench(bencher: Bencher<'_, '_>, algorithm: &str, nodes: usize, options: Options) {
    let info = catalogue::find(algorithm).expect("an algorithm of the catalogue");
    let setup = Setup::new(nodes).and_then(|setup| setup.with_tree(Tree::balanced(nodes, 2)));
    let scenario = Scenario { entries: 2_000, ..Scenario::new(setup.expect("a valid setup")) };
    let once = || run(info, &scenario, &options).expect("a valid scenario").report.events;
    bencher.counter(ItemsCount::new(once())).bench_local(once);
}

#[divan::bench(args = ["ricart-agrawala", "suzuki-kasami", "raymond", "naimi-trehel"])]
fn bare(bencher: Bencher<'_, '_>, algorithm: &str) {
    bench(bencher, algorithm, 32, Options { skip_order: true, ..Options::default() });
}

#[divan::bench(args = ["ricart-agrawala", "suzuki-kasami", "raymond", "naimi-trehel"])]
fn watching_the_order(bencher: Bencher<'_, '_>, algorithm: &str) {
    bench(bencher, algorithm, 32, Options::default());
}

#[divan::bench(args = ["ricart-agrawala", "raymond"])]
fn recording(bencher: Bencher<'_, '_>, algorithm: &str) {
    bench(bencher, algorithm, 32, Options { record: true, ..Options::default() });
}

/// What the nodes know shortly before the end of a long run, for somebody who steps back from it.
#[divan::bench(args = ["ricart-agrawala", "raymond"])]
fn stepping_back_in_100_000_records(bencher: Bencher<'_, '_>, algorithm: &str) {
    const RECORDS: usize = 100_000;
    let info = catalogue::find(algorithm).expect("an algorithm of the catalogue");
    let setup = Setup::new(5).and_then(|setup| setup.with_tree(Tree::balanced(5, 2)));
    let endless = u64::MAX / 2;
    let scenario = Scenario { entries: endless, ..Scenario::new(setup.expect("a valid setup")) };
    let options = Options { record: true, most_records: Some(RECORDS), ..Options::default() };
    let outcome = run(info, &scenario, &options).expect("a valid scenario");
    let trace = outcome.trace.expect("a recorded run has a trace");
    let mut snapshots = Snapshots::default();
    let mut look = |from: usize| {
        let mut visit = |record: Option<usize>, _, state: Option<&_>| {
            black_box(state);
            if record.is_some_and(|record| record >= from) {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        };
        snapshots.states(&trace, from, &mut visit).expect("a recorded run can be replayed");
    };
    look(RECORDS - 1);
    let mut from = RECORDS - 1;
    bencher.bench_local(move || {
        from = from.checked_sub(256).unwrap_or(RECORDS - 1);
        look(from);
    });
}
