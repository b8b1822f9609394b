use super::*;
use crate::html::tests::{HOSTILE, page, tags};
use crate::testkit::{Kit, cut, sized};
use recap_core::model::Kept;

fn report() -> Report {
    sized(cut(Kit::default().report()))
}

fn curve(report: &mut Report) -> &mut SizeCurve {
    report.curve.as_mut().unwrap().as_mut().unwrap()
}

#[test]
fn dots_and_band_stand_where_sizes_and_bills_put_them() {
    let mut report = report();
    let chart = chart::chart(curve(&mut report));
    // The band goes up to $110, and there is an eighth more room: $123.2. 200k is half way from 100k
    // to the largest prompt of 400k by the logarithm.
    let at: Vec<(String, String)> =
        chart.dots.iter().map(|dot| (format!("{:.1}", dot.x), format!("{:.2}", dot.y))).collect();
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
fn names_of_near_sizes_give_way_and_every_size_keeps_its_row() {
    let mut report = report();
    let own = curve(&mut report);
    let first = own.sizes[0].clone();
    let sizes = [100, 101, 115, 130, 390_u64];
    own.sizes =
        sizes.map(|size| SizeRow { size: size * 1_000, ..first.clone() }).into_iter().collect();
    own.advised = Ok(3);
    let rooms: Vec<&str> = chart::chart(own).dots.iter().map(|dot| dot.room).collect();
    // 101k is too near to 100k; 115k has room on a wide screen, 390k not on a telephone.
    assert_eq!(rooms, ["", "hidden", "m", "", "w", ""]);
    let page = page(&report, None);
    for size in sizes {
        assert!(page.contains(&format!("<tr id=\"at-{}\"", size * 1_000)), "{size}");
    }
}

#[test]
fn nothing_advised_is_the_same_chart_without_accent_and_setting() {
    let mut report = report();
    let own = curve(&mut report);
    (own.advised, own.apply) = (Err(Kept::Unsure), None);
    assert!(chart::chart(own).dots.iter().all(|dot| dot.class != "adv"));
    let page = page(&report, None);
    let answer =
        page.split_once("<header id=\"answer\"").unwrap().1.split_once("</header>").unwrap().0;
    assert!(answer.contains("<h1>Leave the size at which an-agent compacts: "), "{answer}");
    assert!(answer.contains("<b>$80.00</b><p>bill at 100k, −20 % against today</p>"), "{answer}");
    assert!(!answer.contains("data-copy") && !answer.contains("advised"), "{answer}");
    assert!(page.contains("data-copy=\"&#34;limit&#34;: 133\""), "each size keeps its setting");
}

#[test]
fn page_has_each_section_once_and_every_link_leads_somewhere() {
    let page = page(&report(), None);
    let places = [
        "<header id=\"answer\"",
        "<h1>Compacting at 100k tokens would have cost $80.00 instead of $100.00, 10 to 30 % less.</h1>",
        "<code>&#34;limit&#34;: 133</code>",
        "<b>20</b><p>compactions, today 4</p>",
        "<b>2 of 3</b><p>sessions cheaper, 1 dearer</p>",
        "<section id=\"cost\"",
        "<section id=\"cuts\"",
        "<section id=\"sessions\"",
        "<section id=\"sure\"",
        "Left out: session-9, no price.",
        "Problems of this run",
        "<section id=\"more\"",
        "id=\"sizes\"",
        "<section id=\"session\"",
        "<section id=\"bill\"",
        "<section id=\"comparison\"",
        "<section id=\"trust\"",
        "<section id=\"settings\"",
    ];
    let at = places.map(|words| page.find(words).unwrap_or_else(|| panic!("{words}")));
    assert!(at.is_sorted(), "{at:?}");
    for part in ["id=\"sizes\"", "<section id=\"cuts\"", "<section id=\"bill\""] {
        assert_eq!(page.matches(part).count(), 1, "{part}");
    }
    let body = page.split_once("</head>").unwrap().1;
    assert!(!body.contains("class=\"quadrant\""), "bills and facts at cuts are two experiments");
    for (at, _) in body.match_indices("href=\"#") {
        let id = body[at + 7..].split('"').next().unwrap();
        assert!(body.contains(&format!("id=\"{id}\"")), "#{id} leads nowhere");
    }
}

#[test]
fn sessions_whose_bill_changes_most_come_first() {
    let mut report = report();
    let own = curve(&mut report).clone();
    let rows = sessions(&report, &own.sizes[0]);
    // 30 · (1 − 0.8²) = 10.80 and 20 · (1 − 0.8⁴) = 11.81; the first session stays as it is.
    let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["session-2", "session-1", "session-0"]);
    assert_eq!((&*rows[0].today, &*rows[0].usd), ("$20.00", "$8.19"));
    assert_eq!(rows[0].bars, ["40.0", "16.4"], "of the $50 of the dearest");
    let page = page(&report, None);
    assert!(page.contains("<span class=\"number\" data-l=\"compactions\">2 → 4</span>"));
    assert!(page.contains("It has no room at 100k"));
    assert!(page.contains("It never comes to 100k, and stays as it is."));
}

#[test]
fn own_and_public_quantities_are_told_apart() {
    let mut report = report();
    let rows = costs(&curve(&mut report).quantities);
    let own: Vec<(&str, &str, bool)> =
        rows.iter().map(|row| (&*row.value, &*row.n, row.is_own)).collect();
    let expected = [
        ("13k", "8", true),
        ("23k", "8", true),
        ("4.0k", "8", true),
        ("8.7k", "41", false),
        ("3.0", "41", false),
        ("60 s", "8", true),
    ];
    assert_eq!(own, expected);
}

#[test]
fn words_of_recordings_stay_words_and_odd_figures_draw() {
    let mut report = report();
    for facts in &mut report.sessions {
        facts.session = format!("{}{HOSTILE}", facts.session);
    }
    report.title = format!("title{HOSTILE}");
    let own = curve(&mut report);
    own.agent = format!("agent{HOSTILE}");
    own.left_out = vec![(HOSTILE.to_owned(), HOSTILE.to_owned()); 9];
    for row in &mut own.sizes {
        row.line = Some(format!("line{HOSTILE}"));
        // Nothing is known to cost nothing, and an interval may reach far.
        (row.lo, row.hi) = (-90.0, 1.0);
        row.by_session.push(SessionAtSize { session: 99, ..row.by_session[0].clone() });
    }
    if let Some(apply) = &mut own.apply {
        (apply.line, apply.file) = (format!("line{HOSTILE}"), format!("file{HOSTILE}"));
        apply.note = Some(format!("note{HOSTILE}"));
    }
    for today in [100.0, 0.0] {
        curve(&mut report).today_usd = today;
        let page = page(&report, None);
        for tag in tags(&page) {
            assert!(tag.matches('"').count() % 2 == 0, "an attribute is torn: <{tag}>");
            let outside: String = tag.split('"').step_by(2).collect();
            assert!(!outside.contains("onmouseover"), "<{tag}>");
        }
        for place in ["title", "agent", "line", "file", "note", "session-1"] {
            assert!(page.contains(&format!("{place}&#60;script&#62;")), "{place}");
        }
        let drawn = page.split_once("class=\"plot\"").unwrap().1.split_once("</figure>").unwrap().0;
        assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
    }
}
