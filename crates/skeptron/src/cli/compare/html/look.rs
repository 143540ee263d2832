//! How an algorithm looks in all plots: its family chooses the hue, its place there the shape.

use skeptron_core::catalogue::{self, Family, Info};

use super::super::plot::marker::Shape;

pub(super) struct Look {
    /// Has the colour.
    pub(super) class: String,
    pub(super) shape: Shape,
    pub(super) dash: &'static str,
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

/// Its place in its family, among all that are offered: the same on every page.
fn place(info: &Info) -> usize {
    let family = catalogue::sound().filter(|other| other.family == info.family);
    family.take_while(|other| other.name != info.name).count()
}

impl Look {
    pub(super) fn of(info: &Info) -> Self {
        let place = place(info);
        let turn = place / shades(info.family).len();
        Look {
            class: format!("c-{}", info.name),
            shape: Shape::nth(place),
            dash: ["", "8 3", "3 2.5", "9 3 2 3"][turn % 4],
        }
    }
}

/// The colours, and what fades when one is pointed at.
pub(super) fn sheet(algorithms: &[&Info]) -> String {
    let colours = |dark: bool| -> String {
        let rule = |info: &&Info| {
            let shades = shades(info.family);
            let (on_light, on_dark) = shades[place(info) % shades.len()];
            let colour = if dark { on_dark } else { on_light };
            format!(".{}{{--c:{colour}}}\n", Look::of(info).class)
        };
        algorithms.iter().map(rule).collect()
    };
    let fade = |info: &&Info| {
        let class = Look::of(info).class;
        let others = format!(".series:not(.{class})");
        let expected = format!(":is(.expected,.band):not(.{class})");
        format!(
            ".plot:has(.series.{class}:hover) {others},main:has(.legend .{class}:hover) \
             {others}{{opacity:.12}}\n\
             .plot:has(.series.{class}:hover) {expected},main:has(.legend .{class}:hover) \
             {expected}{{opacity:.02}}\n"
        )
    };
    let fades: String = algorithms.iter().map(fade).collect();
    format!(
        "{}@media screen and (prefers-color-scheme:dark){{\n{}}}\n{fades}",
        colours(false),
        colours(true)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_look_alike() {
        let looks: Vec<_> = catalogue::sound()
            .map(|info| {
                let shades = shades(info.family);
                (shades[place(info) % shades.len()], Look::of(info).shape)
            })
            .collect();
        for (i, look) in looks.iter().enumerate() {
            assert!(!looks[..i].contains(look), "{look:?}");
        }
    }
}
