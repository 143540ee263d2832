//! Links: what one member sends another arrives exactly once and in order, over connections that may
//! break at any time. No clock, no I/O.
//!
//! [`session`] numbers and keeps what is sent, [`handshake`] says who may connect, and [`Link`] has the
//! rules of one end: its driver moves bytes and tells it the time.

pub mod handshake;
#[expect(clippy::module_inception, reason = "`Link` is the module's main type")]
mod link;
pub mod session;

pub use link::{Link, LinkError, handshake_limit};

#[cfg(test)]
pub(crate) mod tests;
