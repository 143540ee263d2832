//! The assumption table as one self-contained page, with a diagram for everything that breaks.

use skeptron_markup::escaped;
use skeptron_sim::trace::svg;

use super::{Cell, Line, Table, name, word};
use crate::ask::Request as _;

const STYLE: &str = "
:root { color-scheme: light dark; --ink: #1c2026; --soft: #5a6270; --line: #d7dbe2; --ground: #fff;
  --good: #e3f4ec; --bad: #fbe6dd; --open: #f3f0dc; --mark: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8eaee; --soft: #9aa3b2; --line: #3a404b;
  --ground: #15181d; --good: #17392b; --bad: #47261a; --open: #3a3718; --mark: #ff8a7a; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--ground);
  max-width: 76rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }
p, summary { max-width: 60rem; } code { font-size: 0.85em; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.9rem; }
th, td { border: 1px solid var(--line); padding: 0.35rem 0.6rem; text-align: left; vertical-align: top; }
td.good { background: var(--good); } td.bad { background: var(--bad); } td.open { background: var(--open); }
td a { color: inherit; } .mark { color: var(--mark); font-weight: 600; }
details { margin: 0.5rem 0 0.5rem 1rem; } details > div { overflow-x: auto; } .soft { color: var(--soft); }
";

/// The page.
pub(super) fn page(
    assumptions: &Table,
    rows: &[(&Line, Vec<Option<Cell>>)],
    command: &str,
) -> String {
    let mut head = String::new();
    for condition in assumptions.conditions {
        head.push_str(&format!("<th scope=\"col\">{}</th>", condition.heading));
    }
    let mut table = String::new();
    let mut details = String::new();
    for (i, (line, cells)) in rows.iter().enumerate() {
        table.push_str(&format!("<tr><th scope=\"row\">{}</th>", escaped(&name(line))));
        let mut shown = String::new();
        for (j, cell) in cells.iter().enumerate() {
            let Some(cell) = cell else {
                table.push_str("<td></td>");
                continue;
            };
            table.push_str(&entry(cell, &format!("r{i}c{j}")));
            shown.push_str(&diagrams(
                cell,
                &format!("r{i}c{j}"),
                assumptions.conditions[j].heading,
            ));
        }
        table.push_str("</tr>\n");
        if !shown.is_empty() {
            details.push_str(&format!("<h2>{}</h2>\n{shown}", escaped(&name(line))));
        }
    }
    let system = assumptions.system();
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>Which assumption each algorithm needs</title><style>{STYLE}</style></head><body>\n\
         <h1>Which assumption each algorithm needs</h1>\n\
         <p>Every interleaving was explored ({system}), once with all assumptions and once for each that is dropped. Where something breaks, the number is the length \
         of the shortest run that shows it; follow it to its diagram. <span class=\"mark\">(!)</span> marks \
         what differs from the specification.</p>\n\
         <p class=\"soft\">Made by <code>{}</code></p>\n\
         <div class=\"wide\"><table><thead><tr><th scope=\"col\">algorithm</th>{head}</tr></thead>\n\
         <tbody>{table}</tbody></table></div>\n{details}</body></html>\n",
        escaped(command)
    )
}

fn entry(cell: &Cell, id: &str) -> String {
    let class = match cell.holds() {
        Some(true) => "good",
        Some(false) => "bad",
        None => "open",
    };
    let text = escaped(&cell.text()).replace('\n', ", ");
    let text = if cell.traces.is_empty() { text } else { format!("<a href=\"#{id}\">{text}</a>") };
    let mark = if cell.agrees() { "" } else { " <span class=\"mark\">(!)</span>" };
    format!("<td class=\"{class}\">{text}{mark}</td>")
}

fn diagrams(cell: &Cell, id: &str, condition: &str) -> String {
    let mut text = String::new();
    for (i, (property, trace)) in cell.traces.iter().enumerate() {
        let anchor = if i == 0 { format!(" id=\"{id}\"") } else { String::new() };
        let options = svg::Options::default();
        text.push_str(&format!(
            // The anchor is inside: following it opens what is around it.
            "<details><summary>{condition}: {} in {} steps</summary>\
             <p class=\"soft\"{anchor}><code>{}</code></p><div>{}</div></details>\n",
            word(*property),
            cell.steps(*property),
            escaped(&cell.asked.command()),
            svg::draw(trace, &options)
        ));
    }
    text
}
