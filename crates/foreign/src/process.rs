//! A running program: one line in, one line out.

use std::ffi::OsStr;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use thiserror::Error;

/// No answer is longer.
const MOST_BYTES: u64 = 1 << 24;
/// How long a program that has closed its output may take to end, so that it can be said how it did.
const ENDING: Duration = Duration::from_millis(500);

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum NoAnswer {
    #[error("it ended ({0})")]
    Ended(String),
    #[error("it did not answer within {} s", .0.as_secs_f64())]
    Late(Duration),
    #[error("its answer has more than {MOST_BYTES} bytes")]
    Long,
}

/// A program that runs.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    /// `None` once it is over.
    questions: Option<Sender<String>>,
    answers: Receiver<io::Result<String>>,
    last_words: Arc<Mutex<String>>,
    /// Closes when the program can say nothing more on standard error.
    speechless: Receiver<()>,
}

/// Who runs a file: an interpreter, or the system.
pub(crate) fn interpreter(path: &Path) -> Option<&'static str> {
    match path.extension().and_then(OsStr::to_str) {
        Some("py") => Some("python3"),
        Some("js") => Some("node"),
        _ => None,
    }
}

impl Process {
    pub(crate) fn start(path: &Path) -> io::Result<Self> {
        let mut command = match interpreter(path) {
            Some(interpreter) => {
                let mut command = Command::new(interpreter);
                command.arg(path);
                command
            }
            None => Command::new(path),
        };
        // The order of Python's sets must not differ from run to run.
        command.env("PYTHONHASHSEED", "0").env("PYTHONDONTWRITEBYTECODE", "1");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C is for the command that asks: it ends the program when it ends itself.
        command.process_group(0);
        let mut child = spawned(&mut command)?;
        let missing = || io::Error::other("it has no pipes");
        let stdin = child.stdin.take().ok_or_else(missing)?;
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stderr = child.stderr.take().ok_or_else(missing)?;
        let (questions, asked) = mpsc::channel();
        let (told, answers) = mpsc::channel();
        thread::spawn(move || converse(stdin, stdout, &asked, &told));
        let last_words = Arc::new(Mutex::new(String::new()));
        let (silent, speechless) = mpsc::channel();
        let words = Arc::clone(&last_words);
        thread::spawn(move || {
            pass_on(stderr, &words);
            drop(silent);
        });
        Ok(Process { child, questions: Some(questions), answers, last_words, speechless })
    }

    /// Asks one question and waits for the answer, both without the end of the line. After an error it must not
    /// be asked again.
    pub(crate) fn ask(&mut self, question: &str, within: Duration) -> Result<String, NoAnswer> {
        let sent = self.questions.as_ref().map(|questions| questions.send(question.to_string()));
        if !matches!(sent, Some(Ok(()))) {
            return Err(NoAnswer::Ended(self.how_it_ended()));
        }
        match self.answers.recv_timeout(within) {
            Ok(Ok(line)) if line.len() as u64 >= MOST_BYTES => Err(NoAnswer::Long),
            Ok(Ok(line)) => Ok(line),
            Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => {
                Err(NoAnswer::Ended(self.how_it_ended()))
            }
            Err(RecvTimeoutError::Timeout) => Err(NoAnswer::Late(within)),
        }
    }

    /// Its exit code, and the last that it said on standard error.
    fn how_it_ended(&mut self) -> String {
        let until = Instant::now() + ENDING;
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break status.to_string(),
                Ok(None) if Instant::now() < until => thread::sleep(Duration::from_millis(5)),
                _ => break "it closed its output and still runs".into(),
            }
        };
        // What it has started may keep standard error open.
        let _ = self.speechless.recv_timeout(ENDING);
        let words = self.last_words.lock().unwrap_or_else(PoisonError::into_inner);
        if words.is_empty() { status } else { format!("{status}, saying: {words}") }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.questions = None;
        // Once it has ended its number may be another's.
        if matches!(self.child.try_wait(), Ok(None))
            && let Ok(group) = i32::try_from(self.child.id())
        {
            // With all that it has started.
            let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
        }
        let _ = self.child.wait();
    }
}

/// Starts it, also if somebody has just written the file.
fn spawned(command: &mut Command) -> io::Result<Child> {
    for _ in 0..20 {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                thread::sleep(Duration::from_millis(10));
            }
            other => return other,
        }
    }
    command.spawn()
}

/// Writes and reads apart from whoever asks, so that a program that does neither holds nobody up.
fn converse(
    mut stdin: ChildStdin,
    stdout: ChildStdout,
    asked: &Receiver<String>,
    told: &Sender<io::Result<String>>,
) {
    let mut stdout = BufReader::new(stdout);
    for mut question in asked {
        question.push('\n');
        let written = stdin.write_all(question.as_bytes()).and_then(|()| stdin.flush());
        let answer = written.and_then(|()| line(&mut stdout));
        let is_over = answer.is_err();
        if told.send(answer).is_err() || is_over {
            return;
        }
    }
}

fn line(stdout: &mut BufReader<ChildStdout>) -> io::Result<String> {
    let mut line = Vec::new();
    stdout.take(MOST_BYTES).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let text = String::from_utf8_lossy(&line);
    Ok(text.trim_end_matches(['\n', '\r']).to_string())
}

/// Shows what the program says on standard error, and keeps the last of it.
fn pass_on(stderr: impl io::Read, last_words: &Mutex<String>) {
    for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        // Whoever has closed standard error does not want it.
        let _ = writeln!(io::stderr(), "{line}");
        // Node.js says its version last.
        if !line.trim().is_empty() && !line.starts_with("Node.js v") && !line.starts_with("    at ")
        {
            *last_words.lock().unwrap_or_else(PoisonError::into_inner) = line.trim().to_string();
        }
    }
}
