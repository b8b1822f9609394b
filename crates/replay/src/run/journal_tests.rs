use super::*;
use recap_core::model::{CacheRules, CellKey, CellRows, RowKind};

/// A line with a text.
fn text(hash: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_line(&mut bytes, Kind::Text, &Text { hash, text: "a \"}\n b" }).unwrap();
    bytes
}

/// The lines of a cell.
fn written(shared: &mut Shared, cell: &mut Cell) -> Vec<u8> {
    let mut bytes = Vec::new();
    shared.write_cell(cell, &mut bytes).unwrap();
    bytes
}

/// A cell with this number of requests, and one bill for each.
fn cell(strategy: &str, requests: u32) -> Cell {
    let request = RequestRow {
        tokens_sent: 10,
        estimated: None,
        messages: 1,
        overflow: false,
        valid: true,
        common_prefix: 0,
        cache_break: false,
    };
    let bill = |model: u32| Bill {
        billed_as: model.to_string(),
        model: "m".to_owned(),
        rules: CacheRules::None,
        other_models: Vec::new(),
        compactor: None,
        requests: Vec::new(),
        calls: Vec::new(),
    };
    let rows = CellRows {
        requests: Arc::new(vec![request; requests as usize]),
        bills: (0..requests).map(|model| Arc::new(bill(model))).collect(),
        window: 100,
        ..CellRows::default()
    };
    let key = CellKey {
        dataset: "d".to_owned(),
        session: "t".to_owned(),
        strategy: strategy.to_owned(),
        window: "50%".to_owned(),
        replicate: 0,
    };
    let outcome = CellOutcome::Done(Box::new(rows));
    Cell { key, row_kind: RowKind::Ranked, outcome }
}

/// The cells of a file, and the journal as it was read.
fn cells(bytes: &[u8]) -> Result<(Vec<Cell>, Journal), FolderError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(JOURNAL);
    std::fs::write(&path, bytes).unwrap();
    let mut cells = Vec::new();
    let journal = read(&path, |record| match record {
        Line::Cell(cell) => cells.push(cell.rest),
        Line::Requests(_) | Line::Bill(_) => {}
        other => panic!("no cell: {other:?}"),
    })?;
    Ok((cells, journal))
}

fn requests(cell: &Cell) -> &Arc<Vec<RequestRow>> {
    &cell.rows().unwrap().requests
}

fn bill(cell: &Cell, at: usize) -> &Arc<Bill> {
    &cell.rows().unwrap().bills[at]
}

#[test]
fn shared_requests_and_bills_are_written_once() {
    let mut shared = Shared::default();
    let mut all = [cell("a", 2), cell("b", 2), cell("c", 1), cell("none", 0)];
    let bytes: Vec<Vec<u8>> = all.iter_mut().map(|cell| written(&mut shared, cell)).collect();
    // First cell: the requests, two bills, the cell. Second: the cell.
    // Third: its requests, the cell. Fourth: the cell.
    let lines = |bytes: &Vec<u8>| bytes.iter().filter(|byte| **byte == b'\n').count();
    assert_eq!(bytes.iter().map(lines).collect::<Vec<_>>(), [4, 1, 2, 1]);
    let (read, journal) = cells(&bytes.concat()).unwrap();
    assert_eq!(journal.whole as usize, bytes.concat().len());
    assert_eq!(read, [cell("a", 2), cell("b", 2), cell("c", 1), cell("none", 0)]);
    for second in [&all[1], &read[1]] {
        assert_eq!(requests(second).len(), 2);
    }
    assert!(Arc::ptr_eq(requests(&read[0]), requests(&read[1])));
    assert!(Arc::ptr_eq(bill(&read[0], 0), bill(&read[2], 0)));
    // A resumed run writes none of the shared contents again.
    let mut shared = journal.shared;
    assert_eq!(lines(&written(&mut shared, &mut cell("d", 2))), 1);
}

#[test]
fn cells_share_contents_as_soon_as_written() {
    let mut shared = Shared::default();
    let mut all = [cell("a", 1), cell("b", 1)];
    for cell in &mut all {
        written(&mut shared, cell);
    }
    let [first, second] = &all;
    assert!(Arc::ptr_eq(requests(first), requests(second)));
    assert!(Arc::ptr_eq(bill(first, 0), bill(second, 0)));
}

#[test]
fn cell_without_its_requests_in_file_is_error() {
    let mut shared = Shared::default();
    written(&mut shared, &mut cell("a", 1));
    let alone = written(&mut shared, &mut cell("b", 1));
    let error = cells(&alone).unwrap_err().to_string();
    assert!(error.contains("line 1: it refers to a line that is not before it"), "{error}");
}

#[test]
fn line_ends_with_checksum_of_text_before_it() {
    let line = String::from_utf8(text("h")).unwrap();
    let (content, sum) = line.split_once(",\"sum\":\"").unwrap();
    assert_eq!(content, r#"{"text":{"hash":"h","text":"a \"}\n b"}"#);
    let expected = blake3::hash(content.as_bytes()).to_hex();
    assert_eq!(sum, format!("{}\"}}\n", &expected[..16]));
    let Line::Text(text) = parsed(&mut line.trim_end().as_bytes().to_vec()).unwrap() else {
        panic!("{line}")
    };
    assert_eq!((text.hash.as_str(), text.text.as_str()), ("h", "a \"}\n b"));
    assert!(serde_json::from_str::<serde_json::Value>(&line).is_ok(), "it stays JSON");
}

#[test]
fn every_changed_byte_of_a_line_is_detected() {
    let line = text("h");
    let line = &line[..line.len() - 1];
    for at in 0..line.len() {
        let mut changed = line.to_vec();
        changed[at] ^= 1;
        assert!(parsed(&mut changed.clone()).is_err(), "byte {at}");
        assert!(parsed(&mut line[..at].to_vec()).is_err(), "torn at {at}");
    }
}

#[test]
fn incomplete_last_line_is_ignored_wherever_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(JOURNAL);
    let (first, second) = (text("a"), text("b"));
    for at in 0..second.len() {
        std::fs::write(&path, [&first[..], &second[..at]].concat()).unwrap();
        let mut found = Vec::new();
        let journal = read(&path, |record| match record {
            Line::Text(text) => found.push(text.hash),
            other => panic!("no text: {other:?}"),
        });
        let whole = journal.unwrap().whole;
        assert_eq!((found, whole), (vec!["a".to_owned()], first.len() as u64), "{at}");
    }
}

#[test]
fn line_that_is_no_result_is_numbered_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(JOURNAL);
    let broken = [text("a"), b"{}\n".to_vec(), text("b")].concat();
    std::fs::write(&path, broken).unwrap();
    let error = read(&path, |_| ()).unwrap_err().to_string();
    assert!(error.contains("cells.jsonl, line 2: it does not end with a checksum"), "{error}");
}
