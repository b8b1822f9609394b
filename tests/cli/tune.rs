//! `recap tune`: settings of a strategy, from files to what is recommended.

use serde_json::{Value as Json, json};

use crate::desk::{Desk, flat};

/// Without cache breakpoints, so that a smaller prompt is always a cheaper one. Of results all but
/// the newest one go above 18,000 tokens of a window of 20,000.
const STRATEGY: &str = "version = 1\nname = \"mine\"\nsummary = \"x\"\nsource = \"x\"\n\
                        cache_breakpoints = []\n[[stage]]\nmechanism = \"mask\"\n\
                        at = \"request\"\nwhen = { above = \"window\", share = 0.9 }\n\
                        keep_results = 1\nmarker = \"[cleared]\"\n";

/// `s0`, `s1`, … of six requests and 10,000 to 14,000 tokens each. The first result names a file
/// that the last request opens, if it does in this session: the one fact that is used.
fn desk(sessions: usize, uses: impl Fn(usize) -> bool) -> Desk {
    let desk = Desk::new();
    let filler = "a line of a long listing without any name in it\n".repeat(220);
    let line = |at: usize| {
        let file = format!("src/parcel/ledger{at}.rs");
        let mut messages = vec![json!({"id": "u", "role": "user",
            "blocks": [{"type": "text", "text": "Read all of it and mend what is broken."}]})];
        for n in 0..6 {
            let path = if n == 5 && uses(at) { file.clone() } else { "notes".to_owned() };
            messages.push(json!({"id": format!("a{n}"), "role": "assistant", "blocks": [
                {"type": "tool_call", "id": format!("c{n}"), "name": "read",
                 "arguments": {"path": path}}]}));
            let said = if n == 0 { format!("Broken: {file}\n{filler}") } else { filler.clone() };
            messages.push(json!({"id": format!("r{n}"), "role": "tool", "blocks": [
                {"type": "tool_result", "call": format!("c{n}"), "text": said}]}));
        }
        json!({"id": format!("s{at}"), "project": format!("p{at}"), "model": "claude-sonnet-4-5",
            "messages": messages})
        .to_string()
    };
    let lines: Vec<String> = (0..sessions).map(line).collect();
    desk.file("many/sessions.jsonl", lines.join("\n") + "\n");
    desk.file("mine.toml", STRATEGY);
    desk
}

const TUNE: &str = "tune many --strategy mine.toml --window 20k";

fn tuned(desk: &Desk, more: &str) -> (Json, String) {
    let printed = desk.good(&format!("{TUNE} --out run {more}")).out;
    (desk.json("run/summary.json")["tuned"].clone(), flat(&printed))
}

#[test]
fn earlier_triggers_keep_less_over_the_replay() {
    let desk = desk(4, |_| true);
    let (found, printed) = tuned(&desk, "--compact-at 5k,17k");
    // Projects of equal size take turns: p0 and p2 choose, p1 and p3 judge. At 5,000 tokens the
    // first result is cleared before the last request, at 17,000 and 18,000 nothing is.
    let kept = |at: usize, half: &str| {
        let half = &found["settings"][at][half];
        (half["facts"].clone(), half["kept"]["value"].clone(), half["admission"].clone())
    };
    // The page has the picture, with the author's setting named.
    let page = desk.read("run/report.html");
    for part in ["<figure><svg role=\"img\" ", "bill, what is lost fetched again"] {
        assert!(page.contains(part), "the picture");
    }
    for half in ["choosing", "held_back"] {
        assert_eq!(kept(0, half), (json!(2.0), json!(1.0), json!("admissible")), "{found}");
        assert_eq!(kept(1, half), (json!(2.0), json!(0.0), json!("keeps-less")), "{found}");
        assert_eq!(kept(2, half), (json!(2.0), json!(1.0), json!("admissible")), "{found}");
    }
    assert_eq!(found["recommended"], json!(0));
    let why = "Keep the author's settings: none of 2 other settings is admissible and better.";
    assert!(printed.replace('\n', " ").contains(why), "{printed}");
    // A row of the table is the sum of rows of single sessions.
    let of = |session: &str| {
        let key = ["strategy=mine[compact_at=5000]", &format!("session={session}")];
        let row = desk.row("run/sessions.csv", &key);
        ["cost_usd_refetch", "references", "references_kept"]
            .map(|name| row[name].parse::<f64>().unwrap())
    };
    let (first, second) = (of("s0"), of("s2"));
    assert_eq!(first[1..], [1.0, 0.0]);
    let row = desk.row("run/frontier.csv", &["setting=compact_at=5000"]);
    let usd: f64 = row["usd"].parse().unwrap();
    assert!((usd - first[0] - second[0]).abs() < 1e-6, "{usd}");
    assert_eq!((row["kept"].as_str(), row["held_kept_difference"].as_str()), ("0", "-1"));
    // The run is one like any other.
    let again = desk.good("report run").out;
    assert!(again.contains("Keep the author's settings"), "{again}");
}

#[test]
fn cheaper_setting_that_keeps_the_same_is_recommended() {
    let desk = desk(4, |_| true);
    let cached = "cache_breakpoints=[\"preamble\", \"previous\", \"newest\"]";
    let (found, printed) = tuned(&desk, &format!("--set '{cached}'"));
    assert_eq!((&found["recommended"], &found["unit"]), (&json!(1), &json!("project")));
    let own = &found["settings"][1];
    assert_eq!((&own["changes"], &own["frontier"]), (&json!(cached), &json!(true)), "{found}");
    for half in ["choosing", "held_back"] {
        let usd = |at: usize| found["settings"][at][half]["usd"].as_f64().unwrap();
        let saving = own[half]["saving"]["value"].as_f64().unwrap();
        assert!((saving - (1.0 - usd(1) / usd(0))).abs() < 1e-5 && saving > 0.1, "{found}");
    }
    let set = format!("--strategy mine.toml --set 'mine.toml: {cached}'");
    assert!(printed.contains("Use cache_breakpoints=") && printed.contains(&set), "{printed}");
    desk.good(&format!("bench many {set} --dry-run"));
}

#[test]
fn setting_that_loses_on_the_half_held_back_is_not_recommended() {
    // Only the sessions that judge use what the first result said.
    let desk = desk(4, |at| at % 2 == 1);
    let (found, printed) = tuned(&desk, "--compact-at 5k");
    let own = &found["settings"][1];
    assert_eq!(own["choosing"]["admission"], json!("admissible"), "{found}");
    assert_eq!(own["held_back"]["admission"], json!("keeps-less"), "{found}");
    assert_eq!(found["recommended"], json!(0));
    let why = "compact_at=5000 is the cheapest admissible setting where it was chosen, but on the \
               half held back";
    assert!(found["because"].as_str().unwrap().starts_with(why), "{found}");
    assert!(printed.contains("facts kept 0 %, the author's 100 %"), "{printed}");
}

#[test]
fn without_values_the_numbers_of_the_strategy_are_varied() {
    let desk = desk(2, |_| true);
    let plan = desk.good(&format!("{TUNE} --dry-run --json")).out;
    let plan: Json = serde_json::from_str(&plan).unwrap();
    let known =
        ["mine", "mine[1.keep_results=2]", "mine[1.when.share=0.675]", "mine[1.when.share=1.0]"];
    assert_eq!(plan["strategies"], json!(known));
    assert_eq!(plan["cells"], json!(8));
}

#[test]
fn single_session_is_not_divided() {
    let (found, _) = tuned(&desk(1, |_| true), "--compact-at 5k");
    assert_eq!(found["because"], json!("one project or session alone cannot be divided"));
}
