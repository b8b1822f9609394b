//! Figures as findings tell them.

use super::measures::Known;
use crate::model::Unit;

/// A figure of a measure: few digits, its unit where it has one.
pub fn figure(measure: Known, x: f64) -> String {
    match measure.unit() {
        Unit::Dollars if x < 0.0 => format!("-${}", trimmed(-x, 4)),
        Unit::Dollars => format!("${}", trimmed(x, 4)),
        Unit::Milliseconds => format!("{} ms", trimmed(x, 1)),
        Unit::Tokens | Unit::Count if x.abs() >= 1e3 => trimmed(x, 0),
        Unit::Tokens | Unit::Count => trimmed(x, 1),
        Unit::Points => trimmed(x, 2),
        _ => trimmed(x, 4),
    }
}

/// A difference, with its sign.
pub fn difference(measure: Known, x: f64) -> String {
    let text = figure(measure, x);
    if x > 0.0 && text != "0" { format!("+{text}") } else { text }
}

/// At most so many decimals, no trailing zeros.
fn trimmed(x: f64, decimals: usize) -> String {
    let text = format!("{x:.decimals$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}
