//! Findings on whether everything ran.

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use crate::measure;
    use crate::testkit::{cell, facts, manifest, run};
    use recap_core::model::{Finding, Manifest, RunResults};

    #[test]
    fn failed_cells() {
        let session = || vec![facts("s").requests(&[100]).build()];
        let good = |name: &str| cell("s", name).sent(&[100]).build();
        let broken = cell("s", "b").failed("it hangs");
        check(
            "failed_cells",
            [
                ("one of two", run(session(), vec![good("a"), broken]).findings),
                ("none", run(session(), vec![good("a")]).findings),
            ],
        );
    }

    #[test]
    fn notice() {
        let warned = |warnings: &[&str]| -> Vec<Finding> {
            let warnings = warnings.iter().map(|text| (*text).to_owned()).collect();
            let manifest = Manifest { warnings, ..manifest(&["25%"]) };
            measure(manifest, "d".into(), Vec::new(), RunResults::default()).findings
        };
        check(
            "notice",
            [
                ("two lines", warned(&["2 lines were left out", "a call took long"])),
                ("nothing", warned(&[])),
            ],
        );
    }
}
