//! The part of JSON Schema that the API's description uses.

use serde_json::Value;

/// What is wrong with `value` by `schema`, if anything is. A keyword that is not known here is wrong,
/// too: it would go unchecked.
pub(crate) fn check(document: &Value, schema: &Value, value: &Value) -> Result<(), String> {
    for (keyword, rule) in schema.as_object().ok_or("a schema is an object")? {
        let right = match keyword.as_str() {
            "description" => true,
            "$ref" => return check(document, referred(document, rule)?, value),
            "type" => types(rule).iter().any(|name| is_of(name, value)),
            "enum" => rule.as_array().is_some_and(|known| known.contains(value)),
            "minimum" => value.as_i64().is_none_or(|number| number >= rule.as_i64().unwrap_or(0)),
            "minLength" => length(value).is_none_or(|chars| chars >= rule.as_u64().unwrap_or(0)),
            "maxLength" => length(value).is_none_or(|chars| chars <= rule.as_u64().unwrap_or(0)),
            "pattern" => matches(rule, value)?,
            "oneOf" => {
                let schemas = rule.as_array().ok_or("oneOf is a list")?;
                schemas.iter().filter(|schema| check(document, schema, value).is_ok()).count() == 1
            }
            "required" => names(rule).all(|name| value.get(name).is_some()),
            "additionalProperties" => {
                let known = schema["properties"].as_object().ok_or("there are properties")?;
                value.as_object().is_none_or(|object| object.keys().all(|k| known.contains_key(k)))
            }
            "items" => {
                for item in value.as_array().into_iter().flatten() {
                    check(document, rule, item)?;
                }
                true
            }
            "properties" => {
                for (name, rule) in rule.as_object().ok_or("properties are an object")? {
                    if let Some(value) = value.get(name) {
                        check(document, rule, value).map_err(|why| format!("{name}: {why}"))?;
                    }
                }
                true
            }
            other => return Err(format!("`{other}` is not checked here")),
        };
        if !right {
            return Err(format!("{value} is not right by {keyword}: {rule}"));
        }
    }
    Ok(())
}

fn referred<'a>(document: &'a Value, reference: &Value) -> Result<&'a Value, String> {
    let path = reference.as_str().and_then(|path| path.strip_prefix('#'));
    path.and_then(|path| document.pointer(path)).ok_or(format!("{reference} leads nowhere"))
}

fn types(rule: &Value) -> Vec<&str> {
    rule.as_str().map_or_else(|| names(rule).collect(), |name| vec![name])
}

fn names(rule: &Value) -> impl Iterator<Item = &str> {
    rule.as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn is_of(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.is_i64() || value.is_u64(),
        _ => false,
    }
}

fn length(value: &Value) -> Option<u64> {
    value.as_str().map(|text| text.chars().count() as u64)
}

/// The one pattern that is used.
fn matches(rule: &Value, value: &Value) -> Result<bool, String> {
    if rule != "^[0-9a-f]{32}$" {
        return Err(format!("the pattern {rule} is not checked here"));
    }
    let digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    Ok(value.as_str().is_none_or(|text| text.len() == 32 && text.bytes().all(digit)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_checker_finds_what_is_wrong() {
        let document = json!({"s": {
            "type": "object",
            "properties": {
                "n": {"type": ["integer", "null"], "minimum": 1},
                "t": {"type": "string", "enum": ["a", "b"]},
                "l": {"type": "array", "items": {"type": "string", "maxLength": 2}},
                "o": {"oneOf": [{"type": "boolean"}, {"type": "null"}]},
            },
            "required": ["n"],
            "additionalProperties": false,
        }});
        let schema = json!({"$ref": "#/s"});
        let right = [json!({"n": 1}), json!({"n": null, "t": "a", "l": ["xy"], "o": true})];
        for value in right {
            assert_eq!(check(&document, &schema, &value), Ok(()));
        }
        let wrong = [
            json!([]),
            json!({}),
            json!({"n": 0}),
            json!({"n": 1.5}),
            json!({"n": 1, "t": "c"}),
            json!({"n": 1, "l": ["xyz"]}),
            json!({"n": 1, "l": [1]}),
            json!({"n": 1, "o": 1}),
            json!({"n": 1, "x": 1}),
        ];
        for value in wrong {
            assert!(check(&document, &schema, &value).is_err(), "{value}");
        }
        assert!(check(&document, &json!({"multipleOf": 2}), &json!(1)).is_err());
        assert!(check(&document, &json!({"$ref": "#/t"}), &json!(1)).is_err());
    }
}
