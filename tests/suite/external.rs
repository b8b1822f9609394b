//! Strategies of the user's own, as programs: what they may say, what becomes
//! of it, and that nothing they do wrong reaches past their cell.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::common::{call, ledger, message, offline, plan, prepared, result, sent, small, text};
use recap_core::model::{CellOutcome, CellRows, Role, Session};
use recap_replay::{ReplaySession, replay};
use recap_strategy::Strategy;
use serde_json::Value as Json;
use tempfile::TempDir;

/// What the programs of these tests share: `talk(f)` answers each `compact`
/// with `f(message)`, and `keep(*ids)` is an answer that keeps these.
const PRELUDE: &str = r#"
import json, os, signal, subprocess, sys, time

def say(answer):
    print(json.dumps(answer), flush=True)

def keep(*ids):
    return {"type": "context", "messages": [i if isinstance(i, dict) else {"id": i} for i in ids]}

def talk(compact):
    for line in sys.stdin:
        m = json.loads(line)
        if m["type"] == "open":
            say({"type": "ready"})
        elif m["type"] == "compact":
            say(compact(m))
        else:
            break
"#;

/// A folder with a program, and the strategy that names it.
struct Folder(TempDir);

impl Folder {
    /// At every request but the first two of [`small`], when more than four
    /// messages would be sent.
    fn new(program: &str) -> Self {
        Self::with(program, "at = \"request\"\nwhen = { messages = 4 }\n")
    }

    fn with(program: &str, stage: &str) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.write("program.py", &format!("{PRELUDE}\n{program}\n"));
        folder.write("mine.toml", &strategy("[\"python3\", \"program.py\"]", stage));
        folder
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.path().join(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.path().join(name)).unwrap()
    }

    fn strategy(&self) -> Strategy {
        Strategy::load(&self.0.path().join("mine.toml"), &[]).unwrap()
    }

    fn outcome(&self, session: Session) -> CellOutcome {
        let (prepared, plan) = (prepared(session), plan(self.strategy(), 1_000));
        go(replay(&prepared, &plan, &offline())).cell.outcome
    }

    #[track_caller]
    fn rows(&self, session: Session) -> CellRows {
        match self.outcome(session) {
            CellOutcome::Done(rows) => *rows,
            CellOutcome::Failed { error } => panic!("{error}"),
        }
    }

    #[track_caller]
    fn error(&self) -> String {
        match self.outcome(small()) {
            CellOutcome::Failed { error } => error,
            CellOutcome::Done(rows) => panic!("it ran through: {:?}", rows.compactions),
        }
    }

    /// Ledger, and what is sent, at a request of [`small`].
    #[track_caller]
    fn at(&self, request: u32) -> (String, Vec<(String, String)>) {
        let (prepared, plan, compactor) =
            (prepared(small()), plan(self.strategy(), 1_000), offline());
        let mut session = ReplaySession::open(&prepared, &plan, &compactor).unwrap();
        go(async {
            session.run_to_request(request).await.unwrap();
            session.close().await;
        });
        (ledger(&session), sent(&session))
    }
}

fn strategy(command: &str, stage: &str) -> String {
    format!(
        "version = 1\nname = \"mine\"\nsummary = \"\"\nsource = \"\"\n\
         [[stage]]\nmechanism = \"command\"\ncommand = {command}\n{stage}"
    )
}

/// Runs on a runtime with time and I/O, as the program does.
fn go<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

#[track_caller]
fn assert_says(error: &str, parts: &[&str]) {
    for part in parts {
        assert!(error.contains(part), "`{part}` is missing in\n{error}");
    }
}

#[test]
fn program_is_sent_context_and_its_new_messages() {
    let folder = Folder::new(
        "log = open('log', 'w')\n\
         def compact(m):\n    log.write(json.dumps(m) + '\\n'); log.flush()\n    \
         return keep(*m['context'])\ntalk(compact)",
    );
    folder.rows(small());
    let log = folder.read("log");
    let actual: Vec<Json> = log.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let names = |m: &Json| -> Vec<String> {
        let ids = m["messages"].as_array().unwrap().iter().map(|m| m["id"].as_str().unwrap());
        ids.map(str::to_owned).collect()
    };
    assert_eq!(actual[0]["context"], serde_json::json!(["m0", "m1", "m2", "m3", "m4"]));
    assert_eq!(names(&actual[0]), ["m0", "m1", "m2", "m3", "m4"]);
    assert_eq!(names(&actual[1]), ["m5", "m6", "m7"]);
    assert_eq!(names(&actual[2]), ["m8", "m9"]);
    assert_eq!(actual[2]["call"], 3);
    assert_eq!(actual[0]["cause"], "over 4 messages");
    assert_eq!((&actual[0]["target"], &actual[0]["window"]), (&1_000.into(), &1_000.into()));
    let made = &actual[0]["messages"][1];
    assert_eq!(made["calls"][0]["tool"], "read");
    assert_eq!(made["calls"][0]["arguments"]["path"], "x");
    let answered = &actual[0]["messages"][2];
    assert_eq!(answered["role"], "tool");
    assert_eq!(answered["result_of"], serde_json::json!({"id": "A", "tool": "read"}));
    assert_eq!(answered["tokens"], 100);
}

#[test]
fn usage_becomes_model_calls_and_notices_are_kept() {
    let folder = Folder::new(
        "def compact(m):\n    answer = keep(*m['context'][-1:]) if m['call'] == 1 else keep(*m['context'])\n    \
         if m['call'] == 1:\n        answer['usage'] = [{'input': 900, 'output': 80, 'latency_ms': 1200}, {'input': 100, 'output': 8, 'latency_ms': 300}]\n        \
         answer['notice'] = 'summarised'\n    return answer\ntalk(compact)",
    );
    let rows = folder.rows(small());
    assert_eq!(rows.compactions.len(), 1, "what changes nothing is no compaction");
    let row = &rows.compactions[0];
    assert_eq!((row.model_calls, row.input_tokens, row.output_tokens), (2, 1_000, 88));
    assert_eq!(row.latency_ms, Some(1_500.0));
    assert_eq!(rows.notices, ["summarised"]);
    let free = Folder::new("talk(lambda m: keep(*m['context'][-1:]))").rows(small());
    assert_eq!((free.compactions[0].model_calls, free.compactions[0].latency_ms), (0, None));
}

/// The programs of `tests/fixtures/programs.txt`: a title (`#`), the lines of one (`|`) or its
/// answer to the first call, which sees the messages 0 to 4, and what becomes of it: an error that
/// says this (`>`), or what became of the messages (`=`) and how what is sent begins (`+`), before
/// the third request or at the one that is named.
#[test]
fn each_program_ends_as_it_should() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/programs.txt");
    for case in fs::read_to_string(path).unwrap().split("\n\n") {
        let (title, lines) = case.split_once('\n').unwrap();
        let of = |mark: &str| -> Vec<&str> {
            lines.lines().filter_map(|line| line.strip_prefix(mark)).collect()
        };
        let program = match of("answer ")[..] {
            [answer] => {
                format!("talk(lambda m: {answer} if m['call'] == 1 else keep(*m['context']))")
            }
            _ => of("| ").join("\n"),
        };
        let timeouts: String =
            of("timeouts ").iter().map(|own| format!("timeouts = {own}\n")).collect();
        let stage = format!("at = \"request\"\nwhen = {{ messages = 4 }}\n{timeouts}");
        let folder = Folder::with(&program, &stage);
        let parts = of("> ");
        if !parts.is_empty() {
            let error = folder.error();
            assert!(error.contains("strategy "), "{title}: {error}");
            assert_says(&error, &parts);
            continue;
        }
        let (ledger, all) = folder.at(of("at ").first().map_or(2, |at| at.parse().unwrap()));
        assert_eq!(of("= "), [ledger], "{title}");
        // An entry is named by its number and role, a note by its key.
        let said = all.iter().map(|(by, text)| [by.rsplit(' ').next().unwrap(), text].join(" "));
        let begins = of("+ ");
        assert!(begins.len() < 2 || begins.len() == all.len(), "{title}: {all:?}");
        for (said, begin) in said.zip(begins) {
            assert!(said.starts_with(begin), "{title}: {said}");
        }
    }
}

#[test]
fn a_program_that_cannot_be_started_is_named() {
    let folder = Folder::new("");
    let stage = "at = \"request\"\nwhen = \"always\"\n";
    folder.write("mine.toml", &strategy("[\"no-such-program-at-all\"]", stage));
    let parts = ["at its start", "`no-such-program-at-all` cannot be started", "PATH"];
    assert_says(&folder.error(), &parts);
    folder.write("mine.toml", &strategy("[\"./program.py\"]", stage));
    assert_says(&folder.error(), &["`./program.py` cannot be started", "ermission denied"]);
}

// Nothing is left behind.

/// Whether a process is there and no zombie.
fn lives(pid: &str) -> bool {
    let out = std::process::Command::new("ps").args(["-o", "stat=", "-p", pid]).output().unwrap();
    let state = String::from_utf8(out.stdout).unwrap();
    !state.trim().is_empty() && !state.trim().starts_with('Z')
}

/// A program that starts a child which holds none of its pipes, and says who they are.
const PARENT: &str = "\
    child = subprocess.Popen(['sleep', '600'], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n\
    open('pids', 'a').write('%d\\n%d\\n' % (os.getpid(), child.pid))\n";

#[track_caller]
fn assert_gone(folder: &Folder) {
    let pids = folder.read("pids");
    let left = || pids.lines().filter(|pid| lives(pid)).count();
    for _ in 0..50 {
        if left() == 0 {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{} of {} processes live", left(), pids.lines().count());
}

/// Until the processes of [`PARENT`] have said who they are.
async fn started(folder: &Folder) {
    let path = folder.0.path().join("pids");
    while fs::read_to_string(&path).map_or(0, |pids| pids.lines().count()) < 2 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[test]
fn no_process_is_left_whatever_happens() {
    for end in [
        "talk(lambda m: keep(*m['context']))",
        "talk(lambda m: keep(*m['context']))\ntime.sleep(600)",
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\ntalk(lambda m: time.sleep(600))",
        "talk(lambda m: sys.exit(3))",
        "talk(lambda m: {})",
        "talk(lambda m: keep('m0', 'm1'))",
    ] {
        let stage = "at = \"request\"\nwhen = { messages = 4 }\ntimeouts = { call = 2 }\n";
        let folder = Folder::with(&format!("{PARENT}{end}"), stage);
        folder.outcome(small());
        assert_gone(&folder);
    }
}

#[test]
fn dropped_or_interrupted_session_leaves_no_process() {
    let folder = Folder::new(&format!("{PARENT}talk(lambda m: keep(*m['context']))"));
    let (subject_, plan_, compactor) =
        (prepared(small()), plan(folder.strategy(), 1_000), offline());
    go(async {
        let mut session = ReplaySession::open(&subject_, &plan_, &compactor).unwrap();
        session.run_to_request(3).await.unwrap();
    });
    assert_gone(&folder);
    let folder = Folder::new(&format!("{PARENT}talk(lambda m: time.sleep(600))"));
    let plan_ = plan(folder.strategy(), 1_000);
    go(async {
        tokio::select! {
            _ = replay(&subject_, &plan_, &compactor) => panic!("the program never answers"),
            () = started(&folder) => {}
        }
    });
    assert_gone(&folder);
}

// The same again.

/// A session of so many exchanges, each with a call and its result.
fn long(exchanges: usize) -> Session {
    let mut messages = Vec::new();
    for number in 0..exchanges {
        let id = format!("c{number}");
        let parts = [
            (Role::User, vec![text(10)]),
            (Role::Assistant, vec![call(&id, "x")]),
            (Role::Tool, vec![result(&id, 100)]),
            (Role::Assistant, vec![text(10)]),
        ];
        for (role, blocks) in parts {
            messages.push(message(messages.len(), role, blocks));
        }
    }
    Session { id: "long".into(), messages, ..Session::default() }
}

/// Drops all but the last two exchanges and counts its drops in its state.
const DROPPER: &str = r"
known, count = {}, 0
def compact(m):
    global count
    known.update((x['id'], x) for x in m['messages'])
    users = [n for n, i in enumerate(m['context']) if known[i]['role'] == 'user' and i[0] == 'm']
    cut = users[-2] if len(users) > 1 else 0
    count += 1
    text = 'drop %d: %d messages' % (count, cut)
    answer = keep({'role': 'user', 'text': text}, *m['context'][cut:]) if cut else keep(*m['context'])
    answer['state'] = count
    return answer
for line in sys.stdin:
    m = json.loads(line)
    if m['type'] == 'open':
        count = m.get('state', 0)
        say({'type': 'ready'})
    elif m['type'] == 'compact':
        say(compact(m))
";

#[test]
fn the_same_session_gives_the_same_rows() {
    let folder = Folder::with(DROPPER, "at = \"request\"\nwhen = { messages = 12 }\n");
    let run = || {
        let mut rows = folder.rows(long(20));
        rows.cpu_ms = 0.0;
        rows
    };
    let first = run();
    assert!(first.compactions.len() > 3);
    assert_eq!(first, run());
}

#[test]
fn copied_session_sends_everything_to_a_fresh_program() {
    let folder = Folder::with(DROPPER, "at = \"request\"\nwhen = { messages = 12 }\n");
    let (prepared, plan, compactor) =
        (prepared(long(12)), plan(folder.strategy(), 1_000), offline());
    go(async {
        let mut straight = ReplaySession::open(&prepared, &plan, &compactor).unwrap();
        let mut resumed = ReplaySession::open(&prepared, &plan, &compactor).unwrap();
        loop {
            let copy = resumed.copied().unwrap();
            resumed.close().await;
            resumed = copy;
            let more = straight.step().await.unwrap();
            assert_eq!(more, resumed.step().await.unwrap());
            assert_eq!(sent(&straight), sent(&resumed));
            assert_eq!(ledger(&straight), ledger(&resumed));
            if !more {
                break;
            }
        }
        // At the first requests of exchanges 4, 6, 8, 10 and 12: the summary and two exchanges go.
        assert!(sent(&straight)[0].1.starts_with("drop 5: 9 "), "{:?}", sent(&straight)[0]);
        straight.close().await;
        resumed.close().await;
    });
}

#[test]
fn data_sent_to_program_grows_linearly_with_session() {
    let bytes = |exchanges: usize| -> usize {
        let counted =
            DROPPER.replace("    m = json", "    open('log', 'a').write(line)\n    m = json");
        let folder = Folder::with(&counted, "at = \"request\"\nwhen = { messages = 12 }\n");
        folder.rows(long(exchanges));
        let log = folder.read("log");
        for message in 0..exchanges * 4 - 8 {
            let content = format!("{{\"id\":\"m{message}\",");
            assert_eq!(log.matches(&content).count(), 1, "m{message} is sent once");
        }
        log.len()
    };
    let (once, twice) = (bytes(40), bytes(80));
    let growth = twice as f64 / once as f64;
    assert!((1.8..2.2).contains(&growth), "{once} to {twice} bytes");
}

// The strategy.

#[test]
fn an_edited_program_is_another_row() {
    let folder = Folder::new("talk(keep)");
    let plain = folder.strategy().hash;
    assert_eq!(plain, folder.strategy().hash);
    folder.write("unnamed.py", "anything");
    assert_eq!(plain, folder.strategy().hash);
    folder.write("program.py", "something else");
    assert_ne!(plain, folder.strategy().hash);
    let stage = "at = \"request\"\nwhen = \"always\"\nfiles = [\"unnamed.py\"]\n";
    folder.write("mine.toml", &strategy("[\"python3\", \"program.py\"]", stage));
    let with_file = folder.strategy().hash;
    folder.write("unnamed.py", "anything else");
    assert_ne!(with_file, folder.strategy().hash);
    let absent = strategy("[\"python3\", \"program.py\"]", &stage.replace("unnamed", "absent"));
    folder.write("mine.toml", &absent);
    let refused = Strategy::load(&folder.0.path().join("mine.toml"), &[]).unwrap_err().to_string();
    assert_says(&refused, &["stage 1", "`absent.py` cannot be read"]);
}

#[test]
fn program_gets_parameters_and_runs_beside_its_strategy() {
    let folder = Folder::with(
        "open('seen', 'w').write(sys.stdin.readline())\n\
         say({'type': 'ready'})\n\
         sys.stdin.readline(); say(keep())\nsys.stdin.readline()",
        "at = \"request\"\nwhen = { messages = 9 }\nparameters = { keep = 3, words = [\"a\"] }\n",
    );
    folder.rows(small());
    let open: Json = serde_json::from_str(&folder.read("seen")).unwrap();
    let expected = serde_json::json!({
        "type": "open", "protocol": 1, "recap": env!("CARGO_PKG_VERSION"), "strategy": "mine",
        "stage": 1, "window": 1_000, "budget": 1_000,
        "parameters": {"keep": 3, "words": ["a"]},
    });
    assert_eq!(open, expected);
}

#[test]
fn no_built_in_strategy_runs_a_program() {
    for name in recap_strategy::builtin_names() {
        let strategy = recap_strategy::builtin(name, &[]).unwrap().unwrap();
        assert_eq!(strategy.commands().count(), 0, "{name}");
    }
    assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join("strategies").is_dir());
}
