//! Tests of the links, pure: sessions, handshakes and whole links under a hostile network.

mod algorithms;
pub(crate) mod chance;
mod link;
mod session;
mod weather;

use crate::MemberId;
use crate::plan::{Plan, Plans};
use crate::wire::{Envelope, Payload};
use skeptron_core::mutex::sharing::Register;

fn plans() -> Plans {
    Plans::new(Plan::named(Plan::DEFAULT).unwrap())
}

/// Where `members` members would listen.
fn addresses(members: usize) -> Vec<String> {
    (1..=members).map(|member| format!("127.0.0.1:{member}")).collect()
}

fn member(number: u32) -> MemberId {
    MemberId::new(number).unwrap()
}

/// A message that carries a number.
fn numbered(number: u64) -> Envelope<'static> {
    padded(number, b"")
}

/// A message that carries a number, and more bytes.
fn padded(number: u64, message: &[u8]) -> Envelope<'_> {
    Envelope {
        epoch: 1,
        payload: Payload::Message {
            lock: "orders/42",
            fence: number,
            register: Register::default(),
            message,
        },
    }
}
