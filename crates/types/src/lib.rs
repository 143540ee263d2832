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

/// FNV-1a: the same for the same bytes in every build and at every member, which is all that is asked of it.
#[must_use]
pub fn fnv1a(bytes: impl IntoIterator<Item = u8>) -> u64 {
    fnv1a_after(0xcbf2_9ce4_8422_2325, bytes)
}

/// FNV-1a of what follows the bytes of `hash`.
#[must_use]
pub fn fnv1a_after(hash: u64, bytes: impl IntoIterator<Item = u8>) -> u64 {
    let step = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.into_iter().fold(hash, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published values.
    #[test]
    fn fnv1a_is_the_one_that_everybody_knows() {
        assert_eq!(fnv1a("".bytes()), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a("a".bytes()), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a("foobar".bytes()), 0x8594_4171_f739_67e8);
        assert_eq!(fnv1a_after(fnv1a("foo".bytes()), "bar".bytes()), fnv1a("foobar".bytes()));
    }
}
