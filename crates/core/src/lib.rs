//! The algorithms of Skeptron as pure state machines.
//!
//! An algorithm takes one [`Input`] at a time and answers with [`Effect`]s; it knows no clock, no
//! chance and no I/O. The simulator, the checker and the network runtime drive the very same code:
//! what was measured and proved is what is deployed. [`Protocol`] is the contract, [`catalogue`]
//! lists who keeps it, [`monitor`] holds the judges that every driver uses.

pub mod catalogue;
pub mod claims;
pub mod election;
mod formula;
pub mod monitor;
pub mod mutex;
mod node_set;
mod protocol;
mod setup;
pub mod time;
pub mod topology;

pub use election::{Elected, Epoch, Notice};
pub use formula::{Claim, Figures, Formula};
pub use mutex::{Entered, Lock, Mode};
pub use node_set::NodeSet;
pub use protocol::{Counter, Effect, Input, Message, Never, NodeId, Outbox, Protocol, Refused};
pub use setup::{Arbitration, Setup, SetupError};
