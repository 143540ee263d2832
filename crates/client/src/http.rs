//! One HTTP/1.1 connection of a client.

use std::error::Error;
use std::io;
use std::pin::pin;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::{AlertDescription, CertificateError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::eager_poll::EagerPoll;
use crate::socket::tune;

/// The largest answer that is read.
const MOST_ANSWER_BYTES: usize = 16 << 20;

/// One connection. It moves only while somebody waits for an answer on it, in that one's task: no
/// other task has to be woken for an exchange.
pub struct Connection {
    sender: SendRequest<Full<Bytes>>,
    /// None once the connection has ended: while there is one, hyper keeps whoever asks waiting.
    driver: Option<BoxFuture<'static, hyper::Result<()>>>,
}

/// How a server proves who it is, and by which name.
pub type Tls = (TlsConnector, ServerName<'static>);

/// Why a connection is of no use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionError {
    pub why: String,
    /// Whether the next one will not be either: one end does not accept the other's certificate, or only
    /// one of them speaks TLS.
    pub lasts: bool,
}

impl ConnectionError {
    pub fn now(why: impl Into<String>) -> Self {
        ConnectionError { why: why.into(), lasts: false }
    }

    pub fn for_good(why: impl Into<String>) -> Self {
        ConnectionError { why: why.into(), lasts: true }
    }
}

impl<E: Error + 'static> From<E> for ConnectionError {
    fn from(error: E) -> Self {
        match tls_error(&error).and_then(mismatch) {
            Some(why) => ConnectionError::for_good(why),
            None => ConnectionError::now(told(error)),
        }
    }
}

impl From<ConnectionError> for String {
    fn from(useless: ConnectionError) -> Self {
        useless.why
    }
}

impl Connection {
    /// A new one over TCP, protected if `tls` says how.
    pub async fn dial(address: &str, tls: Option<&Tls>) -> Result<Self, ConnectionError> {
        let stream = TcpStream::connect(address).await?;
        tune(&stream)?;
        match tls {
            None => Connection::over(stream).await,
            Some((tls, name)) => {
                let stream = tls.connect(name.clone(), stream).await?;
                Connection::over(stream).await
            }
        }
    }

    pub async fn over<I>(stream: I) -> Result<Self, ConnectionError>
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (sender, driver) = http1::handshake(TokioIo::new(stream)).await?;
        Ok(Connection { sender, driver: Some(Box::pin(driver)) })
    }

    pub async fn exchange(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<(StatusCode, Bytes), ConnectionError> {
        EagerPoll::new(self.converse(request)).await
    }

    /// Tells of each piece of an answer that does not end, until it does.
    pub async fn listen(
        &mut self,
        request: Request<Full<Bytes>>,
        mut heard: impl FnMut(),
    ) -> Result<(), ConnectionError> {
        let sender = &mut self.sender;
        let mut listening = pin!(async move {
            let mut body = sender.send_request(request).await?.into_body();
            while let Some(piece) = body.frame().await {
                piece?;
                heard();
            }
            Ok::<_, ConnectionError>(())
        });
        tokio::select! {
            biased;
            ended = drive(&mut self.driver) => Ok(ended?),
            ended = listening.as_mut() => ended,
        }
    }

    /// Asks for an answer that does not end.
    pub async fn stream(
        mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<(StatusCode, Stream), ConnectionError> {
        let mut answer = pin!(self.sender.send_request(request));
        let answer = tokio::select! {
            biased;
            // All that came before the end is still to be had.
            _ = drive(&mut self.driver) => answer.await?,
            answer = answer.as_mut() => answer?,
        };
        let (status, body) = (answer.status(), answer.into_body());
        Ok((status, Stream { connection: self, body }))
    }

    /// Whether nothing can be asked on it any more.
    pub fn is_closed(&self) -> bool {
        self.driver.is_none()
    }

    async fn converse(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<(StatusCode, Bytes), ConnectionError> {
        let sender = &mut self.sender;
        let mut answer = pin!(async move {
            sender.ready().await?;
            let answer = sender.send_request(request).await?;
            let status = answer.status();
            let body = Limited::new(answer.into_body(), MOST_ANSWER_BYTES).collect().await;
            Ok((status, body.map_err(|error| ConnectionError::now(error.to_string()))?.to_bytes()))
        });
        tokio::select! {
            biased;
            // All that came before the end is still to be had.
            _ = drive(&mut self.driver) => answer.await,
            answer = answer.as_mut() => answer,
        }
    }
}

/// Moves the connection until it ends; a connection that has ended does not end again.
async fn drive(driver: &mut Option<BoxFuture<'static, hyper::Result<()>>>) -> hyper::Result<()> {
    let Some(moves) = driver else { return std::future::pending().await };
    let ended = moves.await;
    *driver = None;
    ended
}

/// An answer that does not end. It moves only while somebody waits for its next piece.
pub struct Stream {
    connection: Connection,
    body: Incoming,
}

impl Stream {
    /// The next piece; none at the end.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ConnectionError> {
        loop {
            let frame = tokio::select! {
                biased;
                frame = self.body.frame() => frame,
                // All that came before the end is still to be had.
                _ = drive(&mut self.connection.driver) => continue,
            };
            let Some(frame) = frame else { return Ok(None) };
            if let Ok(piece) = frame?.into_data() {
                return Ok(Some(piece));
            }
        }
    }
}

/// An error with its cause, which says more than itself.
pub fn told(error: impl std::error::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

/// The error of TLS behind this one, if that is the cause.
fn tls_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    inner.and_then(|inner| inner.downcast_ref()).or_else(|| error.source().and_then(tls_error))
}

/// What client and server cannot agree on, and what helps; none if the next try may end otherwise.
fn mismatch(error: &rustls::Error) -> Option<String> {
    use AlertDescription as Alert;
    let refused = |how: &str| format!("the node refuses this client's certificate: {how}");
    Some(match error {
        rustls::Error::AlertReceived(alert) => match alert {
            Alert::CertificateRevoked => refused(
                "it was revoked; the cluster's administrator makes another with `skeptron tls add`",
            ),
            Alert::CertificateExpired => {
                refused("it has expired; `skeptron tls renew` makes a new one")
            }
            Alert::UnknownCA | Alert::BadCertificate | Alert::DecryptError => {
                refused("it is of another cluster; --tls names the folder of this one")
            }
            Alert::CertificateRequired => refused("it shows none; --tls names a folder with one"),
            Alert::CertificateUnknown | Alert::UnsupportedCertificate | Alert::AccessDenied => {
                refused(&format!("{alert:?}; `skeptron tls list` shows what it is"))
            }
            _ => return None,
        },
        rustls::Error::InvalidCertificate(CertificateError::Revoked) => {
            "the node's certificate was revoked; it needs a new one".to_string()
        }
        rustls::Error::InvalidCertificate(why) => format!(
            "the node's certificate is not accepted: {why}; is --tls the folder of this cluster, and \
             is the node's certificate valid for this name?"
        ),
        rustls::Error::InvalidMessage(_) => {
            "it does not speak TLS there; say http:// instead of https://".to_string()
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    /// The other end may close a connection that was kept: whoever uses it next hears of that at once.
    #[tokio::test]
    async fn a_kept_connection_that_was_closed_fails_at_once() {
        let (near, mut far) = tokio::io::duplex(1024);
        let server = async {
            let mut request = [0; 256];
            let read = far.read(&mut request).await.unwrap();
            assert!(read > 0);
            far.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
            drop(far);
        };
        let request = || Request::get("/").header("host", "h").body(Full::default()).unwrap();
        let client = async {
            let mut connection = Connection::over(near).await.unwrap();
            let (status, _) = connection.exchange(request()).await.unwrap();
            assert_eq!(status, StatusCode::OK);
            connection
        };
        let (mut connection, ()) = tokio::join!(client, server);
        assert!(connection.exchange(request()).await.is_err());
        assert!(connection.is_closed());
    }
}
