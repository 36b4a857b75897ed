//! Every corpus case and every recording gives its outcome: whole, in two chunks at every offset,
//! byte by byte.

use callgate_lab::{Outcome, corpus, cut, recording};

use crate::setups;

#[test]
fn corpus_cases_give_their_outcome_in_every_cut() {
    let mut cases = corpus::load_all(&corpus::root()).unwrap();
    assert!(!cases.is_empty(), "no case under {}", corpus::root().display());
    let recordings = recording::load_all(&corpus::root()).unwrap();
    assert!(recordings.len() >= 30, "{} recordings", recordings.len());
    cases.extend(recordings.into_iter().map(|recording| recording.case));
    let mut failures = Vec::new();
    for case in &cases {
        for setup in setups(case.language, &case.tools) {
            let commit = setup.options.commit;
            let expected = case.expected(commit);
            let stream = &case.stream;
            let mut cuts = vec![Vec::new(), cut::every(stream.len(), 1)];
            cuts.extend(cut::offsets(stream, 1).into_iter().map(|at| vec![at]));
            for cuts in cuts {
                let got = Outcome::read(&setup, stream, &cuts, case.end);
                if let Err(why) = expected.check(&got) {
                    let shown = if cuts.len() > 1 {
                        "byte by byte".into()
                    } else {
                        format!("cut {cuts:?}")
                    };
                    failures.push(format!("{} ({commit:?}, {shown}): {why}", case.name));
                    break;
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}
