//! The arguments of a driver program.

use crate::error::ModuleError;

/// The task of a driver program, as its arguments say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DriverArguments {
    /// `--plan`: prints the plan, and takes part in no run.
    pub plans: bool,
    /// `--json`: prints the plan in JSON.
    pub json: bool,
    /// `--poison`: puts marks where functions may not read.
    pub poisons: bool,
}

impl DriverArguments {
    /// Reads the arguments that follow the program's name.
    ///
    /// # Errors
    /// `Argument`.
    pub fn read<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<DriverArguments, ModuleError> {
        let mut read = DriverArguments::default();
        for argument in arguments {
            match argument {
                "--plan" => read.plans = true,
                "--json" => read.json = true,
                "--poison" => read.poisons = true,
                _ => return Err(ModuleError::Argument { argument: argument.to_owned() }),
            }
        }
        Ok(read)
    }
}
