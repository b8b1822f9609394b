#![allow(clippy::disallowed_methods, reason = "a time is measured")]

use proptest::prelude::*;

use super::*;
use crate::text::IdentifierClass::{self, *};

fn said(text: &str) -> Vec<(IdentifierClass, &str)> {
    found(text, false)
}

fn coded(text: &str) -> Vec<(IdentifierClass, &str)> {
    found(text, true)
}

fn found(text: &str, code: bool) -> Vec<(IdentifierClass, &str)> {
    identifiers(text, IdentifierOptions { code })
        .into_iter()
        .map(|found| (found.class, found.text))
        .collect()
}

#[test]
fn each_class_is_found_by_its_shape() {
    assert_eq!(said("see src/net/pool.rs now"), [(Path, "src/net/pool.rs")]);
    assert_eq!(said("open retry_policy.go"), [(Path, "retry_policy.go")]);
    assert_eq!(
        said("at https://ci.acme.dev/runs/88?x=1."),
        [(Url, "https://ci.acme.dev/runs/88?x=1")]
    );
    assert_eq!(said("ask ana.k@acme.dev!"), [(Email, "ana.k@acme.dev")]);
    assert_eq!(
        said("id 0b9f3c1e-52aa-4c1d-9a7e-1f2e3d4c5b6a"),
        [(Uuid, "0b9f3c1e-52aa-4c1d-9a7e-1f2e3d4c5b6a")]
    );
    assert_eq!(said("commit 3fa9c1d."), [(Hex, "3fa9c1d")]);
    assert_eq!(
        said("port 48217, 3.25 and 137ms"),
        [(Number, "48217"), (Number, "3.25"), (Number, "137ms")]
    );
    assert_eq!(said("due 2026-02-14T09:00"), [(Date, "2026-02-14")]);
    assert_eq!(said("set pool.max_idle"), [(Dotted, "pool.max_idle")]);
    assert_eq!(
        said("call drainQueue or drain_queue or DRAIN_QUEUE"),
        [(Identifier, "drainQueue"), (Identifier, "drain_queue"), (Identifier, "DRAIN_QUEUE")]
    );
    assert_eq!(said("fix OPS-4411"), [(Ticket, "OPS-4411")]);
    assert_eq!(said(r#"it says "no lease for shard" again"#), [(Quoted, "no lease for shard")]);
}

#[test]
fn kebab_case_needs_a_digit_or_code_context() {
    assert_eq!(said("a lease-holder is"), []);
    assert_eq!(said("the `lease-holder` is"), [(Kebab, "lease-holder")]);
    assert_eq!(said("node lease-holder-7 is"), [(Kebab, "lease-holder-7")]);
    assert_eq!(said("pass --lease-holder"), [(Kebab, "lease-holder")]);
    assert_eq!(coded("lease-holder"), [(Kebab, "lease-holder")]);
    assert_eq!(said("```\nlease-holder\n```\nlease-holder"), [(Kebab, "lease-holder")]);
}

#[test]
fn line_numbers_are_no_numbers() {
    assert_eq!(said(" 12345→let x = 1"), []);
    assert_eq!(said("12345:let x = 1"), []);
    assert_eq!(said("12345\tlet x = 1"), []);
    assert_eq!(said("src/a_b.rs:12345:6: bad"), [(Path, "src/a_b.rs")]);
    assert_eq!(said("     7→call drain_queue"), [(Identifier, "drain_queue")]);
}

#[test]
fn round_numbers_are_anybodys() {
    assert_eq!(said("30s 1.5 10000 100ms 0.5 50 443"), []);
    assert_eq!(said("v2.1.37 and 0.734"), [(Number, "v2.1.37"), (Number, "0.734")]);
}

#[test]
fn escapes_in_quoted_source_are_no_letters() {
    assert_eq!(
        said(r"\ndrain_queue\tdrainQueue"),
        [(Identifier, "drain_queue"), (Identifier, "drainQueue")]
    );
    assert!(contains_bounded(r"x\ndrain_queue", "drain_queue", Identifier));
    assert!(contains_bounded(r"Error:\n\tdrain_queue", "drain_queue", Identifier));
    // In a path of Windows they are.
    for path in [r"D:\tokyo.omp.json", r"app\web\tokyo.omp.json", r"D:\n\r\tokyo.omp.json"] {
        assert!(!contains_bounded(path, "okyo.omp.json", Path), "{path}");
        assert!(!said(path).contains(&(Path, "okyo.omp.json")), "{path}");
    }
}

#[test]
fn a_relative_path_is_known_without_its_dots() {
    assert_eq!(said("from ../../net/pool_guard.js"), [(Path, "net/pool_guard.js")]);
    assert!(contains_bounded("../../net/pool_guard.js", "net/pool_guard.js", Path));
}

#[test]
fn member_of_this_object_is_identified_by_name() {
    assert_eq!(said("this.drainQueue()"), [(Identifier, "drainQueue")]);
    assert_eq!(said("self.pool.drain_queue()"), [(Dotted, "pool.drain_queue")]);
}

#[test]
fn dates_with_month_in_words_are_found() {
    let text = "from 7 May 2023 to March 14th, 2024, not May 2023 or 31 men 2023";
    assert_eq!(said(text), [(Date, "7 May 2023"), (Date, "March 14th, 2024")]);
}

#[test]
fn commit_trailers_give_nothing() {
    assert_eq!(said("Co-Authored-By: Ana <ana.k@acme.dev>"), []);
    assert_eq!(said("Signed-off-by: ana.k@acme.dev"), []);
}

#[test]
fn ordinary_words_and_slashes_are_no_paths() {
    assert_eq!(said("and/or he/she 24/7 input/output"), []);
    assert_eq!(said("go test ./..."), []);
    assert_eq!(said("**/*.go"), []);
}

#[test]
fn an_occurrence_inside_a_longer_identifier_is_none() {
    assert!(!contains_bounded("drain_queues", "drain_queue", Identifier));
    assert!(contains_bounded("q.drain_queue()", "drain_queue", Identifier));
    assert!(!contains_bounded("3fa9c1d0", "3fa9c1d", Hex));
    assert!(!contains_bounded("148217", "48217", Number));
    assert!(!contains_bounded("48217.5", "48217", Number));
    assert!(contains_bounded("48217.", "48217", Number));
    assert!(!contains_bounded("OPS-44115", "OPS-4411", Ticket));
    assert!(!contains_bounded("my-lease-holder", "lease-holder", Kebab));
    assert!(contains_bounded("--lease-holder=3", "lease-holder", Kebab));
}

#[test]
fn paths_match_when_one_is_component_suffix() {
    let long = "/home/u/p/src/a.rs";
    assert!(contains_bounded(long, "src/a.rs", Path));
    assert!(contains_bounded("edit src/a.rs:3", long, Path));
    assert!(contains_bounded("edit ./src/a.rs", long, Path));
    assert!(contains_bounded("+++ b/src/a.rs", long, Path));
    assert!(!contains_bounded("edit lib/src/a.rs", long, Path));
    assert!(!contains_bounded("edit a.rs", long, Path));
    assert!(!contains_bounded("edit src/a.rs.bak", long, Path));
    assert!(!contains_bounded("edit xsrc/a.rs", "src/a.rs", Path));
}

#[test]
fn other_package_with_same_end_is_another_path() {
    // `packages/a/` is no prefix of a diff.
    for (other, own) in [("a", "b"), ("b", "a"), ("web", "api")] {
        let own = format!("packages/{own}/src/index.ts");
        let other = format!("packages/{other}/src/index.ts");
        let text = format!("mend {other}");
        assert!(!contains_bounded(&text, &own, Path), "{own} in {text}");
        let both = format!("{own} {other}");
        let mut paths = Paths::default();
        paths.read(&both);
        assert!(Needle::new(&own, Path, &paths).find(&both).is_some());
        // An end that both have names neither, and neither is meant by it.
        let short = Needle::new("src/index.ts", Path, &paths);
        assert_eq!(short.find(&text), None);
        assert!(short.find("in ./src/index.ts").is_some());
        assert_eq!(Needle::new(&own, Path, &paths).find("in src/index.ts"), None);
        let alone = Needle::new(&own, Path, &Paths::default());
        assert!(alone.find("in src/index.ts").is_some());
    }
    assert!(contains_bounded("+++ b/src/a.rs and ../../src/a.rs", "/p/src/a.rs", Path));
}

#[test]
fn a_folder_stands_in_every_path_below_it() {
    assert!(contains_bounded("/home/u/p/src/net/a.rs", "src/net", Path));
    assert!(contains_bounded("src/net/a.rs", "/home/u/p/src/net", Path));
}

#[test]
fn path_below_root_is_known_by_relative_place() {
    let needle = Needle::new("/home/u/p/notes.txt", Path, &Paths::below(vec!["/home/u/p"]));
    assert!(needle.find("see notes.txt").is_some());
    assert!(needle.find("see old/notes.txt").is_none());
}

#[test]
fn general_knowledge_is_generic() {
    for (text, class) in [
        ("fmt.Errorf", Dotted),
        ("os.ReadFile", Dotted),
        ("t.Fatalf", Dotted),
        ("filePath", Identifier),
        ("session_id", Identifier),
        ("read-only", Kebab),
        ("step-by-step", Kebab),
        ("README.md", Path),
        ("/dev/null", Path),
        ("GitHub", Identifier),
        ("failed to init repo: %v", Quoted),
        ("expect.toHaveBeenCalledTimes", Dotted),
        ("team.name", Dotted),
    ] {
        assert!(is_generic(text, class, &|_| false, &|_| false), "{text}");
    }
}

#[test]
fn what_a_project_named_is_not_generic() {
    for (text, class) in [
        ("drainShardQueue", Identifier),
        ("strategy.EnsureRedactor", Dotted),
        ("src/net/pool.rs", Path),
        ("lease-holder-7", Kebab),
        ("no lease for shard %d", Quoted),
        ("failed to read ledger of shard %d: %v", Quoted),
        ("leaseHolderResult.error", Dotted),
    ] {
        assert!(!is_generic(text, class, &|_| false, &|_| false), "{text}");
    }
}

/// 13 MB in an unoptimised build: anything quadratic takes hours.
#[test]
fn hostile_texts_are_read_in_linear_time() {
    for unit in ["a", "a_", "/", "\"", "a-", "1.", "\\n", "漢", "🦀", "a.b/", "@", "http://", "`"]
    {
        let text = unit.repeat(1_000_000 / unit.len());
        for found in identifiers(&text, IdentifierOptions { code: true }) {
            assert!(text.is_char_boundary(found.range.start));
        }
    }
}

#[test]
fn unbalanced_quotes_end_with_their_line() {
    assert_eq!(said("a \" b\n\"no lease for shard\""), [(Quoted, "no lease for shard")]);
    assert_eq!(
        said(r#""it said \"no\" and went on""#),
        [(Quoted, r#"it said \"no\" and went on"#)]
    );
}

#[test]
fn letters_without_case_end_an_identifier() {
    assert_eq!(said("漢drain_queue字"), [(Identifier, "drain_queue")]);
    assert!(contains_bounded("漢drain_queue", "drain_queue", Identifier));
    assert!(!contains_bounded("édrain_queue", "drain_queue", Identifier));
    assert!(contains_bounded("🦀drain_queue🦀", "drain_queue", Identifier));
}

#[test]
fn two_common_conversation_words_make_no_name() {
    let current = |word: &str| word == "checkpoint";
    assert!(is_generic("checkpointPath", Identifier, &current, &|_| false));
    assert!(is_generic("opts.CheckpointID", Dotted, &current, &|_| false));
    assert!(!is_generic("checkpointPath", Identifier, &|_| false, &|_| false));
    assert!(!is_generic("CheckpointLeaseEpoch", Identifier, &current, &|_| false));
}

#[test]
fn plain_words_are_a_name_where_declared() {
    let declares = |name: &str| matches!(name, "SaveContext" | "env.Helper" | "fix-tests");
    for (text, class) in [("SaveContext", Identifier), ("env.Helper", Dotted), ("fix-tests", Kebab)]
    {
        assert!(is_generic(text, class, &|_| false, &|_| false), "{text}");
        assert!(!is_generic(text, class, &|_| false, &declares), "{text}");
    }
    assert!(is_generic("fmt.Errorf", Dotted, &|_| false, &|_| true), "a language's own");
}

#[test]
fn an_adjective_of_two_words_is_language() {
    assert!(is_generic("checkpoint-scoped", Kebab, &|_| false, &|_| false));
    assert!(is_generic("cross-worktree", Kebab, &|_| false, &|_| false));
    assert!(!is_generic("cross-worktree-2", Kebab, &|_| false, &|_| false));
}

proptest! {
    #[test]
    fn extracted_identifier_is_found_bounded_in_its_text(
        text in "([a-z]{1,4}|[A-Z]{1,3}|[0-9]{1,5}|[-_./:@ \"'`\\\\\n#=,%~+*$]|漢|🦀|://){0,60}",
        code in any::<bool>(),
    ) {
        for found in identifiers(&text, IdentifierOptions { code }) {
            prop_assert_eq!(&text[found.range.clone()], found.text);
            prop_assert!(contains_bounded(&text, found.text, found.class));
            let needle = Needle::new(found.text, found.class, &Paths::default());
            let mut hit = false;
            NeedleSet::new([&needle]).scan(&text, |_, place| hit |= place == found.range);
            prop_assert!(hit);
        }
    }

    #[test]
    fn arbitrary_text_never_panics(text in any::<String>()) {
        identifiers(&text, IdentifierOptions::default());
    }
}
