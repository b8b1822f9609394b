//! Wholes that are divided into whole parts.

use std::cmp::Reverse;

/// A whole divided by weights into whole numbers that add up to it: each gets its
/// share rounded down, and what is left goes to the largest remainders, of equal
/// ones to the first (Hamilton's method). Nothing is divided where all weights
/// are 0.
pub fn apportioned(whole: u64, weights: &[u64]) -> Vec<u64> {
    let sum: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    if sum == 0 {
        return vec![0; weights.len()];
    }
    let exact = weights.iter().map(|weight| u128::from(whole) * u128::from(*weight));
    let (mut parts, remainders): (Vec<u64>, Vec<u128>) =
        exact.map(|exact| ((exact / sum) as u64, exact % sum)).unzip();
    let left = whole - parts.iter().sum::<u64>();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|&at| (Reverse(remainders[at]), at));
    order.into_iter().take(left as usize).for_each(|at| parts[at] += 1);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_goes_to_the_largest_remainders() {
        // By hand, of 10 by 3 : 2 : 2: 4.29, 2.86 and 2.86; 2 are left.
        assert_eq!(apportioned(10, &[3, 2, 2]), [4, 3, 3]);
        // The exact shares of 5 by 1 : 9 are 0.5 and 4.5.
        assert_eq!(apportioned(5, &[1, 9]), [1, 4]);
        // Equal remainders: the first one. Without weights: nothing.
        assert_eq!(apportioned(1, &[5, 0, 5]), [1, 0, 0]);
        assert_eq!(apportioned(7, &[0, 0]), [0, 0]);
        assert_eq!(apportioned(u64::MAX, &[u64::MAX, 0, u64::MAX])[1], 0);
    }
}
