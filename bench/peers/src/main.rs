//! Callgate's parsers beside published ones, on shapes that both read, in one run.
//!
//! One call with one argument of source code, fed in pieces; nanoseconds of the thread's work per
//! byte, best of three. It measures no client and no model, and is no part of the gate.

use std::{
    fs,
    hint::black_box,
    time::{Duration, Instant},
};

use callgate_dialect::{Call, Commit, End, Event, Language, Options, Tools};
use dynamo_parsers_v2::{DeepSeekV4ToolStreamParser, MiniMaxM2ToolStreamParser};
use openai_protocol::common::Tool as OpenAiTool;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tool_parser::{DeepSeekDsmlParser, JsonParser, MinimaxM2Parser, ToolParser};

const CHUNKS: [usize; 3] = [8, 64, 4096];
const SIZES: [(&str, usize); 3] = [("1 KB", 1 << 10), ("10 KB", 10 << 10), ("100 KB", 100 << 10)];

/// A reading that takes longer than this is not repeated, and the larger sizes are left out.
const LONGEST: Duration = Duration::from_secs(20);

fn main() {
    println!(
        "{:<12} {:<34}{:>7}{:>11}{:>11}{:>11}  call",
        "shape", "parser", "chunk", "1 KB", "10 KB", "100 KB"
    );
    for shape in [Shape::Minimax, Shape::Dsml, Shape::Object] {
        for (name, read) in shape.parsers() {
            for chunk in CHUNKS {
                line(shape, name, chunk, &*read);
            }
        }
    }
}

type Read = Box<dyn Fn(&str, usize) -> Option<Value>>;

#[derive(Clone, Copy)]
enum Shape {
    Minimax,
    Dsml,
    Object,
}

impl Shape {
    fn name(self) -> &'static str {
        match self {
            Self::Minimax => "MiniMax-M2",
            Self::Dsml => "DSML",
            Self::Object => "JSON object",
        }
    }

    fn stream(self, code: &str) -> String {
        match self {
            Self::Minimax => format!(
                "<minimax:tool_call>\n<invoke name=\"write_file\">\n<parameter name=\"content\">{code}\
                 </parameter>\n</invoke>\n</minimax:tool_call>"
            ),
            Self::Dsml => format!(
                "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"write_file\">\n<｜DSML｜parameter \
                 name=\"content\" string=\"true\">{code}</｜DSML｜parameter>\n</｜DSML｜invoke>\n\
                 </｜DSML｜tool_calls>"
            ),
            Self::Object => {
                format!(
                    "{{\"name\": \"write_file\", \"arguments\": {{\"content\": {}}}}}",
                    json!(code)
                )
            }
        }
    }

    fn parsers(self) -> Vec<(&'static str, Read)> {
        let ours = |language: Language| -> Read {
            Box::new(move |text, chunk| callgate(language, text, chunk))
        };
        match self {
            Self::Minimax => vec![
                ("callgate minimax, call", ours(Language::Minimax)),
                (
                    "tool-parser 1.10 minimax_m2",
                    Box::new(|t, c| smg(&mut MinimaxM2Parser::new(), t, c)),
                ),
                (
                    "dynamo-parsers-v2 0.9.6 minimax_m2",
                    Box::new(|t, c| {
                        dynamo(&mut MiniMaxM2ToolStreamParser::new(&dynamo_tools()), t, c)
                    }),
                ),
            ],
            Self::Dsml => vec![
                ("callgate dsml, call", ours(Language::Dsml)),
                (
                    "tool-parser 1.10 deepseek_dsml",
                    Box::new(|t, c| smg(&mut DeepSeekDsmlParser::v4(), t, c)),
                ),
                (
                    "dynamo-parsers-v2 0.9.6 deepseek_v4",
                    Box::new(|t, c| {
                        dynamo(
                            &mut DeepSeekV4ToolStreamParser::new_with_tools(&dynamo_tools()),
                            t,
                            c,
                        )
                    }),
                ),
            ],
            Self::Object => vec![
                ("callgate json-object, call", ours(Language::JsonObject)),
                ("tool-parser 1.10 json", Box::new(|t, c| smg(&mut JsonParser::new(), t, c))),
            ],
        }
    }
}

fn line(shape: Shape, name: &str, chunk: usize, read: &dyn Fn(&str, usize) -> Option<Value>) {
    print!("{:<12} {name:<34}{chunk:>7}", shape.name());
    let mut verdict = "right";
    let mut is_slow = false;
    for (_, size) in SIZES {
        if is_slow {
            print!("{:>11}", "–");
            continue;
        }
        let code = code(size);
        let text = shape.stream(&code);
        match read(&text, chunk).as_ref().and_then(|arguments| arguments["content"].as_str()) {
            Some(found) if found == code => {}
            Some(found) if found == code.trim() => verdict = "trimmed",
            _ => verdict = "WRONG",
        }
        let (figure, spent) = per_byte(&text, || {
            black_box(read(&text, chunk));
        });
        is_slow = spent > LONGEST;
        print!("{figure:>11.1}");
    }
    println!("  {verdict}");
}

fn code(size: usize) -> String {
    const LINE: &str = "let total = items.iter().map(|item| item.price * item.count).sum();\n";
    LINE.repeat(size.div_ceil(LINE.len()))
}

/// Pieces of at most `chunk` bytes that do not cut a character: published parsers take `&str`.
fn pieces(text: &str, chunk: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut end = chunk.min(rest.len());
        while !rest.is_char_boundary(end) {
            end += 1;
        }
        let (piece, tail) = rest.split_at(end);
        rest = tail;
        Some(piece)
    })
}

fn schema() -> Value {
    json!({"type": "object", "properties": {"content": {"type": "string"}}})
}

fn callgate(language: Language, text: &str, chunk: usize) -> Option<Value> {
    let schemas = [("write_file".to_owned(), schema())].into_iter().collect();
    let options =
        Options { tools: Tools::from_schemas(schemas), commit: Commit::Call, ..Options::default() };
    let mut parser = language.parser(options);
    let mut arguments = None;
    let mut sink = |event: Event<'_>| {
        if let Event::CallReady { call: Call { arguments: json, .. }, .. } = black_box(event) {
            arguments = Some(json);
        }
    };
    for piece in pieces(text, chunk) {
        parser.push(piece.as_bytes(), &mut sink);
    }
    parser.finish(End::Stop, &mut sink);
    serde_json::from_str(&arguments?).ok()
}

fn smg(parser: &mut dyn ToolParser, text: &str, chunk: usize) -> Option<Value> {
    thread_local! {
        static RUNTIME: Runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        static TOOLS: Vec<OpenAiTool> = serde_json::from_value(json!([{
            "type": "function", "function": {"name": "write_file", "parameters": schema()}
        }])).unwrap();
    }
    let mut arguments = String::new();
    RUNTIME.with(|runtime| {
        TOOLS.with(|tools| {
            runtime.block_on(async {
                for piece in pieces(text, chunk) {
                    if let Ok(result) = parser.parse_incremental(piece, tools).await {
                        result.calls.iter().for_each(|call| arguments.push_str(&call.parameters));
                    }
                }
            });
        });
    });
    for call in parser.get_unstreamed_tool_args().unwrap_or_default() {
        arguments.push_str(&call.parameters);
    }
    serde_json::from_str(&arguments).ok()
}

fn dynamo_tools() -> Vec<dynamo_parsers_v2::Tool> {
    vec![dynamo_parsers_v2::Tool {
        name: "write_file".to_owned(),
        description: None,
        parameters: schema(),
        strict: None,
    }]
}

fn dynamo(
    parser: &mut dyn dynamo_parsers_v2::ToolParser,
    text: &str,
    chunk: usize,
) -> Option<Value> {
    let mut arguments = String::new();
    for piece in pieces(text, chunk) {
        let result = parser.push(piece).ok()?;
        result.calls.iter().for_each(|call| arguments.push_str(&call.arguments));
    }
    let result = parser.finish().ok()?;
    result.calls.iter().for_each(|call| arguments.push_str(&call.arguments));
    serde_json::from_str(&arguments).ok()
}

/// Nanoseconds per byte, and how long one reading took.
fn per_byte(text: &str, run: impl Fn()) -> (f64, Duration) {
    let mut best = Duration::MAX;
    let started = Instant::now();
    for _ in 0..3 {
        let (before, mut runs) = (worked(), 0_u32);
        let spent = loop {
            run();
            runs += 1;
            let spent = worked() - before;
            if spent > Duration::from_millis(40) {
                break spent;
            }
        };
        best = best.min(spent / runs);
        if started.elapsed() > LONGEST {
            break;
        }
    }
    (best.as_secs_f64() * 1e9 / text.len() as f64, best)
}

/// The time this thread has worked.
fn worked() -> Duration {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(stat.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0))
}
