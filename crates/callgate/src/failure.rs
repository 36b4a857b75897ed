//! How a command fails: what is printed, and the exit code.
//!
//! It decides nothing about what is an error; a command says whether the user or the world is at
//! fault.

use std::{error::Error, fmt, io, process::ExitCode};

/// How a command ends.
pub(crate) type Outcome = anyhow::Result<()>;

/// A failure that the user mends on the command line or in a configuration file: exit code 2.
#[derive(Debug)]
pub(crate) struct Usage(String);

impl Usage {
    /// With the message that is printed.
    pub(crate) fn new(message: impl fmt::Display) -> Self {
        Self(message.to_string())
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Usage {}

/// Prints what went wrong, and gives the code for it.
///
/// A reader that left (`callgate parse … | head`) is no failure.
pub(crate) fn exit_code(outcome: Outcome) -> ExitCode {
    let Err(error) = outcome else { return ExitCode::SUCCESS };
    if error.chain().any(is_gone_reader) {
        return ExitCode::SUCCESS;
    }
    eprintln!("error: {error:#}");
    ExitCode::from(if error.is::<Usage>() { 2 } else { 1 })
}

fn is_gone_reader(error: &(dyn Error + 'static)) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    fn check(error: anyhow::Error, expected: u8) {
        assert_eq!(exit_code(Err(error)), ExitCode::from(expected));
    }

    #[test]
    fn codes_say_who_mends_it() {
        check(anyhow!("the port is taken"), 1);
        check(Usage::new("no such dialect").into(), 2);
        let gone = io::Error::from(io::ErrorKind::BrokenPipe);
        check(anyhow::Error::from(gone).context("cannot write"), 0);
    }
}
