#![allow(clippy::disallowed_methods, reason = "a time is measured")]

use proptest::prelude::*;

use super::*;
use crate::text::IdentifierClass::*;

/// The identifiers of a text, each with its class.
fn found(text: &str, code: bool) -> String {
    let found = identifiers(text, IdentifierOptions { code }).into_iter();
    found
        .map(|found| format!("{}={}", found.class.as_str(), found.text))
        .collect::<Vec<_>>()
        .join(", ")
}

#[test]
fn identifiers_are_found_by_their_shapes() {
    for (text, expected) in [
        ("see src/net/pool.rs now", "path=src/net/pool.rs"),
        ("open retry_policy.go", "path=retry_policy.go"),
        ("at https://ci.acme.dev/runs/88?x=1.", "url=https://ci.acme.dev/runs/88?x=1"),
        ("ask ana.k@acme.dev!", "email=ana.k@acme.dev"),
        ("id 0b9f3c1e-52aa-4c1d-9a7e-1f2e3d4c5b6a", "uuid=0b9f3c1e-52aa-4c1d-9a7e-1f2e3d4c5b6a"),
        ("commit 3fa9c1d.", "hex=3fa9c1d"),
        ("port 48217, 3.25 and 137ms", "number=48217, number=3.25, number=137ms"),
        ("due 2026-02-14T09:00", "date=2026-02-14"),
        ("set pool.max_idle", "dotted=pool.max_idle"),
        ("call drainQueue or drain_queue", "identifier=drainQueue, identifier=drain_queue"),
        ("call DRAIN_QUEUE", "identifier=DRAIN_QUEUE"),
        ("fix OPS-4411", "ticket=OPS-4411"),
        (r#"it says "no lease for shard" again"#, "quoted=no lease for shard"),
        // Kebab case needs a digit or the context of code.
        ("a lease-holder is", ""),
        ("the `lease-holder` is", "kebab=lease-holder"),
        ("node lease-holder-7 is", "kebab=lease-holder-7"),
        ("pass --lease-holder", "kebab=lease-holder"),
        ("```\nlease-holder\n```\nlease-holder", "kebab=lease-holder"),
        // Line numbers are no numbers, and round ones are anybody's.
        (" 12345→let x = 1", ""),
        ("12345:let x = 1", ""),
        ("12345\tlet x = 1", ""),
        ("src/a_b.rs:12345:6: bad", "path=src/a_b.rs"),
        ("     7→call drain_queue", "identifier=drain_queue"),
        ("30s 1.5 10000 100ms 0.5 50 443", ""),
        ("v2.1.37 and 0.734", "number=v2.1.37, number=0.734"),
        // Escapes of quoted source, dots of a relative path, and members of this object.
        (r"\ndrain_queue\tdrainQueue", "identifier=drain_queue, identifier=drainQueue"),
        ("from ../../net/pool_guard.js", "path=net/pool_guard.js"),
        ("this.drainQueue()", "identifier=drainQueue"),
        ("self.pool.drain_queue()", "dotted=pool.drain_queue"),
        (
            "from 7 May 2023 to March 14th, 2024, not May 2023 or 31 men 2023",
            "date=7 May 2023, date=March 14th, 2024",
        ),
        // Trailers of commits, ordinary words with slashes, patterns.
        ("Co-Authored-By: Ana <ana.k@acme.dev>", ""),
        ("Signed-off-by: ana.k@acme.dev", ""),
        ("and/or he/she 24/7 input/output", ""),
        ("go test ./...", ""),
        ("**/*.go", ""),
        // A quote ends with its line; letters without case end a name.
        ("a \" b\n\"no lease for shard\"", "quoted=no lease for shard"),
        (r#""it said \"no\" and went on""#, r#"quoted=it said \"no\" and went on"#),
        ("漢drain_queue字", "identifier=drain_queue"),
    ] {
        assert_eq!(found(text, false), expected, "{text}");
    }
    assert_eq!(found("lease-holder", true), "kebab=lease-holder");
}

#[test]
fn an_occurrence_inside_a_longer_identifier_is_none() {
    let path = "/home/u/p/src/a.rs";
    for (text, needle, class, expected) in [
        ("drain_queues", "drain_queue", Identifier, false),
        ("q.drain_queue()", "drain_queue", Identifier, true),
        (r"x\ndrain_queue", "drain_queue", Identifier, true),
        (r"Error:\n\tdrain_queue", "drain_queue", Identifier, true),
        ("漢drain_queue", "drain_queue", Identifier, true),
        ("édrain_queue", "drain_queue", Identifier, false),
        ("🦀drain_queue🦀", "drain_queue", Identifier, true),
        ("3fa9c1d0", "3fa9c1d", Hex, false),
        ("148217", "48217", Number, false),
        ("48217.5", "48217", Number, false),
        ("48217.", "48217", Number, true),
        ("OPS-44115", "OPS-4411", Ticket, false),
        ("my-lease-holder", "lease-holder", Kebab, false),
        ("--lease-holder=3", "lease-holder", Kebab, true),
        // Paths match where one is a suffix of the other by components, or a folder of it.
        (path, "src/a.rs", Path, true),
        ("edit src/a.rs:3", path, Path, true),
        ("edit ./src/a.rs", path, Path, true),
        ("+++ b/src/a.rs", path, Path, true),
        ("+++ b/src/a.rs and ../../src/a.rs", "/p/src/a.rs", Path, true),
        ("../../net/pool_guard.js", "net/pool_guard.js", Path, true),
        ("edit lib/src/a.rs", path, Path, false),
        ("edit a.rs", path, Path, false),
        ("edit src/a.rs.bak", path, Path, false),
        ("edit xsrc/a.rs", "src/a.rs", Path, false),
        ("/home/u/p/src/net/a.rs", "src/net", Path, true),
        ("src/net/a.rs", "/home/u/p/src/net", Path, true),
        // In a path of Windows, a letter behind a backslash is one.
        (r"D:\tokyo.omp.json", "okyo.omp.json", Path, false),
        (r"app\web\tokyo.omp.json", "okyo.omp.json", Path, false),
        (r"D:\n\r\tokyo.omp.json", "okyo.omp.json", Path, false),
    ] {
        assert_eq!(contains_bounded(text, needle, class), expected, "{needle} in {text}");
        assert!(expected || !found(text, false).contains("path=okyo"), "{text}");
    }
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
}

#[test]
fn path_below_root_is_known_by_relative_place() {
    let needle = Needle::new("/home/u/p/notes.txt", Path, &Paths::below(vec!["/home/u/p"]));
    assert!(needle.find("see notes.txt").is_some());
    assert!(needle.find("see old/notes.txt").is_none());
}

/// Known to everybody (`+`) or not (`-`), where `checkpoint` is a current word and the project
/// declares `SaveContext`, `env.Helper` and `fix-tests`.
#[test]
fn general_knowledge_is_generic_unless_a_project_named_it() {
    let current = |word: &str| word == "checkpoint";
    let declares = |name: &str| matches!(name, "SaveContext" | "env.Helper" | "fix-tests");
    for (class, texts) in [
        (Dotted, "+fmt.Errorf +os.ReadFile +t.Fatalf +expect.toHaveBeenCalledTimes +team.name"),
        (
            Dotted,
            "+opts.CheckpointID -strategy.EnsureRedactor -leaseHolderResult.error -env.Helper",
        ),
        (Identifier, "+filePath +session_id +GitHub +checkpointPath -drainShardQueue -SaveContext"),
        (Identifier, "-CheckpointLeaseEpoch"),
        (Kebab, "+read-only +step-by-step +checkpoint-scoped +cross-worktree"),
        (Kebab, "-lease-holder-7 -cross-worktree-2 -fix-tests"),
        (Path, "+README.md +/dev/null -src/net/pool.rs"),
    ] {
        for text in texts.split(' ') {
            let (expected, text) = (text.starts_with('+'), &text[1..]);
            assert_eq!(is_generic(text, class, &current, &declares), expected, "{text}");
            let plain = is_generic(text, class, &|_| false, &|_| false);
            let own = text.contains("heckpoint") && !text.contains('-');
            assert_eq!(plain, (expected || declares(text)) && !own, "{text}");
        }
    }
    for (text, expected) in [
        ("failed to init repo: %v", true),
        ("no lease for shard %d", false),
        ("failed to read ledger of shard %d: %v", false),
    ] {
        assert_eq!(is_generic(text, Quoted, &|_| false, &|_| false), expected, "{text}");
    }
    assert!(is_generic("fmt.Errorf", Dotted, &|_| false, &|_| true), "a language's own");
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
