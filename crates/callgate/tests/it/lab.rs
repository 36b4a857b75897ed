//! `callgate lab run`: three files, the same in every run, and a summary.

use std::fs;

use callgate_lab::corpus;

use crate::program::{folder, run};

#[test]
fn the_experiments_write_the_same_three_files_every_time() {
    let folder = folder("lab-run");
    let corpus = corpus::root().display().to_string();
    let mut written = Vec::new();
    for round in ["one", "two"] {
        let out = folder.join(round);
        let arguments = ["lab", "run", "c2", "d", "--messages", "4", "--corpus"];
        let mut arguments: Vec<&str> = arguments.to_vec();
        arguments.extend([corpus.as_str(), "--out", out.to_str().unwrap()]);
        let got = run(&arguments);
        assert_eq!(got.code, 0, "{}", got.err);
        assert!(got.out.starts_with("0 wrong calls run by "), "{}", got.out);
        assert!(got.out.trim_end().ends_with("report.html"), "{}", got.out);
        written.push(
            ["results.json", "report.md", "report.html"]
                .map(|file| fs::read_to_string(out.join(file)).unwrap()),
        );
    }
    assert_eq!(written[0], written[1]);
    let results: serde_json::Value = serde_json::from_str(&written[0][0]).unwrap();
    for member in ["version", "settings", "corpus", "c2", "d"] {
        assert!(results.get(member).is_some(), "{member}");
    }
    assert!(results.get("c1").is_none(), "c1 was not asked for");
}
