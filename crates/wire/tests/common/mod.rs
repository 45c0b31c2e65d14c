//! Functions for several tests: they make arbitrary values, arrays with strides and headers, and write a
//! value to a body and read it again.
#![allow(dead_code)]

use ligament_wire::Bytes;
use ligament_wire::*;
use proptest::collection::vec;
use proptest::prelude::*;

pub fn body_of(value: &ValueRef<'_>) -> (u16, Vec<u8>) {
    let mut encoder = Encoder::new();
    let plan = encoder.plan(value).unwrap();
    let mut body = vec![0xee; plan.body_len() as usize];
    plan.write_body(&mut body);
    (plan.parts(), body)
}

pub fn receive(value: &ValueRef<'_>) -> Value {
    let (parts, body) = body_of(value);
    decode_body(parts, Bytes::from(body), &Limits::default()).unwrap()
}

/// Compares two values. Doubles are equal if their bits are, so NaN equals NaN.
pub fn same(left: &Value, right: &Value) -> bool {
    format!("{left:?}") == format!("{right:?}")
}

pub fn any_dtype() -> impl Strategy<Value = DType> {
    (0..DType::ALL.len()).prop_map(|index| DType::ALL[index])
}

pub fn any_order() -> impl Strategy<Value = ArrayOrder> {
    prop_oneof![Just(ArrayOrder::RowMajor), Just(ArrayOrder::ColumnMajor)]
}

pub fn any_array() -> impl Strategy<Value = Array> {
    (any_dtype(), vec(0_u64..4, 0..=8), any_order(), any::<u8>(), any::<bool>(), any::<Option<String>>())
        .prop_map(|(dtype, shape, order, seed, named, unit)| {
            let len = shape.iter().product::<u64>() as usize * dtype.size();
            let data: Vec<u8> = (0..len).map(|byte| seed.wrapping_add(byte as u8)).collect();
            let names =
                if named { (0..shape.len()).map(|axis| format!("axis {axis}")).collect() } else { Vec::new() };
            let meta = (named || unit.is_some()).then_some(ArrayMeta { names, unit, strides: None });
            let meta = meta.filter(|meta| !meta.names.is_empty() || meta.unit.is_some());
            Array::new(dtype, &shape, order, Bytes::from(data), meta).unwrap()
        })
}

fn any_setting() -> impl Strategy<Value = SettingValue> {
    prop_oneof![
        any::<bool>().prop_map(SettingValue::Bool),
        any::<i64>().prop_map(SettingValue::Int),
        any::<f64>().prop_map(SettingValue::Float),
        any::<String>().prop_map(SettingValue::String),
        vec(any::<i64>(), 0..5).prop_map(SettingValue::IntList),
        vec(any::<f64>(), 1..5).prop_map(SettingValue::FloatList),
        vec(vec(any::<f64>(), 0..5), 1..5).prop_map(SettingValue::FloatGrid),
    ]
}

pub fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::None),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        (i64::MAX as u64 + 1..).prop_map(Value::UInt),
        any::<f64>().prop_map(Value::Float),
        any::<(f64, f64)>().prop_map(|(re, im)| Value::Complex(re, im)),
        any::<String>().prop_map(Value::String),
        vec(any::<u8>(), 0..200).prop_map(|bytes| Value::Bytes(Bytes::from(bytes))),
        any_array().prop_map(Value::Array),
        vec((any::<String>(), any_setting()), 0..5).prop_map(Value::Settings),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::List),
            vec((any::<String>(), inner), 0..6).prop_map(Value::Map),
        ]
    })
}

/// A view into a larger row-major array, with strides as after slicing, reversing, transposing or
/// broadcasting.
#[derive(Debug)]
pub struct Strided {
    dtype: DType,
    shape: Vec<u64>,
    strides: Vec<i64>,
    order: ArrayOrder,
    data: Vec<u8>,
    offset: usize,
}

impl Strided {
    pub fn array(&self) -> ArrayRef<'_> {
        ArrayRef {
            dtype: self.dtype,
            shape: &self.shape,
            strides: Some(&self.strides),
            order: self.order,
            data: &self.data,
            offset: self.offset,
            names: &[],
            unit: None,
        }
    }

    /// Returns the elements one by one, for each combination of indices.
    pub fn expected(&self) -> Vec<u8> {
        let total: u64 = self.shape.iter().product();
        let mut bytes = Vec::new();
        for count in 0..total {
            let mut rest = count;
            let mut at = self.offset as i64;
            let mut step = |axis: usize| {
                at += (rest % self.shape[axis]) as i64 * self.strides[axis];
                rest /= self.shape[axis];
            };
            match self.order {
                ArrayOrder::RowMajor => (0..self.shape.len()).rev().for_each(&mut step),
                ArrayOrder::ColumnMajor => (0..self.shape.len()).for_each(&mut step),
            }
            bytes.extend_from_slice(&self.data[at as usize..at as usize + self.dtype.size()]);
        }
        bytes
    }
}

pub fn any_strided() -> impl Strategy<Value = Strided> {
    let axis = (0_u64..5, -2_i64..=3, 0_u64..2);
    (any_dtype(), vec(axis, 0..=5), any_order(), any::<u64>()).prop_map(|(dtype, axes, order, shuffle)| {
        // The elements of each axis lie `step` elements of a larger array apart. The axis of the larger array
        // may have one more element.
        let mut unit = dtype.size() as i64;
        let (mut shape, mut strides) = (Vec::new(), Vec::new());
        for (extent, step, spare) in axes {
            shape.push(extent);
            strides.push(step * unit);
            unit *= (extent as i64 * step.abs()).max(1) + spare as i64;
        }
        let swap = shuffle as usize % shape.len().max(1);
        if !shape.is_empty() {
            shape.rotate_left(swap);
            strides.rotate_left(swap);
        }
        let reach = |pick: fn(i64) -> i64| -> i64 {
            shape.iter().zip(&strides).map(|(&extent, &stride)| pick((extent as i64 - 1).max(0) * stride)).sum()
        };
        let (low, high) = (reach(|reach| reach.min(0)), reach(|reach| reach.max(0)));
        let len = (high - low) as usize + dtype.size();
        let data = (0..len).map(|byte| (byte as u64).wrapping_mul(0x9e37_79b9).to_le_bytes()[1]).collect();
        Strided { dtype, shape, strides, order, data, offset: -low as usize }
    })
}

pub fn any_header() -> impl Strategy<Value = Header> {
    let kind = prop_oneof![
        Just(MessageKind::Data),
        Just(MessageKind::End),
        Just(MessageKind::Overlay),
        Just(MessageKind::PassEnd),
        Just(MessageKind::Checkpoint),
        Just(MessageKind::Route),
        Just(MessageKind::Slot),
        Just(MessageKind::Milestone),
        Just(MessageKind::Carrier),
        (64_u8..=127).prop_map(MessageKind::Skip),
    ];
    let numbers = (any::<u32>(), any::<u64>(), any::<u32>(), any::<u16>(), any::<u16>(), 0..MAX_BODY);
    let times = (any::<f64>(), any::<Option<f64>>(), any::<Option<(i64, i64)>>());
    (kind, any::<bool>(), 0_u16..16, any::<u8>(), numbers, times).prop_map(
        |(kind, compressed, carrier, stamp, (conduit, sequence, overlay, epoch, parts, body_len), times)| {
            let (timestamp, next_timestamp, ticks) = times;
            Header {
                kind,
                compressed,
                carrier_flags: carrier << 12,
                stamp,
                conduit,
                sequence,
                timestamp,
                next_timestamp,
                ticks: ticks.map(|(now, _)| now),
                next_ticks: ticks.and_then(|(_, next)| next_timestamp.map(|_| next)),
                overlay,
                epoch,
                parts,
                body_len,
            }
        },
    )
}
