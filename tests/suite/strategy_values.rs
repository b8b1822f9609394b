//! Every value of the strategies that come from a seed, beside the sentence of the
//! seed that names it, so that none changes unnoticed. What a seed leaves open
//! is marked as ours, with the reason.

use crate::common::shared;
use std::collections::BTreeSet;
use std::path::PathBuf;

use toml::{Table, Value};

/// A value of some strategies: the key as `--set` names it, the value as a strategy
/// file has it, and what the seed says, or `ours: ` and a reason.
type Row = (&'static [&'static str], &'static str, &'static str, &'static str);

const ARACHNE: &[&str] = &["arachne", "session-state", "session-state-system"];
const AGENT_STATE: &[&str] = &["session-state", "session-state-system"];
const GENCODE: &[&str] =
    &["gencode", "gencode-as-written", "gencode-high-quality", "gencode-low-cost"];
const GENCODE_2: &[&str] = &["gencode", "gencode-high-quality", "gencode-low-cost"];
const CONTINUATION: &[&str] = &["continuation", "continuation-as-written"];
const PRUNE: &[&str] = &["prune", "prune-chart"];
const LIS: &[&str] = &["lis"];
const LIS_PRUNE: &[&str] = &["lis", "prune-once"];
const GSV: &[&str] = &["gsv", "gsv-daily", "gsv-idle"];
const GSV_AUTO: &[&str] = &["gsv-daily", "gsv-idle"];
const SLIDING: &[&str] = &["sliding-window", "sliding-window-search", "sliding-window-zoea"];
const SLIDING_ZOEA: &[&str] = &["sliding-window-search", "sliding-window-zoea"];
const ZOEA: &[&str] = &["zoea", "zoea-as-written"];
const ZOEA_LETTER: &[&str] = &["zoea-as-written"];

/// Why numbers of GSV scale.
const SHARE: &str = "ours: the numbers are ours, so their share of the window stays";

/// Why a strategy that follows a seed declares `breaks_pairs`.
const PARTS: &str = "ours: declares that it may part a call from its result";

const ZOEA_TOOLS: &str = r#"["get_ship", "get_system", "get_poi", "get_nearby", "get_cargo", "zoea_swarm_status", "zoea_list_myses"]"#;

const LIMITS: &str = r#"{ default = 8192, "gpt-4o" = 4096, "gemini-2.0" = 8192 }"#;

const TABLE: &[Row] = &[
    // Seed 000, Arachne.
    (ARACHNE, "estimator", "\"exact\"", "Calculate token budget"),
    (
        ARACHNE,
        "budget",
        "\"window\"",
        "ours: one of two readings of \"budgets (Gemini models at 85%)\"",
    ),
    (ARACHNE, "explicit_cache", "true", "Gemini CachedContent (stable, long-lived)"),
    (ARACHNE, "1.when.above", "\"window\"", "If total context > 70% of budget"),
    (ARACHNE, "1.when.share", "0.7", "If total context > 70% of budget"),
    (ARACHNE, "1.target.of", "\"window\"", "(enough to get under 60%)"),
    (ARACHNE, "1.target.share", "0.6", "(enough to get under 60%)"),
    (ARACHNE, "1.max_tokens", "500", "output = structured JSON (~200-500 tokens)"),
    (ARACHNE, "1.reserve", "800", "SessionState in history**: ~200-800 tokens"),
    (&["arachne"], "1.at", "\"user-turn\"", "User sends message"),
    (&["arachne"], "2.at", "\"user-turn\"", "User sends message"),
    (AGENT_STATE, "1.at", "\"request\"", "ours: an agent makes many requests in one turn"),
    (AGENT_STATE, "2.at", "\"request\"", "ours: an agent makes many requests in one turn"),
    (
        &["arachne", "session-state"],
        "1.placement",
        "\"history\"",
        "Message history placement (chosen)",
    ),
    (
        &["session-state-system"],
        "1.placement",
        "\"system\"",
        "An alternative design would place the SessionState data in the system prompt",
    ),
    (ARACHNE, "2.when.above", "\"window\"", "| > 85% | Hard FIFO fallback"),
    (ARACHNE, "2.when.share", "0.85", "| > 85% | Hard FIFO fallback"),
    (
        ARACHNE,
        "2.unit",
        "\"message\"",
        "it drops the oldest messages entirely when the token budget is exceeded",
    ),
    (&["fifo"], "estimator", "\"exact\"", "when the token budget is exceeded"),
    (&["fifo"], "1.at", "\"request\"", "ours: an agent makes many requests in one turn"),
    (&["fifo"], "1.when.above", "\"window\"", "| > 85% | Hard FIFO fallback"),
    (&["fifo"], "1.when.share", "0.85", "| > 85% | Hard FIFO fallback"),
    (&["fifo"], "1.unit", "\"message\"", "it drops the oldest messages entirely"),
    (&["fifo"], "1.keep_first_user", "false", "it drops the oldest messages entirely"),
    // Seed 001, GenCode.
    (GENCODE, "native_window", "200000", "| Claude Sonnet | 200,000 | 8,192 | 191,808 |"),
    (GENCODE, "scales", "[]", "const DEFAULT_COMPRESSION_CONFIG: CompressionConfig"),
    (GENCODE, "output_limit", LIMITS, "| GPT-4o | 128,000 | 4,096 | 123,904 |"),
    (GENCODE, "estimator", "\"chars/4\"", "Token estimation (4:1 char-to-token ratio)"),
    (GENCODE, "budget", "\"usable\"", "Tokens > usable context"),
    (GENCODE, "1.at", "\"append\"", "Triggers compression on `addMessage()`"),
    (GENCODE, "1.when.above", "\"usable\"", "{total > usable?}"),
    (&["gencode", "gencode-as-written"], "1.when.and_over", "20000", "pruneMinimum: 20_000"),
    (&["gencode", "gencode-as-written"], "1.protect", "40000", "pruneProtect: 40_000"),
    (&["gencode-low-cost"], "1.when.and_over", "10000", "| **Low cost** | 10k | 20k |"),
    (&["gencode-low-cost"], "1.protect", "20000", "| **Low cost** | 10k | 20k |"),
    (&["gencode-high-quality"], "1.when.and_over", "30000", "| **High quality** | 30k | 60k |"),
    (&["gencode-high-quality"], "1.protect", "60000", "| **High quality** | 30k | 60k |"),
    (GENCODE, "1.enabled", "true", "enablePruning: true"),
    (GENCODE, "1.marker", "\"[Old tool result cleared]\"", "\"[Old tool result cleared]\""),
    (GENCODE, "2.at", "\"append\"", "Triggers compression on `addMessage()`"),
    (GENCODE, "2.when.above", "\"usable\"", "{total > usable?}"),
    (&["gencode-as-written"], "2.when.at_most", "20000", "CheckPruneMin -->|No| UseCompact"),
    (GENCODE, "2.enabled", "true", "enableCompaction: true"),
    (GENCODE, "2.keep_last", "10", "Keep: Last 10 messages"),
    (
        GENCODE_2,
        "2.keep_summaries",
        "\"all\"",
        "ours: each summary covers what came after the one before",
    ),
    (
        &["gencode-as-written"],
        "2.keep_summaries",
        "\"last\"",
        "Build new messages array:<br/>System prompt<br/>Summary system message<br/>Last 10 messages",
    ),
    (&["gencode-as-written"], "2.keep_pairs", "false", "Keep: Last 10 messages"),
    (&["gencode-as-written"], "2.breaks_pairs", "true", PARTS),
    (GENCODE, "2.request", "\"prefix\"", "continuing our conversation above"),
    (GENCODE, "2.max_tokens", "1500", "max_tokens: 1500"),
    (CONTINUATION, "native_window", "200000", "| Claude Sonnet | 200,000 | 8,192 | 191,808 |"),
    (CONTINUATION, "scales", "[]", "const DEFAULT_COMPRESSION_CONFIG: CompressionConfig"),
    (CONTINUATION, "output_limit", LIMITS, "| GPT-4o | 128,000 | 4,096 | 123,904 |"),
    (CONTINUATION, "estimator", "\"chars/4\"", "Token estimation (4:1 char-to-token ratio)"),
    (CONTINUATION, "budget", "\"usable\"", "Tokens > usable context"),
    (CONTINUATION, "1.at", "\"append\"", "Triggers compression on `addMessage()`"),
    (CONTINUATION, "1.when.above", "\"usable\"", "{total > usable?}"),
    (CONTINUATION, "1.enabled", "true", "enableCompaction: true"),
    (CONTINUATION, "1.keep_last", "10", "Keep: Last 10 messages"),
    (
        &["continuation"],
        "1.keep_summaries",
        "\"all\"",
        "ours: each summary covers what came after the one before",
    ),
    (
        &["continuation-as-written"],
        "1.keep_summaries",
        "\"last\"",
        "Build new messages array:<br/>System prompt<br/>Summary system message<br/>Last 10 messages",
    ),
    (&["continuation-as-written"], "1.keep_pairs", "false", "Keep: Last 10 messages"),
    (&["continuation-as-written"], "1.breaks_pairs", "true", PARTS),
    (CONTINUATION, "1.request", "\"prefix\"", "continuing our conversation above"),
    (CONTINUATION, "1.max_tokens", "1500", "max_tokens: 1500"),
    (PRUNE, "native_window", "200000", "| Claude Sonnet | 200,000 | 8,192 | 191,808 |"),
    (PRUNE, "scales", "[]", "const DEFAULT_COMPRESSION_CONFIG: CompressionConfig"),
    (PRUNE, "output_limit", LIMITS, "| GPT-4o | 128,000 | 4,096 | 123,904 |"),
    (PRUNE, "estimator", "\"chars/4\"", "Token estimation (4:1 char-to-token ratio)"),
    (&["prune-chart"], "budget", "\"usable\"", "Tokens > usable context"),
    (PRUNE, "1.at", "\"append\"", "Triggers compression on `addMessage()`"),
    (PRUNE, "1.when.above", "\"usable\"", "{total > usable?}"),
    (&["prune"], "1.when.share", "0.0", "| **Layer 1** | Tool Output Pruning | Tokens > 20k |"),
    (PRUNE, "1.when.and_over", "20000", "pruneMinimum: 20_000"),
    (PRUNE, "1.protect", "40000", "pruneProtect: 40_000"),
    (PRUNE, "1.enabled", "true", "enablePruning: true"),
    (PRUNE, "1.marker", "\"[Old tool result cleared]\"", "\"[Old tool result cleared]\""),
    // Seed 002, Lis.
    (LIS_PRUNE, "native_window", "150000", "📊 Total: 9.1k/150k (6%)"),
    (LIS_PRUNE, "scales", "[]", "Env Var Default Purpose"),
    (
        LIS_PRUNE,
        "estimator",
        "\"reported\"",
        "Token counts come exclusively from provider response metadata",
    ),
    (
        LIS_PRUNE,
        "cache_breakpoints",
        r#"["preamble", "summary", "prune-boundary", "newest"]"#,
        "Prompt caching — 4 breakpoints",
    ),
    (LIS, "recovery", "\"sessions\"", "an embedding for future semantic search"),
    (LIS_PRUNE, "1.at", "\"response\"", "Check compaction triggers (based on actual input_tokens)"),
    (LIS_PRUNE, "1.when.tool_tokens", "8000", "LIS_TOOL_PRUNE_THRESHOLD 8000"),
    (LIS_PRUNE, "1.protect", "2000", "LIS_TOOL_KEEP_THRESHOLD 2000"),
    (LIS_PRUNE, "1.marker", "\"{{tool}}\"", "Replaces tool output with the bare function name"),
    (LIS_PRUNE, "1.once_per_boundary", "true", "Runs ONCE, stays stable"),
    (LIS_PRUNE, "1.policy", "\"auto\"", "LIS_TOOL_SUMMARIZATION_POLICY auto"),
    (LIS_PRUNE, "1.force_above", "0.8", "force-prunes if context blows past threshold"),
    (LIS, "1.notify", "true", "LIS_COMPACTION_NOTIFY true"),
    (LIS, "2.action", "\"compact\"", "Full compaction always creates a new session"),
    (LIS, "2.at", "\"response\"", "Check compaction triggers (based on actual input_tokens)"),
    (LIS, "2.when.above", "\"budget\"", "80% of ContextBudget"),
    (LIS, "2.when.share", "0.8", "LIS_COMPACTION_THRESHOLD 80% of budget"),
    (LIS, "2.background", "true", "fire async CompactionService.CompactAsync"),
    (LIS, "2.keep_recent", "4000", "LIS_KEEP_RECENT_TOKENS 4000"),
    (LIS, "2.max_tokens", "3200", "📝 Summary: 3.2k tokens"),
    (LIS, "2.notify", "true", "LIS_COMPACTION_NOTIFY true"),
    (LIS, "3.at", "\"user-turn\"", "Chat commands — intercepted before AI"),
    (
        LIS,
        "3.when.command",
        r#"["/prune"]"#,
        "/status, /new, /clear, /compact, /prune, /resume, /abort",
    ),
    (LIS, "3.protect", "2000", "LIS_TOOL_KEEP_THRESHOLD 2000"),
    (LIS, "3.marker", "\"{{tool}}\"", "Replaces tool output with the bare function name"),
    (LIS, "3.once_per_boundary", "true", "Runs ONCE, stays stable"),
    (LIS, "3.notify", "true", "LIS_COMPACTION_NOTIFY true"),
    (LIS, "4.action", "\"compact\"", "Full compaction always creates a new session"),
    (LIS, "4.at", "\"user-turn\"", "Chat commands — intercepted before AI"),
    (
        LIS,
        "4.when.command",
        r#"["/compact"]"#,
        "/status, /new, /clear, /compact, /prune, /resume, /abort",
    ),
    (LIS, "4.background", "true", "fire async CompactionService.CompactAsync"),
    (LIS, "4.keep_recent", "4000", "LIS_KEEP_RECENT_TOKENS 4000"),
    (LIS, "4.max_tokens", "3200", "📝 Summary: 3.2k tokens"),
    (LIS, "4.notify", "true", "LIS_COMPACTION_NOTIFY true"),
    (
        LIS,
        "5.action",
        "\"new\"",
        "/new or /clear → finalize session (async summary) → create new session",
    ),
    (LIS, "5.at", "\"user-turn\"", "Chat commands — intercepted before AI"),
    (LIS, "5.when.command", r#"["/new", "/clear"]"#, "/new or /clear"),
    (LIS, "6.action", "\"resume\"", "/resume → reopen a previous session (full context)"),
    (LIS, "6.at", "\"user-turn\"", "Chat commands — intercepted before AI"),
    (LIS, "6.when.command", r#"["/resume"]"#, "/resume → reopen a previous session"),
    (LIS, "6.within", "0.7", "LIS_RESUME_TOKEN_BUDGET 70% of budget"),
    (LIS, "7.action", "\"summarise\"", "finalize session (async summary)"),
    (LIS, "7.at", "\"user-turn\"", "Chat commands — intercepted before AI"),
    (LIS, "7.when.command", r#"["/new", "/clear", "/resume"]"#, "finalize session (async summary)"),
    (LIS, "7.background", "true", "finalize session (async summary)"),
    (LIS, "7.max_tokens", "3200", "📝 Summary: 3.2k tokens"),
    // Seed 003, Zoea Nova.
    (SLIDING, "1.at", "\"request\"", "assembles context for each LLM call"),
    (SLIDING, "1.when", "\"always\"", "assembles context for each LLM call"),
    (SLIDING, "1.last", "20", "const MaxContextMessages = 20"),
    (
        &["sliding-window"],
        "1.keep_pairs",
        "true",
        "ours: no provider accepts a result without its call",
    ),
    (SLIDING_ZOEA, "1.keep_pairs", "false", "Fetch the N most recent memories from SQLite"),
    (SLIDING_ZOEA, "1.breaks_pairs", "true", PARTS),
    (
        &["sliding-window-search"],
        "recovery",
        "\"search\"",
        "Use search tools to retrieve older context when needed",
    ),
    (
        &["snapshot-dedup", "snapshot-dedup-zoea"],
        "1.at",
        "\"request\"",
        "assembles context for each LLM call",
    ),
    (
        &["snapshot-dedup", "snapshot-dedup-zoea"],
        "1.when",
        "\"always\"",
        "assembles context for each LLM call",
    ),
    (&["snapshot-dedup"], "1.tools", "\"auto\"", "ours: the seed's tools are those of a game"),
    (
        &["snapshot-dedup"],
        "1.repeats",
        "3",
        "ours: a tool that gives a state is called again and again",
    ),
    (
        &["snapshot-dedup"],
        "1.keep_pairs",
        "true",
        "ours: no provider accepts a call without its result",
    ),
    (&["snapshot-dedup-zoea"], "1.tools", ZOEA_TOOLS, "\"get_ship\": true"),
    (&["snapshot-dedup-zoea"], "1.keep_pairs", "false", "removes redundant state tool results"),
    (&["snapshot-dedup-zoea"], "1.breaks_pairs", "true", PARTS),
    (ZOEA, "recovery", "\"zoea-search\"", "### zoea_search_messages"),
    (ZOEA, "1.at", "\"open\"", "The system prompt instructs Myses"),
    (ZOEA, "1.when", "\"always\"", "The system prompt instructs Myses"),
    (ZOEA, "2.at", "\"request\"", "assembles context for each LLM call"),
    (ZOEA, "2.when", "\"always\"", "assembles context for each LLM call"),
    (ZOEA, "2.last", "20", "const MaxContextMessages = 20"),
    (&["zoea"], "2.keep_pairs", "true", "ours: no provider accepts a result without its call"),
    (ZOEA_LETTER, "2.keep_pairs", "false", "Fetch the N most recent memories from SQLite"),
    (ZOEA_LETTER, "2.breaks_pairs", "true", PARTS),
    (ZOEA, "3.at", "\"request\"", "assembles context for each LLM call"),
    (ZOEA, "3.when", "\"always\"", "assembles context for each LLM call"),
    (ZOEA, "3.tools", ZOEA_TOOLS, "\"zoea_list_myses\": true"),
    (&["zoea"], "3.keep_pairs", "true", "ours: no provider accepts a call without its result"),
    (ZOEA_LETTER, "3.keep_pairs", "false", "removes redundant state tool results"),
    (ZOEA_LETTER, "3.breaks_pairs", "true", PARTS),
    // Seed 004, GSV.
    (
        &["chunked-summary"],
        "scales",
        r#"["1.when.reserve", "1.keep_recent", "1.max_tokens"]"#,
        SHARE,
    ),
    (
        &["gsv"],
        "scales",
        r#"["1.max_tokens", "2.when.reserve", "2.keep_recent", "2.max_tokens"]"#,
        SHARE,
    ),
    (
        GSV_AUTO,
        "scales",
        r#"["1.max_tokens", "2.max_tokens", "3.when.reserve", "3.keep_recent", "3.max_tokens"]"#,
        SHARE,
    ),
    (
        &["chunked-summary", "gsv", "gsv-daily", "gsv-idle"],
        "native_window",
        "200000",
        "Claude has 200K tokens",
    ),
    (
        &["chunked-summary", "gsv", "gsv-daily", "gsv-idle"],
        "estimator",
        "\"reported-or-json\"",
        "`JSON.stringify(message).length / 4 * 1.2`",
    ),
    (&["chunked-summary"], "1.at", "\"request\"", "Before each LLM call"),
    (
        &["chunked-summary"],
        "1.when.reserve",
        "16000",
        "ours: GSV's reserveTokens is configurable; a share of the window as its code has it",
    ),
    (
        &["chunked-summary"],
        "1.keep_recent",
        "20000",
        "ours: GSV's keepRecentTokens is configurable",
    ),
    (&["chunked-summary"], "1.chunk", "0.25", "chunks of roughly 25% of the context window each"),
    (
        &["chunked-summary"],
        "1.skip_above",
        "0.5",
        "Oversized chunks (more than 50% of the context window)",
    ),
    (&["chunked-summary"], "1.max_tokens", "1000", "ours: the seed names no bound"),
    (&["gsv-daily"], "1.when.hour", "4", "(default 4 AM)"),
    (&["gsv-idle"], "1.when.idle_minutes", "60", "ours: configurable; GSV's own default"),
    (&["gsv"], "1.when.command", r#"["/reset"]"#, "manually via `/reset`"),
    (GSV_AUTO, "2.when.command", r#"["/reset"]"#, "manually via `/reset`"),
    (GSV, "1.at", "\"user-turn\"", "ours: a reset shows at the next message"),
    (GSV, "1.extract", "true", "the system runs a memory extraction pass"),
    (GSV, "1.chunk", "0.25", "chunks of roughly 25% of the context window each"),
    (GSV, "1.skip_above", "0.5", "Oversized chunks (more than 50% of the context window)"),
    (GSV, "1.max_tokens", "1000", "ours: the seed names no bound"),
    (GSV, "1.agent", "\"main\"", "`agents/{agentId}/memory/{YYYY-MM-DD}.md`"),
    (GSV_AUTO, "2.at", "\"user-turn\"", "ours: a reset shows at the next message"),
    (GSV_AUTO, "2.extract", "true", "the system runs a memory extraction pass"),
    (GSV, "2.chunk", "0.25", "chunks of roughly 25% of the context window each"),
    (GSV, "2.skip_above", "0.5", "Oversized chunks (more than 50% of the context window)"),
    (GSV, "2.max_tokens", "1000", "ours: the seed names no bound"),
    (GSV, "2.agent", "\"main\"", "`agents/{agentId}/memory/{YYYY-MM-DD}.md`"),
    (&["gsv"], "2.at", "\"request\"", "Before each LLM call"),
    (&["gsv"], "2.when.reserve", "16000", "ours: GSV's reserveTokens is configurable"),
    (&["gsv"], "2.keep_recent", "20000", "ours: GSV's keepRecentTokens is configurable"),
    (GSV_AUTO, "3.at", "\"request\"", "Before each LLM call"),
    (GSV_AUTO, "3.when.reserve", "16000", "ours: GSV's reserveTokens is configurable"),
    (GSV_AUTO, "3.keep_recent", "20000", "ours: GSV's keepRecentTokens is configurable"),
    (GSV_AUTO, "3.chunk", "0.25", "chunks of roughly 25% of the context window each"),
    (GSV_AUTO, "3.skip_above", "0.5", "Oversized chunks (more than 50% of the context window)"),
    (GSV_AUTO, "3.max_tokens", "1000", "ours: the seed names no bound"),
    (GSV_AUTO, "3.agent", "\"main\"", "`agents/{agentId}/memory/{YYYY-MM-DD}.md`"),
];

/// Keys that tell what a strategy is, and not what it does.
const HEAD: [&str; 4] = ["version", "name", "summary", "source"];
/// Keys whose values other tests hold: which mechanism it is decides which keys
/// there are, and the tests of the seeds hold the prompts.
const ELSEWHERE: [&str; 4] = ["mechanism", "prompt", "merge_prompt", "awareness_prompt"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every value of a strategy by its key.
fn values(strategy: &Table) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for (key, value) in strategy.iter().filter(|(key, _)| !HEAD.contains(&key.as_str())) {
        match value {
            Value::Array(stages) if key == "stage" => {
                for (at, stage) in stages.iter().enumerate() {
                    flatten(&(at + 1).to_string(), stage, &mut found);
                }
            }
            other => found.push((key.clone(), other.clone())),
        }
    }
    let elsewhere = |key: &str| ELSEWHERE.iter().any(|one| key.ends_with(&format!(".{one}")));
    found.retain(|(key, _)| !elsewhere(key));
    found
}

fn flatten(path: &str, value: &Value, found: &mut Vec<(String, Value)>) {
    match value {
        Value::Table(table) => {
            table.iter().for_each(|(key, inner)| flatten(&format!("{path}.{key}"), inner, found));
        }
        other => found.push((path.to_owned(), other.clone())),
    }
}

/// The strategies whose source is a seed, by name.
fn strategies() -> Vec<(String, Table)> {
    let files = std::fs::read_dir(root().join("strategies")).unwrap();
    let files = files.map(|entry| entry.unwrap().path());
    let tables = files.filter(|path| path.extension().is_some_and(|end| end == "toml"));
    let tables =
        tables.map(|path| std::fs::read_to_string(path).unwrap().parse::<Table>().unwrap());
    let of_seeds = tables.filter(|table| {
        // The folder's own package has none.
        table.get("source").is_some_and(|source| source.as_str().unwrap().starts_with("seed "))
    });
    of_seeds.map(|table| (table["name"].as_str().unwrap().to_owned(), table)).collect()
}

#[test]
fn every_seed_strategy_value_equals_the_seed() {
    let strategies = strategies();
    assert!(strategies.len() >= 20, "{}", strategies.len());
    let mut used = BTreeSet::new();
    for (name, table) in &strategies {
        for (key, value) in values(table) {
            let row = TABLE.iter().position(|row| row.0.contains(&name.as_str()) && row.1 == key);
            let row = row.unwrap_or_else(|| panic!("no sentence names {key} of {name}: {value}"));
            let due: Table = format!("v = {}", TABLE[row].2).parse().unwrap();
            assert_eq!(value, due["v"], "{key} of {name}: {}", TABLE[row].3);
            used.insert((name.clone(), key));
        }
    }
    for (names, key, ..) in TABLE {
        for name in *names {
            assert!(used.contains(&((*name).to_owned(), (*key).to_owned())), "{name} has no {key}");
        }
    }
}

fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_quoted_sentences_stand_in_the_seeds() {
    let Some(folder) = shared("seeds") else { return };
    let files = std::fs::read_dir(folder).unwrap();
    let seeds: Vec<String> =
        files.map(|file| plain(&std::fs::read_to_string(file.unwrap().path()).unwrap())).collect();
    for (names, key, _, says) in TABLE.iter().filter(|row| !row.3.starts_with("ours: ")) {
        let says = plain(says);
        assert!(seeds.iter().any(|seed| seed.contains(&says)), "{names:?} {key}: {says}");
    }
}
