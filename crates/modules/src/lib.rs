//! A simulation on a grid that is put together from modules. A module declares parameters, fields and
//! functions. The driver makes the fields, calls the functions of all modules in an order that follows from
//! what they read and write, and exchanges ghosts where a function reads what an earlier one has written.
#![deny(unsafe_code)]

mod arguments;
mod block;
mod declaration;
mod driver;
mod error;
mod library;
mod order;
mod parameters;
mod plan;
mod poison;
mod simulation;
#[allow(unsafe_code)]
mod sys;

pub use arguments::DriverArguments;
pub use block::{Block, BlockReduction, FieldArray, FieldMemory, StepTime};
pub use declaration::{
    read_class_declaration, read_declaration, Bin, FieldPoints, FieldUse, ModuleDeclaration, ModuleField,
    ModuleFunction, ModuleParameter,
};
pub use driver::{FunctionCode, ModuleHost, ModuleRun};
pub use error::ModuleError;
pub use library::{load, LoadedModule, NativeHost};
pub use plan::{plan, plan_json, plan_text, PlanItem, PlanPart, PlannedExchange};
pub use simulation::{FieldAccess, PlacedFunction, SharedParameter, Simulation};
pub use sys::NativeFunction;
