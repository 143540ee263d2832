//! Links with certificates that are not what they should be.

use std::path::Path;

use super::*;
use crate::tls::{Authority, Callers, Identity, TlsError};
use skeptron_member::report::LinkState;

fn made(folder: &Path, cluster: &str) -> Authority {
    let authority = Authority::init(folder, cluster, false).unwrap();
    for node in (0..2).map(MemberId::at) {
        authority.issue_node(node, &["db.example".into(), "10.0.0.1".into()], false).unwrap();
    }
    authority.issue_client("backup", false).unwrap();
    authority
}

/// P1 and P2 with these identities; why P2 has no link, if it has none after a while.
async fn trouble(first: Identity, second: Identity) -> Option<String> {
    let identities = [first, second];
    let all = links_of(2, |config| {
        config.security = Security::Tls(identities[config.node.place()].clone());
    });
    let inboxes: Vec<Arc<dyn Inbox>> = (0..2).map(|_| Notebook::new(2) as Arc<dyn Inbox>).collect();
    for (links, inbox) in all.iter().zip(&inboxes) {
        links.start(inbox);
    }
    let member = || all[1].members().remove(0);
    until("it is decided", || {
        let unknown = member().trouble.is_some_and(|trouble| trouble == "not connected yet");
        member().link == LinkState::Up || !unknown
    })
    .await;
    member().trouble
}

#[tokio::test]
async fn only_the_right_node_with_a_certificate_of_the_right_authority_is_let_in() {
    let (here, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    made(here.path(), "here");
    made(elsewhere.path(), "elsewhere");
    let read = |name: &str| Identity::read(here.path(), name).unwrap();
    let strange = Identity::read(elsewhere.path(), "node-2").unwrap();
    assert_eq!(trouble(read("node-1"), read("node-2")).await, None);
    let other_node = trouble(read("node-1"), read("node-1")).await.unwrap();
    assert!(other_node.contains("certificate of another node"), "{other_node}");
    let client = trouble(read("node-1"), read("client-backup")).await.unwrap();
    assert!(client.contains("certificate"), "{client}");
    let wrong_server = trouble(read("node-2"), read("node-2")).await.unwrap();
    assert!(wrong_server.contains("certificate"), "{wrong_server}");
    let stranger = trouble(read("node-1"), strange).await.unwrap();
    assert!(stranger.contains("certificate"), "{stranger}");
}

#[test]
fn an_authority_is_opened_again_and_replaces_nothing_unasked() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(Authority::open(folder.path()), Err(TlsError::NoAuthority { .. })));
    made(folder.path(), "here");
    let again = Authority::init(folder.path(), "here", false);
    assert!(matches!(again, Err(TlsError::Exists { .. })));
    let authority = Authority::open(folder.path()).unwrap();
    assert!(matches!(
        authority.issue_node(MemberId::at(0), &[], false),
        Err(TlsError::Exists { .. })
    ));
    authority.issue_node(MemberId::at(2), &[], false).unwrap();
    let third = Identity::read(folder.path(), "node-3").unwrap();
    third.server_config(Callers::Certified).unwrap();
    third.server_config(Callers::Anybody).unwrap();
    third.client_config().unwrap();
    authority.issue_node(MemberId::at(2), &[], true).unwrap();
    assert_ne!(Identity::read(folder.path(), "node-3").unwrap().key, third.key);
    assert!(matches!(authority.issue_client("../x", false), Err(TlsError::Name { .. })));
    assert!(!format!("{third:?}").contains("PRIVATE"));
}

#[cfg(unix)]
#[test]
fn only_the_owner_reads_keys() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    made(folder.path(), "here");
    for name in ["ca.key", "node-1.key", "client-backup.key"] {
        let rights = std::fs::metadata(folder.path().join(name)).unwrap().permissions();
        assert_eq!(rights.mode() & 0o777, 0o600, "{name}");
    }
}

#[test]
fn what_is_no_good_is_named() {
    let folder = tempfile::tempdir().unwrap();
    made(folder.path(), "here");
    let missing = Identity::read(folder.path(), "node-9").unwrap_err().to_string();
    assert!(missing.contains("node-9.pem"), "{missing}");
    let good = Identity::read(folder.path(), "node-1").unwrap();
    let no_key = Identity { key: "nothing".into(), ..good.clone() };
    let error = no_key.client_config().unwrap_err().to_string();
    assert!(error.starts_with("the key is invalid"), "{error}");
    let no_authority = Identity { authority: String::new(), ..good };
    let error = no_authority.server_config(Callers::Certified).unwrap_err().to_string();
    assert!(error.starts_with("the authority's certificate is invalid"), "{error}");
}

#[tokio::test]
async fn a_revoked_node_is_let_in_nowhere_and_calls_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let authority = made(folder.path(), "here");
    let read = |name: &str| Identity::read(folder.path(), name).unwrap();
    let (first, second) = (read("node-1"), read("node-2"));
    authority.revoke(&[authority.issued().read("node-2").unwrap().serial]).unwrap();
    read("node-1").check().unwrap();
    assert!(read("node-2").check().is_err(), "it would refuse itself");
    let trouble_of_second = trouble(read("node-1"), second.clone()).await.unwrap();
    assert!(trouble_of_second.contains("evoked"), "{trouble_of_second}");
    authority.renew("node-2").unwrap();
    assert_eq!(
        authority.issued().read("node-2").unwrap().hosts[1..],
        authority.issued().read("node-1").unwrap().hosts[1..]
    );
    assert_eq!(trouble(read("node-1"), read("node-2")).await, None);
    // The list grows, and whoever calls looks at it, too.
    authority.revoke(&[authority.issued().read("node-1").unwrap().serial]).unwrap();
    let trouble_of_caller = trouble(first, read("node-2")).await.unwrap();
    assert!(trouble_of_caller.contains("evoked"), "{trouble_of_caller}");
    assert!(trouble(read("node-2"), second).await.is_some(), "the first is still on it");
}
