//! Kinds of messages have one look everywhere: in diagrams, on the page, in a terminal. It follows from what
//! a kind is for, so that a REPLY of one algorithm looks like the ACK of another.

/// What a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// It asks for something.
    Request,
    /// It grants or answers that.
    Grant,
    /// It gives a permission back.
    Release,
    /// It is the right itself.
    Token,
    /// It says no, or not yet.
    Deny,
    /// It asks how things are.
    Inquire,
    /// It makes way for another.
    Yield,
    /// It tells a result.
    Announce,
    /// A kind that the table does not know.
    Other,
}

/// How a role is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Its name in style sheets.
    pub name: &'static str,
    /// Its colour on light ground.
    pub light: &'static str,
    /// Its colour on dark ground.
    pub dark: &'static str,
    /// Its colour in a terminal, as in `ESC [ 34 m`.
    pub terminal: u8,
}

impl Role {
    /// All of them.
    pub const ALL: [Role; 9] = [
        Role::Request,
        Role::Grant,
        Role::Release,
        Role::Token,
        Role::Deny,
        Role::Inquire,
        Role::Yield,
        Role::Announce,
        Role::Other,
    ];

    /// Of a kind of message, by its name in the papers.
    #[must_use]
    pub fn of(kind: &str) -> Role {
        KINDS.iter().find(|(name, _)| *name == kind).map_or(Role::Other, |&(_, role)| role)
    }

    /// How it is shown. The colours are Okabe and Ito's, which people with any colour vision can tell apart,
    /// each darkened or lightened until text in it is legible on its ground.
    #[must_use]
    pub const fn look(self) -> Look {
        let (name, light, dark, terminal) = match self {
            Role::Request => ("request", "#006aa8", "#56b4e9", 34),
            Role::Grant => ("grant", "#007a55", "#2fc79a", 32),
            Role::Release => ("release", "#a03d80", "#e38cc1", 35),
            Role::Token => ("token", "#8a5a00", "#e69f00", 33),
            Role::Deny => ("deny", "#b3420a", "#f0895a", 31),
            Role::Inquire => ("inquire", "#5b4bc4", "#a79cf0", 94),
            Role::Yield => ("yield", "#5f6b2d", "#b9c766", 36),
            Role::Announce => ("announce", "#8a2f2f", "#e8a0a0", 95),
            Role::Other => ("other", "#5a6675", "#a3afbe", 90),
        };
        Look { name, light, dark, terminal }
    }
}

/// Every kind of message that an algorithm of the catalogue sends.
pub const KINDS: [(&str, Role); 41] = [
    ("REQUEST", Role::Request),
    ("READ", Role::Request),
    ("WRITE", Role::Request),
    ("REPLY", Role::Grant),
    ("ACK", Role::Grant),
    ("RELEASE", Role::Release),
    ("FLUSH", Role::Release),
    ("TOKEN", Role::Token),
    ("PRIVILEGE", Role::Token),
    ("STATE", Role::Token),
    ("INFORM", Role::Announce),
    ("LOCKED", Role::Grant),
    ("FAILED", Role::Deny),
    ("INQUIRE", Role::Inquire),
    ("RELINQUISH", Role::Yield),
    ("FAIL", Role::Deny),
    ("YIELD", Role::Yield),
    ("TRANSFER", Role::Announce),
    ("INTERREQUEST", Role::Request),
    ("INTERTOKEN", Role::Token),
    // Of locks with kinds.
    ("ASK", Role::Inquire),
    ("LEFT", Role::Release),
    ("WANT", Role::Yield),
    ("LEND", Role::Grant),
    ("DENY", Role::Deny),
    // Of elections.
    ("ELECTION", Role::Request),
    ("OK", Role::Grant),
    ("COORDINATOR", Role::Announce),
    ("PROBE", Role::Request),
    ("ID", Role::Request),
    ("FIRST", Role::Request),
    ("SECOND", Role::Inquire),
    ("ELECTED", Role::Announce),
    ("EXPLORER", Role::Request),
    ("ECHO", Role::Grant),
    ("LEADER", Role::Announce),
    ("AYCOORD", Role::Inquire),
    ("ANSWER", Role::Grant),
    ("INVITATION", Role::Request),
    ("ACCEPT", Role::Yield),
    ("READY", Role::Announce),
];

/// A text with the kinds of messages in it coloured for a terminal.
#[must_use]
pub fn coloured(text: &str) -> String {
    let mut painted = String::with_capacity(text.len());
    for word in text.split_inclusive(|c: char| !c.is_ascii_uppercase()) {
        let name = word.trim_end_matches(|c: char| !c.is_ascii_uppercase());
        match Role::of(name) {
            Role::Other => painted.push_str(word),
            role => {
                let code = role.look().terminal;
                painted += &format!("\u{1b}[{code}m{name}\u{1b}[0m{}", &word[name.len()..]);
            }
        }
    }
    painted
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The contrast of two colours as WCAG defines it.
    fn contrast(a: &str, b: &str) -> f64 {
        let light = |colour: &str| {
            let part = |at: usize| {
                let value = u8::from_str_radix(&colour[at..at + 2], 16).unwrap();
                let value = f64::from(value) / 255.0;
                if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
            };
            0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5) + 0.05
        };
        let (a, b) = (light(a), light(b));
        a.max(b) / a.min(b)
    }

    #[test]
    fn labels_are_legible_on_their_ground_and_no_two_roles_look_alike() {
        for role in Role::ALL {
            let Look { light, dark, .. } = role.look();
            assert!(contrast(light, "#ffffff") >= 4.5, "{role:?} on white");
            assert!(contrast(dark, "#1a212b") >= 4.5, "{role:?} on the dark panel");
            let alike = Role::ALL.iter().filter(|other| {
                let look = other.look();
                look.light == light || look.dark == dark || look.name == role.look().name
            });
            assert_eq!(alike.count(), 1, "{role:?}");
        }
    }

    #[test]
    fn only_whole_names_of_kinds_are_coloured() {
        let told = "P1 REQUEST → P2  OKAY";
        assert_eq!(coloured(told), "P1 \u{1b}[34mREQUEST\u{1b}[0m → P2  OKAY");
        assert_eq!(coloured("OK"), "\u{1b}[32mOK\u{1b}[0m");
    }
}
