use jiff::civil::Date;

use super::*;

/// Each date as `y-m-d`, open parts as `?`, with the text that names it.
fn read(text: &str) -> Vec<(String, &str)> {
    let part = |part: Option<i16>| part.map_or("?".to_owned(), |p| p.to_string());
    let shown = |d: PartialDate| {
        let (month, day) = (d.month.map(i16::from), d.day.map(i16::from));
        format!("{}-{}-{}", part(d.year), part(month), part(day))
    };
    dates(text).into_iter().map(|d| (shown(d.date), &text[d.span])).collect()
}

fn only(text: &str) -> String {
    let found = read(text);
    assert_eq!(found.len(), 1, "{text}: {found:?}");
    found[0].0.clone()
}

#[test]
fn complete_date_is_read_in_every_usual_spelling() {
    for text in [
        "7 May 2023",
        "7 May, 2023",
        "May 7, 2023",
        "May 7th, 2023.",
        "on the 7th of May 2023",
        "the 7th of May, 2023",
        "7th May 2023",
        "7May, 2023",
        "2023-05-07",
        "2023-05-07T09:00:00Z",
        "2023/5/7",
        "07-May-2023",
        "Sunday, May 7 2023, at noon",
        "2:10 pm on 7 May, 2023",
        "May 7 '23",
        "07.05.2023",
    ] {
        assert_eq!(only(text), "2023-5-7", "{text}");
    }
}

#[test]
fn parts_that_are_not_said_stay_open() {
    assert_eq!(only("We met on 7 May."), "?-5-7");
    assert_eq!(only("the 7th of May"), "?-5-7");
    assert_eq!(only("in May 2023"), "2023-5-?");
    assert_eq!(only("May of 2023"), "2023-5-?");
    assert_eq!(only("April.2023"), "2023-4-?");
    assert_eq!(only("Sept. 2019"), "2019-9-?");
    assert_eq!(only("back in 2022"), "2022-?-?");
    assert_eq!(only("mid-2023"), "2023-?-?");
    assert_eq!(only("some day last March"), "?-3-?");
    assert_eq!(only("August"), "?-8-?");
}

#[test]
fn dates_are_read_despite_lost_spaces() {
    assert_eq!(only("It began on May 2, 20211."), "2021-5-2");
    assert_eq!(only("It began onMay 2, 2021by chance"), "2021-5-2");
}

#[test]
fn the_bytes_are_those_of_the_date() {
    assert_eq!(
        read("Né le 3 March, 1999; moved in 2021 (July)."),
        [
            ("1999-3-3".into(), "3 March, 1999"),
            ("2021-?-?".into(), "2021"),
            ("?-7-?".into(), "July")
        ]
    );
}

#[test]
fn numeric_date_is_read_only_if_unambiguous() {
    assert_eq!(only("13/5/2023"), "2023-5-13");
    assert_eq!(only("5/13/23"), "2023-5-13");
    assert_eq!(only("5/5/2023"), "2023-5-5");
    assert_eq!(only("7/5/2023"), "2023-?-?");
    assert_eq!(only("7/5/23"), "2023-?-?");
    assert_eq!(read("31/31/2023, 1/2/3, 10.0.2023, 1.2.3.2023"), []);
}

#[test]
fn days_that_share_a_month_are_all_found() {
    let days = |text| read(text).into_iter().map(|(date, _)| date).collect::<Vec<_>>();
    assert_eq!(days("between April 10 and 15, 2024"), ["2024-4-10", "2024-4-15"]);
    assert_eq!(days("10-15 April 2024"), ["2024-4-10", "2024-4-15"]);
    assert_eq!(days("June 3rd to 8th"), ["?-6-3", "?-6-8"]);
    assert_eq!(days("On May 5, 6 people came"), ["?-5-5"]);
    assert_eq!(days("On May 5 and 6 people came"), ["?-5-5"]);
}

#[test]
fn a_number_is_no_year_within_something_longer() {
    for text in [
        "$2000",
        "2000%",
        "the 1990s",
        "1,999",
        "2023.5",
        "12:2023",
        "555-2010-1234",
        "v2023",
        "2023a",
        "#2023",
        "5 000 people",
        "1234567",
        "3000",
    ] {
        assert_eq!(read(text), [], "{text}");
    }
    assert_eq!(read("2019-2021").len(), 2);
    assert_eq!(only("2010-11 season"), "2010-?-?");
    assert_eq!(only("(2014)"), "2014-?-?");
}

#[test]
fn the_verb_and_the_march_are_no_months() {
    for text in ["May I come?", "You may go", "March on!", "a long march", "2 may go", "mar it"] {
        assert_eq!(read(text), [], "{text}");
    }
    assert_eq!(only("April was lovely"), "?-4-?");
}

#[test]
fn day_absent_from_calendar_is_no_date() {
    assert_eq!(read("30 February 2023"), []);
    assert_eq!(read("29 February 2023"), []);
    assert_eq!(only("29 February 2024"), "2024-2-29");
    assert_eq!(only("29 February"), "?-2-29");
}

#[test]
fn a_date_covers_what_it_states_in_full() {
    let date = |text: &str| dates(text)[0].date;
    let (full, month, year) = (date("7 May 2023"), date("May 2023"), date("2023"));
    let day = date("7 May");
    assert!(full.covers(month) && full.covers(year) && full.covers(day));
    assert!(!month.covers(full) && !day.covers(full) && !year.covers(month));
    assert!(month.covers(month) && !full.covers(date("2022")));
    assert_eq!(full.civil(), Date::new(2023, 5, 7).ok());
    assert_eq!(day.civil(), None);
}

#[test]
fn hostile_texts_are_read_without_a_panic() {
    for text in ["", "\0\u{7f}", "מאי 7 2023", "٧ مايو ٢٠٢٣", "—–/-.-", "99999999999999 May"]
    {
        let _ = dates(text);
    }
    assert_eq!(dates(&"May 7, ".repeat(50_000)).len(), 50_000);
    assert_eq!(dates(&"1, ".repeat(50_000)), []);
}
