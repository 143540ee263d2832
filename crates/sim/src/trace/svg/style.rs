//! Colours and fonts, for light and dark pages. No CSS variables: not every SVG program knows them.

use skeptron_markup::kinds::Role;

/// The class of a kind of message.
pub(super) fn kind_class(label: &str) -> String {
    format!("k-{}", Role::of(label).look().name)
}

/// The style sheet for a diagram with messages for these purposes, and with clocks or without.
pub(super) fn sheet(roles: &[Role], clocks: bool) -> String {
    let colours = |dark: bool| -> String {
        let colour = |role: &Role| {
            let look = role.look();
            let (k, c) = (look.name, if dark { look.dark } else { look.light });
            format!(".sk .k-{k} .line{{stroke:{c}}}.sk .k-{k} .head,.sk .k-{k} text{{fill:{c}}}\n")
        };
        roles.iter().map(colour).collect()
    };
    let [clock, light, dark] = if clocks { CLOCKS } else { [""; 3] };
    let dark = DARK.replace("KINDS", &(colours(true) + dark));
    format!("{FORMS}{clock}{LIGHT}{light}{}{dark}", colours(false))
}

const FORMS: &str = "\
.sk text{font:12px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}
.sk .title{font-size:17px;font-weight:600}
.sk .command{font:12px ui-monospace,'DejaVu Sans Mono',monospace}
.sk .name{font-size:14px;font-weight:600;text-anchor:end}
.sk .label{font-size:10.5px;font-weight:600;text-anchor:middle;paint-order:stroke;stroke-width:3px;stroke-linejoin:round}
.sk .fence,.sk .over{font-size:11px;font-weight:700;text-anchor:middle;paint-order:stroke;stroke-width:3px;pointer-events:none}
.sk .tick{font-size:11px;text-anchor:middle}
.sk .axis-name{font-size:11px;text-anchor:end}
.sk .note{font-weight:600}
.sk .bad-text{font-weight:600;paint-order:stroke;stroke-width:3px}
.sk .bad-text.left{text-anchor:end}
.sk .life{stroke-width:1.2}
.sk .gone{stroke-width:1.2;stroke-dasharray:1 5}
.sk .line{stroke-width:1.6;fill:none}
.sk .copy .line{stroke-dasharray:6 4}
.sk .under-way{opacity:.45}
.sk .hit{stroke:transparent;stroke-width:9;fill:none}
.sk .cross{stroke-width:2.2;fill:none;stroke-linecap:round}
.sk .crash{stroke-width:3;fill:none;stroke-linecap:round}
.sk .pause{stroke-width:1.2;stroke-dasharray:3 2}
.sk .restart{stroke-width:2.2}
.sk .call{stroke-width:2}
.sk .bell,.sk .crown{stroke-width:1}
.sk .measure{stroke-width:1;fill:none}
.sk .doubt{font-size:12px;font-weight:700;text-anchor:middle;paint-order:stroke;stroke-width:3px}
.sk .bad{stroke-width:1.6;stroke-dasharray:7 3}
.sk g:hover>.line{stroke-width:3}
";

/// The form of clocks, their colours on light and on dark ground.
const CLOCKS: [&str; 3] = [
    ".sk .clock{font:9.5px ui-monospace,'DejaVu Sans Mono',monospace;text-anchor:middle;paint-order:stroke;stroke-width:3px}\n",
    ".sk .clock{fill:#6b3fa0;stroke:#fff}\n",
    ".sk .clock{fill:#c9a7f5;stroke:#16181c}\n",
];

const LIGHT: &str = "\
.sk .ground{fill:#fff}
.sk text{fill:#1d1f23}
.sk .dim,.sk .tick,.sk .axis-name,.sk .command{fill:#666b73}
.sk .label,.sk .bad-text,.sk .over,.sk .doubt{stroke:#fff}
.sk .grid{stroke:#e9ebee}
.sk .life,.sk .axis,.sk .gone{stroke:#8b9099}
.sk .wait{fill:#f3c878}
.sk .in{fill:#d55e00}
.sk .fence{fill:#fff;stroke:#8a3d00}
.sk .dot,.sk .measured .head{fill:#1d1f23}
.sk .measure{stroke:#1d1f23}
.sk .crash,.sk .restart,.sk .pause{stroke:#1d1f23}
.sk .restart,.sk .pause{fill:#fff}
.sk .call{stroke:#1d1f23;fill:#f0c000}
.sk .bell,.sk .crown{stroke:#1d1f23;fill:#f0c000}
.sk .cross,.sk .bad{stroke:#c4001a}
.sk .bad-text,.sk .note{fill:#c4001a}
";

const DARK: &str = "\
@media (prefers-color-scheme:dark){
.sk .ground{fill:#16181c}
.sk text{fill:#e6e8eb}
.sk .dim,.sk .tick,.sk .axis-name,.sk .command{fill:#9aa0a8}
.sk .label,.sk .bad-text,.sk .over,.sk .doubt{stroke:#16181c}
.sk .grid{stroke:#262a30}
.sk .life,.sk .axis,.sk .gone{stroke:#6d737c}
.sk .wait{fill:#7a5a1c}
.sk .in{fill:#ff8a3d}
.sk .fence{fill:#16181c;stroke:#ff8a3d}
.sk .dot,.sk .measured .head{fill:#e6e8eb}
.sk .measure{stroke:#e6e8eb}
.sk .crash,.sk .restart,.sk .pause{stroke:#e6e8eb}
.sk .restart,.sk .pause{fill:#16181c}
.sk .call{stroke:#e6e8eb;fill:#8a6d00}
.sk .bell,.sk .crown{stroke:#e6e8eb;fill:#8a6d00}
.sk .cross,.sk .bad{stroke:#ff6b6b}
.sk .bad-text,.sk .note{fill:#ff6b6b}
KINDS}
";
