//! The jobs of the lab, asked as its page asks: what comes of them is what the commands say.

mod bounds;
mod results;

use std::process::Command;

use serde_json::Value;

use crate::lab::server::Lab;

impl Lab {
    /// The events until the last.
    fn events(&self, path: &str, body: &Value) -> Vec<(String, Value)> {
        self.post(path, body).collect()
    }

    /// What comes of a job.
    fn result(&self, path: &str, body: &Value) -> Value {
        let (name, value) = self.events(path, body).pop().expect("there is an end");
        assert_eq!(name, "result", "{body}: {value}");
        value
    }
}

/// What the command line says to the same, as JSON.
fn cli(words: &str) -> Value {
    let words: Vec<&str> = words.split_whitespace().collect();
    let output = Command::new(env!("CARGO_BIN_EXE_skeptron")).args(&words).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{words:?}: {error}: {}", String::from_utf8_lossy(&output.stderr))
    })
}

/// The words of a command, without the program's name.
fn words_of(command: &Value) -> String {
    command.as_str().unwrap().strip_prefix("skeptron ").unwrap().replace('\'', "")
}
