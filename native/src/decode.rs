//! Decoding to Python values.  What is not as expected is `Odd`: the Python function decides then.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::encode::Odd;
use crate::schema::{Node, Schema};

type Value<'py> = Result<Bound<'py, PyAny>, Odd>;

pub struct Decoder<'a> {
    pub schema: &'a Schema,
    pub bytes: &'a [u8],
    pub at: usize,
}

impl<'a> Decoder<'a> {
    pub fn record<'py>(&mut self, py: Python<'py>, number: usize) -> Value<'py> {
        let schema = self.schema;
        let value = PyDict::new(py);
        for field in &schema.records[number] {
            let member = self.value(py, &field.node)?;
            value.set_item(field.name.bind(py), member).map_err(|_| Odd)?;
        }
        Ok(value.into_any())
    }

    fn value<'py>(&mut self, py: Python<'py>, node: &Node) -> Value<'py> {
        match node {
            Node::Long => Ok(PyInt::new(py, self.varint()?).into_any()),
            Node::Int => {
                let number = i32::try_from(self.varint()?).map_err(|_| Odd)?;
                Ok(PyInt::new(py, number).into_any())
            }
            Node::Str => self.text(py),
            Node::Double => {
                let bytes = self.take(8)?;
                let number = f64::from_le_bytes(bytes.try_into().map_err(|_| Odd)?);
                Ok(PyFloat::new(py, number).into_any())
            }
            Node::Bool => match self.byte()? {
                flag @ (0 | 1) => Ok(PyBool::new(py, flag == 1).to_owned().into_any()),
                _ => Err(Odd),
            },
            Node::Enum(number) => {
                let index = self.index()?;
                let symbol = self.schema.enums[*number].symbols.get(index).ok_or(Odd)?;
                Ok(symbol.bind(py).clone().into_any())
            }
            Node::Record(number) => self.record(py, *number),
            Node::Array(items) => self.array(py, items),
            Node::Map(values) => self.map(py, values),
            Node::Optional(null, some, other) => match self.index()? as u8 {
                index if index == *null => Ok(py.None().into_bound(py)),
                index if index == *some => self.value(py, other),
                _ => Err(Odd),
            },
            Node::Plain(branches) => match self.index()? {
                0 => Ok(py.None().into_bound(py)),
                index => self.value(py, branches.get(index - 1).ok_or(Odd)?),
            },
            Node::Records(text, branches) => {
                let index = self.index()?;
                if *text && index == 0 {
                    return self.text(py);
                }
                let (name, number) = branches.get(index - usize::from(*text)).ok_or(Odd)?;
                let record = self.record(py, *number)?;
                let pair = [name.bind(py).clone().into_any(), record];
                Ok(PyTuple::new(py, pair).map_err(|_| Odd)?.into_any())
            }
        }
    }

    fn byte(&mut self) -> Result<u8, Odd> {
        let byte = *self.bytes.get(self.at).ok_or(Odd)?;
        self.at += 1;
        Ok(byte)
    }

    /// Read a branch's or symbol's index, which is one byte.
    fn index(&mut self) -> Result<usize, Odd> {
        let byte = self.byte()?;
        if byte & 129 != 0 {
            return Err(Odd);
        }
        Ok(usize::from(byte >> 1))
    }

    fn varint(&mut self) -> Result<i64, Odd> {
        let mut result = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            if shift == 63 && byte > 1 {
                return Err(Odd);
            }
            result |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Ok((result >> 1) as i64 ^ -((result & 1) as i64));
            }
        }
        Err(Odd)
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Odd> {
        let end = self.at.checked_add(count).ok_or(Odd)?;
        let bytes = self.bytes.get(self.at..end).ok_or(Odd)?;
        self.at = end;
        Ok(bytes)
    }

    fn text<'py>(&mut self, py: Python<'py>) -> Value<'py> {
        let length = usize::try_from(self.varint()?).map_err(|_| Odd)?;
        let text = std::str::from_utf8(self.take(length)?).map_err(|_| Odd)?;
        Ok(PyString::new(py, text).into_any())
    }

    /// Read the header of a block; one with its size in bytes, which headrace never writes, is odd.
    fn count(&mut self) -> Result<usize, Odd> {
        usize::try_from(self.varint()?).map_err(|_| Odd)
    }

    fn array<'py>(&mut self, py: Python<'py>, items: &Node) -> Value<'py> {
        let list = PyList::empty(py);
        loop {
            let count = self.count()?;
            if count == 0 {
                return Ok(list.into_any());
            }
            for _ in 0..count {
                list.append(self.value(py, items)?).map_err(|_| Odd)?;
            }
        }
    }

    fn map<'py>(&mut self, py: Python<'py>, values: &Node) -> Value<'py> {
        let map = PyDict::new(py);
        loop {
            let count = self.count()?;
            if count == 0 {
                return Ok(map.into_any());
            }
            for _ in 0..count {
                let key = self.text(py)?;
                let value = self.value(py, values)?;
                map.set_item(key, value).map_err(|_| Odd)?;
            }
        }
    }
}
