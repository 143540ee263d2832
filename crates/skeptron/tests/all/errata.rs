//! The errata page: every row of its table has a command, and the command shows what the row says.

use std::process::Command;

use skeptron::errata::{self, Erratum};

/// Splits a command as a shell would: at blanks, but not within single quotes.
fn words(command: &str) -> Vec<String> {
    let quoted = command.split('\'').enumerate();
    quoted
        .flat_map(|(place, part)| match place % 2 {
            0 => part.split_whitespace().map(str::to_string).collect::<Vec<_>>(),
            _ => vec![part.to_string()],
        })
        .collect()
}

#[test]
fn every_row_shows_what_it_says() {
    let rows: Vec<Erratum> = errata::all().collect();
    assert_eq!(rows.len(), 28, "one row for each erratum that is known");
    for Erratum { command, shows, .. } in rows {
        let words = words(&command);
        assert_eq!(words[0], "skeptron", "{command}");
        let mut run = Command::new(env!("CARGO_BIN_EXE_skeptron"));
        let output = run.args(&words[1..]).env("COLUMNS", "100").output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let said: Vec<&str> = said.split_whitespace().collect();
        assert!(
            said.join(" ").contains(&shows),
            "{command}\nshould show: {shows}\n{}",
            said.join(" ")
        );
    }
}
