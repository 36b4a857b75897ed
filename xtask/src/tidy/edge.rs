//! Which crate of the workspace may use which: arrows point down only.
//!
//! That is about what is built. Tests may look anywhere: the laws, the corpus and the scripted provider
//! live above the crates they test. What comes from a registry is `deny.toml`'s matter.

use serde_json::Value;

use super::Finding;

/// Each crate with the crates it may use. Ground floor first.
const LAYERS: [(&str, &[&str]); 11] = [
    ("callgate-dialect", &[]),
    ("callgate-wire", &[]),
    ("callgate-patch", &[]),
    ("callgate-store", &[]),
    ("callgate-pipeline", &["callgate-dialect", "callgate-wire"]),
    ("callgate-upstream", &["callgate-wire"]),
    (
        "callgate-gateway",
        &[
            "callgate-dialect",
            "callgate-wire",
            "callgate-store",
            "callgate-pipeline",
            "callgate-upstream",
        ],
    ),
    (
        "callgate-agent",
        &[
            "callgate-dialect",
            "callgate-wire",
            "callgate-patch",
            "callgate-pipeline",
            "callgate-upstream",
        ],
    ),
    (
        "callgate-lab",
        &[
            "callgate-dialect",
            "callgate-wire",
            "callgate-patch",
            "callgate-pipeline",
            "callgate-upstream",
            "callgate-gateway",
            "callgate-agent",
        ],
    ),
    (
        "callgate",
        &[
            "callgate-dialect",
            "callgate-wire",
            "callgate-patch",
            "callgate-pipeline",
            "callgate-upstream",
            "callgate-gateway",
            "callgate-agent",
            "callgate-lab",
        ],
    ),
    ("xtask", &[]),
];

/// All edges of `cargo metadata`'s packages that the table does not allow.
pub(crate) fn check(packages: &[Value]) -> Vec<Finding> {
    let mut found = Vec::new();
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        let Some((_, allowed)) = LAYERS.iter().find(|(layer, _)| *layer == name) else {
            let message = "not in the table of layers: add it to xtask/src/tidy/edge.rs";
            found.push(Finding::new(name, message));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let target = dependency["name"].as_str().unwrap_or_default();
            let kind = dependency["kind"].as_str().unwrap_or("normal");
            // Only a dependency by path is one of ours.
            if kind == "dev" || dependency["path"].is_null() || allowed.contains(&target) {
                continue;
            }
            let may = if allowed.is_empty() {
                "no other crate of the workspace".to_owned()
            } else {
                allowed.join(", ")
            };
            let message = format!("uses {target} ({kind} dependency), but may use {may}");
            found.push(Finding::new(name, message));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn package(name: &str, uses: &[(&str, Option<&str>)]) -> Value {
        let dependencies: Vec<Value> = uses
            .iter()
            .map(|(name, kind)| json!({"name": name, "kind": kind, "path": format!("/x/{name}")}))
            .collect();
        json!({"name": name, "dependencies": dependencies})
    }

    #[track_caller]
    fn check_edges(package: Value, expected: &[&str]) {
        let found: Vec<String> = check(&[package]).iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), expected.len(), "{found:#?}");
        for (finding, part) in found.iter().zip(expected) {
            assert!(finding.contains(part), "{finding}");
        }
    }

    #[test]
    fn downward_edges_are_allowed() {
        let uses = [("callgate-dialect", None), ("callgate-wire", Some("build"))];
        check_edges(package("callgate-pipeline", &uses), &[]);
    }

    #[test]
    fn upward_and_sideways_edges_are_found() {
        check_edges(
            package("callgate-dialect", &[("callgate-wire", Some("build"))]),
            &[
                "callgate-dialect: uses callgate-wire (build dependency), but may use no other crate",
            ],
        );
        check_edges(
            package("callgate-upstream", &[("callgate-gateway", None)]),
            &["uses callgate-gateway (normal dependency), but may use callgate-wire"],
        );
    }

    #[test]
    fn tests_may_look_up() {
        check_edges(package("callgate-dialect", &[("callgate-lab", Some("dev"))]), &[]);
    }

    #[test]
    fn registry_crates_are_not_ours() {
        let other =
            json!({"name": "callgate-wire", "dependencies": [{"name": "serde", "path": null}]});
        check_edges(other, &[]);
    }

    #[test]
    fn a_new_crate_must_be_placed() {
        check_edges(package("callgate-new", &[]), &["not in the table of layers"]);
    }

    #[test]
    fn the_table_itself_points_down() {
        for (place, (name, allowed)) in LAYERS.iter().enumerate() {
            for used in *allowed {
                let below = LAYERS.iter().position(|(layer, _)| layer == used);
                assert!(below.is_some_and(|below| below < place), "{name} uses {used}");
            }
        }
    }
}
