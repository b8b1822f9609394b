//! A curve of sizes made by hand: three sessions that cost $100 today.

use super::recommended;
use recap_core::model::{
    Quantities, Quantity, Recommendation, Report, SessionAtSize, Setting, SizeCurve, SizeRow,
};
use recap_core::wording;

/// At 100k $80, at 200k $90; today $100 with prompts up to 400k. 100k is advised, as the
/// recommendation says.
pub(crate) fn sized(mut report: Report) -> Report {
    let quantity = |value| Quantity { value, lo: value / 2.0, hi: value * 2.0, n: 8, own: true };
    let line = |size: u64| format!("\"limit\": {}", size / 1_000 + 33);
    let row = |size: u64, usd: f64, lo: f64, hi: f64| SizeRow {
        size,
        usd,
        saving: 1.0 - usd / 100.0,
        lo,
        hi,
        lo_read_again: lo,
        compactions: 2_000_000 / size,
        cheaper: 2,
        dearer: 1,
        no_room: 0,
        three_families: None,
        wait_ms: 120_000.0,
        line: Some(line(size)),
        by_session: [50.0, 30.0, 20.0].into_iter().enumerate().map(at(usd / 100.0)).collect(),
    };
    let curve = SizeCurve {
        agent: "an-agent".to_owned(),
        sessions: 3,
        left_out: vec![("session-9".to_owned(), "no price".to_owned())],
        families: 3,
        projects: 1,
        unit: "family",
        requests: 40,
        today_usd: 100.0,
        estimated: (1, 0.5),
        compactions: 4,
        largest: 400_000,
        quantities: Quantities {
            added: quantity(13_000.0),
            cached: quantity(23_000.0),
            output: quantity(4_000.0),
            read_again: Quantity { own: false, n: 41, ..quantity(8_700.0) },
            calls: Quantity { own: false, n: 41, ..quantity(3.0) },
            wait_ms: quantity(60_000.0),
        },
        sizes: vec![row(100_000, 80.0, 0.1, 0.3), row(200_000, 90.0, -0.1, 0.2)],
        advised: Ok(0),
        apply: Some(Setting {
            agent: "an-agent".to_owned(),
            name: "limit".to_owned(),
            line: line(100_000),
            file: "settings.json".to_owned(),
            note: None,
            source: "https://example.com".to_owned(),
            version: "1".to_owned(),
            checked: "2026-11-27".to_owned(),
        }),
    };
    let at_windows = recommended("prune");
    report.recommendation = Some(Recommendation {
        answer: wording::size_answer(&curve),
        how_sure: wording::size_basis(&curve),
        harness: Some(at_windows.answer.clone()),
        also: vec!["lis keeps 90 % for $30.00, which is not known to be worth it.".to_owned()],
        ..at_windows
    });
    report.curve = Some(Ok(curve));
    report
}

/// The last session changes most, and the first not at all.
fn at(share: f64) -> impl Fn((usize, f64)) -> SessionAtSize {
    move |(session, today_usd)| SessionAtSize {
        session,
        today_usd,
        usd: if session == 0 { today_usd } else { today_usd * share.powi(session as i32 * 2) },
        recorded: session as u64,
        compactions: 2 * session as u64,
        room: session != 2,
    }
}
