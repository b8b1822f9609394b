//! What happens between the tasks: remarks, looks at the machines, the end.

use recap_core::model::QuestionKind;

use super::ops::{self, ERRORS, SERVICES};
use super::work::Work;
use crate::PlannedQuestion;

/// Tokens of a row of a table, about.
const ROW: u64 = 75;

/// Tokens of a line of a log, about.
const LOG_LINE: u64 = 48;

impl Work<'_> {
    /// What comes up between two tasks.
    pub fn between(&mut self) {
        if self.script.left() > 2_500 {
            match self.done.len() % 3 {
                1 => self.status(),
                2 => {
                    let room = self.script.left() / ROW / 12;
                    let n = self.random.number(20..=38) + room.min(34);
                    self.rows(n as usize);
                }
                _ => {
                    let room = self.script.left() / LOG_LINE / 30;
                    let lines = self.random.number(18..=40) + room;
                    self.log(lines);
                }
            }
        }
        // Whatever has piled up is said now, a few things at a time.
        let mut waiting = self.agenda.due(self.script.progress());
        while waiting > 3 {
            self.aside();
            waiting = self.agenda.due(self.script.progress());
        }
    }

    /// The user mentions things and the agent takes note.
    fn aside(&mut self) {
        let n = self.random.number(1..=3) as usize;
        let text = if self.random.chance(12) { self.line("u.go", &[]) } else { String::new() };
        self.user(&text, n, &[]);
        let text = self.line("ack", &[]);
        self.script.say(text);
    }

    /// The agent looks at an environment; the newest numbers count.
    fn status(&mut self) {
        let at = self.random.index(self.environments.len());
        let env = self.environments[at].name;
        let text = self.line("u.status", &[("env", env)]);
        self.user(&text, 1, &[]);
        self.environments[at].wander(&mut self.random);
        let table = self.environments[at].table();
        let act = self.shell(&format!("ops/status --env {env}"), table);
        let text = self.maybe("status", &[("env", env)]);
        let place = self.act(text, vec![act]).1[0];
        self.seen[at].push(place);
        let snapshot = self.environments[at].clone();
        self.snapshots[at].push(snapshot);
        if self.random.chance(50) {
            self.use_something();
        }
        let text = self.line("status_said", &[("env", env)]);
        self.script.say(text);
    }

    /// The agent reads a log of `lines` lines.
    fn log(&mut self, lines: u64) {
        let free: Vec<(&str, &str)> = SERVICES
            .iter()
            .copied()
            .zip(self.random.sample(ERRORS, SERVICES.len()))
            .filter(|(service, _)| !self.logged.contains(service))
            .collect();
        if free.is_empty() {
            return self.explain();
        }
        let (service, error) = *self.random.pick(&free);
        self.logged.push(service);
        let text = self.line("u.log", &[("service", service)]);
        self.user(&text, 1, &[]);
        let day = self.script.today().to_string();
        let log = ops::log(service, error, &day, lines.max(14) as usize, &mut self.random);
        let act = self.shell(&format!("ops/log {service} --tail {lines}"), log.text).takes(3);
        let text = self.maybe("log", &[("service", service)]);
        let place = self.act(text, vec![act]).1[0];
        let gaps = [("service", service), ("error", error)];
        let found = [gaps[0], gaps[1], ("since", &log.since), ("request", &log.request)];
        let text = self.line("log_said", &found);
        let said = self.script.say(text);
        let question = self.question("ask.request", &gaps);
        let question = PlannedQuestion::any_of(QuestionKind::Fact, question, [log.request]);
        self.script.ask(question.from(&[place, said]));
        let question = self.question("ask.since", &gaps);
        let question = PlannedQuestion::any_of(QuestionKind::Temporal, question, [log.since]);
        self.script.ask(question.from(&[place, said]));
    }

    /// The agent lists `n` rows of a depot.
    fn rows(&mut self, n: usize) {
        let depot = self.random.fresh(ops::depot);
        let at = self.random.index(self.environments.len());
        let gaps = [("depot", depot.as_str()), ("env", self.environments[at].name)];
        let text = self.line("u.rows", &gaps);
        self.user(&text, 1, &[]);
        let day = self.script.today().to_string();
        let rows = ops::rows(&depot, &day, n, &mut self.random);
        let command = format!("ops/rows --env {} --depot {depot} --json", gaps[1].1);
        let act = self.shell(&command, rows.text).takes(2);
        let text = self.maybe("rows", &gaps);
        let place = self.act(text, vec![act]).1[0];
        let text = self.line("rows_said", &[gaps[0], ("reference", &rows.reference)]);
        let said = self.script.say(text);
        // The weight stands in the table alone.
        let asked = [("ask.held", rows.reference, said), ("ask.held_weight", rows.grams, place)];
        for (section, value, place) in asked {
            let question = self.question(section, &gaps[..1]);
            self.script
                .ask(PlannedQuestion::any_of(QuestionKind::Fact, question, [value]).from(&[place]));
        }
    }

    /// The user wants to know about a file.
    pub fn explain(&mut self) {
        let mut paths: Vec<String> = self.checkout.repo.paths().map(str::to_owned).collect();
        self.random.shuffle(&mut paths);
        // A token is about three characters of numbered source.
        let room = self.script.left().saturating_sub(super::END) as usize * 3;
        paths.retain(|path| self.checkout.repo.file(path).len() < room.max(1_200));
        let unread = paths.iter().find(|path| !self.read.contains(path));
        let path = unread.unwrap_or(&paths[0]).clone();
        let text = self.line("u.explain", &[("file", &path)]);
        self.user(&text, 1, &[]);
        let act = self.reading(&path, None);
        self.act(String::new(), vec![act]);
        let text = self.line("explained", &[("file", &path)]);
        self.script.say(text);
    }

    /// Something small, where there is no room for a task any more.
    pub fn fill(&mut self) {
        let room = self
            .script
            .left()
            .saturating_sub(super::END + super::REMARK * self.agenda.left() as u64);
        if self.logged.len() < SERVICES.len() && room > 900 {
            let lines = (room / LOG_LINE).saturating_sub(4).clamp(14, 110);
            self.log(lines);
        } else if room > 900 && self.random.chance(50) {
            self.rows((room / ROW).saturating_sub(4).clamp(8, 44) as usize);
        } else {
            self.explain();
        }
    }

    /// The last remarks, the summary, and the questions about all of it.
    pub fn close(&mut self) {
        self.agenda.release();
        while self.agenda.left() > 0 {
            self.aside();
        }
        while self.script.left() > super::END + 350 {
            self.fill();
        }
        let text = self.line("u.wrap", &[]);
        self.user(&text, 0, &[]);
        let done =
            self.done.iter().map(|(topic, place)| format!("{topic} ({})", self.stamp(*place).0));
        let done = done.collect::<Vec<_>>().join("; ");
        let text = self.line("summary", &[("done", &done)]);
        self.script.say(text);
        self.ask_about_states();
        self.ask_about_order();
        for line in self.asks.wordings("ask.absent") {
            let (word, question) = line.split_once('|').expect("word and question");
            if self.random.chance(45) {
                self.script.ask(PlannedQuestion::unanswerable(question, [word]));
            }
        }
    }

    /// The newest numbers of each environment that was looked at.
    fn ask_about_states(&mut self) {
        for at in 0..self.environments.len() {
            let env = self.environments[at].name;
            let (Some(place), snapshots) =
                (self.seen[at].last().copied(), self.snapshots[at].clone())
            else {
                continue;
            };
            let Some((newest, older)) = snapshots.split_last() else { continue };
            let picked = self.random.sample(&[0, 1, 2, 3], 2);
            for (n, number) in picked.into_iter().enumerate() {
                let service = &newest.services[number];
                let gaps = [("service", service.name), ("env", env)];
                let before = older.iter().map(|snapshot| &snapshot.services[number]);
                let (section, value, stale): (&str, String, Vec<String>) = if n == 0 {
                    (
                        "ask.queue",
                        service.queue.to_string(),
                        before.map(|s| s.queue.to_string()).collect(),
                    )
                } else {
                    (
                        "ask.p95",
                        format!("{} ms", service.p95),
                        before.map(|s| format!("{} ms", s.p95)).collect(),
                    )
                };
                let question = self.question(section, &gaps);
                let question = PlannedQuestion::any_of(QuestionKind::Snapshot, question, [value]);
                self.script.ask(question.from(&[place]).stale(stale));
            }
        }
    }

    fn ask_about_order(&mut self) {
        if self.done.len() < 3 {
            return;
        }
        let (topics, places): (Vec<String>, Vec<_>) = self.done.iter().cloned().unzip();
        let question = self.question("ask.summary", &[]);
        self.script.ask(
            PlannedQuestion::rubric(QuestionKind::Summary, question, topics).from(&places).late(),
        );
        let picked: Vec<usize> = {
            let all: Vec<usize> = (0..self.done.len()).collect();
            self.random.sample(&all, 3)
        };
        let named: Vec<&str> = picked.iter().map(|at| self.done[*at].0.as_str()).collect();
        let listed = named.join("; ");
        let mut order = picked.clone();
        order.sort_unstable();
        let nuggets: Vec<String> = order
            .windows(2)
            .map(|pair| format!("{} before {}", self.done[pair[0]].0, self.done[pair[1]].0))
            .collect();
        let places: Vec<_> = order.iter().map(|at| self.done[*at].1).collect();
        let question = self.question("ask.order", &[("things", &listed)]);
        self.script
            .ask(PlannedQuestion::rubric(QuestionKind::Ordering, question, nuggets).from(&places));
    }
}
