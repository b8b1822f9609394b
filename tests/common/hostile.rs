//! Words that a stranger may put into a recording, a question, a tool's name or
//! a file's: nothing of them may run, be obeyed or break a format anywhere.
#![allow(dead_code, reason = "each suite uses its part")]

use std::path::Path;

use serde_json::{Value as Json, json};

/// What each of them tries, and the words. Scripts would set `window.pwned`.
pub const CORPUS: &[(&str, &str)] = &[
    ("script", "<script>window.pwned=1;alert(1)</script>"),
    ("script end", "</script><script>window.pwned=1</script>"),
    ("script in a script", "<!--<script>window.pwned=1//-->"),
    ("comment", "<!-- --!> --> <!>"),
    ("handler", "\"><img src=x onerror=\"window.pwned=1\">"),
    ("handler in quotes", "' onmouseover='window.pwned=1' autofocus onfocus='window.pwned=1"),
    ("handler of details", "<details open ontoggle=window.pwned=1>"),
    ("svg", "<svg><script>window.pwned=1</script><animate onbegin=window.pwned=1>"),
    ("svg title", "</title></svg><svg onload=window.pwned=1>"),
    ("mathml", "<math><mtext></mtext><a xlink:href=\"javascript:window.pwned=1\">x</a></math>"),
    ("nested namespaces", "<math><mi><table><mglyph><style><img src onerror=window.pwned=1>"),
    ("frame", "<iframe srcdoc=\"<script>parent.pwned=1</script>\"></iframe>"),
    ("object", "<object data=\"data:text/html,<script>window.pwned=1</script>\"></object>"),
    ("script URL", "javascript:window.pwned=1//"),
    ("link in Markdown", "[x](javascript:window.pwned=1) ![x](http://127.0.0.1:9/pixel)"),
    (
        "refresh",
        "<meta http-equiv=refresh content=\"0;url=/gone\"><base href=\"http://127.0.0.1:9/\">",
    ),
    ("form", "<form action=\"/gone\"><button formaction=\"javascript:window.pwned=1\">"),
    (
        "template braces",
        "{{ 7*7 }} {% raw %} ${7*7} <%= 7*7 %> #{7*7} {{constructor.constructor('window.pwned=1')()}}",
    ),
    ("style", "</style><style>*{background:url(http://127.0.0.1:9/css)}</style>"),
    ("style value", "red;background:url(/css);} body{display:none"),
    ("entities", "&lt;script&gt; &#60; &amp;lt; &#x3c; &quot; &nbsp &unknown;"),
    (
        "CDATA end",
        "]]> <![CDATA[ <?xml version=\"1.0\"?> <!DOCTYPE x [<!ENTITY e SYSTEM \"file:///etc/passwd\">]> &e;",
    ),
    ("control sequence", "\u{1b}[31mred\u{1b}[0m\u{1b}[2J\u{1b}[1;1H"),
    ("title of the terminal", "\u{1b}]0;owned\u{7}"),
    ("link of the terminal", "\u{1b}]8;;http://127.0.0.1:9/\u{1b}\\click\u{1b}]8;;\u{1b}\\"),
    ("device control", "\u{1b}P1$r0m\u{1b}\\ \u{9b}31m \u{90}q\u{9c}"),
    ("bells and backspaces", "a\u{8}\u{8}b\u{7}\u{7f}\rover"),
    ("zero", "before\u{0}after"),
    ("direction", "\u{202e}gnp.exe\u{202c} \u{2066}x\u{2069} \u{200f}y\u{200e} \u{61c}"),
    ("no width", "a\u{200b}b\u{200c}c\u{200d}d\u{2060}e\u{feff}f"),
    (
        "combining marks",
        "Z\u{351}\u{36b}\u{343}\u{36a}\u{302}\u{36b}\u{33d}\u{34f}\u{334}\u{319}\u{324}a\u{34e}\u{36f}",
    ),
    ("line separators", "one\u{2028}two\u{2029}three\u{85}four\u{b}five\u{c}six"),
    ("noncharacters", "\u{fffe} \u{ffff} \u{fdd0} \u{10ffff}"),
    ("formula", "=cmd|'/c calc'!A1"),
    ("formula by plus", "+1+cmd|'/c calc'!A1"),
    ("formula by minus", "-2+3+cmd|'/c calc'!A1"),
    ("formula by at", "@SUM(1+1)*cmd|'/c calc'!A1"),
    ("formula behind a tab", "\t=1+1"),
    ("formula behind a return", "\r=1+1"),
    ("formula that is quoted", "\"=1+1\",\"=2\"\n=3,4;5\t6"),
    ("table of Markdown", "| a | b |\n|---|---|\n```\n~~~\n# heading\n> quote\n- [ ] task\n***"),
    ("mention", "@octocat #1 https://127.0.0.1:9/ <https://127.0.0.1:9/> GH-1"),
    ("workflow command", "::error file=a,line=1::owned\n::set-output name=x::y\n%0A::add-mask::z"),
    ("escapes of JSON", "\\u003cscript\\u003e \\\" \\\\ \\/ \\ud800"),
    ("path", "../../../../etc/passwd C:\\Windows\\System32 //host/share ~/.ssh/id_rsa"),
    ("shell", "$(touch pwned) `touch pwned` ; touch pwned | touch pwned && touch pwned"),
];

/// Everything in one text, with a word that no line can hold.
pub fn all() -> String {
    let texts: Vec<&str> = CORPUS.iter().map(|(_, text)| *text).collect();
    format!("{} {}", texts.join("\n"), "x".repeat(3_000))
}

/// Where the formulas begin, with which ids of questions begin too.
const FORMULAS: usize = 33;

/// A text by what it tries.
pub fn named(name: &str) -> &'static str {
    CORPUS.iter().find(|(other, _)| *other == name).expect("it is in the corpus").1
}

/// The n-th text, from the beginning again after the last.
fn nth(n: usize) -> &'static str {
    CORPUS[n % CORPUS.len()].1
}

/// Writes a native data set of one session whose every free text is hostile.
pub fn dataset(folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    let quoted = |text: &str| serde_json::to_string(text).unwrap();
    // Of TOML's basic strings JSON's are a part, but for these characters.
    let toml = |text: &str| quoted(text).replace('\u{7f}', "\\u007f");
    let head = format!(
        "name = {}\nversion = \"1\"\nlicence = {}\norigin = {}\ndescription = {}\n",
        toml(named("script")),
        toml(named("script end")),
        toml(named("handler")),
        toml(named("formula")),
    );
    std::fs::write(folder.join("dataset.toml"), head).unwrap();
    std::fs::write(folder.join("sessions.jsonl"), format!("{}\n", session())).unwrap();
    let questions: String = (0..12).map(|n| format!("{}\n", question(n))).collect();
    std::fs::write(folder.join("questions.jsonl"), questions).unwrap();
}

/// Id of the session.
fn id() -> String {
    format!("{}{}", named("script end"), named("formula"))
}

fn session() -> Json {
    let mut messages = Vec::new();
    let mut say = |role: &str, blocks: Json| {
        let n = messages.len();
        messages.push(json!({"id": format!("{}{n}", nth(n)), "role": role, "blocks": blocks}));
    };
    for turn in 0..CORPUS.len() {
        let text = format!("{} handle_{turn}_9931 /srv/x_{turn}/{turn}.rs {}", nth(turn), all());
        let call = format!("={turn}<b>");
        say("user", json!([{"type": "text", "text": text}]));
        say(
            "assistant",
            json!([
                {"type": "text", "text": format!("{} on it: handle_{turn}_9931", nth(turn + 1))},
                {"type": "tool_call", "id": call, "name": nth(turn + 2), "arguments": {"=x": nth(turn + 3)}},
            ]),
        );
        say("tool", json!([{"type": "tool_result", "call": call, "text": nth(turn + 4)}]));
        say(
            "assistant",
            json!([{"type": "text", "text": format!("{} done, see handle_{}_9931", nth(turn + 5), turn / 2)}]),
        );
    }
    json!({
        "id": id(),
        "project": named("script in a script"),
        "system": [all()],
        "messages": messages,
    })
}

fn question(n: usize) -> Json {
    let evidence = n * 8;
    json!({
        "id": format!("{}{n}", nth(n + FORMULAS)),
        "session": id(),
        "asked_at": CORPUS.len() * 4 - 1,
        "kind": "fact",
        "question": format!("{} which handle_{}? {}", nth(n), n * 2, all()),
        "expect": {"any_of": [nth(n + 7), format!("handle_{}_9931", n * 2)]},
        "evidence": [format!("{}{evidence}", nth(evidence))],
        "stale": [nth(n + 9)],
    })
}

/// A strategy file whose words are hostile; its name has to be plain.
pub fn strategy() -> String {
    let quoted = serde_json::to_string(named("handler")).unwrap();
    format!(
        "version = 1\nname = \"mine\"\nsummary = {quoted}\nsource = {quoted}\n\n[[stage]]\n\
         mechanism = \"sliding-window\"\nat = \"request\"\nwhen = \"always\"\nlast = 9\n"
    )
}

/// Its file name, as hostile as a file system allows.
pub const STRATEGY_FILE: &str = "=cmd()<img src=x onerror=window.pwned=1>.toml";
