//! Token savers: proxies and filters that a session passes through, and what becomes of a run whose
//! saver fails. `tests/fixtures/saver_proxy.py` plays all of them.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use recap_core::tokens::Counter;
use serde_json::{Value as Json, json};

use crate::desk::{Desk, Line as _, Row, flat, session};
use crate::recordings::shared;

/// A strategy whose proxy does what its name says; `keys` follow those of the stage.
fn proxy(name: &str, keys: &str) -> String {
    format!(
        "version = 1\nname = \"{name}\"\nsummary = \"A token saver.\"\nsource = \"a test\"\n\n\
         [[stage]]\nmechanism = \"proxy\"\nat = \"request\"\nwhen = \"always\"\ncommand = \
         [\"python3\", \"saver_proxy.py\", \"{name}\", \"{{port}}\", \"{{upstream}}\"]\n{keys}\n"
    )
}

/// A desk with the fixtures, the proxy, and a strategy `NAME.toml` for one of its modes.
fn desk(name: &str, keys: &str) -> Desk {
    let desk = Desk::with_sessions();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/saver_proxy.py");
    std::fs::copy(source, desk.path("saver_proxy.py")).unwrap();
    desk.file(&format!("{name}.toml"), proxy(name, keys));
    desk
}

/// The rows of one strategy in `requests.csv`, without its name.
fn requests(desk: &Desk, run: &str, strategy: &str) -> Vec<Row> {
    let mut rows = desk.rows(&format!("{run}/requests.csv"), &[&format!("strategy={strategy}")]);
    for row in &mut rows {
        row.remove("strategy");
        // What a provider refuses is lost for a strategy; `full` is a scale.
        if row["overflow"] == "true" {
            row.remove("references_kept");
        }
    }
    rows
}

/// A run of these strategies over recordings, without cuts, in `run`.
const BENCH: &str = "bench --cuts none --out run";

/// Runs `strategies` on a session, and holds each of their rows against that of `full`.
#[track_caller]
fn assert_nothing_changes(desk: &Desk, input: &str, strategies: &[&str]) {
    let named: String = strategies.iter().map(|name| format!(" --strategy {name}")).collect();
    desk.good(&format!("{BENCH} '{input}' --questions none --quiet{named}"));
    let full = requests(desk, "run", "full");
    assert!(!full.is_empty());
    for strategy in strategies {
        let name = strategy.trim_end_matches(".toml");
        assert_eq!(requests(desk, "run", name), full, "{input}: {name}");
    }
    std::fs::remove_dir_all(desk.path("run")).unwrap();
}

/// Waits, not for ever, until the process whose number is in a file has ended; one that nobody
/// waited for counts as ended.
#[track_caller]
fn assert_gone(desk: &Desk, file: &str) {
    let pid = desk.read(file);
    for _ in 0..3_000 {
        let state = Command::new("ps").args(["-o", "stat=", "-p", &pid]).output().unwrap().stdout;
        if state.is_empty() || state.starts_with(b"Z") {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{file}: the process {pid} runs");
}

#[test]
fn saver_that_changes_nothing_costs_what_full_costs() {
    let cases = [
        ("claude-code.jsonl", "anthropic"),
        ("claude-code.jsonl", "openai-chat"),
        ("codex.jsonl", "openai-responses"),
        ("openai-chat.json", "openai-chat"),
        ("pi.jsonl", "openai-responses"),
        ("opencode.json", "anthropic"),
    ];
    for (input, api) in cases {
        for stream in [true, false] {
            let desk = desk("copy", &format!("api = \"{api}\"\nstream = {stream}"));
            assert_nothing_changes(&desk, input, &["copy.toml", "filter:cat"]);
            assert_gone(&desk, "pid");
        }
    }
    assert_nothing_changes(&desk("copy", ""), &session(), &["copy.toml", "filter:cat"]);
}

#[test]
fn saver_that_changes_nothing_keeps_real_recordings() {
    let recordings = [
        "data/claude-code-sessions/cde341db-b80a-44f5-b0f2-94db2ef7a164.jsonl",
        "data/codex-rollouts/agentcmd-rollout-2025-09-24T20-12-23.jsonl",
        "cases/11-openai-log-with-response.json",
    ];
    for recording in recordings {
        let Some(input) = shared(recording) else { return };
        let desk = desk("copy", "");
        assert_nothing_changes(&desk, input.to_str().unwrap(), &["copy.toml", "filter:cat"]);
    }
}

/// The blocks of each message of [`session`].
fn recorded() -> Vec<Vec<Json>> {
    let text = std::fs::read_to_string(Path::new(&session()).join("sessions.jsonl")).unwrap();
    let recorded: Json = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let messages = recorded["messages"].as_array().unwrap().iter();
    messages.map(|message| message["blocks"].as_array().unwrap().clone()).collect()
}

/// From the second request on, each result is cut to 200 characters.
#[test]
fn shortened_results_lower_tokens_and_cost() {
    let desk = desk("cut", "");
    let prices = json!({"claude-mine": {"litellm_provider": "anthropic",
        "input_cost_per_token": 3e-6, "output_cost_per_token": 2e-5,
        "cache_read_input_token_cost": 5e-7, "cache_creation_input_token_cost": 4e-6,
        "prompt_cache_min_tokens": 512}});
    desk.file("prices.json", prices.to_string());
    let billed = "--prices prices.json --agent-model claude-mine";
    desk.good(&format!("{BENCH} SESSION --strategy cut.toml {billed}"));
    let (cut, full) = (requests(&desk, "run", "cut"), requests(&desk, "run", "full"));
    assert_eq!(cut.len(), 46);
    let number = |row: &Row, column: &str| row[column].parse::<f64>().unwrap();
    assert_eq!(cut[0], full[0], "nothing was cut yet");
    for (cut, full) in cut.iter().zip(&full).skip(1) {
        assert!(number(cut, "tokens_sent") < number(full, "tokens_sent"), "{cut:?}");
        assert_eq!(cut["tokens_full"], full["tokens_full"]);
    }
    let cost = |rows: &[Row]| rows.iter().map(|row| number(row, "cost_usd")).sum::<f64>();
    assert!(cost(&cut) < cost(&full));

    // The second request, by itself: the first, a response, and three results, each as it is sent.
    let sent = |block: &Json| match block["type"].as_str().unwrap() {
        "tool_call" => json!({"name": block["name"], "arguments": block["arguments"]}).to_string(),
        "tool_result" => block["text"].as_str().unwrap().chars().take(200).collect(),
        _ => block["text"].as_str().unwrap().to_owned(),
    };
    let counter = Counter::default();
    let size =
        |blocks: &Vec<Json>| counter.count(&blocks.iter().map(sent).collect::<Vec<_>>().join("\n"));
    let added = recorded()[1..5].iter().map(size).sum::<u64>() as f64;
    assert_eq!(number(&cut[1], "tokens_sent"), number(&cut[0], "tokens_sent") + added);
    assert_eq!(number(&cut[1], "cache_read"), number(&cut[0], "tokens_sent"));
    assert_eq!(number(&cut[1], "cache_write"), added);
    let cost = |row: &Row, written: f64, read: f64| {
        (written * 4.0 + read * 0.5 + number(row, "output") * 20.0) / 1e6
    };
    let first = number(&cut[0], "tokens_sent");
    let differs = |row: &Row, expected: f64| (number(row, "cost_usd") - expected).abs() > 1e-9;
    assert!(!differs(&cut[0], cost(&cut[0], first, 0.0)), "{:?}", cut[0]);
    assert!(!differs(&cut[1], cost(&cut[1], added, first)), "{:?}", cut[1]);
}

#[test]
fn failing_saver_is_one_row_with_its_reason() {
    let cases = [
        ("hang", "request 1: no answer within 1 s"),
        ("error", "request 1: it answers with the error 500; its words: the grey heron"),
        ("alone", "request 1: it answered without asking the provider"),
        ("twice", "request 1: it asked the provider 2 times for one request of the agent"),
        ("drop", "request 2: it drops the result of the call `toolu_1` and keeps the call: provi"),
        ("role", "request 1: it turns a text of the role `user` into one of the role `assistant`"),
        ("grow", "request 1: it adds more than 8 MB to a request"),
        ("forgets", "request 1: the call `toolu_1` of the response does not come back"),
        ("end", "it ended before it was ready (exit status: 1); its words: about the grey heron"),
        ("deaf", "it was not ready within 3 s"),
    ];
    for (mode, reason) in cases {
        // What is meant to take too long gets seconds; nothing else takes a minute.
        let limits = match mode {
            "hang" => "timeout = 1",
            "deaf" => "start_timeout = 3",
            _ => "timeout = 60\nstart_timeout = 60",
        };
        let desk = desk(mode, limits);
        let ran = desk.recap(&format!("{BENCH} claude-code.jsonl --strategy {mode}.toml"));
        assert_eq!(ran.code, 3, "{mode}: {ran:?}");
        assert_eq!(ran.err.matches("failed: ").count(), 1, "{mode}: {}", ran.err);
        assert!(ran.err.contains(reason), "{mode}: {}", ran.err);
        let command = format!("strategy `{mode}`, `python3 saver_proxy.py {mode} {{port}} ");
        assert!(ran.err.contains(&command), "{mode}: {}", ran.err);
        assert!(ran.out.contains(&format!("cells failed ({mode})")), "{mode}: {}", ran.out);
        let counts = ["full", "id-list", mode].map(|name| requests(&desk, "run", name).len());
        assert_eq!(counts, [6, 6, 0], "{mode}");
        assert_gone(&desk, "pid");
    }
}

#[test]
fn failing_filter_is_one_row_with_its_reason() {
    let desk = Desk::with_sessions();
    let filter = "'filter:cat > /dev/null; echo about the grey heron >&2; exit 3'";
    let ran = desk.recap(&format!("{BENCH} claude-code.jsonl --strategy {filter}"));
    assert_eq!(ran.code, 3, "{ran:?}");
    let reason = "of `toolu_1`: it ended with exit status: 3; its words: about the grey heron";
    assert!(ran.err.contains(reason), "{}", ran.err);
    assert_eq!(requests(&desk, "run", "full").len(), 6);
}

/// A chat in which an agent reads texts of characters of one to four bytes, so that a cut at a
/// number of bytes falls within one sooner or later.
#[cfg(unix)]
fn wide_chat() -> String {
    let mut messages = vec![json!({"role": "user", "content": "read them all"})];
    for size in 0..12 {
        let call = json!({"id": format!("c{size}"), "type": "function",
            "function": {"name": "read", "arguments": json!({"path": format!("{size}.txt")}).to_string()}});
        let line = format!("{}é€𝒳: \"a{size}\"\t日本語 and more words\r\n", "x".repeat(size));
        messages.push(json!({"role": "assistant", "content": "reading", "tool_calls": [call]}));
        let text = line.repeat(if size == 11 { 1_500 } else { 1 + 4 * size });
        messages.push(json!({"role": "tool", "tool_call_id": format!("c{size}"), "content": text}));
    }
    messages.push(json!({"role": "assistant", "content": "done"}));
    json!(messages).to_string()
}

/// Filters as people write them. Each is run where its program is installed.
#[cfg(unix)]
const ORDINARY: [&str; 46] = [
    "head -c 2000",
    "head -c 7",
    "head -n 20",
    "head -n -3",
    "head -c 2000; echo '[cut]'",
    "tail -c 2000",
    "tail -c 7",
    "tail -n 20",
    "grep -v words",
    "grep nothing-like-this",
    "grep -c words",
    "grep -n words",
    "sed -n 1,20p",
    "sed -e 's/words/w/g' -e '/^$/d'",
    "sed 's/.\\{40\\}/&\\n/g'",
    "awk 'NR <= 20'",
    "awk '{print substr($0, 1, 9)}'",
    "awk '{print length($0)}'",
    "cut -c 1-9",
    "cut -b 3-9",
    "cut -d: -f1",
    "fold -w 10",
    "fold -s -w 20",
    "fmt -w 30",
    "tr a-z A-Z",
    "tr -d '\\r'",
    "tr -cd '[:print:]\\n'",
    "tr -s '\\n'",
    "sort",
    "sort -u | head -n 2",
    "uniq",
    "uniq -c",
    "wc -l",
    "cat",
    "cat -n",
    "cat -A",
    "tac",
    "nl",
    "expand -t 4",
    "paste -s -d ' '",
    "pr -t",
    "base64",
    "od -c | head",
    "true",
    "dd bs=7 count=3 2> /dev/null",
    "cat > /dev/null; seq 100000 | head -n 1",
];

#[cfg(unix)]
#[test]
fn ordinary_filters_run_whatever_they_cut() {
    let desk = Desk::new();
    desk.file("chat.json", wide_chat());
    let has = |filter: &&&str| {
        let shell = format!("command -v {}", filter.split(' ').next().unwrap());
        Command::new("sh").args(["-c", &shell]).stdout(Stdio::null()).status().unwrap().success()
    };
    let named: Vec<String> =
        ORDINARY.iter().filter(has).map(|filter| format!("filter:{filter}")).collect();
    assert!(named.len() >= 20, "{named:?}");
    for locale in ["C", "C.UTF-8"] {
        let mut run = vec!["bench", "chat.json", "--cuts", "none", "--wide", "--out", locale];
        run.extend(named.iter().flat_map(|filter| ["--strategy", filter]));
        let ran = desk.recap_with(&[("LC_ALL", locale)], &run);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(!ran.out.contains("stand as recorded"), "{locale}: {}", ran.out);
        for filter in &named {
            assert_eq!(requests(&desk, locale, filter).len(), 13, "{locale}: {filter}");
        }
    }
}

/// Of a filter that fails at a few results the others count, and it is told.
#[cfg(unix)]
#[test]
fn result_stands_where_its_answer_cannot_be_used() {
    let desk = Desk::new();
    desk.file("chat.json", wide_chat());
    desk.file("words", "a grey heron");
    let fails = "filter:case $RECAP_ARGUMENTS in *8.txt*) cat words >&2; exit 3;; \
                 *9.txt*) exit 0;; *) cat;; esac";
    let binary = "filter:case $RECAP_ARGUMENTS in *8.txt*|*9.txt*) printf '\\377';; *) cat;; esac";
    let bench = format!("{BENCH} chat.json");
    let two = ["--wide", "--strategy", fails, "--strategy", binary].map(str::to_owned);
    let ran = desk.good(&[bench.words(), two.to_vec()].concat());
    for told in [
        "1 of 12 results stand as recorded",
        "result of `c8`: it ended with exit status: 3)",
        "1 of 12 results arrive empty",
        "2 of 12 results stand as recorded",
        "result of `c8`: its answer is not UTF-8)",
    ] {
        assert!(flat(&ran.out).contains(told), "{told}: {}", ran.out);
    }
    assert!(!ran.out.contains("heron"), "its words may quote the conversation");
    let (own, full) = (requests(&desk, "run", binary), requests(&desk, "run", "full"));
    assert!(own.iter().zip(&full).all(|(own, full)| own["tokens_sent"] == full["tokens_sent"]));
    // Where it fails at most of them, it measures nothing.
    let most = "filter:case $RECAP_ARGUMENTS in *1.txt*) cat;; *) echo heron >&2; exit 3;; esac";
    let ran = desk.recap(&format!("{bench} --strategy \"{most}\""));
    assert_eq!(ran.code, 3, "{ran:?}");
    let reason = "result of `c0`: it ended with exit status: 3; its words: heron";
    assert!(ran.err.contains(reason), "{}", ran.err);
}

/// `filter:COMMAND` replaces a result from the request on that sends it first.
#[test]
fn filter_sees_each_result_with_its_call() {
    let desk = Desk::new();
    let shell = "cat >> results; printf '%s|%s' \"$RECAP_TOOL\" \"$RECAP_COMMAND\" | tee -a calls";
    let filter = format!("filter:{shell}");
    let run = ["bench", &session(), "--strategy", &filter, "--cuts", "none", "--out", "run"];
    desk.good(&run);
    let (mut results, mut calls, mut asked) = (String::new(), String::new(), BTreeMap::new());
    for block in recorded().into_iter().flatten() {
        match block["type"].as_str() {
            Some("tool_call") => {
                let command = block["arguments"]["command"].as_str().unwrap_or_default();
                let call = format!("{}|{command}", block["name"].as_str().unwrap());
                asked.insert(block["id"].to_string(), call);
            }
            Some("tool_result") => {
                results += block["text"].as_str().unwrap();
                calls += &asked[&block["call"].to_string()];
            }
            _ => {}
        }
    }
    assert_eq!(desk.read("results"), results, "each result once, as recorded, in order");
    assert_eq!(desk.read("calls"), calls);
    let (own, full) = (requests(&desk, "run", &filter), requests(&desk, "run", "full"));
    assert_eq!(own[0], full[0], "before any result");
    let tokens = |row: &Row| row["tokens_sent"].parse::<u64>().unwrap();
    assert!(own.iter().zip(&full).skip(1).all(|(own, full)| tokens(own) < tokens(full)));
}

#[test]
fn process_that_saver_started_is_ended_with_it() {
    let desk = desk("child", "");
    assert_nothing_changes(&desk, "claude-code.jsonl", &["child.toml"]);
    assert_gone(&desk, "pid");
    assert_gone(&desk, "child");
}

#[test]
fn no_key_or_home_reaches_saver() {
    let desk = desk("copy", "environment = {OWN_TOKEN = \"{port} {upstream}\"}");
    desk.file("home/.config", "");
    let home = desk.path("home").display().to_string();
    let variables = [
        ("ANTHROPIC_API_KEY", "sk-canary-4471"),
        ("MY_SECRET", "canary-4471"),
        ("my_password", "canary-4471"),
        ("DB_PASS", "canary-4471"),
        ("MYSQL_PWD", "canary-4471"),
        ("XDG_CONFIG_HOME", &home),
        ("HOME", &home),
        ("HARMLESS", "seen"),
    ];
    let run = format!("{BENCH} claude-code.jsonl --strategy copy.toml --quiet");
    let ran = desk.recap_with(&variables, &run);
    assert_eq!(ran.code, 0, "{ran:?}");
    let seen = desk.json("environment");
    for (name, _) in &variables[..6] {
        assert!(seen.get(name).is_none(), "{name}");
    }
    assert_eq!(seen["HARMLESS"], "seen");
    assert!(seen["OWN_TOKEN"].as_str().unwrap().contains(" http://127.0.0.1:"), "{seen}");
    assert!(!seen["HOME"].as_str().unwrap().is_empty() && seen["HOME"] != home.as_str());
    let headers = desk.json("headers");
    assert_eq!(headers["x-api-key"], "placeholder");
    assert_eq!(headers["authorization"], "Bearer placeholder");
    let secrets = [seen.to_string(), headers.to_string()].concat();
    assert!(!secrets.contains("canary"), "{secrets}");
}

/// A proxy that a test started itself. It ends with the value.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Such a proxy sends everything to the port at which the provider stands.
#[test]
fn running_proxy_is_asked_by_its_address() {
    let desk = desk("copy", "");
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (port, upstream) = (free.to_string(), "http://127.0.0.1:9797");
    let mut command = Command::new("python3");
    command.args(["saver_proxy.py", "copy", &port, upstream]).current_dir(desk.path("."));
    let _proxy = Started(command.stdout(Stdio::null()).spawn().unwrap());
    let address = format!("proxy:http://127.0.0.1:{port}");
    assert_nothing_changes(&desk, "claude-code.jsonl", &[&address]);
    assert!(desk.path("headers").is_file(), "the requests passed it");
    let shown = |name: &str| desk.good(&["strategies", "show", name]).out;
    assert!(!shown(&address).contains("with your rights"));
    assert!(shown("copy.toml").contains("runs `python3 saver_proxy.py copy "));
    assert!(shown("filter:cat").contains("runs `sh -c cat` in "));
    let error = desk.refused("bench pi.jsonl --strategy proxy:http://example.com");
    assert!(error.contains("`http://example.com` is not on this machine"), "{error}");
}

/// What a saver removes is lost at cuts, unless its own tool brings it back.
#[test]
fn facts_that_saver_removed_are_lost_or_recovered() {
    let tool =
        "recovery = {handle = 'original (\\d+)', path = \"/original/{handle}\", text = \"/text\"}";
    let desk = desk("keep", tool);
    let plain = proxy("keep", "").replacen("name = \"keep\"", "name = \"plain\"", 1);
    desk.file("plain.toml", plain);
    let windows = "--window 25% --window 50%";
    let bench = "bench SESSION --questions none --quiet --out run --strategy keep.toml,plain.toml";
    desk.good(&format!("{bench} {windows}"));
    assert_eq!(desk.read("starts"), "keep\nkeep\n", "once each, for all cuts and windows");
    let sum = |strategy: &str, column: &str| -> u32 {
        let own = desk.rows("run/cuts.csv", &[&format!("strategy={strategy}")]);
        own.iter().map(|row| row[column].parse::<u32>().unwrap()).sum()
    };
    for column in ["facts", "verbatim", "partial"] {
        assert_eq!(sum("keep", column), sum("plain", column), "{column}");
    }
    let lost = sum("plain", "lost");
    assert!(lost > 0);
    assert_eq!((sum("plain", "recovered"), sum("full", "lost")), (0, 0));
    assert_eq!((sum("keep", "lost"), sum("keep", "recovered")), (0, lost));
}

/// What a saver says it saved is read from a path of its own or from a command's output.
#[test]
fn claimed_savings_are_read_or_their_absence_told() {
    let report = |from: &str, tokens: &str| format!("report = {{{from}, tokens = \"{tokens}\"}}");
    let (path, command) = ("path = \"/stats\"", "command = [\"echo\", '{\"own\": 34.5}']");
    let cases = [
        (report(path, "/saved/tokens"), Ok("\"claimed_tokens\":12")),
        (report(command, "/own"), Ok("\"claimed_tokens\":34")),
        (report(path, "/lost"), Err("its report has no number at `/lost`")),
        (report("path = \"/\"", "/own"), Err("its report is not JSON: ")),
        (
            report("command = [\"sh\", \"-c\", \"exit 3\"]", "/own"),
            Err("ended with exit status: 3"),
        ),
    ];
    for (keys, expected) in cases {
        let desk = desk("copy", &keys);
        let ran = desk.recap(&format!("{BENCH} claude-code.jsonl --strategy copy.toml"));
        match expected {
            Ok(claimed) => assert!(desk.read("run/cells.jsonl").contains(claimed), "{keys}"),
            Err(reason) => assert!(ran.err.contains(reason), "{keys}: {}", ran.err),
        }
        assert_eq!(ran.code, if expected.is_ok() { 0 } else { 3 }, "{keys}: {ran:?}");
    }
}

#[test]
fn redacted_text_reaches_saver_and_real_text_returns() {
    let secret = format!("ghp_{}", "a1B2c3D4".repeat(5));
    let call = json!({"id": "c1", "type": "function",
        "function": {"name": "shell", "arguments": "{\"command\": \"env\"}"}});
    let messages = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Which token is set?"},
        {"role": "assistant", "content": null, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": format!("GITHUB_TOKEN={secret}\nHOME=/root")},
        {"role": "assistant", "content": "One is set."},
    ]);
    let desk = Desk::with_sessions();
    desk.file("chat.json", json!({"model": "gpt-4.1", "messages": messages}).to_string());
    let copying = format!("filter:tee {}", desk.path("seen").display());
    let heading = format!("filter:tee {} | head -n 1", desk.path("seen").display());
    let bench = |strategy: &str, redact: &str, out: &str| {
        let run = "bench chat.json --cuts none --questions none";
        desk.good(&format!("{run} --strategy '{strategy}' --redact {redact} --out {out}"));
        desk.read("seen")
    };
    assert!(bench(&copying, "no", "plain").contains(&secret));
    let seen = bench(&copying, "yes", "same");
    assert!(!seen.contains(&secret) && seen.contains("GITHUB_TOKEN="), "{seen}");
    assert_eq!(requests(&desk, "same", &copying), requests(&desk, "same", "full"));
    // What is left of the result is counted with the secret itself.
    bench(&heading, "no", "plain-head");
    bench(&heading, "yes", "head");
    assert_eq!(requests(&desk, "head", &heading), requests(&desk, "plain-head", &heading));
    assert_ne!(requests(&desk, "head", &heading), requests(&desk, "head", "full"));
}

/// A command may hold what separates strategies elsewhere.
#[test]
fn filter_with_comma_is_one_strategy() {
    let desk = Desk::with_sessions();
    let named = "--strategy 'prune,filter:sed -n 1,1p' --strategy fifo,filter:cat";
    desk.good(&format!("{BENCH} claude-code.jsonl {named}"));
    for name in ["prune", "fifo", "filter:sed -n 1,1p", "filter:cat"] {
        assert_eq!(requests(&desk, "run", name).len(), 6, "{name}");
    }
}
