//! What comes up, and when.

use recap_core::model::QuestionKind;

use super::bank::{Bank, Told};
use super::session::OpenSession;
use crate::{Place, PlannedQuestion, Stream};

/// An episode. The number says which of its sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// A mail is read, and answered.
    Mail(usize),
    /// Its writer has written again.
    MailAgain(usize),
    /// A page is read.
    Page(usize),
    /// An appointment is made.
    Visit(usize),
    /// It is moved.
    Move(usize),
    /// A journey is booked.
    Trip(usize),
    /// A house to stay in.
    Stay(usize),
    /// Another train is taken after all.
    Rebook(usize),
    /// Something is chosen and ordered.
    Buy(usize),
    /// It comes on another day.
    Parcel(usize),
    /// A list is made.
    List(usize),
    /// It is changed.
    Relist(usize),
    /// Somebody's extension is looked up.
    Contact(usize),
    /// It has changed.
    Correct(usize),
    /// Payments are entered.
    Money,
    /// The week ahead.
    Week,
}

impl Stage {
    /// Tokens that it may take.
    fn size(self) -> u64 {
        match self {
            Stage::Trip(_) => 1_750,
            Stage::Mail(_) | Stage::Page(_) => 1_350,
            Stage::Buy(_) => 1_350,
            Stage::Rebook(_) | Stage::Stay(_) | Stage::Visit(_) => 1_150,
            Stage::Money | Stage::Week => 900,
            Stage::MailAgain(_) => 800,
            _ => 480,
        }
    }
}

/// Something that the user mentions beside the matter at hand.
pub enum Beat {
    /// A fact, a rule, a liking, a plan or a word, by its key.
    Say(String, Told),
    /// Its next value.
    Change(String, Told),
    /// How the answers should be.
    Tone,
    /// One of two statements that exclude each other.
    Clash(usize),
}

/// Tokens of a remark with its answer.
const REMARK: u64 = 62;

/// What is still to come.
pub struct Agenda {
    /// Threads that were begun: what is next in each, last first, and the
    /// number of episodes for which it rests.
    open: Vec<(u64, Vec<Stage>)>,
    /// Threads that were not begun, the next one last.
    waiting: Vec<Vec<Stage>>,
    /// Remarks by the share of the session, in percent, from which they are
    /// due; the next one last.
    beats: Vec<(u64, Beat)>,
    played: u64,
}

impl Agenda {
    /// Plans a session of `tokens` tokens.
    pub fn new(bank: &Bank, random: &mut Stream, tokens: u64) -> Agenda {
        Agenda {
            open: Vec::new(),
            waiting: threads(bank, random),
            beats: beats(bank, random, tokens),
            played: 0,
        }
    }

    /// Tokens that the remarks to come will take.
    pub fn reserve(&self) -> u64 {
        REMARK * self.beats.len() as u64
    }

    /// The next episode that fits into `left` tokens.
    pub fn next(&mut self, random: &mut Stream, left: u64) -> Option<Stage> {
        self.played += 1;
        let room = left.saturating_sub(self.reserve());
        let fits = |thread: &[Stage]| thread.last().is_some_and(|stage| stage.size() <= room);
        if self.played.is_multiple_of(8) && Stage::Week.size() <= room {
            return Some(Stage::Week);
        }
        if self.played % 6 == 2 && Stage::Money.size() <= room {
            return Some(Stage::Money);
        }
        self.open.retain(|(_, thread)| !thread.is_empty());
        self.open.iter_mut().for_each(|(rest, _)| *rest = rest.saturating_sub(1));
        let ready: Vec<usize> = (0..self.open.len())
            .filter(|at| self.open[*at].0 == 0 && fits(&self.open[*at].1))
            .collect();
        let fresh = self.waiting.iter().rposition(|thread| fits(thread));
        let goes_on = !ready.is_empty() && (fresh.is_none() || random.chance(58));
        if goes_on {
            let at = *random.pick(&ready);
            self.open[at].0 = random.number(2..=5);
            return self.open[at].1.pop();
        }
        let Some(fresh) = fresh else {
            // Whatever rests need not rest any longer.
            let at = self.open.iter().position(|(_, thread)| fits(thread))?;
            return self.open[at].1.pop();
        };
        let mut thread = self.waiting.remove(fresh);
        let stage = thread.pop();
        self.open.push((random.number(3..=6), thread));
        stage
    }

    /// Makes every remark due: the session ends.
    pub fn release(&mut self) {
        self.beats.iter_mut().for_each(|(due, _)| *due = 0);
    }
}

/// Threads in the order in which they begin, last first: one of each sort at
/// the beginning, then whatever there is.
fn threads(bank: &Bank, random: &mut Stream) -> Vec<Vec<Stage>> {
    let mut sorts: Vec<Vec<Vec<Stage>>> = vec![
        (0..bank.errands.visit.len())
            .map(|n| vec![Stage::Visit(n), Stage::Move(n), Stage::Move(n)])
            .collect(),
        (0..bank.errands.trip.len())
            .map(|n| vec![Stage::Trip(n), Stage::Stay(n), Stage::Rebook(n)])
            .collect(),
        (0..bank.errands.buy.len()).map(|n| vec![Stage::Buy(n), Stage::Parcel(n)]).collect(),
        (0..bank.mails.len()).map(|n| vec![Stage::Mail(n), Stage::MailAgain(n)]).collect(),
        (0..bank.errands.list.len()).map(|n| vec![Stage::List(n), Stage::Relist(n)]).collect(),
        (0..6).map(|n| vec![Stage::Contact(n), Stage::Correct(n)]).collect(),
        (0..bank.pages.len()).map(|n| vec![Stage::Page(n)]).collect(),
    ];
    let mut first = Vec::new();
    let mut rest = Vec::new();
    for sort in &mut sorts {
        random.shuffle(sort);
        for thread in sort.iter_mut() {
            thread.reverse();
        }
        first.extend(sort.pop());
        rest.append(sort);
    }
    random.shuffle(&mut first);
    random.shuffle(&mut rest);
    rest.append(&mut first);
    rest
}

fn beats(bank: &Bank, random: &mut Stream, tokens: u64) -> Vec<(u64, Beat)> {
    let more = (tokens / 9_000).min(6) as usize;
    let remarks = &bank.remarks;
    let mut beats = Vec::new();
    let groups = [
        (&remarks.fact, "fact", 6 + 2 * more, 0..=60),
        (&remarks.rule, "rule", 3 + more / 2, 0..=40),
        (&remarks.liking, "liking", 2 + more / 2, 3..=50),
        (&remarks.plan, "plan", 2 + more / 2, 20..=88),
        (&remarks.concept, "concept", 1 + more / 4, 8..=45),
    ];
    for (all, group, most, due) in groups {
        let numbered: Vec<usize> = (0..all.len()).collect();
        for (at, n) in random.sample(&numbered, most).into_iter().enumerate() {
            let key = format!("{group}.{n}");
            let said = random.number(due.clone());
            // Every other one that can change does.
            if at % 2 == 0 && !all[n].changes.is_empty() {
                let changed = random.number(said + 15..=said + 36);
                beats.push((changed, Beat::Change(key.clone(), all[n].clone())));
            }
            beats.push((said, Beat::Say(key, all[n].clone())));
        }
    }
    beats.push((random.number(35..=70), Beat::Tone));
    let clash = random.index(3);
    beats.push((random.number(10..=30), Beat::Clash(clash)));
    beats.push((random.number(52..=80), Beat::Clash(clash + 3)));
    random.shuffle(&mut beats);
    beats.sort_by_key(|(due, beat)| (*due, matches!(beat, Beat::Change(..))));
    beats.reverse();
    beats
}

/// A beat in words.
pub struct Remark {
    /// What the user says.
    pub text: String,
    value: String,
    beat: Beat,
}

impl Remark {
    /// What must be typed as it is.
    pub fn keep(&self) -> Vec<&str> {
        vec![&self.value]
    }
}

impl OpenSession<'_> {
    /// The next remark that is due.
    pub fn remark(&mut self) -> Option<Remark> {
        let progress = self.script.progress();
        self.agenda.beats.last().filter(|(due, _)| *due <= progress)?;
        let (_, beat) = self.agenda.beats.pop()?;
        let today = self.today();
        let (text, value) = match &beat {
            Beat::Say(_, told) | Beat::Change(_, told) => {
                let value = told.value.draw(&mut self.random, today);
                let is_change = matches!(beat, Beat::Change(..));
                let says = if is_change { &told.changes } else { &told.says };
                (self.random.pick(says).replace("{v}", &value), value)
            }
            Beat::Tone => (self.talk.say(&mut self.random, "say.tone", &[]), String::new()),
            Beat::Clash(n) => {
                let value = self.random.fresh(|r| r.number(13..=68).to_string());
                let section = format!("say.clash.{}.{}", n % 3, n / 3);
                (self.talk.say(&mut self.random, &section, &[("v", &value)]), value)
            }
        };
        Some(Remark { text, value, beat })
    }

    /// Remarks of their own while more than `most` are due.
    pub fn remarks_that_pile_up(&mut self, most: usize) {
        loop {
            let progress = self.script.progress();
            let due = self.agenda.beats.iter().filter(|(due, _)| *due <= progress).count();
            if due <= most {
                break;
            }
            let Some(remark) = self.remark() else { break };
            let text = self.voice.typed(&mut self.random, &remark.text, &remark.keep());
            let place = self.script.user(text);
            let section = if matches!(remark.beat, Beat::Tone) { "ack.tone" } else { "ack" };
            self.register(remark, place);
            let text = self.line(section, &[]);
            self.script.say(text);
        }
    }

    /// Remembers what was said with a message.
    pub fn register(&mut self, remark: Remark, place: Place) {
        match remark.beat {
            Beat::Say(key, told) | Beat::Change(key, told) => {
                let asks = told.questions(&mut self.random);
                self.asks.state(&key, told.kind, || asks, &remark.value, place);
            }
            Beat::Tone => {
                self.terse = true;
                let question = self.talk.say(&mut self.random, "ask.tone", &[]);
                let nuggets = ["the answer is short", "it has no exclamation mark"];
                let question = PlannedQuestion::rubric(QuestionKind::Tone, question, nuggets);
                self.asks.ask(question.from(&[place]).late());
            }
            Beat::Clash(n) if n < 3 => self.clash = Some((remark.value, place)),
            Beat::Clash(n) => {
                let Some((before, earlier)) = self.clash.take() else { return };
                let text = self.talk.say(&mut self.random, &format!("ask.clash.{}", n - 3), &[]);
                let nuggets = [
                    format!("names both {before} and {}", remark.value),
                    "says that the two statements do not agree, or asks which one holds".to_owned(),
                ];
                let question = PlannedQuestion::rubric(QuestionKind::Contradiction, text, nuggets);
                self.asks.ask(question.from(&[earlier, place]).late());
            }
        }
    }
}
