//! What a client may do: which locks it may take, which it may see, and whether it may give orders.

use std::fmt;
use std::sync::{Arc, OnceLock};

use axum::http::Method;

use super::error::{ErrorResponse, RequestError};

/// A kind of client, known by its certificate or its token, and what it may do.
#[derive(Clone, PartialEq, Eq)]
pub struct Role {
    /// What it is called where its locks are shown.
    pub name: String,
    /// Whoever shows this token has the role.
    pub token: Option<String>,
    /// Whoever shows the certificate of this name has the role: NAME of `client-NAME.pem`.
    pub certificate: Option<String>,
    /// How the names of locks begin that it may take; `*` for all.
    pub lock: Vec<String>,
    /// How the names of locks begin that it may see; `*` for all.
    pub list: Vec<String>,
    /// Whether it may give orders to the node and to the voters.
    pub admin: bool,
}

/// The token is nobody's business.
impl fmt::Debug for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Role").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Role {
    pub(super) fn is_of(&self, certificate: &str) -> bool {
        self.certificate.as_deref() == Some(certificate)
    }
}

/// Whether one of these beginnings is one of this name's.
fn covers(prefixes: &[String], name: &str) -> bool {
    prefixes.iter().any(|prefix| prefix == "*" || name.starts_with(prefix.as_str()))
}

/// What a path asks of a role. What is not known here asks for the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    /// Any role will do.
    Nothing,
    /// To take some locks.
    Lock,
    /// To see some locks.
    List,
    /// To see some locks, or to give orders.
    Sessions,
    /// To see all.
    ListAll,
    /// To give orders.
    Admin,
}

/// How paths begin at which a front end of another node performs what was passed on to it; no client gets there.
pub(super) const RELAYED: &str = "/relayed/";

fn needs(method: &Method, path: &str) -> Needs {
    match path {
        "/v1/status" | "/metrics" | "/openapi.json" => Needs::Nothing,
        "/v1/sessions" if method == Method::GET => Needs::Sessions,
        "/v1/acquire" | "/v1/release" | "/v1/downgrade" | "/v1/sessions" => Needs::Lock,
        "/v1/campaign" | "/v1/proclaim" | "/v1/resign" => Needs::Lock,
        "/v1/locks" | "/v1/events" | "/v1/leader" | "/v1/observe" => Needs::List,
        path if path.starts_with("/v1/sessions/") || path.starts_with(RELAYED) => Needs::Lock,
        path if path.starts_with("/lab/") && method == Method::GET => Needs::ListAll,
        _ => Needs::Admin,
    }
}

/// Whether it is an act of an administrator.
pub(super) fn is_order(method: &Method, path: &str) -> bool {
    let is_act = !matches!(*method, Method::GET | Method::HEAD);
    let about_cluster = path.starts_with("/v1/") || path.starts_with("/lab/cluster/");
    is_act && about_cluster && needs(method, path) == Needs::Admin
}

/// Who sent a request. It goes with every request that was let in.
#[derive(Clone, Debug)]
pub struct Client {
    name: Arc<str>,
    /// None for somebody who may do everything.
    role: Option<Arc<Role>>,
    /// Why the request got nothing, if its answer cannot say so to those who count.
    refused: Arc<OnceLock<ErrorResponse>>,
}

impl Client {
    /// Somebody who was not asked who it is.
    pub(super) fn nobody() -> Self {
        Client::free("nobody")
    }

    /// Somebody of this name who may do everything.
    pub(super) fn free(name: &str) -> Self {
        Client { name: name.into(), role: None, refused: Arc::default() }
    }

    pub(super) fn with(role: &Arc<Role>) -> Self {
        let (name, role) = (role.name.as_str().into(), Some(Arc::clone(role)));
        Client { name, role, refused: Arc::default() }
    }

    /// Its request gets nothing, for this reason.
    pub(super) fn note(&self, refused: &ErrorResponse) {
        let _ = self.refused.set(refused.clone());
    }

    /// Why its request got nothing, if that was noted.
    pub(super) fn noted(&self) -> Option<&ErrorResponse> {
        self.refused.get()
    }

    /// Under which name it is counted and shown.
    pub(super) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Whether it may ask for this path at all.
    ///
    /// # Errors
    /// If not.
    pub(super) fn check(&self, method: &Method, path: &str) -> Result<(), RequestError> {
        let Some(role) = &self.role else { return Ok(()) };
        let (may, what) = match needs(method, path) {
            Needs::Nothing => (true, ""),
            Needs::Lock => (!role.lock.is_empty(), "take locks"),
            Needs::List => (!role.list.is_empty(), "see locks"),
            Needs::Sessions => (!role.list.is_empty() || role.admin, "see sessions"),
            Needs::ListAll => (covers(&role.list, ""), "see all locks"),
            Needs::Admin => (role.admin, "give orders"),
        };
        if may { Ok(()) } else { Err(self.denied(what.to_string())) }
    }

    /// Whether it may take this lock.
    ///
    /// # Errors
    /// If not.
    pub(super) fn may_lock(&self, name: &str) -> Result<(), RequestError> {
        match &self.role {
            Some(role) if !covers(&role.lock, name) => {
                Err(self.denied(format!("take the lock `{name}`")))
            }
            _ => Ok(()),
        }
    }

    /// Whether it may see this lock.
    pub(super) fn may_see(&self, name: &str) -> bool {
        self.role.as_ref().is_none_or(|role| covers(&role.list, name))
    }

    /// Whether it may see any lock whose name begins like that.
    ///
    /// # Errors
    /// If not.
    pub(super) fn may_list(&self, prefix: &str) -> Result<(), RequestError> {
        match self.visible(prefix).is_empty() {
            false => Ok(()),
            true => Err(self.denied(format!("see locks that begin with `{prefix}`"))),
        }
    }

    /// Beginnings of names, in order, that cover exactly what it may see of those that begin like that,
    /// each name once.
    pub(super) fn visible(&self, prefix: &str) -> Vec<String> {
        let Some(role) = self.role.as_ref().filter(|role| !covers(&role.list, prefix)) else {
            return vec![prefix.to_string()];
        };
        let mut below: Vec<&String> =
            role.list.iter().filter(|seen| seen.starts_with(prefix)).collect();
        below.sort_unstable();
        let mut visible: Vec<String> = Vec::new();
        for seen in below {
            if visible.last().is_none_or(|last| !seen.starts_with(last.as_str())) {
                visible.push(seen.clone());
            }
        }
        visible
    }

    /// Whether it may see every session, also one that has nothing.
    pub(super) fn sees_all_sessions(&self) -> bool {
        self.role.as_ref().is_none_or(|role| role.admin || covers(&role.list, ""))
    }

    /// As whom its locks are shown: what it claims, after what is known if anything is.
    pub(super) fn owner(&self, claimed: String) -> String {
        match (&self.role, claimed.is_empty()) {
            (None, _) => claimed,
            (Some(role), true) => role.name.clone(),
            (Some(role), false) => format!("{}/{claimed}", role.name),
        }
    }

    /// Whether it has a role.
    pub(super) fn is_bound(&self) -> bool {
        self.role.is_some()
    }

    pub(super) fn denied(&self, what: String) -> RequestError {
        RequestError::PermissionDenied { client: self.name.to_string(), what }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(lock: &[&str], list: &[&str], admin: bool) -> Client {
        let texts = |all: &[&str]| all.iter().map(|text| text.to_string()).collect();
        Client::with(&Arc::new(Role {
            name: "alice".into(),
            token: None,
            certificate: None,
            lock: texts(lock),
            list: texts(list),
            admin,
        }))
    }

    #[test]
    fn prefixes_cover_what_begins_like_them() {
        let alice = client(&["deploy/", "db"], &["deploy/web/"], false);
        for (name, may) in [("deploy/a", true), ("deploy", false), ("db", true), ("dbx", true)] {
            assert_eq!(alice.may_lock(name).is_ok(), may, "{name}");
        }
        for (prefix, may) in [("", true), ("deploy/", true), ("deploy/web/a", true), ("d/", false)]
        {
            assert_eq!(alice.may_list(prefix).is_ok(), may, "{prefix}");
        }
        assert!(alice.may_see("deploy/web/1") && !alice.may_see("deploy/a"));
        let bob = client(&[], &["b/x/", "b/", "a"], false);
        for (prefix, visible) in
            [("", &["a", "b/"][..]), ("b", &["b/"]), ("b/x/y", &["b/x/y"]), ("c", &[])]
        {
            assert_eq!(bob.visible(prefix), visible, "{prefix}");
        }
        assert_eq!(alice.owner("ci".into()), "alice/ci");
        assert_eq!(alice.owner(String::new()), "alice");
        assert_eq!(Client::free("token").owner("ci".into()), "ci");
    }

    #[test]
    fn an_unknown_path_is_for_administrators() {
        let (get, post) = (Method::GET, Method::POST);
        let orders =
            ["/v1/voters", "/v1/leave", "/v1/drain", "/v1/unlock", "/v1/more", "/lab/cluster/act"];
        for path in orders {
            assert!(client(&["*"], &["*"], false).check(&post, path).is_err(), "{path}");
            assert!(client(&[], &[], true).check(&post, path).is_ok(), "{path}");
            assert!(is_order(&post, path) && !is_order(&get, path), "{path}");
        }
        assert!(client(&[], &[], false).check(&get, "/v1/status").is_ok());
        assert!(client(&[], &["*"], true).check(&post, "/v1/acquire").is_err());
        assert!(client(&["a"], &[], true).check(&get, "/v1/events").is_err());
        for (lock, list, admin, may) in [
            (&["a"][..], &[][..], false, false),
            (&[], &["a"], false, true),
            (&[], &[], true, true),
        ] {
            assert_eq!(client(lock, list, admin).check(&get, "/v1/sessions").is_ok(), may);
        }
        assert!(client(&["a"], &["a"], true).check(&get, "/lab/cluster").is_err());
        assert!(client(&[], &["*"], true).check(&post, "/v1/campaign").is_err());
        assert!(client(&["a"], &[], true).check(&get, "/v1/observe").is_err());
        assert!(!is_order(&post, "/v1/acquire"));
    }
}
