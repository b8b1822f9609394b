use super::*;
use crate::testkit::{facts, manifest};
use recap_core::model::{Primary, Provenance, RunResults, SESSION_MEASURES};

/// What a session tells of a setting: dollars, facts kept of all, prompts refused.
type Told = (f64, (f64, f64), f64);

/// A search over `author` and others, with what every session tells of each; sessions of equal
/// size take turns, the first one chooses.
fn search(others: usize, figures_of: impl Fn(usize, usize) -> Told, sessions: usize) -> Tuned {
    let names: Vec<String> = (0..=others).map(|at| format!("x{at}")).collect();
    let strategies =
        names.iter().map(|name| Provenance { name: name.clone(), hash: String::new() });
    let grid = Grid {
        typed: "x0".to_owned(),
        author: "x0".to_owned(),
        changes: (1..=others).map(|at| format!("k={at}")).collect(),
        refused: Vec::new(),
    };
    let strategies = strategies.collect();
    let manifest = Manifest { grid: Some(grid), strategies, ..manifest(&["25%"]) };
    let facts: Vec<SessionFacts> =
        (0..sessions).map(|at| facts(&format!("s{at:02}")).requests(&[100]).build()).collect();
    let row = |setting: usize, unit: usize| {
        let (usd, (kept, of), refused) = figures_of(setting, unit);
        let figure = |measure: &&Measure| match measure.id {
            "cost_usd_refetch" => Some(usd).filter(|usd| usd.is_finite()),
            "references" => Some(of),
            "references_kept" => Some(kept),
            "overflows" => Some(refused),
            _ => None,
        };
        SessionRow {
            unit,
            strategy: names[setting].clone(),
            window: "25%".to_owned(),
            billed_as: "m".to_owned(),
            figures: SESSION_MEASURES.iter().map(figure).collect(),
        }
    };
    let rows: Vec<SessionRow> = (0..=others)
        .flat_map(|at| (0..sessions).map(move |unit| (at, unit)))
        .map(|(a, b)| row(a, b))
        .collect();
    let results = RunResults::default();
    tuned(&Evidence::of(&manifest, Primary::Continuity, &[], &facts, &results), &rows).unwrap()
}

#[test]
fn shares_are_of_all_facts_and_bills_are_sums() {
    // Sessions 0 and 2 choose. Of 4 and 6 facts the author keeps 4 and 6, the other 3 and 3: 0.6;
    // dollars are 2 + 4 against 1 + 3: a saving of 1 − 4/6.
    let figures_of = |setting: usize, unit: usize| match (setting, unit) {
        (0, 0) => (2.0, (4.0, 4.0), 0.0),
        (0, 2) => (4.0, (6.0, 6.0), 0.0),
        (1, 0) => (1.0, (3.0, 4.0), 0.0),
        (1, 2) => (3.0, (3.0, 6.0), 0.0),
        _ => (1.0, (1.0, 1.0), 0.0),
    };
    let found = search(1, figures_of, 4);
    let own = &found.settings[1].choosing;
    assert_eq!((own.usd, own.facts, own.kept.unwrap().value), (Some(4.0), 10.0, 0.6));
    assert!((own.saving.unwrap().value - 1.0 / 3.0).abs() < 1e-12);
    assert!((own.kept_difference.unwrap().value + 0.4).abs() < 1e-12);
    assert_eq!((own.admission, own.kept.unwrap().lo), (Admission::KeepsLess, None));
    assert_eq!((found.choosing.sessions, found.held_back.units, found.recommended), (2, 2, 0));
}

#[test]
fn only_what_is_admissible_on_both_halves_is_recommended() {
    // Twelve sessions: six choose, six judge. 1 is cheap and refused once, 2 is dearer, 3 has no
    // price in one session of those that judge and the same bill elsewhere, 4 is cheaper.
    let figures_of = |setting: usize, unit: usize| {
        let usd = [2.0, 1.0, 2.5, 2.0, 1.5][setting];
        let refused = f64::from(u8::from(setting == 1 && unit == 0));
        (usd, (9.0, 10.0), refused)
    };
    let found = search(4, figures_of, 12);
    let admissions: Vec<Admission> =
        found.settings.iter().map(|one| one.choosing.admission).collect();
    use Admission::{Admissible, Dearer, Refused};
    assert_eq!(admissions, [Admissible, Refused, Dearer, Admissible, Admissible]);
    assert_eq!(found.recommended, 4);
    let frontier: Vec<bool> = found.settings.iter().map(|one| one.frontier).collect();
    assert_eq!(frontier, [false, false, false, false, true]);
    let because = "the cheapest of 2 admissible settings where it was chosen; on the half held \
                   back it costs $9.00, the author's $12.00; facts kept 90 %, the author's 90 %";
    assert_eq!(found.because, because);
    // Dearer where it is judged: sessions 1, 3, 5, … are.
    let dearer = |setting: usize, unit: usize| {
        let usd = if setting == 1 && unit % 2 == 1 { 3.0 } else { 2.0 - setting as f64 };
        (usd, (9.0, 10.0), 0.0)
    };
    let found = search(1, dearer, 12);
    assert_eq!((found.recommended, found.settings[1].held_back.admission), (0, Dearer));
    let because = "k=1 is the cheapest admissible setting where it was chosen, but on the half \
                   held back it costs $18.00, the author's $12.00";
    assert_eq!(found.because, because);
}

#[test]
fn loss_within_its_interval_is_admitted_up_to_the_margin() {
    // Six sessions a half: one of them keeps 2 of 10 facts less, a mean of −1/30. The interval
    // reaches above zero (t of 2.57, a standard error of 1/30).
    let one = |less: f64| {
        move |setting: usize, unit: usize| {
            let kept = if setting == 1 && unit < 2 { 10.0 - less } else { 10.0 };
            (2.0 - setting as f64, (kept, 10.0), 0.0)
        }
    };
    let found = search(1, one(2.0), 12);
    let difference = found.settings[1].choosing.kept_difference.unwrap();
    assert!((difference.value + 1.0 / 30.0).abs() < 1e-12);
    assert!((difference.hi.unwrap() - (2.5706 - 1.0) / 30.0).abs() < 1e-4, "{difference:?}");
    assert_eq!(found.recommended, 1);
    // −4/60 is within its interval too, and more than the margin of 0.05.
    let found = search(1, one(4.0), 12);
    assert!(found.settings[1].choosing.kept_difference.unwrap().hi.unwrap() > 0.0);
    assert_eq!(found.settings[1].choosing.admission, Admission::KeepsLess);
    // A small loss in every session is beyond its interval.
    let every = |setting: usize, _| (2.0 - setting as f64, (100.0 - setting as f64, 100.0), 0.0);
    assert_eq!(search(1, every, 12).settings[1].choosing.admission, Admission::KeepsLess);
}

#[test]
fn session_without_price_counts_for_no_setting() {
    // Session 0 has no price under the other setting: its $2 of the author's do not count.
    let figures_of = |setting: usize, unit: usize| {
        let usd = if setting == 1 && unit == 0 { f64::NAN } else { 2.0 };
        (usd, (1.0, 1.0), 0.0)
    };
    assert_eq!(search(1, figures_of, 4).settings[0].choosing.usd, Some(2.0));
    let none = search(1, |_, _| (f64::NAN, (1.0, 1.0), 0.0), 4);
    assert_eq!(none.settings[0].choosing.admission, Admission::Unpriced);
    assert_eq!(none.because, "with them a price is not known");
}

#[test]
fn projects_and_forks_stay_together() {
    let session = |id: &str, requests: usize, project: Option<&str>| {
        let built = facts(id).requests(&vec![100; requests]).build();
        SessionFacts { cluster: project.map(str::to_owned), ..built }
    };
    let all = [
        session("a", 3, Some("p")),
        session("b", 3, Some("p")),
        session("c", 4, Some("q")),
        session("c#sidechain-1", 1, None),
        session("d", 1, None),
    ];
    let every: Vec<usize> = (0..all.len()).collect();
    let (by_project, [choosing, held]) = split(&all, &every);
    // p has 6 requests, q 4, the others 1 each: 6 against 4 + 1 + 1.
    assert!(by_project);
    assert_eq!((choosing, held), (vec![vec![0, 1]], vec![vec![2], vec![3], vec![4]]));
    // With one project sessions are divided, each with its subagents.
    let (by_project, [choosing, held]) = split(&all[2..], &[0, 1, 2]);
    assert!(!by_project);
    assert_eq!((choosing, held), (vec![vec![0, 1]], vec![vec![2]]));
}
