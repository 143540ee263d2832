//! Whole runs: events per second by algorithm, and what watching the order and recording cost.

use divan::Bencher;
use divan::counter::ItemsCount;
use skeptron_core::topology::Tree;
use skeptron_core::{Setup, catalogue};
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
