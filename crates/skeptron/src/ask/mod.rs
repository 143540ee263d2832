//! What can be asked: each question is one type, from which the command line, the page's requests and
//! the page's types are derived. The command line and the lab are two ways to ask it and to show the
//! answer.

pub mod check;
pub(crate) mod command;
pub mod compare;
mod files;
pub(crate) mod kinds;
pub(crate) mod names;
pub mod quorum;
pub mod sim;
pub mod structure;
pub(crate) mod sweep;
pub mod system;

pub use check::CheckRequest;
pub use command::{Given, Request, parsed};
pub(crate) use command::{unasked, usage};
pub use compare::CompareRequest;
pub use files::Files;
pub use quorum::QuorumRequest;
pub use sim::SimOptions;
pub use structure::{OptimiseRequest, StructureRequest};
pub use system::SystemArgs;
