//! The curve of the sizes. Shapes are drawn on a field of 1,000 by 1,000 that is stretched, words
//! and dots are placed by per cent: one drawing fits every width, and type keeps its size.

use askama::Template;

use crate::{number, sizes};
use recap_core::model::{SizeCurve, SizeRow};
use recap_core::text::counted;
use recap_core::wording;

/// Where the first and the last size stand across, in per cent.
const ACROSS: (f64, f64) = (1.5, 98.5);
/// Room above the highest line.
const ABOVE: f64 = 1.12;
/// Names of sizes are that far apart, in per cent; those that come nearer are left out.
const APART: f64 = 15.0;
/// Dearer than this multiple of today's bill the band is cut.
const DEAREST: f64 = 1.35;

/// Everything that the template draws.
#[derive(Template)]
#[template(path = "curve.html")]
struct Chart {
    label: String,
    /// Points of the bill, of the band of its interval, and the height of today's bill.
    bill: String,
    band: String,
    today: f64,
    /// Lines of the grid: height in per cent and dollars.
    grid: Vec<(f64, String)>,
    dots: Vec<Dot>,
}

/// A size, or what was done.
struct Dot {
    /// Per cent from the left and from the top.
    x: f64,
    y: f64,
    name: String,
    /// Whether there is room for its name.
    named: bool,
    /// `adv`, `now` or nothing.
    class: &'static str,
    /// Which end of its figures stands at the dot.
    side: &'static str,
    usd: String,
    words: Vec<String>,
}

/// The curve of a report, as markup.
pub(super) fn drawn(curve: &SizeCurve) -> String {
    chart(curve).render().expect("writing to memory cannot fail")
}

fn chart(curve: &SizeCurve) -> Chart {
    let scale = Scale::of(curve);
    let today = scale.y(curve.today_usd);
    let chosen = curve.chosen().map(|row| row.size);
    let mut dots: Vec<Dot> =
        curve.sizes.iter().map(|row| dot(curve, row, &scale, chosen == Some(row.size))).collect();
    dots.push(Dot {
        x: ACROSS.1,
        y: today,
        name: "today".to_owned(),
        named: true,
        class: "now",
        side: "r",
        usd: number::dollars(curve.today_usd),
        words: vec![counted(curve.compactions, "compaction")],
    });
    make_room(&mut dots);
    let at = |x: f64, usd: f64| format!("{:.1},{:.1}", x * 10.0, scale.y(usd) * 10.0);
    let band = |of: fn(&SizeRow) -> f64| {
        let end = move |row: &SizeRow| at(scale.x(row.size), curve.today_usd * (1.0 - of(row)));
        curve.sizes.iter().map(end).collect::<Vec<String>>()
    };
    let bill = curve.sizes.iter().map(|row| at(scale.x(row.size), row.usd));
    let now = at(ACROSS.1, curve.today_usd);
    let least = band(|row| row.hi).into_iter().rev();
    Chart {
        label: format!(
            "Bill of {} by the size at which the agent compacts",
            counted(curve.sessions, "session")
        ),
        bill: bill.chain([now.clone()]).collect::<Vec<String>>().join(" "),
        band: band(|row| row.lo)
            .into_iter()
            .chain([now])
            .chain(least)
            .collect::<Vec<_>>()
            .join(" "),
        today,
        grid: scale.grid(curve.today_usd),
        dots,
    }
}

fn dot(curve: &SizeCurve, row: &SizeRow, scale: &Scale, is_advised: bool) -> Dot {
    let x = scale.x(row.size);
    let [against, interval] = [sizes::against(row), sizes::interval(row)];
    Dot {
        x,
        y: scale.y(row.usd),
        name: wording::size_name(row.size),
        named: true,
        class: if is_advised { "adv" } else { "" },
        side: match x {
            ..20.0 => "l",
            80.0.. => "r",
            _ => "",
        },
        usd: number::dollars(row.usd),
        words: vec![
            format!("{against} against today (95 %: {interval})"),
            counted(row.compactions, "compaction"),
            format!("{} of {} cheaper, {} dearer", row.cheaper, curve.sessions, row.dearer),
        ],
    }
}

/// Leaves names of sizes out that come too near to today’s, the advised or the one before.
fn make_room(dots: &mut [Dot]) {
    let fixed = dots.iter().filter(|dot| !dot.class.is_empty());
    let mut named: Vec<f64> = fixed.map(|dot| dot.x).collect();
    for dot in dots.iter_mut().filter(|dot| dot.class.is_empty()) {
        dot.named = named.iter().all(|x| (x - dot.x).abs() >= APART);
        named.extend(dot.named.then_some(dot.x));
    }
}

/// Sizes across, by their logarithm, and dollars from 0 up.
#[derive(Clone, Copy)]
struct Scale {
    from: f64,
    to: f64,
    most: f64,
}

impl Scale {
    fn of(curve: &SizeCurve) -> Scale {
        let sizes = || curve.sizes.iter().map(|row| row.size.max(1) as f64);
        let from = sizes().fold(f64::INFINITY, f64::min);
        let largest = sizes().fold(from, f64::max);
        let bills = curve.sizes.iter().map(|row| row.usd).fold(curve.today_usd, f64::max);
        let band = curve.sizes.iter().map(|row| curve.today_usd * (1.0 - row.lo));
        let band = band.fold(bills, f64::max).min(bills.max(curve.today_usd * DEAREST));
        Scale {
            from: from.ln(),
            // Today stands at the right end, after every size.
            to: (curve.largest as f64).max(largest * 1.15).ln(),
            most: (band * ABOVE).max(f64::MIN_POSITIVE),
        }
    }

    fn x(&self, size: u64) -> f64 {
        let share = ((size.max(1) as f64).ln() - self.from) / (self.to - self.from);
        ACROSS.0 + share * (ACROSS.1 - ACROSS.0)
    }

    fn y(&self, usd: f64) -> f64 {
        100.0 - 100.0 * (usd / self.most).clamp(0.0, 1.0)
    }

    /// Round amounts, some three of them, none of them near today's bill.
    fn grid(&self, today: f64) -> Vec<(f64, String)> {
        let step = 10_f64.powf((self.most / 3.0).log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|by| by * step).into_iter();
        let step = step.filter(|step| self.most / step <= 4.0).fold(f64::INFINITY, f64::min);
        let lines = (0..5).map(|n| f64::from(n) * step).filter(|usd| *usd < self.most);
        let is_free = |usd: &f64| (usd - today).abs() / self.most > 0.06;
        let whole = |usd: f64| number::dollars(usd).trim_end_matches(".00").to_owned();
        lines.filter(is_free).map(|usd| (self.y(usd), whole(usd))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{Kit, sized};
    use recap_core::model::Kept;

    fn curve() -> SizeCurve {
        sized(Kit::default().report()).curve.unwrap().unwrap()
    }

    #[test]
    fn dots_and_band_stand_where_sizes_and_bills_put_them() {
        let chart = chart(&curve());
        // The band goes up to $110, and there is an eighth more room: $123.2. 200k is half way from
        // 100k to the largest prompt of 400k by the logarithm.
        let at: Vec<(String, String)> = (chart.dots.iter())
            .map(|dot| (format!("{:.1}", dot.x), format!("{:.2}", dot.y)))
            .collect();
        let y = |usd: f64| format!("{:.2}", 100.0 - usd / 1.232);
        let expected = [("1.5", y(80.0)), ("50.0", y(90.0)), ("98.5", y(100.0))];
        assert_eq!(at, expected.map(|(x, y)| (x.to_owned(), y)));
        let classes: Vec<&str> = chart.dots.iter().map(|dot| dot.class).collect();
        assert_eq!(classes, ["adv", "", "now"]);
        // From $90 and $110 to today, and back over $80 and $70.
        let corner = |x: &str, usd: f64| format!("{x},{:.1}", 1_000.0 - usd / 0.1232);
        let band =
            [("15.0", 90.0), ("500.0", 110.0), ("985.0", 100.0), ("500.0", 80.0), ("15.0", 70.0)];
        assert_eq!(chart.band, band.map(|(x, usd)| corner(x, usd)).join(" "));
        let grid: Vec<&str> = chart.grid.iter().map(|(_, usd)| usd.as_str()).collect();
        assert_eq!(grid, ["$0", "$50"], "$100 is today\u{2019}s bill");
    }

    #[test]
    fn names_of_near_sizes_give_way_to_each_other() {
        let mut own = curve();
        let first = own.sizes[0].clone();
        let sizes = [100, 101, 115, 130, 390_u64];
        own.sizes =
            sizes.map(|size| SizeRow { size: size * 1_000, ..first.clone() }).into_iter().collect();
        own.advised = Ok(3);
        let named: Vec<bool> = chart(&own).dots.iter().map(|dot| dot.named).collect();
        // 101k is too near to 100k, 115k to 130k, which is advised, and 390k to today.
        assert_eq!(named, [true, false, false, true, false, true]);
        own.advised = Err(Kept::Unsure);
        assert!(chart(&own).dots.iter().all(|dot| dot.class != "adv"));
    }

    #[test]
    fn odd_figures_are_drawn_as_numbers() {
        let mut own = curve();
        for row in &mut own.sizes {
            // Nothing is known to cost nothing, and an interval may reach far.
            (row.lo, row.hi) = (-90.0, 1.0);
        }
        for today in [100.0, 0.0] {
            own.today_usd = today;
            let drawn = drawn(&own);
            assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
        }
    }
}
