use super::*;
use crate::strategy::{Of, builtin};

const GAUGE: Gauge<'static> = Gauge {
    believed: Some(9_500),
    window: 10_000,
    budget: 8_000,
    usable: 9_000,
    tool_tokens: 0,
    messages: 9,
    turn: None,
    recorded: false,
};

/// Cuts §1: a stage shrinks to its own target, else to the size at which it
/// becomes due, else to the budget.
#[test]
fn a_stage_shrinks_to_its_target_else_to_its_threshold_else_to_the_budget() {
    let mut stage = builtin("session-state", &[]).unwrap().unwrap().stages.remove(0);
    let above = When::Above { of: Of::Usable, share: 0.7, and_over: 0, at_most: None };
    for (target_of, when, expected) in [
        (Some((Of::Window, 0.6)), above.clone(), 6_000),
        (Some((Of::Budget, 0.5)), When::Always, 4_000),
        (None, above, 6_300),
        (None, When::AboveReserve { reserve: 1_500 }, 8_500),
        (None, When::Messages(3), 8_000),
    ] {
        stage.target = target_of;
        assert_eq!(target(&stage, &when, &GAUGE), expected, "{target_of:?} {when:?}");
    }
}
