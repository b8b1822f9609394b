//! What the chosen strategy costs (measures §2).
//!
//! Where the whole conversation is over the window nobody could have sent it,
//! so nothing is called cheaper than it; the recorded agent is told against
//! then, where its bill is known.

use super::Scene;
use super::choice::{Best, is_over};
use crate::measure::names::{BASELINE, RECORDED};
use crate::measure::sentences::{grouped, percent};
use crate::model::{PresetRow, catalogue};

/// Differences below this are not worth a clause.
const LEAST: f64 = 0.005;

impl Scene<'_> {
    /// One sentence, where there is a bill.
    pub(super) fn costs(&self, best: &Best<'_>) -> Option<String> {
        let row = best.row();
        let cost = row.number(catalogue::COST_USD)?;
        let payer = self.among_payers.then(|| format!(" (billed as {})", row.agent_model));
        let mut text = format!("Its bill is {}{}", dollars(cost), payer.unwrap_or_default());
        if is_over(row) {
            return Some(text + ", if the requests over the window were taken.");
        }
        let whole = self.beside(row, BASELINE);
        let fits = whole.map(|full| full.number(catalogue::OVERFLOWS) == Some(0.0));
        text += &match fits {
            None => String::new(),
            Some(true) => self.against_full(row),
            Some(false) => self.against_what_was_sent(row),
        };
        Some(text + ".")
    }

    fn against_full(&self, row: &PresetRow) -> String {
        let Some(savings) = row.number(catalogue::COST_SAVINGS) else { return String::new() };
        match savings {
            s if s >= LEAST => format!(
                ", {} below that of the whole conversation{}",
                percent(s),
                refetched(row, s)
            ),
            s if s <= -LEAST => {
                format!(", {} above that of the whole conversation", percent(-s))
            }
            _ => ", the same as that of the whole conversation".to_owned(),
        }
    }

    /// The whole conversation is over the window.
    fn against_what_was_sent(&self, row: &PresetRow) -> String {
        if let Some(savings) = row.number(catalogue::COST_SAVINGS_VS_RECORDED)
            && self.beside(row, RECORDED).is_some()
        {
            if savings.abs() < LEAST {
                return ", the same as that of what the recorded agent sent".to_owned();
            }
            let side = if savings > 0.0 { "below" } else { "above" };
            let more = if savings >= LEAST { refetched(row, savings) } else { String::new() };
            return format!(
                ", {} {side} that of what the recorded agent sent{more}",
                percent(savings.abs())
            );
        }
        match row.number(catalogue::COST_SAVINGS) {
            Some(savings) if savings <= -LEAST => format!(
                ", {} above what the whole conversation would cost if its requests over the \
                 window were taken",
                percent(-savings)
            ),
            _ => "; the whole conversation is over the window, so there is no bill without \
                  compression to set it against"
                .to_owned(),
        }
    }
}

/// What is left of savings if everything lost is fetched again.
fn refetched(row: &PresetRow, savings: f64) -> String {
    let dearer = row.number(catalogue::COST_USD_REFETCH).zip(row.number(catalogue::COST_USD));
    let left = dearer.map(|(refetch, cost)| 1.0 - (1.0 - savings) * refetch / cost);
    match left {
        None => String::new(),
        Some(left) if left >= LEAST => {
            format!(", and {} below it if everything lost is fetched again", percent(left))
        }
        Some(_) => ", but not if everything lost is fetched again".to_owned(),
    }
}

/// Dollars in few digits.
pub(in crate::measure) fn dollars(x: f64) -> String {
    match x {
        x if x >= 999.995 => format!("${}", grouped(x)),
        x if x >= 0.9995 || x == 0.0 => format!("${x:.2}"),
        x if x >= 0.099_95 => format!("${x:.3}"),
        x if x >= 0.000_05 => format!("${x:.4}"),
        _ => "less than $0.0001".to_owned(),
    }
}
