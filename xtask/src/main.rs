//! Developer commands: `cargo xtask COMMAND`. One command per module, one way to run a step.
//!
//! It builds nothing that `cargo` would not build, and holds no test of the product itself.

mod bench;
mod cargo;
mod ci;
mod deny;
mod e2e;
mod fuzz;
mod lab;
mod step;
mod test;
mod tidy;

use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};

use crate::{cargo::Workspace, step::Steps};

const USAGE: &str = "\
Developer commands of Callgate.

Usage: cargo xtask COMMAND

  test                           set up what the tests need, then all tests: Rust, then real clients
  e2e [--full] [FILTER]          the real client SDKs against target/debug/callgate
                                 FILTER selects tests by name; --full adds the slow ones
  ci                             everything that must pass before a change lands, in order
  tidy                           rules that no other tool checks: layering, headers, left-overs
  deny                           licences, duplicate and banned crates, sources, advisories
  fuzz [--seconds N] [--target T] [--seed S]
                                 generate inputs and check the laws (default: 10 s per target)
  lab [--full]                   the experiments on the corpus; their report is target/lab/report.html
                                 --full stops every stream at every byte, in every language
  bench [--smoke | --instructions]
                                 parser cost per byte; --smoke leaves the 10 MB sizes out,
                                 --instructions counts instructions in the release build (valgrind)
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[String]) -> Result<()> {
    let Some((command, rest)) = args.split_first() else {
        eprint!("{USAGE}");
        bail!("no command given");
    };
    if matches!(command.as_str(), "help" | "--help" | "-h") {
        print!("{USAGE}");
        return Ok(());
    }
    let mut options = Options::new(rest);
    let workspace = Workspace::load()?;
    let mut steps = Steps::default();
    match command.as_str() {
        "test" => {
            options.end()?;
            test::run(&workspace, &mut steps)?;
        }
        "e2e" => {
            let plan = e2e::Plan { full: options.flag("--full"), filter: options.positional() };
            options.end()?;
            e2e::run(&workspace, &mut steps, &plan)?;
        }
        "ci" => {
            options.end()?;
            ci::run(&workspace, &mut steps)?;
        }
        "tidy" => {
            options.end()?;
            steps.run("tidy", || tidy::run(&workspace))?;
        }
        "deny" => {
            options.end()?;
            steps.run("deny", || deny::run(&workspace))?;
        }
        "fuzz" => {
            let plan = fuzz::Plan {
                seconds: options.number("--seconds")?.unwrap_or(fuzz::DEFAULT_SECONDS),
                target: options.value("--target")?,
                seed: options.number("--seed")?,
            };
            options.end()?;
            fuzz::run(&workspace, &mut steps, &plan)?;
        }
        "lab" => {
            let full = options.flag("--full");
            options.end()?;
            lab::run(&workspace, &mut steps, full)?;
        }
        "bench" => {
            let plan = match (options.flag("--smoke"), options.flag("--instructions")) {
                (false, false) => bench::Plan::Whole,
                (true, false) => bench::Plan::Smoke,
                (false, true) => bench::Plan::Instructions,
                (true, true) => bail!("`--smoke` and `--instructions` exclude each other"),
            };
            options.end()?;
            bench::run(&workspace, &mut steps, plan)?;
        }
        unknown => {
            eprint!("{USAGE}");
            bail!("unknown command `{unknown}`");
        }
    }
    steps.summary();
    Ok(())
}

/// The arguments behind the command; each is taken once, and what is left over is an error.
struct Options(Vec<String>);

impl Options {
    fn new(args: &[String]) -> Self {
        Self(args.to_vec())
    }

    fn flag(&mut self, name: &str) -> bool {
        match self.0.iter().position(|arg| arg == name) {
            Some(at) => {
                self.0.remove(at);
                true
            }
            None => false,
        }
    }

    fn value(&mut self, name: &str) -> Result<Option<String>> {
        let Some(at) = self.0.iter().position(|arg| arg == name) else { return Ok(None) };
        if at + 1 >= self.0.len() {
            bail!("`{name}` needs a value");
        }
        self.0.remove(at);
        Ok(Some(self.0.remove(at)))
    }

    fn number(&mut self, name: &str) -> Result<Option<u64>> {
        self.value(name)?
            .map(|text| {
                text.parse().with_context(|| format!("`{name} {text}`: not a whole number"))
            })
            .transpose()
    }

    fn positional(&mut self) -> Option<String> {
        let at = self.0.iter().position(|arg| !arg.starts_with('-'))?;
        Some(self.0.remove(at))
    }

    fn end(&self) -> Result<()> {
        match self.0.first() {
            None => Ok(()),
            Some(arg) => bail!("unexpected argument `{arg}` (see `cargo xtask help`)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Options;

    fn options(args: &[&str]) -> Options {
        Options(args.iter().map(|&arg| arg.to_owned()).collect())
    }

    #[test]
    fn takes_each_argument_once_in_any_order() {
        let mut given = options(&["tools", "--full"]);
        assert!(given.flag("--full"));
        assert!(!given.flag("--full"));
        assert_eq!(given.positional().as_deref(), Some("tools"));
        assert!(given.end().is_ok());

        let mut given = options(&["--seconds", "3", "--target", "xml"]);
        assert_eq!(given.number("--seconds").unwrap(), Some(3));
        assert_eq!(given.value("--target").unwrap().as_deref(), Some("xml"));
        assert!(given.end().is_ok());
    }

    #[test]
    fn refuses_what_it_does_not_know() {
        assert!(options(&["--ful"]).end().is_err());
        assert!(options(&["--seconds"]).number("--seconds").is_err());
        assert!(options(&["--seconds", "ten"]).number("--seconds").is_err());
    }
}
