//! JSON arrays of alike objects, written by column: each key once instead of
//! once a row. A journal is mostly such arrays, and most of them are keys.
//!
//! `[{"a":1,"b":2},{"a":3},null]` becomes
//! `{"[]":3,"a":[1,3],"b":{"[at]":[0],"[of]":[2]},"[null]":[2]}`: the
//! number of rows, a column for each key (which says at which rows it stands
//! where it does not stand at every row that is an object), and the rows that
//! are null. Columns that hold objects are written the same way.
//!
//! Invariant: what was packed is unpacked to an equal value, unless an object in
//! it has the key `[]`, which none of a run's rows has.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

/// Number of rows.
const ROWS: &str = "[]";
/// Rows that are null.
const NULLS: &str = "[null]";
/// Rows at which a column that is not whole has something, and what.
const AT: &str = "[at]";
const OF: &str = "[of]";

/// Writes every array of objects in a value by column.
pub(super) fn pack(value: Value) -> Value {
    match value {
        Value::Array(rows) if is_table(&rows) => table(rows),
        Value::Array(all) => all.into_iter().map(pack).collect(),
        Value::Object(fields) => fields.into_iter().map(|(k, v)| (k, pack(v))).collect(),
        other => other,
    }
}

/// Whether rows are objects or null, at least two of them objects, and every
/// object has a key and none that means something here.
fn is_table(rows: &[Value]) -> bool {
    let own = |key: &String| [ROWS, NULLS, AT, OF].contains(&key.as_str());
    let fits = |row: &Value| match row {
        Value::Object(fields) => !fields.is_empty() && !fields.keys().any(own),
        other => other.is_null(),
    };
    rows.iter().all(fits) && rows.iter().filter(|row| row.is_object()).count() > 1
}

/// What stands at a key, and at which rows; `None`: at every row that is an
/// object.
struct Column {
    key: String,
    at: Option<Vec<usize>>,
    values: Vec<Value>,
}

fn table(rows: Vec<Value>) -> Value {
    let count = rows.len();
    let mut nulls: Vec<usize> = Vec::new();
    let mut columns: Vec<(String, Vec<usize>, Vec<Value>)> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for (at, row) in rows.into_iter().enumerate() {
        let Value::Object(fields) = row else {
            nulls.push(at);
            continue;
        };
        for (key, value) in fields {
            let column = *known.entry(key).or_insert_with_key(|key| {
                columns.push((key.clone(), Vec::new(), Vec::new()));
                columns.len() - 1
            });
            columns[column].1.push(at);
            columns[column].2.push(value);
        }
    }
    let mut packed = Map::from_iter([(ROWS.to_owned(), json!(count))]);
    for (key, at, values) in columns {
        let whole = at.len() + nulls.len() == count;
        let values = pack(Value::Array(values));
        packed.insert(key, if whole { values } else { json!({ AT: at, OF: values }) });
    }
    if !nulls.is_empty() {
        packed.insert(NULLS.to_owned(), json!(nulls));
    }
    Value::Object(packed)
}

/// The value that was packed.
///
/// # Errors
/// A table whose columns do not fit together.
pub(super) fn unpack(value: Value) -> Result<Value, Torn> {
    match value {
        Value::Object(fields) if fields.contains_key(ROWS) => rows(fields),
        Value::Array(all) => all.into_iter().map(unpack).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(key, value)| Ok((key, unpack(value)?))).collect()
        }
        other => Ok(other),
    }
}

/// The columns of a table do not fit together.
#[derive(Debug, thiserror::Error)]
#[error("the columns of a table do not fit together")]
pub(super) struct Torn;

fn rows(mut table: Map<String, Value>) -> Result<Value, Torn> {
    let count = table.shift_remove(ROWS).and_then(|n| n.as_u64()).ok_or(Torn)?;
    let nulls = table.shift_remove(NULLS).map_or(Ok(Vec::new()), places)?;
    let columns = table.into_iter().map(|(key, value)| column(key, value));
    let columns = columns.collect::<Result<Vec<Column>, Torn>>()?;
    // Every row is null or has something at some key: no number makes memory.
    let held = columns.iter().map(|column| column.values.len()).sum::<usize>() + nulls.len();
    let count = usize::try_from(count).ok().filter(|count| *count <= held).ok_or(Torn)?;
    let mut rows = vec![Value::Object(Map::new()); count];
    for at in nulls {
        *rows.get_mut(at).ok_or(Torn)? = Value::Null;
    }
    let objects: Vec<usize> = (0..count).filter(|at| rows[*at].is_object()).collect();
    for Column { key, at, values } in columns {
        let at = at.as_ref().unwrap_or(&objects);
        if at.len() != values.len() {
            return Err(Torn);
        }
        for (at, value) in at.iter().zip(values) {
            let row = rows.get_mut(*at).and_then(Value::as_object_mut).ok_or(Torn)?;
            row.insert(key.clone(), value);
        }
    }
    Ok(Value::Array(rows))
}

fn column(key: String, value: Value) -> Result<Column, Torn> {
    let (at, values) = match value {
        Value::Object(mut sparse) if sparse.contains_key(AT) => {
            let at = places(sparse.shift_remove(AT).ok_or(Torn)?)?;
            (Some(at), sparse.shift_remove(OF).ok_or(Torn)?)
        }
        whole => (None, whole),
    };
    match unpack(values)? {
        Value::Array(values) => Ok(Column { key, at, values }),
        _ => Err(Torn),
    }
}

fn places(value: Value) -> Result<Vec<usize>, Torn> {
    serde_json::from_value(value).map_err(|_| Torn)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_key_is_written_once() {
        let rows = json!([{"a": 1, "b": 2}, {"a": 3}, null]);
        let packed = json!({"[]": 3, "a": [1, 3], "b": {"[at]": [0], "[of]": [2]}, "[null]": [2]});
        assert_eq!(pack(rows.clone()), packed);
        assert_eq!(unpack(packed).unwrap(), rows);
        // Columns of objects are tables as well.
        let rows = json!([{"p": {"x": 1, "y": 2}}, {"p": {"x": 3, "y": 4}}]);
        assert_eq!(pack(rows), json!({"[]": 2, "p": {"[]": 2, "x": [1, 3], "y": [2, 4]}}));
        // What is no table stays as it is.
        for value in [json!([{"a": 1}]), json!([{"a": 1}, 2]), json!([{}, {}]), json!([1, 2])] {
            assert_eq!(pack(value.clone()), value);
        }
    }

    #[test]
    fn columns_that_do_not_fit_together_are_an_error_and_take_no_memory() {
        for broken in [
            json!({"[]": 1_000_000_000_000_u64}),
            json!({"[]": u64::MAX, "a": [1]}),
            json!({"[]": 2, "a": [1]}),
            json!({"[]": 1, "a": [1, 2]}),
            json!({"[]": 1, "a": 1}),
            json!({"[]": -1, "a": [1]}),
            json!({"[]": 1, "a": {"[at]": [7], "[of]": [1]}}),
            json!({"[]": 2, "a": {"[at]": [0, 1], "[of]": [1]}}),
            json!({"[]": 1, "a": {"[at]": [0]}}),
            json!({"[]": 1, "[null]": [3], "a": [1]}),
            json!({"[]": 1, "[null]": "x"}),
        ] {
            assert!(unpack(broken.clone()).is_err(), "{broken}");
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-1e300..1e300).prop_map(Value::from),
            "[ab\"]{0,3}".prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 80, 6, |inner| {
            let key = "a|b|c|\\[\\]x|\\[at\\]";
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map(key, inner, 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_was_packed_is_unpacked(value in value()) {
            prop_assert_eq!(unpack(pack(value.clone())).unwrap(), value);
        }
    }
}
