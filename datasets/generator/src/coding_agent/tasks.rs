//! The tasks of a session, step by step.

use std::cmp::Ordering;

use recap_core::model::QuestionKind;

use super::project::Task;
use super::repo::Commit;
use super::runner;
use super::work::Work;
use crate::{Act, Place, PlannedQuestion};

impl Work<'_> {
    /// A task from the user's wish to the commit.
    pub fn task(&mut self, task: &Task, opening: bool) {
        let wish = self.random.pick(&task.ask).clone();
        let section = if opening { "u.start" } else { "u.next" };
        let text = self.line(section, &[("task", &wish)]);
        self.user(&text, if opening { 2 } else { 1 }, &[]);
        self.look(task, opening);
        let steps = [
            format!("Failing test in {}", task.test_file),
            format!("Change {}", task.old_file()),
            "Run everything and commit".to_owned(),
        ];
        let listed = self.random.chance(60);
        self.note(listed, &steps, 0);
        let test = self.reproduce(task);
        let red = self.mend(task);
        self.note(listed, &steps, 2);
        self.verify(task);
        let decision = self.random.chance(70).then(|| self.decide(task));
        if self.random.chance(60) {
            self.use_something();
        }
        let commit = self.commit(task);
        if self.random.chance(60) {
            self.use_something();
        }
        self.note(listed, &steps, 3);
        let (hash, _) = self.stamp(commit);
        let gaps = [("finding", task.finding.as_str()), ("topic", &task.topic)];
        let text = self.line("done", &[gaps[0], gaps[1], ("hash", &hash), ("test", &task.test)]);
        let done = self.script.say(text);
        self.ask_about(task, [test, red], commit, done);
        if let Some((offered, chosen, option)) = decision {
            self.ask_about_decision(task, offered, chosen, &option);
        }
        self.done.push((task.topic.clone(), commit));
    }

    /// Updates the list of steps, for tasks that have one.
    fn note(&mut self, listed: bool, steps: &[String], done: usize) {
        if listed {
            let state = |at: usize| match at.cmp(&done) {
                Ordering::Less => "completed",
                Ordering::Equal => "in_progress",
                Ordering::Greater => "pending",
            };
            let items: Vec<(&str, &str)> =
                steps.iter().enumerate().map(|(at, step)| (step.as_str(), state(at))).collect();
            let act = self.noting(&items);
            self.act(String::new(), vec![act]);
        }
    }

    /// Reads what the task is about, and around it.
    fn look(&mut self, task: &Task, opening: bool) {
        let gaps = [("file", task.file.as_str()), ("look", &task.look), ("topic", &task.topic)];
        let text = self.line("start", &gaps);
        let mut acts = vec![self.searching(&task.look, "")];
        if opening {
            let log = self.checkout.repo.log(12);
            acts.insert(0, self.shell("git log --oneline --date=short -12", log));
        }
        if task.create.is_some() {
            let listed = self.checkout.repo.below("migrations/");
            acts.push(self.shell("git ls-files migrations", listed));
        }
        acts.push(self.reading(&task.file, None));
        self.act(text, acts);
        if opening {
            let acts =
                ["ops/inventory.toml", "docs/neighbours.md"].map(|path| self.reading(path, None));
            self.act("The notes on the machines and on the neighbouring teams, so that I know what is not ours.".into(), acts.into());
        }
        let callers: Vec<String> = self.unread(task).into_iter().take(2).collect();
        for path in callers {
            if self.script.left() < 5_000 {
                break;
            }
            let text = self.maybe("more", &[("file", &path)]);
            let act = self.reading(&path, None);
            self.act(text, vec![act]);
        }
    }

    /// Sources that were not read yet, those first that the task changes too.
    pub fn unread(&mut self, task: &Task) -> Vec<String> {
        let repo = &self.checkout.repo;
        let is_new = |path: &&str| !self.read.iter().any(|read| read == path) && *path != task.file;
        let is_known = |path: &&str| repo.paths().any(|known| known == *path);
        let also = task
            .also
            .iter()
            .map(|edit| edit.file.as_str())
            .chain([task.old_file(), &task.test_file]);
        let mut first: Vec<String> =
            also.filter(is_new).filter(is_known).map(str::to_owned).collect();
        first.dedup();
        let is_source = |path: &&str| {
            let is_code = path.ends_with(".py") || path.ends_with(".go");
            is_code && !path.contains("test") && !path.contains("__init__")
        };
        let mut rest: Vec<String> =
            repo.paths().filter(is_new).filter(is_source).map(str::to_owned).collect();
        self.random.shuffle(&mut rest);
        rest.retain(|path| !first.contains(path));
        first.extend(rest);
        first
    }

    /// Writes the test and sees it fail.
    fn reproduce(&mut self, task: &Task) -> Place {
        let text = self.line("reproduce", &[("topic", &task.topic)]);
        let repo = &self.checkout.repo;
        let act = if repo.paths().any(|path| path == task.test_file) {
            let whole = repo.file(&task.test_file).to_owned();
            let last = whole.trim_end().lines().last().unwrap_or_default().to_owned();
            let tail = tail_of(&whole, &last);
            self.editing(&task.test_file, &tail, &format!("{tail}{}", task.test_code))
        } else {
            self.writing(&task.test_file, task.test_code.trim_start())
        };
        self.act(text, vec![act]);
        let run =
            runner::run_file(self.checkout.language, &self.checkout.repo, task, &mut self.random);
        let text = self.maybe("run", &[]);
        let act = self.running(run);
        self.act(text, vec![act]).1[0]
    }

    /// Says what the test showed and changes the code.
    fn mend(&mut self, task: &Task) -> Place {
        let shown = [("topic", task.topic.as_str()), ("value", &task.value)];
        let text = self.line("red", &[("file", task.old_file()), shown[0], shown[1]]);
        let mut acts = Vec::new();
        if let (Some(path), Some(text)) = (&task.create, &task.create_text) {
            acts.push(self.writing(path, text));
        }
        acts.push(self.editing(task.old_file(), &task.old, &task.new));
        for edit in &task.also {
            acts.push(self.editing(&edit.file, &edit.old, &edit.new));
        }
        // Some edits go out together, some one by one.
        if acts.len() > 1 && self.random.chance(50) {
            let mut acts = acts.into_iter();
            let first: Vec<Act> = acts.by_ref().take(1).collect();
            let (red, _) = self.act(text, first);
            for act in acts {
                self.act(String::new(), vec![act]);
            }
            red
        } else {
            self.act(text, acts).0
        }
    }

    /// Runs the test, then everything.
    fn verify(&mut self, task: &Task) {
        let language = self.checkout.language;
        let run = runner::run_file(language, &self.checkout.repo, task, &mut self.random);
        let text = self.maybe("again", &[]);
        let act = self.running(run);
        self.act(text, vec![act]);
        if self.random.chance(55) {
            let text = self.maybe("reread", &[("file", &task.file)]);
            let new = task.new.lines().next().unwrap_or_default();
            let line = self.checkout.repo.line_of(task.old_file(), new);
            let whole = self.random.chance(40);
            let act = self.reading(task.old_file(), (!whole).then_some(line));
            self.act(text, vec![act]);
        }
        let coverage = self.random.chance(30);
        let run = runner::run_all(language, &self.checkout.repo, coverage, &mut self.random);
        let mut text = self.maybe("suite", &[]);
        if self.random.chance(25) {
            let failed = runner::flaky(language, &run.command, &mut self.random);
            let act = self.running(failed);
            self.act(text, vec![act]);
            text = self.line("flaky", &[]);
        }
        let act = self.running(run);
        self.act(text, vec![act]);
    }

    /// Asks what the code cannot answer, and is told.
    fn decide(&mut self, task: &Task) -> (Place, Place, String) {
        let mut options = task.options.clone();
        self.random.shuffle(&mut options);
        let listed: String = options.iter().map(|option| format!("\n- {option}?")).collect();
        let listed = listed + "\n";
        let text = self.line("choose", &[("matter", &task.matter), ("options", &listed)]);
        let offered = self.script.say(text);
        let option = self.random.pick(&options).clone();
        let gaps =
            [("matter", task.matter.as_str()), ("option", &option), ("reason", &task.reason)];
        let text = self.line("u.choose", &gaps);
        let keep = [&option, &task.reason, &task.matter].map(String::clone);
        let chosen = self.user(&text, 1, &keep);
        (offered, chosen, option)
    }

    fn commit(&mut self, task: &Task) -> Place {
        let mut acts = Vec::new();
        let mut text = self.maybe("commit", &[]);
        if self.random.chance(45) {
            let said = self.maybe("diff", &[]);
            let diff = self.checkout.repo.diff();
            let act = self.shell("git diff", diff);
            self.act(said, vec![act]);
        } else if self.random.chance(50) {
            let status = self.checkout.repo.status();
            acts.push(self.shell("git status --short", status));
        }
        if text.is_empty() && self.random.chance(30) {
            text = self.line("commit", &[]);
        }
        let ticket = self.agenda.known("ticket").map(|ticket| format!(" ({ticket})"));
        let subject = format!("{}{}", task.subject, ticket.unwrap_or_default());
        let commit = Commit {
            hash: self.random.fresh(|random| random.hex(7)),
            day: self.script.today().to_string(),
            subject: subject.clone(),
        };
        let command = format!(
            "git add -A && git commit -q -m {subject:?} && git log -1 --format='%h %ad %s' --date=short --shortstat --summary"
        );
        let output = self.checkout.repo.commit(commit);
        acts.push(self.shell(&command, output));
        *self.act(text, acts).1.last().expect("the commit is a call")
    }

    /// Hash and day of a commit, as git printed them.
    pub fn stamp(&self, commit: Place) -> (String, String) {
        let said = self.script.text(commit);
        let mut words = said.split(' ').map(str::to_owned);
        (words.next().unwrap_or_default(), words.next().unwrap_or_default())
    }

    fn ask_about(&mut self, task: &Task, red: [Place; 2], commit: Place, done: Place) {
        let (topic, test) = (("topic", task.topic.as_str()), ("test", task.test.as_str()));
        let subject = ("subject", task.subject.as_str());
        let (hash, day) = self.stamp(commit);
        // A commit is known by what was said of it, or by its title.
        let (question, place) = if self.random.chance(50) {
            (self.question("ask.commit", &[topic]), done)
        } else {
            (self.question("ask.commit_title", &[subject]), commit)
        };
        self.script
            .ask(PlannedQuestion::any_of(QuestionKind::Artifact, question, [hash]).from(&[place]));
        let question = self.question("ask.failing", &[topic]);
        self.script
            .ask(PlannedQuestion::any_of(QuestionKind::Fact, question, [&task.value]).from(&red));
        if self.random.chance(60) {
            let question = self.question("ask.test", &[topic]);
            let question = PlannedQuestion::any_of(QuestionKind::Artifact, question, [&task.test]);
            self.script.ask(question.from(&[done]));
        }
        if self.random.chance(15) {
            let question = self.question("ask.which_commit", &[test]);
            let question = PlannedQuestion::any_of(QuestionKind::MultiHop, question, [&day]);
            self.script.ask(question.from(&[done, commit]));
        }
        if self.random.chance(30) {
            let question = self.question("ask.days", &[subject]);
            self.script.ask(
                PlannedQuestion::any_of(QuestionKind::Temporal, question, [day]).from(&[commit]),
            );
        }
        if let Some(path) = &task.create {
            let question = self.question("ask.created", &[subject]);
            let question = PlannedQuestion::any_of(QuestionKind::Artifact, question, [path]);
            self.script.ask(question.from(&[commit]));
        }
    }

    fn ask_about_decision(&mut self, task: &Task, offered: Place, chosen: Place, option: &str) {
        let matter = ("matter", task.matter.as_str());
        let rejected: Vec<&String> = task.options.iter().filter(|known| *known != option).collect();
        let question = self.question("ask.decision", &[matter]);
        let question = PlannedQuestion::any_of(QuestionKind::Decision, question, [option]);
        self.script.ask(question.from(&[offered, chosen]).stale(rejected.iter().copied()));
        let figure_of = ("figure_of", task.figure_of.as_str());
        let question = self.question("ask.figure", &[matter, figure_of]);
        self.script.ask(
            PlannedQuestion::any_of(QuestionKind::Decision, question, [&task.figure])
                .from(&[chosen]),
        );
        if self.random.chance(25) {
            let question = self.question("ask.why", &[matter]);
            let against = format!(
                "turned down: {}",
                rejected.iter().map(|o| o.as_str()).collect::<Vec<_>>().join(", ")
            );
            let nuggets =
                [format!("chosen: {option}"), format!("because {}", task.reason), against];
            let question = PlannedQuestion::rubric(QuestionKind::Decision, question, nuggets);
            self.script.ask(question.from(&[offered, chosen]).stale(rejected));
        }
    }
}

/// The shortest end of `text` that begins a line and stands there once.
fn tail_of(text: &str, last: &str) -> String {
    let mut from = text.trim_end().len() - last.len();
    while text.matches(&text[from..]).count() > 1 {
        from = text[..from.saturating_sub(1)].rfind('\n').map_or(0, |at| at + 1);
    }
    text[from..].to_owned()
}
