//! Lines on their way to a file that may be full, slow or never read: whoever writes one neither waits
//! nor fails. What has no room is dropped and counted.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use skeptron_net::observe::dropped_log_lines;
use tracing_subscriber::fmt::MakeWriter;

/// Lines that may wait to be written.
const MOST_LINES: usize = 8192;
/// While lines are written without a pause, drops are reported so often.
const REPORT_EVERY: Duration = Duration::from_secs(1);
/// How often a full queue is tried again by somebody who may wait.
const TRY_AGAIN: Duration = Duration::from_millis(5);

/// Where lines are written to.
pub(super) type Sink = Box<dyn Write + Send>;

/// How the report of dropped lines looks.
pub(super) type Notice = Box<dyn Fn(&str) -> String + Send>;

/// What the writing thread is told.
enum Item {
    Line(Vec<u8>),
    /// Everything before it has been written, or given up.
    Flush(SyncSender<()>),
    /// From now on lines go there.
    Replace(Sink),
}

/// Takes lines; a thread of its own writes them.
#[derive(Clone)]
pub(super) struct Queue {
    items: SyncSender<Item>,
    /// Dropped and not yet reported.
    missed: Arc<AtomicU64>,
}

impl Queue {
    /// Begins to write to `sink`.
    pub(super) fn start(sink: Sink, notice: Notice) -> io::Result<Self> {
        let (items, received) = sync_channel(MOST_LINES);
        let missed = Arc::new(AtomicU64::new(0));
        let writing = Writing { sink, notice, missed: Arc::clone(&missed), reported: None };
        thread::Builder::new().name("log".to_string()).spawn(move || writing.run(&received))?;
        Ok(Queue { items, missed })
    }

    /// Writes a line, or drops it if there is no room.
    pub(super) fn push(&self, line: Vec<u8>) {
        if self.items.try_send(Item::Line(line)).is_err() {
            miss(&self.missed);
        }
    }

    /// From now on lines go there. Says whether there was room to tell.
    pub(super) fn replace(&self, sink: Sink) -> bool {
        self.items.try_send(Item::Replace(sink)).is_ok()
    }

    /// Waits until everything up to now is written, but no longer than that.
    pub(super) fn flush(&self, within: Duration) {
        let deadline = Instant::now() + within;
        let (done, flushed) = sync_channel(1);
        let mut item = Item::Flush(done);
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.items.try_send(item) {
                Ok(()) => {
                    let _ = flushed.recv_timeout(left);
                    return;
                }
                Err(std::sync::mpsc::TrySendError::Full(back)) if !left.is_zero() => item = back,
                Err(_) => return,
            }
            thread::sleep(TRY_AGAIN.min(left));
        }
    }
}

fn miss(missed: &AtomicU64) {
    missed.fetch_add(1, Ordering::Relaxed);
    dropped_log_lines().inc();
}

/// One event is one write of the subscriber.
impl Write for Queue {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.push(line.to_vec());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Queue {
    type Writer = Queue;

    fn make_writer(&'a self) -> Queue {
        self.clone()
    }
}

/// The thread that writes.
struct Writing {
    sink: Sink,
    notice: Notice,
    missed: Arc<AtomicU64>,
    reported: Option<Instant>,
}

impl Writing {
    fn run(mut self, items: &Receiver<Item>) {
        loop {
            let item = match items.try_recv() {
                Ok(item) => item,
                Err(TryRecvError::Empty) => {
                    self.report();
                    // What is dropped while nothing comes any more is reported, too.
                    match items.recv_timeout(REPORT_EVERY) {
                        Ok(item) => item,
                        Err(RecvTimeoutError::Timeout) => continue,
                        Err(RecvTimeoutError::Disconnected) => return,
                    }
                }
                Err(TryRecvError::Disconnected) => return,
            };
            match item {
                Item::Line(line) => {
                    if self.sink.write_all(&line).is_err() {
                        miss(&self.missed);
                    }
                    if self.reported.is_none_or(|at| at.elapsed() >= REPORT_EVERY) {
                        self.report();
                    }
                }
                Item::Flush(done) => {
                    self.report();
                    let _ = done.try_send(());
                }
                Item::Replace(sink) => self.sink = sink,
            }
        }
    }

    /// Says how many lines are missing here, if any.
    fn report(&mut self) {
        let missed = self.missed.swap(0, Ordering::Relaxed);
        if missed == 0 {
            return;
        }
        let lines = if missed == 1 { "line" } else { "lines" };
        let notice = (self.notice)(&format!("{missed} log {lines} dropped"));
        if self.sink.write_all(notice.as_bytes()).is_err() {
            self.missed.fetch_add(missed, Ordering::Relaxed);
        }
        self.reported = Some(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc;

    use super::*;

    /// Writes when it is let, and fails if it is told to.
    struct Gate {
        open: mpsc::Receiver<bool>,
        written: Arc<Mutex<String>>,
    }

    impl Write for Gate {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // Without a keeper it stays open.
            if !self.open.recv().unwrap_or(true) {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.written.lock().unwrap().push_str(&String::from_utf8_lossy(bytes));
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn gated() -> (Queue, mpsc::Sender<bool>, Arc<Mutex<String>>) {
        let (keeper, open) = mpsc::channel();
        let written = Arc::new(Mutex::new(String::new()));
        let gate = Gate { open, written: Arc::clone(&written) };
        let queue = Queue::start(Box::new(gate), Box::new(|said| format!("({said})\n"))).unwrap();
        (queue, keeper, written)
    }

    #[test]
    fn whoever_writes_to_a_reader_that_is_stuck_does_not_wait() {
        let (queue, keeper, written) = gated();
        let before = dropped_log_lines().get();
        for _ in 0..MOST_LINES + 10 {
            queue.push(b"a\n".to_vec());
        }
        let dropped = dropped_log_lines().get() - before;
        assert!((9..=10).contains(&dropped), "one may be in the writer's hands: {dropped}");
        // Nothing is read: giving up takes no longer than was said.
        queue.flush(Duration::from_millis(20));
        drop(keeper);
        queue.flush(Duration::from_secs(60));
        let written = written.lock().unwrap();
        assert_eq!(written.matches("a\n").count() as u64, MOST_LINES as u64 + 10 - dropped);
        assert!(written.contains(&format!("({dropped} log lines dropped)")), "{written}");
    }

    #[test]
    fn a_write_that_fails_is_counted_and_the_next_is_tried() {
        let (queue, keeper, written) = gated();
        keeper.send(false).unwrap();
        queue.push(b"lost\n".to_vec());
        drop(keeper);
        queue.push(b"kept\n".to_vec());
        queue.flush(Duration::from_secs(60));
        let written = written.lock().unwrap();
        assert!(written.contains("(1 log line dropped)"), "{written}");
        assert!(written.contains("kept") && !written.contains("lost"), "{written}");
    }
}
