//! Draws a gallery of quorum systems: `cargo run --example gallery -- FOLDER` writes one SVG file for
//! each into the folder and prints them as text.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

use skeptron_quorum::{Construction, build};
use skeptron_quorum_analysis::picture;

const SYSTEMS: [(&str, usize); 20] = [
    ("fano", 7),
    ("projective", 7),
    ("maekawa-13", 13),
    ("projective", 31),
    ("projective", 57),
    ("projective", 993),
    ("cyclic", 12),
    ("cyclic", 100),
    ("cyclic", 1_000),
    ("grid", 16),
    ("grid", 23),
    ("grid", 900),
    ("wall:1,2,3,4", 10),
    ("wall", 60),
    ("tree:3", 15),
    ("tree:6", 127),
    ("hierarchical:2", 9),
    ("hierarchical:4", 81),
    ("majority", 5),
    ("weighted:5,4,3,2,2,1", 6),
];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::args().nth(1).ok_or("name a folder to write the pictures into")?;
    fs::create_dir_all(&folder)?;
    for (name, nodes) in SYSTEMS {
        let construction: Construction = name.parse()?;
        let system = build(&construction, nodes)?;
        for shown in [picture::best_for(&system), picture::Picture::Matrix] {
            let file = format!("{}-{nodes}-{shown}.svg", construction.name());
            fs::write(Path::new(&folder).join(file), picture::svg(&system, shown, None)?)?;
            match picture::text(&system, shown, None) {
                Ok(text) => println!("{name}, {nodes} nodes, as {shown}\n\n{text}"),
                Err(error) => println!("{name}, {nodes} nodes, as {shown}: {error}\n"),
            }
        }
    }
    Ok(())
}
