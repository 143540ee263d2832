//! Ctrl-C during long work: it ends with what there is so far, and says so.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, LazyLock, Once, mpsc};
use std::thread;

use anyhow::Result;

use super::Verdict;
use super::runtime::{self, Signals};

static STOP: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);
static CODE: AtomicU8 = AtomicU8::new(0);

/// From now on INT and TERM set the flag instead of ending the process; a second one ends it.
pub(crate) fn listen() -> &'static Arc<AtomicBool> {
    static LISTENS: Once = Once::new();
    LISTENS.call_once(|| {
        let (tell, told) = mpsc::channel();
        thread::spawn(move || {
            // Should it fail, the signals end the process as ever.
            let _ = runtime::on_one_thread(note_signals(tell));
        });
        // It is not told if the signals cannot be listened for.
        let _ = told.recv();
    });
    &STOP
}

async fn note_signals(listening: mpsc::Sender<()>) -> Result<()> {
    let mut signals = Signals::listen(&runtime::not_ignored(&Signals::ENDING))?;
    let _ = listening.send(());
    CODE.store(runtime::exit_code(signals.next().await), Ordering::Relaxed);
    STOP.store(true, Ordering::SeqCst);
    let again = signals.next().await;
    std::process::exit(runtime::exit_code(again).into())
}

/// Whether a signal has come.
pub(crate) fn came() -> bool {
    STOP.load(Ordering::SeqCst)
}

/// The verdict on work that may have been interrupted: then it says so, with what there is.
pub(crate) fn verdict(so_far: &str, otherwise: Verdict) -> Verdict {
    if !came() {
        return otherwise;
    }
    // If nobody listens, the exit code tells.
    let _ = writeln!(std::io::stderr(), "interrupted: {so_far}");
    Verdict::Exited(CODE.load(Ordering::Relaxed))
}
