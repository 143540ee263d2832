//! Elections: who calls when, what the nodes are told of each other's crashes, and what comes of it.

mod report;
mod scenario;

pub use report::{Messages, Reign, Report};
pub use scenario::{Detector, Initiator, Scenario};
