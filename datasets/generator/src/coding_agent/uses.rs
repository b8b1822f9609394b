//! Acting on what the user mentioned earlier: a session goes back to it.

use super::work::Work;
use crate::{Act, Stream};

/// What can be done with a value: the key of its fact or rule, the command,
/// and what it prints.
struct Use {
    key: &'static str,
    command: &'static str,
    output: fn(&mut Stream, &str) -> String,
}

static USES: &[Use] = &[
    Use {
        key: "staging_port",
        command: "curl -s http://localhost:{v}/counts",
        output: |r, _| {
            format!(
                "{{\"new\": {}, \"sent\": {}, \"held\": {}}}",
                r.number(11..=980),
                r.number(10_400..=98_000),
                r.number(0..=9)
            )
        },
    },
    Use {
        key: "sample",
        command: "head -5 {v}",
        output: |r, _| (0..5).map(|_| row(r)).collect::<Vec<_>>().join("\n"),
    },
    Use {
        key: "rule.scratch",
        command: "ops/sql --database {v} 'SELECT state, count(*) FROM rows GROUP BY state'",
        output: |r, _| {
            ["held", "new", "sent"]
                .map(|state| format!("{state}|{}", r.number(3..=41_000)))
                .join("\n")
        },
    },
    Use {
        key: "rule.patch",
        command: "git format-patch -1 -o {v}",
        output: |r, v| format!("{v}00{}-last-step.patch", r.number(10..=98)),
    },
    Use {
        key: "rule.live",
        command: "curl -sI http://{v}/batches",
        output: |r, _| {
            format!(
                "HTTP/1.1 204 No Content\nx-request-id: {}\nx-quota-left: {}",
                r.hex(12),
                r.number(20..=960)
            )
        },
    },
    Use {
        key: "job",
        command: "ops/job {v} --last 3",
        output: |r, v| {
            let run = |n: u64| {
                format!(
                    "{v} run {n} ok, {} s, {} rows",
                    r.number(41..=990),
                    r.number(1_040..=98_000)
                )
            };
            [3, 2, 1].map(run).join("\n")
        },
    },
    Use {
        key: "flag",
        command: "ops/flag get {v}",
        output: |_, v| format!("{v}: off (all depots)"),
    },
    Use {
        key: "host",
        command: "ops/on {v} df -h /var/lib",
        output: |r, _| {
            format!(
                "Filesystem  Size  Used Avail Use%\n/dev/vg0-{}  {}G  {}G  {}G  {}%",
                r.hex(4),
                200,
                r.number(40..=90),
                r.number(60..=110),
                r.number(30..=60)
            )
        },
    },
    Use {
        key: "bucket",
        command: "ops/ls {v} | tail -3",
        output: |r, _| {
            (0..3)
                .map(|_| format!("{:>9} export-{}.csv", r.number(20_400..=980_000), r.hex(6)))
                .collect::<Vec<_>>()
                .join("\n")
        },
    },
    Use {
        key: "account",
        command: "ops/count --account {v} --state new",
        output: |r, _| r.number(3..=900).to_string(),
    },
];

fn row(random: &mut Stream) -> String {
    format!(
        "{}{};R-{};2025-{:02}-{:02}T{:02}:{:02}:09;{}",
        random.pick(&["NB", "K", "T"]),
        random.number(1..=38),
        random.number(10_300..=98_700),
        random.number(1..=12),
        random.number(1..=28),
        random.number(0..=23),
        random.number(0..=59),
        random.number(75..=31_000)
    )
}

impl Work<'_> {
    /// The agent uses a value that was mentioned, if there is one that it did
    /// not use more often than the others.
    pub fn use_something(&mut self) {
        let known = USES.iter().filter(|known| self.agenda.known(known.key).is_some());
        let mut known: Vec<&Use> = known.collect();
        self.random.shuffle(&mut known);
        known.sort_by_key(|known| self.used.iter().filter(|used| **used == known.key).count());
        let Some(used) = known.first() else { return };
        self.used.push(used.key);
        let value = self.agenda.known(used.key).expect("filtered above").to_owned();
        let text = self.line(&format!("use.{}", used.key), &[]);
        let output = (used.output)(&mut self.random, &value);
        let act: Act = self.shell(&used.command.replace("{v}", &value), output);
        self.act(text, vec![act.takes(2)]);
    }
}
