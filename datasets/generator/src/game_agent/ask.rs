//! What is asked when all is said.

use recap_core::model::QuestionKind;

use super::game::{Game, Record, gaps};
use super::views::Key;
use crate::{Place, PlannedQuestion};

/// Messages for which an older value must have stood to be asked for.
const STOOD: u32 = 10;

impl Game<'_> {
    /// Adds every question that was not asked on the way.
    pub fn ask(&mut self) {
        let mut random = self.random.fork("asks");
        self.agenda.ask(self.script, &mut random);
        self.ask_records();
        self.ask_snapshots();
        self.ask_unanswerable();
        self.ask_judged();
    }

    fn tokens(&self) -> u64 {
        self.script.tokens()
    }

    /// The newest values of the world that were seen.
    fn ask_snapshots(&mut self) {
        let most = (self.tokens() / 2_800).clamp(9, 26) as usize;
        let mut keys: Vec<Key> = self.ledger.keys().copied().collect();
        self.random.shuffle(&mut keys);
        // The ship first, then what changed most often.
        keys.sort_by_key(|key| {
            let ship = matches!(key, Key::Credits | Key::Hull | Key::Fuel | Key::Used);
            let changes = self.ledger[key].len().min(3);
            std::cmp::Reverse((ship, changes))
        });
        let (mut asked, mut fellows, mut fees) = (0, 0, 0);
        for key in keys {
            if asked == most {
                break;
            }
            let quota = match key {
                Key::Fellow(_) => &mut fellows,
                Key::Fee(_) => &mut fees,
                _ => &mut 0,
            };
            *quota += 1;
            if *quota > 2 || matches!(key, Key::Units(good) if self.world.hold[good] < 10) {
                continue;
            }
            asked += 1;
            self.ask_state(key);
        }
    }

    fn ask_state(&mut self, key: Key) {
        let values = self.ledger[&key].clone();
        let Some(((value, place), older)) = values.split_last() else { return };
        let (section, about) = self.wording(key);
        let text = self.asks.say(&mut self.random, section, &gaps(&about));
        let mut stale: Vec<String> = older.iter().map(|(value, _)| value.to_string()).collect();
        if let Key::Bid(at, good) = key {
            let told = self
                .refuted
                .iter()
                .filter(|(claim, said, _)| (claim.place, claim.good) == (at, good) && said < place);
            stale.extend(told.map(|(claim, ..)| claim.price.to_string()));
        }
        let value = value.to_string();
        stale.retain(|old| *old != value);
        let newest =
            PlannedQuestion::any_of(QuestionKind::Snapshot, text, [&value]).from(&[*place]);
        self.script.ask(newest.stale(stale));
        // Some are asked on the way as well, while an older value held.
        let stood = older.iter().zip(&values[1..]);
        let stood: Vec<_> = stood.filter(|((_, at), (_, next))| next.0 >= at.0 + STOOD).collect();
        if let Some((old, next)) = stood.last()
            && self.random.chance(30)
        {
            let text = self.asks.say(&mut self.random, section, &gaps(&about));
            let question =
                PlannedQuestion::any_of(QuestionKind::Snapshot, text, [old.0.to_string()]);
            self.script.ask(question.from(&[old.1]).until(next.1));
        }
    }

    fn wording(&self, key: Key) -> (&'static str, Vec<(&'static str, String)>) {
        let good = |good: usize| ("good", self.world.goods[good].name.to_owned());
        let place = |at: usize| ("place", self.world.stations[at].name.to_owned());
        match key {
            Key::Credits => ("credits", vec![]),
            Key::Hull => ("hull", vec![]),
            Key::Fuel => ("fuel", vec![]),
            Key::Used => ("used", vec![]),
            Key::Units(at) => ("units", vec![good(at)]),
            Key::Ask(at, item) => ("asked", vec![good(item), place(at)]),
            Key::Bid(at, item) => ("bid", vec![good(item), place(at)]),
            Key::Fee(at) => ("fee", vec![place(at)]),
            Key::Fellow(at) => ("fellow", vec![("who", self.chatter.fellows[at].name.to_owned())]),
        }
    }

    /// Receipts, ids, times: as many of each sort as there is room for.
    fn ask_records(&mut self) {
        let most = (self.tokens() / 2_800).clamp(8, 22) as usize;
        let mut records = std::mem::take(&mut self.records);
        // A question about one of several would be open.
        records.retain(|record| record.values.len() == 1 || record.may_repeat());
        self.random.shuffle(&mut records);
        let mut turns: Vec<(usize, Record)> = Vec::new();
        for record in records {
            let turn = turns.iter().filter(|(_, known)| known.section == record.section).count();
            turns.push((turn, record));
        }
        turns.sort_by_key(|(turn, _)| *turn);
        for (_, record) in turns.into_iter().take(most) {
            let text = self.asks.say(&mut self.random, record.section, &gaps(&record.gaps));
            let Some(((value, place), older)) = record.values.split_last() else { continue };
            let stale: Vec<&String> =
                older.iter().map(|(old, _)| old).filter(|old| *old != value).collect();
            let question = PlannedQuestion::any_of(record.kind, text, [value]).from(&[*place]);
            self.script.ask(question.stale(stale).late());
        }
    }

    fn ask_unanswerable(&mut self) {
        let most = (self.tokens() / 14_000 + 2).min(6) as usize;
        let lines: Vec<&str> = include_str!("abstain.txt")
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .collect();
        for line in self.random.sample(&lines, most) {
            let (text, words) = line.split_once(" | ").expect("a bar before the absent words");
            self.script.ask(PlannedQuestion::unanswerable(text, words.split("; ")));
        }
    }

    /// What only a model can judge.
    fn ask_judged(&mut self) {
        let most = (self.tokens() / 15_000 + 3) as usize;
        if let Some((claim, said, seen)) = self.refuted.first().cloned() {
            let good = self.world.goods[claim.good].name;
            let place = self.world.stations[claim.place].name;
            let about: &[(&str, &str)] = &[("good", good), ("place", place)];
            let text = self.reasons.say(&mut self.random, "ask.contradiction", about);
            let nuggets = [
                format!("{} had claimed a price of {}", claim.who, claim.price),
                "the board of the station showed another price, so the claim was wrong".to_owned(),
            ];
            let question = PlannedQuestion::rubric(QuestionKind::Contradiction, text, nuggets);
            self.rubric(question.from(&[said, seen]).late(), most);
        }
        if let Some(trade) = self.trades.first().cloned() {
            let good = self.world.goods[trade.good].name;
            let same: Vec<_> = self.trades.iter().filter(|t| t.good == trade.good).collect();
            let nuggets: Vec<String> = same
                .iter()
                .take(3)
                .map(|t| {
                    let (from, to) =
                        (self.world.stations[t.from].name, self.world.stations[t.to].name);
                    format!(
                        "{} units were bought at {from} for {} each and sold at {to} for {} each",
                        t.units, t.cost, t.price
                    )
                })
                .collect();
            let places: Vec<Place> =
                same.iter().take(3).flat_map(|t| t.places.iter().copied()).collect();
            let text = self.reasons.say(&mut self.random, "ask.summary", &[("good", good)]);
            let question = PlannedQuestion::rubric(QuestionKind::Summary, text, nuggets);
            self.rubric(question.from(&places).late(), most);
        }
        self.ask_ordering(most);
    }

    fn ask_ordering(&mut self, most: usize) {
        if self.first.len() < 6 {
            return;
        }
        let step = self.first.len() / 3;
        let three: Vec<_> = (0..3).map(|at| self.first[at * step].clone()).collect();
        let places: Vec<Place> = three.iter().map(|(_, place)| *place).collect();
        if places.windows(2).any(|pair| pair[0] == pair[1]) {
            return;
        }
        let mut names: Vec<&str> = three.iter().map(|(matter, _)| matter.as_str()).collect();
        names.sort_unstable();
        let text =
            self.reasons.say(&mut self.random, "ask.ordering", &[("list", &names.join(", "))]);
        let nuggets = [
            format!("{} came before {}", three[0].0, three[1].0),
            format!("{} came before {}", three[1].0, three[2].0),
        ];
        let question = PlannedQuestion::rubric(QuestionKind::Ordering, text, nuggets);
        self.rubric(question.from(&places).late(), most);
    }
}

impl Record {
    /// Whether its question names the newest of several.
    fn may_repeat(&self) -> bool {
        matches!(self.section, "bought.receipt" | "sold.receipt" | "repair" | "log")
    }
}
