//! Commands that start nodes of their own, in a binary of their own: searches beside them would take the cores that
//! leases are renewed with.

mod lock_command;
#[path = "../shared/signals.rs"]
mod signals;
mod up;
