//! Values that the user mentions by the way, and changes later.

use crate::generate::Stream;
use crate::model::ProbeKind;

/// What a value is about.
pub struct Topic {
    /// Ending of its sections in `facts.txt`.
    pub key: &'static str,
    /// Kind of the question while the value was said once.
    pub kind: ProbeKind,
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
    Topic { key: "staging_port", kind: ProbeKind::Fact, value: |r, _| port(r) },
    Topic { key: "ticket", kind: ProbeKind::Fact, value: |r, s| s.ticket(r) },
    Topic { key: "deadline", kind: ProbeKind::Temporal, value: |r, s| s.day(r) },
    Topic { key: "rota", kind: ProbeKind::Fact, value: |r, _| r.number(3100..=8990).to_string() },
    Topic {
        key: "account",
        kind: ProbeKind::Fact,
        value: |r, _| format!("ac-{}", r.number(10_400..=98_700)),
    },
    Topic {
        key: "batch_limit",
        kind: ProbeKind::Fact,
        value: |r, _| r.number(310..=2890).to_string(),
    },
    Topic {
        key: "window",
        kind: ProbeKind::Temporal,
        value: |r, _| format!("{}:{:02}", r.number(19..=23), 5 * r.number(1..=11)),
    },
    Topic { key: "flag", kind: ProbeKind::Fact, value: |r, _| flag(r) },
    Topic {
        key: "release",
        kind: ProbeKind::Plan,
        value: |r, _| format!("{}.{}.{}", r.number(2..=7), r.number(11..=48), r.number(1..=29)),
    },
    Topic {
        key: "memory",
        kind: ProbeKind::Fact,
        value: |r, _| format!("{} MiB", 16 * r.number(13..=120)),
    },
    Topic { key: "bucket", kind: ProbeKind::Fact, value: |r, _| bucket(r) },
    Topic {
        key: "code",
        kind: ProbeKind::Fact,
        value: |r, _| format!("E-{}", r.number(1050..=9870)),
    },
    Topic {
        key: "retention",
        kind: ProbeKind::Fact,
        value: |r, _| format!("{} days", r.number(33..=710)),
    },
    Topic {
        key: "sample",
        kind: ProbeKind::Artifact,
        value: |r, _| format!("samples/night-{}.csv", r.number(1020..=9890)),
    },
    Topic {
        key: "budget",
        kind: ProbeKind::Fact,
        value: |r, _| format!("{} ms", r.number(41..=870)),
    },
    Topic { key: "host", kind: ProbeKind::Fact, value: |r, _| host(r) },
    Topic {
        key: "job",
        kind: ProbeKind::Fact,
        value: |r, _| format!("nj-{}", r.number(2050..=9870)),
    },
    Topic { key: "desk", kind: ProbeKind::Fact, value: |r, _| r.number(2040..=8990).to_string() },
];

/// The name of a feature flag.
pub fn flag(random: &mut Stream) -> String {
    let verb = random.pick(&["strict", "early", "lazy", "paced", "split", "mirror", "shadow"]);
    let noun = random.pick(&["drops", "sums", "paging", "retries", "queue", "window", "marks"]);
    format!("{verb}-{noun}-{}", random.number(12..=97))
}
