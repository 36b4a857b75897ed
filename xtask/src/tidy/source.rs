//! Rules for one text file: header, length, left-overs, machine paths, registry hosts.
//!
//! Recorded streams and other test data are not read: they hold whatever was recorded.

use super::Finding;

const LONG: usize = 600;
const TOO_LONG: usize = 1000;

/// Marks of unfinished work. Spelled in halves, so that this file passes its own rule.
const UNFINISHED: [&str; 2] = [concat!("TO", "DO"), concat!("FIX", "ME")];
const DEBUG: &str = concat!("dbg", "!(");

/// Folders at a machine's root that no file of ours may name.
const MACHINE: [&str; 2] = [concat!("/wo", "rk/"), concat!("/ro", "ot/")];

/// Where packages come from is the machine's business.
const REGISTRIES: [&str; 6] = [
    concat!("registry.", "npmjs.org"),
    concat!("files.", "pythonhosted.org"),
    concat!("py", "pi.org"),
    concat!("static.", "crates.io"),
    concat!("index.", "crates.io"),
    concat!("deb.", "debian.org"),
];

/// What a file is, as far as the rules differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Rust.
    Rust,
    /// Other code, with comments.
    Code,
    /// Prose and settings.
    Text,
    /// Written by a package manager.
    Lock,
}

impl Kind {
    /// The kind by path, or none if the file is not to be read.
    pub(crate) fn of(path: &str) -> Option<Self> {
        let recorded = path.starts_with("corpus/")
            || path.contains("/tests/data/")
            || path.contains("/tests/expected/")
            || path.contains("/fixtures/")
            || path.contains("/proptest-regressions/");
        if recorded {
            return None;
        }
        let name = path.rsplit('/').next().unwrap_or(path);
        match name {
            "Cargo.lock" | "package-lock.json" => return Some(Self::Lock),
            "LICENSE-MIT" | "LICENSE-APACHE" => return None,
            _ => {}
        }
        if path.starts_with(".ci/") {
            return Some(Self::Code);
        }
        match name.rsplit_once('.')?.1 {
            "rs" => Some(Self::Rust),
            "py" | "mjs" | "js" | "sh" | "css" | "html" | "sql" => Some(Self::Code),
            "md" | "toml" | "json" | "yml" | "yaml" | "txt" => Some(Self::Text),
            _ => None,
        }
    }
}

/// All findings in one file.
pub(crate) fn check(path: &str, kind: Kind, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    if kind == Kind::Rust && !text.starts_with("//!") {
        let message = "does not start with `//!`: say what the file is and what it does not do";
        findings.push(Finding::new(path, message));
    }
    if matches!(kind, Kind::Rust | Kind::Code) {
        let lines = text.lines().count();
        if lines > TOO_LONG {
            let message = format!("{lines} lines, more than {TOO_LONG}: split it by meaning");
            findings.push(Finding::new(path, message));
        } else if lines > LONG {
            let message = format!("{lines} lines, more than {LONG}: does meaning split it?");
            findings.push(Finding::warning(path, message));
        }
    }
    for (index, line) in text.split('\n').enumerate() {
        for message in line_findings(kind, line) {
            findings.push(Finding::new(format!("{path}:{}", index + 1), message));
        }
    }
    findings
}

fn line_findings(kind: Kind, line: &str) -> Vec<String> {
    let mut found = Vec::new();
    for host in REGISTRIES.iter().filter(|host| line.contains(**host)) {
        found.push(format!("names the registry host {host}: name the package only"));
    }
    for folder in MACHINE.iter().filter(|folder| holds_root(line, folder)) {
        found.push(format!("a path of one machine ({folder}): make it relative"));
    }
    if kind == Kind::Lock {
        return found;
    }
    for word in UNFINISHED.iter().filter(|word| holds_word(line, word)) {
        found.push(format!("{word}: do it, or open an issue"));
    }
    if line.contains(DEBUG) {
        found.push("a debug print is left".to_owned());
    }
    let end = line.strip_suffix('\r').unwrap_or(line);
    if end.ends_with([' ', '\t']) {
        found.push("white space at the end of the line".to_owned());
    }
    found
}

/// Whether the word stands alone.
fn holds_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let inner = |c: char| c.is_alphanumeric() || c == '_';
        !line[..at].ends_with(inner) && !line[at + word.len()..].starts_with(inner)
    })
}

/// Whether an absolute path begins with the folder, and not merely passes through one of its name.
fn holds_root(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        !line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-~*}>)".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_file(path: &str, text: &str, expected: &[(&str, &str)]) {
        let kind = Kind::of(path).unwrap_or_else(|| panic!("{path} is not read"));
        let found = check(path, kind, text);
        assert_eq!(found.len(), expected.len(), "{found:#?}");
        for (finding, (at, part)) in found.iter().zip(expected) {
            assert_eq!(finding.at, *at);
            assert!(finding.message.contains(part), "{finding}");
        }
    }

    #[test]
    fn a_clean_file_has_no_finding() {
        check_file("a/b.rs", "//! A thing.\n\nfn f() {}\n", &[]);
        check_file("e2e/x.py", "\"\"\"Doc.\"\"\"\nimport os\n", &[]);
        check_file("a/crlf.md", "one\r\ntwo\r\n", &[]);
    }

    #[test]
    fn rust_starts_with_its_header() {
        check_file("a.rs", "fn f() {}\n", &[("a.rs", "`//!`")]);
        check_file("a.rs", "\n//! Late.\n", &[("a.rs", "`//!`")]);
        check_file("a.py", "import os\n", &[]);
    }

    #[test]
    fn long_files_warn_and_longer_ones_fail() {
        let of = |lines: usize| format!("//! A thing.\n{}", "\n".repeat(lines - 1));
        check_file("a.rs", &of(LONG), &[]);
        check_file("a.rs", &of(LONG + 1), &[("a.rs", "601 lines")]);
        assert!(check("a.rs", Kind::Rust, &of(LONG + 1))[0].warning);
        check_file("a.rs", &of(TOO_LONG + 1), &[("a.rs", "1001 lines")]);
        assert!(!check("a.rs", Kind::Rust, &of(TOO_LONG + 1))[0].warning);
        check_file("a.md", &of(TOO_LONG + 1), &[]);
    }

    #[test]
    fn left_overs_are_found_as_words() {
        let unfinished = UNFINISHED[0];
        let text = format!("//! A thing.\n// {unfinished}: later\nlet TO{unfinished}S = 1;\n");
        check_file("a.rs", &text, &[("a.rs:2", unfinished)]);
        check_file("a.rs", &format!("//! A.\n{DEBUG}1);\n"), &[("a.rs:2", "debug")]);
    }

    #[test]
    fn white_space_at_a_line_end_is_found() {
        check_file("a.md", "one \ntwo\t\r\nthree", &[("a.md:1", "white"), ("a.md:2", "white")]);
    }

    #[test]
    fn machine_paths_are_those_at_the_root() {
        let [first, second] = MACHINE;
        check_file("a.md", &format!("see {first}main\n"), &[("a.md:1", "one machine")]);
        check_file("a.md", &format!("`{second}.cargo`\n"), &[("a.md:1", "one machine")]);
        check_file("a.md", &format!("crates{first}main https://a.example{first}x\n"), &[]);
    }

    #[test]
    fn lock_files_name_no_registry_host() {
        let text = format!("\"resolved\": \"https://{}/a.tgz\" \n", REGISTRIES[0]);
        check_file("e2e/package-lock.json", &text, &[("e2e/package-lock.json:1", "registry host")]);
        check_file("Cargo.lock", "source = \"registry+https://…/crates.io-index\"\n", &[]);
    }

    #[test]
    fn recorded_data_is_not_read() {
        for path in ["corpus/xml/a/stream.txt", "crates/a/tests/expected/help.txt", "LICENSE-MIT"] {
            assert_eq!(Kind::of(path), None, "{path}");
        }
        assert_eq!(Kind::of(".ci/run"), Some(Kind::Code));
    }
}
