//! The Avro codec of headrace and checks of shapes, compiled.
//!
//! `Codec` walks a record's schema in place of the functions that `schemas/encoder.py` and
//! `schemas/decoder.py` make.  These stay the reference: what is not plainly right (a missing
//! member, a value of another type, bytes that are no encoding) is handed to them, so every error,
//! its message, and every unusual value that they accept are theirs.  `Shape` tells which values
//! plainly fit a model of pydantic; of all others the model itself finds what is wrong.
//! `record_macs` computes the MACs of the records that a task writes.

mod decode;
mod encode;
mod formats;
mod mac;
mod schema;
mod shape;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use decode::Decoder;
use encode::Encoder;
use schema::Schema;

/// Encoding and decoding of one record.
#[pyclass(frozen)]
struct Codec {
    schema: Schema,
    body: Py<PyAny>,
    encode: Py<PyAny>,
    decode: Py<PyAny>,
}

#[pymethods]
impl Codec {
    /// Make a codec of a self-contained record schema.
    ///
    /// body: the class of bytes that stand for a record.  encode, decode: the reference, with the
    /// signatures of the methods.  Raises ValueError for a schema that is not supported.
    #[new]
    fn new(
        py: Python<'_>,
        schema: &str,
        body: Py<PyAny>,
        encode: Py<PyAny>,
        decode: Py<PyAny>,
    ) -> PyResult<Codec> {
        let schema = Schema::parse(py, schema)?;
        Ok(Codec { schema, body, encode, decode })
    }

    /// Return the prefix followed by the encoding of a value.
    fn encode<'py>(
        &self,
        prefix: &Bound<'py, PyBytes>,
        value: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = value.py();
        let mut out = Vec::with_capacity(1024);
        out.extend_from_slice(prefix.as_bytes());
        let mut encoder = Encoder { schema: &self.schema, body: self.body.bind(py), out };
        match encoder.record(self.schema.root(), value) {
            Ok(()) => Ok(PyBytes::new(py, &encoder.out).into_any()),
            Err(_) => {
                drop(PyErr::take(py));
                self.encode.bind(py).call1((prefix, value))
            }
        }
    }

    /// Return the value at a position of the bytes, and the position after it.
    fn decode<'py>(&self, bytes: &Bound<'py, PyBytes>, at: usize) -> PyResult<Bound<'py, PyAny>> {
        let py = bytes.py();
        let mut decoder = Decoder { schema: &self.schema, bytes: bytes.as_bytes(), at };
        match decoder.record(py, self.schema.root()) {
            Ok(value) => {
                Ok(PyTuple::new(py, [value, decoder.at.into_pyobject(py)?.into_any()])?.into_any())
            }
            Err(_) => {
                drop(PyErr::take(py));
                self.decode.bind(py).call1((bytes, at))
            }
        }
    }
}

/// The rules of one model.
#[pyclass(frozen)]
struct Shape(shape::Shape);

#[pymethods]
impl Shape {
    /// Make a shape of the JSON text of a rule of `schemas/shapes.py`.
    ///
    /// Raises ValueError for a rule that is not supported.
    #[new]
    fn new(rule: &str) -> PyResult<Shape> {
        let rule = serde_json::from_str(rule)
            .map_err(|error| PyValueError::new_err(format!("the rule is not JSON: {error}")))?;
        Ok(Shape(shape::Shape::parse(&rule)?))
    }

    /// Return whether the value plainly fits; if not, it may fit all the same.
    fn fits(&self, value: &Bound<'_, PyAny>) -> bool {
        self.0.fits(value)
    }
}

/// Return whether orjson spells the numbers of a value as RFC 8785 does.
#[pyfunction]
fn has_rfc8785_numbers(value: &Bound<'_, PyAny>) -> bool {
    shape::has_rfc8785_numbers(value, 0)
}

#[pymodule]
fn headrace_native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(has_rfc8785_numbers, module)?)?;
    module.add_function(wrap_pyfunction!(mac::record_macs, module)?)?;
    module.add_class::<Shape>()?;
    module.add_class::<Codec>()
}
