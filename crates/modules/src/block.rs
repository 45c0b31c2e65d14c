//! A block, as a module's function sees it: the arrays of the fields that the function declares, the module's
//! parameters, the position and the time.

use crate::error::ModuleError;
use crate::poison;
use crate::simulation::{PlacedFunction, Simulation};
use ligament_grid::Domain;
use ligament_instance::{Error, Instance};
use ligament_model::SettingValue;
use ligament_wire::{ArrayOrder, DType};

/// The memory of a field's array: made by the driver, or by an interpreter.
pub trait FieldMemory {
    /// Returns all bytes of the array.
    fn bytes(&mut self) -> &mut [u8];
}

/// The array of a field in a block.
pub struct FieldArray {
    pub name: String,
    pub dtype: DType,
    pub order: ArrayOrder,
    pub ghosts: usize,
    /// The number of points along each axis, with the ghosts.
    pub shape: Vec<usize>,
    /// The first of the block's own points along each axis of the grid.
    pub begin: Vec<u64>,
    pub memory: Box<dyn FieldMemory>,
}

impl FieldArray {
    /// Returns the distance of neighbouring points along each axis, in elements.
    pub fn strides(&self) -> Vec<usize> {
        let mut strides = vec![1; self.shape.len()];
        let mut axes: Vec<usize> = (0..self.shape.len()).collect();
        if self.order == ArrayOrder::RowMajor {
            axes.reverse();
        }
        for pair in axes.windows(2) {
            strides[pair[1]] = strides[pair[0]] * self.shape[pair[0]];
        }
        strides
    }
}

/// The reductions of the numbers of all blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockReduction {
    Sum,
    Min,
    Max,
}

/// The model time of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepTime {
    /// The number of the step: 0 before the first one, then from 1.
    pub step: u64,
    /// The model time of the fields at the beginning of the step, s.
    pub time: f64,
    /// The length of the step, s.
    pub time_step: f64,
}

/// A block during the call of a function.
pub struct Block<'a> {
    pub(crate) simulation: &'a Simulation,
    pub(crate) function: &'a PlacedFunction,
    pub(crate) arrays: &'a mut [FieldArray],
    pub(crate) values: &'a [SettingValue],
    pub(crate) domain: &'a mut Domain,
    pub(crate) instance: &'a mut Instance,
    pub(crate) time: StepTime,
    pub(crate) poisons: bool,
}

impl Block<'_> {
    /// The grid and the block's place in it.
    pub fn domain(&self) -> &Domain {
        self.domain
    }

    /// The step and its time.
    pub fn time(&self) -> StepTime {
        self.time
    }

    /// Returns the number of a field that the function declares.
    ///
    /// # Errors
    /// `Undeclared`.
    pub fn field_number(&self, name: &str) -> Result<usize, ModuleError> {
        let uses = self.function.reads.iter().chain(&self.function.writes);
        let found = uses.map(|(field, _)| *field).find(|field| self.simulation.fields[*field].name == name);
        found.ok_or_else(|| {
            self.undeclared(format!(
                "asks for the field \"{name}\", and does not declare that it reads or writes it"
            ))
        })
    }

    /// Returns the array of a field.
    pub fn array(&mut self, field: usize) -> &mut FieldArray {
        &mut self.arrays[field]
    }

    /// Returns the value of a parameter that the module declares.
    ///
    /// # Errors
    /// `Undeclared`.
    pub fn parameter(&self, name: &str) -> Result<&SettingValue, ModuleError> {
        let module = self.function.module;
        let mut shared = self.simulation.parameters.iter().zip(self.values);
        let found =
            shared.find(|(shared, _)| shared.parameter.name == name && shared.modules.contains(&module));
        found.map(|(_, value)| value).ok_or_else(|| {
            self.undeclared(format!("asks for the parameter \"{name}\", which its module does not declare"))
        })
    }

    /// Returns the sum, the minimum or the maximum of the numbers that all blocks give.
    ///
    /// # Errors
    /// As `Domain::sum`.
    pub fn reduce(&mut self, reduction: BlockReduction, numbers: &[f64]) -> Result<f64, Error> {
        if self.poisons {
            if let Some(mark) = numbers.iter().find_map(|number| poison::Mark::of_double(number.to_bits())) {
                let what = poison::read_fault(self.simulation, self.function, mark);
                return Err(self.undeclared(format!("{what}: a number of a reduction depends on it")).into());
            }
        }
        match reduction {
            BlockReduction::Sum => self.domain.sum(self.instance, numbers),
            BlockReduction::Min => self.domain.min(self.instance, numbers),
            BlockReduction::Max => self.domain.max(self.instance, numbers),
        }
    }

    /// Returns the error of a function that gave up.
    pub fn failure(&self, why: String) -> ModuleError {
        let (function, block) = (self.function.description(), self.domain.block_name());
        ModuleError::Failed { function, block, why }
    }

    fn undeclared(&self, what: String) -> ModuleError {
        let (function, block) = (self.function.description(), self.domain.block_name());
        ModuleError::Undeclared { function, block, what }
    }
}
