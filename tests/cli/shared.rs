//! `--no-text`: what is shared tells no secret, no path and nobody's name.

use std::collections::BTreeSet;

use serde_json::json;

use crate::desk::Desk;

/// Letters and digits as tokens have them.
fn random(length: usize) -> String {
    "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0z".chars().cycle().take(length).collect()
}

/// What a session must not tell, each with the words in which it is first said.
fn planted() -> Vec<(String, String)> {
    let token = |prefix: &str, length: usize| format!("{prefix}{}", random(length));
    let actual = |text: &str, value: String| (text.replace("{}", &value), value);
    vec![
        actual("the key is {}", token("ghp_", 36)),
        actual("we have {}", token("sk-proj-", 60)),
        actual("use {}", ["AKIA", "IOSFODNN7EXAMPL2"].concat()),
        actual("bot {}", format!("123456789:AA{}", random(33))),
        actual("doppler {}", token("dp.pt.", 43)),
        actual("hook {}", token("hooks.slack.com/services/", 44)),
        actual("DB_PASS={}", "tiger-9x7-lily".into()),
        actual("export API_KEY='{}'", "a1b2c3d4e5f6a7".into()),
        actual("curl -u ada:{} https://x.org", "rosebud77lane".into()),
        actual("mysql -uroot -p{} shop", "Gr4nite_hall9".into()),
        actual("machine x.org login ada password {}", "qu4rtz-mill-3".into()),
        actual("the password is {}", "w1llow!brook5".into()),
        actual("Cookie: session={}", "5f2e9c1ab7d340".into()),
        actual("postgres://app:{}@db.internal:5432/x", "c0pper-pine-22".into()),
        actual("Authorization: Bearer {}", "9d8c7b6a5f4e3d2c1b0a".into()),
        // Nobody can know these for secrets by what they look like.
        actual("remember {}", "horse_battery_staple_9931".into()),
        actual("remember {}", "violet_harbour_4412".into()),
        actual("write to {}", "ada.lovelace@analytical.example".into()),
        actual("write to {}", "jörg@bücher.example".into()),
        actual("it lies in {}", "/home/adalove/acme-rocket/src/fuel.rs".into()),
        actual("it lies in {}", "/Users/adalove/acme-rocket/keys/prod.pem".into()),
        actual("it lies in {}", "/srv/acme-rocket/releases/41/boot.cfg".into()),
        actual("it lies in {}", "acme_rocket/telemetry/uplink_7.py".into()),
        actual("it lies in {}", "~/acme-rocket/notes_14.md".into()),
        actual(r"it lies in {}", r"C:\Users\adalove\rocket\run_3.bat".into()),
        actual("see {}", "https://git.acme-rocket.example/fuel/issues/88213".into()),
    ]
}

/// Writes a data set of one session in which the agent uses each of them long
/// after it was told, and whose own names tell who worked where.
fn data(desk: &Desk) {
    let planted = planted();
    let filler = "We look at the plan and go on with the work at hand. ".repeat(40);
    let text = |text: &str| json!({"type": "text", "text": text});
    let mut messages = Vec::new();
    for turn in 0..planted.len() * 2 {
        let actual = planted.get(turn).map_or("go on", |(actual, _)| actual.as_str());
        let used = turn.checked_sub(planted.len()).map(|at| planted[at].1.clone());
        let call = json!({"type": "tool_call", "id": format!("c{turn}"), "name": "run",
            "arguments": {"with": used.unwrap_or_else(|| "nothing".into())}});
        let result = json!({"type": "tool_result", "call": format!("c{turn}"), "text": filler});
        for (role, blocks) in [
            ("user", vec![text(actual)]),
            ("assistant", vec![text("on it"), call]),
            ("tool", vec![result]),
            ("assistant", vec![text("done")]),
        ] {
            let id = format!("{turn}-{}", messages.len());
            messages.push(json!({"id": id, "role": role, "blocks": blocks}));
        }
    }
    let session = json!({"id": "-home-adalove-acme", "project": "/home/adalove/acme-rocket",
        "messages": messages});
    desk.data_set("-home-adalove-acme", &session, &[]);
}

const BENCH: &str = "bench ./-home-adalove-acme --window 8k --strategy prune --out";

/// What of it stands in a run folder, by what was planted.
fn left(desk: &Desk, run: &str) -> Vec<String> {
    let files: Vec<String> =
        desk.list(run).iter().map(|name| desk.read(&format!("{run}/{name}"))).collect();
    let escaped = |value: &str| serde_json::to_string(value).unwrap().trim_matches('"').to_owned();
    let mut values: Vec<String> = planted().into_iter().map(|(_, value)| value).collect();
    values.push("adalove".into());
    values.retain(|v| files.iter().any(|file| file.contains(v) || file.contains(&escaped(v))));
    values
}

#[test]
fn shared_output_reveals_no_secret_path_or_name() {
    let desk = Desk::new();
    data(&desk);
    desk.good(&format!("{BENCH} worded"));
    std::fs::remove_file(desk.path("worded/texts.jsonl")).unwrap();
    let actual = left(&desk, "worded");
    assert!(actual.len() >= 16, "the session shows too little: {actual:?}");
    let ran = desk.good(&format!("{BENCH} run --no-text"));
    assert_eq!(left(&desk, "run"), [""; 0]);
    assert!(!ran.out.contains("adalove"), "{}", ran.out);
    let (bare, worded) = (desk.csv("run/references.csv"), desk.csv("worded/references.csv"));
    assert!(bare.len() == worded.len() && bare.len() >= 16);
    for (bare, worded) in bare.iter().zip(&worded) {
        let (class, hash) = bare["reference"].rsplit_once('-').unwrap();
        assert_eq!(class, bare["class"]);
        assert!(hash.len() == 8 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()), "{hash}");
        assert_eq!((&bare["state"], &bare["request"]), (&worded["state"], &worded["request"]));
    }
    // A run knows itself again, with its words or without.
    let same = desk.json("run/baseline.json")["sessions"][0]["content"].clone();
    assert_eq!(same, desk.json("worded/baseline.json")["sessions"][0]["content"]);
}

/// Every hash that a run without text would have of a text that can be guessed.
fn guessed(texts: impl Iterator<Item = String>) -> BTreeSet<String> {
    texts.map(|text| blake3::hash(text.as_bytes()).to_hex()[..32].to_owned()).collect()
}

#[test]
fn short_result_is_not_guessed_from_hash() {
    let desk = Desk::new();
    let call = json!({"id": "c", "type": "function",
        "function": {"name": "bash", "arguments": "{\"command\":\"cat code\"}"}});
    let mut messages = vec![
        json!({"role": "user", "content": "Read the door code from the safe"}),
        json!({"role": "assistant", "content": "", "tool_calls": [call]}),
        json!({"role": "tool", "tool_call_id": "c", "content": "839274"}),
    ];
    messages.extend((0..18).map(|step| {
        let role = if step % 2 == 0 { "assistant" } else { "user" };
        json!({"role": role, "content": format!("step {step} src/a{}.rs", step / 2)})
    }));
    desk.file("safe.json", json!(messages).to_string());
    let hashes = guessed((839_000..840_000).map(|code| code.to_string()));
    let hits = |run: &str| {
        let files = ["cells.jsonl", "summary.json", "report.html", "requests.csv"];
        let text: String = files.iter().map(|file| desk.read(&format!("{run}/{file}"))).collect();
        let words = text.split(|c: char| !c.is_ascii_hexdigit());
        words.filter(|word| hashes.contains(*word)).count()
    };
    let bench = "bench safe.json --strategy fifo --out";
    desk.good(&format!("{bench} worded"));
    assert!(hits("worded") > 0, "a run with text has the hash");
    desk.good(&format!("{bench} run --no-text"));
    assert_eq!(hits("run"), 0);
    // The hashes are the same in the next run over the same session.
    desk.good(&format!("{bench} again --no-text"));
    assert_eq!(desk.read("run/cells.jsonl"), desk.read("again/cells.jsonl"));
}

#[test]
fn a_run_is_rendered_for_sharing_afterwards() {
    let desk = Desk::new();
    data(&desk);
    desk.good(&format!("{BENCH} run"));
    desk.good(&["report", "run", "--no-text"]);
    // What the run kept for itself stays.
    for name in ["cells.jsonl", "times.jsonl", "texts.jsonl", "manifest.json"] {
        std::fs::remove_file(desk.path(&format!("run/{name}"))).unwrap();
    }
    assert_eq!(left(&desk, "run"), [""; 0]);
}
