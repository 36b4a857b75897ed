//! `callgate demo`: the scripted provider and the gateway on loopback, the same request to both, and
//! side by side what the model writes and what a client gets.
//!
//! Everything that is shown came over HTTP, and the result is computed from it; nothing is staged
//! but the scripts.

mod ask;
mod case;
mod column;
mod page;
mod reply;
mod screen;
mod servers;
mod verdict;

use std::{
    io::{self, IsTerminal as _, Write as _},
    time::{Duration, Instant},
};

use callgate_upstream::Script;
use clap::Args;
use tokio::sync::mpsc;

use crate::{
    failure::{Outcome, Usage},
    listen,
    paint::Paint,
};

use self::{
    ask::{Asker, Heard, Side},
    case::{Case, Pace},
    page::Page,
    reply::Reply,
    screen::Screen,
    servers::Servers,
    verdict::{Ending, Tally},
};

/// How many deltas may wait for the screen.
const WAITING: usize = 256;

const EXAMPLE: &str = "\
Example:
  callgate demo
  callgate demo --once demo/text-and-call";

/// See it work, without a key and without a network
///
/// Starts the scripted provider and the gateway on free loopback ports and sends each demo request
/// to both: on the left what the model writes, on the right what a client of the gateway gets. At
/// the end it says whether every call arrived whole and every fault was reported.
#[derive(Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Arguments {
    /// Only this model
    #[arg(long, value_name = "NAME")]
    once: Option<String>,
    /// In about two seconds
    #[arg(long)]
    fast: bool,
    /// No colour; the two columns stay
    #[arg(long)]
    no_color: bool,
}

/// Shows all cases, or one.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let cases = match &arguments.once {
        Some(name) => vec![case::find(name).map_err(Usage::new)?],
        None => case::all(),
    };
    let paint = if arguments.no_color { Paint::none() } else { Paint::of(&io::stdout()) };
    let pace = if arguments.fast { Pace::Fast } else { Pace::Calm };
    listen::block_on(async {
        tokio::select! {
            outcome = show(&cases, paint, pace) => outcome,
            _ = tokio::signal::ctrl_c() => {
                let _ = writeln!(io::stdout());
                Err(anyhow::anyhow!("interrupted"))
            }
        }
    })
}

async fn show(cases: &[Case], paint: Paint, pace: Pace) -> Outcome {
    let servers = Servers::start(cases, pace).await?;
    let mut out = io::stdout();
    writeln!(out, "Every request goes over HTTP to the scripted provider and to the gateway:")?;
    writeln!(out, "  provider  {}   what the model writes", servers.provider)?;
    writeln!(out, "  gateway   {}   what a client gets", servers.gateway)?;
    let asker = Asker::new()?;
    let started = Instant::now();
    let mut tally = Tally::default();
    for (index, case) in cases.iter().enumerate() {
        if index > 0 {
            tokio::time::sleep(pace.between()).await;
        }
        let mut stage = Stage::new(paint);
        stage.open(case)?;
        let (model, client) = play(&asker, &servers, &case.script, &mut stage).await?;
        let ending = verdict::judge(case, &model, &client);
        stage.close(&ending)?;
        tally.add(&ending);
    }
    writeln!(out)?;
    tally.write(&mut out, paint, started.elapsed().max(Duration::from_millis(1)))?;
    match tally.wrong() {
        0 => Ok(()),
        wrong => {
            Err(anyhow::anyhow!("{wrong} of {} cases ended otherwise than they must", cases.len()))
        }
    }
}

/// Sends the request to both sides and shows what comes, as it comes.
async fn play(
    asker: &Asker,
    servers: &Servers,
    script: &Script,
    stage: &mut Stage,
) -> anyhow::Result<(Reply, Reply)> {
    let request = script.sample_request(true).to_string();
    let (sender, mut heard) = mpsc::channel(WAITING);
    let model = asker.ask(&servers.provider, request.clone(), Side::Model, sender.clone());
    let client = asker.ask(&servers.gateway, request, Side::Client, sender);
    let (mut of_model, mut of_client) = (Reply::default(), Reply::default());
    let showing = async {
        while let Some((side, heard)) = heard.recv().await {
            stage.hear(side, &heard)?;
            match side {
                Side::Model => of_model.hear(heard),
                Side::Client => of_client.hear(heard),
            }
        }
        Ok::<_, io::Error>(())
    };
    let ((), (), shown) = tokio::join!(model, client, showing);
    shown?;
    Ok((of_model, of_client))
}

/// Where it is shown.
enum Stage {
    /// Two columns, as it streams.
    Screen(Screen),
    /// One behind the other, when it is complete.
    Page(Page),
}

impl Stage {
    fn new(paint: Paint) -> Self {
        let size = io::stdout().is_terminal().then(screen::size).flatten();
        match size {
            Some(size) if size.columns >= screen::NARROWEST => {
                Self::Screen(Screen::new(size, paint))
            }
            _ => Self::Page(Page::new(paint)),
        }
    }

    fn open(&mut self, case: &Case) -> io::Result<()> {
        match self {
            Self::Screen(screen) => screen.open(case),
            Self::Page(page) => page.open(case),
        }
    }

    fn hear(&mut self, side: Side, heard: &Heard) -> io::Result<()> {
        match self {
            Self::Screen(screen) => screen.hear(side, heard),
            Self::Page(page) => {
                page.hear(side, heard);
                Ok(())
            }
        }
    }

    fn close(&mut self, ending: &Ending) -> io::Result<()> {
        match self {
            Self::Screen(screen) => screen.close(ending),
            Self::Page(page) => page.close(ending),
        }
    }
}
