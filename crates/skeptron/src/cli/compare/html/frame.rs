//! What the pages of all comparisons have in common.

use skeptron_core::catalogue::{Entry, Family};
use skeptron_markup::escaped;

use super::super::super::table::number;
use super::super::Diagram;
use super::super::plot::{Point, Series};
use super::look::{self, Look};
use crate::ask::compare::Judged;

/// A page that stands alone.
pub(in super::super) fn document(title: &str, sheet: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <title>{title}</title>\n<style>\n{}{sheet}</style>\n</head>\n<body>\n<main>\n\
         <h1>{title}</h1>\n{body}</main>\n</body>\n</html>\n",
        include_str!("page.css"),
    )
}

/// How many claims hold, in a sentence; `None` if none was judged.
pub(in super::super) fn verdict(all: &[&Judged]) -> Option<String> {
    let count = |sign: &str| all.iter().filter(|judged| judged.verdict() == sign).count();
    let judged = all.iter().filter(|judged| judged.holds.is_some()).count();
    let failed = match count("✗") {
        0 => "<strong>none fails</strong>".to_string(),
        1 => "<strong class=\"outside\">1 does not hold</strong>".to_string(),
        n => format!("<strong class=\"outside\">{n} do not hold</strong>"),
    };
    (judged > 0).then(|| {
        format!(
            "Of {judged} claims, {} are met exactly, {} within 2 % or the interval, {} keep \
             their bounds, and {failed}.",
            count("="),
            count("≈"),
            count("✓"),
        )
    })
}

/// How many algorithms a page is about, or which one.
pub(in super::super) fn subject<C>(algorithms: &[&Entry<C>]) -> String {
    match algorithms {
        [one] => escaped(one.title),
        several => format!("{} algorithms", several.len()),
    }
}

pub(in super::super) fn legend<C>(algorithms: &[&Entry<C>]) -> String {
    let mut families: Vec<Family> = Vec::new();
    for info in algorithms {
        if !families.contains(&info.family) {
            families.push(info.family);
        }
    }
    families.sort_by_key(|&family| look::rank(family));
    let mut items = String::new();
    for family in families {
        items += &format!("<div>\n<h3>{}</h3>\n<ul>\n", escaped(look::family(family)));
        for info in algorithms.iter().filter(|info| info.family == family) {
            let look = Look::of(info);
            items += &format!(
                "<li class=\"{}\">{}<span><b>{}</b> <small>{}</small></span></li>\n",
                look.class,
                look.shape.icon(&look.class, look.dash),
                escaped(info.name),
                escaped(info.paper)
            );
        }
        items += "</ul>\n</div>\n";
    }
    format!(
        "<section>\n<h2>Algorithms</h2>\n<div class=\"legend\">\n{items}</div>\n\
         <p class=\"hint\">A broad pale line is the published formula, a pale area lies between \
         published bounds, a whisker is a 95 % interval. Where lines coincide they take turns, \
         and markers of equal values stand side by side. Point at a line, a name or a marker to \
         single it out.</p>\n</section>\n"
    )
}

/// Adds a measurement to a line, with what was expected of it.
pub(in super::super) fn add_point(series: &mut Series, nodes: usize, what: &str, judged: &Judged) {
    let x = nodes as f64;
    if let Some(measured) = judged.measured {
        let tooltip = tooltip(&format!("{what}, N = {nodes}"), judged);
        series.points.push(Point { x, y: measured.mean, spread: measured.half_width, tooltip });
    }
    if let Some(claim) = &judged.claim {
        match claim.typical {
            Some(typical) => series.expected.push((x, typical)),
            None => series.band.push((x, claim.low, claim.high)),
        }
    }
}

fn tooltip(what: &str, judged: &Judged) -> String {
    let mut text = format!("{what}: {}", judged.mean());
    if let Some(claim) = &judged.claim {
        text += &format!("\nclaim {} = {}", claim.text, claim.values());
    }
    let sign = judged.verdict();
    if !sign.is_empty() {
        text += &format!("  {sign}");
    }
    text
}

/// What the signs in [`cell`] mean.
const SIGNS: &str = "In each cell the measured mean with its 95 % interval, below it the claimed value \
     and how far the measurement is from it. <span class=\"equal\">=</span> equal, \
     <span class=\"near\">≈</span> within 2 % or the interval, \
     <span class=\"within\">✓</span> within the bounds, \
     <span class=\"outside\">✗</span> outside.";

/// A cell of the table of all figures.
fn cell(judged: Option<&Judged>) -> String {
    let Some(judged) = judged.filter(|judged| judged.measured.is_some()) else {
        return "<td>–</td>".into();
    };
    let sign = judged.verdict();
    let class = match sign {
        "=" => "equal",
        "≈" => "near",
        "✓" => "within",
        "✗" => "outside",
        _ => "unjudged",
    };
    let claimed = judged.claim.as_ref().map_or(String::new(), |claim| {
        let deviation = match judged.percent() {
            Some(percent) => signed(percent) + " %",
            None => judged.deviation.map_or(String::new(), signed),
        };
        format!("<small>{} <span>· {deviation}</span></small>", claim.values())
    });
    format!("<td class=\"{class}\"><b>{}</b> <i>{sign}</i>{claimed}</td>", judged.mean())
}

/// The table of all figures; `symbols` says what the letters in claims stand for.
pub(in super::super) fn figures(symbols: &str, nodes: &[usize], groups: &str) -> String {
    let columns: String = nodes.iter().map(|n| format!("<th scope=\"col\">N = {n}</th>")).collect();
    format!(
        "<section>\n<h2>All figures</h2>\n<p>{SIGNS} {symbols}</p>\n\
         <div class=\"scroll figures\" tabindex=\"0\" role=\"region\" aria-label=\"All figures\">\n\
         <table>\n<thead><tr><th scope=\"col\">Figure</th><th scope=\"col\" class=\"claim\">Claim</th>{columns}\
         </tr></thead>\n{groups}</table>\n</div>\n</section>\n"
    )
}

/// The rows of one algorithm in that table, for so many sizes.
pub(in super::super) fn group<C>(info: &Entry<C>, sizes: usize, rows: &str) -> String {
    let width = sizes + 2;
    format!(
        "<tbody>\n<tr class=\"group\"><th scope=\"rowgroup\" colspan=\"{width}\"><span>{} \
         <code>{}</code></span></th></tr>\n{rows}</tbody>\n",
        escaped(info.title),
        escaped(info.name)
    )
}

/// A row of that table: the claim, and what was measured at each size.
pub(in super::super) fn row(title: &str, judged: &[Option<&Judged>]) -> String {
    let claim = judged.iter().flatten().find_map(|judged| judged.claim.as_ref());
    let elsewhere = judged.iter().flatten().find_map(|judged| judged.not_compared.as_ref());
    let claim = match (claim, elsewhere) {
        (Some(claim), _) => escaped(&claim.text),
        (None, Some(other)) => {
            let needs = escaped(&other.needs.join("; "));
            format!("not compared: {} needs {needs}", escaped(&other.claim))
        }
        (None, None) => "–".into(),
    };
    let cells: String = judged.iter().map(|&judged| cell(judged)).collect();
    let title = escaped(title);
    format!("<tr><th scope=\"row\">{title}</th><td class=\"claim\">{claim}</td>{cells}</tr>\n")
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

/// A short run of each, and what they have in common.
pub(in super::super) fn diagrams(diagrams: &[Diagram], text: &str) -> String {
    let figure = |Diagram { title, idea, svg, command }: &Diagram| {
        let idea = idea.split_inclusive(". ").next().unwrap_or_default().trim_end();
        let title = escaped(title);
        format!(
            "<figure class=\"diagram\">\n<h3>{title}</h3>\n<p>{}</p>\n\
             <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{title} in space and time\">\
             \n{svg}</div>\n<figcaption><code>{}</code></figcaption>\n</figure>\n",
            escaped(idea),
            escaped(command)
        )
    };
    let figures: String = diagrams.iter().map(figure).collect();
    format!("<section>\n<h2>In space and time</h2>\n<p>{text}</p>\n{figures}</section>\n")
}
