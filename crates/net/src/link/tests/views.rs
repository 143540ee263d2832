//! Links while the members change: some join, some leave, some come back in another life.

use std::net::TcpListener;

use skeptron_member::report::LinkState;
use skeptron_member::view::Member;

use super::*;

/// One life of a member.
struct Life {
    links: Arc<Links>,
    notebook: Arc<Notebook>,
    /// As views name it.
    member: Member,
    view: Arc<View>,
}

impl Life {
    /// Of the member with this number, alone in its view until it is told of another one.
    fn new(number: u32, incarnation: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let id = MemberId::new(number).unwrap();
        let mut config = config(0, std::slice::from_ref(&address));
        config.node = id;
        let member = Member { id, incarnation: Some(incarnation), address, api: Vec::new() };
        let view = Arc::new(View::new(1, vec![member.clone()]));
        let links = links_in(&config, incarnation, view.clone(), listener);
        let notebook = Notebook::new(9);
        links.start(&(notebook.clone() as Arc<dyn Inbox>));
        Life { links, notebook, member, view }
    }

    /// Sends these numbers to another member.
    fn send(&self, to: &Life, numbers: std::ops::RangeInclusive<u64>) -> Vec<u64> {
        let sequences =
            numbers.map(|number| self.links.send(to.member.id, &numbered(number))).collect();
        self.links.flush();
        sequences
    }

    async fn has_heard(&self, from: &Life, numbers: &[u64]) {
        let place = from.member.id.place();
        until("it has heard", || self.notebook.from(place).len() >= numbers.len()).await;
        assert_eq!(self.notebook.from(place), numbers);
    }

    fn link_to(&self, peer: &Life) -> Option<LinkState> {
        let members = self.links.members();
        members.iter().find(|member| member.node == peer.member.id).map(|member| member.link)
    }
}

/// The view of this epoch, told to all its members.
fn decide<const N: usize>(epoch: u64, mut lives: [&mut Life; N]) -> Arc<View> {
    let members = lives.iter().map(|life| life.member.clone()).collect();
    let view = Arc::new(View::new(epoch, members));
    for life in &mut lives {
        life.links.set_view(&view);
        life.view = view.clone();
    }
    view
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_that_joins_is_connected() {
    let (mut first, mut third) = (Life::new(1, 10), Life::new(3, 30));
    assert!(first.links.members().iter().all(|member| member.link == LinkState::Own));
    assert_eq!(first.send(&third, 1..=1), [0], "no member yet");
    decide(2, [&mut first, &mut third]);
    assert_eq!(first.send(&third, 1..=2), [1, 2]);
    third.has_heard(&first, &[1, 2]).await;
    // In the middle, so that both directions of dialling occur.
    let mut second = Life::new(2, 20);
    decide(3, [&mut first, &mut second, &mut third]);
    for life in [&first, &second, &third] {
        life.links.all_up().await;
        let members: Vec<_> = life.links.members().iter().map(|m| m.node.number()).collect();
        assert_eq!(members, [1, 2, 3]);
    }
    assert_eq!(first.links.members()[2].connects, 1, "who was there is left alone");
    second.send(&first, 1..=3);
    first.send(&second, 1..=3);
    first.has_heard(&second, &[1, 2, 3]).await;
    second.has_heard(&first, &[1, 2, 3]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_that_leaves_is_disconnected() {
    let mut lives = [Life::new(1, 10), Life::new(2, 20), Life::new(3, 30)];
    decide(2, lives.each_mut());
    for life in &lives {
        life.links.all_up().await;
    }
    let [mut first, second, mut third] = lives;
    let mut events = first.links.shared.signals.observer.listen();
    decide(3, [&mut first, &mut third]);
    assert_eq!(first.link_to(&second), None);
    assert_eq!(first.send(&second, 1..=1), [0]);
    assert!(!first.links.is_up(second.member.id));
    let event = serde_json::to_value(events.next().await.unwrap()).unwrap();
    assert_eq!((&event["what"], &event["peer"]), (&"link-down".into(), &2.into()));
    until("it notices", || second.link_to(&first) == Some(LinkState::Down)).await;
    until("it is told why", || {
        let members = second.links.members();
        members[0].trouble.as_ref().is_some_and(|trouble| trouble.contains("may not connect"))
    })
    .await;
    third.send(&first, 1..=2);
    first.has_heard(&third, &[1, 2]).await;
    assert_eq!(first.links.members()[1].connects, 1, "who stays is left alone");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_in_another_life_begins_a_new_session() {
    // P2 restarts: it dials P1 and is dialled by P3.
    let (mut first, mut third) = (Life::new(1, 10), Life::new(3, 30));
    let mut second = Life::new(2, 20);
    decide(2, [&mut first, &mut second, &mut third]);
    first.send(&second, 1..=3);
    second.send(&third, 1..=3);
    second.has_heard(&first, &[1, 2, 3]).await;
    third.has_heard(&second, &[1, 2, 3]).await;
    second.links.stop();
    first.send(&second, 4..=5);
    third.send(&second, 1..=2);
    let mut again = Life::new(2, 21);
    decide(3, [&mut first, &mut again, &mut third]);
    assert_eq!(first.send(&again, 6..=7), [1, 2], "numbers begin anew");
    assert_eq!(third.send(&again, 6..=6), [1]);
    again.send(&third, 4..=5);
    again.has_heard(&first, &[6, 7]).await;
    again.has_heard(&third, &[6]).await;
    third.has_heard(&second, &[1, 2, 3, 4, 5]).await;
    for life in [&first, &again, &third] {
        life.links.all_up().await;
    }
}

/// The view comes while the former life is still connected.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_former_life_is_cut_off() {
    let mut lives = [Life::new(1, 10), Life::new(2, 20)];
    decide(2, lives.each_mut());
    let [mut first, second] = lives;
    second.links.all_up().await;
    first.links.all_up().await;
    let mut again = Life::new(2, 21);
    decide(3, [&mut first, &mut again]);
    assert_eq!(second.send(&first, 8..=8), [1]);
    again.send(&first, 1..=2);
    first.has_heard(&again, &[1, 2]).await;
    until("it is told why", || {
        let members = second.links.members();
        members[0].trouble.as_ref().is_some_and(|trouble| trouble.contains("another incarnation"))
    })
    .await;
    assert_eq!(first.notebook.from(1), [1, 2], "nothing of the former life is taken");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_older_view_changes_nothing() {
    let (mut first, mut second) = (Life::new(1, 10), Life::new(2, 20));
    let alone = first.view.clone();
    decide(2, [&mut first, &mut second]);
    first.links.set_view(&alone);
    assert_eq!(first.links.members().len(), 2);
    first.links.all_up().await;
}

/// Its own view is the one before, and so are the numbers on its links.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_that_was_away_goes_on_with_its_links() {
    let mut lives = [(1, 10), (2, 20), (3, 30)].map(|(id, life)| Life::new(id, life));
    let view = {
        let [first, second, third] = &mut lives;
        decide(2, [first, second, third])
    };
    let [first, second, third] = &lives;
    second.send(first, 1..=3);
    first.has_heard(second, &[1, 2, 3]).await;
    let mut without = View { epoch: 3, ..(*view).clone() };
    without.away.push(without.members.remove(1));
    for life in [first, third] {
        life.links.set_view(&Arc::new(without.clone()));
    }
    first.links.cut(second.member.id);
    second.send(first, 4..=5);
    third.send(first, 1..=1);
    let back = Arc::new(View { epoch: 4, ..(*view).clone() });
    lives.iter().for_each(|life| life.links.set_view(&back));
    second.send(first, 6..=6);
    first.has_heard(second, &[1, 2, 3, 4, 5, 6]).await;
    first.has_heard(third, &[1]).await;
}

/// The views of two members are rarely of the same epoch at the same moment.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_in_different_epochs_are_connected() {
    let (mut first, mut second) = (Life::new(1, 10), Life::new(2, 20));
    let view = decide(2, [&mut first, &mut second]);
    second.links.set_view(&Arc::new(View { epoch: 7, ..(*view).clone() }));
    first.links.cut(second.member.id);
    first.links.all_up().await;
    second.send(&first, 1..=1);
    first.has_heard(&second, &[1]).await;
}

/// Members come and go while everybody sends: those who stay lose nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn those_who_stay_lose_nothing_while_others_come_and_go() {
    let (mut first, mut third) = (Life::new(1, 10), Life::new(3, 30));
    decide(2, [&mut first, &mut third]);
    let mut sent = 0;
    for epoch in 3..40 {
        let mut other = Life::new(2, 1000 + epoch);
        match epoch % 2 {
            0 => decide(epoch, [&mut first, &mut third]),
            _ => decide(epoch, [&mut first, &mut other, &mut third]),
        };
        first.send(&third, sent + 1..=sent + 50);
        third.send(&first, sent + 1..=sent + 50);
        first.send(&other, 1..=50);
        sent += 50;
        env::sleep(Duration::from_millis(epoch % 4)).await;
    }
    let all: Vec<u64> = (1..=sent).collect();
    third.has_heard(&first, &all).await;
    first.has_heard(&third, &all).await;
    assert_eq!(first.links.members()[1].connects, 1);
}

#[tokio::test]
async fn a_message_that_is_too_long_is_told_to_the_inbox() {
    let all = links_of(2, |config| config.limits.frame_bytes = 2_000);
    let notebook = Notebook::new(2);
    let inbox: Arc<dyn Inbox> = notebook.clone();
    all[0].start(&inbox);
    let to = MemberId::at(1);
    assert_eq!(all[0].send(to, &padded(1, &[0; 3_000])), 0);
    assert!(notebook.troubles.lock().unwrap().is_empty(), "not under the caller's mutex");
    all[0].flush();
    let troubles = std::mem::take(&mut *notebook.troubles.lock().unwrap());
    assert!(matches!(&troubles[..], [why] if why.contains("P2") && why.contains("frame_bytes")));
    assert_eq!(all[0].send(to, &padded(1, &[0; 1_000])), 1);
    all[0].flush();
    assert!(notebook.troubles.lock().unwrap().is_empty(), "told once");
}

#[tokio::test]
async fn congestion_is_of_one_link() {
    let all = links_of(3, |config| config.limits.congested_bytes = 1_000);
    let (second, third) = (MemberId::at(1), MemberId::at(2));
    all[0].send(second, &padded(1, &[0; 2_000]));
    assert!(all[0].is_congested(second) && !all[0].is_congested(third) && all[0].congested());
    let without = View::of_addresses(2, vec!["127.0.0.1:1".into()]);
    all[0].set_view(&Arc::new(without));
    assert!(!all[0].congested(), "whoever has left holds nobody up");
    all[0].relieved(second).await;
}
