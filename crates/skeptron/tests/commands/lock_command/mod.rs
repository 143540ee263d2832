//! The commands that deal with real locks, as real processes on this machine.

mod alone;
mod completion;
mod deploy;
mod drain;
mod elect;
mod folders;
mod json;
mod kinds;
mod lock;
mod logs;
mod manners;
mod members;
mod node;
mod outages;
pub(crate) mod processes;
mod reload;
mod restarts;
mod unlock;
mod widths;
