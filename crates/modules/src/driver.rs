//! The driver: makes the fields, and calls the functions of all modules, with the exchanges between them.

use crate::block::{Block, FieldArray, FieldMemory, StepTime};
use crate::declaration::{Bin, ModuleField};
use crate::error::ModuleError;
use crate::parameters;
use crate::plan::{plan, PlannedExchange, Validity};
use crate::poison::Poison;
use crate::simulation::Simulation;
use crate::sys::NativeFunction;
use ligament_grid::{Domain, Edges, Field, FieldData, FieldId};
use ligament_instance::{CrashNote, Error, Instance};
use ligament_model::SettingValue;

/// The code of a function.
#[derive(Clone, Copy, Debug)]
pub enum FunctionCode {
    /// A function of a shared object.
    Native(NativeFunction),
    /// A function of the host, which finds it by its number.
    Hosted,
}

/// The language of the driver program. It provides memory, and functions in this language.
pub trait ModuleHost {
    /// Makes the memory of a field, filled with zeros.
    ///
    /// # Errors
    /// An error of the language.
    fn allocate(&mut self, field: &ModuleField, shape: &[usize]) -> Result<Box<dyn FieldMemory>, Error>;

    /// Calls the hosted function with this number.
    ///
    /// # Errors
    /// The reason why the function failed.
    fn call(&mut self, function: usize, block: &mut Block<'_>) -> Result<(), Error>;
}

/// A simulation that is ready to run.
#[derive(Debug)]
pub struct ModuleRun<'a> {
    pub simulation: &'a Simulation,
    /// The code of each function, in the order of `Simulation::functions`.
    pub codes: &'a [FunctionCode],
    /// True if marks are put on the points that a function may not read.
    pub poisons: bool,
}

impl ModuleRun<'_> {
    /// Runs the simulation as an instance, through all passes of its reuse loop. If it fails, the run learns
    /// why.
    ///
    /// # Errors
    /// An error of a module, or of the instance.
    pub fn run(&self, instance: &mut Instance, host: &mut dyn ModuleHost) -> Result<(), Error> {
        let result = self.passes(instance, host);
        if let Err(error) = &result {
            if !instance.is_over() && !matches!(error, Error::Interrupted) {
                // The original error is returned, even if the run cannot be reached.
                let _ = instance.error_shutdown(&error.to_string());
            }
        }
        result
    }

    fn passes(&self, instance: &mut Instance, host: &mut dyn ModuleHost) -> Result<(), Error> {
        parameters::declare_steerable(instance, self.simulation)?;
        while instance.reuse_instance()? {
            let mut pass = Pass::new(self, instance, host)?;
            let steps = parameters::step_settings(instance)?;
            pass.time.time_step = steps.time_step;
            pass.call_bins(instance, host, &[Bin::Initial])?;
            for step in 1..=steps.steps {
                let time = (step - 1) as f64 * steps.time_step;
                pass.time = StepTime { step, time, time_step: steps.time_step };
                if instance.steer(time)? {
                    pass.values = parameters::values(instance, self.simulation)?;
                }
                pass.call_bins(instance, host, &[Bin::Prestep, Bin::Evol, Bin::Poststep, Bin::Analysis])?;
            }
        }
        Ok(())
    }
}

/// A pass of the reuse loop.
struct Pass<'a> {
    run: &'a ModuleRun<'a>,
    domain: Domain,
    arrays: Vec<FieldArray>,
    values: Vec<SettingValue>,
    validity: Validity<'a>,
    poison: Option<Poison>,
    time: StepTime,
}

impl<'a> Pass<'a> {
    fn new(
        run: &'a ModuleRun<'a>,
        instance: &mut Instance,
        host: &mut dyn ModuleHost,
    ) -> Result<Pass<'a>, Error> {
        let mut domain = Domain::new(instance)?;
        let has_open_edges = domain.edges().contains(&Edges::Open);
        // An impossible order is an error before the first function is called.
        plan(run.simulation, has_open_edges)?;
        let values = parameters::values(instance, run.simulation)?;
        let mut arrays = Vec::with_capacity(run.simulation.fields.len());
        for field in &run.simulation.fields {
            let ModuleField { name, unit, dtype, ghosts, order, .. } = field.clone();
            let added = Field::new(&*name).with_unit(unit).with_dtype(dtype);
            let id = domain.add_field(added.with_ghosts(ghosts).with_order(order))?;
            let shape = domain.array_shape(id);
            let memory = host.allocate(field, &shape)?;
            let begin = domain.range().iter().map(|(begin, _)| *begin).collect();
            arrays.push(FieldArray { name, dtype, order, ghosts, shape, begin, memory });
        }
        let poison = run.poisons.then(|| Poison::new(&domain, &arrays));
        let validity = Validity::new(run.simulation, has_open_edges);
        let time = StepTime { step: 0, time: 0.0, time_step: 1.0 };
        Ok(Pass { run, domain, arrays, values, validity, poison, time })
    }

    /// Calls the functions of bins, and publishes the fields.
    fn call_bins(
        &mut self,
        instance: &mut Instance,
        host: &mut dyn ModuleHost,
        bins: &[Bin],
    ) -> Result<(), Error> {
        let simulation = self.run.simulation;
        self.validity.begin_step();
        for (number, function) in bins.iter().flat_map(|bin| simulation.bin(*bin)) {
            let exchange = self.validity.before(function)?;
            self.exchange(instance, exchange)?;
            self.call(number, instance, host)?;
            self.validity.after(number, function);
        }
        let exchange = self.validity.before_publishing();
        self.exchange(instance, exchange)?;
        let published: Vec<usize> = self.validity.published().collect();
        published.into_iter().try_for_each(|field| self.publish(instance, field))
    }

    /// Exchanges fields at the end of a step.
    fn exchange(&mut self, instance: &mut Instance, exchange: Option<PlannedExchange>) -> Result<(), Error> {
        let Some(exchange) = exchange else { return Ok(()) };
        let mut data = Vec::with_capacity(exchange.fields.len());
        for (field, array) in self.arrays.iter_mut().enumerate() {
            if exchange.fields.contains(&field) {
                data.push(FieldData { field: FieldId(field), bytes: array.memory.bytes() });
            }
        }
        let time = self.time.step as f64 * self.time.time_step;
        self.domain.exchange(instance, time, &mut data)?;
        self.validity.after_exchange(&exchange.fields);
        Ok(())
    }

    /// Publishes a field for viewers.
    fn publish(&mut self, instance: &mut Instance, field: usize) -> Result<(), Error> {
        self.domain.publish(instance, FieldId(field), self.arrays[field].memory.bytes())
    }

    fn call(&mut self, number: usize, instance: &mut Instance, host: &mut dyn ModuleHost) -> Result<(), Error> {
        let simulation = self.run.simulation;
        let function = &simulation.functions[number];
        if let Some(poison) = &mut self.poison {
            poison.put(function, &self.validity.fields, &mut self.arrays);
        }
        let name = self.domain.block_name();
        let note = format!("error: {} crashed in {name}\n", function.description());
        let mut block = Block {
            simulation,
            function,
            arrays: &mut self.arrays,
            values: &self.values,
            domain: &mut self.domain,
            instance,
            time: self.time,
            poisons: self.run.poisons,
        };
        let watch = CrashNote::put_up(&note);
        let called = match self.run.codes[number] {
            FunctionCode::Native(code) => code.call(&mut block),
            FunctionCode::Hosted => host.call(number, &mut block),
        };
        drop(watch);
        called?;
        let fault = self.poison.as_ref().and_then(|poison| poison.take(simulation, function, &mut self.arrays));
        match fault {
            None => Ok(()),
            Some(what) => {
                let function = function.description();
                Err(ModuleError::Undeclared { function, block: name, what }.into())
            }
        }
    }
}
