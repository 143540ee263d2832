//! The table of all figures.

use skeptron_core::catalogue::Info;
use skeptron_markup::escaped;

use super::super::measure::{Figure, Row};
use super::{Page, frame};

impl Page<'_> {
    pub(super) fn figures(&self) -> String {
        let columns: String =
            self.nodes.iter().map(|n| format!("<th scope=\"col\">N = {n}</th>")).collect();
        let groups: String = self.algorithms.iter().map(|info| self.group(info)).collect();
        format!(
            "<section>\n<h2>All figures</h2>\n\
             <p>{} N nodes, K mean quorum size, D diameter of \
             the tree, d distance to the first holder, L and U Sanders’ bounds, H harmonic number, \
             E time inside.</p>\n\
             <div class=\"scroll figures\" tabindex=\"0\" role=\"region\" aria-label=\"All figures\">\n\
             <table>\n<thead><tr><th scope=\"col\">Figure</th><th scope=\"col\" class=\"claim\">Claim</th>{columns}\
             </tr></thead>\n{groups}</table>\n</div>\n</section>\n",
            frame::SIGNS
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
            let claim = self.nodes.iter().filter_map(row).find_map(|judged| judged.claim.as_ref());
            let claim = claim.map_or("–".into(), |claim| escaped(&claim.text));
            let cells: String = self.nodes.iter().map(|n| frame::cell(row(n))).collect();
            group += &format!(
                "<tr><th scope=\"row\">{}</th><td class=\"claim\">{claim}</td>{cells}</tr>\n",
                figure.title()
            );
        }
        group + "</tbody>\n"
    }
}
