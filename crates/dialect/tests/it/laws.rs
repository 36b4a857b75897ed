//! The laws on every corpus stream, whatever its right outcome is.

use callgate_lab::{corpus, law};

use crate::setups;

#[test]
fn laws_hold_on_the_corpus() {
    let mut failures = Vec::new();
    for case in corpus::load_all(&corpus::root()).unwrap() {
        for setup in setups(case.language, &case.tools) {
            if let Err(broken) = law::all(&setup, &case.stream, 1) {
                let commit = setup.options.commit;
                failures.push(format!("{} ({commit:?}): {broken}", case.name));
            }
        }
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}
