//! Time per byte of the dialect parsers, by argument size and chunk size: `bench [--smoke]`.
//!
//! Law S6 is a ratio within one run: a byte of a large argument costs what a byte of a small one
//! costs. The nanoseconds depend on machine and profile. `--smoke` leaves the 10 MB arguments out
//! and only shows a ratio that is too large; without it such a ratio is a failure. `--count NAME
//! CHUNK SIZE TIMES` reads one stream so many times, for a tool that counts instructions.

use std::{
    fs,
    process::ExitCode,
    time::{Duration, Instant},
};

use callgate_lab::bench::{self, Subject};

const CHUNKS: [usize; 4] = [1, 8, 64, 4096];
const SIZES: [(&str, usize); 3] = [("1 KB", 1 << 10), ("100 KB", 100 << 10), ("10 MB", 10 << 20)];
const SMOKE_SIZES: usize = 2;
const PROSE: usize = 100 << 10;

/// How much dearer than a byte of the smallest argument a byte may be.
const RATIO: f64 = 2.0;

/// Each figure is the best of this many batches, and a batch is as many runs as fill this time: the
/// clock of a thread's work ticks in milliseconds.
const BATCHES: usize = 3;
const BATCH: Duration = Duration::from_millis(60);
const SMOKE_BATCH: Duration = Duration::from_millis(8);

const USAGE: &str = "usage: bench [--smoke]
       bench --count NAME CHUNK SIZE TIMES
       bench --list";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => table(false),
        ["--smoke"] => table(true),
        ["--list"] => {
            for subject in bench::subjects() {
                println!("{}", subject.name());
            }
            ExitCode::SUCCESS
        }
        ["--count", name, chunk, size, times] => count(name, [chunk, size, times]),
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn count(name: &str, numbers: [&str; 3]) -> ExitCode {
    let subject = bench::subjects().into_iter().find(|subject| subject.name() == name);
    let (Some(subject), [Ok(chunk), Ok(size), Ok(times)]) = (subject, numbers.map(str::parse))
    else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let stream = bench::stream(subject.language, size);
    let calls: usize = (0..times).map(|_| subject.read(&stream, chunk)).sum();
    println!("{} {calls}", stream.len());
    ExitCode::SUCCESS
}

fn table(smoke: bool) -> ExitCode {
    let sizes = if smoke { &SIZES[..SMOKE_SIZES] } else { &SIZES[..] };
    let batch = if smoke { SMOKE_BATCH } else { BATCH };
    let profile = if cfg!(debug_assertions) { "dev" } else { "optimised" };
    println!("nanoseconds per byte, {profile} build, best of {BATCHES} batches");
    print!("{:<20}{:>8}", "dialect", "chunk");
    for (name, _) in sizes {
        print!("{name:>10}");
    }
    println!("{:>10}", "ratio");

    let mut large = 0;
    for subject in bench::subjects() {
        let streams: Vec<_> =
            sizes.iter().map(|(_, size)| bench::stream(subject.language, *size)).collect();
        for chunk in CHUNKS {
            print!("{:<20}{chunk:>8}", subject.name());
            let figures: Vec<f64> = streams
                .iter()
                .map(|stream| per_byte(stream, batch, || one_call(&subject, stream, chunk)))
                .collect();
            figures.iter().for_each(|figure| print!("{figure:>10.1}"));
            let ratio = figures[1..].iter().fold(0.0_f64, |worst, f| worst.max(f / figures[0]));
            let mark = if ratio > RATIO { "  above 2" } else { "" };
            println!("{ratio:>10.2}{mark}");
            large += usize::from(ratio > RATIO);
        }
    }
    prose(batch);
    if large == 0 {
        println!("every ratio is at most {RATIO}");
    } else {
        println!("{large} ratios are above {RATIO}: the cost of a byte grows with the argument");
    }
    if large > 0 && !smoke { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn one_call(subject: &Subject, stream: &[u8], chunk: usize) {
    assert_eq!(subject.read(stream, chunk), 1, "{}: the stream holds one call", subject.name());
}

/// Prose beside a search for the bytes that a dialect of tags has to look at.
fn prose(batch: Duration) {
    let stream = bench::prose(PROSE);
    println!("\nprose of {} KB, nanoseconds per byte", PROSE >> 10);
    print!("{:<20}", "dialect");
    CHUNKS.iter().for_each(|chunk| print!("{chunk:>8}"));
    println!();
    print!("{:<20}", "memchr3");
    for chunk in CHUNKS {
        let figure = per_byte(&stream, batch, || {
            std::hint::black_box(bench::search(&stream, chunk));
        });
        print!("{figure:>8.2}");
    }
    println!();
    for subject in bench::subjects() {
        print!("{:<20}", subject.name());
        for chunk in CHUNKS {
            let figure = per_byte(&stream, batch, || {
                std::hint::black_box(subject.read(&stream, chunk));
            });
            print!("{figure:>8.2}");
        }
        println!();
    }
    println!();
}

/// Nanoseconds per byte of a stream.
fn per_byte(stream: &[u8], batch: Duration, run: impl Fn()) -> f64 {
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
                if spent >= batch {
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
