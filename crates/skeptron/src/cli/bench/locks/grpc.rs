//! Just enough gRPC for a unary call at a time: HTTP/2 frames and protobuf fields by hand. The
//! gateway that speaks JSON would measure itself as much as the server behind it.

use std::net::SocketAddr;

use anyhow::{Context as _, Result, bail, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GO_AWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;

const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;

/// Answers are short; a longer frame is not one of ours.
const LONGEST_FRAME: usize = 1 << 14;

/// A connection for one call after the other.
pub(super) struct Grpc {
    stream: BufReader<TcpStream>,
    authority: String,
    next_stream: u32,
    out: Vec<u8>,
}

/// One frame as it came.
struct Frame {
    kind: u8,
    flags: u8,
    stream: u32,
    body: Vec<u8>,
}

impl Grpc {
    pub(super) async fn connect(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let mut out = PREFACE.to_vec();
        push_frame(&mut out, SETTINGS, 0, 0, &[]);
        // Room for all answers of a long run, so that the window need never be looked at again.
        push_frame(&mut out, WINDOW_UPDATE, 0, 0, &(i32::MAX as u32 - 65_535).to_be_bytes());
        let mut connection = Grpc {
            stream: BufReader::new(stream),
            authority: address.to_string(),
            next_stream: 1,
            out,
        };
        connection.send().await?;
        Ok(connection)
    }

    /// Calls `/package.Service/Method` and waits for its answer.
    pub(super) async fn call(&mut self, path: &str, message: &[u8]) -> Result<Vec<u8>> {
        let stream = self.next_stream;
        self.next_stream += 2;
        let headers = self.headers(path)?;
        let mut body = vec![0];
        body.extend(u32::try_from(message.len())?.to_be_bytes());
        body.extend(message);
        push_frame(&mut self.out, HEADERS, END_HEADERS, stream, &headers);
        push_frame(&mut self.out, DATA, END_STREAM, stream, &body);
        self.send().await?;
        let answer = self.answer(stream).await?;
        // Whoever refuses says why in compressed headers, which nobody here reads.
        answer.get(5..).map(<[u8]>::to_vec).with_context(|| format!("{path} was refused"))
    }

    async fn answer(&mut self, stream: u32) -> Result<Vec<u8>> {
        let mut answer = Vec::new();
        loop {
            let frame = self.receive().await?;
            match frame.kind {
                DATA if frame.stream == stream => answer.extend(frame.body),
                SETTINGS if frame.flags & ACK == 0 => {
                    push_frame(&mut self.out, SETTINGS, ACK, 0, &[]);
                    self.send().await?;
                }
                PING if frame.flags & ACK == 0 => {
                    push_frame(&mut self.out, PING, ACK, 0, &frame.body);
                    self.send().await?;
                }
                RESET | GO_AWAY => bail!("the server ended the call"),
                _ => {}
            }
            let may_end = matches!(frame.kind, DATA | HEADERS) && frame.stream == stream;
            if may_end && frame.flags & END_STREAM != 0 {
                return Ok(answer);
            }
        }
    }

    async fn receive(&mut self) -> Result<Frame> {
        let mut head = [0; 9];
        self.stream.read_exact(&mut head).await?;
        let [a, b, c, kind, flags, stream @ ..] = head;
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        ensure!(length <= LONGEST_FRAME, "a frame of {length} bytes is no answer");
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).await?;
        Ok(Frame { kind, flags, stream: u32::from_be_bytes(stream) & 0x7FFF_FFFF, body })
    }

    async fn send(&mut self) -> Result<()> {
        self.stream.write_all(&self.out).await?;
        self.out.clear();
        Ok(())
    }

    /// Numbers are places in the static table of HPACK; nothing is put into the dynamic one.
    fn headers(&self, path: &str) -> Result<Vec<u8>> {
        let (method_post, scheme_http) = (0x83, 0x86);
        let (path_is, authority_is, content_type_is) = ([0x04], [0x01], [0x0F, 0x10]);
        let mut headers = vec![method_post, scheme_http];
        for (name, value) in [
            (&path_is[..], path),
            (&authority_is, &self.authority),
            (&content_type_is, "application/grpc"),
            (&[0x00, 0x02, b't', b'e'], "trailers"),
        ] {
            ensure!(value.len() < 127, "{value} is too long for a header of one length byte");
            headers.extend(name);
            headers.push(value.len() as u8);
            headers.extend(value.as_bytes());
        }
        Ok(headers)
    }
}

fn push_frame(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, body: &[u8]) {
    out.extend(&(body.len() as u32).to_be_bytes()[1..]);
    out.extend([kind, flags]);
    out.extend(stream.to_be_bytes());
    out.extend(body);
}

/// A protobuf message under construction.
#[derive(Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    pub(super) fn number(mut self, field: u8, value: u64) -> Self {
        self.0.push(field << 3);
        self.varint(value);
        self
    }

    pub(super) fn bytes(mut self, field: u8, value: &[u8]) -> Self {
        self.0.push(field << 3 | 2);
        self.varint(value.len() as u64);
        self.0.extend(value);
        self
    }

    pub(super) fn build(self) -> Vec<u8> {
        self.0
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

/// A field of a protobuf message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The first field of that number, if the message is one and has it.
pub(super) fn field(mut message: &[u8], wanted: u64) -> Option<Field<'_>> {
    while !message.is_empty() {
        let key = take_varint(&mut message)?;
        let field = match key & 7 {
            0 => Field::Number(take_varint(&mut message)?),
            2 => {
                let length = usize::try_from(take_varint(&mut message)?).ok()?;
                let (bytes, rest) = message.split_at_checked(length)?;
                message = rest;
                Field::Bytes(bytes)
            }
            _ => return None,
        };
        if key >> 3 == wanted {
            return Some(field);
        }
    }
    None
}

fn take_varint(message: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = message.split_first()?;
        *message = rest;
        value |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Field, Message, field};

    #[test]
    fn fields_come_back_as_they_were_put_in() {
        let message = Message::default().bytes(1, b"orders").number(2, 300).number(3, u64::MAX);
        let message = message.build();
        assert_eq!(&message[..11], b"\x0A\x06orders\x10\xAC\x02", "as the specification has it");
        assert_eq!(field(&message, 1), Some(Field::Bytes(b"orders")));
        assert_eq!(field(&message, 2), Some(Field::Number(300)));
        assert_eq!(field(&message, 3), Some(Field::Number(u64::MAX)));
        assert_eq!(field(&message, 4), None);
        assert_eq!(field(&message[..5], 1), None, "cut off");
    }
}
