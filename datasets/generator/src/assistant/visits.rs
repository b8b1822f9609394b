//! Appointments: made, moved, looked at; and the people they are with.

use jiff::ToSpan;
use jiff::civil::Date;
use recap_core::model::QuestionKind;
use serde_json::json;

use super::bank::{Shape, ahead, day, weekday};
use super::diary::is_work_day;
use super::session::OpenSession;
use crate::{Act, Place};

/// An appointment that was made.
#[derive(Clone, Debug)]
pub struct Visit {
    /// Which text.
    pub text: usize,
    /// Where it stands in the diary.
    pub event: usize,
}

impl OpenSession<'_> {
    /// A free time on a work day `least` to `most` days ahead. Times are never
    /// given twice, so that no two appointments share theirs.
    pub fn free_time(
        &mut self,
        least: i64,
        most: i64,
        minutes: i64,
        own: Option<usize>,
    ) -> (Date, String) {
        let today = self.today();
        loop {
            let date = ahead(&mut self.random, today, least, most);
            let time = self.random.fresh(|r| {
                let five = format!("{:02}:{:02}", r.number(8..=17), 5 * r.number(0..=11));
                // The day makes it one of many; only the pair must be new.
                format!("{date} {five}")
            });
            let time = time.split_once(' ').expect("a date and a time").1.to_owned();
            if self.diary.is_free(date, &time, minutes, own) {
                return (date, time);
            }
        }
    }

    /// An appointment is made.
    pub fn visit(&mut self, n: usize) {
        let text = self.bank.errands.visit[n].clone();
        let who = self.person(&text.role, &text.org);
        let (date, time) = self.free_time(12, 40, text.minutes, None);
        let room = Shape::Room.draw(&mut self.random, date);
        let (named, days) = (who.name.clone(), format!("{} {}", weekday(date), day(date)));
        let gaps = [
            ("what", text.what.as_str()),
            ("who", &named),
            ("role", &text.role),
            ("org", &text.org),
            ("day", &days),
            ("time", &time),
            ("room", &room),
        ];
        let place = self.user("u.visit", &gaps);
        let look =
            Act::new("calendar_week", json!({"date": date.to_string()}), self.diary.shown(date));
        self.act("looking", &gaps, vec![look]);
        let house = format!("{}, room {room}", text.org);
        let event = self.diary.add(&text.what, date, &time, text.minutes, &house, &mut self.random);
        self.enter("event_create", event, &gaps);
        let more = self.around(event);
        self.say_more("visit.made", &gaps, &more);
        self.state(
            &format!("visit.{n}"),
            QuestionKind::Temporal,
            ("ask.visit", &gaps),
            &time,
            place,
        );
        self.state(&format!("room.{n}"), QuestionKind::Fact, ("ask.room", &gaps), &room, place);
        self.visits.push(Visit { text: n, event });
        self.milestones.push((format!("making the appointment for {}", text.what), place));
        if self.random.chance(65) {
            self.reach(n, place);
        }
    }

    /// It is moved.
    pub fn shift(&mut self, n: usize) {
        let Some(visit) = self.visits.iter().find(|visit| visit.text == n).cloned() else { return };
        // What is over cannot be moved any more.
        if self.diary.events[visit.event].start.date() <= self.today() {
            return self.week();
        }
        let text = self.bank.errands.visit[n].clone();
        let who = self.person(&text.role, &text.org);
        let (date, time) = self.free_time(9, 38, text.minutes, Some(visit.event));
        let days = format!("{} {}", weekday(date), day(date));
        let why = self.random.pick(&text.moves).clone();
        let gaps = [
            ("what", text.what.as_str()),
            ("who", who.first()),
            ("day", &days),
            ("time", &time),
            ("why", &why),
        ];
        let place = self.user("u.move", &gaps);
        self.diary.shift(visit.event, date, &time);
        self.enter("event_update", visit.event, &gaps);
        let more = self.around(visit.event);
        self.say_more("moved", &gaps, &more);
        self.state(
            &format!("visit.{n}"),
            QuestionKind::Temporal,
            ("ask.visit", &gaps),
            &time,
            place,
        );
    }

    /// What else stands on the day of an entry, in a sentence.
    fn around(&mut self, event: usize) -> String {
        let (id, date) =
            (self.diary.events[event].id.clone(), self.diary.events[event].start.date());
        let week = self.diary.week(date).into_iter();
        let others: Vec<String> = week
            .filter(|other| other.start.date() == date && other.id != id)
            .map(|other| format!("{} at {}", other.title, other.start.strftime("%H:%M")))
            .collect();
        let day = weekday(date);
        if others.is_empty() {
            self.detail("more.free_day", &[("weekday", day)])
        } else {
            self.detail("more.full_day", &[("weekday", day), ("others", &others.join(" and "))])
        }
    }

    /// The calendar tool enters or changes an event.
    fn enter(&mut self, tool: &str, event: usize, gaps: &[(&str, &str)]) -> Vec<Place> {
        let shown = self.diary.events[event].shown();
        let mut arguments = shown.clone();
        if tool == "event_create" {
            arguments.as_object_mut().expect("an object").shift_remove("id");
        }
        let result = json!({"ok": true, "event": shown}).to_string();
        self.act("entering", gaps, vec![Act::new(tool, arguments, result)])
    }

    /// The week ahead.
    pub fn week(&mut self) {
        let today = self.today();
        let from = today.checked_add(7.days()).expect("within the calendar");
        // A week in which something of this session stands, if there is one.
        let ahead = self.visits.iter().map(|visit| self.diary.events[visit.event].start.date());
        let date = ahead.filter(|date| *date > today).min().unwrap_or(from);
        let since = day(super::diary::monday(date));
        self.user("u.week", &[("day", &since)]);
        let shown = self.diary.shown(date);
        let look = Act::new("calendar_week", json!({"date": date.to_string()}), shown);
        let places = self.act("looking", &[], vec![look]);
        let week: Vec<_> = self.diary.week(date).into_iter().cloned().collect();
        let work: Vec<_> = week.iter().filter(|event| is_work_day(event.start.date())).collect();
        let lines: Vec<String> = work
            .iter()
            .map(|event| {
                let short = &weekday(event.start.date())[..3];
                format!("- {short} {} {}", event.start.strftime("%H:%M"), event.title)
            })
            .collect();
        if lines.is_empty() {
            self.say("week.empty", &[("day", &since)]);
            return;
        }
        let known = self.visits.iter().map(|visit| self.diary.events[visit.event].id.clone());
        let known: Vec<String> = known.collect();
        self.say("week.listed", &[("lines", &lines.join("\n")), ("day", &since)]);
        let rare: Vec<_> = week
            .iter()
            .filter(|event| {
                let same = self.diary.events.iter().filter(|other| other.title == event.title);
                same.count() == 1 && !known.contains(&event.id)
            })
            .collect();
        if rare.is_empty() {
            return;
        }
        let event = (*self.random.pick(&rare)).clone();
        let time = event.start.strftime("%H:%M").to_string();
        let gaps = [("what", event.title.as_str()), ("day", &since)];
        let key = format!("once.{}", event.title);
        if self.singles.insert(key) {
            let question = self.question(QuestionKind::Snapshot, "ask.once", &gaps, &[&time]);
            self.asks.ask(question.from(&places));
        }
    }

    /// Somebody's extension is looked up.
    pub fn contact(&mut self, n: usize) {
        let (role, org) = CONTACTS[n % CONTACTS.len()];
        let who = self.person(role, org);
        let mut cards = vec![who.card()];
        // The address book also finds those who are called alike.
        for other in ["reception", "accounts", "assistant to the board", "warehouse"] {
            cards.push(self.person(other, org).card());
        }
        self.random.shuffle(&mut cards);
        let gaps = [("who", who.name.as_str()), ("role", role), ("org", org)];
        self.user("u.contact", &gaps);
        let result = json!({"query": org, "found": cards}).to_string();
        let look = Act::new("contact_find", json!({"query": org}), result);
        let place = self.act("looking", &gaps, vec![look])[0];
        let gaps = [
            ("who", who.name.as_str()),
            ("line", &who.line),
            ("org", org),
            ("address", &who.address),
        ];
        let count = cards.len().to_string();
        let more = self.detail(
            "more.contact",
            &[("mail", who.mail.as_str()), ("count", &count), ("org", org), ("first", who.first())],
        );
        self.say_more("contact", &gaps, &more);
        self.state(&format!("line.{n}"), QuestionKind::Fact, ("ask.line", &gaps), &who.line, place);
        let key = format!("address.{n}");
        self.state(&key, QuestionKind::Fact, ("ask.address", &gaps), &who.address, place);
    }

    /// It has changed; or the address has.
    pub fn correct(&mut self, n: usize) {
        let (role, org) = CONTACTS[n % CONTACTS.len()];
        let today = self.today();
        let at = self.people.meet(role, org, &self.bank.errands, &mut self.random, today);
        let line = Shape::Line.draw(&mut self.random, today);
        let (house, street) =
            (self.random.number(13..=289), self.random.pick(&self.bank.errands.streets));
        let address = format!("{street} {house}");
        let moves = self.random.chance(50);
        let person = &mut self.people.all[at];
        if moves {
            person.address = address.clone();
        } else {
            person.line = line.clone();
        }
        let (who, card) = (person.name.clone(), person.card());
        let value = if moves { address } else { line };
        let gaps = [("who", who.as_str()), ("org", org), ("v", &value), ("line", &value)];
        let (field, section, ask) = if moves {
            ("address", "u.moved_house", "ask.address")
        } else {
            ("extension", "u.new_line", "ask.line")
        };
        let place = self.user(section, &gaps);
        let arguments = json!({"name": who, field: value});
        let result = json!({"ok": true, "contact": card}).to_string();
        self.act("entering", &gaps, vec![Act::new("contact_update", arguments, result)]);
        self.say("corrected", &gaps);
        let key = if moves { format!("address.{n}") } else { format!("line.{n}") };
        self.state(&key, QuestionKind::Fact, (ask, &gaps), &value, place);
    }

    /// How to reach the one that an appointment is with.
    fn reach(&mut self, n: usize, made: Place) {
        let text = self.bank.errands.visit[n].clone();
        let who = self.person(&text.role, &text.org);
        let mut cards = vec![who.card()];
        for other in ["front desk", "accounts", "trainee"] {
            cards.push(self.person(other, &text.org).card());
        }
        self.random.shuffle(&mut cards);
        let gaps = [
            ("who", who.name.as_str()),
            ("what", &text.what),
            ("line", &who.line),
            ("org", &text.org),
            ("role", &text.role),
        ];
        self.user("u.reach", &gaps);
        let result = json!({"query": text.org, "found": cards}).to_string();
        let look = Act::new("contact_find", json!({"query": text.org}), result);
        let place = self.act("looking", &gaps, vec![look])[0];
        let count = cards.len().to_string();
        let more = self.detail(
            "more.contact",
            &[("mail", &who.mail), ("count", &count), ("org", &text.org), ("first", who.first())],
        );
        self.say_more("reach", &gaps, &more);
        let question = self.question(QuestionKind::MultiHop, "ask.reach", &gaps, &[&who.line]);
        self.asks.ask(question.from(&[made, place]));
    }
}

/// People whose numbers the user wants.
const CONTACTS: &[(&str, &str)] = &[
    ("caretaker", "Lindmoor Estates"),
    ("piano teacher", "Tarnfield Music Rooms"),
    ("print shop manager", "Oxley Brandt Print"),
    ("fleet clerk", "Wexcombe Vans"),
    ("editor", "Farrow Tidings"),
    ("swimming coach", "Sedgewater Baths"),
];
