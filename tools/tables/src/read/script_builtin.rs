//! What operators, subscripts and the functions that every script has make of values.

use super::script_value::{LONGEST, ListSource, ScriptKind, ScriptValue};
use std::collections::BTreeSet;
use std::rc::Rc;

pub type ScriptArguments<'a> = &'a [(Option<&'a str>, ScriptValue)];
/// One place, or from where, to where, in which steps.
pub type ScriptPlace = Result<ScriptValue, Vec<Option<ScriptValue>>>;

/// What may stand around a list.
const WRAPPERS: &[&str] = &["array", "asarray", "list", "tuple", "DataFrame", "Series"];
/// What gives all figures of a data frame, in another order.
const REARRANGES: &[&str] =
    &["melt", "pivot", "sort_values", "sort_index", "set_index", "reset_index", "copy", "transpose"];
/// What holds lists by name.
const NAMED: &[&str] = &["dict", "data.frame", "tibble", "data.table", "DataFrame"];

fn number(value: f64) -> ScriptValue {
    ScriptKind::Number(value.to_string()).into()
}

fn list(all: Vec<ScriptValue>) -> ScriptValue {
    ScriptValue::list(all)
}

/// With its digits where it is plain; `0.5e3` is 500.
pub fn number_as_written(text: &str) -> ScriptValue {
    let unsigned = text.trim_start_matches('-');
    let plain = unsigned.bytes().all(|c| c.is_ascii_digit() || c == b'.');
    // R's whole numbers end with a letter.
    match text.trim_end_matches('L').parse::<f64>() {
        Ok(_) if plain => ScriptKind::Number(text.into()).into(),
        Ok(value) if value.is_finite() => number(value),
        _ => ScriptValue::unknown(),
    }
}

/// What a loop over it gives; of what is not known `want`, or one.
pub fn items(of: &ScriptValue, want: Option<usize>) -> Vec<ScriptValue> {
    let want = want.unwrap_or(1);
    match &of.is {
        // A figure of a list is of it; a list in it is known.
        ScriptKind::List(all) => all.iter().map(|one| of_list(of, one)).collect(),
        ScriptKind::Dictionary(all) => all.iter().map(|(key, _)| ScriptValue::text(key)).collect(),
        ScriptKind::Object(path) => {
            (0..want).map(|at| ScriptValue::object(format!("{path}[{at}]"))).collect()
        }
        _ => vec![ScriptValue::computed(ScriptKind::Unknown, [of]); want],
    }
}

fn of_list(list: &ScriptValue, one: &ScriptValue) -> ScriptValue {
    if !one.from.is_empty() || matches!(one.is, ScriptKind::List(_) | ScriptKind::Dictionary(_)) {
        return one.clone();
    }
    let from = list.from.iter().cloned().map(|source| ListSource { across: true, ..source });
    ScriptValue { is: one.is.clone(), from: from.collect() }
}

/// `whole[keys] = value`, in dictionaries.
pub fn put(whole: &mut ScriptValue, keys: &[String], value: ScriptValue) {
    let [key, rest @ ..] = keys else {
        *whole = value;
        return;
    };
    let ScriptKind::Dictionary(of) = &mut whole.is else { return };
    let of = Rc::make_mut(of);
    let at = of.iter().position(|(known, _)| known == key).unwrap_or(of.len());
    if at == of.len() {
        if of.len() >= LONGEST {
            return;
        }
        of.push((key.clone(), ScriptKind::Dictionary(Rc::default()).into()));
    }
    put(&mut of[at].1, rest, value);
}

pub fn index(of: &ScriptValue, at: &[ScriptPlace]) -> ScriptValue {
    let unknown = || ScriptValue::computed(ScriptKind::Unknown, [of]);
    match (&of.is, at) {
        (ScriptKind::Object(path), at) => {
            let keys = at.iter().map(|at| at.as_ref().ok().and_then(ScriptValue::cell).unwrap_or("?"));
            ScriptValue::object(format!("{path}[{}]", keys.collect::<Vec<_>>().join("][")))
        }
        (_, []) => unknown(),
        (_, [Ok(one)]) => item(of, one),
        (_, [Err(slice)]) => sliced(of, slice),
        // `rates[2, :]`
        (_, [Ok(one), rest @ ..]) => index(&item(of, one), rest),
        // `rates[:, 3]`
        (ScriptKind::List(all), [Err(slice), rest @ ..]) => {
            let whole = sliced(of, slice);
            let columns: Vec<ScriptValue> = all.iter().map(|row| index(row, rest)).collect();
            let plain = whole.from == of.from;
            let from = of.from.iter().cloned().map(|source| ListSource { across: true, plain, ..source });
            ScriptValue { is: ScriptKind::List(Rc::new(columns)), from: from.collect() }
        }
        (_, [Err(_), ..]) => {
            let from = unknown().from.into_iter().map(|source| ListSource { across: true, ..source });
            ScriptValue { is: ScriptKind::Unknown, from: from.collect() }
        }
    }
}

fn item(of: &ScriptValue, at: &ScriptValue) -> ScriptValue {
    let found = match &of.is {
        ScriptKind::List(all) => place(at, all.len()).and_then(|at| all.get(at)).map(|one| of_list(of, one)),
        ScriptKind::Dictionary(all) => {
            let key = at.key();
            all.iter().find(|(known, _)| Some(known) == key.as_ref()).map(|(_, value)| of_list(of, value))
        }
        _ => None,
    };
    // One of its lists, whichever.
    let lists =
        of.inside().iter().all(|one| matches!(one.is, ScriptKind::List(_) | ScriptKind::Dictionary(_)));
    found.unwrap_or_else(|| match lists {
        true => ScriptValue { is: ScriptKind::Unknown, from: of.from.clone() },
        false => ScriptValue::computed(ScriptKind::Unknown, [of]),
    })
}

fn place(at: &ScriptValue, of: usize) -> Option<usize> {
    let at = at.number()?;
    let at = if at < 0.0 { at + of as f64 } else { at };
    (at >= 0.0).then_some(at as usize)
}

/// The whole is plain; a part is computed.
fn sliced(of: &ScriptValue, parts: &[Option<ScriptValue>]) -> ScriptValue {
    let ScriptKind::List(all) = &of.is else { return ScriptValue::computed(ScriptKind::Unknown, [of]) };
    let part = |at: usize| parts.get(at).and_then(Option::as_ref);
    let bound = |at: usize, unsaid: usize| part(at).map_or(Some(unsaid), |at| place(at, all.len()));
    let step = part(2).map_or(Some(1.0), ScriptValue::number).filter(|step| *step >= 1.0);
    let (Some(from), Some(to), Some(step)) = (bound(0, 0), bound(1, all.len()), step) else {
        return ScriptValue::computed(ScriptKind::Unknown, [of]);
    };
    let taken = all.iter().take(to).skip(from).step_by(step as usize).cloned().collect::<Vec<_>>();
    if taken.len() == all.len() {
        return of.clone();
    }
    ScriptValue::computed(ScriptKind::List(Rc::new(taken)), [of])
}

pub fn operation(sign: &str, of: &[ScriptValue]) -> ScriptValue {
    let numbers = || of.iter().map(ScriptValue::number).collect::<Option<Vec<f64>>>();
    let is = match (sign, of) {
        ("not", [one]) => return ScriptValue::truth(one.holds().map(|holds| !holds)),
        ("and", [one, other]) => return ScriptValue::truth(both(one.holds(), other.holds())),
        ("or", [one, other]) => {
            let neither = both(one.holds().map(|holds| !holds), other.holds().map(|holds| !holds));
            return ScriptValue::truth(neither.map(|neither| !neither));
        }
        ("==", [one, other]) => return ScriptValue::truth(same(one, other)),
        ("!=", [one, other]) => return ScriptValue::truth(same(one, other).map(|same| !same)),
        ("in", [one, other]) => return ScriptValue::truth(within(one, other)),
        ("not in", [one, other]) => return ScriptValue::truth(within(one, other).map(|within| !within)),
        ("<" | ">" | "<=" | ">=", _) => {
            let holds = numbers().and_then(|of| match (sign, &of[..]) {
                ("<", [one, other]) => Some(one < other),
                (">", [one, other]) => Some(one > other),
                ("<=", [one, other]) => Some(one <= other),
                (_, [one, other]) => Some(one >= other),
                _ => None,
            });
            return ScriptValue::truth(holds);
        }
        // What is known of a text is said by it.
        ("+", [one, other]) if !one.texts().is_empty() || !other.texts().is_empty() => {
            match (&one.is, &other.is) {
                (ScriptKind::Text(one), ScriptKind::Text(other)) if one.len() + other.len() <= LONGEST => {
                    ScriptKind::Text(format!("{one}{other}"))
                }
                (ScriptKind::Text(text), _) | (_, ScriptKind::Text(text)) => ScriptKind::Text(text.clone()),
                _ => ScriptKind::Unknown,
            }
        }
        ("%", [text, with]) if matches!(text.is, ScriptKind::Text(_)) => {
            let ScriptKind::Text(text) = &text.is else { return ScriptValue::unknown() };
            ScriptKind::Text(filled(text, with))
        }
        _ => numbers()
            .and_then(|of| computed(sign, &of))
            .map(|of| number(of).is)
            .or_else(|| each(sign, of))
            .unwrap_or(ScriptKind::Unknown),
    };
    ScriptValue::computed(is, of)
}

/// As Python's own lists do: `["A1"] * 4 + ["A2"] * 4`.
pub fn joined(sign: &str, of: &[ScriptValue]) -> Option<ScriptValue> {
    let [one, other] = of else { return None };
    let is_list = |value: &ScriptValue| matches!(value.is, ScriptKind::List(_));
    let all = match sign {
        "+" if is_list(one) && is_list(other) => [items(one, None), items(other, None)].concat(),
        "*" => {
            let (list, many) = if is_list(one) { (one, other) } else { (other, one) };
            let (all, many) = (items(list, None), many.number().filter(|_| is_list(list))?);
            let many = (many >= 0.0 && many * all.len() as f64 <= LONGEST as f64).then_some(many as usize)?;
            std::iter::repeat_n(all, many).flatten().collect()
        }
        _ => return None,
    };
    (all.len() <= LONGEST).then(|| list(all))
}

/// Which comes first where both are sorted, by their texts and numbers; `None`: it is not known.
pub fn sort_key(of: &ScriptValue) -> Option<Vec<SortedCell>> {
    let cells: Vec<&str> = match &of.is {
        ScriptKind::List(all) => all.iter().map_while(ScriptValue::cell).collect(),
        _ => of.cell().into_iter().collect(),
    };
    (!cells.is_empty()).then(|| cells.into_iter().map(SortedCell::of).collect())
}

/// Numbers come before texts; keys of a dictionary are texts, whatever they were.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub enum SortedCell {
    Number(i64),
    Text(String),
}

impl SortedCell {
    fn of(cell: &str) -> SortedCell {
        match cell.parse::<f64>() {
            Ok(number) => {
                // As `f64::total_cmp` puts them in order.
                let bits = number.to_bits() as i64;
                SortedCell::Number(bits ^ (((bits >> 63) as u64) >> 1) as i64)
            }
            Err(_) => SortedCell::Text(cell.into()),
        }
    }
}

/// As numpy does: figure by figure, or each with one number.
fn each(sign: &str, of: &[ScriptValue]) -> Option<ScriptKind> {
    let [one, other] = of else { return None };
    let at = |value: &ScriptValue, at: usize| match &value.is {
        ScriptKind::List(all) => all.get(at)?.number(),
        _ => value.number(),
    };
    let length =
        |value: &ScriptValue| if let ScriptKind::List(all) = &value.is { Some(all.len()) } else { None };
    let many = match (length(one), length(other)) {
        (Some(many), None) | (None, Some(many)) => many,
        (Some(many), Some(same)) if many == same => many,
        _ => return None,
    };
    let all = (0..many).map(|i| Some(number(computed(sign, &[at(one, i)?, at(other, i)?])?)));
    all.collect::<Option<Vec<ScriptValue>>>().map(|all| list(all).is)
}

fn both(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    match (one, other) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

fn same(one: &ScriptValue, other: &ScriptValue) -> Option<bool> {
    match (one.number(), other.number()) {
        (Some(one), Some(other)) => Some(one == other),
        _ => Some(one.cell()? == other.cell()?),
    }
}

fn within(one: &ScriptValue, other: &ScriptValue) -> Option<bool> {
    match &other.is {
        ScriptKind::Text(text) => Some(text.contains(one.cell()?)),
        ScriptKind::Dictionary(of) => one.cell().map(|one| of.iter().any(|(key, _)| key == one)),
        ScriptKind::List(all) => {
            let all: Option<Vec<bool>> = all.iter().map(|of| same(one, of)).collect();
            all.map(|all| all.contains(&true))
        }
        _ => None,
    }
}

fn computed(sign: &str, of: &[f64]) -> Option<f64> {
    let value = match (sign, of) {
        ("-", [one]) => -one,
        ("+", [one, other]) => one + other,
        ("-", [one, other]) => one - other,
        ("*", [one, other]) => one * other,
        ("/", [one, other]) => one / other,
        ("//", [one, other]) => (one / other).floor(),
        ("%", [one, other]) => one.rem_euclid(*other),
        ("**", [one, other]) => one.powf(*other),
        ("<<", [one, other]) => one * 2f64.powf(*other),
        _ => return None,
    };
    value.is_finite().then_some(value)
}

/// `"%d threads" % 4`: each mark is one value.
fn filled(text: &str, with: &ScriptValue) -> String {
    let values = if let ScriptKind::List(all) = &with.is { all.to_vec() } else { vec![with.clone()] };
    let mut parts = text.split('%');
    let mut all = parts.next().unwrap_or_default().to_string();
    let mut values = values.iter();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit() || "+-.".contains(c));
        all.push_str(values.next().and_then(ScriptValue::cell).unwrap_or_default());
        all.push_str(rest.get(1..).unwrap_or_default());
    }
    all
}

/// What every script has.
pub fn function(name: &str, arguments: ScriptArguments) -> Option<ScriptValue> {
    let first = arguments.first().map(|(_, value)| value);
    if NAMED.contains(&name) && !arguments.is_empty() && arguments.iter().all(|(name, _)| name.is_some()) {
        let of = arguments.iter().map(|(name, value)| (name.unwrap_or_default().to_string(), value.clone()));
        return Some(ScriptKind::Dictionary(Rc::new(of.collect())).into());
    }
    if let Some(framed) = columns(name, arguments) {
        return Some(framed);
    }
    Some(match (name, arguments) {
        // R's lists.
        ("c", all) => list(all.iter().map(|(_, value)| value.clone()).collect()),
        ("range", all) => return range(&all.iter().map(|(_, value)| value).collect::<Vec<_>>()),
        ("len", [(_, of)]) => length(of),
        ("zip", all) => zipped(&all.iter().map(|(_, value)| value).collect::<Vec<_>>()),
        ("enumerate", [(_, of), from @ ..]) => {
            let from = from.first().map_or(Some(0.0), |(_, from)| from.number())?;
            let all = items(of, None).into_iter().enumerate();
            list(all.map(|(at, one)| list(vec![number(from + at as f64), one])).collect())
        }
        ("str", [(_, of)]) => of.cell().map_or(ScriptValue::unknown(), ScriptValue::text),
        ("int" | "float", [(_, of)]) if of.number().is_some() => of.clone(),
        ("reversed", [(_, of)]) => list(items(of, None).into_iter().rev().collect()),
        ("set", [(_, of)]) => {
            let mut seen = BTreeSet::new();
            list(items(of, None).into_iter().filter(|one| seen.insert(one.key())).collect())
        }
        ("dict", [(_, pairs)]) => {
            let pair = |pair: &ScriptValue| {
                Some((pair.inside().first()?.key()?, pair.inside().get(1).copied()?.clone()))
            };
            let all: Option<Vec<_>> = pairs.inside().into_iter().map(pair).collect();
            ScriptKind::Dictionary(all?.into()).into()
        }
        ("dict" | "defaultdict" | "OrderedDict", _) => ScriptKind::Dictionary(Rc::default()).into(),
        (name, [_, ..]) if WRAPPERS.contains(&name) => first?.clone(),
        _ => return None,
    })
}

/// `DataFrame(rows, columns=["impl", "size", "gbps"])`: its columns by name.
fn columns(name: &str, arguments: ScriptArguments) -> Option<ScriptValue> {
    let names = arguments.iter().find(|(keyword, _)| name == "DataFrame" && *keyword == Some("columns"))?;
    let ScriptKind::List(rows) = &arguments.first()?.1.is else { return None };
    let cell = |row: &ScriptValue, at: usize| match &row.is {
        ScriptKind::List(cells) => cells.get(at).map(|cell| cell.is.clone().into()),
        _ => None,
    };
    let column = |(at, name): (usize, String)| {
        let cells: Option<Vec<ScriptValue>> = rows.iter().map(|row| cell(row, at)).collect();
        Some((name, list(cells?)))
    };
    let all: Option<Vec<_>> = names.1.texts().into_iter().enumerate().map(column).collect();
    all.filter(|all| !all.is_empty()).map(|all| ScriptKind::Dictionary(all.into()).into())
}

fn length(of: &ScriptValue) -> ScriptValue {
    let many = match &of.is {
        ScriptKind::List(all) => Some(all.len()),
        ScriptKind::Dictionary(all) => Some(all.len()),
        _ => None,
    };
    let is = many.map_or(ScriptKind::Unknown, |many| number(many as f64).is);
    ScriptValue::computed(is, [of])
}

/// A name that no list has: of numbers that count places.
pub const COUNTED: &str = "";

fn range(of: &[&ScriptValue]) -> Option<ScriptValue> {
    let numbers: Option<Vec<f64>> = of.iter().map(|one| one.number()).collect();
    let numbers = numbers.filter(|all| all.iter().all(|one| one.is_finite()))?;
    let (from, to, step) = match numbers[..] {
        [to] => (0.0, to, 1.0),
        [from, to] => (from, to, 1.0),
        [from, to, step] if step > 0.0 => (from, to, step),
        _ => return None,
    };
    let many = ((to - from) / step).ceil();
    if many > LONGEST as f64 {
        return None;
    }
    let all = (0..many.max(0.0) as usize).map(|at| number(from + at as f64 * step)).collect();
    let mut counted = ScriptValue::computed(list(all).is, of.iter().copied());
    let source = ListSource { name: COUNTED.into(), keys: Vec::new(), plain: false, across: false };
    counted.from.insert(source);
    Some(counted)
}

fn zipped(of: &[&ScriptValue]) -> ScriptValue {
    let known = |of: &&&ScriptValue| matches!(of.is, ScriptKind::List(_) | ScriptKind::Dictionary(_));
    let rows = of.iter().filter(known).map(|of| items(of, None).len()).min().unwrap_or(1);
    let columns: Vec<Vec<ScriptValue>> = of.iter().map(|of| items(of, Some(rows))).collect();
    list((0..rows).map(|at| list(columns.iter().map(|column| column[at].clone()).collect())).collect())
}

/// `None`: of a library, or none that is known.
pub fn method(of: &ScriptValue, name: &str, arguments: ScriptArguments) -> Option<ScriptValue> {
    let first = arguments.first().map(|(_, value)| value);
    match &of.is {
        ScriptKind::Object(_) if ["flatten", "ravel"].contains(&name) => Some(of.clone()),
        ScriptKind::Object(_) if name == "arange" => range(
            &arguments.iter().filter(|(name, _)| name.is_none()).map(|(_, value)| value).collect::<Vec<_>>(),
        ),
        ScriptKind::Object(path) if path == "data" && name == "frame" => function("data.frame", arguments),
        ScriptKind::Object(_) if WRAPPERS.contains(&name) => function(name, arguments),
        ScriptKind::Dictionary(all) => Some(match name {
            "items" => list(
                all.iter()
                    .map(|(key, value)| list(vec![ScriptValue::text(key), of_list(of, value)]))
                    .collect(),
            ),
            "keys" => list(items(of, None)),
            "values" => list(all.iter().map(|(_, value)| of_list(of, value)).collect()),
            "get" => item(of, first?),
            _ if REARRANGES.contains(&name) => ScriptValue { is: ScriptKind::Unknown, from: of.from.clone() },
            _ => return None,
        }),
        ScriptKind::List(all) => match name {
            "reshape" => reshaped(of, arguments),
            "index" => {
                let at = all.iter().position(|one| first.is_some_and(|of| same(one, of) == Some(true)));
                at.map(|at| number(at as f64))
            }
            "tolist" | "copy" | "astype" => Some(of.clone()),
            _ => Some(ScriptValue::computed(ScriptKind::Unknown, [of])),
        },
        ScriptKind::Text(text) => {
            let texts: Vec<&str> = arguments.iter().filter_map(|(_, value)| value.cell()).collect();
            let text = match (name, &texts[..]) {
                ("replace", [from, to]) if !from.is_empty() && to.len() <= from.len() => {
                    text.replace(from, to)
                }
                ("upper", _) => text.to_uppercase(),
                ("lower", _) => text.to_lowercase(),
                ("title" | "capitalize" | "strip", _) => text.trim().to_string(),
                ("format", texts) => {
                    let mut texts = texts.iter();
                    let parts = text.split('{').map(|part| match part.split_once('}') {
                        Some((_, rest)) => format!("{}{rest}", texts.next().unwrap_or(&"")),
                        None => part.to_string(),
                    });
                    parts.collect()
                }
                ("split", [by]) if !by.is_empty() => {
                    return Some(list(text.split(by).map(ScriptValue::text).collect()));
                }
                _ => return Some(ScriptValue::unknown()),
            };
            Some(ScriptValue::text(text))
        }
        _ => None,
    }
}

/// Rows of a flattened list: `.reshape(len(sizes), len(threads))`, `.reshape((3, -1))`. `None`: of another shape.
fn reshaped(of: &ScriptValue, arguments: ScriptArguments) -> Option<ScriptValue> {
    let unknown = Some(ScriptValue::computed(ScriptKind::Unknown, [of]));
    let ScriptKind::List(all) = &of.is else { return unknown };
    let shape: Vec<ScriptValue> = match arguments {
        [(_, shape)] => items(shape, None),
        shape => shape.iter().map(|(_, one)| one.clone()).collect(),
    };
    let [Some(rows), Some(columns)] = shape.iter().map(ScriptValue::number).collect::<Vec<_>>()[..] else {
        return unknown;
    };
    let many = all.len() as f64;
    let columns = if columns == -1.0 { many / rows } else { columns };
    let rows = if rows == -1.0 { many / columns } else { rows };
    if columns < 1.0 || rows * columns != many {
        return unknown;
    }
    let row = |row: &[ScriptValue]| ScriptValue {
        is: ScriptKind::List(Rc::new(row.to_vec())),
        from: of.from.clone(),
    };
    let rows = all.chunks(columns as usize).map(row).collect();
    Some(ScriptValue { is: ScriptKind::List(Rc::new(rows)), from: of.from.clone() })
}
