//! Numbers as files and people read them. Files take plain decimals; people
//! take few digits.

/// A number for a file: at most six decimals, no exponent, no trailing zeros,
/// so that the same value is the same bytes everywhere. Absent where it is not
/// finite: a file holds no `NaN`.
pub(super) fn plain(x: f64) -> Option<String> {
    if !x.is_finite() {
        return None;
    }
    let text = format!("{x:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    Some(if text == "-0" { "0".to_owned() } else { text.to_owned() })
}

/// The same rounding, still a number, for JSON.
pub(super) fn rounded(x: f64) -> Option<f64> {
    plain(x)?.parse().ok()
}

/// A whole number with thousands separated by commas.
pub(super) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Tokens in few characters: `950`, `9.5k`, `181k`, `2.4M`.
pub(super) fn tokens(x: f64) -> String {
    let x = x.max(0.0);
    if x < 999.5 {
        format!("{x:.0}")
    } else if x < 9_950.0 {
        format!("{:.1}k", x / 1e3)
    } else if x < 999_500.0 {
        format!("{:.0}k", x / 1e3)
    } else if x < 9.95e6 {
        format!("{:.1}M", x / 1e6)
    } else {
        format!("{:.0}M", x / 1e6)
    }
}

/// A share with two decimals.
pub(super) fn share(x: f64) -> String {
    signless(format!("{x:.2}"))
}

/// A share in whole per cent.
pub(super) fn percent(x: f64) -> String {
    signless(format!("{:.0} %", x * 100.0))
}

/// A difference with its sign and two decimals; a true minus sign.
pub(super) fn gain(x: f64) -> String {
    let text = format!("{:+.2}", x);
    if text == "-0.00" { "+0.00".to_owned() } else { text.replace('-', "−") }
}

/// Tokens sent as a multiple of what `full` sends.
pub(super) fn multiple(x: f64) -> String {
    format!("{x:.2}×")
}

/// A measure of any unit, for the list of all measures.
pub(super) fn any(x: f64) -> String {
    if (x.fract() == 0.0 || x.abs() >= 10_000.0) && x.abs() < 1e15 {
        let x = x.round();
        let sign = if x < 0.0 { "−" } else { "" };
        return format!("{sign}{}", grouped(x.abs() as u64));
    }
    let digits = if x.abs() >= 100.0 { 1 } else { 3 };
    signless(format!("{x:.digits$}"))
}

fn signless(text: String) -> String {
    let zero = text.trim_start_matches('-').chars().all(|c| c == '0' || c == '.');
    if zero { text.trim_start_matches('-').to_owned() } else { text.replace('-', "−") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_holds_at_most_six_decimals_and_no_exponent() {
        assert_eq!(plain(0.1 + 0.2).as_deref(), Some("0.3"));
        assert_eq!(plain(1e-9).as_deref(), Some("0"));
        assert_eq!(plain(-1e-9).as_deref(), Some("0"));
        assert_eq!(plain(-0.5).as_deref(), Some("-0.5"));
        assert_eq!(plain(1e20).as_deref(), Some("100000000000000000000"));
        assert_eq!(plain(200_000.0).as_deref(), Some("200000"));
        assert_eq!(plain(f64::NAN), None);
        assert_eq!(plain(f64::INFINITY), None);
    }

    #[test]
    fn people_read_few_digits() {
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
        assert_eq!(any(-0.0001), "0.000");
        assert_eq!(any(-1234.0), "−1,234");
        assert_eq!(any(0.5), "0.500");
        assert_eq!(any(112_633.6), "112,634");
    }
}
