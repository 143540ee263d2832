//! Whole links on the loopback interface, while their connections are cut.

use super::*;
use crate::tls::{Authority, Identity};
use skeptron_member::report::LinkState;

/// Makes certificates for all nodes of a system.
pub(super) fn identities(nodes: usize) -> Vec<Identity> {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::init(folder.path(), "test", false).unwrap();
    let identity = |node| {
        authority.issue_node(node, &[], false).unwrap();
        Identity::read(folder.path(), &format!("node-{}", node.number())).unwrap()
    };
    (0..nodes).map(MemberId::at).map(identity).collect()
}

/// Everybody sends `each` numbers to everybody while connections are cut; all arrive once, in order.
async fn exchange(nodes: usize, each: u64, secure: bool) {
    let identities = if secure { identities(nodes) } else { Vec::new() };
    let all = links_of(nodes, |config| {
        if let Some(identity) = identities.get(config.node.place()) {
            config.security = Security::Tls(identity.clone());
        }
    });
    let notebooks: Vec<_> = (0..nodes).map(|_| Notebook::new(nodes)).collect();
    for (links, notebook) in all.iter().zip(&notebooks) {
        let inbox: Arc<dyn Inbox> = notebook.clone();
        links.start(&inbox);
    }
    let senders: Vec<_> =
        all.iter().cloned().map(|links| tokio::spawn(send(links, nodes, each))).collect();
    let mut cuts = 0;
    let expected = each as usize * (nodes - 1);
    until("everything has arrived", || {
        let node = cuts % nodes;
        all[node].cut(MemberId::at((node + 1 + cuts / nodes % (nodes - 1)) % nodes));
        cuts += 1;
        notebooks.iter().all(|notebook| notebook.count() >= expected)
    })
    .await;
    for sender in senders {
        sender.await.unwrap();
    }
    for (links, notebook) in all.iter().zip(&notebooks) {
        links.drained().await;
        let me = links.shared.me.place();
        for from in (0..nodes).filter(|&from| from != me) {
            assert!(notebook.from(from).into_iter().eq(1..=each), "P{} to P{}", from + 1, me + 1);
        }
    }
    let connects: u64 = all[0].members().iter().map(|member| member.connects).sum();
    assert!(connects > nodes as u64, "connections were cut and came back");
}

async fn send(links: Arc<Links>, nodes: usize, each: u64) {
    for number in 1..=each {
        for to in (0..nodes).map(MemberId::at) {
            links.send(to, &numbered(number));
        }
        if number % 16 == 0 {
            links.flush();
            for to in (0..nodes).map(MemberId::at) {
                links.relieved(to).await;
            }
            tokio::task::yield_now().await;
        }
    }
    links.flush();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_lose_nothing_when_connections_are_cut() {
    exchange(2, 100_000, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_nodes_lose_nothing_when_connections_are_cut() {
    exchange(3, 50_000, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_lose_nothing_over_tls() {
    exchange(2, 100_000, true).await;
}

#[tokio::test]
async fn three_nodes_lose_nothing_over_tls_on_one_thread() {
    exchange(3, 20_000, true).await;
}

#[tokio::test]
async fn links_come_up_and_go_down_with_their_nodes() {
    let all = links_of(3, |config| config.limits.silence = Duration::from_millis(300));
    let notebooks: Vec<Arc<dyn Inbox>> =
        (0..3).map(|_| Notebook::new(3) as Arc<dyn Inbox>).collect();
    for (links, notebook) in all.iter().zip(&notebooks) {
        assert!(links.members().iter().all(|member| member.link != LinkState::Up));
        links.start(notebook);
    }
    for links in &all {
        links.all_up().await;
        assert_eq!(links.members().iter().filter(|m| m.link == LinkState::Up).count(), 2);
    }
    all[2].stop();
    until("the others notice", || {
        all[..2].iter().all(|links| links.members()[2].link == LinkState::Down)
    })
    .await;
    assert!(all[0].members()[2].trouble.is_some());
    assert_eq!(all[0].members()[1].link, LinkState::Up);
    all[0].drained().await;
}

#[tokio::test]
async fn sending_on_a_warm_link_allocates_nothing() {
    let all = links_of(2, |_| {});
    let notebooks = [Notebook::new(2), Notebook::new(2)];
    for (links, notebook) in all.iter().zip(&notebooks) {
        links.start(&(notebook.clone() as Arc<dyn Inbox>));
    }
    all[1].all_up().await;
    let send_some = || {
        for number in 1..=100 {
            all[1].send(MemberId::at(0), &numbered(number));
            all[1].flush();
        }
    };
    for _ in 0..3 {
        send_some();
        all[1].drained().await;
    }
    assert_eq!(allocation_counter::measure(send_some).count_total, 0);
}
