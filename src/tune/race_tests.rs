//! The race by hand.

use super::figures::testkit::{sessions, told};
use super::race::{Fate, Next, Race, Rule, Work};

const RULE: Rule = Rule { margin: 0.02, false_drops: 0.05, max_wait: None, seed: 1 };

/// Kept of 30 facts, and dollars.
type Setting = (f64, f64);

/// Closes the next round with the same figures on every session, but for a part
/// that every setting has in common and that differs from session to session.
fn round(race: &mut Race, settings: &[Setting], affordable: Option<u64>) -> Option<Work> {
    let Next::Work(work) = race.next(affordable) else { return None };
    let figures = work.settings.iter().flat_map(|at| {
        let (kept, usd) = settings[*at];
        (work.from..work.to).map(move |session| {
            let common = (session % 3) as f64;
            (*at, told(session, kept + common, usd + common))
        })
    });
    let figures = figures.collect();
    race.close(work.clone(), figures);
    Some(work)
}

#[test]
fn a_setting_that_keeps_less_and_costs_more_is_dropped_at_the_first_look() {
    let settings = [(15.0, 2.0), (12.0, 3.0), (20.0, 4.0)];
    let mut race = Race::new(3, sessions(24), RULE);
    let work = round(&mut race, &settings, None).unwrap();
    assert_eq!(work, Work { settings: vec![0, 1, 2], from: 0, to: 9 });
    assert_eq!(race.fates[1], Fate::Dropped { round: 1, by: 0 });
    assert_eq!(race.racing(), [0, 2]);
    // 2 keeps more and 0 costs less: both stay and are settled.
    assert!(race.unsettled().is_empty());
    // What is settled is replayed last, in one piece.
    let work = round(&mut race, &settings, None).unwrap();
    assert_eq!(work, Work { settings: vec![0, 2], from: 9, to: 24 });
    assert_eq!(race.next(None), Next::Over);
    assert_eq!(race.rounds.iter().map(|round| round.cells).sum::<u64>(), 27 + 30);
}

#[test]
fn settings_that_are_alike_stay_and_one_that_is_cheaper_within_the_margin_wins() {
    // 1 keeps 0.3 of 30 facts less, which is 0.01, and costs half.
    let settings = [(15.0, 2.0), (14.7, 1.0), (15.0, 2.0)];
    let mut race = Race::new(3, sessions(8), RULE);
    round(&mut race, &settings, None);
    assert_eq!(race.racing(), [1]);
    // Without a margin it trades quality for dollars.
    let mut strict = Race::new(3, sessions(8), Rule { margin: 0.0, ..RULE });
    round(&mut strict, &settings, None);
    assert_eq!(strict.racing(), [0, 1, 2]);
    // Two that are the same in everything are both kept.
    assert_eq!(strict.unsettled(), [0, 2]);
}

#[test]
fn of_two_within_the_margin_of_one_another_the_authors_stays() {
    // 1 keeps 0.01 more and costs 1 % more: each dominates the other.
    let settings = [(15.0, 2.0), (15.3, 2.02)];
    let mut race = Race::new(2, sessions(8), RULE);
    round(&mut race, &settings, None);
    assert_eq!(race.racing(), [0]);
    assert_eq!(race.fates[1], Fate::Dropped { round: 1, by: 0 });
}

#[test]
fn a_budget_shortens_a_round_and_settings_are_compared_at_looks_only() {
    let settings = [(15.0, 2.0), (12.0, 3.0)];
    let mut race = Race::new(2, sessions(24), RULE);
    assert_eq!(race.next(Some(1)), Next::TooDear);
    let work = round(&mut race, &settings, Some(11)).unwrap();
    assert_eq!((work.from, work.to), (0, 5));
    assert!(!race.rounds[0].compared && race.racing().len() == 2);
    let work = round(&mut race, &settings, None).unwrap();
    assert_eq!((work.from, work.to), (5, 9));
    assert_eq!(race.racing(), [0]);
    assert_eq!(race.next(None), Next::Over, "one is left");
}

#[test]
fn a_setting_that_waits_too_long_dominates_none_and_a_failed_one_is_out() {
    let rule = Rule { max_wait: Some(7.5), ..RULE };
    let settings = [(12.0, 3.0), (15.0, 2.0)];
    // Session `at` waits at + 1 seconds: eight sessions have a p95 of 8.
    let mut race = Race::new(2, sessions(8), rule);
    round(&mut race, &settings, None);
    assert_eq!(race.racing(), [0, 1]);
    assert!(race.waits(1, 8));

    let mut race = Race::new(2, sessions(8), RULE);
    let work = Work { settings: vec![0, 1], from: 0, to: 8 };
    let mut broken = told(3, 1.0, 1.0);
    broken.failed.push("strategy bug".to_owned());
    race.close(work, vec![(1, broken)]);
    assert_eq!(race.fates[1], Fate::Failed { round: 1, why: "s3: strategy bug".to_owned() });
    assert_eq!(race.racing(), [0]);
}

#[test]
fn too_few_clusters_drop_nothing() {
    let settings = [(15.0, 2.0), (1.0, 30.0)];
    let mut race = Race::new(2, sessions(5), RULE);
    round(&mut race, &settings, None);
    assert_eq!(race.schedule.level, None);
    assert_eq!(race.racing(), [0, 1]);
    assert_eq!(race.next(None), Next::Over);
}
