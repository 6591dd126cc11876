//! A record's Avro schema as a tree that encoding and decoding walk.
//!
//! Only what the schemas of headrace use is supported, the same kinds of unions as in
//! `schemas/encoder.py` and `schemas/decoder.py`.  Names of fields and symbols are Python strings,
//! created once.

use std::collections::HashMap;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyString;
use serde_json::Value;

pub type Text = Py<PyString>;

pub enum Node {
    Long,
    Int,
    Str,
    Double,
    Bool,
    Enum(usize),
    Record(usize),
    Array(Box<Node>),
    Map(Box<Node>),
    /// Null and one other type: the index of null, that of the other, the other.
    Optional(u8, u8, Box<Node>),
    /// Null first, then a long, a string, in any order.
    Plain(Vec<Node>),
    /// Several records, or a string and records: true if branch 0 is the string.
    Records(bool, Vec<(Text, usize)>),
}

pub struct Field {
    pub name: Text,
    pub optional: bool,
    pub node: Node,
}

pub struct Enumeration {
    pub symbols: Vec<Text>,
    pub numbers: HashMap<String, u8>,
}

#[derive(Default)]
pub struct Schema {
    pub records: Vec<Vec<Field>>,
    pub enums: Vec<Enumeration>,
    names: HashMap<String, Named>,
}

#[derive(Clone, Copy)]
enum Named {
    Enum(usize),
    Record(usize),
    /// A record that contains itself is not supported: the walk's depth would be the sender's.
    Open,
}

fn unsupported(what: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("the schema is not supported: {what}"))
}

fn text<'a>(value: &'a Value, member: &str) -> PyResult<&'a str> {
    value[member].as_str().ok_or_else(|| unsupported(format!("no {member}")))
}

fn full_name(value: &Value) -> PyResult<String> {
    Ok(format!("{}.{}", text(value, "namespace")?, text(value, "name")?))
}

fn items<'a>(value: &'a Value, member: &str) -> PyResult<&'a Vec<Value>> {
    value[member].as_array().ok_or_else(|| unsupported(format!("no {member}")))
}

impl Schema {
    /// Parse a self-contained record schema; its record is the last of `records`.
    pub fn parse(py: Python<'_>, json: &str) -> PyResult<Schema> {
        let value: Value = serde_json::from_str(json).map_err(unsupported)?;
        let mut schema = Schema::default();
        match schema.node(py, &value)? {
            Node::Record(_) => Ok(schema),
            _ => Err(unsupported("it is no record")),
        }
    }

    pub fn root(&self) -> usize {
        self.records.len() - 1
    }

    fn node(&mut self, py: Python<'_>, value: &Value) -> PyResult<Node> {
        match value {
            Value::String(name) => self.primitive(name),
            Value::Array(branches) => self.union(py, branches),
            _ => self.complex(py, value),
        }
    }

    fn primitive(&self, name: &str) -> PyResult<Node> {
        Ok(match name {
            "long" => Node::Long,
            "int" => Node::Int,
            "string" => Node::Str,
            "double" => Node::Double,
            "boolean" => Node::Bool,
            _ => match self.names.get(name) {
                Some(Named::Enum(number)) => Node::Enum(*number),
                Some(Named::Record(number)) => Node::Record(*number),
                _ => return Err(unsupported(name)),
            },
        })
    }

    fn complex(&mut self, py: Python<'_>, value: &Value) -> PyResult<Node> {
        match text(value, "type")? {
            "array" => Ok(Node::Array(Box::new(self.node(py, &value["items"])?))),
            "map" => Ok(Node::Map(Box::new(self.node(py, &value["values"])?))),
            "enum" => self.enumeration(py, value),
            "record" => self.record(py, value),
            name => self.primitive(name),
        }
    }

    fn enumeration(&mut self, py: Python<'_>, value: &Value) -> PyResult<Node> {
        let mut symbols = Vec::new();
        let mut numbers = HashMap::new();
        for (number, symbol) in items(value, "symbols")?.iter().enumerate() {
            let symbol = symbol.as_str().ok_or_else(|| unsupported("a symbol"))?;
            symbols.push(PyString::intern(py, symbol).unbind());
            numbers.insert(symbol.to_owned(), number as u8);
        }
        if symbols.len() > 64 {
            return Err(unsupported("more symbols than one byte tells apart"));
        }
        self.enums.push(Enumeration { symbols, numbers });
        let number = self.enums.len() - 1;
        self.names.insert(full_name(value)?, Named::Enum(number));
        Ok(Node::Enum(number))
    }

    fn record(&mut self, py: Python<'_>, value: &Value) -> PyResult<Node> {
        let name = full_name(value)?;
        self.names.insert(name.clone(), Named::Open);
        let mut fields = Vec::new();
        for field in items(value, "fields")? {
            fields.push(Field {
                name: PyString::intern(py, text(field, "name")?).unbind(),
                optional: field.get("default").is_some_and(Value::is_null),
                node: self.node(py, &field["type"])?,
            });
        }
        self.records.push(fields);
        let number = self.records.len() - 1;
        self.names.insert(name, Named::Record(number));
        Ok(Node::Record(number))
    }

    fn union(&mut self, py: Python<'_>, branches: &[Value]) -> PyResult<Node> {
        if branches.len() > 64 {
            return Err(unsupported("more branches than one byte tells apart"));
        }
        if let Some(null) = branches.iter().position(|branch| branch == "null") {
            return match branches.len() {
                2 => {
                    let other = self.node(py, &branches[1 - null])?;
                    Ok(Node::Optional(null as u8, 1 - null as u8, Box::new(other)))
                }
                _ if null == 0 => self.plain(py, &branches[1..]),
                _ => Err(unsupported("null among other branches")),
            };
        }
        let first_is_text = branches.first().is_some_and(|branch| branch == "string");
        let records = &branches[usize::from(first_is_text)..];
        let mut numbers = Vec::new();
        for branch in records {
            let name = match branch {
                Value::String(name) => name.clone(),
                _ => full_name(branch)?,
            };
            match self.node(py, branch)? {
                Node::Record(number) => {
                    numbers.push((PyString::intern(py, &name).unbind(), number));
                }
                _ => return Err(unsupported("a union of other types")),
            }
        }
        Ok(Node::Records(first_is_text, numbers))
    }

    fn plain(&mut self, py: Python<'_>, branches: &[Value]) -> PyResult<Node> {
        let mut nodes = Vec::new();
        for branch in branches {
            match self.node(py, branch)? {
                node @ (Node::Long | Node::Str) => nodes.push(node),
                _ => return Err(unsupported("null and several other types")),
            }
        }
        Ok(Node::Plain(nodes))
    }
}
