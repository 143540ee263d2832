//! A deterministic discrete-event simulator for the algorithms of `skeptron-core`.

pub mod trace;
