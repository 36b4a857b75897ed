//! A step: one named, timed piece of work, and the one way to run a program.
//!
//! It decides nothing about what runs; a failure is reported here and stops the command.

use std::{
    fmt::Write as _,
    io,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};

/// The steps that ran, for the summary.
#[derive(Default)]
pub(crate) struct Steps {
    done: Vec<(String, Duration)>,
}

impl Steps {
    /// Runs one step, printing its name before and its seconds after.
    pub(crate) fn run(&mut self, name: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
        println!("==> {name}");
        let start = Instant::now();
        let result = work();
        let took = start.elapsed();
        match result {
            Ok(()) => {
                println!("<== {name}: {:.1} s", took.as_secs_f64());
                self.done.push((name.to_owned(), took));
                Ok(())
            }
            Err(error) => {
                self.summary();
                Err(error
                    .context(format!("step `{name}` failed after {:.1} s", took.as_secs_f64())))
            }
        }
    }

    /// Prints the steps with their seconds, if there was more than one.
    pub(crate) fn summary(&self) {
        if self.done.len() < 2 {
            return;
        }
        println!();
        for (name, took) in &self.done {
            println!("{:>8.1} s  {name}", took.as_secs_f64());
        }
        let total: Duration = self.done.iter().map(|(_, took)| *took).sum();
        println!("{:>8.1} s  in all", total.as_secs_f64());
    }
}

/// Runs the program to its end; anything but success is an error that shows the command line.
pub(crate) fn run(command: &mut Command, missing: &str) -> Result<()> {
    let status = status(command, missing)?;
    if status.success() {
        return Ok(());
    }
    bail!("`{}` ended with {status}", line(command))
}

/// Runs the program to its end and gives its status. `missing` says what to install if it is not there.
pub(crate) fn status(command: &mut Command, missing: &str) -> Result<ExitStatus> {
    command.stdin(Stdio::null());
    command.status().map_err(|error| start_error(&error, command, missing))
}

/// Runs the program and gives its standard output; standard error is shown as it comes.
pub(crate) fn output(command: &mut Command, missing: &str) -> Result<String> {
    command.stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = command.output().map_err(|error| start_error(&error, command, missing))?;
    if !output.status.success() {
        bail!("`{}` ended with {}", line(command), output.status);
    }
    String::from_utf8(output.stdout)
        .with_context(|| format!("`{}` printed bytes that are not UTF-8", line(command)))
}

/// Whether the program can be started and says that all is well, quietly.
pub(crate) fn works(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// How a program with a time limit ended.
pub(crate) enum Ended {
    /// By itself.
    Exit(ExitStatus),
    /// It was ended when its time was up.
    OutOfTime,
}

/// Runs the program for at most `limit`, its output discarded.
pub(crate) fn within(command: &mut Command, limit: Duration, missing: &str) -> Result<Ended> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| start_error(&error, command, missing))?;
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait().context("waiting for a program")? {
            return Ok(Ended::Exit(status));
        }
        if Instant::now() >= deadline {
            end(&mut child)?;
            return Ok(Ended::OutOfTime);
        }
        thread::sleep(Duration::from_millis(50));
    }
}

fn end(child: &mut Child) -> Result<()> {
    // A child that ended in between is as good as one that was ended.
    match child.kill() {
        Err(error) if error.kind() != io::ErrorKind::InvalidInput => {
            return Err(error).context("ending a program whose time is up");
        }
        _ => {}
    }
    child.wait().context("waiting for a program that was ended")?;
    Ok(())
}

fn start_error(error: &io::Error, command: &Command, missing: &str) -> anyhow::Error {
    let program = command.get_program().to_string_lossy().into_owned();
    if error.kind() == io::ErrorKind::NotFound {
        anyhow::anyhow!("`{program}` is not installed or not in PATH: {missing}")
    } else {
        anyhow::anyhow!("`{program}` could not be started: {error}")
    }
}

/// The command as one would type it.
fn line(command: &Command) -> String {
    let mut line = command.get_program().to_string_lossy().into_owned();
    for arg in command.get_args() {
        let arg = arg.to_string_lossy();
        if arg.is_empty() || arg.contains(|c: char| c.is_whitespace() || "\"'$`\\*".contains(c)) {
            let _ = write!(line, " '{}'", arg.replace('\'', r"'\''"));
        } else {
            let _ = write!(line, " {arg}");
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_can_be_typed_again() {
        let mut command = Command::new("pytest");
        command.args(["-k", "a or b", "it's", ""]);
        assert_eq!(line(&command), r"pytest -k 'a or b' 'it'\''s' ''");
    }

    #[test]
    fn a_missing_program_says_what_to_install() {
        let error = run(&mut Command::new("no-such-program-here"), "install it").unwrap_err();
        assert!(error.to_string().contains("not installed or not in PATH: install it"), "{error}");
    }

    #[test]
    fn a_program_is_ended_when_its_time_is_up() {
        let ended = within(Command::new("sleep").arg("60"), Duration::from_millis(100), "");
        assert!(matches!(ended, Ok(Ended::OutOfTime)));
        let ended = within(&mut Command::new("true"), Duration::from_secs(20), "");
        assert!(matches!(ended, Ok(Ended::Exit(status)) if status.success()));
    }

    #[test]
    fn a_failed_step_names_itself() {
        let mut steps = Steps::default();
        let error = steps.run("tidy", || bail!("two findings")).unwrap_err();
        let shown = format!("{error:#}");
        assert!(shown.starts_with("step `tidy` failed after "), "{shown}");
        assert!(shown.ends_with(": two findings"), "{shown}");
    }
}
