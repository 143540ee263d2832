//! Names, keys and values: bytes in etcd, text here.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use tonic::Status;

/// How the owner of a lease's session is shown: `etcd:` and the lease in hexadecimal.
const OWNER: &str = "etcd:";
/// Before a value that is no text, in base64.
const ENCODED: &str = "\u{0}base64,";

/// One entry of a lease into a lock. In the first the key is `NAME/LEASE`, as in etcd, with the lease in
/// hexadecimal; each later one has a key of its own, `NAME/LEASE#2`, so that an unlock that arrives late
/// names an entry that is over, and not its successor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) lease: i64,
    pub(crate) number: u64,
}

impl Entry {
    /// As clients know it.
    pub(crate) fn key(&self) -> Vec<u8> {
        let Entry { name, lease, number } = self;
        match number {
            1 => format!("{name}/{lease:x}").into_bytes(),
            _ => format!("{name}/{lease:x}#{number}").into_bytes(),
        }
    }

    /// What a key means; none if no key is written like that.
    pub(crate) fn read(key: &[u8]) -> Option<Self> {
        let (name, entry) = std::str::from_utf8(key).ok()?.rsplit_once('/')?;
        let (lease, number) = match entry.split_once('#') {
            None => (entry, 1),
            Some((lease, number)) => (lease, number.parse().ok().filter(|number| *number > 1)?),
        };
        let read = Entry {
            name: name.to_string(),
            lease: u64::from_str_radix(lease, 16).ok()?.cast_signed(),
            number,
        };
        // Neither a sign nor leading zeros: each entry has one key.
        (read.key() == key).then_some(read)
    }
}

/// The name of a lock or an election.
pub(crate) fn name(bytes: Vec<u8>) -> Result<String, Status> {
    String::from_utf8(bytes).map_err(|_| Status::invalid_argument("a name must be UTF-8 text"))
}

/// A leader's value as text: itself, unless it is none.
pub(crate) fn value_to_text(bytes: Vec<u8>) -> String {
    match String::from_utf8(bytes) {
        Ok(text) if !text.starts_with(ENCODED) => text,
        Ok(text) => ENCODED.to_string() + &BASE64_STANDARD.encode(text),
        Err(error) => ENCODED.to_string() + &BASE64_STANDARD.encode(error.into_bytes()),
    }
}

/// The value that was given as this text.
pub(crate) fn value_of_text(text: String) -> Vec<u8> {
    let decoded = text.strip_prefix(ENCODED).and_then(|text| BASE64_STANDARD.decode(text).ok());
    decoded.unwrap_or_else(|| text.into_bytes())
}

/// What the owner of a lease's session is called.
pub(crate) fn owner(lease: i64) -> String {
    format!("{OWNER}{lease:x}")
}

/// The lease of a session whose owner is called like that, behind the name of its role if it has one.
pub(crate) fn lease_of(owner: &str) -> Option<i64> {
    let (_, claimed) = owner.rsplit_once('/').unwrap_or(("", owner));
    let lease = u64::from_str_radix(claimed.strip_prefix(OWNER)?, 16).ok()?;
    Some(lease.cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_says_name_lease_and_entry() {
        for (key, name, lease, number) in [
            ("deploy/64", "deploy", 100, 1),
            ("a/b/7fffffffffffffff", "a/b", i64::MAX, 1),
            ("a/fffffffffffffffd", "a", -3, 1),
            ("deploy/64#2", "deploy", 100, 2),
            ("/64", "", 100, 1),
        ] {
            let entry = Entry { name: name.to_string(), lease, number };
            assert_eq!(entry.key(), key.as_bytes());
            assert_eq!(Entry::read(key.as_bytes()), Some(entry), "{key}");
        }
        for wrong in
            ["", "deploy", "deploy/", "deploy/+64", "deploy/064", "a/64#1", "a/64#", "a/xy"]
        {
            assert_eq!(Entry::read(wrong.as_bytes()), None, "{wrong}");
        }
        assert_eq!(Entry::read(b"a\xff/64"), None);
    }

    #[test]
    fn every_value_comes_back() {
        for value in [&b""[..], b"10.0.0.7:80", b"\xff\x00", b"\0base64,", b"\0base64,AA=="] {
            assert_eq!(value_of_text(value_to_text(value.to_vec())), value, "{value:?}");
        }
        assert_eq!(value_to_text(b"10.0.0.7:80".to_vec()), "10.0.0.7:80");
    }

    #[test]
    fn the_lease_of_an_owner_is_found_also_behind_a_role() {
        assert_eq!(lease_of(&owner(100)), Some(100));
        assert_eq!(lease_of(&format!("web/{}", owner(-3))), Some(-3));
        assert_eq!(lease_of("web1"), None);
    }
}
