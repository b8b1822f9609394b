//! What the commander mentions by the way: facts that change, standing orders,
//! preferences, code words and a tone.

use recap_core::model::QuestionKind;

use super::chatter::{clock, day};
use super::world::{plate, registry};
use crate::{Fact, FactId, Phrases, Place, PlannedQuestion, Script, Stream};

/// A value that is mentioned, and changed later.
struct Topic {
    /// Ending of its sections in `topics.txt`.
    key: &'static str,
    /// What it is, in a few words; the first one after the article is said of it.
    matter: &'static str,
    kind: QuestionKind,
    value: fn(&mut Stream, (i16, i8)) -> String,
}

fn code(random: &mut Stream, _: (i16, i8)) -> String {
    plate(random)
}

fn long_code(random: &mut Stream, _: (i16, i8)) -> String {
    let letters = random.pick(&["ES", "HP", "OP", "DK", "FN", "GL"]);
    format!("{letters}-{}", random.number(10_400..=98_700))
}

fn four(random: &mut Stream, _: (i16, i8)) -> String {
    random.number(1050..=9890).to_string()
}

fn decimal(random: &mut Stream, whole: std::ops::RangeInclusive<u64>) -> String {
    format!("{}.{:02}", random.number(whole), random.number(1..=99))
}

static TOPICS: &[Topic] = &[
    Topic { key: "customs", matter: "the customs phrase", kind: QuestionKind::Fact, value: code },
    Topic { key: "mechanic", matter: "the mechanic", kind: QuestionKind::Fact, value: four },
    Topic {
        key: "frequency",
        matter: "the frequency of the fleet",
        kind: QuestionKind::Fact,
        value: |r, _| decimal(r, 112..=487),
    },
    Topic { key: "contact", matter: "the contact", kind: QuestionKind::Fact, value: code },
    Topic { key: "escrow", matter: "the escrow", kind: QuestionKind::Fact, value: long_code },
    Topic { key: "convoy", matter: "the convoy", kind: QuestionKind::Temporal, value: day },
    Topic {
        key: "window",
        matter: "the gate window",
        kind: QuestionKind::Temporal,
        value: |r, _| clock(r),
    },
    Topic {
        key: "ceiling",
        matter: "the limit for coolant",
        kind: QuestionKind::Fact,
        value: |r, _| r.number(410..=2890).to_string(),
    },
    Topic {
        key: "goal",
        matter: "the second hull",
        kind: QuestionKind::Plan,
        value: |r, _| (r.number(4150..=9890) * 100 + r.number(1..=99)).to_string(),
    },
    Topic {
        key: "pickup",
        matter: "the seed stock",
        kind: QuestionKind::Plan,
        value: |r, _| r.number(112..=978).to_string(),
    },
    Topic { key: "meeting", matter: "the gathering", kind: QuestionKind::Plan, value: code },
    Topic { key: "locker", matter: "the spare keys", kind: QuestionKind::Fact, value: four },
    Topic { key: "policy", matter: "the hull policy", kind: QuestionKind::Fact, value: long_code },
    Topic {
        key: "debt",
        matter: "the debt at the yard",
        kind: QuestionKind::Fact,
        value: |r, _| r.number(11_200..=97_800).to_string(),
    },
    Topic { key: "permit", matter: "the ore permit", kind: QuestionKind::Fact, value: long_code },
    Topic { key: "rival", matter: "the competition", kind: QuestionKind::Fact, value: code },
    Topic {
        key: "assay",
        matter: "the assay",
        kind: QuestionKind::Fact,
        value: |r, _| decimal(r, 21..=68),
    },
    Topic {
        key: "toll",
        matter: "the toll",
        kind: QuestionKind::Fact,
        value: |r, _| r.number(130..=980).to_string(),
    },
];

const RULES: &[&str] = &["reserve", "fines", "fuel", "crew", "weapons"];
const PREFERENCES: &[&str] = &["pref.log", "pref.signature", "pref.folder"];
const CONCEPTS: &[&str] = &["concept.teatime", "concept.laundry", "concept.aunt"];

/// Tones, with what an answer in that tone does.
const TONES: &[(&str, [&str; 2])] = &[
    ("tone.dry", ["is short and dry", "has no exclamation mark and no praise"]),
    ("tone.captain", ["calls the user Skipper", "says the bad news before the good news"]),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Topic(usize),
    Rule(&'static str),
    Lift,
    Manner(&'static str),
}

struct Item {
    what: What,
    /// Progress from which it is due, in percent.
    at: u64,
    place: Option<Place>,
    value: String,
}

/// Everything that will be mentioned.
pub struct Agenda {
    items: Vec<Item>,
    next: usize,
    facts: Vec<Option<FactId>>,
    topics: Phrases,
    orders: Phrases,
    manners: Phrases,
    month: (i16, i8),
}

impl Agenda {
    /// An agenda for a session of that many tokens.
    pub fn new(random: &mut Stream, tokens: u64, month: (i16, i8)) -> Agenda {
        let topics = (tokens / 2_200 + 5).min(TOPICS.len() as u64) as usize;
        let rules = (tokens / 12_000 + 2).min(RULES.len() as u64) as usize;
        let few = if tokens < 25_000 { 1 } else { 2 };
        let all: Vec<usize> = (0..TOPICS.len()).collect();
        let chosen = random.sample(&all, topics);
        let mut first: Vec<What> = chosen.iter().map(|at| What::Topic(*at)).collect();
        first.extend(random.sample(RULES, rules).into_iter().map(What::Rule));
        first.extend(random.sample(PREFERENCES, few + 1).into_iter().map(What::Manner));
        first.extend(random.sample(CONCEPTS, few).into_iter().map(What::Manner));
        random.shuffle(&mut first);
        // Early on, so that it holds for something.
        first.insert(1, What::Manner(random.pick(TONES).0));
        first.insert(3, What::Rule("red"));
        let count = first.len() as u64;
        let item = |what, at| Item { what, at, place: None, value: String::new() };
        let mut items: Vec<Item> =
            first.into_iter().zip(0..).map(|(what, at)| item(what, at * 58 / count)).collect();
        let changes = (tokens / 5_000).clamp(4, 36);
        for change in 0..changes {
            let topic = chosen[random.index(chosen.len())];
            items.push(item(What::Topic(topic), 30 + change * 55 / changes));
        }
        items.push(item(What::Lift, 66));
        items.sort_by_key(|item| item.at);
        let facts = TOPICS.iter().map(|_| None).collect();
        Agenda {
            items,
            next: 0,
            facts,
            topics: Phrases::new(include_str!("topics.txt")),
            orders: Phrases::new(include_str!("orders.txt")),
            manners: Phrases::new(include_str!("manners.txt")),
            month,
        }
    }

    /// What is due at that progress: mostly one thing, two where much waits.
    pub fn due(&mut self, progress: u64) -> Vec<usize> {
        let waiting = self.items[self.next..].iter().filter(|item| item.at <= progress).count();
        let count = match waiting {
            0 => 0,
            1..=3 => 1,
            _ => 2,
        };
        self.next += count;
        (self.next - count..self.next).collect()
    }

    /// How the commander says it, and the value.
    pub fn word(&mut self, random: &mut Stream, at: usize) -> (String, String) {
        let what = self.items[at].what;
        let value = match what {
            What::Topic(topic) => {
                let month = self.month;
                random.fresh(|random| (TOPICS[topic].value)(random, month))
            }
            _ => registry(random),
        };
        let gaps: &[(&str, &str)] = &[("v", &value)];
        let text = match what {
            What::Topic(topic) => {
                let verb = if self.facts[topic].is_some() { "change" } else { "say" };
                self.topics.say(random, &format!("{verb}.{}", TOPICS[topic].key), gaps)
            }
            What::Rule(key) => self.orders.say(random, &format!("say.{key}"), gaps),
            What::Lift => self.orders.say(random, "lift.red", gaps),
            What::Manner(key) => self.manners.say(random, &format!("say.{key}"), gaps),
        };
        (text, value)
    }

    /// It was said in the message at `place`.
    pub fn said(&mut self, script: &mut Script, at: usize, value: &str, place: Place) {
        if let What::Topic(topic) = self.items[at].what {
            let known = self.facts[topic];
            let fact = known.unwrap_or_else(|| {
                let asks = format!("ask.{}", TOPICS[topic].key);
                let mut random = script.random.fork(&asks);
                let wordings = self.topics.all(&mut random, &asks, &[]);
                script.fact(Fact::new(TOPICS[topic].kind, wordings))
            });
            script.state(fact, value, place);
            self.facts[topic] = Some(fact);
        }
        self.items[at].place = Some(place);
        value.clone_into(&mut self.items[at].value);
    }

    /// What the remark is about, where it is a fact.
    pub fn matter(&self, at: usize) -> Option<&'static str> {
        match self.items[at].what {
            What::Topic(topic) => Some(TOPICS[topic].matter),
            _ => None,
        }
    }

    /// What log headlines have to begin with, if anything.
    pub fn log_tag(&self) -> &str {
        let is_tag = |item: &&Item| item.what == What::Manner("pref.log");
        self.items.iter().find(is_tag).map_or("", |item| &item.value)
    }

    /// Whether red sectors may be crossed.
    pub fn red_is_open(&self) -> bool {
        self.items.iter().any(|item| item.what == What::Lift && item.place.is_some())
    }

    /// Asks for orders, preferences, code words and the tone.
    pub fn ask(&mut self, script: &mut Script, random: &mut Stream) {
        let place = |what| self.items.iter().find(|item| item.what == what).and_then(|i| i.place);
        let lifted = place(What::Lift);
        let closed = self.items.iter().find(|item| item.what == What::Rule("red"));
        let detour = closed.map(|item| item.value.clone()).unwrap_or_default();
        for item in &self.items {
            let Some(place) = item.place else { continue };
            let (phrases, section, kind) = match item.what {
                What::Topic(_) => continue,
                What::Lift => (&mut self.orders, "now.red".to_owned(), QuestionKind::Update),
                What::Rule(key) => {
                    (&mut self.orders, format!("ask.{key}"), QuestionKind::Constraint)
                }
                What::Manner(key) => {
                    let kind = match key.split('.').next() {
                        Some("pref") => QuestionKind::Preference,
                        Some("concept") => QuestionKind::SharedConcept,
                        _ => QuestionKind::Tone,
                    };
                    (&mut self.manners, format!("ask.{key}"), kind)
                }
            };
            let text = phrases.say(random, &section, &[]);
            let tone = TONES.iter().find(|(key, _)| item.what == What::Manner(key));
            let mut question = match tone {
                Some((_, nuggets)) => PlannedQuestion::rubric(kind, text, *nuggets),
                None => PlannedQuestion::any_of(kind, text, [&item.value]),
            };
            question = question.from(&[place]);
            match (item.what, lifted) {
                (What::Lift, _) => question = question.stale([&detour]),
                (What::Rule("red"), Some(lifted)) => question = question.until(lifted),
                _ => {}
            }
            script.ask(question);
        }
    }
}
