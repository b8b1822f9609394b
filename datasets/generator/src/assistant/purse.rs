//! The user's budget.

use serde_json::{Value as Json, json};

use super::bank::{Errands, cents, money};
use crate::Stream;

/// A part of the budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// Its name.
    pub category: String,
    /// What may be spent, in cents.
    pub limit: u64,
    /// What was spent, in cents.
    pub spent: u64,
}

/// A payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its id.
    pub id: String,
    /// Index of the part it belongs to.
    pub envelope: usize,
    /// In cents.
    pub amount: u64,
}

/// All of it.
#[derive(Clone, Debug)]
pub struct Purse {
    /// Parts.
    pub envelopes: Vec<Envelope>,
    /// Payments of this session.
    pub entries: Vec<Entry>,
}

impl Purse {
    /// A budget of which something is spent already.
    pub fn new(errands: &Errands, random: &mut Stream) -> Purse {
        let envelopes = errands.spend.iter().map(|spend| {
            let limit = random.number(24..=96) * 5_000;
            let spent = cents(random, 90, limit / 250);
            Envelope { category: spend.category.clone(), limit, spent }
        });
        Purse { envelopes: envelopes.collect(), entries: Vec::new() }
    }

    /// Enters a payment.
    pub fn pay(&mut self, envelope: usize, amount: u64, random: &mut Stream) -> &Entry {
        let id = random.fresh(|r| format!("x-{}", r.number(10_300..=98_900)));
        self.envelopes[envelope].spent += amount;
        self.entries.push(Entry { id, envelope, amount });
        self.entries.last().expect("pushed above")
    }

    /// What was spent of all parts, in cents.
    pub fn total(&self) -> u64 {
        self.envelopes.iter().map(|envelope| envelope.spent).sum()
    }

    /// What the budget tool answers.
    pub fn shown(&self) -> String {
        let rows: Vec<Json> = self
            .envelopes
            .iter()
            .map(|envelope| {
                let left = envelope.limit as i64 - envelope.spent as i64;
                let sign = if left < 0 { "-" } else { "" };
                json!({
                    "category": envelope.category, "limit": money(envelope.limit),
                    "spent": money(envelope.spent),
                    "left": format!("{sign}{}", money(left.unsigned_abs())),
                })
            })
            .collect();
        json!({"categories": rows, "total_spent": money(self.total())}).to_string()
    }
}
