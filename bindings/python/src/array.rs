//! NumPy arrays: reading the layout of one, and making one over memory that another object owns.

use ligament_catalogue::{fault, said};
use ligament_wire::Bytes;
use ligament_wire::{ArrayOrder, DType, MAX_DIMS};
use numpy::npyffi::array::{PyArray_Check, PyArray_CheckExact};
use numpy::npyffi::flags;
use numpy::npyffi::objects::{_PyArray_GET_ITEM_DATA, _PyDataType_GET_ITEM_DATA, PyArrayObject};
use numpy::npyffi::{get_type_object, NpyTypes, PY_ARRAY_API};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMemoryView};
use std::ffi::{c_int, c_void};

/// An array with names for its axes and a unit.
///
/// Args:
///     array: A NumPy array, or what can be made one.
///     names: A name for each axis, or None.
///     unit: The unit of the elements, or None.
#[pyclass(module = "ligament", frozen)]
pub struct Array {
    /// The NumPy array.
    #[pyo3(get)]
    pub array: Py<PyAny>,
    pub names: Vec<String>,
    /// The unit of the elements, or None.
    #[pyo3(get)]
    pub unit: Option<String>,
}

#[pymethods]
impl Array {
    #[new]
    #[pyo3(signature = (array, names=None, unit=None))]
    fn new(array: Bound<'_, PyAny>, names: Option<Vec<String>>, unit: Option<String>) -> PyResult<Array> {
        let py = array.py();
        if let Some((what, instead)) = what_is_lost(&array)? {
            let fault = fault!(CANNOT_BE_SENT, "{what} cannot be the elements of an Array: give {instead}");
            return Err(crate::errors::raise(py, "UnsendableError", fault));
        }
        let over = if kind(&array) == ArrayKind::Other { over_others(&array)? } else { None };
        let array = match over {
            Some(over) => over,
            None => PyModule::import(py, "numpy")?.call_method1("asarray", (array,))?,
        };
        let names = names.unwrap_or_default();
        let ndim: usize = array.getattr("ndim")?.extract()?;
        if !names.is_empty() && names.len() != ndim {
            return Err(PyValueError::new_err(said!(
                UNFIT_ARRAY,
                "{} axis names for an array of {ndim} dimensions; give one for each, or none",
                names.len()
            )));
        }
        Ok(Array { array: array.unbind(), names, unit })
    }

    /// A name for each axis, or None.
    #[getter]
    fn names(&self) -> Option<Vec<String>> {
        (!self.names.is_empty()).then(|| self.names.clone())
    }

    /// The extent of each dimension.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.array.bind(py).getattr("shape")
    }

    /// The type of the elements.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.array.bind(py).getattr("dtype")
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let array = self.array.bind(py);
        if copy == Some(true) {
            return match dtype {
                Some(dtype) => array.call_method1("astype", (dtype,)),
                None => array.call_method0("copy"),
            };
        }
        match dtype {
            None => Ok(array.clone()),
            Some(dtype) => {
                let how = PyDict::new(py);
                how.set_item("copy", false)?;
                array.call_method("astype", (dtype,), Some(&how))
            }
        }
    }

    /// Returns the elements for other libraries, in place.
    #[pyo3(signature = (**how))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        how: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.array.bind(py).call_method("__dlpack__", (), how)
    }

    fn __dlpack_device__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.array.bind(py).call_method0("__dlpack_device__")
    }

    /// Does the same by the buffer protocol.
    ///
    /// # Safety
    /// The interpreter calls this, with a view to be filled in.
    unsafe fn __getbuffer__(
        slf: PyRef<'_, Self>,
        view: *mut pyo3::ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        // SAFETY: as the caller promises; the view belongs to the NumPy array, which releases it.
        match unsafe { pyo3::ffi::PyObject_GetBuffer(slf.array.as_ptr(), view, flags) } {
            0 => Ok(()),
            _ => Err(PyErr::fetch(slf.py())),
        }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let mut text = format!("Array({}", self.array.bind(py).repr()?);
        if !self.names.is_empty() {
            text += &format!(", names={:?}", self.names);
        }
        if let Some(unit) = &self.unit {
            text += &format!(", unit={unit:?}");
        }
        Ok(text + ")")
    }
}

/// The kind of an object, as NumPy sees it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ArrayKind {
    /// `numpy.ndarray` itself.
    Plain,
    /// A class derived from it.
    Derived,
    /// Something else.
    Other,
}

/// Looks at the object's class, and at nothing else.
pub fn kind(object: &Bound<'_, PyAny>) -> ArrayKind {
    let py = object.py();
    // SAFETY: both functions only compare the object's type with NumPy's, while this thread is attached to the
    // interpreter.
    unsafe {
        if PyArray_CheckExact(py, object.as_ptr()) != 0 {
            ArrayKind::Plain
        } else if PyArray_Check(py, object.as_ptr()) != 0 {
            ArrayKind::Derived
        } else {
            ArrayKind::Other
        }
    }
}

/// Returns a NumPy array over the memory of another object, by the buffer protocol or DLPack; `None` if the
/// object has neither.
pub fn over_others<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = object.py();
    let numpy = PyModule::import(py, intern!(py, "numpy"))?;
    if let Ok(view) = PyMemoryView::from(object) {
        return numpy.call_method1(intern!(py, "asarray"), (view,)).map(Some);
    }
    if object.hasattr(intern!(py, "__dlpack__"))? {
        return numpy.call_method1(intern!(py, "from_dlpack"), (object,)).map(Some);
    }
    Ok(None)
}

/// Returns the properties of an object that it would lose as an array, and the value to send in its place.
pub fn what_is_lost(object: &Bound<'_, PyAny>) -> PyResult<Option<(String, &'static str)>> {
    if kind(object) == ArrayKind::Derived && object.hasattr(intern!(object.py(), "mask"))? {
        let instead = "{\"data\": data.data, \"mask\": data.mask}, or data.filled(value)";
        return Ok(Some(("a masked array (its mask would be lost)".to_owned(), instead)));
    }
    for class in object.get_type().mro() {
        if class.getattr(intern!(object.py(), "__name__"))?.eq("DataFrame")? {
            let instead = "its columns, {name: column.to_numpy() for name, column in data.items()}";
            let name = object.get_type().name()?;
            return Ok(Some((format!("a {name} (the names of its columns would be lost)"), instead)));
        }
    }
    Ok(None)
}

/// The layout of an array's elements, copied out of the array object, which is kept as well.
pub struct ArrayLayout {
    _owner: Py<PyAny>,
    pub dtype: DType,
    ndim: usize,
    shape: [u64; MAX_DIMS],
    strides: [i64; MAX_DIMS],
    /// The bytes from the lowest to the highest addressed element.
    start: *mut u8,
    len: usize,
    /// Offset of element 0 from the lowest byte.
    pub offset: usize,
    pub order: ArrayOrder,
    contiguous: bool,
    pub writable: bool,
}

// SAFETY: the bytes belong to the array, which `_owner` keeps. The user must not write to them from other
// threads meanwhile, as everywhere in NumPy.
unsafe impl Send for ArrayLayout {}
// SAFETY: as above; a shared reference only reads the bytes.
unsafe impl Sync for ArrayLayout {}

/// The reason why an array cannot be read in place.
pub enum UnreadableArray {
    /// Its elements are in the other byte order.
    Swapped,
    /// Its elements are of a type that messages do not know, or there are too many dimensions.
    Unfit(String),
}

impl ArrayLayout {
    /// Reads the array object. The caller must know that it is one.
    pub fn of(object: &Bound<'_, PyAny>) -> Result<ArrayLayout, UnreadableArray> {
        // SAFETY: the object is an array, and this thread is attached to the interpreter, so its fields can be
        // read.
        unsafe {
            let array = &*_PyArray_GET_ITEM_DATA(object.as_ptr().cast::<PyArrayObject>());
            let descr = &*_PyDataType_GET_ITEM_DATA(array.descr);
            let Some(dtype) = dtype_of(descr.type_num) else {
                return Err(UnreadableArray::Unfit(
                    match object.getattr("dtype").and_then(|d| Ok(d.str()?.to_string())) {
                        Ok(name) => format!("an array of dtype {name}"),
                        Err(_) => "an array of an unknown dtype".into(),
                    },
                ));
            };
            if descr.byteorder as u8 == b'>' {
                return Err(UnreadableArray::Swapped);
            }
            let ndim = array.nd as usize;
            if ndim > MAX_DIMS {
                return Err(UnreadableArray::Unfit(said!(
                    UNFIT_ARRAY,
                    "an array of {ndim} dimensions, where at most {MAX_DIMS} are possible,"
                )));
            }
            let (mut shape, mut strides) = ([0; MAX_DIMS], [0; MAX_DIMS]);
            let (mut low, mut high, mut empty) = (0isize, dtype.size() as isize, false);
            for axis in 0..ndim {
                let (extent, stride) = (*array.dimensions.add(axis), *array.strides.add(axis));
                shape[axis] = extent as u64;
                strides[axis] = stride as i64;
                empty |= extent == 0;
                let reach = (extent - 1).max(0).saturating_mul(stride);
                low += reach.min(0);
                high += reach.max(0);
            }
            if empty {
                (low, high) = (0, 0);
            }
            let c_order = array.flags & flags::NPY_ARRAY_C_CONTIGUOUS != 0;
            let f_order = array.flags & flags::NPY_ARRAY_F_CONTIGUOUS != 0;
            Ok(ArrayLayout {
                _owner: object.clone().unbind(),
                dtype,
                ndim,
                shape,
                strides,
                start: array.data.cast::<u8>().offset(low),
                len: (high - low) as usize,
                offset: -low as usize,
                order: if f_order && !c_order { ArrayOrder::ColumnMajor } else { ArrayOrder::RowMajor },
                contiguous: c_order || f_order || empty,
                writable: array.flags & flags::NPY_ARRAY_WRITEABLE != 0,
            })
        }
    }

    /// The extents.
    pub fn shape(&self) -> &[u64] {
        &self.shape[..self.ndim]
    }

    /// Byte strides, unless the elements lie next to each other in `order`.
    pub fn strides(&self) -> Option<&[i64]> {
        (!self.contiguous).then(|| &self.strides[..self.ndim])
    }

    /// Returns true if the elements lie next to each other in C or Fortran order.
    pub fn is_contiguous(&self) -> bool {
        self.contiguous
    }

    /// Returns the number of bytes from the lowest to the highest addressed element.
    pub fn data(&self) -> &[u8] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: NumPy guarantees the memory that its shape and strides reach; `_owner` keeps it alive.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }

    /// Returns the bytes, to be written. The caller must have checked `writable` and `is_contiguous`.
    pub fn data_mut(&mut self) -> &mut [u8] {
        assert!(self.writable && self.contiguous);
        if self.len == 0 {
            return &mut [];
        }
        // SAFETY: as for `data`; the array is writable.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.len) }
    }
}

fn dtype_of(type_num: c_int) -> Option<DType> {
    // NumPy's numbers (`NPY_TYPES`). C's `long` and `long long` both have 64 bits, as on every Linux here.
    Some(match type_num {
        0 => DType::Bool,
        1 => DType::Int8,
        2 => DType::UInt8,
        3 => DType::Int16,
        4 => DType::UInt16,
        5 => DType::Int32,
        6 => DType::UInt32,
        7 | 9 => DType::Int64,
        8 | 10 => DType::UInt64,
        11 => DType::Float32,
        12 => DType::Float64,
        14 => DType::Complex64,
        15 => DType::Complex128,
        _ => return None,
    })
}

fn number_of(dtype: DType) -> c_int {
    match dtype {
        DType::Bool => 0,
        DType::Int8 => 1,
        DType::UInt8 => 2,
        DType::Int16 => 3,
        DType::UInt16 => 4,
        DType::Int32 => 5,
        DType::UInt32 => 6,
        DType::Int64 => 7,
        DType::UInt64 => 8,
        DType::Float32 => 11,
        DType::Float64 => 12,
        DType::Complex64 => 14,
        DType::Complex128 => 15,
    }
}

/// Returns the element type for a dtype that the user gives (any object that NumPy takes for one).
pub fn parse_dtype(dtype: &Bound<'_, PyAny>) -> PyResult<DType> {
    let numpy = PyModule::import(dtype.py(), "numpy")?;
    let dtype = numpy.call_method1("dtype", (dtype,))?;
    let name: String = dtype.getattr("name")?.extract()?;
    let native: bool = dtype.getattr("isnative")?.extract()?;
    DType::ALL.into_iter().find(|known| native && known.name() == name).ok_or_else(|| {
        let known: Vec<&str> = DType::ALL.iter().map(|dtype| dtype.name()).collect();
        crate::errors::usage(
            dtype.py(),
            fault!(
                CANNOT_BE_SENT,
                "elements cannot be of dtype {dtype}; they can be {}, in this machine's byte order",
                known.join(", ")
            ),
        )
    })
}

/// Keeps the shared memory of received arrays.
#[pyclass(module = "ligament", frozen, name = "_Block")]
struct LoanBlock {
    _bytes: Bytes,
}

/// Makes a read-only array over received bytes, which it keeps. Strides are in bytes, one for each extent.
pub fn view<'py>(
    py: Python<'py>,
    dtype: DType,
    shape: &[u64],
    strides: &[i64],
    bytes: &Bytes,
) -> PyResult<Bound<'py, PyAny>> {
    let start = bytes.as_ptr().cast_mut();
    let block = Bound::new(py, LoanBlock { _bytes: bytes.clone() })?;
    // SAFETY: the message's shape and strides have been checked against `bytes`, and the block keeps these in
    // place.
    unsafe { over(py, dtype, shape, strides, start, false, block.into_any()) }
}

/// Makes an array over memory that `base` keeps.
///
/// # Safety
/// The memory holds the elements that shape and strides reach from `start`, is aligned for them, and stays as
/// long as `base` does.
pub unsafe fn over<'py>(
    py: Python<'py>,
    dtype: DType,
    shape: &[u64],
    strides: &[i64],
    start: *mut u8,
    writable: bool,
    base: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut dims: [isize; MAX_DIMS] = [0; MAX_DIMS];
    let mut steps: [isize; MAX_DIMS] = [0; MAX_DIMS];
    for (axis, (&extent, &stride)) in shape.iter().zip(strides).enumerate() {
        dims[axis] = extent as isize;
        steps[axis] = stride as isize;
    }
    let flags = if writable { flags::NPY_ARRAY_WRITEABLE } else { 0 };
    // SAFETY: NewFromDescr takes over the reference to the descriptor, and SetBaseObject the one to the base.
    // Dimensions and strides are copied. The caller guarantees the memory.
    unsafe {
        let descr = PY_ARRAY_API.PyArray_DescrFromType(py, number_of(dtype));
        let array = PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            get_type_object(py, NpyTypes::PyArray_Type),
            descr,
            shape.len() as c_int,
            dims.as_mut_ptr(),
            steps.as_mut_ptr(),
            start.cast::<c_void>(),
            flags,
            std::ptr::null_mut(),
        );
        let array = Bound::from_owned_ptr_or_err(py, array)?;
        if PY_ARRAY_API.PyArray_SetBaseObject(py, array.as_ptr().cast(), base.into_ptr()) < 0 {
            return Err(PyErr::fetch(py));
        }
        Ok(array)
    }
}

/// Makes the array read-only.
pub fn make_read_only(array: &Bound<'_, PyAny>) {
    // SAFETY: the object is an array that `over` made. Clearing the flag is what `flags.writeable = False`
    // does.
    unsafe {
        let fields = _PyArray_GET_ITEM_DATA(array.as_ptr().cast::<PyArrayObject>());
        (*fields).flags &= !flags::NPY_ARRAY_WRITEABLE;
    }
}
