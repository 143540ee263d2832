//! One TCP connection, plain or TLS, in two halves: the receiving one belongs to the link's task, the
//! sending one is used by whoever has something to send, without waiting for any task.

use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;

use skeptron_member::link::Link;
use skeptron_member::wire::{FrameError, Unframer};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

/// How many bytes a connection takes from its link at a time.
const CHUNK_BYTES: usize = 64 << 10;

/// The half that sends.
#[derive(Debug)]
pub(crate) struct Sending {
    socket: Arc<OwnedWriteHalf>,
    tls: Option<Box<rustls::Connection>>,
    /// On the connection, but not yet taken by TLS or the system.
    plain: Vec<u8>,
    /// How much of `plain` has been taken.
    taken: usize,
}

/// The half that receives.
#[derive(Debug)]
pub(crate) struct Receiving {
    socket: OwnedReadHalf,
    /// What has been read and not yet deciphered; only with TLS.
    ciphered: Vec<u8>,
    /// Which part of it.
    pending: std::ops::Range<usize>,
    unframer: Unframer,
}

/// How far sending got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// Everything is with the system.
    All,
    /// The system takes no more now.
    Some,
}

/// Both halves of a connected stream; nothing has been said on it yet.
///
/// # Errors
/// If the system does not let the stream be set up.
pub(crate) fn split(
    stream: TcpStream,
    tls: Option<rustls::Connection>,
    frame_bytes: usize,
) -> io::Result<(Sending, Receiving)> {
    stream.set_nodelay(true)?;
    let tls = tls.map(|mut tls| {
        // What is on the connection is bounded by a chunk and a frame already.
        tls.set_buffer_limit(None);
        Box::new(tls)
    });
    let ciphered = if tls.is_some() { vec![0; CHUNK_BYTES] } else { Vec::new() };
    let (reader, writer) = stream.into_split();
    let unframer = Unframer::new(frame_bytes);
    let sending = Sending { socket: Arc::new(writer), tls, plain: Vec::new(), taken: 0 };
    Ok((sending, Receiving { socket: reader, ciphered, pending: 0..0, unframer }))
}

impl Sending {
    /// The socket, to wait until it takes more.
    pub(crate) fn socket(&self) -> Arc<OwnedWriteHalf> {
        Arc::clone(&self.socket)
    }

    /// The TLS side, if there is one.
    pub(crate) fn tls(&mut self) -> Option<&mut rustls::Connection> {
        self.tls.as_deref_mut()
    }

    /// Where frames that are not of the link's queue are put.
    pub(crate) fn outgoing(&mut self) -> &mut Vec<u8> {
        &mut self.plain
    }

    /// Sends what the link has, as far as the system takes it now.
    ///
    /// # Errors
    /// If the connection is no more.
    pub(crate) fn send(&mut self, link: &mut Link) -> io::Result<Sent> {
        while self.write()? == Sent::All {
            if !link.has_next() {
                return Ok(Sent::All);
            }
            link.next_bytes(&mut self.plain, CHUNK_BYTES);
        }
        Ok(Sent::Some)
    }

    /// Sends what is on the connection already, as far as the system takes it now.
    ///
    /// # Errors
    /// If the connection is no more.
    pub(crate) fn write(&mut self) -> io::Result<Sent> {
        let written = match &mut self.tls {
            None => write_all(&self.socket, &self.plain, &mut self.taken),
            Some(tls) => {
                tls.writer().write_all(&self.plain[self.taken..])?;
                self.taken = self.plain.len();
                write_tls(&self.socket, tls)
            }
        };
        if self.taken == self.plain.len() {
            self.taken = 0;
            self.plain.clear();
            self.plain.shrink_to(CHUNK_BYTES * 2);
        }
        match written {
            Ok(()) => Ok(Sent::All),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(Sent::Some),
            Err(error) => Err(error),
        }
    }

    /// Sends everything that is on the connection; for the handshake, when nobody else sends.
    ///
    /// # Errors
    /// If the connection is no more.
    pub(crate) async fn write_fully(&mut self) -> io::Result<()> {
        while self.write()? == Sent::Some {
            self.socket.writable().await?;
        }
        Ok(())
    }
}

fn write_all(socket: &OwnedWriteHalf, bytes: &[u8], taken: &mut usize) -> io::Result<()> {
    while *taken < bytes.len() {
        match socket.try_write(&bytes[*taken..])? {
            0 => return Err(ErrorKind::WriteZero.into()),
            some => *taken += some,
        }
    }
    Ok(())
}

fn write_tls(socket: &OwnedWriteHalf, tls: &mut rustls::Connection) -> io::Result<()> {
    while tls.wants_write() {
        tls.write_tls(&mut Socket(socket))?;
    }
    Ok(())
}

/// A socket as TLS wants to write to it.
struct Socket<'a>(&'a OwnedWriteHalf);

impl Write for Socket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }

    fn write_vectored(&mut self, parts: &[io::IoSlice<'_>]) -> io::Result<usize> {
        self.0.try_write_vectored(parts)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Receiving {
    /// Waits for bytes, and reads them. May be dropped at any time. All frames must have been cut off
    /// and everything deciphered before.
    ///
    /// # Errors
    /// If the connection is no more.
    pub(crate) async fn wait(&mut self) -> io::Result<()> {
        let is_plain = self.ciphered.is_empty();
        let room = if is_plain { self.unframer.room() } else { &mut self.ciphered[..] };
        match self.socket.read(room).await? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            read if is_plain => self.unframer.filled(read),
            read => self.pending = 0..read,
        }
        Ok(())
    }

    /// Deciphers some more of what was read; `false` if nothing is left. All frames must have been cut
    /// off before.
    ///
    /// # Errors
    /// If it was not written by the peer.
    pub(crate) fn decipher(&mut self, tls: Option<&mut rustls::Connection>) -> io::Result<bool> {
        let Some(tls) = tls else { return Ok(false) };
        loop {
            match tls.reader().read(self.unframer.room()) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(read) => {
                    self.unframer.filled(read);
                    return Ok(true);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            if self.pending.is_empty() {
                return Ok(false);
            }
            let mut bytes = &self.ciphered[self.pending.clone()];
            self.pending.start += tls.read_tls(&mut bytes)?;
            let processed = tls.process_new_packets();
            processed.map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
        }
    }

    /// The next frame that was read, if it is complete.
    ///
    /// # Errors
    /// If it is too long.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>, FrameError> {
        self.unframer.next_body()
    }

    /// Changes how long a frame may be, now that it is known who sends them.
    pub(crate) fn allow(&mut self, frame_bytes: usize) {
        self.unframer.allow(frame_bytes);
    }

    /// The next bytes that are no frame, if there are so many.
    pub(crate) fn next_bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.unframer.next_bytes()
    }
}
