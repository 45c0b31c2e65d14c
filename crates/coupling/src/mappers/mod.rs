//! Mappers that come with Ligament.

mod join;
mod mesh;
mod radial;

pub(crate) use join::{Combine, Gather, Scatter};
pub(crate) use mesh::Mesh;

use crate::numbers::{in_one_precision, numbers_of};
use crate::settings::{self, unfit};
use ligament_catalogue::{fault, Fault};
use ligament_filters::{
    unit_of_difference, Chain, Data, FilterContext, NumberBuffer, NumberFrame, Parcel, Real, Unit,
};
use ligament_instance::{Error, Instance, LogLevel, Mapper, MapperInputs, Message, Outputs, Value};
use ligament_model::{At, Filter, FilterValue, OnError};
use std::borrow::Cow;

/// Returns the message of a port. For a port with slots, this is the message of slot 0.
pub(crate) fn on<'a>(inputs: &'a MapperInputs, port: &str, who: &str) -> Result<&'a Message, Error> {
    inputs.slots(port).ok().and_then(<[Message]>::first).ok_or_else(|| {
        unfit(fault!(CANNOT_MAP, "{who}: nothing is connected to its port \"{port}\"; connect it in the model"))
    })
}

/// Returns the name of the instance for errors.
pub(crate) fn name_of(outputs: &mut Outputs<'_>) -> String {
    outputs.instance().name().to_owned()
}

/// A mapper that sends the same message to each receiver.
pub(crate) struct Duplicate;

impl Mapper for Duplicate {
    fn map(&mut self, inputs: &MapperInputs, outputs: &mut Outputs<'_>) -> Result<(), Error> {
        let who = name_of(outputs);
        outputs.send_to_all(&on(inputs, "in", &who)?.data)
    }
}

/// Applies a function to the elements of several messages at the same position, and returns the results. The
/// messages must be in one precision. They are first converted to the unit of `frame`.
pub(crate) fn element_by_element(
    all: Vec<NumberBuffer<'static>>,
    frame: &NumberFrame,
    function: impl Fn(&[f64]) -> f64,
) -> Result<NumberBuffer<'static>, Fault> {
    let single = all.iter().all(|numbers| matches!(numbers.real, Real::F32(_)));
    let aligned: Vec<NumberBuffer<'_>> =
        all.into_iter().map(|numbers| numbers.aligned_with(frame)).collect::<Result<_, _>>()?;
    let columns: Vec<Cow<'_, [f64]>> = aligned.iter().map(NumberBuffer::to_f64).collect();
    let count = columns.first().map_or(0, |first| first.len());
    let mut column = vec![0.0; columns.len()];
    let made = (0..count).map(|i| {
        column.iter_mut().zip(&columns).for_each(|(x, elements)| *x = elements[i]);
        function(&column)
    });
    let real = if single { Real::F32(made.map(|x| x as f32).collect()) } else { Real::F64(made.collect()) };
    Ok(NumberBuffer { real, frame: frame.clone() })
}

/// A mapper that subtracts the message on `b` from the message on `a`.
pub(crate) struct Difference;

impl Mapper for Difference {
    fn map(&mut self, inputs: &MapperInputs, outputs: &mut Outputs<'_>) -> Result<(), Error> {
        let who = name_of(outputs);
        let (a, b) = (on(inputs, "a", &who)?, on(inputs, "b", &who)?);
        let mut both = [numbers_of(&a.data, &who)?, numbers_of(&b.data, &who)?];
        in_one_precision(&mut both);
        let [a, b] = both;
        let made = difference(a, b);
        let made = made.map_err(|why| unfit(fault!(CANNOT_MAP, "{who}: {why}")))?;
        outputs.send_to_all(&made.into_value())
    }
}

/// Returns the difference in the unit of `a`. If both are temperatures, the result is a difference of
/// temperatures, which has another unit. A temperature minus a difference of temperatures is a temperature.
fn difference(a: NumberBuffer<'static>, mut b: NumberBuffer<'static>) -> Result<NumberBuffer<'static>, Fault> {
    let mut frame = a.frame.clone();
    let (unit, subtracted) = (a.frame.unit.as_deref(), b.frame.unit.as_deref());
    if let Some(of_difference) = unit.and_then(unit_of_difference) {
        let of_difference = Some(of_difference.to_owned());
        if subtracted.is_some_and(|unit| Unit::parse(unit).is_ok_and(|unit| unit.is_a_difference())) {
            b = b.aligned_with(&NumberFrame { unit: of_difference, ..frame.clone() })?.into_own();
            b.frame.unit.clone_from(&frame.unit);
        } else {
            b = b.aligned_with(&frame)?.into_own();
            frame.unit.clone_from(&of_difference);
            b.frame.unit = of_difference;
        }
    }
    let a = NumberBuffer { frame: NumberFrame { unit: frame.unit.clone(), ..a.frame }, real: a.real };
    element_by_element(vec![a, b], &frame, |both| both[0] - both[1])
}

/// A mapper that puts arrays onto another regular grid over the same extent, by the filter `resample`.
pub(crate) struct Regrid(Chain);

impl Regrid {
    pub fn new(instance: &Instance) -> Result<Regrid, Error> {
        let shape = settings::whole_numbers(instance, "shape")?.unwrap_or_default();
        let counts: Option<Vec<u64>> =
            shape.iter().map(|&n| u64::try_from(n).ok().filter(|&n| n > 0)).collect();
        let counts = counts.filter(|counts| !counts.is_empty()).ok_or_else(|| {
            settings::wrong(fault!(
                SHIPPED_SETTING_WRONG,
                "\"shape\" is {shape:?}; give a number above 0 for each axis"
            ))
        })?;
        let mut parameters = vec![("shape", FilterValue::Counts(counts))];
        for name in ["method", "points", "masked"] {
            parameters.extend(settings::text(instance, name)?.map(|text| (name, FilterValue::Text(text))));
        }
        let filter =
            Filter { name: "resample", parameters, end: None, on_error: OnError::End, at: At::default() };
        match Chain::at_receiver(&[filter], &FilterContext::NOTHING) {
            Ok(Some(chain)) => Ok(Regrid(chain)),
            Ok(None) => Err(settings::wrong(fault!(SHIPPED_SETTING_WRONG, "\"shape\" is missing"))),
            Err(failure) => Err(settings::wrong(fault!(SHIPPED_SETTING_WRONG, "{}", failure.cause))),
        }
    }
}

impl Mapper for Regrid {
    fn map(&mut self, inputs: &MapperInputs, outputs: &mut Outputs<'_>) -> Result<(), Error> {
        let who = name_of(outputs);
        let message = on(inputs, "in", &who)?;
        let data = Data::Kept(message.data.clone());
        let parcel = Parcel { timestamp: message.timestamp, next_timestamp: message.next_timestamp, data };
        let refused = |why: String| unfit(fault!(CANNOT_MAP, "{who}: {why}"));
        let passed = self.0.apply(parcel).map_err(|failure| refused(failure.cause.text().to_owned()))?;
        for said in passed.said {
            outputs.instance().log(LogLevel::Warning, &said.text)?;
        }
        let made = passed.parcels.into_iter().next().map(|parcel| parcel.data.into_value());
        let made = made.unwrap_or(Ok(Value::None)).map_err(|why| refused(why.text().to_owned()))?;
        outputs.send_to_all(&made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ligament_instance::{Array, ArrayOrder};

    #[test]
    fn differences_are_in_the_unit_of_the_first_and_those_of_temperatures_in_one_of_their_own() {
        let numbers = |value: f64, unit: &str| {
            let array = Array::from_slice(&[value], &[1], ArrayOrder::RowMajor).unwrap();
            let array = if unit.is_empty() { array } else { array.with_unit(unit) };
            numbers_of(&Value::Array(array), "a").unwrap()
        };
        for (one, two, expected) in [
            ((3.0, ""), (1.0, ""), (2.0, "")),
            ((1.0, "km"), (1.0, "m"), (0.999, "km")),
            ((25.0, "degC"), (20.0, "°C"), (5.0, "delta_degC")),
            ((25.0, "degC"), (293.15, "K"), (5.0, "delta_degC")),
            ((50.0, "degF"), (0.0, "degC"), (18.0, "delta_degF")),
            ((25.0, "degC"), (9.0, "delta_degF"), (20.0, "degC")),
            ((9.0, "delta_degC"), (2.0, "delta_degC"), (7.0, "delta_degC")),
            ((300.0, "K"), (20.0, "K"), (280.0, "K")),
        ] {
            let made = difference(numbers(one.0, one.1), numbers(two.0, two.1)).unwrap();
            let found = made.to_f64()[0];
            assert!((found / expected.0 - 1.0).abs() < 1e-12, "{one:?}, {two:?}: {found}");
            assert_eq!(made.frame.unit.as_deref().unwrap_or_default(), expected.1, "{one:?}, {two:?}");
        }
        for (one, two) in [("m", "s"), ("m", ""), ("", "m"), ("delta_degC", "degC"), ("degC", "")] {
            assert!(difference(numbers(1.0, one), numbers(2.0, two)).is_err(), "{one}, {two}");
        }
    }
}
