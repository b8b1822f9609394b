//! The offline judge against human labels and planted answers, which are not
//! part of the repository.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use recap::model::{Expectation, ProbeKind, Verdict};
use recap::seats::judge::{Grading, Haystack, Offline, Sought};
use serde_json::Value as Json;

/// The folder of real data, where it is there.
fn data(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data").join(name);
    if path.exists() {
        return Some(path);
    }
    println!("skipped: no {}", path.display());
    None
}

fn json(path: PathBuf) -> Json {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn is_right(question: &str, values: &[String], answer: &str) -> bool {
    let grading = Grading {
        question,
        kind: ProbeKind::Fact,
        expect: &Expectation::AnyOf(values.to_vec()),
        stale: &[],
        answer,
    };
    Offline.judge(&grading).verdict == Verdict::Correct
}

/// One graded answer: its style, the half of the questions it belongs to,
/// what the label says and what the judge says.
struct Row {
    style: String,
    half: usize,
    label: bool,
    judged: bool,
}

/// How often two graders agree.
#[derive(Default)]
struct Table {
    both: u32,
    neither: u32,
    false_accepts: u32,
    false_rejects: u32,
}

impl Table {
    fn of<'a>(rows: impl Iterator<Item = &'a Row>) -> Table {
        let mut table = Table::default();
        for row in rows {
            match (row.label, row.judged) {
                (true, true) => table.both += 1,
                (false, false) => table.neither += 1,
                (false, true) => table.false_accepts += 1,
                (true, false) => table.false_rejects += 1,
            }
        }
        table
    }

    fn total(&self) -> f64 {
        f64::from(self.both + self.neither + self.false_accepts + self.false_rejects)
    }

    fn agreement(&self) -> f64 {
        f64::from(self.both + self.neither) / self.total()
    }

    /// Cohen's kappa (Educational and Psychological Measurement 20, 1960):
    /// agreement beyond what the two rates of acceptance give by chance.
    fn kappa(&self) -> f64 {
        let label = f64::from(self.both + self.false_rejects) / self.total();
        let judge = f64::from(self.both + self.false_accepts) / self.total();
        let chance = label * judge + (1.0 - label) * (1.0 - judge);
        (self.agreement() - chance) / (1.0 - chance)
    }

    /// Share of rejected answers that the judge accepts.
    fn false_accept_rate(&self) -> f64 {
        f64::from(self.false_accepts) / f64::from(self.false_accepts + self.neither)
    }

    /// Share of accepted answers that the judge rejects.
    fn false_reject_rate(&self) -> f64 {
        f64::from(self.false_rejects) / f64::from(self.false_rejects + self.both)
    }

    fn line(&self, name: &str) -> String {
        format!(
            "{name:32} n {:5}  agree {:5.1} %  kappa {:.3}  false accepts {:4} ({:4.1} %)  \
             false rejects {:4} ({:4.1} %)",
            self.total(),
            100.0 * self.agreement(),
            self.kappa(),
            self.false_accepts,
            100.0 * self.false_accept_rate(),
            self.false_rejects,
            100.0 * self.false_reject_rate(),
        )
    }
}

/// Prints all, each half of the questions and each style; gives all.
fn printed(name: &str, rows: &[Row]) -> Table {
    let mut text = String::new();
    let all = Table::of(rows.iter());
    let _ = writeln!(text, "{}", all.line(name));
    for (half, label) in [(0, "tuning"), (1, "held out")] {
        let table = Table::of(rows.iter().filter(|row| row.half == half));
        let _ = writeln!(text, "{}", table.line(&format!("{name}, {label}")));
    }
    let mut styles: Vec<&str> = rows.iter().map(|row| row.style.as_str()).collect();
    styles.sort_unstable();
    styles.dedup();
    for style in styles.iter().filter(|_| styles.len() > 1) {
        for (half, label) in [(0, "tuning"), (1, "held out")] {
            let table =
                Table::of(rows.iter().filter(|row| row.style == *style && row.half == half));
            let _ = writeln!(text, "{}", table.line(&format!("{name}, {style}, {label}")));
        }
    }
    print!("{text}");
    all
}

fn evouna(set: &str) -> Option<Vec<Row>> {
    let questions = json(data(&format!("judge-calibration/evouna_{set}_even.json"))?);
    let mut rows = Vec::new();
    for (at, one) in questions.as_array().unwrap().iter().enumerate() {
        if one["improper"] == true {
            continue;
        }
        let gold = one["golden_answer"].as_str().unwrap().split('/');
        let values: Vec<String> =
            gold.filter(|value| !value.trim().is_empty()).map(str::to_owned).collect();
        for style in ["fid", "gpt35", "chatgpt", "gpt4", "newbing"] {
            let Some(label) = one[format!("judge_{style}")].as_bool() else { continue };
            let answer = one[format!("answer_{style}")].as_str().unwrap_or("");
            let question = one["question"].as_str().unwrap();
            let judged = is_right(question, &values, answer);
            rows.push(Row { style: style.to_owned(), half: at % 2, label, judged });
        }
    }
    Some(rows)
}

#[test]
fn kappa_is_agreement_beyond_chance() {
    // 20 + 15 of 50 agree: 0.7. The two say yes to 25 and 30: by chance
    // 0.5 · 0.6 + 0.5 · 0.4 = 0.5. So (0.7 − 0.5) / (1 − 0.5) = 0.4.
    let table = Table { both: 20, neither: 15, false_accepts: 10, false_rejects: 5 };
    assert!((table.agreement() - 0.7).abs() < 1e-12);
    assert!((table.kappa() - 0.4).abs() < 1e-12);
    assert!((table.false_accept_rate() - 0.4).abs() < 1e-12);
    assert!((table.false_reject_rate() - 0.2).abs() < 1e-12);
}

#[test]
fn it_agrees_with_people_on_encyclopaedic_answers() {
    for (set, kappa) in [("NQ", 0.76), ("TQ", 0.83)] {
        let Some(rows) = evouna(set) else { return };
        let table = printed(&format!("EVOUNA {set}"), &rows);
        assert!(table.kappa() >= kappa, "{set}: {}", table.kappa());
        assert!(table.false_accept_rate() < 0.05, "{set}: {}", table.false_accept_rate());
    }
}

/// A table of tab-separated columns by its header.
fn tsv(path: PathBuf) -> Vec<HashMap<String, String>> {
    let mut reader = csv::ReaderBuilder::new().delimiter(b'\t').from_path(path).unwrap();
    reader.deserialize().map(Result::unwrap).collect()
}

#[test]
fn it_agrees_with_people_on_the_open_questions() {
    let Some(folder) = data("judge-calibration") else { return };
    let key =
        |row: &HashMap<String, String>| (row["Question"].clone(), row["Model answer"].clone());
    let gold: HashMap<_, _> = tsv(folder.join("openqa_NQ301_BEM.tsv"))
        .iter()
        .map(|row| (key(row), row["Gold answers"].clone()))
        .collect();
    let mut rows = Vec::new();
    for row in tsv(folder.join("openqa_NQ301_human.tsv")) {
        let Some(values) = gold.get(&key(&row)) else { continue };
        let values: Vec<String> =
            values.split(" | ").map(|value| value.trim().trim_matches('"').to_owned()).collect();
        let question = &row["Question"];
        let judged = is_right(question, &values, &row["Model answer"]);
        let label = row["Acceptable?"].eq_ignore_ascii_case("yes");
        let half = question.bytes().map(usize::from).sum::<usize>() % 2;
        rows.push(Row { style: "all".to_owned(), half, label, judged });
    }
    printed("OpenQA NQ301", &rows);
}

/// One answer to a question about a conversation.
struct Said {
    id: String,
    conversation: usize,
    question: String,
    gold: String,
    answer: String,
    label: bool,
}

/// The answers of one run, with the majority of three model verdicts.
fn run(name: &str) -> Option<Vec<Said>> {
    let run = json(data(&format!("locomo-audit-nc/{name}_conv1-6.json"))?);
    let text = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut said = Vec::new();
    let results = run["detailed_results"].as_object().unwrap();
    for (conversation, answers) in results.values().enumerate() {
        for one in answers.as_array().unwrap() {
            let verdicts = one["llm_judgments"].as_object().unwrap().values();
            said.push(Said {
                id: text(&one["question_id"]),
                conversation,
                question: text(&one["question"]),
                gold: text(&one["golden_answer"]),
                answer: text(&one["generated_answer"]),
                label: verdicts.filter(|verdict| **verdict == true).count() >= 2,
            });
        }
    }
    Some(said)
}

/// The questions whose gold answers the audit found wrong.
fn wrong_golds() -> Option<Vec<String>> {
    let errors = json(data("locomo-audit-nc/errors_conv1-6.json")?);
    let wrong = errors.as_array().unwrap().iter();
    let wrong = wrong.filter(|error| error["error_type"] != "WRONG_CITATION");
    Some(wrong.map(|error| error["question_id"].as_str().unwrap().to_owned()).collect())
}

/// Prints which share of wrong answers is accepted, and gives it.
fn accepted(name: &str, rows: &[Row]) -> f64 {
    let share = |half: &[usize]| {
        let rows = rows.iter().filter(|row| half.contains(&row.half));
        let (all, taken) =
            rows.fold((0_u32, 0_u32), |(all, taken), row| (all + 1, taken + u32::from(row.judged)));
        (all, taken, f64::from(taken) / f64::from(all))
    };
    for (label, half) in [("all", &[0, 1][..]), ("tuning", &[0]), ("held out", &[1])] {
        let (all, taken, share) = share(half);
        let share = 100.0 * share;
        println!("{name}, {label}: {taken} of {all} wrong answers accepted ({share:.1} %)");
    }
    share(&[0, 1]).2
}

#[test]
fn answers_that_are_wrong_on_purpose_are_rejected() {
    let Some(wrong) = wrong_golds() else { return };
    for (name, most) in [("adversarial_v1_specific_wrong", 0.02), ("adversarial_v2_vague", 0.05)] {
        let mut rows = Vec::new();
        let said = run(name).unwrap();
        for one in said.iter().filter(|one| !wrong.contains(&one.id)) {
            let judged = is_right(&one.question, std::slice::from_ref(&one.gold), &one.answer);
            let (style, half) = (name.to_owned(), one.conversation % 2);
            rows.push(Row { style, half, label: false, judged });
        }
        let share = accepted(name, &rows);
        assert!(share < most, "{name}: {share}");
    }
}

#[test]
fn it_follows_the_model_verdicts_from_below() {
    for (name, agreement) in [
        ("fc_gpt-4o-mini_memos", 0.75),
        ("fc_gpt-4.1-mini_memos", 0.75),
        ("fc_gpt-4o-mini_cot", 0.75),
        ("fc_gpt-4.1-mini_cot", 0.80),
    ] {
        let Some(said) = run(name) else { return };
        let mut rows = Vec::new();
        for one in &said {
            let judged = is_right(&one.question, std::slice::from_ref(&one.gold), &one.answer);
            let (style, half) = (name.to_owned(), one.conversation % 2);
            rows.push(Row { style, half, label: one.label, judged });
        }
        let table = printed(name, &rows);
        assert!(table.agreement() >= agreement, "{name}: {}", table.agreement());
    }
}

/// A question of LoCoMo that has an answer and evidence.
struct Asked {
    question: String,
    gold: String,
    evidence: Vec<String>,
}

/// The questions of a conversation, and its turns by id, in order.
type Conversation = (Vec<Asked>, Vec<(String, String)>);

fn conversations() -> Option<Vec<Conversation>> {
    let all = json(data("locomo-nc/locomo10_conv1-6.json")?);
    let text = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let read = |one: &Json| {
        let asked = one["qa"].as_array().unwrap().iter().filter(|qa| qa["category"] != 5);
        let asked = asked.filter(|qa| !qa["answer"].is_null()).map(|qa| Asked {
            question: text(&qa["question"]),
            gold: text(&qa["answer"]),
            evidence: qa["evidence"].as_array().unwrap().iter().map(text).collect(),
        });
        let turns = (1..100).filter_map(|n| one["conversation"][format!("session_{n}")].as_array());
        let turn = |turn: &Json| {
            let said = format!("{}: {}", text(&turn["speaker"]), text(&turn["text"]));
            (text(&turn["dia_id"]), said)
        };
        (asked.collect(), turns.flatten().map(turn).collect())
    };
    Some(all.as_array().unwrap().iter().map(read).collect())
}

#[test]
fn answers_to_other_questions_are_rejected() {
    let Some(conversations) = conversations() else { return };
    let (mut golds, mut extracts) = (Vec::new(), Vec::new());
    for (half, (asked, turns)) in conversations.iter().enumerate() {
        let half = half % 2;
        for (at, one) in asked.iter().enumerate() {
            for step in [1, 7, 31] {
                let other = &asked[(at + step) % asked.len()];
                let judged =
                    |answer: &str| is_right(&one.question, std::slice::from_ref(&one.gold), answer);
                if !other.gold.eq_ignore_ascii_case(&one.gold) {
                    let style = "gold".to_owned();
                    golds.push(Row { style, half, label: false, judged: judged(&other.gold) });
                }
                let place = turns.iter().position(|(id, _)| other.evidence.contains(id));
                let Some(place) = place else { continue };
                let around = &turns[place.saturating_sub(1)..(place + 3).min(turns.len())];
                if around.iter().any(|(id, _)| one.evidence.contains(id)) {
                    continue;
                }
                let said: Vec<&str> = around.iter().map(|(_, said)| said.as_str()).collect();
                let words: Vec<String> =
                    said.join("\n").split(' ').take(90).map(str::to_owned).collect();
                let style = "extract".to_owned();
                extracts.push(Row { style, half, label: false, judged: judged(&words.join(" ")) });
            }
        }
    }
    for (name, rows) in [("golds of other questions", golds), ("extracts for others", extracts)] {
        let share = accepted(name, &rows);
        assert!(share < 0.05, "{name}: {share}");
    }
}

#[test]
fn a_context_is_asked_for_many_values_in_little_time() {
    let Some(conversations) = conversations() else { return };
    let begun = std::time::Instant::now();
    let (mut asked, mut stated, mut foreign, mut foreign_stated) = (0_u32, 0_u32, 0_u32, 0_u32);
    let whole: Vec<String> = conversations
        .iter()
        .map(|(_, turns)| turns.iter().map(|(_, said)| format!("{said}\n")).collect())
        .collect();
    for (at, text) in whole.iter().enumerate() {
        let haystack = Haystack::new(text);
        for (other, (questions, _)) in conversations.iter().enumerate() {
            for one in questions {
                let sought = Sought::new(&one.gold);
                if sought.is_yes_no() || sought.is_empty() {
                    continue;
                }
                let is_stated = u32::from(haystack.states(&sought));
                if other == at {
                    asked += 1;
                    stated += is_stated;
                } else {
                    foreign += 1;
                    foreign_stated += is_stated;
                }
            }
        }
    }
    let share = |part, of| 100.0 * f64::from(part) / f64::from(of);
    println!(
        "{stated} of {asked} golds stated in their conversation ({:.1} %), {foreign_stated} of \
         {foreign} in another ({:.1} %), in {:?}",
        share(stated, asked),
        share(foreign_stated, foreign),
        begun.elapsed()
    );
    assert!(share(stated, asked) > 2.0 * share(foreign_stated, foreign));
}
