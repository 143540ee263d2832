//! Who is let in.

use axum::http::{HeaderMap, Request, header};
use subtle::ConstantTimeEq;

use super::refusal::Refusal;

/// Whether anybody may see it: whether the node is well, and the page with its files, which say
/// nothing of this machine.
fn is_open(path: &str) -> bool {
    path == "/health" || path == "/" || path.starts_with("/ui/")
}

/// How a connection came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Caller {
    /// By the Unix socket, as its owner.
    Owner,
    /// From the same machine, by plain TCP: perhaps a browser that a page of somebody else steers.
    Neighbour,
    /// With a certificate of the authority.
    Certified,
    /// Otherwise.
    Stranger,
}

/// Lets those in who may come.
#[derive(Debug)]
pub(super) struct Door {
    token: Option<String>,
}

impl Door {
    pub(super) fn new(token: Option<String>) -> Self {
        Door { token }
    }

    /// Whether the request may be answered.
    pub(super) fn admit<B>(&self, caller: Caller, request: &Request<B>) -> Result<(), Refusal> {
        if is_open(request.uri().path()) {
            return Ok(());
        }
        let headers = request.headers();
        refuse_foreign_pages(headers)?;
        match (caller, &self.token) {
            (Caller::Certified, _) | (Caller::Owner, None) => Ok(()),
            (_, Some(token)) if shows(headers, token) => Ok(()),
            (Caller::Neighbour, None) => refuse_foreign_names(headers),
            _ => Err(Refusal::Stranger),
        }
    }
}

/// A browser names the page that asks; only pages that this node served itself may.
fn refuse_foreign_pages(headers: &HeaderMap) -> Result<(), Refusal> {
    let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
    let site = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
    match (site, text(headers, header::HOST)) {
        (Some((_, site)), Some(host)) if site.eq_ignore_ascii_case(host) => Ok(()),
        _ => Err(Refusal::ForeignOrigin(String::from_utf8_lossy(origin.as_bytes()).into_owned())),
    }
}

/// A page whose own name has been pointed at this machine sends that name: addresses and localhost
/// cannot be pointed anywhere.
fn refuse_foreign_names(headers: &HeaderMap) -> Result<(), Refusal> {
    let Some(host) = headers.get(header::HOST) else { return Ok(()) };
    let given = String::from_utf8_lossy(host.as_bytes());
    let name = given.rsplit_once(':').filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
    let name = name.map_or(&*given, |(name, _)| name).to_ascii_lowercase();
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(&name);
    let fixed = bare.parse::<std::net::IpAddr>().is_ok();
    if fixed || name == "localhost" || name.ends_with(".localhost") {
        return Ok(());
    }
    Err(Refusal::ForeignHost(given.into_owned()))
}

/// Whether the headers show this token; how long that takes tells nothing of it but its length.
fn shows(headers: &HeaderMap, token: &str) -> bool {
    let shown = text(headers, header::AUTHORIZATION).and_then(|value| value.split_once(' '));
    shown.is_some_and(|(scheme, shown)| {
        scheme.eq_ignore_ascii_case("bearer")
            && shown.trim().as_bytes().ct_eq(token.as_bytes()).into()
    })
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(path: &str, headers: &[(&str, &str)]) -> Request<()> {
        let request =
            headers.iter().fold(Request::get(path), |r, &(name, value)| r.header(name, value));
        request.body(()).unwrap()
    }

    fn admitted(token: Option<&str>, caller: Caller, headers: &[(&str, &str)]) -> bool {
        let door = Door::new(token.map(str::to_string));
        door.admit(caller, &asked("/v1/status", headers)).is_ok()
    }

    #[test]
    fn without_a_token_only_strangers_stay_outside() {
        assert!(admitted(None, Caller::Owner, &[]));
        assert!(admitted(None, Caller::Neighbour, &[]));
        assert!(admitted(None, Caller::Certified, &[]));
        assert!(!admitted(None, Caller::Stranger, &[]));
        assert!(!admitted(None, Caller::Stranger, &[("authorization", "Bearer ")]));
    }

    #[test]
    fn a_token_is_asked_of_all_but_the_certified() {
        let right = [("authorization", "Bearer s3cret")];
        for caller in [Caller::Owner, Caller::Neighbour, Caller::Stranger] {
            assert!(admitted(Some("s3cret"), caller, &right), "{caller:?}");
            assert!(!admitted(Some("s3cret"), caller, &[]), "{caller:?}");
            for wrong in ["Bearer s3cre", "Bearer s3crett", "Basic s3cret", "s3cret", "Bearer"] {
                let shown = [("authorization", wrong)];
                assert!(!admitted(Some("s3cret"), caller, &shown), "{caller:?} {wrong}");
            }
        }
        assert!(admitted(Some("s3cret"), Caller::Certified, &[]));
    }

    #[test]
    fn pages_of_others_are_refused_however_they_come() {
        let own = [("host", "127.0.0.1:7470"), ("origin", "http://127.0.0.1:7470")];
        assert!(admitted(None, Caller::Neighbour, &own));
        for origin in ["http://evil.example", "null", "http://127.0.0.1:8000", ""] {
            let foreign = [("host", "127.0.0.1:7470"), ("origin", origin)];
            assert!(!admitted(None, Caller::Neighbour, &foreign), "{origin}");
            assert!(!admitted(None, Caller::Certified, &foreign), "{origin}");
        }
    }

    #[test]
    fn names_that_others_may_point_here_are_refused() {
        for host in ["127.0.0.1:7470", "[::1]:7470", "[::1]", "localhost", "a.localhost:1"] {
            assert!(admitted(None, Caller::Neighbour, &[("host", host)]), "{host}");
        }
        for host in
            ["evil.example:7470", "evil.example", "localhost.evil.example", "xlocalhost", ""]
        {
            assert!(!admitted(None, Caller::Neighbour, &[("host", host)]), "{host}");
        }
        let known = [("host", "node.example"), ("authorization", "Bearer t")];
        assert!(admitted(Some("t"), Caller::Neighbour, &known));
    }

    #[test]
    fn health_and_the_page_are_open_to_all() {
        let door = Door::new(Some("t".into()));
        for path in ["/health", "/", "/ui/main.js", "/ui/lib/dom.js"] {
            assert!(door.admit(Caller::Stranger, &asked(path, &[])).is_ok(), "{path}");
        }
        for path in ["/health/", "/ui", "/lab/about", "/lab/runs", "/v1/ui/main.js"] {
            assert!(door.admit(Caller::Stranger, &asked(path, &[])).is_err(), "{path}");
        }
    }
}
