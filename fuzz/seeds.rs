//! Writes the seeds of every target: `cargo run --bin seeds`, then `cargo +nightly fuzz run NAME`. It
//! runs nothing. One function serves several targets of the stable driver: the folder is the function's.

use std::{fs, io, path::Path};

use callgate_lab::{corpus, fuzz::Target};

fn main() -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for target in Target::all() {
        let folder = folder.join(target.function());
        fs::create_dir_all(&folder)?;
        let material = target.material(&corpus::root()).map_err(io::Error::other)?;
        for (i, seed) in material.seeds.iter().enumerate() {
            fs::write(folder.join(format!("{target}-{i:04}")), seed)?;
        }
    }
    Ok(())
}
