//! Values that the user mentions by the way, and changes later.

use recap_core::model::QuestionKind;

use crate::Stream;

/// What a value is about.
pub struct Topic {
    /// Ending of its sections in `facts.txt`.
    pub key: &'static str,
    /// What the inventory calls the same thing of another service.
    pub label: &'static str,
    /// Kind of the question while the value was said once.
    pub kind: QuestionKind,
    /// Draws a value.
    pub value: fn(&mut Stream, &Shapes) -> String,
}

/// What the values of one session have in common.
pub struct Shapes {
    /// Prefix of ticket numbers.
    pub tickets: String,
    /// Year and month of the session's first day.
    pub month: (i16, i8),
}

impl Shapes {
    /// A ticket number.
    pub fn ticket(&self, random: &mut Stream) -> String {
        format!("{}-{}", self.tickets, random.number(1100..=9890))
    }

    /// A day some weeks ahead.
    pub fn day(&self, random: &mut Stream) -> String {
        let (year, month) = self.month;
        let ahead = i16::from(month) + 1 + random.number(0..=1) as i16;
        let (year, month) = if ahead > 12 { (year + 1, ahead - 12) } else { (year, ahead) };
        format!("{year}-{month:02}-{:02}", random.number(2..=28))
    }
}

const ANIMALS: &[&str] = &[
    "otter", "vole", "heron", "lynx", "plover", "marten", "stoat", "curlew", "gannet", "shrew",
    "egret", "badger",
];

/// A machine that cannot be guessed.
pub fn host(random: &mut Stream) -> String {
    format!("{}-{}.depot.test", random.pick(ANIMALS), random.number(11..=98))
}

/// A bucket that cannot be guessed.
pub fn bucket(random: &mut Stream) -> String {
    let place = random.pick(&["eu", "north", "west", "lab", "alt"]);
    format!("dry-{place}-{}", random.number(1200..=9800))
}

/// A port outside the ranges that everybody uses.
pub fn port(random: &mut Stream) -> String {
    random.number(4100..=9899).to_string()
}

/// Every topic.
pub static TOPICS: &[Topic] = &[
    Topic { key: "staging_port", label: "port", kind: QuestionKind::Fact, value: |r, _| port(r) },
    Topic {
        key: "ticket",
        label: "last_ticket",
        kind: QuestionKind::Fact,
        value: |r, s| s.ticket(r),
    },
    Topic {
        key: "deadline",
        label: "contract_until",
        kind: QuestionKind::Temporal,
        value: |r, s| s.day(r),
    },
    Topic {
        key: "rota",
        label: "extension",
        kind: QuestionKind::Fact,
        value: |r, _| r.number(3100..=8990).to_string(),
    },
    Topic {
        key: "account",
        label: "account",
        kind: QuestionKind::Fact,
        value: |r, _| format!("ac-{}", r.number(10_400..=98_700)),
    },
    Topic {
        key: "batch_limit",
        label: "rows_per_request",
        kind: QuestionKind::Fact,
        value: |r, _| r.number(310..=2890).to_string(),
    },
    Topic {
        key: "window",
        label: "restart_after",
        kind: QuestionKind::Temporal,
        value: |r, _| format!("{}:{:02}", r.number(19..=23), 5 * r.number(1..=11)),
    },
    Topic { key: "flag", label: "flag", kind: QuestionKind::Fact, value: |r, _| flag(r) },
    Topic {
        key: "release",
        label: "deployed",
        kind: QuestionKind::Plan,
        value: |r, _| format!("{}.{}.{}", r.number(2..=7), r.number(11..=48), r.number(1..=29)),
    },
    Topic {
        key: "memory",
        label: "memory",
        kind: QuestionKind::Fact,
        value: |r, _| format!("{} MiB", 16 * r.number(13..=120)),
    },
    Topic { key: "bucket", label: "dry_runs", kind: QuestionKind::Fact, value: |r, _| bucket(r) },
    Topic {
        key: "code",
        label: "last_error",
        kind: QuestionKind::Fact,
        value: |r, _| format!("E-{}", r.number(1050..=9870)),
    },
    Topic {
        key: "retention",
        label: "raw_files",
        kind: QuestionKind::Fact,
        value: |r, _| format!("{} days", r.number(33..=710)),
    },
    Topic {
        key: "sample",
        label: "sample",
        kind: QuestionKind::Artifact,
        value: |r, _| format!("samples/night-{}.csv", r.number(1020..=9890)),
    },
    Topic {
        key: "budget",
        label: "p95_goal",
        kind: QuestionKind::Fact,
        value: |r, _| format!("{} ms", r.number(41..=870)),
    },
    Topic { key: "host", label: "host", kind: QuestionKind::Fact, value: |r, _| host(r) },
    Topic {
        key: "job",
        label: "job",
        kind: QuestionKind::Fact,
        value: |r, _| format!("nj-{}", r.number(2050..=9870)),
    },
    Topic {
        key: "desk",
        label: "review_desk",
        kind: QuestionKind::Fact,
        value: |r, _| r.number(2040..=8990).to_string(),
    },
];

/// The name of a feature flag.
pub fn flag(random: &mut Stream) -> String {
    let verb = random.pick(&["strict", "early", "lazy", "paced", "split", "mirror", "shadow"]);
    let noun = random.pick(&["drops", "sums", "paging", "retries", "queue", "window", "marks"]);
    format!("{verb}-{noun}-{}", random.number(12..=97))
}

/// A rule or a preference, and what it wants instead.
pub struct Rule {
    /// Ending of its sections in `rules.txt`.
    pub key: &'static str,
    /// What other teams call theirs.
    pub label: &'static str,
    /// Draws the substitute.
    pub value: fn(&mut Stream) -> String,
}

/// Rules: the user later asks for what they forbid.
pub static RULES: &[Rule] = &[
    Rule {
        key: "rule.mend",
        label: "Mending data",
        value: |r| format!("ops/mend-{}.sh", r.number(1020..=9870)),
    },
    Rule {
        key: "rule.branch",
        label: "Branches",
        value: |r| format!("{}{}/", r.pick(&["kx", "nj", "qd", "vu", "zt"]), r.number(112..=989)),
    },
    Rule {
        key: "rule.live",
        label: "Played partner",
        value: |r| format!("{}-{}.mock.test", r.pick(ANIMALS), r.number(11..=98)),
    },
    Rule {
        key: "rule.packages",
        label: "Wish list",
        value: |r| format!("docs/wishes-{}.md", r.number(1020..=9870)),
    },
    Rule {
        key: "rule.patch",
        label: "Handing over",
        value: |r| format!("handover/{}/", r.number(1020..=9870)),
    },
    Rule {
        key: "rule.scratch",
        label: "Playground",
        value: |r| format!("scratch_{}", r.number(1020..=9870)),
    },
    Rule {
        key: "rule.secret",
        label: "Secrets",
        value: |r| format!("vault/depot/{}", r.number(1020..=9870)),
    },
    Rule {
        key: "rule.depots",
        label: "Board",
        value: |r| format!("board-{}", r.number(1020..=9870)),
    },
];

/// Preferences: how the user likes things to be done.
pub static PREFERENCES: &[Rule] = &[
    Rule {
        key: "pref.changelog",
        label: "Changelog mark",
        value: |r| format!("[dp-{}]", r.number(1020..=9870)),
    },
    Rule {
        key: "pref.report",
        label: "Report mark",
        value: |r| format!("#rep{}", r.number(1020..=9870)),
    },
    Rule {
        key: "pref.patch",
        label: "Patch files",
        value: |r| format!("p{}_", r.number(1020..=9870)),
    },
];

/// How the neighbouring teams do the same: near misses for every rule.
pub fn neighbours(random: &mut Stream) -> String {
    let mut text = "# How the others do it\n\nFor when you have to work in their code. None of this is about ours.\n".to_owned();
    for team in ["Scales", "Gates", "Billing"] {
        text.push_str(&format!("\n## {team}\n\n"));
        for rule in RULES.iter().chain(PREFERENCES) {
            let value = random.fresh(|random| (rule.value)(random));
            text.push_str(&format!("- {}: `{value}`\n", rule.label));
        }
        let file = random.fresh(nickname);
        text.push_str(&format!("- Odds and ends: `{file}`\n"));
    }
    text
}

/// A file that people have a nickname for.
pub fn nickname(random: &mut Stream) -> String {
    format!("config/old-{}.toml", random.number(1020..=9870))
}
