//! The natives that could make much out of little, bounded by what they are
//! given: texts of whole values, pieces of texts, replacements, JSON. Rhai's
//! own look at the size of what they made when it is made.

use std::sync::Arc;

use rhai::{
    Array, Dynamic, Engine, EvalAltResult, FnPtr, FuncRegistration, INT, ImmutableString, Map,
    Position,
};

use super::fault::Fault;
use super::guard::Guard;

type Made<T> = Result<T, Box<EvalAltResult>>;

/// Registers them over those of Rhai's packages.
pub(super) fn register(engine: &mut Engine, guard: &Arc<Guard>) {
    print(engine, guard);
    split(engine, guard);
    json(engine, guard);
    let watch = Arc::clone(guard);
    engine.register_fn(
        "replace",
        move |text: &mut ImmutableString, find: &str, with: &str| replace(&watch, text, find, with),
    );
    let watch = Arc::clone(guard);
    engine.register_fn(
        "replace",
        move |text: &mut ImmutableString, find: char, with: &str| {
            replace(&watch, text, find.encode_utf8(&mut [0; 4]), with)
        },
    );
}

/// Registers a native that is told the guard and only looks at its value.
macro_rules! native {
    ($engine:ident, $guard:ident, $name:expr, |$watch:ident, $value:ident: $type:ty $(, $arg:ident: $arg_type:ty)*| $body:expr) => {{
        let $watch = Arc::clone($guard);
        FuncRegistration::new($name)
            .in_global_namespace()
            .with_purity(true)
            .register_into_engine($engine, move |$value: &mut $type $(, $arg: $arg_type)*| $body);
    }};
}

/// The text of whole values. Where a printing function fails Rhai prints the
/// value itself, so these do not fail: what is too large prints as nothing,
/// and the script ends at its next operation.
fn print(engine: &mut Engine, guard: &Arc<Guard>) {
    for name in ["print", "debug", "to_string", "to_debug"] {
        native!(engine, guard, name, |watch, value: Array| {
            shown(&watch, &value.clone().into())
        });
        native!(engine, guard, name, |watch, value: Map| {
            shown(&watch, &value.clone().into())
        });
        native!(engine, guard, name, |_watch, value: FnPtr| function(value));
    }
}

/// A value as a script would write it, if it is small enough to be shown.
pub(super) fn shown(guard: &Guard, value: &Dynamic) -> ImmutableString {
    let mut text = String::new();
    if guard.judge(value).is_ok() {
        write(&mut text, value);
    }
    text.into()
}

fn function(function: &FnPtr) -> String {
    format!("Fn({})", function.fn_name())
}

/// As Rhai writes it, less what functions have captured.
fn write(text: &mut String, value: &Dynamic) {
    if let Some(array) = value.read_lock::<Array>() {
        text.push('[');
        for (i, item) in array.iter().enumerate() {
            text.push_str(if i > 0 { ", " } else { "" });
            write(text, item);
        }
        text.push(']');
    } else if let Some(map) = value.read_lock::<Map>() {
        text.push_str("#{");
        for (i, (key, item)) in map.iter().enumerate() {
            text.push_str(if i > 0 { ", " } else { "" });
            text.push_str(&format!("{key:?}: "));
            write(text, item);
        }
        text.push('}');
    } else if let Some(pointer) = value.read_lock::<FnPtr>() {
        text.push_str(&function(&pointer));
    } else if let Some(fault) = value.read_lock::<Fault>() {
        text.push_str(&fault.to_string());
    } else {
        text.push_str(&format!("{value:?}"));
    }
}

/// The pieces of a text, no more than an array may have.
fn pieces<'a>(guard: &Guard, pieces: impl Iterator<Item = &'a str>) -> Made<Array> {
    let limit = guard.limits.array;
    let array: Array = pieces.take(limit + 1).map(|piece| piece.into()).collect();
    if array.len() > limit {
        return Err(guard.stop(format!("more than {limit} array elements in one value")));
    }
    Ok(array)
}

fn split(engine: &mut Engine, guard: &Arc<Guard>) {
    type Text = ImmutableString;
    /// As many pieces as asked for; at least one.
    fn most(n: INT) -> usize {
        usize::try_from(n).unwrap_or_default().max(1)
    }
    native!(engine, guard, "split", |watch, s: Text| pieces(
        &watch,
        s.split_whitespace()
    ));
    native!(engine, guard, "split", |watch, s: Text, by: &str| pieces(
        &watch,
        s.split(by)
    ));
    native!(engine, guard, "split", |watch, s: Text, by: char| pieces(
        &watch,
        s.split(by)
    ));
    native!(
        engine,
        guard,
        "split",
        |watch, s: Text, by: &str, n: INT| { pieces(&watch, s.splitn(most(n), by)) }
    );
    native!(
        engine,
        guard,
        "split",
        |watch, s: Text, by: char, n: INT| { pieces(&watch, s.splitn(most(n), by)) }
    );
    native!(engine, guard, "split_rev", |watch, s: Text, by: &str| {
        pieces(&watch, s.rsplit(by))
    });
    native!(engine, guard, "split_rev", |watch, s: Text, by: char| {
        pieces(&watch, s.rsplit(by))
    });
    native!(
        engine,
        guard,
        "split_rev",
        |watch, s: Text, by: &str, n: INT| { pieces(&watch, s.rsplitn(most(n), by)) }
    );
    native!(
        engine,
        guard,
        "split_rev",
        |watch, s: Text, by: char, n: INT| { pieces(&watch, s.rsplitn(most(n), by)) }
    );
    native!(engine, guard, "to_chars", |watch, s: Text| {
        let limit = watch.limits.array;
        let chars: Array = s.chars().take(limit + 1).map(Dynamic::from).collect();
        if chars.len() > limit {
            return Err(watch.stop(format!("more than {limit} array elements in one value")));
        }
        Made::Ok(chars)
    });
}

fn json(engine: &mut Engine, guard: &Arc<Guard>) {
    let watch = Arc::clone(guard);
    engine.register_fn("parse_json", move |text: &str| parse_json(&watch, text));
    native!(engine, guard, "to_json", |watch, map: Map| {
        let value = Dynamic::from(map.clone());
        watch.judge(&value)?;
        let text = serde_json::to_string(&value);
        Made::Ok(text.map_err(|e| Fault::new("script-json-invalid", e))?)
    });
}

fn parse_json(guard: &Guard, text: &str) -> Made<Dynamic> {
    // No value in it without one of these, or it is the only one.
    let parts = text
        .bytes()
        .filter(|b| matches!(b, b',' | b'[' | b'{'))
        .count();
    let limit = guard.limits.array;
    if parts > limit {
        return Err(guard.stop(format!("more than {limit} values in one JSON text")));
    }
    Ok(serde_json::from_str(text).map_err(|e| Fault::new("script-json-invalid", e))?)
}

fn replace(guard: &Guard, text: &mut ImmutableString, find: &str, with: &str) -> Made<()> {
    let times = text.matches(find).count();
    let length = text.len().saturating_add(times.saturating_mul(with.len()));
    if length > guard.limits.string {
        let what = "Length of string".to_owned();
        return Err(EvalAltResult::ErrorDataTooLarge(what, Position::NONE).into());
    }
    *text = text.replace(find, with).into();
    Ok(())
}
