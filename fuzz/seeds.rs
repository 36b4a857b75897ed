//! Writes the corpus of the repository as seeds: `cargo run --bin seeds`, then
//! `cargo +nightly fuzz run dialect`. It runs nothing.

use std::{fs, io, path::Path};

fn main() -> io::Result<()> {
    let cases =
        callgate_lab::corpus::load_all(&callgate_lab::corpus::root()).map_err(io::Error::other)?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/dialect");
    fs::create_dir_all(&folder)?;
    for (i, seed) in callgate_lab::fuzz::seeds(&cases).iter().enumerate() {
        fs::write(folder.join(format!("{i:04}")), seed)?;
    }
    Ok(())
}
