//! What the user mentions beside the tasks, and when.

use std::collections::BTreeMap;

use recap_core::model::QuestionKind;

use super::facts::{self, PREFERENCES, RULES, Rule, TOPICS, Topic};
use super::work::Work;
use crate::{Fact, FactId, Phrases, Place, PlannedQuestion, Stream};

/// Something to be mentioned.
#[derive(Clone, Copy)]
enum Beat {
    /// A fact, for the first time.
    Say(&'static Topic),
    /// Its next value.
    Change(&'static Topic),
    /// A rule or a preference.
    Rule(&'static Rule, QuestionKind),
    Tone,
    Concept,
    Freeze,
    Unfreeze,
    /// Something is put off.
    Plan,
}

/// Beats by the share of the session, in percent, from which they are due.
pub struct Agenda {
    beats: Vec<(u64, Beat)>,
    facts: Vec<(&'static str, FactId)>,
    plans: Vec<&'static str>,
    known: BTreeMap<&'static str, String>,
    /// Whether the migrations must be left alone now.
    pub frozen: bool,
}

/// A beat in words.
pub struct Remark {
    /// What the user says.
    pub text: String,
    note: Note,
}

enum Note {
    State(&'static Topic, String),
    Ask(PlannedQuestion),
    Freeze,
    Unfreeze(PlannedQuestion),
}

impl Agenda {
    /// Plans a session of `tokens` tokens.
    pub fn new(random: &mut Stream, rules: &mut Phrases, tokens: u64) -> Agenda {
        let mut beats = Vec::new();
        let long = tokens >= 24_000;
        let topics: Vec<&'static Topic> = TOPICS.iter().collect();
        let topics = random.sample(&topics, if long { 15 } else { 11 });
        for (at, topic) in topics.into_iter().enumerate() {
            let said = random.number(0..=58);
            beats.push((said, Beat::Say(topic)));
            // Two of five change, one of them twice.
            if at % 5 < 2 {
                let changed = random.number(said + 12..=said + 30);
                beats.push((changed, Beat::Change(topic)));
                if at % 5 == 0 && long {
                    beats.push((
                        random.number(changed + 8..=94.max(changed + 8)),
                        Beat::Change(topic),
                    ));
                }
            }
        }
        let laws: Vec<&'static Rule> = RULES.iter().collect();
        for (at, rule) in random.sample(&laws, if long { 5 } else { 4 }).into_iter().enumerate() {
            let due = if at < 2 { 0 } else { random.number(5..=45) };
            beats.push((due, Beat::Rule(rule, QuestionKind::Constraint)));
        }
        let likings: Vec<&'static Rule> = PREFERENCES.iter().collect();
        for rule in random.sample(&likings, 2) {
            beats.push((random.number(2..=50), Beat::Rule(rule, QuestionKind::Preference)));
        }
        beats.push((random.number(0..=15), Beat::Tone));
        beats.push((random.number(10..=50), Beat::Concept));
        beats.push((random.number(3..=20), Beat::Freeze));
        beats.push((random.number(35..=60), Beat::Unfreeze));
        for _ in 0..3 {
            beats.push((random.number(30..=90), Beat::Plan));
        }
        // Anything of one moment in any order; a change stays behind its fact.
        random.shuffle(&mut beats);
        beats.sort_by_key(|(due, beat)| (*due, matches!(beat, Beat::Change(_) | Beat::Unfreeze)));
        beats.reverse();
        let mut plans: Vec<&'static str> = rules.wordings("plan.things");
        random.shuffle(&mut plans);
        Agenda { beats, facts: Vec::new(), known: BTreeMap::new(), plans, frozen: false }
    }

    /// The newest value of a fact or a rule, once it was mentioned.
    pub fn known(&self, key: &str) -> Option<&str> {
        self.known.get(key).map(String::as_str)
    }

    /// Beats that are still to come.
    pub fn left(&self) -> usize {
        self.beats.len()
    }

    /// Makes everything due: the session ends.
    pub fn release(&mut self) {
        self.beats.iter_mut().for_each(|(due, _)| *due = 0);
    }

    /// Beats that are due at `progress` percent.
    pub fn due(&self, progress: u64) -> usize {
        self.beats.iter().filter(|(due, _)| *due <= progress).count()
    }
}

impl Work<'_> {
    /// Up to `n` remarks that are due; none are when the session is younger.
    pub fn remarks(&mut self, n: usize) -> Vec<Remark> {
        let progress = self.script.progress();
        let mut remarks = Vec::new();
        while remarks.len() < n {
            match self.agenda.beats.last() {
                Some((due, _)) if *due <= progress => {}
                _ => break,
            }
            let (_, beat) = self.agenda.beats.pop().expect("looked at above");
            remarks.push(self.remark(beat));
        }
        remarks
    }

    fn remark(&mut self, beat: Beat) -> Remark {
        match beat {
            Beat::Say(topic) => self.fact("say", topic),
            Beat::Change(topic) => self.fact("change", topic),
            Beat::Rule(rule, kind) => {
                let value = self.random.fresh(rule.value);
                self.agenda.known.insert(rule.key, value.clone());
                self.rule(rule.key, kind, &value)
            }
            Beat::Tone => {
                let text = self.rules.say(&mut self.random, "say.tone", &[]);
                let question = self.rules.say(&mut self.random, "ask.tone", &[]);
                let nuggets =
                    ["short and plain", "no praise, no cheerfulness", "doubts are said first"];
                // The wordings differ in what they ask for; all ask for these.
                let question =
                    PlannedQuestion::rubric(QuestionKind::Tone, question, nuggets).late();
                Remark { text, note: Note::Ask(question) }
            }
            Beat::Concept => {
                let value = self.random.fresh(facts::nickname);
                self.rule("concept", QuestionKind::SharedConcept, &value)
            }
            Beat::Freeze => {
                let text = self.rules.say(&mut self.random, "say.freeze", &[]);
                Remark { text, note: Note::Freeze }
            }
            Beat::Unfreeze => {
                let shapes = &self.shapes;
                let ticket = self.random.fresh(|random| shapes.ticket(random));
                let text = self.rules.say(&mut self.random, "say.unfreeze", &[("v", &ticket)]);
                let question = self.rules.say(&mut self.random, "ask.freeze", &[]);
                let question = PlannedQuestion::any_of(QuestionKind::Update, question, [ticket]);
                Remark { text, note: Note::Unfreeze(question) }
            }
            Beat::Plan => {
                let thing = self.agenda.plans.pop().expect("there are more things than plans");
                let shapes = &self.shapes;
                let ticket = self.random.fresh(|random| shapes.ticket(random));
                let gaps = [("v", ticket.as_str()), ("thing", thing)];
                let text = capital(self.rules.say(&mut self.random, "say.plan", &gaps));
                let question = capital(self.rules.say(&mut self.random, "ask.plan", &gaps[1..]));
                let question = PlannedQuestion::any_of(QuestionKind::Plan, question, [ticket]);
                Remark { text, note: Note::Ask(question) }
            }
        }
    }

    fn fact(&mut self, verb: &str, topic: &'static Topic) -> Remark {
        let shapes = &self.shapes;
        let value = self.random.fresh(|random| (topic.value)(random, shapes));
        let section = format!("{verb}.{}", topic.key);
        let text = self.facts.say(&mut self.random, &section, &[("v", &value)]);
        Remark { text, note: Note::State(topic, value) }
    }

    fn rule(&mut self, key: &str, kind: QuestionKind, value: &str) -> Remark {
        let text = self.rules.say(&mut self.random, &format!("say.{key}"), &[("v", value)]);
        let question = self.rules.say(&mut self.random, &format!("ask.{key}"), &[]);
        Remark { text, note: Note::Ask(PlannedQuestion::any_of(kind, question, [value])) }
    }

    /// Remembers what was said with a message.
    pub fn register(&mut self, remark: Remark, place: Place) {
        match remark.note {
            Note::State(topic, value) => {
                let known = self.agenda.facts.iter().find(|(key, _)| *key == topic.key);
                let id = known.map(|(_, id)| *id).unwrap_or_else(|| {
                    let section = format!("ask.{}", topic.key);
                    let wordings = self.facts.all(&mut self.random, &section, &[]);
                    let id = self.script.fact(Fact::new(topic.kind, wordings));
                    self.agenda.facts.push((topic.key, id));
                    id
                });
                self.script.state(id, &value, place);
                self.agenda.known.insert(topic.key, value);
            }
            Note::Ask(question) => self.script.ask(question.from(&[place])),
            Note::Freeze => self.agenda.frozen = true,
            Note::Unfreeze(question) => {
                self.agenda.frozen = false;
                self.script.ask(question.from(&[place]));
            }
        }
    }
}

/// `text` with a capital at its beginning.
fn capital(text: String) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |c| c.to_uppercase().chain(letters).collect())
}
