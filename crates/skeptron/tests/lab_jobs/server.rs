//! A lab of this binary, and what is read from it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

/// Longer than anything here takes, so that a test fails rather than hangs.
const PATIENCE: Duration = Duration::from_secs(100);

/// A running `skeptron lab`, which ends with the test.
pub(crate) struct Lab {
    child: Child,
    host: String,
}

impl Lab {
    pub(crate) fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_skeptron"))
            .args(["lab", "--port", "0", "--json"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        let url = ready["url"].as_str().unwrap();
        let host = url.trim_start_matches("http://").trim_end_matches('/').to_string();
        Lab { child, host }
    }

    /// Posts a question and begins to read the answer.
    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(path, &body.to_string())
    }

    /// The same with any body.
    pub(crate) fn send(&self, path: &str, body: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.host,
            body.len()
        )
        .unwrap();
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let status = line.split(' ').nth(1).unwrap().parse().unwrap();
        let mut chunked = false;
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).unwrap();
            chunked |= header.to_lowercase().starts_with("transfer-encoding: chunked");
            if header.trim().is_empty() {
                break;
            }
        }
        Answer { status, chunked, reader, text: String::new() }
    }

    /// The events until the last.
    pub(crate) fn events(&self, path: &str, body: &Value) -> Vec<(String, Value)> {
        self.post(path, body).collect()
    }

    /// What comes of a job.
    pub(crate) fn result(&self, path: &str, body: &Value) -> Value {
        let (name, value) = self.events(path, body).pop().expect("there is an end");
        assert_eq!(name, "result", "{body}: {value}");
        value
    }

    /// Why there is no result: before the job began, or in it.
    pub(crate) fn error(&self, path: &str, body: &Value) -> String {
        let answer = self.post(path, body);
        let value = if answer.status == 200 {
            let (name, value) = answer.last().expect("there is an end");
            assert_eq!(name, "error", "{body}: {value}");
            value
        } else {
            assert!((400..500).contains(&answer.status), "{body}: {}", answer.status);
            answer.json()
        };
        value["error"].as_str().expect("it says why").to_string()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An answer that is being read; as an iterator, its events.
pub(crate) struct Answer {
    pub(crate) status: u16,
    chunked: bool,
    reader: BufReader<TcpStream>,
    /// What has arrived and is not read yet.
    text: String,
}

impl Answer {
    /// The whole answer, which is no stream.
    pub(crate) fn json(mut self) -> Value {
        if self.chunked {
            while self.more() {}
        } else {
            self.reader.read_to_string(&mut self.text).unwrap();
        }
        serde_json::from_str(&self.text).unwrap()
    }

    /// Reads a chunk; false after the last.
    fn more(&mut self) -> bool {
        let mut size = String::new();
        self.reader.read_line(&mut size).unwrap();
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        let mut chunk = vec![0; size + 2];
        self.reader.read_exact(&mut chunk).unwrap();
        self.text.push_str(std::str::from_utf8(&chunk[..size]).unwrap());
        size > 0
    }
}

impl Iterator for Answer {
    type Item = (String, Value);

    fn next(&mut self) -> Option<Self::Item> {
        assert_eq!(self.status, 200);
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
                // Anything else only keeps the stream alive.
                let found = field("event: ").zip(field("data: ")).map(|(name, data)| {
                    (name.to_string(), serde_json::from_str(data).expect("data is JSON"))
                });
                self.text = rest.to_string();
                if found.is_some() {
                    return found;
                }
                continue;
            }
            if !self.more() {
                return None;
            }
        }
    }
}

/// What the command line says to the same, as JSON.
pub(crate) fn cli(words: &str) -> Value {
    let words: Vec<&str> = words.split_whitespace().collect();
    let output = Command::new(env!("CARGO_BIN_EXE_skeptron")).args(&words).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{words:?}: {error}: {}", String::from_utf8_lossy(&output.stderr))
    })
}

/// The words of a command, without the program's name.
pub(crate) fn words_of(command: &Value) -> String {
    command.as_str().unwrap().strip_prefix("skeptron ").unwrap().replace('\'', "")
}
