//! Connections of clients that speak another protocol: HTTP/1.1 or HTTP/2, whichever they begin with.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::rt::Executor;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};

use super::auth::Caller;
use super::connection_limiter::ConnectionSlot;
use super::listen::{
    BUFFER_BYTES, ConnectionHandler, GONE_WITHIN, HEAD_WITHIN, MOST_HEAD_BYTES, MOST_HEADERS,
    Stage, Watched,
};
use crate::env;
use crate::observe::Observer;
use crate::supervise::supervised;

/// Requests of one connection that are being answered, at most; an acquire that waits is one.
const MOST_REQUESTS: u32 = 1000;
/// How often a connection without a word is asked whether it is still there, and how long it has to answer.
const ASK_EVERY: Duration = Duration::from_secs(10);
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// What a request has changed by half is used by all later ones, so its task must not end unnoticed.
#[derive(Clone)]
struct Supervisor(Arc<Observer>);

impl<F> Executor<F> for Supervisor
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    fn execute(&self, request: F) {
        tokio::spawn(supervised(Arc::clone(&self.0), "a request", request));
    }
}

impl ConnectionHandler {
    /// What the TLS handshake offers: HTTP/2 has to be agreed on in it.
    pub(super) fn offered(&self, tls: Arc<ServerConfig>) -> Arc<ServerConfig> {
        if self.front().is_none() {
            return tls;
        }
        let mut tls = ServerConfig::clone(&tls);
        tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Arc::new(tls)
    }

    /// Answers one connection, until it ends or has to go.
    pub(super) async fn serve_front<I>(
        self: Arc<Self>,
        io: I,
        caller: Caller,
        place: ConnectionSlot,
    ) where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Watched { mut stage, mut renewed, observer } = self.watched.clone();
        renewed.mark_unchanged();
        let (place, has_asked) = (Arc::new(place), Arc::new(AtomicBool::new(false)));
        let (asked, own) = (Arc::clone(&has_asked), Arc::clone(&place));
        let service = service_fn(move |request| {
            asked.store(true, Ordering::Relaxed);
            let (handler, caller, place) = (Arc::clone(&self), caller.clone(), Arc::clone(&own));
            async move { handler.answer(&caller, &place, request).await }
        });
        let mut http = auto::Builder::new(Supervisor(observer));
        http.http1()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_WITHIN)
            .max_headers(MOST_HEADERS)
            .max_buf_size(BUFFER_BYTES);
        http.http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(MOST_REQUESTS)
            .max_header_list_size(MOST_HEAD_BYTES as u32)
            .max_send_buf_size(BUFFER_BYTES)
            .keep_alive_interval(ASK_EVERY)
            .keep_alive_timeout(ANSWER_WITHIN);
        let mut connection = pin!(http.serve_connection(TokioIo::new(io), service));
        // Clients of such protocols connect before they have anything to ask.
        let mut first = pin!(env::sleep(HEAD_WITHIN));
        let mut is_early = true;
        let is_cut = loop {
            tokio::select! {
                biased;
                _ = connection.as_mut() => return,
                _ = stage.wait_for(|stage| *stage > Stage::Open) => break false,
                () = place.cut() => break true,
                Ok(()) = renewed.changed() => break false,
                () = first.as_mut(), if is_early => match has_asked.load(Ordering::Relaxed) {
                    true => is_early = false,
                    false => return,
                },
            }
        };
        connection.as_mut().graceful_shutdown();
        let is_over = async {
            match is_cut {
                true => env::sleep(GONE_WITHIN).await,
                false => drop(stage.wait_for(|stage| *stage == Stage::Gone).await),
            }
        };
        tokio::select! {
            _ = connection => {}
            () = is_over => {}
        }
    }
}
