//! The page is embedded: a file that is new in it makes a new binary.

fn main() {
    println!("cargo:rerun-if-changed=ui");
}
