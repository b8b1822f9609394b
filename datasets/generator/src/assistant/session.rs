//! A session while it goes on: what was begun, what comes next.

use std::collections::BTreeSet;

use jiff::civil::Date;
use recap_core::model::QuestionKind;

use super::agenda::Agenda;
use super::asks::Asks;
use super::bank::{Bank, day};
use super::diary::Diary;
use super::lists::List;
use super::people::{People, Person};
use super::purchases::Order;
use super::purse::Purse;
use super::trips::Trip;
use super::visits::Visit;
use super::voice::Voice;
use crate::{Act, Phrases, Place, PlannedQuestion, Script, Stream, fill};

/// Tokens kept for the last words.
const END: u64 = 260;

/// Everything that a scene works on.
pub struct OpenSession<'s> {
    /// What is written.
    pub script: &'s mut Script,
    /// Choices of the world.
    pub random: Stream,
    /// Sentences of both speakers.
    pub talk: Phrases,
    /// How the user types.
    pub voice: Voice,
    /// Texts.
    pub bank: Bank,
    /// People.
    pub people: People,
    /// Calendar.
    pub diary: Diary,
    /// Budget.
    pub purse: Purse,
    /// What could be asked.
    pub asks: Asks,
    /// What is still to come.
    pub agenda: Agenda,
    /// Whether the user has asked for short answers without exclamation marks.
    pub terse: bool,
    /// The first of two statements that will not agree.
    pub clash: Option<(String, Place)>,
    /// Appointments that were made.
    pub visits: Vec<Visit>,
    /// Journeys that were booked.
    pub trips: Vec<Trip>,
    /// Orders that were placed.
    pub orders: Vec<Order>,
    /// Lists that were made.
    pub lists: Vec<List>,
    /// Payments to come: part of the budget, to whom and what for.
    pub payments: Vec<(usize, [String; 2])>,
    /// What was turned down, for which reason.
    pub rejected: Vec<(String, String, Place)>,
    /// Single entries of the diary that are asked for.
    pub singles: BTreeSet<String>,
    /// Things that were settled, in order, for the question about their order.
    pub milestones: Vec<(String, Place)>,
}

impl OpenSession<'_> {
    /// Writes all of it.
    pub fn run(&mut self) {
        while self.script.left() > self.agenda.reserve() + END {
            let stage = self.agenda.next(&mut self.random, self.script.left());
            let Some(stage) = stage else { break };
            self.play(stage);
            self.remarks_that_pile_up(2);
            self.night();
        }
        self.agenda.release();
        self.remarks_that_pile_up(0);
        self.close();
    }

    /// Time goes by until something else comes up.
    fn night(&mut self) {
        let days = *self.random.pick(&[0, 0, 1, 1, 1, 2]);
        for _ in 0..days {
            self.script.calendar.next_morning(&mut self.random);
        }
        let minutes = self.random.number(10..=240);
        self.script.calendar.pass(minutes * 60);
    }

    /// The simulated day.
    pub fn today(&self) -> Date {
        self.script.today()
    }

    /// The person who is `role` at `org`.
    pub fn person(&mut self, role: &str, org: &str) -> Person {
        let today = self.script.today();
        let at = self.people.meet(role, org, &self.bank.errands, &mut self.random, today);
        self.people.all[at].clone()
    }

    /// The user writes a wording of `section`; one remark may come with it.
    pub fn user(&mut self, section: &str, gaps: &[(&str, &str)]) -> Place {
        let mut text = self.talk.say(&mut self.random, section, gaps);
        if self.random.chance(self.voice.chatty) {
            let tail = self.talk.say(&mut self.random, "u.tail", &[]);
            text = format!("{text} {tail}");
        }
        let text = sentences(&text);
        let keep: Vec<&str> = gaps.iter().map(|(_, value)| *value).collect();
        let text = self.voice.typed(&mut self.random, &text, &keep);
        let Some(remark) = self.remark() else { return self.script.user(text) };
        let aside = self.voice.typed(&mut self.random, &remark.text, &remark.keep());
        let text = match self.random.number(0..=3) {
            0 => format!("{aside}\n\n{text}"),
            1 if text.ends_with(['.', '?', '!']) => format!("{text} {aside}"),
            _ => format!("{text}\n\n{aside}"),
        };
        let place = self.script.user(text);
        self.register(remark, place);
        place
    }

    /// A line of the assistant, in the tone that was asked for.
    pub fn line(&mut self, section: &str, gaps: &[(&str, &str)]) -> String {
        let text = sentences(&self.talk.say(&mut self.random, section, gaps));
        if self.terse { text.replace("! ", ". ").replace('!', ".") } else { text }
    }

    /// The assistant answers.
    pub fn say(&mut self, section: &str, gaps: &[(&str, &str)]) -> Place {
        self.say_more(section, gaps, "")
    }

    /// The assistant answers, and goes into detail with `more` unless it was
    /// asked to be short; then it may also add what it could do next.
    pub fn say_more(&mut self, section: &str, gaps: &[(&str, &str)], more: &str) -> Place {
        let text = self.line(section, gaps);
        self.say_text(text, more)
    }

    /// As [`OpenSession::say_more`], for a text that is ready.
    pub fn say_text(&mut self, mut text: String, more: &str) -> Place {
        if !more.is_empty() && (!self.terse || self.random.chance(30)) {
            let gap = if text.contains('\n') { "\n\n" } else { " " };
            text = format!("{text}{gap}{more}");
        }
        if !self.terse && text.ends_with(['.', '!']) && self.random.chance(9) {
            let offer = self.talk.say(&mut self.random, "offer", &[]);
            text = format!("{text} {offer}");
        }
        self.script.say(text)
    }

    /// A sentence of the details that an answer may go into.
    pub fn detail(&mut self, section: &str, gaps: &[(&str, &str)]) -> String {
        sentences(&self.talk.say(&mut self.random, section, gaps))
    }

    /// The assistant uses tools, sometimes with a word of `section` before.
    pub fn act(&mut self, section: &str, gaps: &[(&str, &str)], acts: Vec<Act>) -> Vec<Place> {
        let quiet = self.random.chance(if self.terse { 85 } else { 60 });
        let silent = quiet || section.is_empty();
        let text = if silent { String::new() } else { self.line(section, gaps) };
        self.script.act(text, acts).1
    }

    /// The message at `place` says that the value of `key` is `value`, which a
    /// wording of `section` asks for.
    pub fn state(
        &mut self,
        key: &str,
        kind: QuestionKind,
        (section, gaps): (&str, &[(&str, &str)]),
        value: &str,
        place: Place,
    ) {
        let (talk, random) = (&mut self.talk, &mut self.random);
        self.asks.state(key, kind, || talk.all(random, section, gaps), value, place);
    }

    /// A question in a wording of `section` that one of `values` answers.
    pub fn question(
        &mut self,
        kind: QuestionKind,
        section: &str,
        gaps: &[(&str, &str)],
        values: &[&str],
    ) -> PlannedQuestion {
        let text = self.talk.say(&mut self.random, section, gaps);
        PlannedQuestion::any_of(kind, text, values.iter().copied())
    }

    /// The last words, and the questions about all of it.
    fn close(&mut self) {
        self.user("u.close", &[]);
        self.say("closed", &[]);
        self.ask_for_order();
        self.ask_for_reasons();
        self.ask_for_summary();
        self.ask_for_what_is_absent();
        let most = 30 + (self.script.tokens() / 2_500) as usize;
        let asks = std::mem::take(&mut self.asks);
        asks.settle(self.script, &mut self.random, most);
    }

    fn ask_for_order(&mut self) {
        if self.milestones.len() < 3 {
            return;
        }
        let all: Vec<usize> = (0..self.milestones.len()).collect();
        let named = self.random.sample(&all, 3);
        let names = named.iter().map(|at| self.milestones[*at].0.clone()).collect::<Vec<_>>();
        let mut order = named;
        order.sort_unstable();
        let nuggets: Vec<String> = order
            .windows(2)
            .map(|pair| {
                let name = |at: usize| self.milestones[pair[at]].0.as_str();
                format!("{} came before {}", name(0), name(1))
            })
            .collect();
        let places: Vec<Place> = order.iter().map(|at| self.milestones[*at].1).collect();
        let text = self.talk.say(&mut self.random, "ask.order", &[("things", &names.join("; "))]);
        let question = PlannedQuestion::rubric(QuestionKind::Ordering, text, nuggets);
        self.asks.ask(question.from(&places).late());
    }

    /// The message at `place` turns `what` down.
    pub fn turned_down(&mut self, what: &str, reason: &str, place: Place) {
        // A reason that begins the message has a capital there.
        let said = self.script.text(place).contains(reason);
        let reason = if said { reason.to_owned() } else { capital(reason) };
        self.rejected.push((what.to_owned(), reason, place));
    }

    fn ask_for_reasons(&mut self) {
        let rejected = self.rejected.clone();
        for (what, reason, place) in &rejected {
            let others =
                rejected.iter().map(|(_, other, _)| other).filter(|other| *other != reason);
            let question =
                self.question(QuestionKind::Decision, "ask.why", &[("one", what)], &[reason]);
            self.asks.ask(question.from(&[*place]).near(others));
        }
    }

    fn ask_for_summary(&mut self) {
        let Some(trip) = self.trips.iter().find(|trip| trip.house.is_some()).cloned() else {
            return;
        };
        let house = trip.house.as_deref().unwrap_or_default();
        let nuggets = [
            format!("out on {}", day(trip.out)),
            format!("train {}", trip.train.number),
            format!("stays at {house}"),
        ];
        let text = self.talk.say(&mut self.random, "ask.summary", &[("city", &trip.city)]);
        let question = PlannedQuestion::rubric(QuestionKind::Summary, text, nuggets);
        self.asks.ask(question.from(&trip.places).late());
    }

    fn ask_for_what_is_absent(&mut self) {
        for city in self.random.sample(&self.bank.errands.cities.clone(), 2) {
            let text = self.talk.say(&mut self.random, "ask.no.city", &[("city", &city)]);
            self.asks.ask(PlannedQuestion::unanswerable(text, [city]));
        }
        for line in self.talk.all(&mut self.random, "ask.absent", &[]).into_iter().take(5) {
            let (word, text) = line.split_once('|').expect("a word and a question");
            self.asks.ask(PlannedQuestion::unanswerable(fill(text, &[]), [word]));
        }
    }
}

/// `text` with a capital at the beginning of each sentence.
pub fn sentences(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut begins = true;
    let mut ended = false;
    for c in text.chars() {
        if begins && c.is_alphabetic() {
            out.extend(c.to_uppercase());
        } else {
            out.push(c);
        }
        begins = (begins && !c.is_alphanumeric()) || (ended && c.is_whitespace());
        ended = matches!(c, '.' | '?' | '!');
    }
    out
}

/// `text` with a capital at its beginning.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |c| c.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_start_capitalised_and_decimals_end_none() {
        let text = "moved. the boiler is on 1.5 l now! fine?\n\nyes, www.a.test is.";
        let expected = "Moved. The boiler is on 1.5 l now! Fine?\n\nYes, www.a.test is.";
        assert_eq!(sentences(text), expected);
    }
}
