use std::sync::{Arc, LazyLock};

use crate::Texts;
use crate::testkit::{Kit, cut, recommended, sized, validation};
use recap_core::model::{Absent, CellOutcome, Finding, RowKind, RunResults, Value};

use super::*;

pub(crate) fn page(report: &Report, texts: Option<&dyn Texts>) -> String {
    crate::testkit::file(report, texts, "report.html")
}

/// Text that tries to leave the place where it stands.
pub(super) const HOSTILE: &str = "<script>alert(1)</script>\" onmouseover=\"x' ]]> <!-- </title></svg></pre>\
    </style>{{ 1 }} \u{0}\u{1b}[31m \u{202E}evil\u{2066} &amp;";

/// Every text of a report, replaced; keys that join rows stay joined.
fn hostile() -> (Report, crate::testkit::Echo) {
    let mut report = Kit::default().report();
    let bad = |name: &str| format!("{name}{HOSTILE}");
    report.title = bad("title");
    report.receipt = crate::receipt::tests::report().receipt;
    let spent = std::mem::take(&mut report.receipt.spent);
    let named = |((sender, _), own)| ((sender, Some(bad("model"))), own);
    report.receipt.spent = spent.into_iter().map(named).collect();
    report.receipt.contents.iter_mut().for_each(|content| content.tool = Some(bad("tool")));
    report.receipt.without_hour = Some(Absent::NoHour(bad("model")));
    report.findings = vec![
        Finding::problem("notice", bad("warning")),
        Finding::observation("adds_nothing", 0.55, bad("sentence")),
    ];
    report.recommendation = Some(recommended(&bad("recommended")));
    report.manifest.version = bad("version");
    report.manifest.tokens = bad("tokens");
    report.manifest.compactor = bad("compactor");
    report.manifest.windows = vec![bad("window")];
    for p in report.manifest.strategies.iter_mut().chain(&mut report.manifest.sessions) {
        (p.name, p.hash) = (bad(&p.name), bad("hash"));
    }
    report.manifest.agent_models = vec![bad("billing_model")];
    report.manifest.prices.name = bad("list");
    let models = std::mem::take(&mut report.manifest.prices.models);
    report.manifest.prices.models = models.into_iter().map(|(m, entry)| (bad(&m), entry)).collect();
    for row in &mut report.rows {
        row.agent_model = bad("billing_model");
        row.dataset = bad(&row.dataset);
        row.strategy = bad(&row.strategy);
        row.window = bad(&row.window);
        row.failed = vec![bad("failed")];
        row.values.insert(bad("measure"), Value::Text(bad("word")));
        row.values.insert(bad("absent"), Value::Absent(Absent::Price(bad("reason"))));
    }
    for t in &mut report.sessions {
        t.validation = Some(validation(0.1));
        (t.dataset, t.session) = (bad(&t.dataset), bad(&t.session));
        for m in &mut t.messages {
            (m.id, m.tool) = (bad(&m.id), Some(bad("tool")));
        }
    }
    for cell in report.results.cells_mut() {
        let key = &mut cell.key;
        for part in [&mut key.dataset, &mut key.session, &mut key.strategy, &mut key.window] {
            *part = bad(part);
        }
        if let CellOutcome::Done(rows) = &mut cell.outcome {
            for bill in rows.bills.iter_mut().map(Arc::make_mut) {
                (bill.billed_as, bill.model) = (bad("billing_model"), bad(&bill.model));
            }
            for (at, c) in rows.compactions.iter_mut().enumerate() {
                (c.mechanism, c.trigger) = (bad("mechanism").into(), bad("trigger").into());
                c.fallback = (at == 0).then(|| bad("fallback"));
                c.error = (at == 1).then(|| bad("error"));
            }
        }
    }
    let (cells, cuts) = std::mem::take(&mut report.results).into_lists();
    report.results = RunResults::new(cells, cuts);
    let mut texts = Kit::default().texts(&report);
    for text in texts.0.values_mut() {
        *text = bad("text");
    }
    (report, texts)
}

/// Blocks of packed data.
static DATA: LazyLock<regex::Regex> = LazyLock::new(|| {
    regex::Regex::new(r#"^script type="application/octet-stream" id="[a-z0-9-]+"$"#).unwrap()
});

/// A packed block of a page.
pub(super) fn block(page: &str, id: &str) -> serde_json::Value {
    let (_, data) = page.split_once(&format!("id=\"{id}\">")).unwrap();
    super::embedded::unpacked(data.split_once('<').unwrap().0)
}

/// Start tags of a page that is read as HTML; panics where a `<` opens nothing
/// that the page itself writes.
fn tags(page: &str) -> Vec<&str> {
    let names = "a aside b body br button caption circle code dd defs details div dl dt fieldset \
                 figcaption figure g h1 h2 h3 h4 head header html i input label legend li line main \
                 meta nav ol option output p path pattern polygon polyline pre rect script section \
                 select small span style summary svg table tbody td text th thead title tr ul";
    let names: Vec<&str> = names.split(' ').collect();
    let scripts: Vec<(usize, usize)> = page
        .match_indices("<script>")
        .map(|(at, open)| (at + open.len(), at + page[at..].find("</script>").unwrap()))
        .collect();
    let mut out = Vec::new();
    for (at, _) in page.match_indices('<') {
        if scripts.iter().any(|s| (s.0..s.1).contains(&at))
            || page[at..].starts_with("<!DOCTYPE html>")
        {
            continue;
        }
        let tag = &page[at + 1..at + page[at..].find('>').expect("a tag ends")];
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        assert!(names.contains(&name), "`<{tag}>` is none of the page's own");
        out.push(tag);
    }
    out
}

/// Nothing of a stranger is markup, a handler or a control character.
#[track_caller]
pub(super) fn assert_harmless(page: &str) {
    let tags = tags(page);
    let scripts = || tags.iter().filter(|tag| tag.starts_with("script"));
    let own = scripts().filter(|tag| **tag == "script").count();
    assert_eq!(own, embedded::SCRIPTS.len(), "the page's own");
    for tag in scripts() {
        let ours = *tag == "script" || DATA.is_match(tag);
        assert!(ours, "<{tag}> is neither data nor the page's own");
    }
    for tag in &tags {
        assert!(tag.matches('"').count() % 2 == 0, "an attribute is torn: <{tag}>");
        // Outside of quoted values no handler may stand.
        let outside: String = tag.split('"').step_by(2).collect();
        assert!(!outside.contains("onmouseover"), "<{tag}>");
    }
    let control = |c: char| c.is_control() && c != '\n' && c != '\t';
    assert!(!page.contains(control), "a control character is left");
    assert!(!page.contains(['\u{202E}', '\u{2066}']), "a direction override is left");
}

#[test]
fn hostile_text_is_shown_everywhere_and_is_no_markup() {
    let (report, texts) = hostile();
    let page = page(&report, Some(&texts));
    assert_harmless(&page);
    let places = "title warning sentence version tokens compactor window failed prune \
                  billing_model list";
    for place in places.split(' ') {
        let escaped = format!("{place}&#60;script&#62;");
        assert!(page.contains(&escaped), "{place} is not on the page");
    }
    let packed = block(&page, "shape-2").to_string();
    for place in ["tool", "mechanism", "trigger", "fallback", "error", "s2-m0"] {
        assert!(packed.contains(&format!("{place}<script>")), "{place} is not in the shape");
    }
    assert!(block(&page, "words-2").to_string().contains("text<script>"));
}

#[test]
fn the_page_reaches_for_nothing_outside_of_itself() {
    let report = Kit::default().report();
    // The name of a namespace is no address.
    let page = page(&report, None).replace("http://www.w3.org/2000/svg", "");
    for outside in ["http://", "https://", "src=", "@import", "<link", "<img", "url(\"", "fetch("] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn every_session_is_selectable_and_longest_opens_first() {
    let report = Kit::default().report();
    let page = page(&report, Some(&Kit::default().texts(&report)));
    let index = block(&page, "details");
    assert_eq!(index["open"], 2, "the longest");
    assert_eq!(index["sessions"], serde_json::json!(["session-0", "session-1", "session-2"]));
    for kind in ["shape", "words"] {
        for at in 0..3 {
            block(&page, &format!("{kind}-{at}"));
        }
    }
}

#[test]
fn packed_sessions_without_texts_hold_no_words() {
    let report = Kit::default().report();
    let texts = Kit::default().texts(&report);
    let (with, without) = (page(&report, Some(&texts)), page(&report, None));
    assert!(block(&with, "words-0").to_string().contains("src/cache/store.rs"));
    assert!(!without.contains("id=\"words-"));
    assert!(!block(&without, "shape-0").to_string().contains("store.rs"));
}

#[test]
fn nothing_and_sessions_without_requests_are_drawn() {
    let mut report = Kit { sessions: 0, strategies: Vec::new(), ..Kit::default() }.report();
    report.findings.clear();
    tags(&page(&report, None));
    let mut report = Kit { sessions: 1, ..Kit::default() }.report();
    report.sessions[0].requests.clear();
    report.sessions[0].messages.clear();
    for cell in report.results.cells_mut() {
        if let CellOutcome::Done(rows) = &mut cell.outcome {
            Arc::make_mut(&mut rows.requests).clear();
        }
    }
    tags(&page(&report, None));
}

#[test]
fn page_of_eleven_sessions_stays_under_three_megabytes() {
    let mut kit = Kit { sessions: 11, requests: 700, ..Kit::default() };
    let names = ["zoea", "gsv", "gencode", "lis", "id-list", "recorded"];
    kit.strategies.extend(names.map(|name| (name, RowKind::OfflineSummary)));
    let report = kit.report();
    let mut texts = kit.texts(&report);
    for text in texts.0.values_mut() {
        *text = "{\"path\": \"src/<b>.rs\", \"日本\": 1} ".repeat(200);
    }
    let size = page(&report, Some(&texts)).len();
    assert!(size < 3_000_000, "{size} bytes");
}

#[test]
fn drawings_take_their_colours_from_the_style_sheet() {
    let page = page(&Kit::default().report(), None);
    let drawn = page.rsplit("</style>").next().unwrap();
    for attribute in ["fill=\"#", "stroke=\"#"] {
        assert!(!drawn.contains(attribute), "{attribute} is no colour of a theme");
    }
}

/// Relative luminance of `#rrggbb` (WCAG 2.2).
fn luminance(hex: &str) -> f64 {
    let channel = |at: usize| {
        let value = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
}

fn contrast(a: &str, b: &str) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// A colour of the style sheet in both themes.
fn themes<'a>(style: &'a str, name: &str) -> [&'a str; 2] {
    let start = format!("--{name}: light-dark(");
    let at = style.find(&start).unwrap_or_else(|| panic!("{name} is no colour")) + start.len();
    let mut pair = style[at..].split(')').next().unwrap().split(", ");
    [pair.next().unwrap(), pair.next().unwrap()]
}

#[test]
fn text_and_marks_have_wcag_aa_contrast() {
    let style = include_str!("page.css");
    let words = ["ink", "muted", "accent", "over", "good", "doubt"];
    let marks = ["accent", "over", "good", "doubt", "limit", "beaten", "verbatim"];
    for theme in [0, 1] {
        let color = |name: &str| themes(style, name)[theme];
        for name in ["ink", "muted", "accent"] {
            let ratio = contrast(color(name), color("tint"));
            assert!(ratio >= 4.5, "{name} on tint, theme {theme}: {ratio:.2}");
        }
        for paper in ["paper", "soft"] {
            let pairs = words.map(|name| (name, 4.5)).into_iter().chain(marks.map(|m| (m, 3.0)));
            for (name, least) in pairs {
                let ratio = contrast(color(name), color(paper));
                assert!(ratio >= least, "{name} on {paper}, theme {theme}: {ratio:.2}");
            }
        }
        let states = ["verbatim", "folded", "edited", "gone"].map(color);
        for (at, a) in states.iter().enumerate() {
            for b in &states[at + 1..] {
                assert!(contrast(a, b) >= 1.25, "{a} and {b}: {:.2}", contrast(a, b));
            }
        }
    }
}

#[test]
fn policy_hashes_scripts_and_styles_exactly() {
    let page = page(&Kit::default().report(), None);
    let policy = page.split_once("Content-Security-Policy\" content=\"").unwrap().1;
    let policy = policy.split_once('"').unwrap().0;
    assert!(!policy.replace("style-src-attr 'unsafe-inline'", "").contains("unsafe"), "{policy}");
    for (open, close, all) in
        [("<script>", "</script>", embedded::SCRIPTS), ("<style>", "</style>", embedded::STYLES)]
    {
        let found: Vec<&str> =
            page.split(open).skip(1).map(|part| part.split_once(close).unwrap().0).collect();
        assert_eq!(found, all, "what is hashed is what is there, to the byte");
    }
}

#[test]
fn every_section_and_every_link_is_there_once() {
    let report = sized(cut(Kit::default().report()));
    let page = page(&report, None);
    let body = page.split_once("</head>").unwrap().1;
    let ids = ["answer", "cost", "cuts", "sessions", "comparison", "trust", "sizes", "session"];
    let at = ids.map(|id| body.find(&format!(" id=\"{id}\"")).unwrap_or_else(|| panic!("{id}")));
    assert!(at.is_sorted(), "{at:?}");
    for (at, _) in body.match_indices("href=\"#") {
        let id = body[at + 7..].split('"').next().unwrap();
        assert_eq!(body.matches(&format!(" id=\"{id}\"")).count(), 1, "#{id}");
    }
}

#[test]
fn only_the_table_of_the_answer_stands_open() {
    let mut report = Kit::default().report();
    report.recommendation = Some(recommended("prune"));
    let blocks = crate::block::blocks(&report);
    assert_eq!(opened(&report, &blocks).unwrap().window, "25%");
    let page = page(&report, None);
    let section = page.split_once("<section id=\"comparison\">").unwrap().1;
    let section = section.split_once("</section>").unwrap().0;
    assert!(section.find("<h3>my-sessions").unwrap() < section.find("window 200k").unwrap());
    assert_eq!(section.matches("<summary>my-sessions").count(), 1, "the other window");
}

#[test]
fn words_of_recordings_stay_words_beside_sizes() {
    let mut report = sized(cut(Kit::default().report()));
    for facts in &mut report.sessions {
        facts.session = format!("{}{HOSTILE}", facts.session);
    }
    report.title = format!("title{HOSTILE}");
    let own = report.curve.as_mut().unwrap().as_mut().unwrap();
    own.agent = format!("agent{HOSTILE}");
    own.left_out = vec![(HOSTILE.to_owned(), HOSTILE.to_owned()); 9];
    for row in &mut own.sizes {
        row.line = Some(format!("line{HOSTILE}"));
    }
    if let Some(apply) = &mut own.apply {
        (apply.line, apply.file) = (format!("line{HOSTILE}"), format!("file{HOSTILE}"));
        apply.note = Some(format!("note{HOSTILE}"));
    }
    let page = page(&report, None);
    assert_harmless(&page);
    for place in ["agent", "line", "file", "note", "session-1"] {
        assert!(page.contains(&format!("{place}&#60;script&#62;")), "{place}");
    }
}
