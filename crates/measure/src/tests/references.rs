//! Tests of the measures of references.

use super::*;

#[test]
fn recall_is_mean_share_kept_over_requests() {
    // Request 0 uses three references and keeps one, requests 1–9 use two and
    // keep both: (1/3 + 9) / 10, not 19/21.
    let mut builder = facts("s").requests(&[1_000; 10]).reference(0, 5_000, None);
    for request in 0..10 {
        builder = builder.reference(request, 5_000, None).reference(request, 5_000, None);
    }
    let states = format!("kpb{}", "k".repeat(18));
    let sent = cell("s", "x").sent(&[500; 10]).states(&states).build();
    let report = run(vec![builder.build()], vec![sent]);
    let row = row(&report, "d", "x");
    close(row, "reference_recall", (1.0 / 3.0 + 9.0) / 10.0);
    close(row, "references", 21.0);
}

#[test]
fn overflow_scores_zero_for_strategies_but_not_controls() {
    let facts = || vec![ten_requests("s")];
    let states = WHOLE;
    let over = strategy("s", "x", states).overflow(3).overflow(4).build();
    let report = run(facts(), vec![over]);
    let x = row(&report, "d", "x");
    close(x, "reference_recall", 0.8);
    let over = strategy("s", "recorded", states).control().overflow(3).build();
    let report = run(facts(), vec![over]);
    close(row(&report, "d", "recorded"), "reference_recall", 1.0);
    let over = strategy("s", "y", states).offline_summary().overflow(3).build();
    close(row(&run(facts(), vec![over]), "d", "y"), "reference_recall", 0.9);
}

#[test]
fn recall_needs_twenty_references_at_ten_requests() {
    let mut nineteen = ten_requests("s");
    nineteen.exam.references.pop();
    let sent = strategy("s", "x", &HALF[..19]).build();
    let report = run(vec![nineteen], vec![sent]);
    let thin = row(&report, "d", "x");
    absent(thin, "reference_recall", "at least 20 references at 10 requests");
    assert!(thin.intervals.is_empty());
    assert_eq!(thin.rank, None);

    let mut builder = facts("s").requests(&[1_000; 9]);
    for request in 0..9 {
        for _ in 0..3 {
            builder = builder.reference(request, 5_000, None);
        }
    }
    let sent = cell("s", "x").sent(&[10; 9]).states(&"k".repeat(27)).build();
    let report = run(vec![builder.build()], vec![sent]);
    absent(row(&report, "d", "x"), "reference_recall", "at least 20 references at 10 requests");
}

#[test]
fn sessions_with_few_references_stay_out_of_mean() {
    // Ten references at five requests, all lost: too few for an exam.
    let mut builder = facts("thin").requests(&[1_000; 5]);
    for request in 0..5 {
        builder = builder.reference(request, 5_000, None).reference(request, 5_000, None);
    }
    let cells = vec![
        strategy("s", "x", HALF).build(),
        cell("thin", "x").sent(&[10; 5]).states("llllllllll").build(),
    ];
    let report = run(vec![ten_requests("s"), builder.build()], cells);
    let x = row(&report, "d", "x");
    close(x, "reference_recall", 0.5);
    close(x, "n_clusters", 1.0);
    close(x, "references", 30.0);
}

#[test]
fn overflows_lower_recency_gain() {
    // Half is kept, but two of ten requests are refused; plain recency keeps none.
    let over = strategy("s", "x", HALF).overflow(3).overflow(4).build();
    let report = run(vec![ten_requests("s")], vec![over]);
    let x = row(&report, "d", "x");
    close(x, "reference_recall", 0.4);
    close(x, "recency_gain", 0.4);
}

#[test]
fn recency_gain_compares_with_same_size_recent_messages() {
    // 1,100 tokens at each of ten requests: plain recency sends
    // 1,000 + 9 × B = 11,000, so B = 1,111 and no reference is that near. The
    // strategy keeps half.
    let report = run(vec![ten_requests("s")], vec![strategy("s", "x", HALF).build()]);
    close(row(&report, "d", "x"), "recency_gain", 0.5);
    // The strategy sends 41,000 tokens: 1 + 2 + 3 + 4 + 5 thousand and 5 × B, so
    // B = 5,200 and plain recency keeps the near references too.
    let same = cell("s", "x").sent(&[4_100; 10]).states(HALF).build();
    let report = run(vec![ten_requests("s")], vec![same]);
    close(row(&report, "d", "x"), "recency_gain", 0.0);
}
