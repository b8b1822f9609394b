//! A range of values.

use serde::Deserialize;
use toml::Value;

use super::space::MOST_VALUES;

/// The ends of a range, its number of steps, and how they lie.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Range {
    from: Value,
    to: Value,
    steps: i64,
    #[serde(default)]
    scale: Scale,
}

/// How the steps of a range lie.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Scale {
    /// Equal differences.
    #[default]
    Linear,
    /// Equal ratios.
    Log,
}

impl Range {
    /// The steps, both ends included. Whole ends give whole steps, rounded, each
    /// once.
    pub fn values(&self) -> Result<Vec<Value>, String> {
        let number = |name: &str, value: &Value| match value {
            Value::Integer(n) => Ok(*n as f64),
            Value::Float(x) if x.is_finite() => Ok(*x),
            other => Err(format!("{name}: {other} is no number")),
        };
        let (from, to) = (number("from", &self.from)?, number("to", &self.to)?);
        if from >= to {
            return Err(format!("from {} is not below to {}", self.from, self.to));
        }
        if !(2..=MOST_VALUES as i64).contains(&self.steps) {
            return Err(format!("steps: {} is not between 2 and {MOST_VALUES}", self.steps));
        }
        let log = matches!(self.scale, Scale::Log);
        if log && from <= 0.0 {
            return Err(format!(
                "a range with scale = \"log\" begins above 0, not at {}",
                self.from
            ));
        }
        let whole = self.from.is_integer() && self.to.is_integer();
        let last = (self.steps - 1) as f64;
        let step = |at: i64| {
            let share = at as f64 / last;
            let x = match log {
                true => from * (to / from).powf(share),
                false => from + (to - from) * share,
            };
            if whole { Value::Integer(x.round() as i64) } else { Value::Float(significant(x)) }
        };
        let mut values: Vec<Value> = (0..self.steps).map(step).collect();
        values.dedup();
        Ok(values)
    }
}

/// A number with six significant digits, so that names of settings stay short.
pub(super) fn significant(x: f64) -> f64 {
    format!("{x:.5e}").parse().expect("a number that was printed is one")
}
