//! How an algorithm looks in all plots: its family chooses the hue, its place there the shape.

use skeptron_core::catalogue::{self, Entry, Family};

use super::super::plot::Series;
use super::super::plot::marker::Shape;

pub(in super::super) struct Look {
    /// Has the colour.
    pub(in super::super) class: String,
    pub(in super::super) shape: Shape,
    pub(in super::super) dash: &'static str,
}

/// Okabe and Ito's colours, which people with any colour vision can tell apart, on light and on dark
/// ground: neighbouring hues for a family.
fn shades(family: Family) -> &'static [(&'static str, &'static str)] {
    match family {
        Family::Central => &[("#23272e", "#eceff3")],
        Family::Permission => &[("#0072b2", "#4aa8e0"), ("#39a0dc", "#a9dbf8")],
        Family::Quorum => &[("#009e73", "#2fc598"), ("#7d7a00", "#e6dc4e")],
        Family::Token => &[("#d55e00", "#f0813d"), ("#b9528f", "#e39cc4"), ("#c98f00", "#f0b429")],
        Family::Timeout => &[("#23272e", "#eceff3")],
        Family::Ring => &[("#0072b2", "#4aa8e0"), ("#39a0dc", "#a9dbf8"), ("#b9528f", "#e39cc4")],
        Family::Group => &[("#009e73", "#2fc598")],
        Family::Wave => &[("#d55e00", "#f0813d")],
    }
}

/// What a family has in common.
pub(super) fn family(family: Family) -> &'static str {
    match family {
        Family::Central => "One decides",
        Family::Permission => "Permission of everybody",
        Family::Quorum => "Permission of a quorum",
        Family::Token => "Whoever has the token",
        Family::Timeout => "Silence is death",
        Family::Ring => "Messages go round a ring",
        Family::Group => "Groups merge",
        Family::Wave => "A wave floods the network and comes back",
    }
}

/// The order of the families on a page.
pub(super) fn rank(family: Family) -> usize {
    let order = [
        Family::Central,
        Family::Permission,
        Family::Quorum,
        Family::Token,
        Family::Timeout,
        Family::Ring,
        Family::Group,
        Family::Wave,
    ];
    order.iter().position(|&other| other == family).unwrap_or(order.len())
}

/// Its place in its family, among all that are offered: the same on every page.
fn place(name: &str, family: Family) -> usize {
    let mutexes = catalogue::sound().map(|info| (info.name, info.family));
    let all = mutexes.chain(catalogue::sound_elections().map(|info| (info.name, info.family)));
    all.filter(|other| other.1 == family).take_while(|other| other.0 != name).count()
}

impl Look {
    pub(in super::super) fn of<C>(info: &Entry<C>) -> Self {
        let place = place(info.name, info.family);
        let turn = place / shades(info.family).len();
        Look {
            class: format!("c-{}", info.name),
            shape: Shape::nth(place),
            dash: ["", "8 3", "3 2.5", "9 3 2 3"][turn % 4],
        }
    }

    /// A line that looks like this, without points yet.
    pub(in super::super) fn series(self, label: &str) -> Series {
        Series {
            class: self.class,
            label: label.into(),
            shape: self.shape,
            dash: self.dash,
            points: Vec::new(),
            expected: Vec::new(),
            band: Vec::new(),
        }
    }
}

/// The colours of these algorithms, and what fades when one is pointed at.
pub(in super::super) fn sheet<C>(algorithms: &[&Entry<C>]) -> String {
    let colours: Vec<Coloured> = algorithms
        .iter()
        .map(|info| {
            let shades = shades(info.family);
            let (on_light, on_dark) = shades[place(info.name, info.family) % shades.len()];
            Coloured { class: Look::of(info).class, on_light, on_dark }
        })
        .collect();
    rules(&colours)
}

/// A class of lines and markers with its colour on light and on dark ground.
pub(in super::super) struct Coloured {
    pub(in super::super) class: String,
    pub(in super::super) on_light: &'static str,
    pub(in super::super) on_dark: &'static str,
}

/// The style sheet of these colours, with what fades when one is pointed at.
pub(in super::super) fn rules(colours: &[Coloured]) -> String {
    let light =
        |Coloured { class, on_light, .. }: &Coloured| format!(".{class}{{--c:{on_light}}}\n");
    let dark = |Coloured { class, on_dark, .. }: &Coloured| format!(".{class}{{--c:{on_dark}}}\n");
    let fade = |Coloured { class, .. }: &Coloured| {
        let others = format!(".series:not(.{class})");
        let expected = format!(":is(.expected,.band):not(.{class})");
        format!(
            ".plot:has(.series.{class}:hover) {others},main:has(.legend .{class}:hover) \
             {others}{{opacity:.12}}\n\
             .plot:has(.series.{class}:hover) {expected},main:has(.legend .{class}:hover) \
             {expected}{{opacity:.02}}\n"
        )
    };
    format!(
        "{}@media screen and (prefers-color-scheme:dark){{\n{}}}\n{}",
        colours.iter().map(light).collect::<String>(),
        colours.iter().map(dark).collect::<String>(),
        colours.iter().map(fade).collect::<String>(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look<C>(info: &Entry<C>) -> ((&'static str, &'static str), Shape) {
        let shades = shades(info.family);
        (shades[place(info.name, info.family) % shades.len()], Look::of(info).shape)
    }

    #[test]
    fn no_two_look_alike() {
        let mutexes: Vec<_> = catalogue::sound().map(look).collect();
        let elections: Vec<_> = catalogue::sound_elections().map(look).collect();
        for looks in [mutexes, elections] {
            for (i, look) in looks.iter().enumerate() {
                assert!(!looks[..i].contains(look), "{look:?}");
            }
        }
    }
}
