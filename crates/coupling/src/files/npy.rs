//! The format of NumPy's `.npy` files (NEP 1): a header, which is a Python dictionary, and the elements.

use crate::files::{input_path, open, unreadable};
use crate::settings::bad;
use ligament_catalogue::{fault, Fault};
use ligament_instance::{Array, ArrayOrder, DType, Error, Value};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::PathBuf;

const MAGIC: &[u8] = b"\x93NUMPY";
/// Maximum length of a header that is read, in bytes.
const MAX_HEADER_BYTES: usize = 1 << 20;
/// Length of a header that is written. It is filled with spaces, so that it can be overwritten when the
/// number of rows is known.
const HEADER_BYTES: usize = 256;

/// The types of elements, as NumPy writes them in a header.
const TYPES: &[(&str, DType)] = &[
    ("|b1", DType::Bool),
    ("|i1", DType::Int8),
    ("<i2", DType::Int16),
    ("<i4", DType::Int32),
    ("<i8", DType::Int64),
    ("|u1", DType::UInt8),
    ("<u2", DType::UInt16),
    ("<u4", DType::UInt32),
    ("<u8", DType::UInt64),
    ("<f4", DType::Float32),
    ("<f8", DType::Float64),
    ("<c8", DType::Complex64),
    ("<c16", DType::Complex128),
];

/// A `.npy` file that is read.
pub(crate) struct NpyReader {
    pub path: PathBuf,
    pub dtype: DType,
    pub shape: Vec<u64>,
    pub order: ArrayOrder,
    file: BufReader<File>,
}

impl NpyReader {
    /// Opens a file and reads its header. The file must have as many bytes as the header says.
    pub fn open(name: &str) -> Result<NpyReader, Error> {
        let path = input_path(name);
        let mut file = BufReader::with_capacity(1 << 16, open(&path)?);
        let long = file.get_ref().metadata().map_err(|error| unreadable(&path, &error))?;
        let malformed = |why: &str| {
            bad(fault!(MALFORMED_SOURCE, "{} is no .npy file that can be read: {why}", path.display()))
        };
        let mut start = [0; 8];
        let mut read =
            |into: &mut [u8]| file.read_exact(into).map_err(|_| malformed("it ends within its header"));
        read(&mut start)?;
        if &start[..6] != MAGIC {
            return Err(malformed("it does not begin with \\x93NUMPY"));
        }
        let (length, before) = match start[6] {
            1 => {
                let mut bytes = [0; 2];
                read(&mut bytes)?;
                (usize::from(u16::from_le_bytes(bytes)), 10)
            }
            _ => {
                let mut bytes = [0; 4];
                read(&mut bytes)?;
                (u32::from_le_bytes(bytes) as usize, 12)
            }
        };
        if length > MAX_HEADER_BYTES {
            return Err(malformed("its header is too long"));
        }
        let mut header = vec![0; length];
        read(&mut header)?;
        let header = String::from_utf8_lossy(&header).into_owned();
        let (dtype, order, shape) = parsed(&header).map_err(|why| malformed(&why))?;
        let elements = shape.iter().try_fold(dtype.size() as u64, |bytes, &extent| bytes.checked_mul(extent));
        let Some(bytes) = elements else { return Err(malformed("its shape is too large")) };
        let there = long.len().saturating_sub((before + length) as u64);
        if there < bytes {
            return Err(bad(fault!(
                SOURCE_ENDS_EARLY,
                "{} ends early: its header says shape {shape:?} of {}, which takes {bytes} bytes, and it has \
                 {there}",
                path.display(),
                dtype.name()
            )));
        }
        Ok(NpyReader { path, dtype, shape, order, file })
    }

    /// Returns the number of elements of each part along the first axis.
    fn of_row(&self) -> u64 {
        self.shape.iter().skip(1).product()
    }

    /// Reads the next part along the first axis.
    pub fn row(&mut self) -> Result<Value, Error> {
        let bytes = self.bytes(self.of_row())?;
        let shape = self.shape[1..].to_vec();
        self.value(&shape, bytes)
    }

    /// Reads the whole array.
    pub fn whole(&mut self) -> Result<Value, Error> {
        let bytes = self.bytes(self.shape.iter().product())?;
        let shape = self.shape.clone();
        self.value(&shape, bytes)
    }

    fn bytes(&mut self, elements: u64) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0; elements as usize * self.dtype.size()];
        match self.file.read_exact(&mut bytes) {
            Ok(()) => Ok(bytes),
            Err(error) => Err(unreadable(&self.path, &error)),
        }
    }

    /// Makes the value of some elements. A single number is a number, and not an array.
    fn value(&self, shape: &[u64], bytes: Vec<u8>) -> Result<Value, Error> {
        if let ([], DType::Float64, Ok(bytes)) = (shape, self.dtype, <[u8; 8]>::try_from(&bytes[..])) {
            return Ok(Value::Float(f64::from_le_bytes(bytes)));
        }
        if let ([], DType::Int64, Ok(bytes)) = (shape, self.dtype, <[u8; 8]>::try_from(&bytes[..])) {
            return Ok(Value::Int(i64::from_le_bytes(bytes)));
        }
        let array = Array::new(self.dtype, shape, self.order, bytes.into(), None);
        let cannot = |why| bad(fault!(MALFORMED_SOURCE, "{} cannot be a message: {why}", self.path.display()));
        array.map(Value::Array).map_err(cannot)
    }
}

/// Reads a header: a Python dictionary with three keys in the form in which NumPy writes them.
fn parsed(header: &str) -> Result<(DType, ArrayOrder, Vec<u64>), Fault> {
    let after = |key: &str| {
        let found = header.split_once(&format!("'{key}':"));
        found
            .map(|(_, rest)| rest.trim_start())
            .ok_or_else(|| fault!(MALFORMED_SOURCE, "its header has no {key}"))
    };
    let descr = after("descr")?;
    let kind = descr.strip_prefix('\'').and_then(|rest| rest.split_once('\''));
    let Some((kind, _)) = kind else {
        return Err(fault!(
            MALFORMED_SOURCE,
            "its elements have several fields, and only plain numbers can be read"
        ));
    };
    let known = TYPES.iter().find(|(name, _)| *name == kind).map(|(_, dtype)| *dtype);
    let dtype = known.ok_or_else(|| {
        fault!(
            MALFORMED_SOURCE,
            "its elements are of type '{kind}', and only numbers and truth values in \
                                  little-endian order can be read"
        )
    })?;
    let order = match after("fortran_order")? {
        rest if rest.starts_with("True") => ArrayOrder::ColumnMajor,
        rest if rest.starts_with("False") => ArrayOrder::RowMajor,
        _ => return Err(fault!(MALFORMED_SOURCE, "its fortran_order is neither True nor False")),
    };
    let shape = after("shape")?.strip_prefix('(').and_then(|rest| rest.split_once(')'));
    let Some((shape, _)) = shape else { return Err(fault!(MALFORMED_SOURCE, "its shape is no tuple")) };
    let extents = shape.split(',').map(str::trim).filter(|extent| !extent.is_empty());
    let shape: Result<Vec<u64>, _> = extents.map(str::parse).collect();
    Ok((
        dtype,
        order,
        shape.map_err(|_| fault!(MALFORMED_SOURCE, "its shape has something else than whole numbers"))?,
    ))
}

/// Returns the header of a file. Its length is always the same.
pub(crate) fn header(dtype: DType, shape: &[u64], order: ArrayOrder) -> Vec<u8> {
    let kind = TYPES.iter().find(|(_, known)| *known == dtype).map_or("|u1", |(name, _)| name);
    let fortran = if order == ArrayOrder::ColumnMajor { "True" } else { "False" };
    let extents: String = shape.iter().map(|extent| format!("{extent}, ")).collect();
    let text =
        format!("{{'descr': '{kind}', 'fortran_order': {fortran}, 'shape': ({}), }}", extents.trim_end());
    let mut bytes = MAGIC.to_vec();
    bytes.extend([1, 0]);
    bytes.extend(((HEADER_BYTES - 10) as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes.resize(HEADER_BYTES - 1, b' ');
    bytes.push(b'\n');
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written() {
        for (shape, order) in [
            (vec![], ArrayOrder::RowMajor),
            (vec![3], ArrayOrder::RowMajor),
            (vec![2, 5, 1], ArrayOrder::ColumnMajor),
        ] {
            let bytes = header(DType::Float32, &shape, order);
            assert_eq!(bytes.len() % 64, 0);
            let text = String::from_utf8(bytes[10..].to_vec()).unwrap();
            assert_eq!(parsed(&text), Ok((DType::Float32, order, shape)));
        }
    }

    #[test]
    fn what_is_no_header_is_refused() {
        let header = |text: &str| parsed(text).unwrap_err();
        assert!(header("{'descr': '>f8', 'fortran_order': False, 'shape': (3,), }").contains(">f8"));
        assert!(header(
            "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (3,), \
                        }"
        )
        .contains("fields"));
        assert!(header("{'descr': '<f8', 'shape': (3,), }").contains("fortran_order"));
        assert!(header("{'descr': '<f8', 'fortran_order': False, 'shape': (-3,), }").contains("shape"));
    }
}
