//! How fast links are, next to bare TCP on the same runtime. Measured, not judged:
//! `cargo test --release -p skeptron-net --lib speed -- --ignored --nocapture`.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use super::loopback::identities;
use super::*;

const ROUNDS: u64 = 20_000;
const REPEATS: usize = 7;

/// Sends everything back.
struct Echo(Arc<Links>);

impl Inbox for Echo {
    fn receive(&self, from: MemberId, _: u64, envelope: &Envelope<'_>) {
        self.0.send(from, envelope);
    }

    fn cannot_go_on(&self, why: String) {
        panic!("{why}");
    }
}

/// Tells whoever waits.
struct Bell(Notify);

impl Inbox for Bell {
    fn receive(&self, _: MemberId, _: u64, _: &Envelope<'_>) {
        self.0.notify_one();
    }

    fn cannot_go_on(&self, why: String) {
        panic!("{why}");
    }
}

/// Microseconds of one round between two nodes, the caller being a task that waits.
async fn over_links(secure: bool) -> f64 {
    let identities = if secure { identities(2) } else { Vec::new() };
    let all = links_of(2, |config| {
        if let Some(identity) = identities.get(config.node.place()) {
            config.security = Security::Tls(identity.clone());
        }
    });
    let echo: Arc<dyn Inbox> = Arc::new(Echo(all[0].clone()));
    let bell = Arc::new(Bell(Notify::new()));
    all[0].start(&echo);
    all[1].start(&(bell.clone() as Arc<dyn Inbox>));
    all[1].all_up().await;
    let began = env::now();
    for number in 0..ROUNDS {
        all[1].send(MemberId::at(0), &numbered(number));
        all[1].flush();
        bell.0.notified().await;
    }
    let micros = env::now().since(began).as_secs_f64() * 1e6 / ROUNDS as f64;
    all.iter().for_each(|links| links.stop());
    micros
}

/// Microseconds of one round between two tasks.
async fn over_tcp() -> f64 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let echo = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        let mut bytes = [0; 64];
        while let Ok(read @ 1..) = stream.read(&mut bytes).await {
            stream.write_all(&bytes[..read]).await.unwrap();
        }
    });
    let caller = tokio::spawn(async move {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let mut bytes = [0; 24];
        let began = env::now();
        for _ in 0..ROUNDS {
            stream.write_all(&bytes).await.unwrap();
            stream.read_exact(&mut bytes).await.unwrap();
        }
        env::now().since(began).as_secs_f64() * 1e6 / ROUNDS as f64
    });
    let micros = caller.await.unwrap();
    echo.await.unwrap();
    micros
}

/// Messages a second from one node to another, in batches of 32.
async fn stream(secure: bool) -> f64 {
    const MESSAGES: u64 = 500_000;
    let identities = if secure { identities(2) } else { Vec::new() };
    let all = links_of(2, |config| {
        if let Some(identity) = identities.get(config.node.place()) {
            config.security = Security::Tls(identity.clone());
        }
    });
    let notebook = Notebook::new(2);
    let bell: Arc<dyn Inbox> = Arc::new(Bell(Notify::new()));
    all[0].start(&(notebook.clone() as Arc<dyn Inbox>));
    all[1].start(&bell);
    all[1].all_up().await;
    let began = env::now();
    for number in 1..=MESSAGES {
        all[1].send(MemberId::at(0), &numbered(number));
        if number % 32 == 0 {
            all[1].flush();
            all[1].relieved(MemberId::at(0)).await;
        }
    }
    all[1].flush();
    until("all have arrived", || notebook.count() as u64 == MESSAGES).await;
    MESSAGES as f64 / env::now().since(began).as_secs_f64()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn ping_pong_over_links_and_over_bare_tcp() {
    let (mut tcp, mut plain, mut tls) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..REPEATS {
        tcp.push(over_tcp().await);
        let spawned = |secure| async move { tokio::spawn(over_links(secure)).await.unwrap() };
        plain.push(spawned(false).await);
        tls.push(spawned(true).await);
    }
    let (tcp, plain, tls) = (median(tcp), median(plain), median(tls));
    println!("bare TCP   {tcp:6.1} µs a round");
    println!("link       {plain:6.1} µs a round, {:.2} times bare TCP", plain / tcp);
    println!("link, TLS  {tls:6.1} µs a round, {:.2} times bare TCP", tls / tcp);
    println!("link       {:9.0} messages/s one way", stream(false).await);
    println!("link, TLS  {:9.0} messages/s one way", stream(true).await);
}
