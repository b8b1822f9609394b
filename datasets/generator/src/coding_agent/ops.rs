//! The machines behind the project: their numbers and their logs.

use crate::Stream;

/// Seconds of a day.
const DAY: u64 = 86_400;

/// A service as the status script shows it.
#[derive(Clone, Debug)]
pub struct Service {
    pub name: &'static str,
    pub queue: u64,
    pub p95: u64,
    errors: u64,
    version: String,
    uptime: u64,
}

/// What runs in one environment.
#[derive(Clone, Debug)]
pub struct Environment {
    pub name: &'static str,
    pub services: Vec<Service>,
}

impl Environment {
    /// Services at some moment.
    pub fn new(name: &'static str, random: &mut Stream) -> Environment {
        let services = ["intake", "courier", "export", "api"].map(|name| Service {
            name,
            queue: random.number(1_020..=8_900),
            p95: random.number(110..=890),
            errors: random.number(0..=240),
            version: format!(
                "{}.{}.{}",
                random.number(1..=4),
                random.number(1..=30),
                random.number(0..=20)
            ),
            uptime: random.number(3_000..=4_000_000),
        });
        Environment { name, services: services.into() }
    }

    /// Time goes by: every number moves.
    pub fn wander(&mut self, random: &mut Stream) {
        for service in &mut self.services {
            service.queue = random.number(1_020..=8_900);
            service.p95 = random.number(110..=890);
            service.errors = (service.errors + random.number(0..=60)) / 2;
            service.uptime += random.number(900..=9_000);
        }
    }

    /// What the status script prints.
    pub fn table(&self) -> String {
        let mut text = String::new();
        for Service { name, queue, p95, errors, version, uptime } in &self.services {
            let (hours, minutes) = (uptime / 3600, uptime / 60 % 60);
            text.push_str(&format!(
                "{} {name:<8} {version:<8} queue {queue:<5} p95 {p95} ms  errors {errors}/h  up {hours}h{minutes:02}m\n",
                self.name
            ));
        }
        text.trim_end().to_owned()
    }
}

/// Everything that writes a log.
pub const SERVICES: &[&str] =
    &["intake", "courier", "export", "api", "gateway", "printer", "sync", "sessions"];

/// A log with one burst of errors in it.
pub struct Log {
    pub text: String,
    pub request: String,
    pub since: String,
}

/// Faults of the other side, as they are logged.
pub const ERRORS: &[&str] = &[
    "upstream reset",
    "lock wait exceeded",
    "short read",
    "stale lease",
    "checksum mismatch",
    "connection refused",
    "tls handshake timeout",
    "quota refused",
];

/// `lines` lines of a service's log of one day.
pub fn log(service: &str, error: &str, day: &str, lines: usize, random: &mut Stream) -> Log {
    let mut now = random.number(0..=DAY * 1000 * 3 / 4);
    let process = random.number(1_100..=29_000);
    let burst = lines / 3 + random.index(lines / 3 + 1);
    let failing = [burst, burst + 2, burst + 3, burst + 7];
    let (mut text, mut first) = (String::new(), None);
    let mut request = random.fresh(|random| random.hex(6));
    for at in 0..lines {
        now += random.number(120..=9_800);
        let time =
            format!("{:02}:{:02}:{:02}", now / 3_600_000, now / 60_000 % 60, now / 1000 % 60);
        // One request leaves several lines.
        if failing.contains(&at) || random.chance(40) {
            request = random.fresh(|random| random.hex(6));
        }
        let (level, said) = if failing.contains(&at) {
            first.get_or_insert((request.clone(), time.clone()));
            (
                "ERROR",
                format!("{error} after {} ms, depot={}", random.number(900..=9_900), depot(random)),
            )
        } else {
            event(random)
        };
        text.push_str(&format!(
            "{day}T{time}.{:03}Z {level:<5} depot.{service}.worker[{process}] req={request} {said}\n",
            now % 1000
        ));
    }
    let (request, since) = first.expect("the burst lies within the log");
    Log { text: text.trim_end().to_owned(), request, since }
}

/// Rows of a table, one of them held.
pub struct Rows {
    pub text: String,
    pub reference: String,
    pub grams: String,
}

/// `n` rows of a depot as the script prints them.
pub fn rows(depot: &str, day: &str, n: usize, random: &mut Stream) -> Rows {
    let held = random.index(n);
    let (mut id, mut found) = (random.number(20_000..=800_000), None);
    let mut rows = Vec::new();
    let mut seconds = random.number(0..=DAY / 2);
    for at in 0..n {
        id += random.number(1..=9);
        seconds += random.number(2..=700);
        let reference = random.fresh(|random| format!("R-{}", random.number(10_300..=98_700)));
        let grams = random.number(1_030..=98_700).to_string();
        let state = if at == held { "held" } else { *random.pick(&["new", "sent", "sent"]) };
        let time = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
        rows.push(format!(
            "{{\"id\": {id}, \"depot\": \"{depot}\", \"reference\": \"{reference}\", \
             \"received_at\": \"{day}T{time}\", \"origin\": \"drop\", \"attempts\": 0, \
             \"refused_because\": null, \"weight_grams\": {grams}, \"state\": \"{state}\"}}"
        ));
        if at == held {
            found = Some((reference, grams));
        }
    }
    let (reference, grams) = found.expect("one of the rows is held");
    Rows { text: rows.join("\n"), reference, grams }
}

/// A depot's code.
pub fn depot(random: &mut Stream) -> String {
    format!("{}{}", random.pick(&["NB", "K", "T", "HL", "S"]), random.number(1..=38))
}

fn event(random: &mut Stream) -> (&'static str, String) {
    let depot = depot(random);
    let (small, large) = (random.number(2..=98), random.number(130..=9_900));
    match random.index(11) {
        0 => (
            "INFO",
            format!(
                "took {large} rows from drop_{depot}_{}.csv in {} ms",
                random.number(101..=1231),
                small * 9
            ),
        ),
        1 => ("INFO", format!("GET /counts 200 {small} ms {large} bytes")),
        2 => ("DEBUG", format!("cache miss depot={depot} age={large}s loaded in {small} ms")),
        3 => ("INFO", format!("batch {} sent, {small} rows, attempt 1", random.hex(10))),
        4 => (
            "WARN",
            format!(
                "depot {depot}: {small} rows refused, first at line {large}: weight is out of range"
            ),
        ),
        5 => ("INFO", format!("GET /list?depot={depot}&limit={small} 200 {} ms", large / 7)),
        6 => ("DEBUG", format!("bucket has {small} tokens, next in 0.{large}s")),
        7 => (
            "INFO",
            format!(
                "handheld {} ({depot}) signed on, firmware {}.{}",
                random.hex(6),
                small % 9,
                small
            ),
        ),
        8 => ("INFO", format!("checkpoint: {large} pages written, wal {} KiB", small * 12)),
        9 => ("WARN", format!("slow statement ({large} ms): mark {small} rows")),
        _ => (
            "INFO",
            format!("event {} accepted type=weighed depot={depot} skew={small}s", random.hex(7)),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_has_one_burst_and_names_first_request() {
        for seed in 0..20 {
            let log = log("intake", "short read", "2025-01-31", 24, &mut Stream::new(seed, "log"));
            let errors: Vec<&str> =
                log.text.lines().filter(|line| line.contains("ERROR")).collect();
            assert!((3..=4).contains(&errors.len()), "{errors:?}");
            assert!(errors[0].contains(&log.request) && errors[0][11..].starts_with(&log.since));
            assert_eq!(log.text.lines().count(), 24);
            let times: Vec<&str> = log.text.lines().map(|line| &line[..23]).collect();
            assert!(times.is_sorted());
        }
    }
}
