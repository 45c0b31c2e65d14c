//! Modules of a simulation on a grid, as Python sees them. The Python half (`ligament/grid.py`) has the classes
//! of users, and the block that their functions get.

use crate::array::ArrayLayout;
use crate::errors::{self, usage};
use crate::grid::layout_of_numbers;
use crate::instance::Instance;
use crate::settings::setting_to_python;
use ligament_catalogue::fault;
use ligament_instance::{ArrayOrder, Call, Error};
use ligament_modules::{
    load, plan_json, plan_text, read_class_declaration, Block as CoreBlock, BlockReduction, DriverArguments,
    FieldMemory, FunctionCode, ModuleField, ModuleHost, ModuleRun, Simulation,
};
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

/// A module on its way from Python: the path of a shared object, or a declaration with its origin and the
/// object that has the functions.
type GivenModule = (Option<PathBuf>, Option<(String, String, Py<PyAny>)>);

/// The compiled half of a simulation that is put together from modules.
#[pyclass(module = "ligament._ligament", name = "_Modules", frozen)]
pub struct Modules {
    simulation: Simulation,
    codes: Vec<FunctionCode>,
    /// The functions that are Python's.
    functions: Vec<Option<Py<PyAny>>>,
}

fn refused(py: Python<'_>, error: impl Into<Error>) -> PyErr {
    errors::instance(py, error.into())
}

#[pymethods]
impl Modules {
    #[new]
    fn new(py: Python<'_>, modules: Vec<GivenModule>) -> PyResult<Modules> {
        let (mut declarations, mut codes, mut functions) = (Vec::new(), Vec::new(), Vec::new());
        for (path, given) in modules {
            if let Some(path) = path {
                let loaded = load(&path).map_err(|error| refused(py, error))?;
                functions.extend(loaded.codes.iter().map(|_| None));
                codes.extend(loaded.codes);
                declarations.push(loaded.declaration);
            }
            let Some((text, origin, object)) = given else { continue };
            let declaration = read_class_declaration(&text, &origin).map_err(|error| refused(py, error))?;
            for function in &declaration.functions {
                let name = &function.name;
                let found = object.bind(py).getattr(name.as_str()).ok().filter(Bound::is_callable);
                let found = found.ok_or_else(|| {
                    let text = "and has no method of this name";
                    usage(
                        py,
                        fault!(BAD_MODULE, "the module {origin} declares the function \"{name}\", {text}"),
                    )
                })?;
                functions.push(Some(found.unbind()));
                codes.push(FunctionCode::Hosted);
            }
            declarations.push(declaration);
        }
        let simulation = Simulation::new(&declarations).map_err(|error| refused(py, error))?;
        Ok(Modules { simulation, codes, functions })
    }

    /// The plan, as a text for people or in JSON.
    fn _plan(&self, py: Python<'_>, json: bool) -> PyResult<String> {
        let plan = if json { plan_json } else { plan_text };
        plan(&self.simulation).map_err(|error| refused(py, error))
    }

    /// Runs the simulation. `make_memory` makes the bytes of an array, and `make_block` the block of Python.
    fn _run(
        &self,
        py: Python<'_>,
        instance: Py<Instance>,
        poisons: bool,
        make_memory: Py<PyAny>,
        make_block: Py<PyAny>,
    ) -> PyResult<()> {
        let arrays = PyList::empty(py).unbind();
        let mut host = Host { modules: self, make_memory, make_block, arrays, exception: None };
        let run = ModuleRun { simulation: &self.simulation, codes: &self.codes, poisons };
        let call = &Call("ligament.grid.run");
        let result = instance.get().detached(py, call, |core| run.run(core, &mut host));
        let Some(exception) = host.exception else { return result };
        let is_end = !exception.is_instance_of::<pyo3::exceptions::PyException>(py);
        match result {
            Err(_) if is_end => Err(exception),
            Err(error) => {
                error.set_cause(py, Some(exception));
                Err(error)
            }
            Ok(()) => Ok(()),
        }
    }
}

/// Reads the arguments of a driver program: whether it plans, in JSON, and whether it puts marks.
#[pyfunction]
#[pyo3(name = "_driver_arguments")]
pub fn driver_arguments(py: Python<'_>, arguments: Vec<String>) -> PyResult<(bool, bool, bool)> {
    let read = DriverArguments::read(arguments.iter().map(String::as_str));
    let read = read.map_err(|error| refused(py, error))?;
    Ok((read.plans, read.json, read.poisons))
}

/// The memory of a field: bytes of NumPy, which Python's functions see, too. They own nothing that NumPy could
/// make smaller.
struct ArrayMemory {
    _owner: Py<PyAny>,
    start: NonNull<u8>,
    length: usize,
}

impl FieldMemory for ArrayMemory {
    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the owner is an array of so many bytes, which nobody can resize, since Python has views of it
        // only. No function of a module runs while the core uses them.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

/// Python, as the driver sees it.
struct Host<'a> {
    modules: &'a Modules,
    make_memory: Py<PyAny>,
    make_block: Py<PyAny>,
    /// The array of each field.
    arrays: Py<PyList>,
    /// The exception that a function raised.
    exception: Option<PyErr>,
}

impl Host<'_> {
    /// Keeps an exception, and returns it in words.
    fn keep(&mut self, py: Python<'_>, exception: PyErr) -> String {
        let value = exception.clone_ref(py).into_value(py);
        let describe = || -> PyResult<String> {
            py.import("ligament._logging")?.call_method1("describe", (value,))?.extract()
        };
        let text = describe().unwrap_or_else(|_| exception.to_string());
        self.exception = Some(exception);
        text
    }

    fn memory(&self, py: Python<'_>, field: &ModuleField, shape: &[usize]) -> PyResult<ArrayMemory> {
        let arrays = self.arrays.bind(py);
        if arrays.len() == self.modules.simulation.fields.len() {
            // A new pass begins.
            arrays.del_slice(0, arrays.len())?;
        }
        let order = match field.order {
            ArrayOrder::RowMajor => "C",
            ArrayOrder::ColumnMajor => "F",
        };
        let made = self.make_memory.bind(py).call1((shape.to_vec(), field.dtype.name(), order))?;
        let (owner, array): (Bound<'_, PyAny>, Bound<'_, PyAny>) = made.extract()?;
        let unfit = |_| usage(py, fault!(BAD_FIELD, "NumPy made no array for the field \"{}\"", field.name));
        let mut layout = ArrayLayout::of(&owner).map_err(unfit)?;
        let bytes = layout.data_mut();
        let (start, length) = (NonNull::from(&mut *bytes).cast(), bytes.len());
        arrays.append(array)?;
        Ok(ArrayMemory { _owner: owner.unbind(), start, length })
    }
}

impl ModuleHost for Host<'_> {
    fn allocate(&mut self, field: &ModuleField, shape: &[usize]) -> Result<Box<dyn FieldMemory>, Error> {
        Python::attach(|py| match self.memory(py, field, shape) {
            Ok(memory) => Ok(Box::new(memory) as Box<dyn FieldMemory>),
            Err(exception) => Err(Error::Own(self.keep(py, exception))),
        })
    }

    fn call(&mut self, function: usize, block: &mut CoreBlock<'_>) -> Result<(), Error> {
        Python::attach(|py| {
            let called = self.modules.functions[function].as_ref().map_or(Ok(()), |code| {
                let current = CurrentBlock(NonNull::from(&mut *block).cast());
                let half = Block { current: Mutex::new(Some(current)), arrays: self.arrays.clone_ref(py) };
                let half = Py::new(py, half)?;
                // The pointer is taken away before the block ends, also if the function raises.
                let called = self.make_block.call1(py, (&half,)).and_then(|made| code.call1(py, (made,)));
                py.detach(|| *half.get().current.lock().unwrap_or_else(PoisonError::into_inner) = None);
                called.map(drop)
            });
            called.map_err(|exception| {
                let text = self.keep(py, exception);
                block.failure(text).into()
            })
        })
    }
}

/// The block whose function is being called.
struct CurrentBlock(NonNull<CoreBlock<'static>>);

// SAFETY: the pointer is used under the lock only, and taken away before the block ends.
unsafe impl Send for CurrentBlock {}

/// The compiled half of a block.
#[pyclass(module = "ligament._ligament", name = "_Block", frozen)]
pub struct Block {
    current: Mutex<Option<CurrentBlock>>,
    arrays: Py<PyList>,
}

impl Block {
    /// Uses the block without the interpreter, so that no thread waits for both.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        then: impl FnOnce(&mut CoreBlock<'_>) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let used = py.detach(|| {
            let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
            // SAFETY: the block lives until the pointer is taken away, which waits for this lock.
            current.as_mut().map(|current| then(unsafe { current.0.as_mut() }))
        });
        match used {
            Some(result) => result.map_err(|error| errors::instance(py, error)),
            None => {
                let text = "a block is used after its function has returned; use it within the function";
                Err(usage(py, fault!(MODULE_FAILED, "{text}")))
            }
        }
    }
}

#[pymethods]
impl Block {
    /// The array of a field, and its number of ghosts.
    fn _field<'py>(&self, py: Python<'py>, name: &str) -> PyResult<(Bound<'py, PyAny>, usize)> {
        let found = self.with(py, |block| {
            let number = block.field_number(name)?;
            Ok((number, block.array(number).ghosts))
        })?;
        Ok((self.arrays.bind(py).get_item(found.0)?, found.1))
    }

    fn _parameter<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let value = self.with(py, |block| Ok(block.parameter(name)?.clone()))?;
        setting_to_python(py, &value)
    }

    /// The number of the step, its time and its length.
    fn _time(&self, py: Python<'_>) -> PyResult<(u64, f64, f64)> {
        self.with(py, |block| {
            let time = block.time();
            Ok((time.step, time.time, time.time_step))
        })
    }

    /// The number of the block, the shape of the grid, and the block's range along each axis.
    #[allow(clippy::type_complexity)]
    fn _place(&self, py: Python<'_>) -> PyResult<(usize, Vec<u64>, Vec<(u64, u64)>)> {
        self.with(py, |block| {
            let domain = block.domain();
            Ok((domain.block(), domain.shape().to_vec(), domain.range().to_vec()))
        })
    }

    /// Sum, minimum or maximum of the numbers of all blocks.
    fn _reduce(&self, py: Python<'_>, how: &str, numbers: Bound<'_, PyAny>) -> PyResult<f64> {
        let layout = layout_of_numbers(&numbers)?;
        let reduction = match how {
            "sum" => BlockReduction::Sum,
            "min" => BlockReduction::Min,
            _ => BlockReduction::Max,
        };
        self.with(py, move |block| {
            let numbers: Vec<f64> = layout
                .data()
                .chunks_exact(size_of::<f64>())
                .map(|bytes| bytes.try_into().map_or(f64::NAN, f64::from_ne_bytes))
                .collect();
            block.reduce(reduction, &numbers)
        })
    }
}
