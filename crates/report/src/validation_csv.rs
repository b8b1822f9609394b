//! `validation.csv`: what sessions with reported usage were billed, and what the
//! row `recorded` is billed for the same requests. Reads alone validate nothing: a rule
//! with reads within 3 % was 10–22 % off in dollars (reference §2).

use std::io::{Result, Write};

use super::sheet::{self, Field};
use super::{Format, RenderInput};
use recap_core::model::{BillErrors, Buckets, SessionFacts, Validation};

pub(super) const FORMAT: Format = Format {
    name: "csv",
    file: "validation.csv",
    about: "one row per session with reported usage: the simulated bill against the recorded one",
    render,
};

/// Two sums of buckets, as reported and as the row `recorded` has them, then
/// what they differ by.
const COLUMNS: &str = "dataset,session,model,requests,\
    recorded_uncached,recorded_read,recorded_write,recorded_write_1h,\
    simulated_uncached,simulated_read,simulated_write,simulated_write_1h,\
    recorded_usd,simulated_usd,tokens_error,reads_error,writes_error,usd_error,\
    count_error_in_sample,count_error_forward,count_error_after_boundary,tokens_source,\
    cold_starts,expired,renewed";

fn render(source: &RenderInput<'_>, out: &mut dyn Write) -> Result<()> {
    let sessions = source.report.sessions.iter();
    let rows = sessions.filter_map(|f| Some(fields(f, f.validation.as_ref()?)));
    sheet::csv(COLUMNS, rows, out)
}

fn fields(facts: &SessionFacts, validation: &Validation) -> Vec<Field> {
    let count = |n: u32| Field::Count(u64::from(n));
    let mut fields = vec![
        Field::text(&facts.dataset),
        Field::text(&facts.session),
        Field::text(&validation.model),
        count(validation.requests),
    ];
    for sum in [&validation.recorded, &validation.simulated] {
        fields.extend(buckets(sum));
    }
    let usd = [validation.recorded_usd, validation.simulated_usd];
    fields.extend(usd.map(Field::maybe_dollars));
    fields.extend(errors(&validation.errors()));
    let calibration = facts.calibration.as_ref();
    fields.extend([
        Field::maybe(calibration.and_then(|c| c.in_sample)),
        Field::maybe(calibration.and_then(|c| c.forward)),
        Field::maybe(calibration.and_then(|c| c.after_boundary)),
        Field::text(facts.tokens_source.as_str()),
        count(validation.cold_starts),
        count(validation.expired),
        count(validation.renewed),
    ]);
    fields
}

fn buckets(sum: &Buckets) -> [Field; 4] {
    [sum.uncached, sum.read, sum.write, sum.write_1h].map(Field::Count)
}

fn errors(errors: &BillErrors) -> [Field; 4] {
    [errors.tokens, errors.reads, errors.writes, errors.usd].map(Field::maybe)
}
