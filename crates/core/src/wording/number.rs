//! Numbers as text: plain decimals for files, few digits for people.

use crate::model::{Primary, Unit, catalogue};
pub use crate::text::grouped;

/// A number for a file: at most six decimals, no exponent, no trailing zeros,
/// so that equal values are equal bytes everywhere. `None` if the number is not
/// finite: a file never contains `NaN`.
pub fn plain(x: f64) -> Option<String> {
    decimals(x, 6)
}

/// Dollars for a file: nine decimals, so that the requests of a long session
/// add up to its bill.
pub fn exact_dollars(x: f64) -> Option<String> {
    decimals(x, 9)
}

/// Whether the unit of a measure is dollars.
pub fn is_in_dollars(id: &str) -> bool {
    catalogue::find(id).is_some_and(|measure| measure.unit == Unit::Dollars)
}

fn decimals(x: f64, digits: usize) -> Option<String> {
    x.is_finite().then(|| trimmed(x, digits))
}

/// With at most so many decimals, without the zeros at their end.
pub(super) fn trimmed(x: f64, digits: usize) -> String {
    let text = format!("{x:.digits$}");
    let decimals = text.contains('.');
    let text = if decimals { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// The number that [`plain`] would write, for JSON.
pub fn rounded(x: f64) -> Option<f64> {
    plain(x)?.parse().ok()
}

/// A number of tokens in few characters: `950`, `9.5k`, `181k`, `2.4M`.
pub fn tokens(x: f64) -> String {
    let x = x.max(0.0);
    let (by, digits, unit) = match x {
        ..999.5 => (1.0, 0, ""),
        ..9_950.0 => (1e3, 1, "k"),
        ..999_500.0 => (1e3, 0, "k"),
        ..9.95e6 => (1e6, 1, "M"),
        _ => (1e6, 0, "M"),
    };
    format!("{:.digits$}{unit}", x / by)
}

/// A coefficient such as kappa, with two decimals.
pub fn ratio(x: f64) -> String {
    signless(format!("{x:.2}"))
}

/// A share in whole per cent.
pub fn percent(x: f64) -> String {
    signless(format!("{:.0} %", x * 100.0))
}

/// A difference with its sign and two decimals; the minus sign is U+2212.
pub fn gain(x: f64) -> String {
    signed(x, 2, "")
}

/// Tokens sent as a multiple of what `full` sends.
pub fn multiple(x: f64) -> String {
    format!("{x:.2}×")
}

/// An amount of dollars in few digits: `$41.20`, `$0.0123`, `$1,234`.
pub fn dollars(x: f64) -> String {
    let sign = if x < 0.0 { "−" } else { "" };
    let x = x.abs();
    let digits = match x {
        999.995.. => return format!("{sign}${}", grouped(x.round() as u64)),
        0.9995.. | 0.0 => 2,
        0.099_95.. => 3,
        0.000_05.. => 4,
        _ => return format!("{sign}<$0.0001"),
    };
    format!("{sign}${x:.digits$}")
}

/// An amount of dollars in whole cents: `$0.42`, `−$0.03`.
pub fn cents(x: f64) -> String {
    let text = format!("{:.2}", x.abs());
    let sign = if x < 0.0 && text != "0.00" { "−" } else { "" };
    format!("{sign}${text}")
}

/// A difference in whole per cent with its sign; the minus sign is U+2212.
pub fn change(x: f64) -> String {
    signed(x * 100.0, 0, " %")
}

/// An error in per cent with its sign and one decimal.
pub fn error(x: f64) -> String {
    signed(x * 100.0, 1, " %")
}

/// A time in few characters: `0 ms`, `850 ms`, `4.2 s`, `75 s`, `12 min`.
pub fn time(ms: f64) -> String {
    let ms = ms.max(0.0);
    let (by, digits, unit) = match ms {
        ..999.5 => (1.0, 0, "ms"),
        ..9_950.0 => (1e3, 1, "s"),
        ..99_500.0 => (1e3, 0, "s"),
        _ => (6e4, 0, "min"),
    };
    format!("{:.digits$} {unit}", ms / by)
}

/// A figure in the words of its unit.
pub fn of(unit: Unit, x: f64) -> String {
    match unit {
        Unit::Share => signless(format!("{:.1} %", 100.0 * x)),
        Unit::Difference => signless(format!("{:.1} points", 100.0 * x)),
        Unit::Points => signless(format!("{x:.1} %")),
        Unit::Dollars => dollars(x),
        _ => any(x),
    }
}

/// A figure in few digits, with its unit if it has one; the minus sign is plain ASCII.
pub fn few_digits(unit: Unit, x: f64) -> String {
    match unit {
        Unit::Dollars => {
            let text = trimmed(x, 4);
            text.strip_prefix('-').map_or_else(|| format!("${text}"), |rest| format!("-${rest}"))
        }
        Unit::Milliseconds => format!("{} ms", trimmed(x, 1)),
        Unit::Tokens | Unit::Count if x.abs() >= 1e3 => trimmed(x, 0),
        Unit::Tokens | Unit::Count => trimmed(x, 1),
        Unit::Points => trimmed(x, 2),
        _ => trimmed(x, 4),
    }
}

/// The same of a difference, with its sign.
pub fn difference(unit: Unit, x: f64) -> String {
    let text = few_digits(unit, x);
    let is_nothing = ["0", "$0", "0 ms"].contains(&&*text);
    if x > 0.0 && !is_nothing { format!("+{text}") } else { text }
}

/// A figure of any unit, for the list of all measures.
pub fn any(x: f64) -> String {
    if (x.fract() == 0.0 || x.abs() >= 10_000.0) && x.abs() < 1e15 {
        let x = x.round();
        let sign = if x < 0.0 { "−" } else { "" };
        return format!("{sign}{}", grouped(x.abs() as u64));
    }
    let digits = if x.abs() >= 100.0 { 1 } else { 3 };
    signless(format!("{x:.digits$}"))
}

/// With the sign of a gain; nothing is no loss.
fn signed(x: f64, digits: usize, unit: &str) -> String {
    let text = format!("{x:.digits$}");
    let lost =
        text.strip_prefix('-').filter(|rest| rest.contains(|c: char| "123456789".contains(c)));
    match lost {
        Some(lost) => format!("−{lost}{unit}"),
        None => format!("+{}{unit}", text.trim_start_matches('-')),
    }
}

fn signless(text: String) -> String {
    let zero = text.trim_start_matches('-').chars().all(|c| c == '0' || c == '.');
    if zero { text.trim_start_matches('-').to_owned() } else { text.replace('-', "−") }
}

/// A difference in points of 100, without its sign and with enough digits that a
/// difference other than 0 is not shown as 0.
pub fn distance(by: Primary, difference: f64) -> String {
    let points = 100.0 * difference.abs() / by.most();
    match points {
        0.95.. => format!("{points:.0} points"),
        0.05.. => format!("{points:.1} points"),
        0.0 => "0 points".to_owned(),
        _ => "less than 0.1 points".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_numbers_have_six_decimals_and_no_exponent() {
        assert_eq!(plain(0.1 + 0.2).as_deref(), Some("0.3"));
        assert_eq!(plain(1e-9).as_deref(), Some("0"));
        assert_eq!(plain(-1e-9).as_deref(), Some("0"));
        assert_eq!(plain(-0.5).as_deref(), Some("-0.5"));
        assert_eq!(plain(1e20).as_deref(), Some("100000000000000000000"));
        assert_eq!(plain(200_000.0).as_deref(), Some("200000"));
        assert_eq!(exact_dollars(0.000_000_35).as_deref(), Some("0.00000035"));
        assert_eq!(plain(f64::NAN), None);
        assert_eq!(plain(f64::INFINITY), None);
    }

    #[test]
    fn numbers_for_people_have_few_digits() {
        assert_eq!(grouped(2_412), "2,412");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000_000), "1,000,000");
        assert_eq!(tokens(950.0), "950");
        assert_eq!(tokens(9_499.0), "9.5k");
        assert_eq!(tokens(9_990.0), "10k");
        assert_eq!(tokens(180_600.0), "181k");
        assert_eq!(tokens(999_700.0), "1.0M");
        assert_eq!(gain(0.266), "+0.27");
        assert_eq!(gain(-0.012), "−0.01");
        assert_eq!(gain(-0.001), "+0.00");
        assert_eq!(dollars(41.2), "$41.20");
        assert_eq!(dollars(1_234.5), "$1,235");
        assert_eq!(dollars(0.012_34), "$0.0123");
        assert_eq!(dollars(0.5), "$0.500");
        assert_eq!(dollars(0.0), "$0.00");
        assert_eq!(dollars(0.000_01), "<$0.0001");
        assert_eq!(dollars(-3.0), "−$3.00");
        assert_eq!(change(-0.443), "−44 %");
        assert_eq!(change(0.22), "+22 %");
        assert_eq!(change(-0.001), "+0 %");
        assert_eq!(error(-0.012), "−1.2 %");
        assert_eq!(time(0.0), "0 ms");
        assert_eq!(time(4_210.0), "4.2 s");
        assert_eq!(time(75_300.0), "75 s");
        assert_eq!(time(720_000.0), "12 min");
        assert_eq!(any(-0.0001), "0.000");
        assert_eq!(any(-1234.0), "−1,234");
        assert_eq!(any(0.5), "0.500");
        assert_eq!(any(112_633.6), "112,634");
        for (unit, x, figure, changed) in [
            (Unit::Dollars, -0.000_01, "$0", "$0"),
            (Unit::Dollars, 0.000_01, "$0", "$0"),
            (Unit::Dollars, -0.0, "$0", "$0"),
            (Unit::Dollars, -1.5, "-$1.5", "-$1.5"),
            (Unit::Dollars, 1.5, "$1.5", "+$1.5"),
            (Unit::Milliseconds, 0.01, "0 ms", "0 ms"),
            (Unit::Tokens, 0.01, "0", "0"),
        ] {
            assert_eq!((&*few_digits(unit, x), &*difference(unit, x)), (figure, changed), "{x}");
        }
    }
}
