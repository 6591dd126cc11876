//! Whether a value plainly fits a shape.  Of one that does not, the model in Python says why.

use std::collections::{HashMap, HashSet};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};
use serde_json::Value;

use crate::formats;

/// Integers beyond it are not exact as doubles.
const MAX_SAFE: i64 = (1 << 53) - 1;
/// No value that orjson writes is nested deeper.
const MAX_DEPTH: usize = 255;

pub enum Shape {
    Any,
    Text(usize, usize),
    Uuid,
    Time,
    Integer(i64, i64),
    Number(f64, f64),
    Flag,
    Word(HashSet<String>),
    Nullable(Box<Shape>),
    List(Box<Shape>, usize, usize),
    Map(Box<Shape>),
    /// Members by name, true if required; and how many are.
    Object(HashMap<String, (bool, Shape)>, usize),
    /// The member that names the shape, and the shapes.
    Tagged(String, HashMap<String, Shape>),
}

fn unsupported(rule: &Value) -> PyErr {
    PyValueError::new_err(format!("the shape is not supported: {rule}"))
}

impl Shape {
    /// Parse a rule of `schemas/shapes.py`.
    pub fn parse(rule: &Value) -> PyResult<Shape> {
        let odd = || unsupported(rule);
        let inner = |at: usize| Shape::parse(&rule[at]).map(Box::new);
        let count = |at: usize, absent: usize| match &rule[at] {
            Value::Null => Ok(absent),
            number => number.as_u64().map(|number| number as usize).ok_or_else(odd),
        };
        let real = |at: usize, absent: f64| match &rule[at] {
            Value::Null => Ok(absent),
            number => number.as_f64().ok_or_else(odd),
        };
        let integer = |at: usize, absent: i64| match &rule[at] {
            Value::Null => Ok(absent),
            number => number.as_i64().ok_or_else(odd),
        };
        Ok(match rule[0].as_str().ok_or_else(odd)? {
            "any" => Shape::Any,
            "text" => Shape::Text(count(1, 0)?, count(2, usize::MAX)?),
            "uuid" => Shape::Uuid,
            "time" => Shape::Time,
            "integer" => Shape::Integer(integer(1, i64::MIN)?, integer(2, i64::MAX)?),
            "number" => Shape::Number(real(1, f64::MIN)?, real(2, f64::MAX)?),
            "flag" => Shape::Flag,
            "word" => {
                let words = rule[1].as_array().ok_or_else(odd)?.iter();
                let words = words.map(|word| word.as_str().map(str::to_owned).ok_or_else(odd));
                Shape::Word(words.collect::<PyResult<_>>()?)
            }
            "nullable" => Shape::Nullable(inner(1)?),
            "list" => Shape::List(inner(1)?, count(2, 0)?, count(3, usize::MAX)?),
            "map" => Shape::Map(inner(1)?),
            "object" => {
                let mut members = HashMap::new();
                for (name, member) in rule[1].as_object().ok_or_else(odd)? {
                    let required = member[0].as_bool().ok_or_else(odd)?;
                    members.insert(name.clone(), (required, Shape::parse(&member[1])?));
                }
                let required = members.values().filter(|(required, _)| *required).count();
                Shape::Object(members, required)
            }
            "tagged" => {
                let mut shapes = HashMap::new();
                for (name, shape) in rule[2].as_object().ok_or_else(odd)? {
                    shapes.insert(name.clone(), Shape::parse(shape)?);
                }
                Shape::Tagged(rule[1].as_str().ok_or_else(odd)?.to_owned(), shapes)
            }
            _ => return Err(odd()),
        })
    }

    pub fn fits(&self, value: &Bound<'_, PyAny>) -> bool {
        match self {
            Shape::Any => true,
            Shape::Text(min, max) => {
                text(value, |_| true)
                    && ((*min == 0 && *max == usize::MAX)
                        || value.len().is_ok_and(|length| (*min..=*max).contains(&length)))
            }
            Shape::Uuid => text(value, formats::is_uuid),
            Shape::Time => text(value, formats::is_time),
            Shape::Word(words) => text(value, |word| words.contains(word)),
            Shape::Integer(min, max) => {
                integer(value).is_some_and(|number| (*min..=*max).contains(&number))
            }
            Shape::Number(min, max) => {
                number(value).is_some_and(|number| (*min..=*max).contains(&number))
            }
            Shape::Flag => value.is_exact_instance_of::<PyBool>(),
            Shape::Nullable(shape) => value.is_none() || shape.fits(value),
            Shape::List(shape, min, max) => value.cast_exact::<PyList>().is_ok_and(|list| {
                (*min..=*max).contains(&list.len()) && list.iter().all(|item| shape.fits(&item))
            }),
            Shape::Map(shape) => value.cast_exact::<PyDict>().is_ok_and(|map| {
                map.iter().all(|(name, item)| text(&name, |_| true) && shape.fits(&item))
            }),
            Shape::Object(members, required) => object(value, members, *required),
            Shape::Tagged(tag, shapes) => tagged(value, tag, shapes),
        }
    }
}

fn object(value: &Bound<'_, PyAny>, members: &HashMap<String, (bool, Shape)>, most: usize) -> bool {
    let Ok(map) = value.cast_exact::<PyDict>() else { return false };
    let mut seen = 0;
    for (name, item) in map.iter() {
        let Ok(name) = name.cast_exact::<PyString>() else { return false };
        let Ok(name) = name.to_str() else { return false };
        match members.get(name) {
            Some((required, shape)) if shape.fits(&item) => seen += usize::from(*required),
            _ => return false,
        }
    }
    seen == most
}

fn tagged(value: &Bound<'_, PyAny>, tag: &str, shapes: &HashMap<String, Shape>) -> bool {
    let Ok(map) = value.cast_exact::<PyDict>() else { return false };
    let Ok(Some(name)) = map.get_item(tag) else { return false };
    let Ok(name) = name.cast_exact::<PyString>() else { return false };
    let Ok(name) = name.to_str() else { return false };
    shapes.get(name).is_some_and(|shape| shape.fits(value))
}

fn text(value: &Bound<'_, PyAny>, holds: impl FnOnce(&str) -> bool) -> bool {
    match value.cast_exact::<PyString>() {
        Ok(text) => text.to_str().is_ok_and(holds), // a lone surrogate has no UTF-8
        Err(_) => false,
    }
}

fn integer(value: &Bound<'_, PyAny>) -> Option<i64> {
    value.cast_exact::<PyInt>().ok()?.extract().ok()
}

/// Return a finite double, or an integer that is exactly one.
fn number(value: &Bound<'_, PyAny>) -> Option<f64> {
    match value.cast_exact::<PyFloat>() {
        Ok(number) => Some(number.value()).filter(|number| number.is_finite()),
        Err(_) => integer(value).filter(|n| n.abs() <= MAX_SAFE).map(|number| number as f64),
    }
}

/// Return what `has_rfc8785_numbers` of `schemas/canonical.py` returns.
pub fn has_rfc8785_numbers(value: &Bound<'_, PyAny>, depth: usize) -> bool {
    if value.is_exact_instance_of::<PyString>() {
        return true;
    }
    if let Ok(map) = value.cast_exact::<PyDict>() {
        return depth < MAX_DEPTH
            && map.iter().all(|(_, item)| has_rfc8785_numbers(&item, depth + 1));
    }
    if let Ok(list) = value.cast_exact::<PyList>() {
        return depth < MAX_DEPTH && list.iter().all(|item| has_rfc8785_numbers(&item, depth + 1));
    }
    if let Ok(number) = value.cast_exact::<PyFloat>() {
        let number = number.value();
        return 1e-4 < number.abs() && number.abs() < 1e15 && number.fract() != 0.0;
    }
    if value.is_exact_instance_of::<PyInt>() {
        return integer(value).is_some_and(|number| (-MAX_SAFE..=MAX_SAFE).contains(&number));
    }
    value.is_none() || value.is_exact_instance_of::<PyBool>()
}
