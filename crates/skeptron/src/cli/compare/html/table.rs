//! The table of all figures.

use skeptron_core::catalogue::Info;
use skeptron_markup::escaped;

use super::super::super::table::number;
use super::super::measure::{Claimed, Figure, Row};
use super::{Page, measured};

impl Page<'_> {
    pub(super) fn figures(&self) -> String {
        let columns: String =
            self.nodes.iter().map(|n| format!("<th scope=\"col\">N = {n}</th>")).collect();
        let groups: String = self.algorithms.iter().map(|info| self.group(info)).collect();
        format!(
            "<section>\n<h2>All figures</h2>\n\
             <p>In each cell the measured mean with its 95 % interval, below it the claimed value \
             and how far the measurement is from it. <span class=\"equal\">=</span> equal, \
             <span class=\"near\">≈</span> within 2 % or the interval, \
             <span class=\"within\">✓</span> within the bounds, \
             <span class=\"outside\">✗</span> outside. N nodes, K mean quorum size, D diameter of \
             the tree, d distance to the first holder, L and U Sanders’ bounds, H harmonic number, \
             E time inside.</p>\n\
             <div class=\"scroll figures\" tabindex=\"0\" role=\"region\" aria-label=\"All figures\">\n\
             <table>\n<thead><tr><th scope=\"col\">Figure</th><th scope=\"col\" class=\"claim\">Claim</th>{columns}\
             </tr></thead>\n{groups}</table>\n</div>\n</section>\n"
        )
    }

    fn group(&self, info: &Info) -> String {
        let width = self.nodes.len() + 2;
        let mut group = format!(
            "<tbody>\n<tr class=\"group\"><th scope=\"rowgroup\" colspan=\"{width}\"><span>{} \
             <code>{}</code></span></th></tr>\n",
            escaped(info.title),
            escaped(info.name)
        );
        for figure in Figure::ALL {
            let row = |&n| Row::find(self.rows, info.name, n, figure);
            let claim = self.nodes.iter().filter_map(row).find_map(|row| row.claim.as_ref());
            let claim = claim.map_or("–".into(), |claim| escaped(&claim.text));
            let cells: String = self.nodes.iter().map(|n| cell(row(n))).collect();
            group += &format!(
                "<tr><th scope=\"row\">{}</th><td class=\"claim\">{claim}</td>{cells}</tr>\n",
                figure.title()
            );
        }
        group + "</tbody>\n"
    }
}

fn cell(row: Option<&Row>) -> String {
    let Some((row, _)) = row.and_then(|row| Some((row, row.measured?))) else {
        return "<td>–</td>".into();
    };
    let sign = row.verdict();
    let class = match sign.as_str() {
        "=" => "equal",
        "≈" => "near",
        "✓" => "within",
        "✗" => "outside",
        _ => "unjudged",
    };
    let claimed = row.claim.as_ref().map_or(String::new(), |claim| {
        let deviation = match row.percent() {
            Some(percent) => signed(percent) + " %",
            None => row.deviation.map_or(String::new(), signed),
        };
        format!("<small>{} <span>· {deviation}</span></small>", values(claim))
    });
    format!("<td class=\"{class}\"><b>{}</b> <i>{sign}</i>{claimed}</td>", measured(row))
}

/// The values of a claim in one system.
pub(super) fn values(claim: &Claimed) -> String {
    let bounds = || format!("{} … {}", number(claim.low), number(claim.high));
    match claim.typical {
        _ if claim.is_exact() => number(claim.low),
        Some(typical) => format!("{} ({})", number(typical), bounds()),
        None => bounds(),
    }
}

fn signed(value: f64) -> String {
    let text = number((value * 100.0).round() / 100.0);
    match text.strip_prefix('-') {
        Some("0") => "0".into(),
        Some(rest) => format!("−{rest}"),
        None if text == "0" => text,
        None => format!("+{text}"),
    }
}
