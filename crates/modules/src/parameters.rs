//! The values of parameters: the model's settings, checked against the declarations.

use crate::error::ModuleError;
use crate::simulation::{Simulation, STEPS, TIME_STEP};
use ligament_instance::{Error, ErrorKind, Instance, SettingDeclaration};
use ligament_model::{SettingType, SettingValue};

/// The length of a simulation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct StepSettings {
    pub steps: u64,
    /// In s.
    pub time_step: f64,
}

/// Declares to the run which parameters can be steered.
///
/// # Errors
/// As `Instance::declare_steerable`.
pub(crate) fn declare_steerable(instance: &mut Instance, simulation: &Simulation) -> Result<(), Error> {
    let steerable = simulation.parameters.iter().filter(|shared| shared.parameter.steerable);
    for parameter in steerable.map(|shared| &shared.parameter) {
        let (name, unit) = (&*parameter.name, &*parameter.unit);
        let (min, max, kind) = (parameter.min, parameter.max, Some(parameter.kind));
        instance.declare_steerable(SettingDeclaration { name, min, max, unit, restart: false, kind })?;
    }
    Ok(())
}

/// Returns the values of all parameters.
///
/// # Errors
/// `ParameterUnset`, `ParameterType` or `ParameterRange`.
pub(crate) fn values(instance: &Instance, simulation: &Simulation) -> Result<Vec<SettingValue>, Error> {
    let mut values = Vec::with_capacity(simulation.parameters.len());
    for shared in &simulation.parameters {
        let parameter = &shared.parameter;
        let set = setting(instance, &shared.owner, (&parameter.name, parameter.kind))?;
        let value = match set.or_else(|| parameter.default.clone()) {
            Some(value) => value,
            None => return Err(unset(instance, &shared.owner, &parameter.name)),
        };
        if !parameter.admits(&value) {
            let (owner, name) = (shared.owner.clone(), parameter.name.clone());
            return Err(out_of_range(instance, (owner, name), &value, parameter.range()));
        }
        values.push(value);
    }
    Ok(values)
}

/// Returns the driver's own settings.
///
/// # Errors
/// As `values`.
pub(crate) fn step_settings(instance: &Instance) -> Result<StepSettings, Error> {
    const OWNER: &str = "the driver of modules";
    let name = |name: &str| (OWNER.to_owned(), name.to_owned());
    let steps = match setting(instance, OWNER, (STEPS, SettingType::Int))? {
        Some(SettingValue::Int(steps)) => u64::try_from(steps)
            .map_err(|_| out_of_range(instance, name(STEPS), &SettingValue::Int(steps), "0 or more".into()))?,
        _ => return Err(unset(instance, OWNER, STEPS)),
    };
    let time_step = match setting(instance, OWNER, (TIME_STEP, SettingType::Float))? {
        Some(SettingValue::Float(time_step)) => time_step,
        _ => 1.0,
    };
    if time_step > 0.0 && time_step.is_finite() {
        return Ok(StepSettings { steps, time_step });
    }
    let range = "above 0 s, and finite".to_owned();
    Err(out_of_range(instance, name(TIME_STEP), &SettingValue::Float(time_step), range))
}

fn setting(
    instance: &Instance,
    owner: &str,
    (name, kind): (&str, SettingType),
) -> Result<Option<SettingValue>, Error> {
    match instance.get_setting(name, None) {
        Ok(value) => value.as_type(kind).map(Some).ok_or_else(|| {
            let (owner, parameter) = (owner.to_owned(), name.to_owned());
            let (instance, value) = (instance.name().to_owned(), shown(&value));
            ModuleError::ParameterType { owner, parameter, kind: kind.name(), instance, value }.into()
        }),
        Err(error) if error.kind() == ErrorKind::SettingUnset => Ok(None),
        Err(error) => Err(error),
    }
}

fn unset(instance: &Instance, owner: &str, parameter: &str) -> Error {
    let (owner, parameter) = (owner.to_owned(), parameter.to_owned());
    ModuleError::ParameterUnset { owner, parameter, instance: instance.name().to_owned() }.into()
}

fn out_of_range(
    instance: &Instance,
    (owner, parameter): (String, String),
    value: &SettingValue,
    range: String,
) -> Error {
    let (value, instance) = (shown(value), instance.name().to_owned());
    ModuleError::ParameterRange { owner, parameter, value, range, instance }.into()
}

/// Returns a value in words.
fn shown(value: &SettingValue) -> String {
    match value {
        SettingValue::Int(value) => value.to_string(),
        // 2.0 is no 2 where a whole number is expected.
        SettingValue::Float(value) => format!("{value:?}"),
        SettingValue::Bool(value) => value.to_string(),
        SettingValue::Str(text) => format!("the text \"{text}\""),
        _ => "a list".to_owned(),
    }
}
