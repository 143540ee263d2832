//! Where a node's API is.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use thiserror::Error;

/// The port of a node's API where none is said.
const USUAL_PORT: u16 = 7470;

/// That is no endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is not an endpoint; use http://127.0.0.1:7470, https://HOST:PORT or unix:PATH")]
pub struct InvalidEndpoint(pub(crate) String);

/// Where a node's API is: `http://HOST:PORT`, `https://HOST:PORT` or `unix:PATH`; `HOST` or `HOST:PORT`
/// alone is plain HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// Plain HTTP, at `HOST:PORT`.
    Http(String),
    /// HTTP over TLS, at `HOST:PORT`.
    Https(String),
    /// A Unix socket.
    Unix(PathBuf),
}

impl FromStr for Endpoint {
    type Err = InvalidEndpoint;

    fn from_str(text: &str) -> Result<Self, InvalidEndpoint> {
        let endpoint = match text.split_once(':') {
            Some(("http", rest)) => address(rest).map(Endpoint::Http),
            Some(("https", rest)) => address(rest).map(Endpoint::Https),
            Some(("unix", rest)) => path(rest).map(Endpoint::Unix),
            _ => authority(text).map(Endpoint::Http),
        };
        endpoint.ok_or_else(|| InvalidEndpoint(text.to_string()))
    }
}

impl Endpoint {
    /// Whether this text says only where, not how: `HOST` or `HOST:PORT`.
    #[must_use]
    pub fn is_bare(text: &str) -> bool {
        let scheme = text.split_once(':').map(|(scheme, _)| scheme);
        !matches!(scheme, Some("http" | "https" | "unix")) && authority(text).is_some()
    }

    /// The same node, over TLS; a Unix socket has none.
    #[must_use]
    pub fn over_tls(self) -> Self {
        match self {
            Endpoint::Http(address) => Endpoint::Https(address),
            other => other,
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Http(address) => write!(f, "http://{address}"),
            Endpoint::Https(address) => write!(f, "https://{address}"),
            Endpoint::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Whether `HOST:PORT` is of the loopback interface, without asking the network.
#[must_use]
pub fn is_loopback(address: &str) -> bool {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// `HOST:PORT` of `//HOST[:PORT][/]`.
fn address(rest: &str) -> Option<String> {
    let rest = rest.strip_prefix("//")?;
    authority(rest.strip_suffix('/').unwrap_or(rest))
}

/// `HOST:PORT` of `HOST[:PORT]`.
fn authority(authority: &str) -> Option<String> {
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port.parse().ok().filter(|&p| p > 0)?),
        _ => (authority, USUAL_PORT),
    };
    is_host(host).then(|| format!("{host}:{port}"))
}

fn is_host(host: &str) -> bool {
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    match address {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => {
            let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
            !host.is_empty() && host.bytes().all(plain)
        }
    }
}

/// A path, also as `//PATH`.
fn path(rest: &str) -> Option<PathBuf> {
    let path = rest.strip_prefix("//").unwrap_or(rest);
    (!path.is_empty()).then(|| path.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_read() {
        let cases = [
            ("http://127.0.0.1:7470", Endpoint::Http("127.0.0.1:7470".into())),
            ("http://localhost", Endpoint::Http("localhost:7470".into())),
            ("http://[::1]:80/", Endpoint::Http("[::1]:80".into())),
            ("http://[::1]", Endpoint::Http("[::1]:7470".into())),
            ("https://a-b.example:1", Endpoint::Https("a-b.example:1".into())),
            ("unix:/run/skeptron.sock", Endpoint::Unix("/run/skeptron.sock".into())),
            ("unix:///run/skeptron.sock", Endpoint::Unix("/run/skeptron.sock".into())),
            ("unix:here", Endpoint::Unix("here".into())),
            ("127.0.0.1:7471", Endpoint::Http("127.0.0.1:7471".into())),
            ("node1", Endpoint::Http("node1:7470".into())),
            ("[::1]", Endpoint::Http("[::1]:7470".into())),
        ];
        for (text, endpoint) in cases {
            assert_eq!(text.parse(), Ok(endpoint), "{text}");
        }
    }

    #[test]
    fn an_endpoint_survives_its_text() {
        for text in ["http://h:1", "https://[::1]:2", "unix:/x"] {
            assert_eq!(text.parse::<Endpoint>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn where_without_how_may_become_tls() {
        for bare in ["node1", "127.0.0.1:7470", "[::1]:80"] {
            assert!(Endpoint::is_bare(bare), "{bare}");
        }
        for full in ["http://node1", "https://node1", "unix:/x", "unix:here", "http:", "a b"] {
            assert!(!Endpoint::is_bare(full), "{full}");
        }
        let endpoint: Endpoint = "node1".parse().unwrap();
        assert_eq!(endpoint.over_tls(), Endpoint::Https("node1:7470".into()));
    }

    #[test]
    fn what_is_no_endpoint_says_what_one_looks_like() {
        let wrong = [
            "",
            "node1:7470/",
            "http:",
            "http://",
            "http://:80",
            "http://h:0",
            "http://h:70000",
            "http://h:x",
            "http://h:1/path",
            "http://user@h:1",
            "ftp://h",
            "unix:",
            "http://[::g]:1",
            "http://::1",
            "http://h h",
        ];
        for text in wrong {
            let error = text.parse::<Endpoint>().expect_err(text).to_string();
            assert!(error.contains("http://127.0.0.1:7470"), "{error}");
        }
    }
}
