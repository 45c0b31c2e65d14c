//! Mappers between one message and several: `Gather` joins the messages of a port's slots, `Scatter`
//! distributes one message over slots, and `Combine` combines the messages of several ports.

use super::{element_by_element, name_of, on};
use crate::files::{in_rows, together};
use crate::numbers::{in_one_precision, numbers_of};
use crate::settings::{self, unfit};
use ligament_catalogue::{fault, Fault};
use ligament_filters::{sums, unit_of_difference, Conversion, Data, NumberBuffer, NumberFrame, Unit};
use ligament_instance::{Array, ArrayOrder, Error, Instance, Mapper, MapperInputs, Message, Outputs, Value};
use ligament_wire::{ArrayMeta, Element};

#[derive(Clone, Copy, PartialEq)]
enum Form {
    List,
    Stack,
    Join,
}

/// A mapper that makes one message of the messages of all slots of a port.
pub(crate) struct Gather(Form);

impl Gather {
    pub fn new(instance: &Instance) -> Result<Gather, Error> {
        Ok(Gather(match settings::text(instance, "as")?.as_deref() {
            Some("stack") => Form::Stack,
            Some("join") => Form::Join,
            _ => Form::List,
        }))
    }
}

impl Mapper for Gather {
    fn map(&mut self, inputs: &MapperInputs, outputs: &mut Outputs<'_>) -> Result<(), Error> {
        let who = name_of(outputs);
        let values: Vec<Value> = inputs.messages().map(|message| message.data.clone()).collect();
        let made = match self.0 {
            Form::List => Value::List(values),
            form => {
                put_together(&values, form).map_err(|why| unfit(why.told(|why| format!("{who}: {why}"))))?
            }
        };
        outputs.send_to_all(&made)
    }
}

/// Returns a number as an array without axes.
fn one_element<T: Element>(number: T) -> Result<Array, Fault> {
    Array::from_slice(&[number], &[], ArrayOrder::RowMajor).map_err(|error| fault!(CANNOT_MAP, "{error}"))
}

/// Joins arrays along a new first axis, or along their first axis.
fn put_together(values: &[Value], form: Form) -> Result<Value, Fault> {
    // If one value has a fraction, whole numbers become doubles.
    let with_fractions = values.iter().any(|value| matches!(value, Value::Float(_)));
    let mut arrays = Vec::with_capacity(values.len());
    for (slot, value) in values.iter().enumerate() {
        arrays.push(match value {
            Value::Array(array) => array.clone(),
            Value::Float(number) => one_element(*number)?,
            Value::Int(number) if with_fractions => one_element(*number as f64)?,
            Value::UInt(number) if with_fractions => one_element(*number as f64)?,
            Value::Int(number) => one_element(*number)?,
            Value::UInt(number) => one_element(*number)?,
            Value::Bool(truth) => one_element(*truth)?,
            _ => return Err(fault!(CANNOT_MAP, "what came for slot {slot} is no array and no number")),
        });
    }
    if arrays.iter().any(|array| array.unit() != arrays[0].unit()) {
        in_one_unit(&mut arrays)?;
    }
    let Some(first) = arrays.first() else { return Ok(Value::None) };
    let inner = |array: &Array| match form {
        Form::Join => array.shape().get(1..).map(<[u64]>::to_vec),
        _ => Some(array.shape().to_vec()),
    };
    let wanted = inner(first)
        .ok_or_else(|| fault!(CANNOT_MAP, "numbers have no axis along which they can be joined"))?;
    let mut bytes = Vec::new();
    let mut along = 0;
    for (slot, array) in arrays.iter().enumerate() {
        if array.dtype() != first.dtype() || inner(array).as_ref() != Some(&wanted) {
            return Err(fault!(
                CANNOT_MAP,
                "the array for slot {slot} is of {} with shape {:?}, which does not go together with {} of \
                 shape {:?}",
                array.dtype().name(),
                array.shape(),
                first.dtype().name(),
                first.shape()
            ));
        }
        along += if form == Form::Join { array.shape()[0] } else { 1 };
        if array.order() == ArrayOrder::RowMajor && array.own_strides().is_none() {
            bytes.extend_from_slice(&together(array))
        } else {
            in_rows(array, |element| bytes.extend_from_slice(element))
        }
    }
    let shape: Vec<u64> = std::iter::once(along).chain(wanted).collect();
    // A new axis has no name, so a stack has no names.
    let named = form == Form::Join && arrays.iter().all(|array| array.names() == first.names());
    let names = if named { first.names().to_vec() } else { Vec::new() };
    let array =
        Array::new(first.dtype(), &shape, ArrayOrder::RowMajor, bytes.into(), meta(names, first.unit()));
    array.map(Value::Array).map_err(|error| fault!(CANNOT_MAP, "they do not go into one array: {error}"))
}

/// Converts arrays to the unit of the first one. Integers become doubles, because a factor may be a fraction.
fn in_one_unit(arrays: &mut [Array]) -> Result<(), Fault> {
    let unit = arrays[0].unit().map(str::to_owned);
    for (slot, array) in arrays.iter_mut().enumerate() {
        let refused = |why: Fault| {
            fault!(CANNOT_MAP, "the array for slot {slot} does not go together with the first: {why}")
        };
        let mut data = Data::Kept(Value::Array(array.clone()));
        let mut numbers = NumberBuffer::with_complex(&mut data).map_err(refused)?;
        if let Some(conversion) =
            Conversion::between(numbers.frame.unit.as_deref(), unit.as_deref()).map_err(refused)?
        {
            numbers = conversion.of(numbers).map_err(refused)?;
        }
        numbers.frame.unit.clone_from(&unit);
        if let Value::Array(converted) = numbers.into_own().into_value() {
            *array = converted;
        }
    }
    Ok(())
}

/// Returns the names of axes and the unit, if there are any.
fn meta(names: Vec<String>, unit: Option<&str>) -> Option<ArrayMeta> {
    let plain = names.is_empty() && unit.is_none();
    (!plain).then(|| ArrayMeta { names, unit: unit.map(str::to_owned), strides: None })
}

/// A mapper that sends a part of a list, or of an array along its first axis, to each slot. The lengths of
/// the parts differ by one at most, and the longer parts come first.
pub(crate) struct Scatter;

impl Mapper for Scatter {
    fn map(&mut self, inputs: &MapperInputs, outputs: &mut Outputs<'_>) -> Result<(), Error> {
        let who = name_of(outputs);
        let refuse = |why: Fault| unfit(why.told(|why| format!("{who}: {why}")));
        let value = &on(inputs, "in", &who)?.data;
        for (port, slots) in outputs.ports()? {
            let Some(slots) = slots else {
                return Err(refuse(fault!(
                    CANNOT_MAP,
                    "its port \"{port}\" has no slots; join it to a component with a multiplicity"
                )));
            };
            let parts = parts(value, slots).map_err(refuse)?;
            for (part, slot) in parts.iter().zip(0..) {
                outputs.send(&port, part, Some(slot))?;
            }
        }
        Ok(())
    }
}

/// Returns a part of a value for each slot.
fn parts(value: &Value, slots: usize) -> Result<Vec<Value>, Fault> {
    match value {
        Value::List(items) if items.len() == slots => Ok(items.clone()),
        Value::List(items) => {
            Ok(bounds(items.len(), slots).map(|(from, to)| Value::List(items[from..to].to_vec())).collect())
        }
        Value::Array(array) if array.ndim() > 0 => parts_of(array, slots),
        _ => Err(fault!(CANNOT_MAP, "it takes a list, or an array that has an axis")),
    }
}

/// Returns begin and end of each part.
fn bounds(length: usize, parts: usize) -> impl Iterator<Item = (usize, usize)> {
    let (each, more) = (length / parts.max(1), length % parts.max(1));
    (0..parts).map(move |i| (i * each + i.min(more), (i + 1) * each + (i + 1).min(more)))
}

fn parts_of(array: &Array, slots: usize) -> Result<Vec<Value>, Fault> {
    let length = array.shape()[0] as usize;
    let row: u64 = array.shape()[1..].iter().product();
    let row = row as usize * array.dtype().size();
    let mut bytes = Vec::with_capacity(array.nbytes() as usize);
    in_rows(array, |element| bytes.extend_from_slice(element));
    let part = |(from, to): (usize, usize)| {
        let mut shape = array.shape().to_vec();
        shape[0] = (to - from) as u64;
        let data = bytes[from * row..to * row].to_vec();
        let meta = meta(array.names().to_vec(), array.unit());
        let part = Array::new(array.dtype(), &shape, ArrayOrder::RowMajor, data.into(), meta);
        part.map(Value::Array).map_err(|error| fault!(CANNOT_MAP, "a part of it is no array: {error}"))
    };
    bounds(length, slots).map(part).collect()
}

#[derive(Clone, Copy, PartialEq)]
enum How {
    Map,
    Sum,
    Mean,
    Min,
    Max,
    Product,
}

/// A mapper that combines the messages of all ports into one.
pub(crate) struct Combine(How);

impl Combine {
    pub fn new(instance: &Instance) -> Result<Combine, Error> {
        Ok(Combine(match settings::text(instance, "as")?.as_deref() {
            Some("sum") => How::Sum,
            Some("mean") => How::Mean,
            Some("min") => How::Min,
            Some("max") => How::Max,
            Some("product") => How::Product,
            _ => How::Map,
        }))
    }
}

impl Mapper for Combine {
    fn map(&mut self, inputs: &MapperInputs, outputs: &mut Outputs<'_>) -> Result<(), Error> {
        let who = name_of(outputs);
        if self.0 == How::Map {
            return outputs.send_to_all(&Value::Map(by_port(inputs)));
        }
        let all: Vec<NumberBuffer<'static>> =
            inputs.messages().map(|message| numbers_of(&message.data, &who)).collect::<Result<_, _>>()?;
        if all.is_empty() {
            return outputs.send_to_all(&Value::None);
        }
        let made = combined(all, self.0).map_err(|why| unfit(fault!(CANNOT_MAP, "{who}: {why}")))?;
        outputs.send_to_all(&made.into_value())
    }
}

/// Combines the numbers of several messages, of which there is at least one.
fn combined(mut all: Vec<NumberBuffer<'static>>, how: How) -> Result<NumberBuffer<'static>, Fault> {
    in_one_precision(&mut all);
    let units: Vec<Option<&str>> = all.iter().map(|numbers| numbers.frame.unit.as_deref()).collect();
    let place = if how == How::Sum { place_of_sum(&units)? } else { 0 };
    let mut frame = all[place].frame.clone();
    if how == How::Product {
        frame.unit = unit_of_product(&units)?;
        all.iter_mut().for_each(|numbers| numbers.frame.unit.clone_from(&frame.unit));
    } else if let Some(of_difference) = frame.unit.as_deref().and_then(unit_of_difference) {
        if how == How::Sum {
            // The other values are differences of temperatures. They stay differences when they are converted
            // to the temperature's degrees.
            for numbers in all.iter_mut().enumerate().filter(|(i, _)| *i != place).map(|(_, numbers)| numbers) {
                let like = NumberFrame { unit: Some(of_difference.to_owned()), ..numbers.frame.clone() };
                *numbers = numbers.clone().aligned_with(&like)?.into_own();
                numbers.frame.unit.clone_from(&frame.unit);
            }
        }
    }
    element_by_element(all, &frame, |column| match how {
        How::Mean => sums::mean(column),
        How::Min => column.iter().copied().reduce(sums::min).unwrap_or(f64::NAN),
        How::Max => column.iter().copied().reduce(sums::max).unwrap_or(f64::NAN),
        How::Product => sums::product(column),
        How::Sum | How::Map => sums::sum(column),
    })
}

/// Returns the position of the message whose unit the sum gets. Differences of temperatures may be added to one
/// temperature; the sum of two temperatures is an error.
fn place_of_sum(units: &[Option<&str>]) -> Result<usize, Fault> {
    let is = |unit: &Option<&str>, what: fn(&Unit) -> bool| {
        unit.is_some_and(|unit| Unit::parse(unit).is_ok_and(|unit| what(&unit)))
    };
    let Some(point) = units.iter().position(|unit| is(unit, Unit::is_a_point)) else { return Ok(0) };
    let mut others = units.iter().enumerate().filter(|(i, _)| *i != point);
    if others.all(|(_, unit)| is(unit, Unit::is_a_difference)) {
        Ok(point)
    } else {
        Err(fault!(
            CANNOT_MAP,
            "temperatures in \"{}\" have no sum; convert them to K before, or add differences (delta_degC, \
             delta_degF)",
            units[point].unwrap_or_default()
        ))
    }
}

/// Returns the unit of a product, which is the product of the units. Numbers without a unit have no effect on
/// it.
fn unit_of_product(units: &[Option<&str>]) -> Result<Option<String>, Fault> {
    let known: Vec<&str> = units.iter().flatten().copied().collect();
    let point = known.iter().find(|unit| Unit::parse(unit).is_ok_and(|unit| unit.is_a_point()));
    match point {
        Some(unit) if units.len() > 1 => {
            Err(fault!(CANNOT_MAP, "temperatures in \"{unit}\" have no product; convert them to K before"))
        }
        _ => Ok((!known.is_empty()).then(|| known.join(" "))),
    }
}

/// Returns the values by the names of their ports. The values of a port with slots are in a list, even if the
/// port has one slot.
fn by_port(inputs: &MapperInputs) -> Vec<(String, Value)> {
    let value = |is_vector: bool, messages: &[Message]| match (is_vector, messages) {
        (false, [one]) => one.data.clone(),
        _ => Value::List(messages.iter().map(|message| message.data.clone()).collect()),
    };
    inputs.iter().map(|(port, is_vector, messages)| (port.to_owned(), value(is_vector, messages))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_unit(value: f64, unit: &str) -> Array {
        let array = Array::from_slice(&[value], &[1], ArrayOrder::RowMajor).unwrap();
        if unit.is_empty() {
            array
        } else {
            array.with_unit(unit)
        }
    }

    fn numbers(value: f64, unit: &str) -> NumberBuffer<'static> {
        numbers_of(&Value::Array(in_unit(value, unit)), "a").unwrap()
    }

    #[test]
    fn messages_are_combined_in_one_unit_or_refused() {
        use How::{Max, Mean, Min, Product, Sum};
        for (how, one, two, expected) in [
            (Sum, (1.0, "m"), (1.0, "km"), (1001.0, "m")),
            (Mean, (1.0, "km"), (1.0, "m"), (0.5005, "km")),
            (Max, (900.0, "m"), (1.0, "km"), (1000.0, "m")),
            (Min, (300.0, "K"), (20.0, "degC"), (293.15, "K")),
            (Mean, (20.0, "degC"), (50.0, "degF"), (15.0, "degC")),
            (Product, (2.0, "m"), (3.0, "km/h"), (6.0, "m km/h")),
            (Product, (2.0, ""), (3.0, "m"), (6.0, "m")),
            (Product, (2.0, ""), (3.0, ""), (6.0, "")),
            (Sum, (20.0, "degC"), (9.0, "delta_degF"), (25.0, "degC")),
            (Sum, (9.0, "delta_degF"), (20.0, "degC"), (25.0, "degC")),
            (Sum, (2.0, "dBZ"), (3.0, "dBZ"), (5.0, "dBZ")),
            (Mean, (1.7e308, ""), (1.7e308, ""), (1.7e308, "")),
        ] {
            let made = combined(vec![numbers(one.0, one.1), numbers(two.0, two.1)], how);
            let made = made.unwrap_or_else(|why| panic!("{one:?}, {two:?}: {why}"));
            let found = made.to_f64()[0];
            assert!((found / expected.0 - 1.0).abs() < 1e-14, "{one:?}, {two:?}: {found}");
            assert_eq!(made.frame.unit.as_deref().unwrap_or_default(), expected.1, "{one:?}, {two:?}");
        }
        let different = "they measure different things";
        for (how, one, two, why) in [
            (Sum, "m", "s", different),
            (Max, "m", "", "one is in \"m\", and the other has no unit"),
            (Mean, "degC", "delta_degC", different),
            (Sum, "degC", "degC", "temperatures in \"degC\" have no sum"),
            (Sum, "K", "degF", "temperatures in \"degF\" have no sum"),
            (Product, "", "degC", "temperatures in \"degC\" have no product"),
            (Min, "dBZ", "PSU", "there is no unit \"dBZ\""),
        ] {
            for (one, two) in [(one, two), (two, one)] {
                let said = combined(vec![numbers(1.0, one), numbers(2.0, two)], how).unwrap_err();
                assert!(
                    said.contains(why) || why.contains("dBZ") && said.contains("PSU"),
                    "{one}, {two}: {said}"
                );
            }
        }
    }

    #[test]
    fn nan_stays_and_infinity_counts_in_what_is_combined() {
        use How::{Max, Mean, Min, Product, Sum};
        for how in [Sum, Mean, Min, Max, Product] {
            for (one, two) in [(f64::NAN, 2.0), (2.0, f64::NAN), (f64::INFINITY, f64::NAN)] {
                let made = combined(vec![numbers(one, ""), numbers(two, "")], how).unwrap();
                assert!(made.to_f64()[0].is_nan(), "{one}, {two}");
            }
        }
        let most = combined(vec![numbers(f64::INFINITY, ""), numbers(2.0, "")], Max).unwrap();
        assert_eq!(most.to_f64()[0], f64::INFINITY);
    }

    #[test]
    fn arrays_go_together_in_the_unit_of_the_first() {
        let put = |one: Array, two: Array, form| put_together(&[Value::Array(one), Value::Array(two)], form);
        for form in [Form::Stack, Form::Join] {
            let Ok(Value::Array(made)) = put(in_unit(1.0, "m"), in_unit(1.0, "km"), form) else { panic!() };
            assert_eq!((made.as_slice::<f64>(), made.unit()), (Some(&[1.0, 1000.0][..]), Some("m")));
            let whole = |unit| Array::from_slice(&[7i32], &[1], ArrayOrder::RowMajor).unwrap().with_unit(unit);
            let Ok(Value::Array(made)) = put(whole("m"), whole("cm"), form) else { panic!() };
            assert_eq!(made.as_slice::<f64>(), Some(&[7.0, 0.07][..]));
            let Ok(Value::Array(made)) = put(whole("m"), whole("m"), form) else { panic!() };
            assert_eq!((made.as_slice::<i32>(), made.unit()), (Some(&[7, 7][..]), Some("m")));
            let said = put(in_unit(1.0, "m"), in_unit(1.0, "s"), form).unwrap_err();
            assert!(said.contains("slot 1") && said.contains("they measure different things"), "{said}");
            assert!(put(in_unit(1.0, "m"), in_unit(1.0, ""), form)
                .unwrap_err()
                .contains("the other has no unit"));
        }
    }

    #[test]
    fn parts_are_as_equal_as_they_can_be() {
        let all = |length, parts| bounds(length, parts).collect::<Vec<_>>();
        assert_eq!(all(7, 3), [(0, 3), (3, 5), (5, 7)]);
        assert_eq!(all(2, 3), [(0, 1), (1, 2), (2, 2)]);
    }

    #[test]
    fn whole_numbers_and_truths_are_stacked_as_numbers_are() {
        let stacked = |values: &[Value]| match put_together(values, Form::Stack).unwrap() {
            Value::Array(array) => array,
            other => panic!("{other:?}"),
        };
        let whole = stacked(&[Value::Int(3), Value::Int(-4)]);
        assert_eq!((whole.shape(), whole.as_slice::<i64>()), (&[2][..], Some(&[3, -4][..])));
        let mixed = stacked(&[Value::Int(3), Value::Float(0.5)]);
        assert_eq!(mixed.as_slice::<f64>(), Some(&[3.0, 0.5][..]));
        let truths = stacked(&[Value::Bool(true), Value::Bool(false)]);
        assert_eq!(truths.shape(), [2]);
    }

    #[test]
    fn columns_are_put_together_in_rows() {
        let columns = Array::from_slice(&[1.0, 2.0, 3.0, 4.0], &[2, 2], ArrayOrder::ColumnMajor).unwrap();
        let rows = Array::from_slice(&[5.0, 6.0], &[1, 2], ArrayOrder::RowMajor).unwrap();
        let joined =
            put_together(&[Value::Array(columns.clone()), Value::Array(rows.clone())], Form::Join).unwrap();
        let Value::Array(joined) = joined else { panic!() };
        assert_eq!(
            (joined.shape(), joined.as_slice::<f64>()),
            (&[3, 2][..], Some(&[1.0, 3.0, 2.0, 4.0, 5.0, 6.0][..]))
        );
        assert!(put_together(&[Value::Array(columns), Value::Array(rows)], Form::Stack).is_err());
    }
}
