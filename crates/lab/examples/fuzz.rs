//! Runs one fuzz target for some seconds: `fuzz TARGET [--seconds N] [--seed S] [--findings DIR]`.
//!
//! Targets, mutations and laws are the library's; this is only the command line. `fuzz TARGET --replay
//! FILE` runs one input again.

use std::{
    error::Error,
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{Mutex, OnceLock, PoisonError},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use callgate_lab::{
    Broken, corpus,
    fuzz::{self, Check, HEADER, Target},
};

const USAGE: &str = "usage: fuzz TARGET [--seconds N] [--seed S] [--findings DIR]
       fuzz TARGET --replay FILE
       fuzz --list";

/// An input that runs longer than this counts as one that never ends (law S7).
const ENDLESS: Duration = Duration::from_secs(20);

/// The input that runs now, and since when.
static RUNNING: Mutex<Option<(Instant, Vec<u8>)>> = Mutex::new(None);

/// What the running target calls; set before the driver starts.
static CHECK: OnceLock<Check> = OnceLock::new();

struct Plan {
    target: Target,
    seconds: u64,
    seed: u64,
    findings: PathBuf,
}

enum Task {
    List,
    Replay(Target, PathBuf),
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
    if target == "--list" {
        return Ok(Task::List);
    }
    let target: Target = target.parse()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let mut plan = Plan {
        target,
        seconds: 10,
        seed: now.as_secs() ^ u64::from(now.subsec_nanos()),
        findings: "target/fuzz".into(),
    };
    while let Some(name) = args.next() {
        let value = args.next().ok_or_else(|| format!("`{name}` needs a value\n{USAGE}"))?;
        match name.as_str() {
            "--replay" => return Ok(Task::Replay(target, value.into())),
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
            for target in Target::all() {
                println!("{target}");
            }
            Ok(ExitCode::SUCCESS)
        }
        Task::Replay(target, path) => {
            let input = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            match target.check()(&input) {
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
    let material = plan.target.material(&corpus::root())?;
    CHECK.get_or_init(|| plan.target.check());
    // A panic is a finding that the driver reports; while it makes the input smaller there are many.
    std::panic::set_hook(Box::new(|_| {}));
    let watched = Finding { target: plan.target, seed: plan.seed, folder: &plan.findings };
    let time = Duration::from_secs(plan.seconds);
    let stats = thread::scope(|scope| {
        let driver = scope.spawn(|| fuzz::run(watch, &material, time, plan.seed));
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
        plan.target,
        stats.runs,
        stats.bytes,
        material.seeds.len(),
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
    let result = CHECK.get().map_or(Ok(()), |check| check(input));
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
    target: Target,
    seed: u64,
    folder: &'a Path,
}

impl Finding<'_> {
    fn report(&self, message: &str, input: &[u8]) -> io::Result<()> {
        fs::create_dir_all(self.folder)?;
        let path = self.folder.join(format!("{}-{}.bin", self.target, self.seed));
        fs::write(&path, input)?;
        println!("finding: {message}");
        let (header, rest) = input.split_at(HEADER.min(input.len()));
        println!("  header: {header:?}, input: {:?}", String::from_utf8_lossy(rest));
        let (target, path) = (self.target, path.display());
        println!("  input kept in {path}; run it again with `fuzz {target} --replay {path}`");
        Ok(())
    }
}
