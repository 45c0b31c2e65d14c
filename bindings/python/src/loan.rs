//! Loans: memory as a NumPy array, which the code fills in place and sends.

use crate::array;
use ligament_instance::Loan as CoreLoan;
use ligament_wire::{ArrayOrder, DType};
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// Loans that no object refers to any more. Their instance takes them back.
pub type ReturnedLoans = Arc<Mutex<Vec<CoreLoan>>>;

/// The handle that keeps the pages of a loan mapped.
pub type Pages = Arc<dyn std::any::Any + Send + Sync>;

/// The memory of a loan. It is the base of the array, and so of all views, and is dropped with the last one.
#[pyclass(module = "ligament", frozen, name = "_LoanMemory")]
struct LoanMemory {
    loan: Mutex<Option<CoreLoan>>,
    returned: ReturnedLoans,
    /// Keeps the pages in this process after the loan was sent, as long as there are views of them.
    _pages: Pages,
}

impl Drop for LoanMemory {
    fn drop(&mut self) {
        let unsent = self.loan.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(loan) = unsent {
            self.returned.lock().unwrap_or_else(PoisonError::into_inner).push(loan);
        }
    }
}

/// Memory lent by `Instance.loan`: fill `array`, then send the loan. After that the array is read-only.
#[pyclass(module = "ligament", frozen)]
pub struct Loan {
    memory: Py<LoanMemory>,
    /// The memory as a NumPy array. New memory holds arbitrary bytes.
    #[pyo3(get)]
    array: Py<PyAny>,
}

impl Loan {
    /// Wraps a loan of the core, with the handle that keeps its pages.
    pub fn new(
        py: Python<'_>,
        (loan, pages): (CoreLoan, Pages),
        dtype: DType,
        shape: &[u64],
        order: ArrayOrder,
        returned: ReturnedLoans,
    ) -> PyResult<Loan> {
        let mut strides = [0i64; ligament_wire::MAX_DIMS];
        let mut step = dtype.size() as i64;
        for place in 0..shape.len() {
            let axis = if order == ArrayOrder::RowMajor { shape.len() - 1 - place } else { place };
            strides[axis] = step;
            step = step.saturating_mul(shape[axis] as i64);
        }
        let start = loan.start();
        let memory = Bound::new(py, LoanMemory { loan: Mutex::new(Some(loan)), returned, _pages: pages })?;
        // SAFETY: the loan holds an array of this shape in this order, 64-byte aligned; `memory` keeps it
        // mapped.
        let array = unsafe {
            array::over(py, dtype, shape, &strides[..shape.len()], start, true, memory.clone().into_any())?
        };
        Ok(Loan { memory: memory.unbind(), array: array.unbind() })
    }

    /// Returns true if the instance with this list has lent it.
    pub fn is_of(&self, returned: &ReturnedLoans) -> bool {
        Arc::ptr_eq(&self.memory.get().returned, returned)
    }

    /// Takes the loan out, to send it; `None` if it was already sent. The array becomes read-only.
    pub fn give_away(&self, py: Python<'_>) -> Option<CoreLoan> {
        let loan = self.memory.get().loan.lock().unwrap_or_else(PoisonError::into_inner).take();
        array::make_read_only(self.array.bind(py));
        loan
    }
}

#[pymethods]
impl Loan {
    /// Returns true if the loan was sent or given back.
    #[getter]
    fn sent(&self) -> bool {
        self.memory.get().loan.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let array = self.array.bind(py);
        let state = if self.sent() { ", sent" } else { "" };
        Ok(format!("<Loan of {} {}{state}>", array.getattr("dtype")?.str()?, array.getattr("shape")?.str()?))
    }
}
