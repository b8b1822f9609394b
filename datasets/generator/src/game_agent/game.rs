//! A session while it is played: who says what, and what was seen.

use std::collections::BTreeMap;

use recap_core::model::QuestionKind;

use super::actions::Move;
use super::agenda::Agenda;
use super::chatter::{Chatter, Claim};
use super::views::Key;
use super::world::World;
use crate::voice::Voice;
use crate::{Phrases, Place, PlannedQuestion, Script, Stream};

/// A purchase and what became of it.
#[derive(Clone, Debug)]
pub struct Trade {
    pub good: usize,
    pub from: usize,
    pub to: usize,
    pub units: u64,
    pub cost: u64,
    pub price: u64,
    pub places: Vec<Place>,
}

/// What is asked for by a receipt, an id or a time: sections of `asks.txt`,
/// what they are about, and the values in the order in which they came up.
#[derive(Clone, Debug)]
pub struct Record {
    pub kind: QuestionKind,
    pub section: &'static str,
    pub gaps: Vec<(&'static str, String)>,
    pub values: Vec<(String, Place)>,
}

/// A session while it is played.
pub struct Game<'s> {
    pub script: &'s mut Script,
    pub random: Stream,
    pub world: World,
    pub chatter: Chatter,
    pub talk: Phrases,
    pub asks: Phrases,
    pub reasons: Phrases,
    pub agenda: Agenda,
    pub voice: Voice,
    /// Values of the world in the order in which they were seen.
    pub ledger: BTreeMap<Key, Vec<(u64, Place)>>,
    pub records: Vec<Record>,
    pub trades: Vec<Trade>,
    pub claims: Vec<(Claim, Place)>,
    /// Claims that the world refuted, and where.
    pub refuted: Vec<(Claim, Place, Place)>,
    /// What the user wrote, with the time.
    pub said: Vec<(String, String)>,
    /// Topics in the order in which they first came up.
    pub first: Vec<(String, Place)>,
    /// Decisions that are still to be taken.
    pub decisions: Vec<super::council::Decision>,
    pub rubrics: usize,
    /// What the agent still has to acknowledge.
    pub pending: Vec<String>,
}

impl Game<'_> {
    /// Now, as the world's machines write it.
    pub fn now(&self) -> String {
        self.script.calendar.now().strftime("%Y-%m-%d %H:%M").to_string()
    }

    /// The commander writes; what is due on the agenda comes along.
    pub fn user(&mut self, section: &str, gaps: &[(&str, &str)]) -> Place {
        let text = self.talk.say(&mut self.random, section, gaps);
        self.write(&text)
    }

    /// The commander writes `text`; what is due on the agenda comes along.
    pub fn write(&mut self, text: &str) -> Place {
        let text = self.voice.typed(&mut self.random, text, &[]);
        self.write_exactly(&text)
    }

    /// As [`Game::write`], without slips of the commander's hand.
    pub fn write_exactly(&mut self, text: &str) -> Place {
        self.world.drift();
        self.chatter.drift(&self.world);
        let mut parts = Vec::new();
        if self.random.chance(9) {
            parts.push(self.talk.say(&mut self.random, "c.aside", &[]));
        }
        parts.push(text.to_owned());
        let due = self.agenda.due(self.script.progress());
        let mut said = Vec::new();
        for remark in due {
            let (text, value) = self.agenda.word(&mut self.random, remark);
            let open = self.random.chance(40);
            let open = open.then(|| self.talk.say(&mut self.random, "c.also", &[]));
            let typed = self.voice.typed(&mut self.random, &text, std::slice::from_ref(&value));
            parts.push(open.map_or(typed.clone(), |open| format!("{open} {typed}")));
            said.push((remark, value, text));
        }
        let apart = self.random.chance(35);
        let mut text = String::new();
        for part in parts {
            // Who leaves out the full stop begins a new line instead.
            let open = text.ends_with(|c: char| c.is_alphanumeric());
            if !text.is_empty() {
                text.push(if apart || open { '\n' } else { ' ' });
            }
            text.push_str(&part);
        }
        let place = self.script.user(text);
        let now = self.now();
        for (remark, value, text) in said {
            self.said.push((now.clone(), text));
            self.agenda.said(self.script, remark, &value, place);
            let noted = match self.agenda.matter(remark) {
                Some(matter) => self.line("a.noted", &[("matter", matter)]),
                None => self.line("a.rule", &[]),
            };
            self.pending.push(noted);
            if let Some(matter) = self.agenda.matter(remark)
                && !self.first.iter().any(|(known, _)| known == matter)
            {
                self.first.push((matter.to_owned(), place));
            }
        }
        place
    }

    /// A line of the agent.
    pub fn line(&mut self, section: &str, gaps: &[(&str, &str)]) -> String {
        self.talk.say(&mut self.random, section, gaps)
    }

    /// A line of the agent, or nothing.
    pub fn maybe(&mut self, section: &str, gaps: &[(&str, &str)]) -> String {
        if self.random.chance(60) { self.line(section, gaps) } else { String::new() }
    }

    /// The agent writes (or not) and calls tools; what they show is remembered.
    pub fn act(&mut self, text: String, moves: Vec<Move>) -> Vec<Place> {
        let text = self.acknowledged(text);
        let (acts, seen): (Vec<_>, Vec<_>) = moves.into_iter().map(|m| (m.act, m.seen)).unzip();
        let (_, places) = self.script.act(text, acts);
        for (seen, place) in seen.into_iter().zip(&places) {
            for (key, value) in seen {
                self.note(key, value, *place);
            }
        }
        places
    }

    fn note(&mut self, key: Key, value: u64, place: Place) {
        let known = self.ledger.entry(key).or_default();
        match known.last_mut() {
            Some((last, newest)) if *last == value => *newest = place,
            _ => known.push((value, place)),
        }
    }

    /// The agent reports, and often thinks a little further.
    pub fn report(&mut self, text: String) -> Place {
        let mut text = self.acknowledged(text);
        for chance in [85, 45] {
            if self.random.chance(chance) {
                let good = self.world.a_good();
                let to = self.reachable(&[self.world.here]);
                let about = self.trade_gaps(good, self.world.here, to);
                let more = self.line("a.more", &gaps(&about));
                text = format!("{text} {more}");
            }
        }
        self.script.say(text)
    }

    /// `text` after what is to be acknowledged.
    fn acknowledged(&mut self, text: String) -> String {
        let mut parts = std::mem::take(&mut self.pending);
        parts.push(text);
        parts.retain(|part| !part.is_empty());
        parts.join(" ")
    }

    /// Remembers an id, a receipt or a time that can be asked for.
    pub fn record(
        &mut self,
        kind: QuestionKind,
        section: &'static str,
        gaps: Vec<(&'static str, String)>,
        value: impl Into<String>,
        place: Place,
    ) {
        let value = (value.into(), place);
        let known = self.records.iter_mut().find(|r| r.section == section && r.gaps == gaps);
        match known {
            Some(known) => known.values.push(value),
            None => self.records.push(Record { kind, section, gaps, values: vec![value] }),
        }
    }

    /// Adds a rubric question, as long as they are few.
    pub fn rubric(&mut self, question: PlannedQuestion, most: usize) {
        if self.rubrics < most {
            self.rubrics += 1;
            self.script.ask(question);
        }
    }

    /// Numbers of the ship that many reports name.
    pub fn numbers(&self) -> Vec<(&'static str, String)> {
        let world = &self.world;
        let hold: Vec<String> = world
            .hold
            .iter()
            .enumerate()
            .filter(|(_, units)| **units > 0)
            .map(|(good, units)| format!("{units} {}", world.goods[good].name))
            .collect();
        vec![
            ("a", world.place().name.to_owned()),
            ("ship", world.ship.to_owned()),
            ("credits", world.credits.to_string()),
            ("hull", world.hull.to_string()),
            ("hullmax", world.hull_max.to_string()),
            ("fuel", world.fuel.to_string()),
            ("fuelmax", world.fuel_max.to_string()),
            ("used", world.used().to_string()),
            ("cap", world.capacity.to_string()),
            ("hold", if hold.is_empty() { "nothing".to_owned() } else { hold.join(", ") }),
        ]
    }
}

/// Gaps as [`Phrases`] takes them.
pub fn gaps<'a>(owned: &'a [(&'static str, String)]) -> Vec<(&'a str, &'a str)> {
    owned.iter().map(|(key, value)| (*key, value.as_str())).collect()
}
