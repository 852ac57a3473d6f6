//! JSON with one number changed.

use serde_json::Value;

/// The number of numbers in `json`, however deep.
pub fn numbers(json: &Value) -> usize {
    match json {
        Value::Number(_) => 1,
        Value::Array(values) => values.iter().map(numbers).sum(),
        Value::Object(fields) => fields.values().map(numbers).sum(),
        _ => 0,
    }
}

/// `json` with one more and one less for number `at`, counted in the order of [`numbers`].
pub fn spoiled(json: &Value, at: usize) -> Vec<Value> {
    let changed = |by: i64| {
        let (mut json, mut at) = (json.clone(), at);
        change(&mut json, &mut at, by);
        json
    };
    vec![changed(1), changed(-1)]
}

/// Changes number `at` in `json`; returns true if it is there, else `at` is less by as many as there are.
fn change(json: &mut Value, at: &mut usize, by: i64) -> bool {
    match json {
        Value::Number(number) if *at == 0 => {
            *json = (number.as_i64().expect("numbers are small") + by).into();
            true
        }
        Value::Number(_) => {
            *at -= 1;
            false
        }
        Value::Array(values) => values.iter_mut().any(|value| change(value, at, by)),
        Value::Object(fields) => fields.values_mut().any(|value| change(value, at, by)),
        _ => false,
    }
}
