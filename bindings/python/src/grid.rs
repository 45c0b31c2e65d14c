//! The part of a grid as Python sees it. The Python half (`ligament/_grid.py`) keeps the arrays of the fields.

use crate::array::{kind, parse_dtype, ArrayKind, ArrayLayout};
use crate::errors::usage;
use crate::instance::Instance;
use ligament_catalogue::{fault, Fault};
use ligament_grid::{Domain as Core, Field, FieldData, FieldId};
use ligament_instance::{ArrayOrder, Call, Error, ErrorKind, Instance as CoreInstance};
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};

/// The compiled half of `ligament.Domain`.
#[pyclass(module = "ligament._ligament", name = "_Domain", subclass, frozen)]
pub struct Domain {
    instance: Py<Instance>,
    /// It is locked in the turn of the instance only, and without the interpreter.
    core: Mutex<Core>,
    shape: Vec<u64>,
    blocks: Vec<usize>,
    block: usize,
    range: Vec<(u64, u64)>,
}

/// A reduction of the numbers of all blocks to one.
type Reduction = fn(&mut Core, &mut CoreInstance, &[f64]) -> Result<f64, Error>;

/// The fields of an exchange: the number and the array of each.
type Fields<'py> = Vec<(usize, Bound<'py, PyAny>)>;

impl Domain {
    /// Calls the core without the interpreter, so that other threads go on meanwhile.
    fn detached<T: Send>(
        &self,
        py: Python<'_>,
        name: &'static Call,
        call: impl FnOnce(&mut Core, &mut CoreInstance) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        // The turn of the instance is taken first, so nobody waits for the lock of the domain.
        self.instance.get().detached(py, name, |instance| {
            call(&mut self.core.lock().unwrap_or_else(PoisonError::into_inner), instance)
        })
    }

    /// Calls the core with the arrays of fields.
    fn with_arrays(
        &self,
        py: Python<'_>,
        name: &'static Call,
        fields: Fields<'_>,
        call: impl FnOnce(&mut Core, &mut CoreInstance, &mut [FieldData<'_>]) -> Result<(), Error> + Send,
    ) -> PyResult<()> {
        let mut layouts = Vec::with_capacity(fields.len());
        for (field, array) in &fields {
            layouts.push((FieldId(*field), layout(array)));
        }
        self.detached(py, name, move |core, instance| {
            let mut data = Vec::with_capacity(layouts.len());
            for (field, layout) in &mut layouts {
                let Some(layout) = layout else {
                    let name = core.fields().get(field.0).map(Field::name).unwrap_or_default();
                    return Err(Error::other(ErrorKind::Usage, unfit(name)));
                };
                core.check_array(*field, layout.dtype, layout.order, layout.shape())?;
                data.push(FieldData { field: *field, bytes: layout.data_mut() });
            }
            call(core, instance, &mut data)
        })
    }
}

/// Returns the layout of an array. Returns `None` if the array cannot be a field's.
fn layout(array: &Bound<'_, PyAny>) -> Option<ArrayLayout> {
    if kind(array) == ArrayKind::Other {
        return None;
    }
    ArrayLayout::of(array).ok().filter(|layout| layout.writable && layout.is_contiguous())
}

/// Returns the error for an array that cannot be that of the field.
fn unfit(field: &str) -> Fault {
    fault!(
        BAD_FIELD,
        "the array of the field \"{field}\" must be a writable NumPy array, contiguous in C or Fortran order, \
         in this machine's byte order"
    )
}

#[pymethods]
impl Domain {
    #[new]
    fn new(py: Python<'_>, instance: Py<Instance>) -> PyResult<Domain> {
        let core = instance.get().detached(py, &Call("Domain"), |instance| Core::new(instance))?;
        let (shape, blocks) = (core.shape().to_vec(), core.blocks().to_vec());
        let (block, range) = (core.block(), core.range().to_vec());
        Ok(Domain { instance, core: Mutex::new(core), shape, blocks, block, range })
    }

    /// The number of points of the whole grid along each axis.
    #[getter]
    fn shape(&self) -> Vec<u64> {
        self.shape.clone()
    }

    /// The number of blocks along each axis.
    #[getter]
    fn blocks(&self) -> Vec<usize> {
        self.blocks.clone()
    }

    /// The number of this block, from 0; the last axis runs fastest.
    #[getter]
    fn block(&self) -> usize {
        self.block
    }

    fn _range(&self) -> Vec<(u64, u64)> {
        self.range.clone()
    }

    fn _add_field(
        &self,
        py: Python<'_>,
        name: String,
        ghosts: usize,
        dtype: Bound<'_, PyAny>,
        unit: String,
        row_major: bool,
    ) -> PyResult<(usize, Vec<usize>)> {
        let order = if row_major { ArrayOrder::RowMajor } else { ArrayOrder::ColumnMajor };
        let dtype = parse_dtype(&dtype)?;
        let field = Field::new(name).with_ghosts(ghosts).with_unit(unit).with_dtype(dtype).with_order(order);
        self.detached(py, &Call("field"), |core, _| {
            let added = core.add_field(field)?;
            Ok((added.0, core.array_shape(added)))
        })
    }

    fn _set_direction(&self, py: Python<'_>, field: usize, direction: Vec<i32>) -> PyResult<()> {
        self.detached(py, &Call("set_direction"), move |core, _| core.set_direction(FieldId(field), &direction))
    }

    fn _check_field(&self, name: &str, array: Bound<'_, PyAny>) -> PyResult<()> {
        layout(&array).map(|_| ()).ok_or_else(|| usage(array.py(), unfit(name)))
    }

    fn _exchange(&self, py: Python<'_>, time: f64, fields: Fields<'_>) -> PyResult<()> {
        self.with_arrays(py, &Call("exchange"), fields, |core, instance, data| {
            core.exchange(instance, time, data)
        })
    }

    fn _begin(&self, py: Python<'_>, time: f64, fields: Fields<'_>) -> PyResult<()> {
        self.with_arrays(py, &Call("begin"), fields, |core, instance, data| core.begin(instance, time, data))
    }

    fn _end(&self, py: Python<'_>, fields: Fields<'_>) -> PyResult<()> {
        self.with_arrays(py, &Call("end"), fields, |core, instance, data| core.end(instance, data))
    }

    fn _publish(&self, py: Python<'_>, field: usize, array: Bound<'_, PyAny>) -> PyResult<()> {
        self.with_arrays(py, &Call("publish"), vec![(field, array)], |core, instance, data| {
            data.iter().try_for_each(|data| core.publish(instance, data.field, data.bytes))
        })
    }

    /// Sum, minimum or maximum of the numbers of all blocks.
    fn _reduce(&self, py: Python<'_>, how: &str, numbers: Bound<'_, PyAny>) -> PyResult<f64> {
        let layout = layout_of_numbers(&numbers)?;
        let (call, reduction): (&'static Call, Reduction) = match how {
            "sum" => (&Call("sum"), Core::sum),
            "min" => (&Call("min"), Core::min),
            _ => (&Call("max"), Core::max),
        };
        self.detached(py, call, move |core, instance| {
            let numbers: Vec<f64> = layout
                .data()
                .chunks_exact(size_of::<f64>())
                .map(|bytes| bytes.try_into().map_or(f64::NAN, f64::from_ne_bytes))
                .collect();
            reduction(core, instance, &numbers)
        })
    }
}

/// Returns the layout of an array of doubles, which the Python half has made contiguous.
pub(crate) fn layout_of_numbers(numbers: &Bound<'_, PyAny>) -> PyResult<ArrayLayout> {
    let layout = match kind(numbers) {
        ArrayKind::Other => None,
        _ => ArrayLayout::of(numbers).ok().filter(ArrayLayout::is_contiguous),
    };
    layout.ok_or_else(|| usage(numbers.py(), fault!(BAD_ARGUMENT, "give numbers, or an array of numbers")))
}
