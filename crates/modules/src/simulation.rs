//! Modules put together: the fields and parameters of all of them, and the order of their functions.

use crate::declaration::{
    Bin, FieldPoints, FieldUse, ModuleDeclaration, ModuleField, ModuleFunction, ModuleParameter,
};
use crate::error::ModuleError;
use crate::order::ordered;
use std::collections::HashSet;

/// The number of a field in its simulation, and the points of it that a function reads or writes.
pub type FieldAccess = (usize, FieldPoints);

/// A function at its place in a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedFunction {
    /// The number and the name of its module.
    pub module: usize,
    pub module_name: String,
    pub name: String,
    pub bin: Bin,
    pub before: Vec<String>,
    pub after: Vec<String>,
    pub reads: Vec<FieldAccess>,
    pub writes: Vec<FieldAccess>,
}

impl PlacedFunction {
    /// Returns the function's name with its module's name in front.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.module_name, self.name)
    }

    /// Describes the function with its module and its bin.
    pub fn description(&self) -> String {
        format!("the function \"{}\" of the module \"{}\" ({})", self.name, self.module_name, self.bin.name())
    }

    /// Returns the points of a field that the function reads.
    pub fn reads(&self, field: usize) -> Option<FieldPoints> {
        self.reads.iter().find(|(known, _)| *known == field).map(|(_, extent)| *extent)
    }

    /// Returns the points of a field that the function writes.
    pub fn writes(&self, field: usize) -> Option<FieldPoints> {
        self.writes.iter().find(|(known, _)| *known == field).map(|(_, extent)| *extent)
    }
}

/// A parameter, and the modules that declare it.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedParameter {
    pub parameter: ModuleParameter,
    pub modules: Vec<usize>,
    /// Describes the owner.
    pub owner: String,
}

/// The modules of a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulation {
    pub modules: Vec<String>,
    pub parameters: Vec<SharedParameter>,
    pub fields: Vec<ModuleField>,
    /// All functions, in the order of their declarations.
    pub functions: Vec<PlacedFunction>,
    /// The numbers of the functions of each bin, in the order of the calls.
    pub order: [Vec<usize>; Bin::ALL.len()],
}

/// Maximum number of fields of a simulation, for which marks have room.
const MAX_FIELDS: usize = 8192;

/// The names of the parameters that belong to the driver.
pub(crate) const STEPS: &str = "steps";
pub(crate) const TIME_STEP: &str = "time_step";

impl Simulation {
    /// Puts modules together.
    ///
    /// # Errors
    /// The modules, functions, bin and field that contradict each other.
    pub fn new(modules: &[ModuleDeclaration]) -> Result<Simulation, ModuleError> {
        if modules.is_empty() {
            return Err(ModuleError::NoModules);
        }
        let mut names = HashSet::new();
        if let Some(module) = modules.iter().find(|module| !names.insert(&module.name)) {
            return Err(ModuleError::SameName { module: module.name.clone() });
        }
        let fields = fields(modules)?;
        if fields.len() > MAX_FIELDS {
            return Err(ModuleError::ManyFields { fields: fields.len(), max: MAX_FIELDS });
        }
        let parameters = parameters(modules)?;
        let mut functions = Vec::new();
        for (number, module) in modules.iter().enumerate() {
            for function in &module.functions {
                functions.push(placed((number, module), function, &fields)?);
            }
        }
        let mut order = [const { Vec::new() }; Bin::ALL.len()];
        for bin in Bin::ALL {
            order[bin as usize] = ordered(bin, &functions, &fields)?;
        }
        let modules = modules.iter().map(|module| module.name.clone()).collect();
        Ok(Simulation { modules, parameters, fields, functions, order })
    }

    /// Returns the functions of a bin in their order, with their numbers.
    pub fn bin(&self, bin: Bin) -> impl Iterator<Item = (usize, &PlacedFunction)> {
        self.order[bin as usize].iter().map(|number| (*number, &self.functions[*number]))
    }
}

fn fields(modules: &[ModuleDeclaration]) -> Result<Vec<ModuleField>, ModuleError> {
    let mut fields: Vec<(&str, &ModuleField)> = Vec::new();
    for module in modules {
        for field in &module.fields {
            match fields.iter().find(|(_, known)| known.name == field.name) {
                None => fields.push((&module.name, field)),
                Some((_, known)) if *known == field => {}
                Some((first, known)) => {
                    let said =
                        |module: &str, field: &ModuleField| format!("by the module \"{module}\" with {field}");
                    let (first, second) = (said(first, known), said(&module.name, field));
                    return Err(ModuleError::FieldDiffers { field: field.name.clone(), first, second });
                }
            }
        }
    }
    Ok(fields.into_iter().map(|(_, field)| field.clone()).collect())
}

fn parameters(modules: &[ModuleDeclaration]) -> Result<Vec<SharedParameter>, ModuleError> {
    let mut parameters: Vec<SharedParameter> = Vec::new();
    for (number, module) in modules.iter().enumerate() {
        for parameter in &module.parameters {
            let name = || parameter.name.clone();
            if [STEPS, TIME_STEP].contains(&&*parameter.name) {
                return Err(ModuleError::DriverParameter { module: module.name.clone(), parameter: name() });
            }
            match parameters.iter_mut().find(|known| known.parameter.name == parameter.name) {
                None => parameters.push(SharedParameter {
                    parameter: parameter.clone(),
                    modules: vec![number],
                    owner: format!("the module \"{}\"", module.name),
                }),
                Some(known) if known.parameter == *parameter => known.modules.push(number),
                Some(known) => {
                    let first = modules[known.modules[0]].name.clone();
                    let second = module.name.clone();
                    return Err(ModuleError::ParameterDiffers { parameter: name(), first, second });
                }
            }
        }
    }
    Ok(parameters)
}

fn placed(
    (number, module): (usize, &ModuleDeclaration),
    function: &ModuleFunction,
    fields: &[ModuleField],
) -> Result<PlacedFunction, ModuleError> {
    let ModuleFunction { name, bin, before, after, reads, writes } = function.clone();
    let (module_name, none) = (module.name.clone(), Vec::new);
    let mut made =
        PlacedFunction { module: number, module_name, name, bin, before, after, reads: none(), writes: none() };
    let accesses = |uses: &[FieldUse]| -> Result<Vec<FieldAccess>, ModuleError> {
        let access = |used: &FieldUse| {
            let place = fields.iter().position(|field| field.name == used.field);
            let Some(place) = place else {
                let known: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                let (function, field) = (made.description(), used.field.clone());
                return Err(ModuleError::UnknownField { function, field, known });
            };
            Ok((place, used.extent))
        };
        uses.iter().map(access).collect()
    };
    let (reads, writes) = (accesses(&reads)?, accesses(&writes)?);
    (made.reads, made.writes) = (reads, writes);
    Ok(made)
}
