//! Time per byte of the dialect parsers, by argument size and chunk size: `bench [--smoke]`.
//!
//! Law S6 is a ratio within one run: a byte of a large argument costs what a byte of a small one
//! costs. The nanoseconds depend on machine and profile. `--smoke` leaves the 10 MB arguments out
//! and only shows a ratio that is too large; without it such a ratio is a failure.

use std::{
    fs,
    hint::black_box,
    process::ExitCode,
    time::{Duration, Instant},
};

use callgate_dialect::{Call, Commit, End, Event, Language, Options, Span, Tools};

const CHUNKS: [usize; 4] = [1, 8, 64, 4096];
const SIZES: [(&str, usize); 3] = [("1 KB", 1 << 10), ("100 KB", 100 << 10), ("10 MB", 10 << 20)];
const SMOKE_SIZES: usize = 2;

/// How much dearer than a byte of the smallest argument a byte may be.
const RATIO: f64 = 2.0;

/// Each figure is the best of this many batches, and a batch is as many runs as fill this time: the
/// clock of a thread's work ticks in milliseconds.
const BATCHES: usize = 3;
const BATCH: Duration = Duration::from_millis(80);

struct Subject {
    name: &'static str,
    language: Language,
    commit: Commit,
}

const SUBJECTS: [Subject; 3] = [
    Subject { name: "xml, block", language: Language::Xml, commit: Commit::Block },
    Subject { name: "xml, call", language: Language::Xml, commit: Commit::Call },
    Subject { name: "ctl-heredoc", language: Language::CtlHeredoc, commit: Commit::Block },
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let smoke = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => false,
        ["--smoke"] => true,
        _ => {
            eprintln!("usage: bench [--smoke]");
            return ExitCode::from(2);
        }
    };
    let sizes = if smoke { &SIZES[..SMOKE_SIZES] } else { &SIZES[..] };
    let profile = if cfg!(debug_assertions) { "dev" } else { "optimised" };
    println!("nanoseconds per byte, {profile} build, best of {BATCHES} batches");
    print!("{:<14}{:>8}", "dialect", "chunk");
    for (name, _) in sizes {
        print!("{name:>10}");
    }
    println!("{:>10}", "ratio");

    let mut large = 0;
    for subject in &SUBJECTS {
        for chunk in CHUNKS {
            print!("{:<14}{chunk:>8}", subject.name);
            let mut figures = Vec::new();
            for (_, size) in sizes {
                let figure = measure(subject, chunk, *size);
                print!("{figure:>10.1}");
                figures.push(figure);
            }
            let (small, larger) = (figures[0], &figures[1..]);
            let ratio = larger.iter().fold(0.0_f64, |worst, figure| worst.max(figure / small));
            let mark = if ratio > RATIO { "  above 2" } else { "" };
            println!("{ratio:>10.2}{mark}");
            large += usize::from(ratio > RATIO);
        }
    }
    if large == 0 {
        println!("every ratio is at most {RATIO}");
    } else {
        println!("{large} ratios are above {RATIO}: the cost of a byte grows with the argument");
    }
    if large > 0 && !smoke { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Nanoseconds per byte of a stream with one call whose argument has `size` bytes.
fn measure(subject: &Subject, chunk: usize, size: usize) -> f64 {
    let stream = stream(subject.language, size);
    let options = Options { commit: subject.commit, ..Options::default() };
    let run = || {
        let mut parser = subject.language.parser(options.clone());
        let mut calls = 0_usize;
        let mut sink = |event: Event<'_>| {
            calls += usize::from(matches!(black_box(event), Event::CallReady { .. }));
        };
        for bytes in stream.as_bytes().chunks(chunk) {
            parser.push(bytes, &mut sink);
        }
        parser.finish(End::Stop, &mut sink);
        assert_eq!(calls, 1, "{}: the stream holds one call", subject.name);
    };
    let mut best = f64::INFINITY;
    for _ in 0..BATCHES {
        let clock = Clock::start();
        let mut runs = 0_u32;
        let spent = loop {
            run();
            runs += 1;
            // Reading the clock costs as much as a short run: ever less often.
            if runs.is_power_of_two() {
                let spent = clock.spent();
                if spent >= BATCH {
                    break spent;
                }
            }
        };
        best = best.min(spent.as_secs_f64() / f64::from(runs));
    }
    best * 1e9 / stream.len() as f64
}

/// The time this thread has worked, where the system tells; else the time that has passed, which on
/// a busy machine makes long runs look dear.
struct Clock {
    worked: Option<Duration>,
    started: Instant,
}

impl Clock {
    fn start() -> Self {
        Self { worked: worked(), started: Instant::now() }
    }

    fn spent(&self) -> Duration {
        match (self.worked, worked()) {
            (Some(before), Some(now)) => now.saturating_sub(before),
            _ => self.started.elapsed(),
        }
    }
}

fn worked() -> Option<Duration> {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(stat.split_whitespace().next()?.parse().ok()?))
}

fn stream(language: Language, size: usize) -> String {
    const LINE: &str = "let total = items.iter().map(|item| item.price * item.count).sum();\n";
    let argument = LINE.repeat(size.div_ceil(LINE.len()));
    let call = Call {
        index: 0,
        id: None,
        name: "write".to_owned(),
        arguments: serde_json::json!({ "content": argument }).to_string(),
        span: Span::at(0),
    };
    // Without an id CTL writes one of its own, which is all that is inexact.
    language.render_call(&call, &Tools::default()).unwrap_or_else(|inexact| inexact.text)
}
