//! The curve of the sizes. Shapes are drawn on a field of 1,000 by 1,000 that is stretched, words
//! and dots are placed by per cent: one drawing fits every width, and type keeps its size.

use crate::number;
use recap_core::model::{SizeCurve, SizeRow};
use recap_core::text::counted;
use recap_core::wording;

/// Where the first and the last size stand across, in per cent.
const ACROSS: (f64, f64) = (1.5, 98.5);
/// Room above the highest line.
const ABOVE: f64 = 1.12;
/// Names of sizes are that far apart, in per cent, on a telephone, a tablet and a wide screen: those
/// that come too near are left out there.
const APART: [(f64, &str); 3] = [(15.0, ""), (9.0, "w"), (4.0, "m")];
/// Dearer than this multiple of today's bill the band is cut.
const DEAREST: f64 = 1.35;

/// Everything that the template draws.
pub(super) struct Chart {
    pub(super) label: String,
    /// Points of the bill, of the band of its interval, and the height of today's bill.
    pub(super) bill: String,
    pub(super) band: String,
    pub(super) today: f64,
    /// Lines of the grid: height in per cent and dollars.
    pub(super) grid: Vec<(f64, String)>,
    pub(super) dots: Vec<Dot>,
}

/// A size, or what was done.
pub(super) struct Dot {
    /// Per cent from the left and from the top.
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) name: String,
    /// The row of the table of sizes.
    pub(super) id: String,
    /// Where there is room for its name, as the style sheet calls it.
    pub(super) room: &'static str,
    /// `adv`, `now` or nothing.
    pub(super) class: &'static str,
    /// Which end of its figures stands at the dot.
    pub(super) side: &'static str,
    pub(super) usd: String,
    pub(super) told: Vec<String>,
    /// Compactions, sessions cheaper, sessions dearer.
    pub(super) below: [String; 3],
}

/// The curve of a report.
pub(super) fn chart(curve: &SizeCurve) -> Chart {
    let scale = Scale::of(curve);
    let today = scale.y(curve.today_usd);
    let chosen = curve.chosen().map(|row| row.size);
    let mut dots: Vec<Dot> =
        curve.sizes.iter().map(|row| dot(curve, row, &scale, chosen == Some(row.size))).collect();
    dots.push(Dot {
        x: ACROSS.1,
        y: today,
        name: "today".to_owned(),
        id: "at-today".to_owned(),
        room: "",
        class: "now",
        side: "r",
        usd: number::dollars(curve.today_usd),
        told: vec![counted(curve.compactions, "compaction")],
        below: [curve.compactions.to_string(), "–".to_owned(), "–".to_owned()],
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
    let [against, interval] = [super::against(row), super::interval(row)];
    Dot {
        x,
        y: scale.y(row.usd),
        name: wording::size_name(row.size),
        id: format!("at-{}", row.size),
        room: "hidden",
        class: if is_advised { "adv" } else { "" },
        side: match x {
            ..20.0 => "l",
            80.0.. => "r",
            _ => "",
        },
        usd: number::dollars(row.usd),
        told: vec![
            format!("{against} against today (95 %: {interval})"),
            counted(row.compactions, "compaction"),
            format!("{} of {} cheaper, {} dearer", row.cheaper, curve.sessions, row.dearer),
        ],
        below: [row.compactions, row.cheaper, row.dearer].map(|n| n.to_string()),
    }
}

/// Decides where names of sizes have room: today and the advised size first, then the ends.
fn make_room(dots: &mut [Dot]) {
    let last = dots.len() - 1;
    let mut order: Vec<usize> = (0..dots.len()).collect();
    order.sort_by_key(|at| match (dots[*at].class, *at) {
        ("now", _) => 0,
        ("adv", _) => 1,
        (_, 0) => 2,
        (_, at) if at + 1 == last => 3,
        _ => 4,
    });
    let mut shown: Vec<usize> = Vec::new();
    for (apart, room) in APART {
        for at in &order {
            let free = |other: &usize| (dots[*other].x - dots[*at].x).abs() >= apart;
            if !shown.contains(at) && shown.iter().all(free) {
                dots[*at].room = room;
                shown.push(*at);
            }
        }
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
            // Today stands at the right end, behind every size.
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
