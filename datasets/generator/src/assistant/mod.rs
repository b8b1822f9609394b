//! A personal assistant with tools, over some weeks of one person's life.
//!
//! The world is a calendar ([`diary`]), a budget ([`purse`]), the people
//! around the user ([`people`]), what was booked ([`trips`]), ordered
//! ([`purchases`]) and listed ([`lists`]). Every tool result is worked out
//! from it. Several matters go on at once ([`agenda`]): each comes up, rests
//! and comes back changed, and in between the user sets rules, says how the
//! answers should be and mentions things that nobody asked for.

mod agenda;
mod asks;
mod bank;
mod diary;
mod letters;
mod lists;
mod people;
mod purchases;
mod purse;
mod session;
mod trips;
mod visits;
mod voice;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use recap_core::model::ToolDefinition;
use serde_json::{Value as Json, json};

use self::agenda::{Agenda, Stage};
use self::asks::Asks;
use self::bank::Bank;
use self::diary::Diary;
use self::people::People;
use self::purse::Purse;
use self::session::OpenSession;
use self::voice::Voice;
use super::{Kind, Phrases, Script};

/// The kind.
pub(super) static KIND: Kind = Kind {
    name: "assistant",
    about: "A personal assistant keeps calendar, mail, travel and money for a busy person.",
    tokens: 12_000..=60_000,
    write,
};

fn write(script: &mut Script) {
    let bank = Bank::new();
    let mut random = script.random.fork("world");
    let today = script.today();
    let job: &String = random.pick(&bank.errands.jobs);
    open(script, job);
    let mut payments: Vec<(usize, [String; 2])> = Vec::new();
    for (at, spend) in bank.errands.spend.iter().enumerate() {
        payments.extend(spend.things.iter().map(|thing| (at, thing.clone())));
    }
    random.shuffle(&mut payments);
    let mut session = OpenSession {
        talk: Phrases::new(include_str!("talk.txt")),
        voice: Voice::new(&mut random),
        people: People::default(),
        diary: Diary::new(&bank.errands, &mut random, today),
        purse: Purse::new(&bank.errands, &mut random),
        asks: Asks::default(),
        agenda: Agenda::new(&bank, &mut random, script.left()),
        terse: false,
        clash: None,
        visits: Vec::new(),
        trips: Vec::new(),
        orders: Vec::new(),
        lists: Vec::new(),
        payments,
        rejected: Vec::new(),
        singles: BTreeSet::new(),
        milestones: Vec::new(),
        bank,
        random,
        script,
    };
    session.run();
}

impl OpenSession<'_> {
    /// Plays an episode.
    fn play(&mut self, stage: Stage) {
        match stage {
            Stage::Mail(n) => self.mail(n),
            Stage::MailAgain(n) => self.mail_again(n),
            Stage::Page(n) => self.page(n),
            Stage::Visit(n) => self.visit(n),
            Stage::Move(n) => self.shift(n),
            Stage::Trip(n) => self.trip(n),
            Stage::Stay(n) => self.stay(n),
            Stage::Rebook(n) => self.rebook(n),
            Stage::Buy(n) => self.buy(n),
            Stage::Parcel(n) => self.parcel(n),
            Stage::List(n) => self.list(n),
            Stage::Relist(n) => self.relist(n),
            Stage::Contact(n) => self.contact(n),
            Stage::Correct(n) => self.correct(n),
            Stage::Money => self.money(),
            Stage::Week => self.week(),
        }
    }
}

/// Name, description, and the arguments that must be there; all are texts
/// unless the name says otherwise.
const TOOLS: &[(&str, &str, &[&str])] = &[
    ("calendar_week", "All entries of the week in which a day lies.", &["date"]),
    ("event_create", "Put an entry into the calendar.", &["title", "date", "start"]),
    ("event_update", "Change an entry of the calendar.", &["id"]),
    ("mail_search", "Find mails by words; newest first, without their text.", &["query"]),
    ("mail_read", "The text of one mail.", &["id"]),
    (
        "draft_create",
        "Write a draft. It is never sent; the user does that.",
        &["to", "subject", "body"],
    ),
    ("note_create", "Make a list.", &["title", "lines"]),
    ("note_update", "Change lines of a list.", &["id"]),
    ("contact_find", "Look people and companies up in the address book.", &["query"]),
    ("contact_update", "Change a card of the address book.", &["name"]),
    ("travel_search", "Train connections of a day.", &["to", "date"]),
    ("travel_book", "Book a connection.", &["train", "date"]),
    ("travel_change", "Move a booking to another connection of the day.", &["booking", "train"]),
    ("stay_search", "Houses to stay in.", &["city", "from", "to"]),
    ("stay_book", "Reserve a room.", &["name", "from", "to"]),
    ("shop_search", "Find things to buy.", &["query"]),
    ("order_place", "Order something.", &["item"]),
    ("order_track", "Where an order is.", &["order"]),
    ("expense_add", "Enter a payment into the budget.", &["payee", "category", "amount"]),
    ("budget_summary", "The budget as it stands.", &[]),
    ("page_fetch", "The text of a page.", &["url"]),
];

fn open(script: &mut Script, job: &str) {
    let system = [
        format!(
            "You are the personal assistant of one person: {job}. You keep calendar, mail, travel, \
             lists and the household budget with the tools that you are given. Mails are only ever \
             drafted. Before something is booked or ordered the user decides. What the user sets as \
             a rule holds until it is changed or taken back, over all the weeks of this \
             conversation. Do not make anything up: names, times and numbers come from the tools \
             or from the user."
        ),
        format!("Today is {}. Amounts are in euros.", script.today()),
    ];
    let tools = TOOLS.iter().map(|(name, description, required)| {
        let kind = |argument: &str| match argument {
            "lines" => json!({"type": "array", "items": {"type": "string"}}),
            _ => json!({"type": "string"}),
        };
        let properties: serde_json::Map<String, Json> =
            required.iter().map(|argument| ((*argument).to_owned(), kind(argument))).collect();
        let parameters = json!({"type": "object", "properties": properties, "required": required});
        let (name, description) = ((*name).to_owned(), (*description).to_owned());
        ToolDefinition { name, description, parameters }
    });
    script.open("home", &system, tools.collect());
}
