//! Who is let in, and as whom.

use std::sync::Arc;

use axum::http::{HeaderMap, Request, header};
use subtle::ConstantTimeEq;

use super::error::RequestError;
use super::roles::{Client, Role};

/// Whether anybody may see it: how the node is, and the page with its files, which say
/// nothing of this machine.
pub(super) fn is_open(path: &str) -> bool {
    matches!(path, "/health" | "/ready" | "/live" | "/") || path.starts_with("/ui/")
}

/// How a connection came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Caller {
    /// By the Unix socket, as its owner.
    Owner,
    /// From the same machine, by plain TCP: perhaps a browser that a page of somebody else steers.
    Neighbour,
    /// With a certificate of the authority, of this name.
    Certified(Arc<str>),
    /// Otherwise.
    Stranger,
}

impl Caller {
    /// What it is called before it is let in.
    pub(super) fn name(&self) -> &str {
        match self {
            Caller::Certified(name) => name,
            _ => "unknown",
        }
    }
}

/// Why a request is not answered, and who sent it.
#[derive(Debug)]
pub(super) struct AuthError {
    /// The name under which it would have been let in, if it is known who it is.
    pub(super) client: Arc<str>,
    pub(super) refusal: Box<RequestError>,
}

impl From<AuthError> for RequestError {
    fn from(it: AuthError) -> Self {
        *it.refusal
    }
}

/// Lets those in who may come.
#[derive(Debug)]
pub(super) struct Auth {
    token: Option<String>,
    /// Who may do what; everybody everything if there are none.
    roles: Vec<Arc<Role>>,
}

impl Auth {
    pub(super) fn new(token: Option<String>, roles: &[Role]) -> Self {
        Auth { token, roles: roles.iter().cloned().map(Arc::new).collect() }
    }

    /// Who asks, if the request may be answered with the rights that `path` asks for.
    pub(super) fn admit<B>(
        &self,
        caller: &Caller,
        request: &Request<B>,
        path: &str,
    ) -> Result<Client, AuthError> {
        if is_open(path) {
            return Ok(Client::nobody());
        }
        let headers = request.headers();
        let found = match self.roles.is_empty() {
            true => self.admit_all(caller, headers),
            false => self.find(caller, headers),
        };
        let name = match &found {
            Ok(client) => Arc::clone(client.name()),
            Err(_) => caller.name().into(),
        };
        let admitted = refuse_foreign_pages(headers).and(found).and_then(|client| {
            client.check(request.method(), path)?;
            Ok(client)
        });
        admitted.map_err(|refusal| AuthError { client: name, refusal: Box::new(refusal) })
    }

    /// Who asks, as another node says that let it in. Where there are roles, whoever has none is somebody who
    /// may do everything there.
    ///
    /// # Errors
    /// If its role does not exist here.
    pub(super) fn passed_on(&self, name: &str, is_bound: bool) -> Result<Client, RequestError> {
        let may_all = self.roles.is_empty() || matches!(name, "token" | "unix");
        if !is_bound && may_all {
            return Ok(Client::free(name));
        }
        let role = self.roles.iter().find(|role| is_bound && role.name == name);
        role.map(Client::with).ok_or_else(|| RequestError::NoRole(name.to_string()))
    }

    /// Without roles, whoever is let in may do everything.
    fn admit_all(&self, caller: &Caller, headers: &HeaderMap) -> Result<Client, RequestError> {
        match (caller, &self.token) {
            (Caller::Certified(name), _) => Ok(Client::free(name)),
            (Caller::Owner, None) => Ok(Client::free("unix")),
            (_, Some(token)) if shows(headers, token) => Ok(Client::free("token")),
            (Caller::Neighbour, None) => {
                refuse_foreign_names(headers)?;
                Ok(Client::free("local"))
            }
            _ => Err(RequestError::Stranger),
        }
    }

    /// Whose certificate or token it is.
    fn find(&self, caller: &Caller, headers: &HeaderMap) -> Result<Client, RequestError> {
        if let Caller::Certified(name) = caller
            && let Some(role) = self.roles.iter().find(|role| role.is_of(name))
        {
            return Ok(Client::with(role));
        }
        let has_token =
            |role: &&Arc<Role>| role.token.as_ref().is_some_and(|token| shows(headers, token));
        if let Some(role) = self.roles.iter().find(has_token) {
            return Ok(Client::with(role));
        }
        match (caller, &self.token) {
            (_, Some(token)) if shows(headers, token) => Ok(Client::free("token")),
            // Whoever runs the node, or is root, can do more than this.
            (Caller::Owner, None) => Ok(Client::free("unix")),
            (Caller::Certified(name), _) => Err(RequestError::NoRole(name.to_string())),
            _ => Err(RequestError::Stranger),
        }
    }
}

/// A browser names the page that asks; only pages that this node served itself may.
fn refuse_foreign_pages(headers: &HeaderMap) -> Result<(), RequestError> {
    let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
    let site = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
    match (site, text(headers, header::HOST)) {
        (Some((_, site)), Some(host)) if site.eq_ignore_ascii_case(host) => Ok(()),
        _ => Err(RequestError::ForeignOrigin(
            String::from_utf8_lossy(origin.as_bytes()).into_owned(),
        )),
    }
}

/// A page whose own name has been pointed at this machine sends that name: addresses and localhost
/// cannot be pointed anywhere.
fn refuse_foreign_names(headers: &HeaderMap) -> Result<(), RequestError> {
    let Some(host) = headers.get(header::HOST) else { return Ok(()) };
    let given = String::from_utf8_lossy(host.as_bytes());
    let name = given.rsplit_once(':').filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
    let name = name.map_or(&*given, |(name, _)| name).to_ascii_lowercase();
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(&name);
    let fixed = bare.parse::<std::net::IpAddr>().is_ok();
    if fixed || name == "localhost" || name.ends_with(".localhost") {
        return Ok(());
    }
    Err(RequestError::ForeignHost(given.into_owned()))
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
        let auth = Auth::new(token.map(str::to_string), &[]);
        auth.admit(&caller, &asked("/v1/status", headers), "/v1/status").is_ok()
    }

    fn certified() -> Caller {
        Caller::Certified("alice".into())
    }

    #[test]
    fn without_a_token_only_strangers_stay_outside() {
        assert!(admitted(None, Caller::Owner, &[]));
        assert!(admitted(None, Caller::Neighbour, &[]));
        assert!(admitted(None, certified(), &[]));
        assert!(!admitted(None, Caller::Stranger, &[]));
        assert!(!admitted(None, Caller::Stranger, &[("authorization", "Bearer ")]));
    }

    #[test]
    fn a_token_is_asked_of_all_but_the_certified() {
        let right = [("authorization", "Bearer s3cret")];
        for caller in [Caller::Owner, Caller::Neighbour, Caller::Stranger] {
            assert!(admitted(Some("s3cret"), caller.clone(), &right), "{caller:?}");
            assert!(!admitted(Some("s3cret"), caller.clone(), &[]), "{caller:?}");
            for wrong in ["Bearer s3cre", "Bearer s3crett", "Basic s3cret", "s3cret", "Bearer"] {
                let shown = [("authorization", wrong)];
                assert!(!admitted(Some("s3cret"), caller.clone(), &shown), "{caller:?} {wrong}");
            }
        }
        assert!(admitted(Some("s3cret"), certified(), &[]));
    }

    #[test]
    fn pages_of_others_are_refused_however_they_come() {
        let own = [("host", "127.0.0.1:7470"), ("origin", "http://127.0.0.1:7470")];
        assert!(admitted(None, Caller::Neighbour, &own));
        for origin in ["http://evil.example", "null", "http://127.0.0.1:8000", ""] {
            let foreign = [("host", "127.0.0.1:7470"), ("origin", origin)];
            assert!(!admitted(None, Caller::Neighbour, &foreign), "{origin}");
            assert!(!admitted(None, certified(), &foreign), "{origin}");
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
        let auth = Auth::new(Some("t".into()), &[]);
        for path in ["/health", "/ready", "/live", "/", "/ui/main.js", "/ui/lib/dom.js"] {
            assert!(auth.admit(&Caller::Stranger, &asked(path, &[]), path).is_ok(), "{path}");
        }
        for path in ["/health/", "/ui", "/lab/about", "/lab/runs", "/v1/ui/main.js"] {
            assert!(auth.admit(&Caller::Stranger, &asked(path, &[]), path).is_err(), "{path}");
        }
    }

    #[test]
    fn roles_are_known_by_certificate_or_token_and_nobody_else_comes_in() {
        let role = |name: &str, token: Option<&str>, certificate: Option<&str>| Role {
            name: name.into(),
            token: token.map(str::to_string),
            certificate: certificate.map(str::to_string),
            lock: vec!["a/".into()],
            list: vec![],
            admin: false,
        };
        let roles = [role("web", Some("w"), None), role("ops", None, Some("alice"))];
        let auth = Auth::new(Some("all".into()), &roles);
        let come = |caller: Caller, token: &str| {
            let shown = format!("Bearer {token}");
            let request = asked("/v1/status", &[("authorization", shown.as_str())]);
            match auth.admit(&caller, &request, "/v1/status") {
                Ok(client) => client.name().to_string(),
                Err(denied) => denied.refusal.kind().1.to_string(),
            }
        };
        assert_eq!(come(certified(), ""), "ops");
        assert_eq!(come(Caller::Stranger, "w"), "web");
        assert_eq!(come(Caller::Neighbour, "all"), "token");
        assert_eq!(come(Caller::Neighbour, ""), "stranger");
        assert_eq!(come(Caller::Owner, "wrong"), "stranger");
        assert_eq!(come(Caller::Certified("bob".into()), ""), "permission-denied");
        assert_eq!(come(Caller::Certified("bob".into()), "w"), "web");
        let auth = Auth::new(None, &roles);
        let come = |caller: Caller, path: &str| auth.admit(&caller, &asked(path, &[]), path);
        assert!(come(Caller::Owner, "/v1/leave").is_ok());
        assert!(come(Caller::Neighbour, "/v1/status").is_err());
        assert!(come(certified(), "/v1/voters").is_err());
    }

    #[test]
    fn who_is_refused_is_named_as_who_is_let_in() {
        let role = Role {
            name: "ops".into(),
            token: Some("o".into()),
            certificate: Some("alice".into()),
            lock: vec![],
            list: vec![],
            admin: false,
        };
        let auth = Auth::new(None, &[role]);
        let token = ("authorization", "Bearer o");
        let foreign = [("origin", "http://evil.example"), token];
        for (caller, headers, name) in [
            (certified(), &[][..], "ops"),
            (Caller::Stranger, &[token], "ops"),
            (Caller::Stranger, &foreign, "ops"),
            (Caller::Certified("bob".into()), &[], "bob"),
            (Caller::Stranger, &[], "unknown"),
        ] {
            let denied =
                auth.admit(&caller, &asked("/v1/unlock", headers), "/v1/unlock").unwrap_err();
            assert_eq!(&*denied.client, name, "{caller:?} {headers:?}: {}", denied.refusal);
        }
    }
}
