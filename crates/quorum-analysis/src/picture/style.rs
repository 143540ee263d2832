//! Colours and fonts, for light and dark pages. No CSS variables: not every SVG program knows them.
//! The two quorums have Okabe and Ito's blue and vermilion, and a common node has their yellow, which
//! people with any colour vision can tell apart.

pub(super) const SHEET: &str = "\
.qs text{font:13px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}
.qs .title{font-size:17px;font-weight:600}
.qs .number,.qs .tick,.qs .middle{text-anchor:middle}
.qs .end{text-anchor:end}
.qs .tick{font-size:11px}
.qs .number{font-weight:500;pointer-events:none}
.qs .a .number,.qs .b .number{font-weight:700}
.qs .both .number{font-weight:800}
.qs .face{stroke-width:1.2}
.qs .a .face,.qs .b .face,.qs .both .face{stroke-width:2.6}
.qs .b .face,.qs .ring{stroke-dasharray:5 2.5}
.qs .ring{fill:none;stroke-width:2.6}
.qs .node .face.small{stroke-width:.5;stroke-dasharray:none}
.qs .ring.small{stroke-width:1}
.qs .edge{fill:none;stroke-width:1.4}
.qs .edge.a,.qs .edge.b{stroke-width:3.2;stroke-linejoin:round}
.qs .edge.b{stroke-dasharray:8 5}
.qs .group{fill:none;stroke-width:1.2}
.qs .group.a,.qs .group.b{stroke-width:2.4}
.qs .group.b{stroke-dasharray:8 5}
.qs .area{stroke:none;opacity:.16}
.qs .faint{fill:none;stroke-width:1}
.qs .half{fill:none;stroke-width:1.5;stroke-dasharray:2 4}
.qs .brace{fill:none;stroke-width:2.4}
.qs .brace.b{stroke-dasharray:8 4}
.qs .band{opacity:.2}
.qs .band.thin{opacity:.75}
.qs .own{fill:none;stroke-width:1.2}
.qs .grid{stroke-width:1}
.qs .ground{fill:#fff}
.qs text{fill:#1d1f23}
.qs .dim,.qs .tick{fill:#5f656e}
.qs .face{fill:#f6f7f9;stroke:#8b9099}
.qs .a .face{fill:#d3e8f6;stroke:#0072b2}
.qs .b .face{fill:#fbe1d0;stroke:#d55e00}
.qs .both .face{fill:#f0e442;stroke:#0072b2}
.qs .both .number{fill:#1d1f23}
.qs .ring{stroke:#d55e00}
.qs .edge,.qs .group{stroke:#b3b8bf}
.qs .faint{stroke:#d5d9de}
.qs .edge.a,.qs .group.a,.qs .brace.a{stroke:#0072b2}
.qs .edge.b,.qs .group.b,.qs .brace.b{stroke:#d55e00}
.qs .area.a,.qs .dots.a{fill:#0072b2}
.qs .area.b,.qs .dots.b{fill:#d55e00}
.qs text.a{fill:#005f95}
.qs text.b{fill:#a84a00}
.qs .half,.qs .own{stroke:#1d1f23}
.qs .dots{fill:#4a4f57}
.qs .dots.both{fill:#1d1f23}
.qs .band{fill:#d9c800}
.qs .band.a{fill:#0072b2}
.qs .band.b{fill:#d55e00}
.qs .grid{stroke:#e3e6ea}
@media (prefers-color-scheme:dark){
.qs .ground{fill:#16181c}
.qs text{fill:#e6e8eb}
.qs .dim,.qs .tick{fill:#a0a6ae}
.qs .face{fill:#1e2126;stroke:#6d737c}
.qs .a .face{fill:#0c3a57;stroke:#56b4e9}
.qs .b .face{fill:#552506;stroke:#f0874a}
.qs .both .face{fill:#f0e442;stroke:#56b4e9}
.qs .both .number{fill:#1d1f23}
.qs .ring{stroke:#f0874a}
.qs .edge,.qs .group{stroke:#555b64}
.qs .faint{stroke:#33383f}
.qs .edge.a,.qs .group.a,.qs .brace.a{stroke:#56b4e9}
.qs .edge.b,.qs .group.b,.qs .brace.b{stroke:#f0874a}
.qs .area.a,.qs .dots.a{fill:#56b4e9}
.qs .area.b,.qs .dots.b{fill:#f0874a}
.qs text.a{fill:#8accf2}
.qs text.b{fill:#f5a676}
.qs .half,.qs .own{stroke:#e6e8eb}
.qs .dots{fill:#b9bec6}
.qs .dots.both{fill:#fff}
.qs .band{fill:#f0e442}
.qs .band.a{fill:#56b4e9}
.qs .band.b{fill:#f0874a}
.qs .grid{stroke:#2a2f36}
}
";
