//! What TLS does not tell of a certificate: whose it is, its number, and until when it is valid.

use std::net::IpAddr;

/// A certificate, as far as it is read here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// Its number at its authority, without leading zeros.
    pub serial: Vec<u8>,
    /// Whose it is: NAME of `client-NAME.pem` that `skeptron tls` made, `node-K` of a node, the common
    /// name of any other.
    pub name: String,
    /// The names and addresses that it is for.
    pub hosts: Vec<String>,
    /// From when on it is invalid, in seconds since 1970.
    pub not_after: u64,
}

/// What the common names begin with that `skeptron tls` gives.
pub const CLIENT: &str = "Skeptron client ";
/// The same for nodes.
pub const NODE: &str = "Skeptron node ";

/// The kinds of values that occur.
mod tag {
    pub(super) const INTEGER: u8 = 0x02;
    pub(super) const OCTETS: u8 = 0x04;
    pub(super) const OBJECT: u8 = 0x06;
    pub(super) const UTC: u8 = 0x17;
    pub(super) const GENERALIZED: u8 = 0x18;
    pub(super) const SEQUENCE: u8 = 0x30;
    pub(super) const SET: u8 = 0x31;
    pub(super) const HOST: u8 = 0x82;
    pub(super) const ADDRESS: u8 = 0x87;
    pub(super) const VERSION: u8 = 0xa0;
    pub(super) const EXTENSIONS: u8 = 0xa3;
}

const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
const ALTERNATIVE_NAMES: &[u8] = &[0x55, 0x1d, 0x11];

impl Certificate {
    /// Reads it; none if it is none.
    #[must_use]
    pub fn read(der: &[u8]) -> Option<Self> {
        let mut certificate = Values(der).enter(tag::SEQUENCE)?.enter(tag::SEQUENCE)?;
        certificate.skip(tag::VERSION);
        let serial = without_zeros(certificate.take(tag::INTEGER)?);
        let [_algorithm, _issuer] = [(); 2].map(|()| certificate.take(tag::SEQUENCE));
        let mut validity = certificate.enter(tag::SEQUENCE)?;
        validity.next()?;
        let not_after = seconds(validity.next()?)?;
        let name = common_name(certificate.enter(tag::SEQUENCE)?).unwrap_or_default();
        let mut hosts = Vec::new();
        while let Some((kind, body)) = certificate.next() {
            if kind == tag::EXTENSIONS {
                hosts = alternative_names(Values(body).enter(tag::SEQUENCE)?).unwrap_or_default();
            }
        }
        let name = match (name.strip_prefix(CLIENT), name.strip_prefix(NODE)) {
            (Some(client), _) => client.to_string(),
            (None, Some(node)) => format!("node-{}", node.trim_start_matches('P')),
            (None, None) => name,
        };
        Some(Certificate { serial, name, hosts, not_after })
    }

    /// Its number in hexadecimal digits.
    #[must_use]
    pub fn serial_text(&self) -> String {
        self.serial.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The numbers in a list of revoked certificates; none if it is no such list.
#[must_use]
pub fn revoked_serials(der: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut list = Values(der).enter(tag::SEQUENCE)?.enter(tag::SEQUENCE)?;
    list.skip(tag::INTEGER);
    let [_algorithm, _issuer] = [(); 2].map(|()| list.take(tag::SEQUENCE));
    for kind in [tag::UTC, tag::GENERALIZED].repeat(2) {
        list.skip(kind);
    }
    let Some(mut entries) = list.enter(tag::SEQUENCE) else { return Some(Vec::new()) };
    let mut serials = Vec::new();
    while !entries.0.is_empty() {
        serials.push(without_zeros(entries.enter(tag::SEQUENCE)?.take(tag::INTEGER)?));
    }
    Some(serials)
}

/// Values in DER, one after the other.
#[derive(Clone, Copy)]
struct Values<'a>(&'a [u8]);

impl<'a> Values<'a> {
    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&kind, rest) = self.0.split_first()?;
        let (&first, rest) = rest.split_first()?;
        let (length, rest) = if first < 0x80 {
            (usize::from(first), rest)
        } else {
            let digits = usize::from(first & 0x7f);
            let (digits, rest) = rest.split_at_checked(digits)?;
            if digits.is_empty() || digits.len() > 4 {
                return None;
            }
            (digits.iter().fold(0, |length, &digit| length << 8 | usize::from(digit)), rest)
        };
        let (body, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((kind, body))
    }

    /// The next value, which must be of this kind.
    fn take(&mut self, kind: u8) -> Option<&'a [u8]> {
        let mut ahead = *self;
        let (found, body) = ahead.next()?;
        (found == kind).then(|| {
            *self = ahead;
            body
        })
    }

    fn enter(&mut self, kind: u8) -> Option<Values<'a>> {
        self.take(kind).map(Values)
    }

    /// Passes over the next value if it is of this kind.
    fn skip(&mut self, kind: u8) {
        self.take(kind);
    }
}

fn without_zeros(number: &[u8]) -> Vec<u8> {
    number.iter().copied().skip_while(|&byte| byte == 0).collect()
}

fn common_name(mut subject: Values<'_>) -> Option<String> {
    loop {
        let mut pair = subject.enter(tag::SET)?.enter(tag::SEQUENCE)?;
        if pair.take(tag::OBJECT)? == COMMON_NAME {
            let (_, text) = pair.next()?;
            return Some(String::from_utf8_lossy(text).into_owned());
        }
    }
}

fn alternative_names(mut extensions: Values<'_>) -> Option<Vec<String>> {
    loop {
        let mut extension = extensions.enter(tag::SEQUENCE)?;
        if extension.take(tag::OBJECT)? != ALTERNATIVE_NAMES {
            continue;
        }
        let mut last = extension.next()?;
        while last.0 != tag::OCTETS {
            last = extension.next()?;
        }
        let mut names = Values(last.1).enter(tag::SEQUENCE)?;
        let mut hosts = Vec::new();
        while let Some((kind, body)) = names.next() {
            match kind {
                tag::HOST => hosts.push(String::from_utf8_lossy(body).into_owned()),
                tag::ADDRESS => hosts.extend(address(body).map(|address| address.to_string())),
                _ => {}
            }
        }
        return Some(hosts);
    }
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    let four = <[u8; 4]>::try_from(bytes).map(IpAddr::from).ok();
    four.or_else(|| <[u8; 16]>::try_from(bytes).map(IpAddr::from).ok())
}

/// A date as seconds since 1970; none before that.
fn seconds((kind, text): (u8, &[u8])) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    let (year, rest) = match kind {
        tag::UTC => text.split_at_checked(2)?,
        tag::GENERALIZED => text.split_at_checked(4)?,
        _ => return None,
    };
    let mut year: i64 = year.parse().ok()?;
    if kind == tag::UTC {
        year += if year < 50 { 2000 } else { 1900 };
    }
    let part = |at: usize| rest.get(at..at + 2)?.parse::<i64>().ok();
    let (month, day) = (part(0)?, part(2)?);
    // Years that begin in March have their odd day at the end.
    let (from_march, year) = ((month + 9) % 12, if month < 3 { year - 1 } else { year });
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * from_march + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    let of_day = part(4)? * 3600 + part(6)? * 60 + part(8)?;
    u64::try_from(days * 86_400 + of_day).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_as_they_are_written() {
        for (kind, text, expected) in [
            (tag::UTC, "700101000000Z", Some(0)),
            (tag::UTC, "000301120000Z", Some(951_912_000)),
            (tag::UTC, "240229235959Z", Some(1_709_251_199)),
            (tag::GENERALIZED, "20500101000000Z", Some(2_524_608_000)),
            (tag::UTC, "690101000000Z", Some(3_124_224_000)),
            (tag::UTC, "240229235959", None),
            (tag::UTC, "2402Z", None),
            (tag::INTEGER, "240229235959Z", None),
        ] {
            // Two digits below 50 are of this century, the others of the last.
            let expected = if text.starts_with("69") { None } else { expected };
            assert_eq!(seconds((kind, text.as_bytes())), expected, "{text}");
        }
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let mut params = rcgen::CertificateParams::new(["a.example".to_string()]).unwrap();
        params.distinguished_name.push(rcgen::DnType::CommonName, "Skeptron client alice");
        let made = params.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap();
        let der = made.der().to_vec();
        let read = Certificate::read(&der).unwrap();
        assert_eq!((read.name.as_str(), read.hosts), ("alice", vec!["a.example".to_string()]));
        for place in 0..der.len() {
            for byte in [0, 0x7f, 0x80, 0x84, 0xff] {
                let mut wrong = der.clone();
                wrong[place] = byte;
                let _ = Certificate::read(&wrong);
                let _ = revoked_serials(&wrong);
                let _ = Certificate::read(&wrong[..place]);
            }
        }
    }
}
