//! What can be said about a quorum system: one file per question.

pub mod best;
pub mod capacity;
pub mod conditions;
pub mod domination;
pub mod failure;
pub mod load;
pub mod report;
pub mod resilience;
