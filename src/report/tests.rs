use super::testkit::Kit;
use super::*;
use crate::model::{Interval, Value};
use unicode_width::UnicodeWidthStr;

fn file(report: &Report, name: &str) -> String {
    let source = Source { report, texts: None };
    let rendered = render(&source, &[]).into_iter().find(|r| r.name == name).unwrap();
    String::from_utf8(rendered.bytes).unwrap()
}

fn small() -> Kit {
    Kit { sessions: 1, requests: 6, windows: vec!["25%"], ..Kit::default() }
}

#[test]
fn the_table_shows_ranks_controls_stand_ins_overflows_and_failures() {
    insta::assert_snapshot!(table(&Kit::default().report(), 100, false), @r"
    recap · my-sessions · 3 sessions, 39 requests, 3 probes, 3 references · window 25 % · offline models

     strategy                 needed facts     gain over  tokens  peak  over the  verdict
                              kept             recency                    window
     full                     1.00             –           1.00×   18k       37×  control
     empty                    0.00  0.00…0.00  −0.02       0.06×  1.1k         –  control
     prune                    0.86  0.77…0.95  +0.27       0.46×  8.4k         –  descriptive
     sliding-window           0.21  0.19…0.23  +0.11       0.21×  3.8k         –  descriptive
     fifo                     0.40  0.36…0.44  +0.00       0.50×  9.1k         –  descriptive
     continuation (stand-in)  0.64  0.58…0.70  +0.20       0.30×  5.5k         –  not ranked: offline
                                                                                  stand-in
     a…b: lowest and highest session or project; too few for an interval.
     over the window: a provider would have refused these requests; they keep nothing, controls apart.

    recap · my-sessions · 3 sessions, 39 requests, 3 probes, 3 references · window 200k · offline models

     strategy                 needed facts     gain over  tokens  peak  over the  verdict
                              kept             recency                    window
     full                     1.00             –           1.00×   18k         –  control
     empty                    0.00  0.00…0.00  −0.02       0.06×  1.1k         –  control
     prune                    0.86  0.77…0.95  +0.27       0.56×   10k         –  descriptive
     sliding-window           0.21  0.19…0.23  +0.11       0.31×  5.7k         –  descriptive
     fifo                     0.50  0.45…0.55  +0.00       0.60×   11k         –  descriptive; 1 cell
                                                                                  failed
     continuation (stand-in)  0.64  0.58…0.70  +0.20       0.40×  7.3k         –  not ranked: offline
                                                                                  stand-in
     a…b: lowest and highest session or project; too few for an interval.

     sliding-window sends 79 % fewer tokens and keeps 21 % of what was needed.
     warning: replay is open loop: the recorded agent does not react
     warning: 2 lines of session-1 were left out: torn last line
    ");
}

#[test]
fn the_table_fits_its_width_in_columns_and_not_in_bytes() {
    let mut report = small().report();
    report.rows[2].strategy = "圧縮・要約・圧縮・要約・圧縮・要約・圧縮・要約".to_owned();
    report.rows[3].strategy =
        "a-preset-with-a-name-that-nobody-would-type-twice-in-a-day".to_owned();
    for width in [80, 100, 140] {
        for line in table(&report, width, false).lines() {
            assert!(line.width() <= width, "{width}: {line:?} has {}", line.width());
        }
    }
}

#[test]
fn colour_changes_no_word_of_the_table() {
    let report = Kit::default().report();
    let mut plain = table(&report, 100, true);
    for code in ["\u{1b}[1m", "\u{1b}[2m", "\u{1b}[33m", "\u{1b}[0m"] {
        plain = plain.replace(code, "");
    }
    assert_eq!(plain, table(&report, 100, false));
    assert!(!table(&report, 100, false).contains('\u{1b}'));
}

#[test]
fn a_name_cannot_send_commands_to_the_terminal() {
    let mut report = small().report();
    report.rows[2].strategy = "\u{1b}[2Jprune\u{202E}".to_owned();
    report.warnings = vec!["\u{1b}]0;title\u{7}".to_owned()];
    let shown = table(&report, 100, false);
    assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202E}']), "{shown}");
    assert!(shown.contains("[2Jprune\u{FFFD}"), "{shown}");
}

#[test]
fn the_table_says_what_an_interval_rests_on() {
    let mut report = small().report();
    for row in &mut report.rows {
        let interval = Interval::ThisSessionOnly { lo: 0.2, hi: 0.3 };
        row.intervals.insert("reference_recall".to_owned(), interval);
    }
    let shown = table(&report, 100, false);
    assert!(shown.contains("0.86  [0.20–0.30]†"), "{shown}");
    assert!(shown.contains("†: over what was asked in this session only"), "{shown}");
}

#[test]
fn a_column_that_is_absent_throughout_says_why_once() {
    let mut report = small().report();
    for row in &mut report.rows {
        let reason = Value::Absent("3 references, at least 20 are needed".to_owned());
        row.values.insert("reference_recall".to_owned(), reason);
    }
    let shown = table(&report, 100, false);
    let reason = "needed facts kept: 3 references, at least 20 are needed.";
    assert_eq!(shown.matches(reason).count(), 1, "{shown}");
}

#[test]
fn several_data_sets_have_a_table_each_and_one_for_all() {
    let mut report = small().report();
    let rows = report.rows.clone();
    for name in ["other", "ALL"] {
        report.rows.extend(rows.iter().cloned().map(|mut row| {
            row.dataset = name.to_owned();
            row
        }));
    }
    let shown = table(&report, 100, false);
    assert_eq!(shown.matches("needed facts").count(), 3, "{shown}");
    report.rows.retain(|row| row.dataset != "other");
    let shown = table(&report, 100, false);
    assert_eq!(shown.matches("needed facts").count(), 1, "ALL repeats the only one: {shown}");
}

#[test]
fn csv_headers_are_those_of_the_contract() {
    let report = small().report();
    let header = |name: &str| file(&report, name).lines().next().unwrap().to_owned();
    let key = "dataset,transcript,strategy,window,replicate,";
    assert_eq!(
        header("requests.csv"),
        key.to_owned()
            + "request,message,tokens_full,tokens_sent,cache_read,cache_write,uncached,output,\
               cost_usd,overflow,references,references_kept,messages,valid,estimated"
    );
    assert_eq!(
        header("compactions.csv"),
        key.to_owned()
            + "request,stage,mechanism,trigger,tokens_before,tokens_after,messages_folded,\
               messages_evicted,messages_edited,model_calls,input_tokens,output_tokens,cost_usd,\
               cpu_ms,latency_ms,latency_source,background,fallback,error,at_end"
    );
    assert_eq!(
        header("probes.csv"),
        key.to_owned()
            + "probe,kind,asked_at,age_tokens,age_compactions,evidence_state,answerable,expected,\
               answer,pre_answer,score,agreement,verdict,judge,unscored_reason,rationale,question"
    );
    assert_eq!(
        header("references.csv"),
        key.to_owned() + "request,reference,class,last_seen,distance_tokens,state,refetchable"
    );
    assert_eq!(
        header("summary.csv"),
        "dataset,strategy,window,agent_model,transcripts,requests,probes,unscored,recall,\
         recall_lo,recall_hi,retention,continuity,continuity_lo,continuity_hi,reference_recall,\
         answerable,evidence_verbatim,evidence_edited,evidence_folded,evidence_gone,lost,unused,\
         fabrication_rate,tokens_full,tokens_sent,token_savings,peak_tokens,compactions,inflated,\
         overflows,estimator_error,cost_usd,cost_ideal_cache_usd,cost_no_cache_usd,cost_savings,\
         compaction_cost_usd,cache_hit_rate,cache_breaks,rewritten_tokens,refetch_tokens,\
         blocking_ms_p50,blocking_ms_p95,blocking_ms_max,background_ms,cpu_ms,latency_source,\
         verdict_vs_full,mean_tokens,compression_ratio,message_ratio,break_even_requests,\
         prefill_ms_saved,recall_filtered,recall_abstain,recall_recovery,recovery_tokens,\
         recovery_calls,reference_recall_lo,reference_recall_hi,references,reference_partial,\
         reference_bare,recency_gain,irrecoverable,did_without,kept,gained,garbled,exposed,\
         abstention_rate,continuity_source,cost_ttl_only_usd,cost_usd_refetch,\
         sidechain_cost_usd,output_source,tokens_source,stand_in,mde,n_clusters,recall_fact,\
         recall_decision,recall_artifact,recall_plan,recall_update,recall_temporal,\
         recall_multi-hop,recall_constraint,recall_preference,recall_tone,recall_shared-concept,\
         recall_snapshot,recall_ordering,recall_summary,recall_contradiction,rank,\
         reference_recall_4_8k"
    );
}

#[test]
fn csv_rows_carry_ids_states_and_empty_fields() {
    let report = small().report();
    let row = |name: &str, start: &str| {
        let text = file(&report, name);
        text.lines().find(|line| line.starts_with(start)).unwrap().to_owned()
    };
    assert_eq!(
        row("requests.csv", "my-sessions,session-0,fifo,25%,0,5,"),
        "my-sessions,session-0,fifo,25%,0,5,s0-m11,9435,8453,,,,120,,true,1,0,11,true,7607"
    );
    assert_eq!(
        row("references.csv", "my-sessions,session-0,full"),
        "my-sessions,session-0,full,25%,0,5,src/cache/store.rs,path,s0-m1,5200,kept,true"
    );
    assert_eq!(
        row("compactions.csv", "my-sessions,session-0,prune"),
        "my-sessions,session-0,prune,25%,0,4,0,summary,tokens > 80%,7932,6950,3,0,0,1,7932,200,,\
         0.5,,,false,,,false"
    );
    let summary = row("summary.csv", "my-sessions,continuation,25%,recorded,3,39,,,,");
    assert!(summary.contains(",0.64,") && summary.contains(",true,"), "{summary}");
}

#[test]
fn rows_are_sorted_by_key_whatever_the_order_of_the_cells() {
    let mut report = Kit::default().report();
    let sorted: Vec<String> = FORMATS.iter().map(|f| file(&report, f.file)).collect();
    report.cells.reverse();
    for (format, expected) in FORMATS.iter().zip(sorted) {
        assert!(file(&report, format.file) == expected, "{} depends on order", format.file);
    }
}

#[test]
fn summary_json_gives_values_reasons_and_intervals() {
    let report = small().report();
    let json: serde_json::Value = serde_json::from_str(&file(&report, "summary.json")).unwrap();
    let row = &json["rows"][0];
    assert_eq!(row["strategy"], "full");
    assert_eq!(row["values"]["reference_recall"], 1);
    assert_eq!(row["agent_model"], "recorded");
    assert_eq!(row["absent"]["cost_usd"], "no price list was given");
    assert_eq!(row["standing"], "control");
    assert_eq!(json["rows"][2]["intervals"]["reference_recall"]["kind"], "dots");
    assert_eq!(json["rows"][4]["values"]["recency_gain"], -0.004);
    assert_eq!(json["manifest"]["seed"], 7);
}

#[test]
fn every_format_names_a_file_of_its_own() {
    let mut files: Vec<&str> = FORMATS.iter().map(|f| f.file).collect();
    files.sort_unstable();
    files.dedup();
    assert_eq!(files.len(), FORMATS.len());
    for format in FORMATS {
        assert!(format.file.ends_with(&format!(".{}", format.name)), "{}", format.file);
        assert!(!format.about.is_empty());
    }
}

#[test]
fn a_preset_named_like_a_formula_is_defused_in_every_csv() {
    let mut report = small().report();
    for row in &mut report.rows {
        row.strategy = format!("=cmd|{}", row.strategy);
    }
    for cell in &mut report.cells {
        cell.key.strategy = format!("=cmd|{}", cell.key.strategy);
    }
    for format in FORMATS.iter().filter(|f| f.name == "csv") {
        let text = file(&report, format.file);
        assert!(text.contains(",'=cmd|prune,"), "{}: {text}", format.file);
        assert!(!text.contains(",=cmd"), "{}", format.file);
    }
}
