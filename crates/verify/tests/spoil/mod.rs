//! JSON with one thing changed.

use serde_json::{Value, json};

/// How many values there are in `json`, one in the other, but for the text of a function.
pub fn places(json: &Value) -> usize {
    1 + inside(json).map(places).sum::<usize>()
}

/// What is in `json` itself.
fn inside(json: &Value) -> impl Iterator<Item = &Value> {
    let in_array = json.as_array().into_iter().flatten();
    let fields = json.as_object().into_iter().flatten();
    in_array.chain(fields.filter(|(name, _)| *name != "ir").map(|(_, value)| value))
}

/// `json` with each change of the value `at` that place, in the order of [`places`].
pub fn spoiled(json: &Value, at: usize) -> Vec<Value> {
    let mut left = at;
    let Some(others) = find(json, &mut left).map(changes) else {
        return Vec::new();
    };
    let changed = others.into_iter().map(|other| {
        let mut json = json.clone();
        let mut left = at;
        replace(&mut json, &mut left, &other);
        json
    });
    changed.collect()
}

fn find<'a>(json: &'a Value, at: &mut usize) -> Option<&'a Value> {
    if *at == 0 {
        return Some(json);
    }
    *at -= 1;
    inside(json).find_map(|value| find(value, at))
}

/// Replaces what is `at` a place; returns true if that is in `json`.
fn replace(json: &mut Value, at: &mut usize, other: &Value) -> bool {
    if *at == 0 {
        *json = other.clone();
        return true;
    }
    *at -= 1;
    match json {
        Value::Array(values) => values.iter_mut().any(|value| replace(value, at, other)),
        Value::Object(fields) => {
            let mut fields = fields.iter_mut().filter(|(name, _)| *name != "ir");
            fields.any(|(_, value)| replace(value, at, other))
        }
        _ => false,
    }
}

/// All that `json` itself may be mistaken for.
fn changes(json: &Value) -> Vec<Value> {
    match json {
        Value::Null => vec![json!(0)],
        Value::Bool(known) => vec![json!(!known)],
        Value::String(text) => vec![json!(format!("{text}x"))],
        Value::Number(number) => {
            let number = number.as_i64().expect("numbers are small");
            vec![json!(number + 1), json!(number - 1)]
        }
        Value::Array(values) => {
            let without = |i| {
                let mut values = values.clone();
                values.remove(i);
                Value::Array(values)
            };
            (0..values.len()).map(without).collect()
        }
        Value::Object(fields) => {
            // What is not written of an mbarrier is 0.
            let optional = [
                ("at_wait", json!(1)),
                ("gathering", json!([1, 0, 0, 0, 0, 0, 0, 0])),
                ("behind", json!([0, 1])),
                ("is_new", json!(true)),
                ("is_unfenced", json!(true)),
                ("has_loads", json!(true)),
                ("age", json!(1)),
            ];
            let is_absent = |name| fields.contains_key("pending") && !fields.contains_key(name);
            let absent = optional.into_iter().filter(|(name, _)| is_absent(*name));
            let with = |(name, value): (&str, Value)| {
                let mut fields = fields.clone();
                fields.insert(name.to_owned(), value);
                Value::Object(fields)
            };
            let without = |name: &String| {
                let mut fields = fields.clone();
                fields.remove(name);
                Value::Object(fields)
            };
            absent.map(with).chain(fields.keys().map(without)).collect()
        }
    }
}
