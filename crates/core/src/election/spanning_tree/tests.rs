use super::*;
use crate::election::stage::Stage;
use crate::election::storm::{self, GALE, SQUALL};

#[test]
fn scratch() {
    for name in SpanningTree::VARIANTS {
        println!("{} {:?}", name.name, storm::breaks::<SpanningTree>(name.name, SQUALL, 5_000));
    }
    storm::survives::<SpanningTree>("spanning-tree", SQUALL, 20_000);
    storm::survives::<SpanningTree>("spanning-tree", GALE, 20_000);
}
