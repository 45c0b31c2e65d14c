//! The unit of a model's times: a check that the unit exists, and conversion of times that users give in
//! other units.

use ligament_catalogue::{fault, Code, Fault};
use ligament_filters::{Measure, NoQuantity, Quantity};
use ligament_model::{
    Configuration, Identifier, LigamentOptions, Problem, Reference, ReferencePart, ResolvedModel, SettingValue,
    IMPLEMENTATION_SETTING,
};

/// Setting that passes the name of the model's unit of time to an instance. The next setting passes the length
/// of the unit in seconds.
const TIME_UNIT_SETTING: &str = "ligament_time_unit";
const SECONDS_SETTING: &str = "ligament_time_unit_in_seconds";

/// Returns the number of seconds in a unit of time.
fn seconds_in(unit: &str) -> Result<f64, NoQuantity> {
    Quantity::parse(&format!("1 {unit}"), Measure::Time).map(|quantity| quantity.value)
}

/// Returns the number of seconds in the model's unit of time, or 1 if the model declares no unit.
pub(crate) fn unit_of(options: &LigamentOptions) -> f64 {
    options.time_unit.as_ref().and_then(|(unit, _)| seconds_in(unit).ok()).unwrap_or(1.0)
}

pub(crate) fn check(config: &Configuration, problems: &mut Vec<Problem>) {
    let Some((unit, at)) = &config.ligament.time_unit else { return };
    if let Err(why) = seconds_in(unit) {
        let message = format!("\"{unit}\" cannot be the unit of the model's times: {why}");
        let advice = "write a unit of time, such as s, h, d or yr";
        problems.push(Problem::error(Code::BAD_UNIT, at, message, advice));
    }
}

/// Passes the model's unit of time to shipped components that write or read a unit of time in their files.
pub(crate) fn give_to_the_code(model: &mut ResolvedModel) {
    let Some((unit, _)) = model.ligament.time_unit.clone() else { return };
    let seconds = unit_of(&model.ligament);
    let (Ok(name), Ok(length), Ok(implementation)) = (
        Reference::new(TIME_UNIT_SETTING),
        Reference::new(SECONDS_SETTING),
        Identifier::new(IMPLEMENTATION_SETTING),
    ) else {
        return;
    };
    let whose = |(setting, value): (&Reference, &SettingValue)| {
        const FILES: [&str; 4] = [
            "ligament.sources.hdf5",
            "ligament.sources.netcdf",
            "ligament.sinks.hdf5",
            "ligament.sinks.netcdf",
        ];
        let is_file = matches!(value, SettingValue::Str(text) if FILES.contains(&&**text));
        let (last, component) = setting.parts().split_last().filter(|_| is_file)?;
        let is_kind = *last == ReferencePart::Name(implementation.clone());
        Reference::from_parts(component.to_vec()).filter(|_| is_kind)
    };
    let components: Vec<Reference> = model.settings.iter().filter_map(whose).collect();
    for component in components {
        model.settings.set(component.join(&name), SettingValue::Str(unit.clone()));
        model.settings.set(component.join(&length), SettingValue::Float(seconds));
    }
}

/// Reads a model time from a user: a number in the model's unit, or a number with a unit of its own. Returns
/// the time in the model's unit.
///
/// # Errors
/// Fails if the text is not a time, or if it has a unit and the model declares none.
pub fn model_time(text: &str, model_unit: Option<&str>) -> Result<f64, Fault> {
    let text = text.trim();
    if let Ok(time) = text.parse::<f64>() {
        return if time.is_finite() {
            Ok(time)
        } else {
            Err(fault!(BAD_STEERING, "{time} is no model time; give a finite number"))
        };
    }
    let quantity = Quantity::parse(text, Measure::Time)
        .map_err(|why| fault!(BAD_STEERING, "\"{text}\" is no model time: {why}"))?;
    let unit = model_unit.ok_or_else(|| {
        fault!(
            BAD_STEERING,
            "the model does not say the unit of its times, so \"{text}\" cannot be converted: give a number, \
             or write \"time_unit\" into the model file"
        )
    })?;
    match seconds_in(unit) {
        Ok(seconds) => Ok(quantity.value / seconds),
        Err(why) => Err(fault!(BAD_STEERING, "\"{unit}\", the unit of the model's times, is none: {why}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_with_a_unit_is_converted_to_that_of_the_model() {
        for (text, unit, time) in [
            ("3", None, 3.0),
            ("-5", Some("d"), -5.0),
            ("1e3", None, 1000.0),
            ("3 d", Some("d"), 3.0),
            ("36 h", Some("d"), 1.5),
            ("2 years", Some("s"), 2.0 * 31_557_600.0),
            ("0.1 d", Some("h"), 2.4),
        ] {
            assert_eq!(model_time(text, unit), Ok(time), "{text} in {unit:?}");
        }
        for (text, unit) in [("3 d", None), ("soon", Some("d")), ("3 m", Some("d")), ("inf", None), ("", None)]
        {
            assert!(model_time(text, unit).is_err(), "{text}");
        }
    }
}
