use skeptron_check::*; use skeptron_core::*; use skeptron_core::catalogue::{self, Order};
use skeptron_core::topology::*;
fn main() {
    let a: Vec<String> = std::env::args().skip(1).collect();
    let info = catalogue::find(&a[0]).unwrap();
    let req: Vec<u8> = a[1].split(',').map(|x| x.parse().unwrap()).collect();
    let n = req.len();
    let order = if a[2] == "fifo" { Order::Fifo } else { Order::Any };
    let q = skeptron_quorum::build(if n == 7 { skeptron_quorum::Construction::Fano } else { skeptron_quorum::default_for(n) }, n).unwrap();
    let setup = Setup::new(n).unwrap().with_structure(Structure::maekawa(&q)).unwrap().with_quorums(q).unwrap().with_tree(Tree::balanced(n, 2)).unwrap();
    let s = Scenario { setup, requests: req, order, faults: Faults::default() };
    for reduction in [true, false] {
    if a.get(3).is_some_and(|x| x == "r") && !reduction { continue }
    let o = Options { reduction, max_memory: 12 << 30, ..Options::default() };
    let r = check(info, &s, &o).unwrap();
    println!("{} {} {}: red {} states {} trans {} depth {} complete {} MB {} {:.1}s {:.2}M/s {:?}", a[0], a[1], a[2], r.reduction, r.states, r.transitions, r.depth, r.complete, r.peak_bytes >> 20, r.seconds, r.states as f64/1e6/r.seconds, r.violation().map(|(p,c)| (p, c.steps.len(), c.detail.clone())));
    }
}
