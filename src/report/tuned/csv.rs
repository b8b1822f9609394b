//! `frontier.csv`: a row for each setting.

use super::{fate, listed};
use crate::model::{Ranged, Tuned, TunedSetting};
use crate::report::sheet::{self, Field};

const COLUMNS: &str = "setting,changes,preset,window,compactor,status,fate,recommended,sessions,clusters,\
    kept,kept_lo,kept_hi,usd_per_session,usd_lo,usd_hi,wait_p95_s,dominated_by";

/// The settings as CSV, in the order of the table.
///
/// # Errors
/// What the writer says.
pub fn tuned_csv(tuned: &Tuned, out: &mut dyn std::io::Write) -> std::io::Result<()> {
    sheet::csv(COLUMNS, listed(tuned).into_iter().map(|setting| row(tuned, setting)), out)
}

fn row(tuned: &Tuned, setting: &TunedSetting) -> Vec<Field> {
    let part = |range: Option<Ranged>, of: fn(Ranged) -> Option<f64>| range.and_then(of);
    let mean = |range: Ranged| Some(range.mean);
    let (lo, hi) = (|range: Ranged| range.lo, |range: Ranged| range.hi);
    vec![
        Field::Count(setting.number as u64),
        Field::text(&setting.label),
        Field::text(&setting.preset),
        Field::maybe_text(setting.window.as_deref()),
        Field::text(&setting.compactor),
        Field::text(setting.status.as_str()),
        Field::Text(fate(setting)),
        Field::Flag(tuned.recommended == Some(setting.number)),
        Field::Count(setting.sessions as u64),
        Field::Count(setting.clusters as u64),
        Field::maybe(part(setting.kept, mean)),
        Field::maybe(part(setting.kept, lo)),
        Field::maybe(part(setting.kept, hi)),
        Field::maybe_dollars(part(setting.usd, mean)),
        Field::maybe_dollars(part(setting.usd, lo)),
        Field::maybe_dollars(part(setting.usd, hi)),
        Field::maybe(setting.wait_p95_s),
        setting.dominated_by.map_or(Field::Empty, |by| Field::Count(by as u64)),
    ]
}
