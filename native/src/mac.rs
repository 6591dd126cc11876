//! MACs of records; `streams/engine/record_mac.py` says what they are and is the reference.

use hmac::{Hmac, Mac};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::PyBytes;
use sha2::Sha256;

/// Topic, key, value, task and serial of a record.
type Item = (PyBackedStr, Option<PyBackedBytes>, Option<PyBackedBytes>, i64, u64);

const DOMAIN: &[u8] = b"headrace-mac-1";
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// The bytes of the HMAC that are used, and of their text.
const BYTES: usize = 16;
const TEXT: usize = 22;

/// Return the texts of the MACs of records under a key, without the lock of the interpreter.
#[pyfunction]
pub fn record_macs<'py>(
    py: Python<'py>,
    key: &[u8],
    records: Vec<Item>,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let keyed = Hmac::<Sha256>::new_from_slice(key)
        .map_err(|_| PyValueError::new_err("the key has no valid length"))?;
    let texts: Vec<[u8; TEXT]> =
        py.detach(|| records.iter().map(|item| mac_of(keyed.clone(), item)).collect());
    Ok(texts.iter().map(|text| PyBytes::new(py, text)).collect())
}

fn mac_of(mut mac: Hmac<Sha256>, item: &Item) -> [u8; TEXT] {
    let (topic, key, value, task, serial) = item;
    mac.update(DOMAIN);
    part(&mut mac, Some(topic.as_bytes()));
    part(&mut mac, key.as_deref());
    part(&mut mac, value.as_deref());
    part(&mut mac, Some(task.to_string().as_bytes()));
    part(&mut mac, Some(serial.to_string().as_bytes()));
    base64url(&mac.finalize().into_bytes()[..BYTES])
}

fn part(mac: &mut Hmac<Sha256>, bytes: Option<&[u8]>) {
    match bytes {
        None => mac.update(b"-"),
        Some(bytes) => {
            mac.update(format!("+{}:", bytes.len()).as_bytes());
            mac.update(bytes);
        }
    }
}

/// Return the text of sixteen bytes, without padding.
fn base64url(bytes: &[u8]) -> [u8; TEXT] {
    let mut text = [0; TEXT];
    let (mut bits, mut count, mut at) = (0u32, 0, 0);
    for byte in bytes {
        bits = bits << 8 | u32::from(*byte);
        count += 8;
        while count >= 6 {
            count -= 6;
            text[at] = ALPHABET[(bits >> count & 63) as usize];
            at += 1;
        }
    }
    text[at] = ALPHABET[(bits << (6 - count) & 63) as usize];
    text
}
