use super::*;
use recap_core::model::{TUNED_VERSION, TunedHeldBack, TunedSplit};

fn setting(number: usize, label: &str, status: TunedStatus, kept: f64, usd: f64) -> TunedSetting {
    let range = |mean: f64| Some(Ranged { mean, lo: Some(mean * 0.9), hi: Some(mean * 1.1) });
    TunedSetting {
        number,
        label: label.to_owned(),
        strategy: format!("lis[{label}]"),
        hash: String::new(),
        window: None,
        compactor: "offline".to_owned(),
        status,
        sessions: 12,
        clusters: 9,
        kept: range(kept),
        usd: range(usd),
        wait_p95_s: Some(12.0),
        why: None,
    }
}

fn tuned() -> Tuned {
    Tuned {
        version: TUNED_VERSION,
        base: "lis".to_owned(),
        title: "sessions".to_owned(),
        measure: "facts_kept".to_owned(),
        depth: 3,
        max_wait_s: None,
        seed: 1,
        split: TunedSplit {
            by_project: true,
            search_sessions: 12,
            search_clusters: 9,
            held_back_sessions: 8,
            held_back_clusters: 6,
        },
        combinations: 27,
        settings: vec![
            setting(0, "as its author has it", TunedStatus::Frontier, 0.6, 2.0),
            setting(1, "protect=\u{1b}[31m1", TunedStatus::Behind, 0.3, 3.0),
            setting(2, "protect=4000", TunedStatus::Frontier, 0.5, 1.0),
        ],
        refused: vec![("protect=-1".to_owned(), "it is not between 0 and 9".to_owned())],
        recommended: Some(2),
        because: "it is cheap".to_owned(),
        strategy_file: Some("tuned-lis.toml".to_owned()),
        held_back: Some(TunedHeldBack {
            setting: 2,
            sessions: 8,
            kept: None,
            usd: None,
            words: "no difference is shown.".to_owned(),
        }),
        notes: vec!["an offline summary".to_owned()],
    }
}

#[test]
fn table_lists_frontier_by_dollars_before_settings_behind() {
    let screen = Screen { width: 120, color: false, wide: true };
    let table = tuned_table(&tuned(), screen);
    let at = |words: &str| table.find(words).unwrap_or_else(|| panic!("{words}: {table}"));
    assert!(at("→ 2  protect=4000") < at("  0  as its author has it"), "{table}");
    assert!(at("as its author has it") < at("behind"), "{table}");
    at("50 %  [45–55]");
    at("$1.00  [$0.900–$1.10]");
    at("refused by the strategy: protect=-1");
    at("Recommended: 2 (protect=4000), for it is cheap.");
    at("On 8 sessions that the search never saw, setting 2 against the author's: ");
    at("note: an offline summary");
    assert!(!table.contains('\u{1b}'), "{table:?}");
}

#[test]
fn settings_with_same_beginning_are_distinct_when_narrow() {
    let mut tuned = tuned();
    let long = "1.protect=20000 1.when.share=0.75 2.keep_last=20 2.max_tokens=";
    tuned.settings[1].label = format!("{long}750");
    tuned.settings[2].label = format!("{long}1500");
    let table = tuned_table(&tuned, Screen { width: 80, color: false, wide: true });
    assert!(table.contains("2.max_tokens=750") && table.contains("2.max_tokens=1500"), "{table}");
    let rows = table.lines().filter(|line| line.contains(" [")).count();
    assert_eq!(rows, 3, "figures stand once for each: {table}");
}

#[test]
fn csv_has_row_per_setting_in_same_order() {
    let mut bytes = Vec::new();
    tuned_csv(&tuned(), &mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let rows: Vec<&str> = text.lines().collect();
    assert_eq!(rows.len(), 4);
    assert!(rows[0].starts_with("setting,changes,strategy,window,compactor,status,recommended"));
    let first = "2,protect=4000,lis[protect=4000],,offline,frontier,true,12,9,0.5,0.45,";
    assert!(rows[1].starts_with(first), "{text}");
    assert!(rows[3].starts_with("1,"), "{text}");
}

#[test]
fn picture_joins_frontier_and_names_compared_settings() {
    let svg = tuned_svg(&tuned()).unwrap();
    assert_eq!(svg.matches("<circle").count(), 3);
    for name in ["0, the author's", "2, recommended", "1"] {
        let is_shown = svg.lines().any(|line| line.trim() == name.replace('\'', "&apos;"));
        assert!(is_shown, "{name}: {svg}");
    }
    // Two settings at the same place: the number of the lesser one is left out.
    let mut crowded = tuned();
    crowded.settings[1] = setting(1, "protect=1", TunedStatus::Behind, 0.5, 1.0);
    let svg = tuned_svg(&crowded).unwrap();
    assert!(!svg.lines().any(|line| line.trim() == "1"), "{svg}");
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{svg}");
    let nothing = Tuned { settings: Vec::new(), ..tuned() };
    assert_eq!(tuned_svg(&nothing), None);
}

#[test]
fn the_json_comes_back_the_same() {
    let back: Tuned = serde_json::from_str(&tuned_json(&tuned())).unwrap();
    assert_eq!(back, tuned());
}
