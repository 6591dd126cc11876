//! Encoding of Python values.  What is not as expected is `Odd`: the Python function decides then.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::schema::{Node, Schema};

/// A value that these functions do not encode.
pub struct Odd;

type Done = Result<(), Odd>;

pub struct Encoder<'a, 'py> {
    pub schema: &'a Schema,
    /// The class of records that are encoded already.
    pub body: &'a Bound<'py, PyAny>,
    pub out: Vec<u8>,
}

impl<'py> Encoder<'_, 'py> {
    pub fn record(&mut self, number: usize, value: &Bound<'py, PyAny>) -> Done {
        let py = value.py();
        let schema = self.schema;
        let value = value.cast_exact::<PyDict>().map_err(|_| Odd)?;
        for field in &schema.records[number] {
            match value.get_item(field.name.bind(py)).map_err(|_| Odd)? {
                Some(member) => self.value(&field.node, &member)?,
                None if field.optional => self.value(&field.node, py.None().bind(py))?,
                None => return Err(Odd),
            }
        }
        Ok(())
    }

    fn value(&mut self, node: &Node, value: &Bound<'py, PyAny>) -> Done {
        match node {
            Node::Long => self.integer(value),
            Node::Int => {
                let number = integer_of(value)?;
                i32::try_from(number).map_err(|_| Odd)?;
                self.varint(number);
                Ok(())
            }
            Node::Str => self.text(value),
            Node::Double => {
                let number = match value.cast_exact::<PyFloat>() {
                    Ok(number) => number.value(),
                    Err(_) => {
                        value.cast_exact::<PyInt>().map_err(|_| Odd)?.extract().map_err(|_| Odd)?
                    }
                };
                self.out.extend_from_slice(&number.to_le_bytes());
                Ok(())
            }
            Node::Bool => {
                self.out.push(value.cast_exact::<PyBool>().map_err(|_| Odd)?.is_true().into());
                Ok(())
            }
            Node::Enum(number) => {
                let symbol = value.cast_exact::<PyString>().map_err(|_| Odd)?;
                let symbol = symbol.to_str().map_err(|_| Odd)?;
                let index = self.schema.enums[*number].numbers.get(symbol).ok_or(Odd)?;
                self.out.push(index << 1);
                Ok(())
            }
            Node::Record(number) => {
                if value.get_type().is(self.body) {
                    let bytes = value.cast::<PyBytes>().map_err(|_| Odd)?;
                    self.out.extend_from_slice(bytes.as_bytes());
                    return Ok(());
                }
                self.record(*number, value)
            }
            Node::Array(items) => self.array(items, value),
            Node::Map(values) => self.map(values, value),
            Node::Optional(null, some, other) => {
                if value.is_none() {
                    self.out.push(null << 1);
                    return Ok(());
                }
                self.out.push(some << 1);
                self.value(other, value)
            }
            Node::Plain(branches) => self.plain(branches, value),
            Node::Records(text, branches) => self.branch(*text, branches, value),
        }
    }

    fn integer(&mut self, value: &Bound<'py, PyAny>) -> Done {
        let number = integer_of(value)?;
        self.varint(number);
        Ok(())
    }

    fn varint(&mut self, number: i64) {
        let mut rest = ((number << 1) ^ (number >> 63)) as u64;
        while rest > 127 {
            self.out.push(rest as u8 & 127 | 128);
            rest >>= 7;
        }
        self.out.push(rest as u8);
    }

    fn text(&mut self, value: &Bound<'py, PyAny>) -> Done {
        let text = value.cast_exact::<PyString>().map_err(|_| Odd)?;
        let text = text.to_str().map_err(|_| Odd)?; // a lone surrogate has no UTF-8
        self.varint(text.len() as i64);
        self.out.extend_from_slice(text.as_bytes());
        Ok(())
    }

    fn array(&mut self, items: &Node, value: &Bound<'py, PyAny>) -> Done {
        if let Ok(list) = value.cast_exact::<PyList>() {
            if !list.is_empty() {
                self.varint(list.len() as i64);
                for item in list.iter() {
                    self.value(items, &item)?;
                }
            }
        } else {
            let tuple = value.cast_exact::<PyTuple>().map_err(|_| Odd)?;
            if !tuple.is_empty() {
                self.varint(tuple.len() as i64);
                for item in tuple.iter_borrowed() {
                    self.value(items, &item)?;
                }
            }
        }
        self.out.push(0);
        Ok(())
    }

    fn map(&mut self, values: &Node, value: &Bound<'py, PyAny>) -> Done {
        let map = value.cast_exact::<PyDict>().map_err(|_| Odd)?;
        if !map.is_empty() {
            self.varint(map.len() as i64);
            for (key, item) in map.iter() {
                self.text(&key)?;
                self.value(values, &item)?;
            }
        }
        self.out.push(0);
        Ok(())
    }

    fn plain(&mut self, branches: &[Node], value: &Bound<'py, PyAny>) -> Done {
        if value.is_none() {
            self.out.push(0);
            return Ok(());
        }
        for (number, branch) in branches.iter().enumerate() {
            let fits = match branch {
                Node::Long => value.is_exact_instance_of::<PyInt>(),
                _ => value.is_exact_instance_of::<PyString>(),
            };
            if fits {
                self.out.push((number as u8 + 1) << 1);
                return self.value(branch, value);
            }
        }
        Err(Odd)
    }

    fn branch(
        &mut self,
        text: bool,
        branches: &[(crate::schema::Text, usize)],
        value: &Bound<'py, PyAny>,
    ) -> Done {
        let py = value.py();
        if text && value.is_exact_instance_of::<PyString>() {
            self.out.push(0);
            return self.text(value);
        }
        let pair = value.cast_exact::<PyTuple>().map_err(|_| Odd)?;
        if pair.len() != 2 {
            return Err(Odd);
        }
        let name = pair.get_borrowed_item(0).map_err(|_| Odd)?;
        let name = name.cast_exact::<PyString>().map_err(|_| Odd)?;
        let number = match branches.iter().position(|(branch, _)| branch.is(name.as_any())) {
            Some(number) => number,
            None => {
                let name = name.to_str().map_err(|_| Odd)?;
                let same = |branch: &crate::schema::Text| {
                    branch.bind(py).to_str().is_ok_and(|other| other == name)
                };
                branches.iter().position(|(branch, _)| same(branch)).ok_or(Odd)?
            }
        };
        self.out.push((number as u8 + u8::from(text)) << 1);
        let record = pair.get_item(1).map_err(|_| Odd)?;
        self.record(branches[number].1, &record)
    }
}

fn integer_of(value: &Bound<'_, PyAny>) -> Result<i64, Odd> {
    value.cast_exact::<PyInt>().map_err(|_| Odd)?.extract().map_err(|_| Odd)
}
