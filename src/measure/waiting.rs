//! The median of waiting times of which some ended unseen.

/// How far a product of fractions may miss the fraction that it stands for.
const ROUNDING: f64 = 1e-9;

/// Median of waiting times, each in requests and with whether its end was seen;
/// where it was not, the wait was longer than that (Kaplan and Meier 1958,
/// "Nonparametric Estimation from Incomplete Observations").
///
/// It is the smallest time at which at most half are estimated to wait still.
/// A wait that was given up at the very time at which another one ended counts
/// as still going on then. `None` where more than half are estimated to wait
/// beyond the last end that was seen, or without any wait.
pub fn km_median(waits: &[(f64, bool)]) -> Option<f64> {
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

    /// Waits whose end was seen.
    fn seen(at: &[f64]) -> Vec<(f64, bool)> {
        at.iter().map(|at| (*at, true)).collect()
    }

    #[test]
    fn with_every_end_seen_it_is_the_lower_median() {
        assert_eq!(km_median(&seen(&[5.0, 1.0, 3.0])), Some(3.0));
        assert_eq!(km_median(&seen(&[4.0, 1.0, 2.0, 3.0])), Some(2.0));
        assert_eq!(km_median(&seen(&[7.0])), Some(7.0));
        assert_eq!(km_median(&seen(&[2.0; 9])), Some(2.0));
        // (9/10)(8/9)…(5/6) is a half, and in floating point a little more.
        let ten: Vec<f64> = (1..=10).map(f64::from).collect();
        assert_eq!(km_median(&seen(&ten)), Some(5.0));
    }

    #[test]
    fn an_end_that_was_not_seen_leaves_those_at_risk() {
        // 4/5 at 1; without the one given up at 2, 2/3 of that is 8/15 at 3 and
        // 1/2 of that 4/15 at 4.
        let waits = [(1.0, true), (2.0, false), (3.0, true), (4.0, true), (5.0, false)];
        assert_eq!(km_median(&waits), Some(4.0));
    }

    #[test]
    fn who_gives_up_when_another_ends_was_still_waiting() {
        // 1/2 at 3: of both, one ends. Had the other one left before, it were 0.
        assert_eq!(km_median(&[(3.0, true), (3.0, false)]), Some(3.0));
        // 2/3 at 3, and nothing after it is seen.
        assert_eq!(km_median(&[(3.0, true), (3.0, false), (3.0, false)]), None);
    }

    #[test]
    fn there_is_none_where_over_half_wait_on() {
        assert_eq!(km_median(&[(1.0, true), (40.0, false), (40.0, false)]), None);
        assert_eq!(km_median(&[(40.0, false); 5]), None);
        assert_eq!(km_median(&[]), None);
    }
}
