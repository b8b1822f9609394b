//! The median of waiting times whose ends were not all observed.

/// Tolerance for rounding in a product of fractions.
const ROUNDING: f64 = 1e-9;

/// Median of waiting times, each in requests and with whether its end was
/// observed; otherwise the wait was longer than that (Kaplan and Meier 1958,
/// "Nonparametric Estimation from Incomplete Observations").
///
/// It is the smallest time after which at most half are estimated to be still
/// waiting. A wait whose observation ends exactly when another wait ends counts
/// as still waiting then. `None` if more than half are estimated to wait beyond
/// the last observed end, or without any wait.
pub(super) fn km_median(waits: &[(f64, bool)]) -> Option<f64> {
    let mut ends: Vec<f64> = waits.iter().filter(|(_, seen)| *seen).map(|(at, _)| *at).collect();
    ends.sort_by(f64::total_cmp);
    let mut waiting = 1.0;
    for same in ends.chunk_by(|a, b| a == b) {
        let at = same[0];
        let before = waits.iter().filter(|(wait, _)| *wait >= at).count() as f64;
        waiting *= 1.0 - same.len() as f64 / before;
        if waiting <= 0.5 + ROUNDING {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits whose end was observed.
    fn seen(at: &[f64]) -> Vec<(f64, bool)> {
        at.iter().map(|at| (*at, true)).collect()
    }

    #[test]
    fn fully_observed_waits_give_lower_median() {
        assert_eq!(km_median(&seen(&[5.0, 1.0, 3.0])), Some(3.0));
        assert_eq!(km_median(&seen(&[4.0, 1.0, 2.0, 3.0])), Some(2.0));
        assert_eq!(km_median(&seen(&[7.0])), Some(7.0));
        assert_eq!(km_median(&seen(&[2.0; 9])), Some(2.0));
        // (9/10)(8/9)…(5/6) is one half, and slightly more in floating point.
        let ten: Vec<f64> = (1..=10).map(f64::from).collect();
        assert_eq!(km_median(&seen(&ten)), Some(5.0));
    }

    #[test]
    fn unobserved_end_removes_wait_from_those_at_risk() {
        // 4/5 at 1; the wait observed until 2 is removed; then 2/3 of 4/5 is
        // 8/15 at 3, and 1/2 of that 4/15 at 4.
        let waits = [(1.0, true), (2.0, false), (3.0, true), (4.0, true), (5.0, false)];
        assert_eq!(km_median(&waits), Some(4.0));
    }

    #[test]
    fn wait_observed_until_another_ends_was_still_waiting() {
        // 1/2 at 3: of two waits one ends. If the other had been removed
        // before, it would be 0.
        assert_eq!(km_median(&[(3.0, true), (3.0, false)]), Some(3.0));
        // 2/3 at 3, and no later end is observed.
        assert_eq!(km_median(&[(3.0, true), (3.0, false), (3.0, false)]), None);
    }

    #[test]
    fn no_median_if_most_waits_outlast_last_end() {
        assert_eq!(km_median(&[(1.0, true), (40.0, false), (40.0, false)]), None);
        assert_eq!(km_median(&[(40.0, false); 5]), None);
        assert_eq!(km_median(&[]), None);
    }
}
