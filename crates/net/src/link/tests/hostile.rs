//! Hostile and broken peers against a listening node: they are turned away and counted, memory stays
//! bounded, and the link to a good peer goes on.

use skeptron_member::link::handshake::{
    Answer, HandshakeRefusal, Hello, Opening, PREAMBLE_BYTES, Terms, Verdict, preamble,
};
use skeptron_member::link::session::Frame;
use skeptron_member::report::{LinkState, MemberStatus};
use skeptron_member::wire::{append_frame, decode};
use skeptron_testing::Chance;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::loopback::identities;
use super::*;

/// P1 and P2 are good; whoever says to be P3 is not.
struct Stage {
    good: Vec<Arc<Links>>,
    notebooks: Vec<Arc<Notebook>>,
    /// As P3 would be configured.
    config: Config,
}

impl Stage {
    async fn new() -> Self {
        Self::with(|_| {}, |notebook, _| notebook).await
    }

    /// The good nodes soon give up whoever says nothing.
    async fn impatient() -> Self {
        Self::with(be_impatient, |notebook, _| notebook).await
    }

    /// The good nodes as `change` configures them, and P1 with an inbox of its own.
    async fn with(
        change: impl Fn(&mut Config),
        first_inbox: impl FnOnce(Arc<dyn Inbox>, Arc<Links>) -> Arc<dyn Inbox>,
    ) -> Self {
        let (listeners, addresses) = listeners(3);
        let configure = |node| {
            let mut config = config(node, &addresses);
            change(&mut config);
            config
        };
        let link = |(node, listener)| links(&configure(node), listener);
        let good: Vec<_> = listeners.into_iter().take(2).enumerate().map(link).collect();
        let notebooks = vec![Notebook::new(3), Notebook::new(3)];
        let first = first_inbox(notebooks[0].clone(), good[0].clone());
        good[0].start(&first);
        good[1].start(&(notebooks[1].clone() as Arc<dyn Inbox>));
        // The links hold it weakly, and it lives as long as the test.
        std::mem::forget(first);
        Stage { good, notebooks, config: configure(2) }
    }

    fn first(&self) -> &Links {
        &self.good[0]
    }

    fn rejected(&self) -> u64 {
        self.first().shared.signals.observer.rejected.get()
    }

    /// P1 as it sees P3.
    fn third(&self) -> MemberStatus {
        self.first().members().pop().unwrap()
    }

    async fn dial(&self) -> TcpStream {
        TcpStream::connect(&addresses(&self.config)[0]).await.unwrap()
    }

    fn hello(&self, incarnation: u64) -> Hello {
        let Config { cluster, node, plans, .. } = &self.config;
        let view = View::of_addresses(1, addresses(&self.config));
        Terms::new(cluster, *node, incarnation, plans).hello(MemberId::at(0), &view, 0)
    }

    /// Says hello; what is answered.
    async fn greet(&self, hello: &Hello) -> (TcpStream, Answer) {
        let mut stream = self.dial().await;
        let mut bytes = preamble().to_vec();
        append_frame(&mut bytes, &Opening::Link(hello.clone()), 1024).unwrap();
        stream.write_all(&bytes).await.unwrap();
        let mut theirs = [0; PREAMBLE_BYTES];
        stream.read_exact(&mut theirs).await.unwrap();
        assert_eq!(theirs, preamble());
        let length = stream.read_u32_le().await.unwrap();
        let mut body = vec![0; length as usize];
        stream.read_exact(&mut body).await.unwrap();
        let answer = decode(&body).unwrap();
        (stream, answer)
    }

    /// Connects as P3 would.
    async fn connect(&self, incarnation: u64) -> TcpStream {
        let before = self.third().connects;
        let (mut stream, answer) = self.greet(&self.hello(incarnation)).await;
        assert!(matches!(answer, Answer::Welcome(_)), "{answer:?}");
        say(&mut stream, &Verdict::Accepted).await.unwrap();
        until("the link has come up", || self.third().connects > before).await;
        stream
    }

    /// The two good nodes still hear each other, also over a new connection.
    async fn good_peers_go_on(&self) {
        let number = self.notebooks[1].from(0).last().map_or(1, |last| last + 1);
        for number in number..number + 100 {
            self.good[0].send(MemberId::at(1), &numbered(number));
            self.good[0].flush();
            if number % 50 == 0 {
                self.good[1].cut(MemberId::at(0));
            }
        }
        let last = number + 99;
        until("the good peer has it", || self.notebooks[1].from(0).len() as u64 == last).await;
        assert!(self.notebooks[1].from(0).into_iter().eq(1..=last));
    }
}

fn be_impatient(config: &mut Config) {
    config.limits.silence = Duration::from_millis(600);
}

async fn say(stream: &mut TcpStream, word: &impl serde::Serialize) -> std::io::Result<()> {
    let mut bytes = Vec::new();
    append_frame(&mut bytes, word, 1 << 20).unwrap();
    stream.write_all(&bytes).await
}

/// Reads until the other side closes.
async fn is_closed(stream: &mut TcpStream) {
    let read = async {
        let mut bytes = [0; 4096];
        while matches!(stream.read(&mut bytes).await, Ok(1..)) {}
    };
    env::timeout(PATIENCE, read).await.expect("it closes the connection");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn garbage_is_turned_away() {
    throw_garbage(&Stage::new().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn garbage_is_turned_away_by_tls() {
    let identities = identities(3);
    let secure = |config: &mut Config| {
        config.security = Security::Tls(identities[config.node.place()].clone());
    };
    throw_garbage(&Stage::with(secure, |notebook, _| notebook).await).await;
}

async fn throw_garbage(stage: &Stage) {
    let mut chance = Chance::new(1);
    for _ in 0..200 {
        let mut stream = stage.dial().await;
        let length = chance.below(300);
        let garbage: Vec<u8> = (0..length).map(|_| chance.next() as u8).collect();
        let _ = stream.write_all(&garbage).await;
        drop(stream);
    }
    until("all are counted", || stage.rejected() >= 200).await;
    stage.good_peers_go_on().await;
}

/// Thousands of handshakes with bytes changed, cut off or put in.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mutated_handshakes_never_harm() {
    let stage = Stage::new().await;
    let mut bytes = preamble().to_vec();
    append_frame(&mut bytes, &stage.hello(7), 1024).unwrap();
    append_frame(&mut bytes, &Verdict::Accepted, 1024).unwrap();
    append_frame(&mut bytes, &Frame::Beat { sent: 0, acknowledged: 0 }, 1024).unwrap();
    for seed in 0..1500 {
        let mut stream = stage.dial().await;
        let _ = stream.write_all(&mutate(&bytes, &mut Chance::new(seed))).await;
    }
    until("P3's connections are gone", || stage.third().link == LinkState::Down).await;
    stage.good_peers_go_on().await;
}

fn mutate(bytes: &[u8], chance: &mut Chance) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=chance.below(4) {
        let place = chance.below(bytes.len() as u64) as usize;
        match chance.below(4) {
            0 => bytes.truncate(place.max(1)),
            1 => bytes[place] ^= 1 << chance.below(8),
            2 => bytes[place] = chance.next() as u8,
            _ => bytes.insert(place, chance.next() as u8),
        }
    }
    bytes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_huge_length_closes_the_connection_at_once() {
    let stage = Stage::new().await;
    let mut stream = stage.dial().await;
    let mut bytes = preamble().to_vec();
    bytes.extend(u32::MAX.to_le_bytes());
    stream.write_all(&bytes).await.unwrap();
    is_closed(&mut stream).await;
    let mut stream = stage.connect(7).await;
    stream.write_all(&u32::MAX.to_le_bytes()).await.unwrap();
    is_closed(&mut stream).await;
    until("the link is down", || stage.third().link == LinkState::Down).await;
    let trouble = stage.third().trouble.unwrap();
    assert!(trouble.contains("at most"), "{trouble}");
    assert!(stage.rejected() >= 2);
    stage.good_peers_go_on().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_does_not_belong_is_told_why() {
    let stage = Stage::new().await;
    let (me, you) = (MemberId::at(0), MemberId::at(2));
    let hello = stage.hello(7);
    let wrong = [
        Hello { cluster: "other".into(), ..hello.clone() },
        Hello { to: MemberId::at(1), ..hello.clone() },
        Hello { from: MemberId::at(3), ..hello.clone() },
        Hello { from: me, ..hello.clone() },
        Hello { members: 0, ..hello.clone() },
        Hello { plans: 0, ..hello.clone() },
    ];
    let mut refusals = Vec::new();
    for hello in &wrong {
        match stage.greet(hello).await {
            (mut stream, Answer::Refused(refusal)) => {
                is_closed(&mut stream).await;
                refusals.push(refusal);
            }
            (_, answer) => panic!("{hello:?} is answered {answer:?}"),
        }
    }
    let (mine, yours) = ("skeptron".to_string(), "other".to_string());
    let expected = [
        HandshakeRefusal::Cluster { me, mine, yours },
        HandshakeRefusal::Somebody { me, meant: MemberId::at(1) },
        HandshakeRefusal::Caller { me, you: MemberId::at(3) },
        HandshakeRefusal::Caller { me, you: me },
        HandshakeRefusal::Members { me, you },
        HandshakeRefusal::Plans { me, you },
    ];
    assert_eq!(refusals, expected);
    until("its trouble is shown", || {
        stage.third().trouble.is_some_and(|trouble| trouble.contains("different algorithms"))
    })
    .await;
    stage.good_peers_go_on().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_is_in_another_epoch_may_connect() {
    let stage = Stage::new().await;
    let ahead = Hello { epoch: 2, members: 0, ..stage.hello(7) };
    let (_, answer) = stage.greet(&ahead).await;
    assert!(matches!(answer, Answer::Welcome(_)), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_life_of_a_node_is_refused() {
    let stage = Stage::new().await;
    let first_life = stage.connect(7).await;
    let (_, answer) = stage.greet(&stage.hello(8)).await;
    let refusal = HandshakeRefusal::Restarted { you: MemberId::at(2) };
    assert_eq!(answer, Answer::Refused(refusal));
    assert_eq!(stage.third().link, LinkState::Up, "the first life goes on");
    drop(first_life);
    until("it is gone", || stage.third().link == LinkState::Down).await;
    let (_, answer) = stage.greet(&stage.hello(8)).await;
    assert!(matches!(answer, Answer::Refused(_)), "{answer:?}");
    until("its trouble is shown", || {
        stage.third().trouble.is_some_and(|trouble| trouble.contains("restart all nodes"))
    })
    .await;
    stage.connect(7).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_version_is_told_ours() {
    let stage = Stage::new().await;
    let mut stream = stage.dial().await;
    stream.write_all(b"SKEPTRON\x09\x00").await.unwrap();
    let mut theirs = [0; PREAMBLE_BYTES];
    stream.read_exact(&mut theirs).await.unwrap();
    assert_eq!(theirs, preamble());
    is_closed(&mut stream).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_that_say_nothing_are_given_up() {
    let stage = Stage::impatient().await;
    let mut silent = Vec::new();
    for _ in 0..150 {
        let mut stream = stage.dial().await;
        stream.write_all(b"S").await.unwrap();
        silent.push(stream);
    }
    stage.good_peers_go_on().await;
    for stream in &mut silent {
        is_closed(stream).await;
    }
    until("all are counted", || stage.rejected() >= 150).await;
}

/// Long before their time is over, those who have said nothing for longest make room.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_that_say_nothing_do_not_keep_others_out() {
    let patient = |config: &mut Config| config.limits.silence = 10 * PATIENCE;
    let stage = Stage::with(patient, |notebook, _| notebook).await;
    let mut silent = Vec::new();
    for _ in 0..150 {
        silent.push(stage.dial().await);
    }
    stage.good_peers_go_on().await;
    for stream in &mut silent[..80] {
        is_closed(stream).await;
    }
    let last = silent[149].try_read(&mut [0]).unwrap_err();
    assert_eq!(last.kind(), std::io::ErrorKind::WouldBlock, "there is room for some");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_connection_is_closed() {
    let stage = Stage::impatient().await;
    let mut half_open = stage.connect(7).await;
    is_closed(&mut half_open).await;
    until("its trouble is shown", || {
        stage.third().trouble.is_some_and(|trouble| trouble.contains("nothing was heard"))
    })
    .await;
    stage.good_peers_go_on().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_newer_connection_replaces_an_older_one() {
    let stage = Stage::new().await;
    let mut older = stage.connect(7).await;
    let mut newer = stage.connect(7).await;
    is_closed(&mut older).await;
    let envelope = numbered(1);
    say(&mut newer, &Frame::Data { sequence: 1, acknowledged: 0, envelope }).await.unwrap();
    until("it is heard", || stage.notebooks[0].from(2) == [1]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gaps_lies_and_nonsense_close_the_connection() {
    let stage = Stage::new().await;
    let data =
        |sequence, acknowledged| Frame::Data { sequence, acknowledged, envelope: numbered(1) };
    for (wrong, why) in [(data(3, 0), "was due"), (data(1, 9), "acknowledged")] {
        let mut stream = stage.connect(7).await;
        say(&mut stream, &wrong).await.unwrap();
        is_closed(&mut stream).await;
        until("its trouble is shown", || {
            stage.third().trouble.is_some_and(|trouble| trouble.contains(why))
        })
        .await;
    }
    let mut stream = stage.connect(7).await;
    say(&mut stream, &vec![255u8; 40]).await.unwrap();
    is_closed(&mut stream).await;
    assert!(stage.notebooks[0].from(2).is_empty());
    assert!(stage.rejected() >= 3);
    stage.good_peers_go_on().await;
}

/// Answers each message of P3 with a kilobyte.
struct Answering {
    links: Arc<Links>,
}

impl Inbox for Answering {
    fn receive(&self, from: MemberId, _: u64, _: &Envelope<'_>) {
        self.links.send(from, &padded(1, &[0; 1000]));
    }

    fn cannot_go_on(&self, why: String) {
        panic!("{why}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_asks_and_never_reads_fills_no_memory() {
    let limit = |config: &mut Config| {
        be_impatient(config);
        config.limits.resend_bytes = 100_000;
    };
    let stage = Stage::with(limit, |_, links| Arc::new(Answering { links })).await;
    let mut stream = stage.connect(7).await;
    let mut most = 0;
    let mut sequence = 0;
    let began = env::now();
    loop {
        assert!(env::now().since(began) < PATIENCE, "it is never given up");
        sequence += 1;
        let data = Frame::Data { sequence, acknowledged: 0, envelope: numbered(1) };
        if say(&mut stream, &data).await.is_err() {
            break;
        }
        most = most.max(stage.third().unacknowledged);
        if sequence > 5_000 {
            env::sleep(Duration::from_millis(5)).await;
        }
    }
    assert!((90..500).contains(&most), "{most} kilobytes were kept");
    until("its trouble is shown", || {
        stage.third().trouble.is_some_and(|trouble| trouble.contains("acknowledged nothing"))
    })
    .await;
    stage.good_peers_go_on().await;
}
