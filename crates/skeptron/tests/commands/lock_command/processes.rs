//! Real processes for tests: whatever a test starts ends with it, also when it fails.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use nix::sys::signal::{self, Signal};
use nix::unistd::Pid;

use crate::signals::heed_signals;

/// How long anything may take that should take no time.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The command under test, without what the surroundings have set for it.
pub(crate) fn skeptron() -> Command {
    heed_signals();
    let mut command = Command::new(env!("CARGO_BIN_EXE_skeptron"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("SKEPTRON_") {
            command.env_remove(name);
        }
    }
    command
}

/// A running process; it is killed when the test is done with it.
pub(crate) struct Process {
    child: Child,
    output: Option<BufReader<ChildStdout>>,
}

/// What became of a process.
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Process {
    pub(crate) fn spawn(command: Command) -> Self {
        Process::spawn_complaining_to(Stdio::piped(), command)
    }

    /// The same, with that as its standard error.
    pub(crate) fn spawn_complaining_to(errors: Stdio, mut command: Command) -> Self {
        heed_signals();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
        let mut child = command.spawn().unwrap();
        let output = child.stdout.take().map(BufReader::new);
        Process { child, output }
    }

    /// What the process reads.
    pub(crate) fn input(&mut self) -> &mut ChildStdin {
        self.child.stdin.as_mut().unwrap()
    }

    pub(crate) fn close_input(&mut self) {
        self.child.stdin = None;
    }

    /// The next line that it writes, without its end. The process is killed if it writes none.
    pub(crate) fn line(&mut self) -> String {
        let mut output = self.output.take().unwrap();
        let (tell, heard) = mpsc::channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            let read = output.read_line(&mut line);
            // Nobody listens any more: the test has failed.
            let _ = tell.send((read.map(|_| line), output));
        });
        let (line, output) = heard.recv_timeout(PATIENCE).expect("it says nothing");
        self.output = Some(output);
        let line = line.unwrap();
        assert!(!line.is_empty(), "it ended and said nothing: {}", self.complaint());
        line.trim_end().to_string()
    }

    /// What it writes to standard error up to and with the first line that has this.
    pub(crate) fn complaint_until(&mut self, wanted: &str) -> String {
        let mut errors = BufReader::new(self.child.stderr.take().unwrap());
        let wanted = wanted.to_string();
        let (tell, heard) = mpsc::channel();
        std::thread::spawn(move || {
            let mut text = String::new();
            let mut line = String::new();
            while errors.read_line(&mut line).is_ok_and(|length| length > 0) {
                text.push_str(&line);
                if line.contains(&wanted) {
                    break;
                }
                line.clear();
            }
            // Nobody listens any more: the test has failed.
            let _ = tell.send(text);
            // It must be able to go on writing.
            let _ = std::io::copy(&mut errors, &mut std::io::sink());
        });
        heard.recv_timeout(PATIENCE).expect("it says nothing of that")
    }

    fn complaint(&mut self) -> String {
        let mut text = String::new();
        if let Some(mut errors) = self.child.stderr.take() {
            errors.read_to_string(&mut text).unwrap();
        }
        text
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id().try_into().unwrap());
        signal::kill(pid, signal).unwrap();
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Ended {
        self.close_input();
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < deadline, "it does not end");
            std::thread::sleep(Duration::from_millis(5));
        };
        let code = status.code().or(status.signal().map(|signal| 128 + signal)).unwrap();
        let mut stdout = String::new();
        if let Some(output) = &mut self.output {
            output.read_to_string(&mut stdout).unwrap();
        }
        let stderr = self.complaint();
        Ended { code, stdout, stderr }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A running `skeptron up`.
pub(crate) struct Up {
    process: Process,
    endpoints: Vec<String>,
}

/// `skeptron lock`, not yet started.
pub(crate) struct Lock {
    pub(crate) command: Command,
}

impl Lock {
    pub(crate) fn spawn(self) -> Process {
        Process::spawn(self.command)
    }

    pub(crate) fn spawn_and_end(self) -> Ended {
        self.spawn().end()
    }
}

impl Up {
    pub(crate) fn start(options: &[&str]) -> Self {
        let mut command = skeptron();
        command.args(["up", "--port", "0", "--json"]).args(options);
        let mut process = Process::spawn(command);
        let ready: serde_json::Value = serde_json::from_str(&process.line()).unwrap();
        let nodes = ready["nodes"].as_array().unwrap();
        let endpoints = nodes.iter().map(|node| node["api"].as_str().unwrap().to_string());
        let up = Up { endpoints: endpoints.collect(), process };
        if ready["voters"].as_array().is_some_and(|voters| !voters.is_empty()) {
            // A busy machine is not to cost anybody its lease.
            let mut longer = skeptron();
            longer.args(["voters", "lease", "30s", "--endpoint", up.url()]);
            let ended = Process::spawn(longer).end();
            assert_eq!(ended.code, 0, "{}", ended.stderr);
        }
        up
    }

    pub(crate) fn lock(&self, name: &str, options: &[&str], command: &[&str]) -> Lock {
        self.lock_at(0, name, options, command)
    }

    pub(crate) fn lock_at(
        &self,
        node: usize,
        name: &str,
        options: &[&str],
        words: &[&str],
    ) -> Lock {
        let mut command = skeptron();
        command.args(["lock", name, "--endpoint", &self.endpoints[node]]);
        command.args(options).arg("--").args(words);
        Lock { command }
    }

    /// What `skeptron locks --json` says.
    pub(crate) fn listing(&self) -> serde_json::Value {
        let mut command = skeptron();
        command.args(["locks", "--json", "--endpoint", &self.endpoints[0]]);
        let ended = Process::spawn(command).end();
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        serde_json::from_str(&ended.stdout).unwrap()
    }

    /// What `skeptron locks` says to people.
    pub(crate) fn table(&self) -> String {
        let mut command = skeptron();
        command.args(["locks", "--endpoint", &self.endpoints[0]]);
        Process::spawn(command).end().stdout
    }

    /// How many wait for a lock, at all nodes.
    pub(crate) fn waiters(&self, name: &str) -> u64 {
        let listing = self.listing();
        let locks = listing["locks"].as_array().unwrap();
        let lock = locks.iter().find(|lock| lock["name"] == name);
        lock.map_or(0, |lock| lock["waiters"].as_u64().unwrap())
    }

    /// Where a node answers.
    pub(crate) fn endpoint(&self, node: usize) -> &str {
        &self.endpoints[node]
    }

    /// Where its first node answers.
    pub(crate) fn url(&self) -> &str {
        &self.endpoints[0]
    }

    pub(crate) fn kill(self) {
        self.process.signal(Signal::SIGKILL);
        self.process.end();
    }

    /// Its exit code after that signal.
    pub(crate) fn end(self, signal: Signal) -> i32 {
        self.process.signal(signal);
        self.process.end().code
    }
}

/// Looks again and again.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "not so within {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
