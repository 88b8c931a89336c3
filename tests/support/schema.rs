//! The part of JSON Schema that `docs/findings.schema.json` uses, strictly: what the schema does not name is an error.

use serde_json::Value;

/// Keywords that are understood; another one would pass unchecked.
const KEYWORDS: [&str; 17] = [
    "$schema",
    "$defs",
    "$ref",
    "title",
    "description",
    "type",
    "properties",
    "required",
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
    "minimum",
    "enum",
    "const",
    "anyOf",
    "additionalProperties",
];

pub struct Schema(Value);

impl Schema {
    pub fn new(text: &str) -> Schema {
        Schema(serde_json::from_str(text).expect("a schema is JSON"))
    }

    /// The places of a document that the schema does not allow, with why.
    pub fn errors(&self, document: &Value) -> Vec<String> {
        self.check(&self.0, document, "$")
    }

    fn check(&self, schema: &Value, value: &Value, at: &str) -> Vec<String> {
        let keywords = schema.as_object().expect("a schema is an object");
        for keyword in keywords.keys() {
            assert!(KEYWORDS.contains(&keyword.as_str()), "nothing checks {keyword:?}");
        }
        if let Some(name) = schema["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/")) {
            return self.check(&self.0["$defs"][name], value, at);
        }
        let mut errors = Vec::new();
        if let Some(choices) = schema["anyOf"].as_array() {
            let tried = choices.iter().map(|choice| self.check(choice, value, at));
            // What comes nearest says most.
            errors.extend(tried.min_by_key(Vec::len).unwrap_or_default());
        }
        let wrong = |keyword: &str| format!("{at}: {keyword} {}: {value:.200}", schema[keyword]);
        if !schema["type"].is_null() && !types(&schema["type"]).iter().any(|name| is_a(value, name)) {
            return vec![wrong("type")];
        }
        if schema["enum"].as_array().is_some_and(|values| !values.contains(value)) {
            errors.push(wrong("enum"));
        }
        if keywords.contains_key("const") && schema["const"] != *value {
            errors.push(wrong("const"));
        }
        if schema["minimum"].as_f64().is_some_and(|least| value.as_f64().is_some_and(|value| value < least)) {
            errors.push(wrong("minimum"));
        }
        errors.extend(self.entries(schema, value, at));
        errors.extend(self.members(schema, value, at));
        errors
    }

    fn entries(&self, schema: &Value, value: &Value, at: &str) -> Vec<String> {
        let Some(list) = value.as_array() else { return Vec::new() };
        let limit = |keyword: &str| schema[keyword].as_u64().map(|limit| limit as usize);
        let mut errors = Vec::new();
        if limit("minItems").is_some_and(|least| list.len() < least)
            || limit("maxItems").is_some_and(|most| list.len() > most)
        {
            errors.push(format!("{at}: {} entries", list.len()));
        }
        for (i, entry) in list.iter().enumerate() {
            let own = schema["prefixItems"].get(i).or(schema.get("items"));
            errors.extend(own.into_iter().flat_map(|own| self.check(own, entry, &format!("{at}[{i}]"))));
        }
        errors
    }

    fn members(&self, schema: &Value, value: &Value, at: &str) -> Vec<String> {
        let Some(map) = value.as_object().filter(|_| types(&schema["type"]).contains(&"object")) else {
            return Vec::new();
        };
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let lacks = required.filter(|name| !map.contains_key(*name)).map(|name| format!("{at}: no {name}"));
        let mut errors: Vec<String> = lacks.collect();
        for (name, member) in map {
            match schema["properties"].get(name).or(schema.get("additionalProperties")) {
                Some(own) => errors.extend(self.check(own, member, &format!("{at}.{name}"))),
                None => errors.push(format!("{at}: the schema does not name {name}")),
            }
        }
        errors
    }
}

fn types(names: &Value) -> Vec<&str> {
    match names {
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        name => name.as_str().into_iter().collect(),
    }
}

fn is_a(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        _ => panic!("nothing checks the type {name:?}"),
    }
}
