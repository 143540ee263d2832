use super::*;
use crate::election::stage::Stage;
use crate::election::storm::{self, GALE, SQUALL};

fn stage(n: usize) -> Stage<Invitation> {
    Stage::new("invitation", &Setup::new(n).unwrap())
}

/// A lone caller of N singles: everybody is asked, answers, is invited, accepts and is READY.
#[test]
fn a_lone_caller_sends_and_gets_five_messages_for_each_other_node() {
    for n in 2..=20 {
        for caller in 0..n {
            let mut stage = stage(n);
            stage.call(caller);
            assert_eq!(stage.settle(), 5);
            assert_eq!(stage.sent().len(), 5 * (n - 1));
            assert_eq!(stage.leaders(), vec![Some(caller); n]);
        }
    }
}

#[test]
fn storms_are_survived() {
    storm::survives::<Invitation>("invitation", SQUALL, 4_000);
    storm::survives::<Invitation>("invitation", GALE, 4_000);
}
#[test]
fn scratch() {
    for name in
        ["invitation-follows-messenger", "invitation-waits-for-ready", "invitation-looks-once"]
    {
        println!("{name} {:?}", storm::breaks::<Invitation>(name, SQUALL, 20_000));
    }
    storm::survives::<Invitation>("invitation", SQUALL, 100_000);
    storm::survives::<Invitation>("invitation", GALE, 100_000);
}
