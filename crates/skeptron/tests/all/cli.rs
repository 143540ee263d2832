//! The command line as a user sees it: `cmd/*.trycmd` are shell sessions. After a change on purpose,
//! `TRYCMD=overwrite cargo test -p skeptron --test all cli::` rewrites them; read the difference.

#[test]
fn sessions_are_as_written() {
    let cases = trycmd::TestCases::new();
    cases.env("COLUMNS", "100").env("NO_COLOR", "1");
    cases.case("tests/cmd/*.trycmd");
    cases.case("../../docs/quorums.md").case("../../docs/elections.md").case("../../docs/kinds.md");
}

/// Whoever types something wrong reads one line, not a page.
#[test]
fn bad_input_gives_one_line() {
    let sessions = [
        include_str!("../cmd/bad-input.trycmd"),
        include_str!("../cmd/bad-elections.trycmd"),
        include_str!("../cmd/bad-locks.trycmd"),
    ];
    let commands = sessions.iter().flat_map(|session| session.split("\n$ ").skip(1));
    let commands: Vec<&str> = commands.collect();
    assert!(commands.len() > 175);
    for command in commands {
        let said: Vec<&str> = command.lines().take_while(|line| !line.is_empty()).collect();
        assert_eq!(said.len(), 3, "command, exit code and one line: {said:#?}");
        assert_eq!(said[1], "? 2", "{said:#?}");
        let begins = if said[0].contains("--json") { "{\"error\":" } else { "error: " };
        assert!(said[2].starts_with(begins), "{said:#?}");
    }
}
