use callgate_dialect::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let l: Language = a[1].parse().unwrap();
    let text = std::fs::read(&a[2]).unwrap();
    let commit = if a.get(3).is_some() { Commit::Call } else { Commit::Block };
    let mut p = l.parser(Options { commit, ..Options::default() });
    let mut r = Recorded::default();
    p.push(&text, &mut r);
    p.finish(End::Stop, &mut r);
    for e in &r.events {
        match e {
            RecordedEvent::Text { span, bytes } => {
                println!("Text {span:?} {:?}", String::from_utf8_lossy(bytes))
            }
            e => println!("{e:?}"),
        }
    }
}
