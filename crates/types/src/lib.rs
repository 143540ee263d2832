//! The plain types that members of a cluster, their clients and whoever looks at them share: data that
//! is written and read, and nothing that runs.

pub mod clock;
pub mod election;
mod fence;
mod id;
mod mode;
pub mod report;
pub mod session;

pub use fence::Fence;
pub use id::MemberId;
pub use mode::{Mode, UnknownMode};

/// The finaliser of splitmix64: all members must agree on it, so no library decides it.
#[must_use]
pub fn scatter(value: u64) -> u64 {
    let value = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}
