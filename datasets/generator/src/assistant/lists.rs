//! Lists that are made and changed, and payments.

use recap_core::model::QuestionKind;
use serde_json::{Value as Json, json};

use super::bank::{cents, money};
use super::purse::Envelope;
use super::session::OpenSession;
use crate::{Act, Place};

/// A list that was made.
#[derive(Clone, Debug)]
pub struct List {
    text: usize,
    id: String,
    /// How many of what.
    lines: Vec<(u64, String)>,
}

impl List {
    fn shown(&self, title: &str) -> Json {
        let lines: Vec<String> =
            self.lines.iter().map(|(count, thing)| format!("{count} {thing}")).collect();
        json!({"id": self.id, "title": title, "lines": lines})
    }
}

impl OpenSession<'_> {
    /// A list is made.
    pub fn list(&mut self, n: usize) {
        let text = self.bank.errands.list[n].clone();
        let count = self.random.number(5..=7) as usize;
        let things = self.random.sample(&text.items, count);
        let lines: Vec<(u64, String)> =
            things.into_iter().map(|thing| (self.random.number(3..=48), thing)).collect();
        let id = self.random.fresh(|r| format!("note-{}", r.number(1_030..=9_890)));
        let list = List { text: n, id, lines };
        let said: Vec<String> =
            list.lines.iter().map(|(count, thing)| format!("{count} {thing}")).collect();
        let title = text.title.as_str();
        let gaps = [("title", title), ("things", &said.join(", "))];
        self.user("u.list", &gaps);
        let shown = list.shown(title);
        let result = json!({"ok": true, "note": shown}).to_string();
        let make = Act::new("note_create", json!({"title": title, "lines": said}), result);
        let places = self.act("entering", &gaps, vec![make]);
        let count = list.lines.len().to_string();
        let (number, thing) = list.lines.last().expect("a list has lines");
        let last = format!("{number} {thing}");
        let more = self.detail("more.list", &[("count", &count), ("last", &last)]);
        self.say_more("listed", &[("title", title), ("id", &list.id)], &more);
        let question = self.question(QuestionKind::Artifact, "ask.list", &gaps[..1], &[&list.id]);
        self.asks.ask(question.from(&places));
        self.count(n, &list, title, places[0]);
        self.milestones.push((format!("starting the list {title}"), places[0]));
        self.lists.push(list);
    }

    /// Every number of a list as it stands.
    fn count(&mut self, n: usize, list: &List, title: &str, place: Place) {
        for (count, thing) in &list.lines {
            let key = format!("list.{n}.{thing}");
            let gaps = [("title", title), ("thing", thing.as_str())];
            let value = count.to_string();
            self.state(&key, QuestionKind::Snapshot, ("ask.count", &gaps), &value, place);
        }
    }

    /// Numbers of a list change.
    pub fn relist(&mut self, n: usize) {
        let Some(at) = self.lists.iter().position(|list| list.text == n) else { return };
        let title = self.bank.errands.list[n].title.clone();
        let which = self.random.sample(&(0..self.lists[at].lines.len()).collect::<Vec<_>>(), 3);
        let mut changed = Vec::new();
        for line in &which[..2] {
            let before = self.lists[at].lines[*line].0;
            let count = before + self.random.number(2..=17);
            self.lists[at].lines[*line].0 = count;
            changed.push(format!("{count} {}", self.lists[at].lines[*line].1));
        }
        let gone = self.lists[at].lines[which[2]].1.clone();
        self.lists[at].lines.remove(which[2]);
        let gaps = [
            ("title", title.as_str()),
            ("one", &changed[0]),
            ("two", &changed[1]),
            ("gone", &gone),
        ];
        self.user("u.relist", &gaps);
        let list = self.lists[at].clone();
        let shown = list.shown(&title);
        let arguments = json!({"id": list.id, "set": changed, "remove": [gone]});
        let result = json!({"ok": true, "note": shown}).to_string();
        let place =
            self.act("entering", &gaps, vec![Act::new("note_update", arguments, result)])[0];
        let left: Vec<String> =
            list.lines.iter().map(|(count, thing)| format!("{count} {thing}")).collect();
        let more = self.detail("more.relist", &[("lines", &left.join(", "))]);
        self.say_more("relisted", &gaps, &more);
        self.asks.forget(&format!("list.{n}.{gone}"));
        self.count(n, &list, &title, place);
    }

    /// Payments are entered, and the budget is looked at.
    pub fn money(&mut self) {
        let (Some(first), Some(second)) = (self.payments.pop(), self.payments.pop()) else {
            return self.week();
        };
        let paid = [first, second].map(|(at, thing)| (at, thing, cents(&mut self.random, 11, 148)));
        let amounts = paid.clone().map(|(_, _, amount)| money(amount));
        let category = self.bank.errands.spend[paid[0].0].category.clone();
        let gaps = [
            ("one", amounts[0].as_str()),
            ("payee", &paid[0].1[0]),
            ("thing", &paid[0].1[1]),
            ("two", &amounts[1]),
            ("other", &paid[1].1[0]),
            ("other_thing", &paid[1].1[1]),
            ("category", &category),
        ];
        let place = self.user("u.spend", &gaps);
        let mut acts = Vec::new();
        for (at, thing, amount) in &paid {
            let entry = self.purse.pay(*at, *amount, &mut self.random);
            let category = &self.bank.errands.spend[*at].category;
            let arguments = json!({
                "payee": thing[0], "for": thing[1], "category": category, "amount": money(*amount),
            });
            let result = json!({"ok": true, "entry": entry.id}).to_string();
            acts.push(Act::new("expense_add", arguments, result));
        }
        self.act("entering", &gaps, acts);
        let look = Act::new("budget_summary", json!({}), self.purse.shown());
        let shown = self.act("", &[], vec![look])[0];
        let touched = [paid[0].0, paid[1].0].map(|at| self.purse.envelopes[at].clone());
        let gaps_of = |envelope: &Envelope| (envelope.category.clone(), money(envelope.spent));
        let [(category, spent), (second, second_spent)] = touched.each_ref().map(gaps_of);
        let mut text = self.line("money", &[("category", &category), ("spent", &spent)]);
        if second != category {
            let also = [("category", second.as_str()), ("spent", &second_spent)];
            text = format!("{text} {}", self.line("money.second", &also));
        }
        let (total, limit) = (money(self.purse.total()), money(touched[0].limit));
        let sums = [("total", total.as_str()), ("limit", &limit), ("category", &category)];
        let more = self.detail("more.money", &sums);
        let said = self.say_text(text, &more);
        let question = self.question(QuestionKind::Fact, "ask.paid", &gaps[1..3], &[&amounts[0]]);
        self.asks.ask(question.from(&[place]));
        for envelope in &touched {
            let key = format!("spent.{}", envelope.category);
            let gaps = [("category", envelope.category.as_str())];
            let value = money(envelope.spent);
            self.state(&key, QuestionKind::Snapshot, ("ask.spent", &gaps), &value, said);
        }
        self.state("spent", QuestionKind::Snapshot, ("ask.total", &[]), &total, shown);
    }
}
