//! The commands that deal with real locks, as real processes on this machine.

mod alone;
mod lock;
mod logs;
mod manners;
mod members;
mod node;
mod processes;
mod reload;
