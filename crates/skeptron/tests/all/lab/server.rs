//! A lab of this binary, and what is read from it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

/// Longer than anything here takes, so that a test fails rather than hangs.
const PATIENCE: Duration = Duration::from_secs(100);

/// A running `skeptron lab`, which ends with the test.
pub(crate) struct Lab {
    child: Child,
    pub(crate) host: String,
}

impl Lab {
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// With more options.
    pub(crate) fn start_with(options: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_skeptron"))
            .args(["lab", "--port", "0", "--json"])
            .args(options)
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

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends a request and begins to read the answer.
    pub(crate) fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let mut stream = self.connect();
        let host = if headers.contains("Host:") { "" } else { &format!("Host: {}\r\n", self.host) };
        let length = body.len();
        // Who is refused may be told so before the whole body is sent.
        let _ = write!(
            stream,
            "{method} {path} HTTP/1.1\r\n{host}Connection: close\r\n{headers}Content-Length: {length}\
             \r\n\r\n{body}"
        );
        Answer::begin(stream)
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, "", "")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask("POST", path, "", &body.to_string())
    }

    /// Makes a run and says where it is.
    pub(crate) fn run(&self, request: &Value) -> String {
        let made = self.post("/lab/runs", request).json(200);
        format!("/lab/runs/{}", made["id"].as_str().unwrap())
    }

    /// Why that cannot be done, which must be the asker's fault: before a job began, or in it.
    pub(crate) fn error(&self, path: &str, body: &Value) -> String {
        let answer = self.post(path, body);
        let status = answer.status;
        let value = if status == 200 {
            let (name, value) = answer.last().expect("there is an end");
            assert_eq!(name, "error", "{body}: {value}");
            value
        } else {
            assert!((400..500).contains(&status), "{body}: {status}");
            answer.json(status)
        };
        value["error"].as_str().expect("it says why").to_string()
    }

    /// All that is told of a run.
    pub(crate) fn told(&self, run: &str) -> Told {
        let mut events = self.get(run);
        let (name, header) = events.next().unwrap();
        assert_eq!(name, "run");
        let (records, end) = events.rest(0);
        Told { header, records, end }
    }

    /// A run of `sim`, told.
    pub(crate) fn told_sim(&self, sim: &Value) -> Told {
        self.told(&self.run(&json!({ "sim": sim })))
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What is told of a run.
#[derive(Debug, PartialEq)]
pub(crate) struct Told {
    pub(crate) header: Value,
    pub(crate) records: Vec<Value>,
    pub(crate) end: Value,
}

impl Told {
    /// What the judges say of a property.
    pub(crate) fn verdict(&self, property: &str) -> &Value {
        let verdicts = self.end["verdicts"].as_array().unwrap();
        verdicts.iter().find(|verdict| verdict["property"] == property).unwrap()
    }
}

/// An answer that is being read; as an iterator, its events.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: String,
    chunked: bool,
    reader: BufReader<TcpStream>,
    /// What has arrived and is not read yet.
    text: String,
}

impl Answer {
    pub(crate) fn begin(stream: TcpStream) -> Self {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let status = line.split(' ').nth(1).unwrap_or_else(|| panic!("no answer: {line}"));
        let status = status.parse().unwrap();
        let mut headers = String::new();
        while !headers.ends_with("\r\n\r\n") && reader.read_line(&mut headers).unwrap() > 2 {}
        let headers = headers.to_lowercase();
        let chunked = headers.contains("transfer-encoding: chunked");
        Answer { status, headers, chunked, reader, text: String::new() }
    }

    /// The whole answer, which is no stream.
    pub(crate) fn text(mut self) -> String {
        if self.chunked {
            while self.more() {}
        } else {
            self.reader.read_to_string(&mut self.text).unwrap();
        }
        self.text
    }

    /// The whole answer, which must have this status.
    pub(crate) fn json(self, status: u16) -> Value {
        let found = self.status;
        let text = self.text();
        assert_eq!(found, status, "{text}");
        serde_json::from_str(&text).unwrap()
    }

    /// The records from that place on, and the end.
    pub(crate) fn rest(&mut self, from: usize) -> (Vec<Value>, Value) {
        let mut records = Vec::new();
        loop {
            match self.next().expect("a run is told to its end") {
                (name, batch) if name == "records" => {
                    assert_eq!(batch["from"], from + records.len());
                    records.extend(batch["records"].as_array().unwrap().iter().cloned());
                }
                (name, end) => {
                    assert_eq!(name, "end");
                    assert_eq!(end["records"], from + records.len());
                    return (records, end);
                }
            }
        }
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
