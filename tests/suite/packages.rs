//! What stands in several files of the packages is the same in all of them.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value as Json;

fn read(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

fn toml(name: &str) -> toml::Table {
    read(name).parse().unwrap()
}

fn npm() -> Json {
    serde_json::from_str(&read("npm/package.json")).unwrap()
}

fn names(table: &toml::Value) -> BTreeSet<&str> {
    table.as_table().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn npm_packages_have_the_version_of_the_crate() {
    let npm = npm();
    assert_eq!(npm["version"], env!("CARGO_PKG_VERSION"));
    for (name, version) in npm["optionalDependencies"].as_object().unwrap() {
        assert_eq!(version, env!("CARGO_PKG_VERSION"), "{name}");
    }
}

#[test]
fn packages_share_name_licence_and_description_with_crate() {
    let (npm, python) = (npm(), toml("pyproject.toml"));
    for (key, expected) in [
        ("name", env!("CARGO_PKG_NAME")),
        ("license", env!("CARGO_PKG_LICENSE")),
        ("description", env!("CARGO_PKG_DESCRIPTION")),
    ] {
        assert_eq!(npm[key], expected);
        assert_eq!(python["project"][key].as_str(), Some(expected));
    }
}

#[test]
fn workflow_builds_every_platform_npm_may_request() {
    let workflow: Json = serde_saphyr::from_str(&read(".github/workflows/release.yml")).unwrap();
    let builds = workflow["jobs"]["build"]["strategy"]["matrix"]["include"].as_array().unwrap();
    let built: BTreeSet<String> = builds
        .iter()
        .map(|build| format!("@recap-bench/{}", build["platform"].as_str().unwrap()))
        .collect();
    let npm = npm();
    let asked = npm["optionalDependencies"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(built, asked);
}

#[test]
fn what_the_release_build_leaves_unoptimised_is_shipped_optimised() {
    let manifest = toml("Cargo.toml");
    let level = |profile: &str, name: &str| {
        manifest["profile"][profile]["package"]
            .get(name)
            .map(|package| package["opt-level"].clone())
    };
    for name in names(&manifest["profile"]["release"]["package"]) {
        let is_unoptimised = level("release", name) == Some(0.into());
        assert!(!is_unoptimised || level("dist", name) == Some(3.into()), "{name}");
    }
}
