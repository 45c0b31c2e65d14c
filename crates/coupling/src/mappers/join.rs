//! Mappers between one message and several: gathering those of the slots of a port, scattering one over slots, and
//! combining those of several ports.

use super::{element_by_element, name_of, on};
use crate::files::{in_rows, together};
use crate::numbers::{numbers_of, with_elements};
use crate::settings::{self, unfit};
use ligament_catalogue::{fault, Fault};
use ligament_instance::{Array, Error, Inputs, Instance, Mapper, Message, Order, Outputs, Value};
use ligament_wire::Element;

#[derive(Clone, Copy, PartialEq)]
enum Form {
    List,
    Stack,
    Join,
}

/// One message of those of all slots.
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
    fn map(&mut self, inputs: &Inputs, outputs: &mut Outputs<'_>) -> Result<(), Error> {
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

/// A number as an array without axes.
fn one_element<T: Element>(number: T) -> Result<Array, Fault> {
    Array::from_slice(&[number], &[], Order::RowMajor).map_err(|error| fault!(CANNOT_MAP, "{error}"))
}

/// Arrays along a new first axis, or along the first one that they have.
fn put_together(values: &[Value], form: Form) -> Result<Value, Fault> {
    // Whole numbers beside others are numbers like them.
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
                "the array for slot {slot} is of {} with shape {:?}, which does not go together with {} of shape {:?}",
                array.dtype().name(),
                array.shape(),
                first.dtype().name(),
                first.shape()
            ));
        }
        along += if form == Form::Join { array.shape()[0] } else { 1 };
        match array.order() == Order::RowMajor && array.own_strides().is_none() {
            true => bytes.extend_from_slice(&together(array)),
            false => in_rows(array, |element| bytes.extend_from_slice(element)),
        }
    }
    let shape: Vec<u64> = std::iter::once(along).chain(wanted).collect();
    let array = Array::new(first.dtype(), &shape, Order::RowMajor, bytes.into(), None);
    array.map(Value::Array).map_err(|error| fault!(CANNOT_MAP, "they do not go into one array: {error}"))
}

/// A part of a list, or of an array along its first axis, for each slot. Parts are as equal as they can be; the first
/// ones are one longer.
pub(crate) struct Scatter;

impl Mapper for Scatter {
    fn map(&mut self, inputs: &Inputs, outputs: &mut Outputs<'_>) -> Result<(), Error> {
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

/// A part of a value for each slot.
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

/// Where the parts begin and end.
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
        let part = Array::new(array.dtype(), &shape, Order::RowMajor, data.into(), None);
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

/// One message of those of all ports.
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
    fn map(&mut self, inputs: &Inputs, outputs: &mut Outputs<'_>) -> Result<(), Error> {
        let who = name_of(outputs);
        if self.0 == How::Map {
            return outputs.send_to_all(&Value::Map(by_port(inputs)));
        }
        let how = self.0;
        let function = move |a: f64, b: f64| match how {
            How::Min => a.min(b),
            How::Max => a.max(b),
            How::Product => a * b,
            _ => a + b,
        };
        let count = inputs.messages().count();
        let mut values = inputs.messages().map(|message| &message.data);
        let Some(first) = values.next() else { return outputs.send_to_all(&Value::None) };
        let mut made = numbers_of(first, &who)?.into_value();
        for value in values {
            made = element_by_element(&who, &made, value, function)?.into_value();
        }
        if how == How::Mean {
            let sum = numbers_of(&made, &who)?;
            let elements = sum.to_f64().iter().map(|element| element / count as f64).collect();
            made = with_elements(sum, elements).into_value();
        }
        outputs.send_to_all(&made)
    }
}

/// The values by the names of their ports; those of a port's slots in a list, also if it has one slot.
fn by_port(inputs: &Inputs) -> Vec<(String, Value)> {
    let value = |is_vector: bool, messages: &[Message]| match (is_vector, messages) {
        (false, [one]) => one.data.clone(),
        _ => Value::List(messages.iter().map(|message| message.data.clone()).collect()),
    };
    inputs.iter().map(|(port, is_vector, messages)| (port.to_owned(), value(is_vector, messages))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let columns = Array::from_slice(&[1.0, 2.0, 3.0, 4.0], &[2, 2], Order::ColumnMajor).unwrap();
        let rows = Array::from_slice(&[5.0, 6.0], &[1, 2], Order::RowMajor).unwrap();
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
