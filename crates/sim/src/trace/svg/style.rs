//! Colours and fonts, for light and dark pages. No CSS variables: not every SVG program knows them.

/// A colour per kind of message, on light and on dark ground: Okabe and Ito's palette, which people
/// with any colour vision can tell apart, darkened or lightened where the ground asks for it.
const KINDS: [(&str, &str); 8] = [
    ("#0072b2", "#56b4e9"),
    ("#d55e00", "#f0874a"),
    ("#009e73", "#33c79c"),
    ("#a8508a", "#dd94bb"),
    ("#b87d00", "#e69f00"),
    ("#2f8fc9", "#9ad2f4"),
    ("#8a7f00", "#f0e442"),
    ("#5a5a5a", "#b5b5b5"),
];

/// The class of the `i`-th kind.
pub(super) fn kind_class(i: usize) -> String {
    format!("k{}", i % KINDS.len())
}

/// The style sheet for a diagram with so many kinds of messages, and with clocks or without.
pub(super) fn sheet(kinds: usize, clocks: bool) -> String {
    let kinds = &KINDS[..kinds.min(KINDS.len())];
    let colours = |dark: bool| -> String {
        let colour = |(i, &(on_light, on_dark))| {
            let c = if dark { on_dark } else { on_light };
            format!(".sk .k{i} .line{{stroke:{c}}}.sk .k{i} .head,.sk .k{i} text{{fill:{c}}}\n")
        };
        kinds.iter().enumerate().map(colour).collect()
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
.sk .wait{fill:#cdd2d9}
.sk .in{fill:#2b2f36}
.sk .fence{fill:#fff;stroke:#2b2f36}
.sk .dot{fill:#1d1f23}
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
.sk .wait{fill:#444a53}
.sk .in{fill:#e6e8eb}
.sk .fence{fill:#16181c;stroke:#e6e8eb}
.sk .dot{fill:#e6e8eb}
.sk .crash,.sk .restart,.sk .pause{stroke:#e6e8eb}
.sk .restart,.sk .pause{fill:#16181c}
.sk .call{stroke:#e6e8eb;fill:#8a6d00}
.sk .bell,.sk .crown{stroke:#e6e8eb;fill:#8a6d00}
.sk .cross,.sk .bad{stroke:#ff6b6b}
.sk .bad-text,.sk .note{fill:#ff6b6b}
KINDS}
";
