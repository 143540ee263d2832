//! The lab: one web page, served from this binary, that runs, checks and shows the algorithms.

pub mod wire;
