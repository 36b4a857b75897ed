//! Runs one fuzz target for some seconds: `fuzz TARGET [--seconds N] [--seed S] [--findings DIR]`.
//!
//! A target is a dialect: mutations of its corpus, under both commit policies, held to the laws. The
//! mutations and the laws are the library's; this is only the command line. `fuzz --replay FILE` runs
//! one input again.

use std::{
    error::Error,
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use callgate_dialect::Language;
use callgate_lab::{
    Broken, corpus,
    fuzz::{self, HEADER},
};

const USAGE: &str = "usage: fuzz TARGET [--seconds N] [--seed S] [--findings DIR]
       fuzz --list
       fuzz --replay FILE";

/// An input that runs longer than this counts as one that never ends (law S7).
const ENDLESS: Duration = Duration::from_secs(20);

/// The input that runs now, and since when.
static RUNNING: Mutex<Option<(Instant, Vec<u8>)>> = Mutex::new(None);

struct Plan {
    language: Language,
    seconds: u64,
    seed: u64,
    findings: PathBuf,
}

enum Task {
    List,
    Replay(PathBuf),
    Run(Plan),
}

fn main() -> ExitCode {
    match task(std::env::args().skip(1)).and_then(perform) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn task(mut args: impl Iterator<Item = String>) -> Result<Task, Box<dyn Error>> {
    let target = args.next().ok_or(USAGE)?;
    match target.as_str() {
        "--list" => return Ok(Task::List),
        "--replay" => {
            return Ok(Task::Replay(args.next().ok_or("`--replay` needs a file")?.into()));
        }
        _ => {}
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let mut plan = Plan {
        language: target.parse()?,
        seconds: 10,
        seed: now.as_secs() ^ u64::from(now.subsec_nanos()),
        findings: "target/fuzz".into(),
    };
    while let Some(name) = args.next() {
        let value = args.next().ok_or_else(|| format!("`{name}` needs a value\n{USAGE}"))?;
        match name.as_str() {
            "--seconds" => plan.seconds = value.parse()?,
            "--seed" => plan.seed = value.parse()?,
            "--findings" => plan.findings = value.into(),
            _ => return Err(format!("unexpected argument `{name}`\n{USAGE}").into()),
        }
    }
    Ok(Task::Run(plan))
}

fn perform(task: Task) -> Result<ExitCode, Box<dyn Error>> {
    match task {
        Task::List => {
            for language in Language::ALL {
                println!("{language}");
            }
            Ok(ExitCode::SUCCESS)
        }
        Task::Replay(path) => {
            let input = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            match fuzz::dialect(&input) {
                Ok(()) => {
                    println!("{}: every law holds", path.display());
                    Ok(ExitCode::SUCCESS)
                }
                Err(broken) => {
                    println!("{}: {broken}", path.display());
                    Ok(ExitCode::FAILURE)
                }
            }
        }
        Task::Run(plan) => run(&plan),
    }
}

fn run(plan: &Plan) -> Result<ExitCode, Box<dyn Error>> {
    let cases = corpus::load(&corpus::root(), plan.language)?;
    let mut seeds = fuzz::seeds(&cases);
    if seeds.is_empty() {
        seeds = empty(plan.language);
    }
    // A panic is a finding that the driver reports; while it makes the input smaller there are many.
    std::panic::set_hook(Box::new(|_| {}));
    let watched = Finding { language: plan.language, seed: plan.seed, folder: &plan.findings };
    let stats = thread::scope(|scope| {
        let driver =
            scope.spawn(|| fuzz::run(watch, &seeds, Duration::from_secs(plan.seconds), plan.seed));
        while !driver.is_finished() {
            if let Some(input) = endless() {
                let message = format!("an input runs longer than {} s", ENDLESS.as_secs());
                if let Err(error) = watched.report(&message, &input) {
                    eprintln!("error: the input cannot be kept: {error}");
                }
                // The driver's thread cannot be ended.
                std::process::exit(1);
            }
            thread::park_timeout(Duration::from_millis(100));
        }
        driver.join()
    });
    let _ = std::panic::take_hook();
    let stats = stats.map_err(|_| "the driver itself panicked")?;
    println!(
        "{}: {} inputs, {} bytes, {} seeds, seed {}",
        plan.language,
        stats.runs,
        stats.bytes,
        seeds.len(),
        plan.seed
    );
    let Some(failure) = stats.failure else { return Ok(ExitCode::SUCCESS) };
    watched.report(&failure.message, &failure.input)?;
    Ok(ExitCode::FAILURE)
}

/// The target, with its input on show.
fn watch(input: &[u8]) -> Result<(), Broken> {
    let show = |value| *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) = value;
    show(Some((Instant::now(), input.to_vec())));
    let result = fuzz::dialect(input);
    show(None);
    result
}

/// The input that runs too long, if one does.
fn endless() -> Option<Vec<u8>> {
    match &*RUNNING.lock().unwrap_or_else(PoisonError::into_inner) {
        Some((since, input)) if since.elapsed() > ENDLESS => Some(input.clone()),
        _ => None,
    }
}

struct Finding<'a> {
    language: Language,
    seed: u64,
    folder: &'a Path,
}

impl Finding<'_> {
    fn report(&self, message: &str, input: &[u8]) -> io::Result<()> {
        fs::create_dir_all(self.folder)?;
        let path = self.folder.join(format!("{}-{}.bin", self.language, self.seed));
        fs::write(&path, input)?;
        println!("finding: {message}");
        println!("  stream: {:?}", String::from_utf8_lossy(&input[HEADER.min(input.len())..]));
        println!("  input kept in {}; run it again with `fuzz --replay FILE`", path.display());
        Ok(())
    }
}

/// The smallest inputs of a language, for one without a corpus.
fn empty(language: Language) -> Vec<Vec<u8>> {
    let place = Language::ALL.iter().position(|l| *l == language).unwrap_or(0);
    (0..2).map(|commit| vec![(place as u8) << 1 | commit, 0, 7]).collect()
}
