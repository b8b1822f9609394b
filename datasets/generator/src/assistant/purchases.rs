//! Things that are chosen among several, ordered, and come late.

use jiff::civil::Date;
use recap_core::model::QuestionKind;
use serde_json::{Value as Json, json};

use super::bank::{Shape, ahead, cents, day, money};
use super::session::OpenSession;
use crate::Act;

/// An order that was placed.
#[derive(Clone, Debug)]
pub struct Order {
    text: usize,
    number: String,
    due: Date,
}

impl OpenSession<'_> {
    /// Something is chosen and ordered.
    pub fn buy(&mut self, n: usize) {
        let text = self.bank.errands.buy[n].clone();
        let mut items = text.items.clone();
        self.random.shuffle(&mut items);
        let prices: Vec<String> = items
            .iter()
            .map(|_| money(cents(&mut self.random, text.price / 2, text.price)))
            .collect();
        let (what, most) = (text.what.as_str(), format!("{}", text.price));
        let gaps = [("what", what), ("occasion", text.occasion.as_str()), ("most", &most)];
        self.user("u.buy", &gaps);
        let mut found: Vec<Json> = Vec::new();
        for (item, price) in items.iter().zip(&prices) {
            let rating = format!("{}.{}", self.random.number(3..=4), self.random.number(1..=9));
            let (days, votes) = (self.random.number(2..=12), self.random.number(14..=930));
            found.push(json!({
                "item": item[0], "about": item[1], "price": price, "rating": rating,
                "votes": votes, "days": days,
            }));
        }
        let result = json!({"query": text.query, "results": found}).to_string();
        let search =
            Act::new("shop_search", json!({"query": text.query, "max_price": text.price}), result);
        self.act("looking", &gaps, vec![search.takes(2)]);
        let lines: Vec<String> = (0..3)
            .map(|at| format!("- {} ({}): {}", items[at][0], prices[at], items[at][1]))
            .collect();
        let lines = self.random.sample(&lines, 3).join("\n");
        self.say("buy.found", &[("lines", &lines), ("what", what)]);
        let gaps = [
            ("what", what),
            ("name", items[0][0].as_str()),
            ("one", &items[1][0]),
            ("two", &items[2][0]),
            ("why_one", &items[1][2]),
            ("why_two", &items[2][2]),
        ];
        let mut pick = self.user("u.buy.pick", &gaps);
        let (first, mut taken) = (pick, 0);
        if self.random.chance(30) {
            // Before anything is ordered the user thinks better of it.
            self.say("buy.sure", &gaps);
            let other = [
                ("what", what),
                ("name", items[3][0].as_str()),
                ("one", &items[0][0]),
                ("why_one", &items[0][2]),
            ];
            taken = 3;
            pick = self.user("u.buy.mind", &other);
        }
        let number = Shape::Code.draw(&mut self.random, self.script.today());
        let today = self.today();
        let due = ahead(&mut self.random, today, 5, 14);
        let arguments = json!({"item": items[taken][0], "quantity": 1});
        let result = json!({
            "ok": true, "order": number, "item": items[taken][0], "price": prices[taken],
            "delivery": due.to_string(),
        });
        let order = Act::new("order_place", arguments, result.to_string()).takes(2);
        let places = self.act("booking", &gaps, vec![order]);
        let days = day(due);
        let more = self
            .detail("more.buy", &[("price", prices[taken].as_str()), ("about", &items[taken][1])]);
        let said = self.say_more(
            "buy.done",
            &[("what", what), ("name", &items[taken][0]), ("order", &number), ("day", &days)],
            &more,
        );
        let mut rejected = vec![items[1][0].clone(), items[2][0].clone()];
        if taken > 0 {
            rejected.push(items[0][0].clone());
        }
        let rest: Vec<&String> = items[4..].iter().map(|item| &item[0]).collect();
        let question =
            self.question(QuestionKind::Decision, "ask.buy", &gaps[..1], &[&items[taken][0]]);
        self.asks.ask(question.from(&[pick, said]).stale(&rejected).near(rest));
        for item in &items[1..=2] {
            self.turned_down(&item[0], &item[2], first);
        }
        let question =
            self.question(QuestionKind::Artifact, "ask.order_number", &gaps[..1], &[&number]);
        self.asks.ask(question.from(&[places[0], said]));
        let key = format!("due.{n}");
        self.state(&key, QuestionKind::Temporal, ("ask.due", &gaps[..1]), &days, said);
        self.milestones.push((format!("ordering {what}"), places[0]));
        self.orders.push(Order { text: n, number, due });
    }

    /// It comes on another day.
    pub fn parcel(&mut self, n: usize) {
        let Some(at) = self.orders.iter().position(|order| order.text == n) else { return };
        let order = self.orders[at].clone();
        let what = self.bank.errands.buy[n].what.clone();
        let due = ahead(&mut self.random, order.due, 2, 9);
        let gaps = [("what", what.as_str()), ("number", &order.number)];
        self.user("u.parcel", &gaps);
        let depot = self.person("depot", "Lathbury Parcels").address;
        let events: Vec<Json> = ["order received", "packed", "handed to the carrier", "delayed"]
            .iter()
            .zip(["", "", "", depot.as_str()])
            .map(|(status, at)| json!({"status": status, "at": at}))
            .collect();
        let result = json!({"order": order.number, "history": events, "delivery": due.to_string()});
        let track = Act::new("order_track", json!({"order": order.number}), result.to_string());
        self.act("looking", &gaps, vec![track]);
        let days = day(due);
        let more = self.detail("more.parcel", &[("depot", &depot)]);
        let place = self.say_more("parcel", &[("what", what.as_str()), ("day", &days)], &more);
        let key = format!("due.{n}");
        self.state(&key, QuestionKind::Temporal, ("ask.due", &gaps[..1]), &days, place);
        self.orders[at].due = due;
    }
}
