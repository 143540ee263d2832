//! What the lectures print that is wrong, as `docs/errata.md` lists it.

/// One row of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Erratum {
    /// In which lecture, and on which page.
    pub place: String,
    /// What is printed there.
    pub printed: String,
    /// What is right.
    pub right: String,
    /// What shows it: a command of the program.
    pub command: String,
    /// What the command says.
    pub shows: String,
}

/// Every row of the page.
pub fn all() -> impl Iterator<Item = Erratum> {
    let page = include_str!("../../../docs/errata.md");
    page.lines().filter(|line| line.starts_with("| 00")).map(|line| {
        let line = line.replace("\\|", "\u{1}");
        let mut cells = line.split('|').skip(1).map(|cell| cell.trim().replace('\u{1}', "|"));
        let mut cell = || cells.next().unwrap_or_default();
        let (place, printed, right) = (cell(), cell(), cell());
        let code = |cell: String| cell.trim_matches('`').to_string();
        Erratum { place, printed, right, command: code(cell()), shows: code(cell()) }
    })
}
