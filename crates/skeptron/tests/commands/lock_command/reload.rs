//! A node that runs gets new certificates, a list of revoked ones and another level of logs by HUP.

use std::fs;
use std::path::Path;

use nix::sys::signal::Signal;

use crate::lock_command::node::{free_addresses, ready, run};
use crate::lock_command::processes::{Ended, Process, eventually, skeptron};

struct Reloaded {
    folder: tempfile::TempDir,
    url: String,
}

impl Reloaded {
    fn certs(&self) -> String {
        self.folder.path().join("certs").to_str().unwrap().to_string()
    }

    fn lock_as(&self, client: &str) -> Ended {
        // Each client has a folder of its own, as on its own machine.
        let own = self.folder.path().join(client);
        if !own.exists() {
            fs::create_dir(&own).unwrap();
            for file in [
                "ca.pem".to_string(),
                format!("client-{client}.pem"),
                format!("client-{client}.key"),
            ] {
                fs::copy(Path::new(&self.certs()).join(&file), own.join(&file)).unwrap();
            }
        }
        let own = own.to_str().unwrap();
        run(&["lock", "a", "--endpoint", &self.url, "--tls", own, "--wait", "20s", "--", "true"])
    }
}

#[test]
fn a_hangup_reads_certificates_revocations_and_the_log_level_again() {
    let folder = tempfile::tempdir().unwrap();
    let certs = folder.path().join("certs");
    let certs = certs.to_str().unwrap();
    let made = run(&["tls", "init", certs, "--nodes", "1", "--client", "alice", "--client", "bob"]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    let [address, _] = free_addresses();
    let config = folder.path().join("node.toml");
    let write = |level: &str| {
        let text = format!(
            "voters = [\"{address}\"]\ndata = \"data\"\ntls.folder = \"certs\"\nlog.level = \"{level}\"\n\
             log.audit = \"audit.log\"\n[api]\nlisten = [\"127.0.0.1:0\"]\ntls = true\n"
        );
        fs::write(&config, text).unwrap();
    };
    write("info");
    let mut command = skeptron();
    command.args(["node", "--json", "--init", "--config", config.to_str().unwrap()]);
    let (mut node, url) = ready(Process::spawn(command));
    let site = Reloaded { folder, url };
    for client in ["alice", "bob"] {
        assert_eq!(site.lock_as(client).code, 0);
    }
    // A key that is not the certificate's is refused, and the former one stays.
    let key = Path::new(certs).join("node-1.key");
    let right = fs::read_to_string(&key).unwrap();
    fs::copy(Path::new(certs).join("ca.key"), &key).unwrap();
    node.signal(Signal::SIGHUP);
    let said = node.complaint_until("refused");
    assert!(said.contains("the former stay"), "{said}");
    assert_eq!(site.lock_as("alice").code, 0);
    fs::write(&key, right).unwrap();
    // A new certificate for the node, and alice's is revoked.
    assert_eq!(run(&["tls", "renew", certs, "--node", "1"]).code, 0);
    let revoked = run(&["tls", "revoke", certs, "--client", "alice"]);
    assert_eq!(revoked.code, 0, "{}", revoked.stderr);
    write("error");
    node.signal(Signal::SIGHUP);
    eventually("alice is refused", || site.lock_as("alice").code != 0);
    // No outage: asking again would not help.
    let refused = site.lock_as("alice");
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("certificate: it was revoked"), "{}", refused.stderr);
    let plain = site.url.replace("https", "http");
    let refused = run(&["lock", "a", "--endpoint", &plain, "--", "true"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("use https:// instead of http://"), "{}", refused.stderr);
    assert_eq!(site.lock_as("bob").code, 0);
    // What an administrator does is kept in a file.
    let own = site.folder.path().join("bob");
    let left = run(&["leave", "--endpoint", &site.url, "--tls", own.to_str().unwrap()]);
    assert_eq!(left.code, 0, "{}", left.stderr);
    assert_eq!(node.end().code, 0);
    let audit = fs::read_to_string(site.folder.path().join("audit.log")).unwrap();
    let line: serde_json::Value = serde_json::from_str(audit.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&line["fields"]["path"], &line["fields"]["client"]),
        (&"/v1/leave".into(), &"bob".into())
    );
    assert_eq!((&line["target"], &line["fields"]["outcome"]), (&"audit".into(), &"done".into()));
}

#[test]
fn certificates_are_made_for_a_year_and_renewed_with_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let certs = folder.path().join("certs");
    let certs = certs.to_str().unwrap();
    let init = [
        "tls",
        "init",
        certs,
        "--nodes",
        "1",
        "--host",
        "1=db.example,10.0.0.7",
        "--client",
        "bob",
    ];
    assert_eq!(run(&init).code, 0);
    let listed = || run(&["tls", "list", certs]).stdout;
    let before = listed();
    assert!(before.contains("client-bob") && before.contains("days left"), "{before}");
    assert_eq!(before.matches(" 364 ").count() + before.matches(" 365 ").count(), 2, "{before}");
    assert_eq!(run(&["tls", "renew", certs, "--days", "30"]).code, 0);
    let after = listed();
    assert!(after.contains(" 29 ") || after.contains(" 30 "), "{after}");
    let serial = |text: &str| text.split_whitespace().last().unwrap().to_string();
    assert_ne!(serial(&before), serial(&after));
    assert_eq!(run(&["tls", "revoke", certs, "--serial", &serial(&before)]).code, 0);
    assert!(!listed().contains("REVOKED"), "that one is not there any more");
    assert_eq!(run(&["tls", "revoke", certs, "--client", "bob"]).code, 0);
    // As on a node, where the key of the authority must not be.
    let key = folder.path().join("certs/ca.key");
    fs::rename(&key, folder.path().join("elsewhere")).unwrap();
    let revoked = listed();
    let is_bob = |line: &&str| line.contains("client-bob") && line.contains("REVOKED");
    assert_eq!(revoked.lines().filter(is_bob).count(), 1, "{revoked}");
    assert_eq!(revoked.matches("REVOKED").count(), 1, "{revoked}");
    fs::rename(folder.path().join("elsewhere"), key).unwrap();
    assert_eq!(run(&["tls", "revoke", certs]).code, 2);
    assert_eq!(run(&["tls", "renew", certs, "--client", "nobody"]).code, 2);
}

#[test]
fn names_are_checked_before_the_first_certificate_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let certs = folder.path().join("certs");
    for wrong in [["--client", "../x"], ["--host", "1=ä"]] {
        let refused = run(&[&["tls", "init", certs.to_str().unwrap()][..], &wrong].concat());
        assert_eq!(refused.code, 2, "{}", refused.stderr);
        assert!(!certs.exists(), "{wrong:?}");
    }
}
