//! How far a search is, on the terminal.

use std::io::IsTerminal as _;

use indicatif::{ProgressBar, ProgressStyle};
use skeptron_check::Progress;

use super::print::short;

/// One line on standard error; nothing where nobody looks.
pub(super) struct Bar(ProgressBar);

impl Bar {
    pub(super) fn new() -> Self {
        if !std::io::stderr().is_terminal() {
            return Bar(ProgressBar::hidden());
        }
        let style = ProgressStyle::with_template("{spinner} {msg}");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
        Bar(ProgressBar::new_spinner().with_style(style))
    }

    pub(super) fn is_seen(&self) -> bool {
        !self.0.is_hidden()
    }

    pub(super) fn show(&self, progress: Progress) {
        self.0.set_message(line(progress));
        self.0.tick();
    }

    pub(super) fn clear(&self) {
        self.0.finish_and_clear();
    }
}

fn line(Progress { states, depth, seconds, level }: Progress) -> String {
    let rate = states as f64 / seconds.max(1e-3);
    let of_level = level.map(|(done, all)| format!(" ({} %)", 100 * done / all.max(1)));
    let of_level = of_level.unwrap_or_default();
    format!("{} states, depth {depth}{of_level}, {} states/s", short(states as f64), short(rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_tells_states_depth_and_speed() {
        let progress = Progress { states: 12_345_678, depth: 17, seconds: 10.0, level: None };
        assert_eq!(line(progress), "12.3 M states, depth 17, 1.23 M states/s");
        let progress = Progress { level: Some((30, 40)), ..progress };
        assert_eq!(line(progress), "12.3 M states, depth 17 (75 %), 1.23 M states/s");
    }
}
