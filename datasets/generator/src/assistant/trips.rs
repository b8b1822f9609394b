//! Journeys: a train is chosen among several, a house, another train.

use jiff::ToSpan;
use jiff::civil::Date;
use recap_core::model::QuestionKind;
use serde_json::{Value as Json, json};

use super::bank::{Shape, ahead, cents, day, money, weekday};
use super::diary::clock;
use super::session::OpenSession;
use crate::{Act, Place, PlannedQuestion, Stream};

/// Houses that are found in a city.
const HOUSES: usize = 5;

/// A journey that was booked.
#[derive(Clone, Debug)]
pub struct Trip {
    text: usize,
    /// Where to.
    pub city: String,
    /// The first day.
    pub out: Date,
    back: Date,
    /// The train that is booked now.
    pub train: Train,
    reference: String,
    event: usize,
    /// Where the user stays.
    pub house: Option<String>,
    /// Messages that book it and its parts.
    pub places: Vec<Place>,
}

/// A connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Train {
    /// Its number.
    pub number: String,
    depart: String,
    arrive: String,
    changes: u64,
    price: u64,
}

impl Train {
    fn shown(&self) -> Json {
        json!({
            "train": self.number, "depart": self.depart, "arrive": self.arrive,
            "changes": self.changes, "price": money(self.price),
        })
    }
}

/// Connections of one day, in order, that leave at `first` o'clock or later.
pub fn trains(random: &mut Stream, first: u64, count: usize) -> Vec<Train> {
    let mut minutes = first * 60 + random.number(4..=38);
    let ride = random.number(125..=330);
    (0..count)
        .map(|_| {
            let changes = random.number(0..=2);
            let end = minutes + ride + changes * random.number(17..=43);
            let written = |at: u64| format!("{:02}:{:02}", at / 60 % 24, at % 60);
            let train = Train {
                number: random.fresh(|r| format!("RX {}", r.number(1204..=9786))),
                depart: written(minutes),
                arrive: written(end),
                changes,
                price: cents(random, 39, 164),
            };
            minutes += random.number(23..=88);
            train
        })
        .collect()
}

impl OpenSession<'_> {
    /// A journey is booked.
    pub fn trip(&mut self, n: usize) {
        let text = self.bank.errands.trip[n].clone();
        let cities = self.bank.errands.cities.clone();
        let city = self.random.fresh(|r| r.pick(&cities).clone());
        let today = self.today();
        let out = ahead(&mut self.random, today, 16, 45);
        let back =
            out.checked_add((self.random.number(1..=3) as i64).days()).expect("in a calendar");
        let days = (format!("{} {}", weekday(out), day(out)), day(back));
        let gaps = [
            ("city", city.as_str()),
            ("day", &days.0),
            ("back", &days.1),
            ("purpose", &text.purpose),
        ];
        self.user("u.trip", &gaps);
        let count = self.random.number(6..=9) as usize;
        let found = trains(&mut self.random, 6, count);
        self.search_trains(&city, out, &found);
        let picked = self.random.sample(&(0..found.len()).collect::<Vec<_>>(), 3);
        let mut shown: Vec<&Train> = picked.iter().map(|at| &found[*at]).collect();
        shown.sort_by(|a, b| a.depart.cmp(&b.depart));
        let lines = listed(&shown);
        self.say("trip.found", &[("lines", &lines), ("city", &city), ("day", &days.0)]);
        let (train, others) = (&found[picked[0]], [&found[picked[1]], &found[picked[2]]]);
        let gaps = [
            ("city", city.as_str()),
            ("number", &train.number),
            ("depart", &train.depart),
            ("one", &others[0].depart),
            ("two", &others[1].depart),
        ];
        let pick = self.user("u.trip.pick", &gaps);
        let reference =
            self.random.fresh(|r| format!("{}{}", r.number(2..=9), r.hex(5).to_uppercase()));
        let (coach, seat) = (self.random.number(2..=14), self.random.number(11..=98));
        let booked = json!({
            "ok": true, "booking": reference, "train": train.shown(), "date": out.to_string(),
            "to": city, "coach": coach, "seat": seat,
            "return": {"date": back.to_string(), "open": true},
        });
        let arguments =
            json!({"train": train.number, "date": out.to_string(), "return": back.to_string()});
        let book = Act::new("travel_book", arguments, booked.to_string()).takes(4);
        let minutes = 240;
        let title = format!("train to {city}");
        let event =
            self.diary.add(&title, out, &train.depart, minutes, &train.number, &mut self.random);
        let entry = self.diary.events[event].shown();
        let enter = Act::new(
            "event_create",
            json!({"title": title, "date": out.to_string(), "start": train.depart}),
            json!({"ok": true, "event": entry}).to_string(),
        );
        let places = self.act("booking", &gaps, vec![book, enter]);
        let price = money(train.price);
        let said = [
            ("city", city.as_str()),
            ("number", &train.number),
            ("ref", &reference),
            ("price", &price),
        ];
        let numbers = (coach.to_string(), seat.to_string());
        let seated = [
            ("coach", numbers.0.as_str()),
            ("seat", &numbers.1),
            ("arrive", &train.arrive),
            ("back", &days.1),
        ];
        let more = self.detail("more.trip", &seated);
        self.say_more("trip.booked", &said, &more);
        let key = format!("train.{city}");
        self.state(&key, QuestionKind::Decision, ("ask.train", &gaps), &train.number, places[0]);
        self.asks.near(&key, others.map(|other| other.number.clone()));
        let key = format!("depart.{city}");
        self.state(&key, QuestionKind::Temporal, ("ask.depart", &gaps), &train.depart, pick);
        let question = self.question(QuestionKind::Artifact, "ask.booking", &gaps, &[&reference]);
        self.asks.ask(question.from(&[places[0]]));
        self.milestones.push((format!("booking the train to {city}"), places[0]));
        let train = train.clone();
        let (house, places) = (None, vec![places[0]]);
        self.trips.push(Trip { text: n, city, out, back, train, reference, event, house, places });
    }

    /// The travel tool looks for connections.
    fn search_trains(&mut self, city: &str, date: Date, found: &[Train]) {
        let shown: Vec<Json> = found.iter().map(Train::shown).collect();
        let arguments = json!({"to": city, "date": date.to_string()});
        let result =
            json!({"to": city, "date": date.to_string(), "connections": shown}).to_string();
        let search = Act::new("travel_search", arguments, result).takes(3);
        self.act("looking", &[], vec![search]);
    }

    /// A house to stay in.
    pub fn stay(&mut self, n: usize) {
        let Some(at) = self.trips.iter().position(|trip| trip.text == n) else { return };
        let trip = self.trips[at].clone();
        let all = self.bank.errands.houses.clone();
        let notes = self.bank.errands.house_notes.clone();
        let names: Vec<String> =
            (0..HOUSES).map(|_| self.random.fresh(|r| r.pick(&all).clone())).collect();
        let notes = self.random.sample(&notes, HOUSES);
        let prices: Vec<String> =
            (0..HOUSES).map(|_| money(cents(&mut self.random, 61, 189))).collect();
        let city = trip.city.as_str();
        let nights = match (trip.back - trip.out).get_days() {
            1 => "one night",
            2 => "two nights",
            _ => "three nights",
        };
        let gaps = [("city", city), ("nights", nights)];
        self.user("u.stay", &gaps);
        let found: Vec<Json> = (0..HOUSES)
            .map(|at| json!({"name": names[at], "about": notes[at][0], "per_night": prices[at]}))
            .collect();
        let arguments =
            json!({"city": city, "from": trip.out.to_string(), "to": trip.back.to_string()});
        let result = json!({"city": city, "houses": found}).to_string();
        self.act("looking", &gaps, vec![Act::new("stay_search", arguments, result).takes(3)]);
        let lines: Vec<String> = (0..3)
            .map(|at| format!("- {}, {} a night: {}", names[at], prices[at], notes[at][0]))
            .collect();
        self.say("stay.found", &[("lines", &lines.join("\n")), ("city", city)]);
        let chosen = [
            ("name", names[0].as_str()),
            ("one", &names[1]),
            ("two", &names[2]),
            ("why_one", &notes[1][1]),
            ("why_two", &notes[2][1]),
            ("city", city),
        ];
        let pick = self.user("u.stay.pick", &chosen);
        let reference = Shape::Code.draw(&mut self.random, trip.out);
        let code = Shape::Pin.draw(&mut self.random, trip.out);
        let arguments =
            json!({"name": names[0], "from": trip.out.to_string(), "to": trip.back.to_string()});
        let result = json!({
            "ok": true, "reservation": reference, "name": names[0], "city": city,
            "check_in": trip.out.to_string(), "check_out": trip.back.to_string(),
            "per_night": prices[0], "door_code": code, "free_cancellation": self.random.chance(60),
        });
        let book = Act::new("stay_book", arguments, result.to_string()).takes(4);
        let places = self.act("booking", &chosen, vec![book]);
        let said =
            [("name", names[0].as_str()), ("ref", &reference), ("code", &code), ("city", city)];
        let dates = (day(trip.out), day(trip.back));
        let more = self.detail(
            "more.stay",
            &[("from", dates.0.as_str()), ("to", &dates.1), ("price", &prices[0])],
        );
        self.say_more("stay.booked", &said, &more);
        let question =
            self.question(QuestionKind::Decision, "ask.stay", &chosen[5..], &[&names[0]]);
        let question = question.stale([&names[1], &names[2]]).near(&names[3..]);
        self.asks.ask(question.from(&[pick]));
        let question = self.question(QuestionKind::Fact, "ask.door", &gaps, &[&code]);
        self.asks.ask(question.from(&places));
        self.turned_down(&names[1], &notes[1][1], pick);
        self.turned_down(&names[2], &notes[2][1], pick);
        self.trips[at].house = Some(names[0].clone());
        self.trips[at].places.push(places[0]);
    }

    /// Another train is taken after all.
    pub fn rebook(&mut self, n: usize) {
        let Some(at) = self.trips.iter().position(|trip| trip.text == n) else { return };
        let trip = self.trips[at].clone();
        if trip.out <= self.today() {
            return self.week();
        }
        let why = self.random.pick(&self.bank.errands.trip[n].later).clone();
        let gaps = [("city", trip.city.as_str()), ("why", &why)];
        self.user("u.rebook", &gaps);
        let first = u64::from(clock(&trip.train.depart).hour().unsigned_abs());
        let found = trains(&mut self.random, (first + 2).min(17), 5);
        self.search_trains(&trip.city, trip.out, &found);
        let picked = self.random.index(found.len());
        let fee = money(cents(&mut self.random, 8, 29));
        let lines = listed(&found.iter().take(3).collect::<Vec<_>>());
        self.say("rebook.found", &[("lines", &lines), ("city", &trip.city)]);
        let train = found[picked.min(2)].clone();
        let gaps =
            [("city", trip.city.as_str()), ("number", &train.number), ("depart", &train.depart)];
        let pick = self.user("u.rebook.pick", &gaps);
        let arguments = json!({"booking": trip.reference, "train": train.number});
        let result = json!({
            "ok": true, "booking": trip.reference, "train": train.shown(),
            "date": trip.out.to_string(), "to": trip.city, "fee": fee,
        });
        self.diary.shift(trip.event, trip.out, &train.depart);
        self.diary.events[trip.event].place = train.number.clone();
        let entry = self.diary.events[trip.event].shown();
        let update = Act::new(
            "event_update",
            entry.clone(),
            json!({"ok": true, "event": entry}).to_string(),
        );
        let change = Act::new("travel_change", arguments, result.to_string()).takes(4);
        let places = self.act("booking", &gaps, vec![change, update]);
        let said = [
            ("city", trip.city.as_str()),
            ("number", &train.number),
            ("depart", &train.depart),
            ("fee", &fee),
        ];
        let more =
            self.detail("more.rebooked", &[("arrive", &train.arrive), ("ref", &trip.reference)]);
        self.say_more("rebooked", &said, &more);
        let key = format!("train.{}", trip.city);
        self.state(&key, QuestionKind::Decision, ("ask.train", &gaps), &train.number, places[0]);
        let key = format!("depart.{}", trip.city);
        self.state(&key, QuestionKind::Temporal, ("ask.depart", &gaps), &train.depart, pick);
        let question: PlannedQuestion =
            self.question(QuestionKind::Fact, "ask.fee", &gaps, &[&fee]);
        self.asks.ask(question.from(&places[..1]));
        self.trips[at].train = train;
        self.trips[at].places.push(places[0]);
    }
}

fn listed(trains: &[&Train]) -> String {
    let line = |train: &&Train| {
        let changes = match train.changes {
            0 => "direct".to_owned(),
            1 => "one change".to_owned(),
            n => format!("{n} changes"),
        };
        let (depart, arrive) = (&train.depart, &train.arrive);
        format!(
            "- {depart}, {} ({changes}), arrives {arrive}, {}",
            train.number,
            money(train.price)
        )
    };
    trains.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trains_leave_in_order_and_arrive_later() {
        let found = trains(&mut Stream::new(5, "trains"), 6, 8);
        assert!(found.windows(2).all(|pair| pair[0].depart < pair[1].depart));
        assert!(found.iter().all(|train| train.arrive > train.depart), "{found:?}");
    }
}
