//! Tests of each filter with known answers: the values, times and number of messages, and the errors.

use ligament_catalogue::{fault, Fault};
use ligament_filters::{
    Chain, Data, FilterContext, FilterMemory, FilterRemark, FilterStep, Parcel, StepOutput, Unit,
};
use ligament_model::Filter;
use ligament_wire::{Array, ArrayOrder, ArrayRef, Value, ValueRef};
use proptest::prelude::*;

/// Makes the filters of a text from a model. All of them run at the receiver.
fn chain(text: &str) -> Chain {
    let filters = Filter::read(text).unwrap_or_else(|problems| panic!("{text}: {problems}"));
    Chain::at_receiver(&filters, &FilterContext::NOTHING)
        .unwrap_or_else(|failure| panic!("{failure}"))
        .expect("there are filters")
}

fn parcel(timestamp: f64, next: Option<f64>, data: Value) -> Parcel<'static> {
    Parcel { timestamp, next_timestamp: next, data: Data::Kept(data) }
}

fn doubles(elements: &[f64], shape: &[usize]) -> Value {
    Value::Array(Array::from_slice(elements, shape, ArrayOrder::RowMajor).unwrap())
}

/// The output of filters: timestamp, next timestamp and value of each message.
type Out = Vec<(f64, Option<f64>, Value)>;

fn out(passed: ligament_filters::ChainOutput<'_>) -> Out {
    passed.parcels.into_iter().map(|p| (p.timestamp, p.next_timestamp, p.data.into_value().unwrap())).collect()
}

/// Passes messages of single numbers at times 0, 1, … through filters, and then ends the filters.
fn numbers(text: &str, values: &[f64]) -> Out {
    let mut chain = chain(text);
    let mut all = Vec::new();
    for (i, &value) in values.iter().enumerate() {
        let (at, last) = (i as f64, i + 1 == values.len());
        let next = (!last).then_some(at + 1.0);
        all.extend(out(chain.apply(parcel(at, next, Value::Float(value))).unwrap()));
    }
    all.extend(out(chain.finish().unwrap()));
    all
}

/// Passes one value through filters, and returns the result.
fn one(text: &str, value: Value) -> Value {
    let mut all = out(chain(text).apply(parcel(0.0, None, value)).unwrap());
    assert_eq!(all.len(), 1);
    all.remove(0).2
}

fn refused(text: &str, value: Value) -> String {
    chain(text).apply(parcel(0.5, None, value)).err().map(|failure| failure.to_string()).unwrap_or_default()
}

fn elements(value: &Value) -> (Vec<f64>, Vec<u64>) {
    let Value::Array(array) = value else { panic!("{value:?}") };
    (array.as_slice::<f64>().unwrap().to_vec(), array.shape().to_vec())
}

fn float(value: f64) -> Value {
    Value::Float(value)
}

#[test]
fn every_keeps_the_first_of_n_and_says_when_the_next_one_comes() {
    let kept = numbers("[{every: 3}]", &[0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0]);
    assert_eq!(kept, [(0.0, Some(3.0), float(0.0)), (3.0, Some(6.0), float(30.0)), (6.0, None, float(60.0))]);
    assert_eq!(numbers("[{every: 1}]", &[1.0, 2.0]), [(0.0, Some(1.0), float(1.0)), (1.0, None, float(2.0))]);
}

#[test]
fn blocks_let_pass_from_a_time_on_or_up_to_it() {
    assert_eq!(
        numbers("[{block_until: 1.5}]", &[0.0, 1.0, 2.0, 3.0]),
        [(2.0, Some(3.0), float(2.0)), (3.0, None, float(3.0))]
    );
    assert_eq!(
        numbers("[{block_after: 1}]", &[0.0, 1.0, 2.0, 3.0]),
        [(0.0, Some(1.0), float(0.0)), (1.0, None, float(1.0))]
    );
    assert_eq!(numbers("[discard]", &[0.0, 1.0]), []);
}

#[test]
fn times_move_and_stretch_together() {
    assert_eq!(
        numbers("[{time_factor: 0.5}, {time_offset: 10}]", &[7.0, 8.0]),
        [(10.0, Some(10.5), float(7.0)), (10.5, None, float(8.0))]
    );
    let mut large = chain("[{time_factor: 1.0e+300}]");
    assert!(large.apply(parcel(1e300, None, Value::None)).is_err());
}

#[test]
fn interpolation_in_time_puts_messages_on_the_line_between_two() {
    assert_eq!(
        numbers("[{interpolate_time: 4}]", &[0.0, 8.0, 4.0]),
        [
            (0.0, Some(0.25), float(0.0)),
            (0.25, Some(0.5), float(2.0)),
            (0.5, Some(0.75), float(4.0)),
            (0.75, Some(1.0), float(6.0)),
            (1.0, Some(1.25), float(8.0)),
            (1.25, Some(1.5), float(7.0)),
            (1.5, Some(1.75), float(6.0)),
            (1.75, Some(2.0), float(5.0)),
            (2.0, None, float(4.0)),
        ]
    );
}

#[test]
fn a_message_that_goes_back_in_time_begins_a_new_series() {
    for text in ["[{interpolate_time: 2}]", "[{moving_average: 5}]"] {
        let mut chain = chain(text);
        chain.apply(parcel(5.0, None, float(100.0))).unwrap();
        let again = out(chain.apply(parcel(0.0, None, float(2.0))).unwrap());
        assert_eq!(again, [(0.0, None, float(2.0))], "{text}");
    }
    let mut chunk = chain("[{chunk: 3}]");
    assert!(chunk.apply(parcel(5.0, None, float(1.0))).unwrap().parcels.is_empty());
    assert_eq!(out(chunk.apply(parcel(0.0, None, float(2.0))).unwrap()).len(), 1);
}

#[test]
fn a_moving_average_is_the_mean_of_the_last_messages() {
    let means = numbers("[{moving_average: 3}]", &[3.0, 5.0, 10.0, 0.0, 2.0, 4.0, 6.0, 8.0]);
    let values: Vec<Value> = means.iter().map(|(.., value)| value.clone()).collect();
    assert_eq!(values, [3.0, 4.0, 6.0, 5.0, 4.0, 2.0, 4.0, 6.0].map(float));
    assert_eq!((means[1].0, means[1].1), (1.0, Some(2.0)));
}

#[test]
fn a_moving_average_recovers_from_a_number_that_is_none() {
    let means = numbers("[{moving_average: 2}]", &[1.0, f64::NAN, 3.0, 5.0]);
    let last = means.last().map(|(.., value)| value.clone());
    assert_eq!(last, Some(float(4.0)));
}

#[test]
fn a_moving_average_forgets_a_number_when_it_has_gone() {
    for large in [1e20, 1e36, 1.7e308, f64::INFINITY, f64::NAN] {
        let means = numbers("[{moving_average: 3}]", &[1.0, large, 1.0, 1.0, 1.0, 4.0]);
        let values: Vec<Value> = means.iter().skip(4).map(|(.., value)| value.clone()).collect();
        assert_eq!(values, [1.0, 2.0].map(float), "{large}");
    }
}

#[test]
fn what_fits_into_a_number_is_right_though_sums_and_squares_do_not_fit() {
    let large = doubles(&[1.7e308, 1.7e308, 1.7e308, 1.7e308], &[2, 2]);
    assert_eq!(one("[{reduce: mean}]", large.clone()), float(1.7e308));
    assert_eq!(one("[{reduce: norm}]", doubles(&[1e200, 1e200], &[2])), float(2f64.sqrt() * 1e200));
    for axis in [0, 1] {
        let reduced = |to: &str, value: Value| {
            elements(&one(&format!("[{{reduce: {{to: {to}, axis: {axis}}}}}]"), value)).0
        };
        assert_eq!(reduced("mean", large.clone()), [1.7e308; 2]);
        let norms = reduced("norm", doubles(&[3e200, 4e200, 4e200, 3e200], &[2, 2]));
        assert!(norms.iter().all(|norm| (norm / 5e200 - 1.0).abs() < 1e-15), "{norms:?}");
        let norms = reduced("norm", doubles(&[3e-200, 4e-200, 4e-200, 3e-200], &[2, 2]));
        assert!(norms.iter().all(|norm| (norm / 5e-200 - 1.0).abs() < 1e-15), "{norms:?}");
    }
    let halfway = numbers("[{interpolate_time: 2}]", &[-1.7e308, 1.7e308]);
    assert_eq!(halfway[1].2, float(0.0));
    let halfway = one("[{interpolate_space: 2}]", doubles(&[-1.7e308, 1.7e308, f64::MAX], &[3]));
    assert_eq!(elements(&halfway).0[..4], [-1.7e308, 0.0, 1.7e308, f64::MAX / 2.0 + 0.85e308]);
    for shape in [[2, 4], [4, 2]] {
        let wider = elements(&one(&format!("[{{resample: {{shape: {shape:?}}}}}]"), large.clone())).0;
        assert!(wider.iter().all(|x| (x / 1.7e308 - 1.0).abs() < 1e-15), "{wider:?}");
    }
    let means = numbers("[{moving_average: 2}]", &[1.7e308, 1.7e308, -1.7e308]);
    assert_eq!(
        means.into_iter().map(|(.., value)| value).collect::<Vec<_>>(),
        [1.7e308, 1.7e308, 0.0].map(float)
    );
    // Single precision cannot hold this factor, but can hold the products.
    let single = Value::Array(Array::from_slice(&[1e-30f32, 2e-30], &[2], ArrayOrder::RowMajor).unwrap());
    let Value::Array(made) = one("[{multiply: 1.0e+40}]", single) else { panic!() };
    assert_eq!(made.as_slice::<f32>(), Some(&[1e10f32, 2e10][..]));
}

#[test]
fn no_finite_number_of_single_precision_becomes_infinite() {
    let single = |x: &[f32]| {
        Value::Array(Array::from_slice(x, &[x.len()], ArrayOrder::RowMajor).unwrap().with_unit("km"))
    };
    for text in
        ["[{multiply: 1.0e+300}]", "[{unit: nm}]", "[{unit: fm}]", "[{threshold: {value: 1, below: 1.0e+300}}]"]
    {
        let why = refused(text, single(&[f32::NAN, f32::INFINITY, -1e35, 0.0]));
        assert!(why.contains("element 2 is -100000000000000000000000000000000000"), "{text}: {why}");
    }
    // Infinite values are no error.
    let Value::Array(made) = one("[{multiply: 2}]", single(&[f32::INFINITY, 1.5])) else { panic!() };
    assert_eq!(made.as_slice::<f32>(), Some(&[f32::INFINITY, 3.0][..]));
}

#[test]
fn whole_numbers_are_rounded_to_single_precision_once() {
    let whole = || Value::Array(Array::from_slice(&[9007199791611905i64], &[1], ArrayOrder::RowMajor).unwrap());
    let Value::Array(made) = one("[{type: float32}]", whole()) else { panic!() };
    assert_eq!(made.as_slice::<f32>(), Some(&[9007200328482816f32][..]));
    let Value::Array(made) = one("[{type: complex64}]", whole()) else { panic!() };
    assert_eq!(made.as_slice::<[f32; 2]>(), Some(&[[9007200328482816f32, 0.0]][..]));
}

#[test]
fn temperatures_from_a_zero_of_their_own_have_no_sum_and_no_product() {
    for unit in ["degC", "°F"] {
        for (text, result) in [
            ("[{reduce: {to: sum, axis: 0}}]", "sum"),
            ("[{reduce: sum}]", "sum"),
            ("[{reduce: norm}]", "norm"),
            ("[{multiply: 2}]", "product"),
        ] {
            let why = refused(text, with_unit(&[20.0, 20.0], Some(unit)));
            let expected = format!("temperatures in \"{unit}\" have no {result}; convert them to K before");
            assert!(why.contains(&expected), "{text}: {why}");
        }
        for to in ["mean", "min", "max"] {
            assert_eq!(one(&format!("[{{reduce: {to}}}]"), with_unit(&[20.0, 20.0], Some(unit))), float(20.0));
        }
    }
    for unit in ["K", "delta_degC", "W m-2 degC-1"] {
        assert_eq!(one("[{reduce: sum}]", with_unit(&[20.0, 20.0], Some(unit))), float(40.0));
    }
}

fn with_unit(elements: &[f64], unit: Option<&str>) -> Value {
    let array = Array::from_slice(elements, &[elements.len()], ArrayOrder::RowMajor).unwrap();
    Value::Array(unit.map_or(array.clone(), |unit| array.with_unit(unit)))
}

/// Passes several numbers with their units through filters. Returns the numbers and units of the output.
fn in_units(text: &str, messages: &[(f64, Option<&str>)]) -> Result<Vec<(f64, Option<String>)>, String> {
    let mut chain = chain(text);
    let mut all = Vec::new();
    for (i, &(value, unit)) in messages.iter().enumerate() {
        let passed = chain.apply(parcel(i as f64, None, with_unit(&[value], unit)));
        for (.., value) in out(passed.map_err(|failure| failure.to_string())?) {
            let Value::Array(array) = value else { panic!() };
            all.push((array.as_slice::<f64>().unwrap()[0], array.unit().map(str::to_owned)));
        }
    }
    Ok(all)
}

#[test]
fn filters_that_remember_bring_messages_into_one_unit_or_refuse_them() {
    let (m, km) = (Some("m"), Some("km"));
    let averages = in_units("[{moving_average: 2}]", &[(1.0, m), (1.0, km), (3.0, m)]).unwrap();
    let metres = |x: f64| (x, m.map(str::to_owned));
    assert_eq!(averages, [metres(1.0), metres(500.5), metres(501.5)]);
    let between = in_units("[{interpolate_time: 2}]", &[(1.0, km), (3.0, m)]).unwrap();
    assert_eq!(between[1..], [metres(501.5), metres(3.0)]);
    let warm = in_units("[{interpolate_time: 2}]", &[(0.0, Some("degC")), (293.15, Some("K"))]).unwrap();
    assert_eq!(warm[1], (283.15, Some("K".to_owned())));
    for text in ["[{moving_average: 2}]", "[{interpolate_time: 2}]"] {
        let refused = |one, other| in_units(text, &[(1.0, one), (1.0, other)]).unwrap_err();
        assert!(refused(m, Some("s")).contains("they measure different things"));
        assert!(refused(m, None).contains("one is in \"m\", and the other has no unit"));
        assert!(refused(None, m).contains("one is in \"m\", and the other has no unit"));
        assert!(refused(Some("degC"), Some("delta_degC")).contains("they measure different things"));
        // An unknown unit is allowed if all messages have the same one.
        assert!(refused(Some("dBZ"), Some("PSU")).contains("there is no unit"));
        assert!(in_units(text, &[(1.0, Some("dBZ")), (2.0, Some("dBZ"))]).is_ok());
    }
}

#[test]
fn filters_that_remember_take_messages_in_either_memory_order() {
    let array = |elements: &[f64], order| Value::Array(Array::from_slice(elements, &[2, 3], order).unwrap());
    let rows = array(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], ArrayOrder::RowMajor);
    let columns = array(&[1.0, 4.0, 2.0, 5.0, 3.0, 6.0], ArrayOrder::ColumnMajor);
    for (text, place) in [("[{moving_average: 2}]", 1), ("[{interpolate_time: 2}]", 1)] {
        let mut chain = chain(text);
        let mut all = out(chain.apply(parcel(0.0, None, rows.clone())).unwrap());
        all.extend(out(chain.apply(parcel(1.0, None, columns.clone())).unwrap()));
        let expected = if text.contains("time") { &columns } else { &rows };
        assert_eq!(&all[place].2, expected, "{text}");
    }
}

#[test]
fn differences_of_temperatures_have_units_of_their_own() {
    assert_eq!(one("[{unit: {from: delta_degC, to: K}}]", float(5.0)), float(5.0));
    assert_eq!(one("[{unit: {from: delta_degF, to: delta_degC}}]", float(9.0)), float(5.0));
    let problems = Filter::read("[{unit: {from: delta_degC, to: degC}}]").unwrap();
    assert!(Chain::faults(&problems)[0].to_string().contains("they measure different things"));
}

#[test]
fn what_is_no_number_stays_so() {
    let nan = f64::NAN;
    for formula in [
        "max(x, 0)",
        "max(0, x)",
        "min(x, 0)",
        "min(1, 2, x)",
        "max(min(x, 1), 0)",
        "x > 1",
        "x < 1",
        "x >= x",
        "1 <= x",
        "x == x",
        "x != x",
        "not x",
        "where(x > 0, 1, 0)",
        "where(x, 1, 2)",
        "x and 1",
        "0 or x",
        "x + 0 * i",
        "abs(x)",
        "round(x)",
        "floor(x)",
        "atan2(x, 1)",
    ] {
        let made = elements(&one(&format!("[{{expression: \"{formula}\"}}]"), doubles(&[nan, 1.0], &[2]))).0;
        assert!(made[0].is_nan() && !made[1].is_nan(), "{formula}: {made:?}");
    }
    for (formula, value) in
        [("isnan(x)", 1.0), ("isnan(x) or x > 1", 1.0), ("0 and x", 0.0), ("where(isnan(x), 7, x)", 7.0)]
    {
        let made = one(&format!("[{{expression: \"{formula}\"}}]"), float(nan));
        assert_eq!(made, float(value), "{formula}");
    }
    for to in ["min", "max", "mean", "sum", "norm"] {
        for at in 0..9 {
            let mut values = [1.0, -2.0, f64::INFINITY, 3.0, 0.5, 1e300, 2.0, 9.0, 1e-300];
            values[at] = nan;
            let Value::Float(made) = one(&format!("[{{reduce: {to}}}]"), doubles(&values, &[9])) else {
                panic!()
            };
            assert!(made.is_nan(), "{to} {at}: {made}");
            for axis in [0, 1] {
                let value =
                    one(&format!("[{{reduce: {{to: {to}, axis: {axis}}}}}]"), doubles(&values, &[3, 3]));
                let place = if axis == 0 { at % 3 } else { at / 3 };
                let made = elements(&value).0;
                assert!(
                    made.iter().enumerate().all(|(i, x)| x.is_nan() == (i == place)),
                    "{to} {axis} {at}: {made:?}"
                );
            }
        }
    }
    let set = one("[{threshold: {value: 0, below: -1, above: 1}}]", doubles(&[nan, 1.0], &[2]));
    assert!(elements(&set).0[0].is_nan() && elements(&set).0[1] == 1.0);
}

#[test]
fn chunks_hold_several_messages_and_come_apart_as_they_were() {
    let apart = [5.0, 6.0, 7.0, 8.0, 9.0];
    let chunks = numbers("[{chunk: 2}]", &apart);
    assert_eq!(
        chunks.iter().map(|c| (c.0, c.1)).collect::<Vec<_>>(),
        [(0.0, Some(2.0)), (2.0, Some(4.0)), (4.0, None)]
    );
    let Value::Map(entries) = &chunks[0].2 else { panic!("{chunks:?}") };
    assert_eq!(entries[0].0, "timestamps");
    assert_eq!(elements(&entries[0].1).0, [0.0, 1.0]);
    assert_eq!(entries[1], ("values".to_owned(), Value::List(vec![float(5.0), float(6.0)])));
    assert_eq!(numbers("[{chunk: 2}, dechunk]", &apart), numbers("[{every: 1}]", &apart));
}

#[test]
fn a_list_comes_apart_over_the_time_to_the_next_message() {
    let list = Value::List(vec![float(1.0), float(2.0)]);
    let apart = out(chain("[dechunk]").apply(parcel(4.0, Some(5.0), list)).unwrap());
    assert_eq!(apart, [(4.0, Some(4.5), float(1.0)), (4.5, Some(5.0), float(2.0))]);
    assert!(refused("[dechunk]", float(1.0)).contains("filter 1 (dechunk), message at time 0.5"));
}

#[test]
fn numbers_are_multiplied_whatever_holds_them() {
    assert_eq!(one("[{multiply: 2.5}]", Value::Int(4)), float(10.0));
    assert_eq!(one("[{multiply: 2}]", Value::Complex(1.0, -2.0)), Value::Complex(2.0, -4.0));
    assert_eq!(
        one("[{multiply: 2}]", Value::List(vec![Value::Int(1), float(0.5)])),
        Value::List(vec![float(2.0), float(1.0)])
    );
    let single = Value::Array(Array::from_slice(&[1.5f32, 2.5], &[2], ArrayOrder::RowMajor).unwrap());
    let Value::Array(doubled) = one("[{multiply: 2}]", single) else { panic!() };
    assert_eq!(doubled.as_slice::<f32>(), Some(&[3.0, 5.0][..]));
    let whole = Value::Array(Array::from_slice(&[1i16, -3], &[2, 1], ArrayOrder::RowMajor).unwrap());
    assert_eq!(elements(&one("[{multiply: 0.5}]", whole)), (vec![0.5, -1.5], vec![2, 1]));
    for strange in [Value::None, Value::String("1".into()), Value::Map(vec![]), Value::List(vec![Value::None])]
    {
        assert!(
            refused("[{multiply: 2}]", strange).contains("(multiply), message at time 0.5: it takes numbers")
        );
    }
}

#[test]
fn names_units_and_order_stay_with_arrays() {
    let array = Array::from_slice(&[1.0, 2.0], &[2, 1], ArrayOrder::ColumnMajor).unwrap();
    let array = array.with_names(&["y", "x"]).unwrap().with_unit("m");
    let Value::Array(made) = one("[{multiply: 3}]", Value::Array(array)) else { panic!() };
    assert_eq!(
        (made.names(), made.unit(), made.order()),
        (&["y".to_owned(), "x".to_owned()][..], Some("m"), ArrayOrder::ColumnMajor)
    );
}

#[test]
fn units_are_converted_and_noted() {
    assert_eq!(one("[{unit: {from: km/h, to: m/s}}]", float(36.0)), float(10.0));
    assert_eq!(one("[{unit: {from: degC, to: K}}]", float(26.85)), float(300.0));
    let length = Array::from_slice(&[1.0, 2.5], &[2], ArrayOrder::RowMajor).unwrap().with_unit("m");
    let Value::Array(made) = one("[{unit: cm}]", Value::Array(length.clone())) else { panic!() };
    assert_eq!((made.as_slice::<f64>().unwrap(), made.unit()), (&[100.0, 250.0][..], Some("cm")));
    assert!(refused("[{unit: s}]", Value::Array(length.clone())).contains("\"m\" does not convert to \"s\""));
    assert!(refused("[{unit: {from: km, to: cm}}]", Value::Array(length)).contains("the data is in \"m\""));
    assert!(refused("[{unit: s}]", float(1.0)).contains("has no unit"));
}

#[test]
fn types_change_and_what_does_not_fit_is_refused() {
    let wide = doubles(&[1.9, -1.9, 0.0], &[3]);
    let Value::Array(whole) = one("[{type: int32}]", wide.clone()) else { panic!() };
    assert_eq!(whole.as_slice::<i32>(), Some(&[1, -1, 0][..]));
    let Value::Array(single) = one("[{type: float32}]", wide) else { panic!() };
    assert_eq!(single.as_slice::<f32>(), Some(&[1.9f32, -1.9, 0.0][..]));
    assert_eq!(one("[{type: int64}]", float(-2.5)), Value::Int(-2));
    assert_eq!(one("[{type: float64}]", Value::Int(7)), float(7.0));
    assert_eq!(one("[{type: bool}]", Value::Int(7)), Value::Bool(true));
    let Value::Array(complex) = one("[{type: complex128}]", doubles(&[1.0], &[1])) else { panic!() };
    assert_eq!(complex.as_slice::<[f64; 2]>(), Some(&[[1.0, 0.0]][..]));
    assert!(refused("[{type: uint8}]", doubles(&[0.0, 256.0], &[2]))
        .contains("element 1 is 256, which uint8 cannot hold"));
    assert!(refused("[{type: int8}]", doubles(&[f64::NAN], &[1])).contains("element 0 is NaN"));
    assert!(refused("[{type: uint8}]", Value::Int(-1)).contains("element 0 is -1"));
    assert_eq!(one("[{type: int64}]", float(-9_223_372_036_854_775_808.0)), Value::Int(i64::MIN));
    assert!(refused("[{type: int64}]", float(9_223_372_036_854_775_808.0)).contains("cannot hold"));
}

#[test]
fn a_threshold_sets_what_is_below_it_or_not() {
    let values = doubles(&[0.4, 0.5, 0.6], &[3]);
    assert_eq!(elements(&one("[{threshold: 0.5}]", values.clone())).0, [0.0, 0.5, 0.6]);
    let both = one("[{threshold: {value: 0.5, below: -1, above: 1}}]", values.clone());
    assert_eq!(elements(&both).0, [-1.0, 1.0, 1.0]);
    assert_eq!(elements(&one("[{threshold: {value: 0.5, above: 9}}]", values)).0, [0.4, 9.0, 9.0]);
}

#[test]
fn expressions_know_the_number_the_time_and_the_indices() {
    let grid = doubles(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]);
    assert_eq!(
        elements(&one("[{expression: x + 10 * i + 100 * j}]", grid)).0,
        [1.0, 102.0, 203.0, 14.0, 115.0, 216.0]
    );
    let columns = Array::from_slice(&[0.0; 6], &[2, 3], ArrayOrder::ColumnMajor).unwrap();
    assert_eq!(
        elements(&one("[{expression: i + 10 * j}]", Value::Array(columns))).0,
        [0.0, 1.0, 10.0, 11.0, 20.0, 21.0]
    );
    let made = numbers("[{expression: x + 2 * t}]", &[5.0, 5.0]);
    assert_eq!(made[1].2, float(7.0));
    assert!(refused("[{expression: x + j}]", doubles(&[1.0], &[1])).contains("the expression has j"));
    // The array has more than one block of elements, and the last block is not full.
    let many: Vec<f64> = (0..1001).map(f64::from).collect();
    let made =
        elements(&one("[{expression: \"where(x > 500, x - i, sqrt(x) ** 2)\"}]", doubles(&many, &[1001]))).0;
    assert!(made.iter().enumerate().all(|(i, &y)| (y - if i > 500 { 0.0 } else { i as f64 }).abs() < 1e-9));
}

#[test]
fn slices_are_those_of_numpy() {
    let grid: Vec<f64> = (0..12).map(f64::from).collect();
    let grid = doubles(&grid, &[3, 4]);
    for (ranges, expected, shape) in [
        ("1:3", vec![4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0], vec![2, 4]),
        (":, 1:4:2", vec![1.0, 3.0, 5.0, 7.0, 9.0, 11.0], vec![3, 2]),
        ("-1", vec![8.0, 9.0, 10.0, 11.0], vec![4]),
        (":, -2", vec![2.0, 6.0, 10.0], vec![3]),
        ("1, 2", vec![6.0], vec![]),
        ("::2, :-3", vec![0.0, 8.0], vec![2, 1]),
        ("5:, 1:", vec![], vec![0, 3]),
    ] {
        assert_eq!(
            elements(&one(&format!("[{{slice: \"{ranges}\"}}]"), grid.clone())),
            (expected, shape),
            "{ranges}"
        );
    }
    assert!(refused("[{slice: \"3\"}]", grid.clone()).contains("it takes index 3 of axis 0"));
    assert!(refused("[{slice: \":,:,:\"}]", grid).contains("names 3 axes"));
    assert!(refused("[{slice: \":\"}]", float(1.0)).contains("it takes arrays"));
    for wrong in ["a", "1:2:0", "1:2:3:4", "", "1:2:-1"] {
        let filters = Filter::read(&format!("[{{slice: \"{wrong}\"}}]")).unwrap();
        assert!(Chain::at_receiver(&filters, &FilterContext::NOTHING).is_err(), "{wrong}");
    }
}

#[test]
fn a_slice_of_what_a_sender_lends_is_not_copied() {
    let grid: Vec<f64> = (0..12).map(f64::from).collect();
    let lent = ArrayRef::from_slice(&grid, &[3, 4], ArrayOrder::RowMajor);
    let data = Data::lent(&ValueRef::Array(lent)).unwrap();
    let mut chain = chain("[{slice: \":, 1:3\"}, {slice: \"1:\"}]");
    let passed = chain.apply(Parcel { timestamp: 0.0, next_timestamp: None, data }).unwrap();
    let ValueRef::Array(part) = passed.parcels[0].data.to_send() else { panic!() };
    assert!(grid.as_ptr_range().contains(&part.data.as_ptr().cast()));
    assert_eq!(
        elements(&passed.parcels[0].data.clone().into_value().unwrap()),
        (vec![5.0, 6.0, 9.0, 10.0], vec![2, 2])
    );
}

#[test]
fn reductions_have_known_values() {
    let grid = doubles(&[3.0, -1.0, 4.0, 1.0, 5.0, -9.0], &[2, 3]);
    for (to, all, along_0, along_1) in [
        ("sum", 3.0, [4.0, 4.0, -5.0], [6.0, -3.0]),
        ("mean", 0.5, [2.0, 2.0, -2.5], [2.0, -1.0]),
        ("min", -9.0, [1.0, -1.0, -9.0], [-1.0, -9.0]),
        ("max", 5.0, [3.0, 5.0, 4.0], [4.0, 5.0]),
        ("norm", 133f64.sqrt(), [10f64.sqrt(), 26f64.sqrt(), 97f64.sqrt()], [26f64.sqrt(), 107f64.sqrt()]),
    ] {
        assert_eq!(one(&format!("[{{reduce: {to}}}]"), grid.clone()), float(all), "{to}");
        assert_eq!(
            elements(&one(&format!("[{{reduce: {{to: {to}, axis: 0}}}}]"), grid.clone())).0,
            along_0,
            "{to}"
        );
        assert_eq!(
            elements(&one(&format!("[{{reduce: {{to: {to}, axis: 1}}}}]"), grid.clone())).0,
            along_1,
            "{to}"
        );
    }
    let many: Vec<f64> = (1..=10_001).map(f64::from).collect();
    assert_eq!(one("[{reduce: sum}]", doubles(&many, &[10_001])), float(50_015_001.0));
    assert_eq!(one("[{reduce: min}]", doubles(&many, &[10_001])), float(1.0));
    assert!(refused("[{reduce: mean}]", doubles(&[], &[0])).contains("without elements"));
    assert_eq!(one("[{reduce: sum}]", doubles(&[], &[0])), float(0.0));
    assert!(refused("[{reduce: {to: sum, axis: 2}}]", doubles(&[1.0], &[1])).contains("no axis 2"));
}

#[test]
fn interpolation_in_space_puts_points_between_neighbours() {
    assert_eq!(
        elements(&one("[{interpolate_space: 2}]", doubles(&[0.0, 2.0, 6.0], &[3]))),
        (vec![0.0, 1.0, 2.0, 4.0, 6.0], vec![5])
    );
    let grid = doubles(&[0.0, 2.0, 4.0, 6.0], &[2, 2]);
    assert_eq!(
        elements(&one("[{interpolate_space: 2}]", grid.clone())),
        (vec![0.0, 1.0, 2.0, 2.0, 3.0, 4.0, 4.0, 5.0, 6.0], vec![3, 3])
    );
    assert_eq!(
        elements(&one("[{interpolate_space: {parts: 2, axis: 0}}]", grid)),
        (vec![0.0, 2.0, 2.0, 4.0, 4.0, 6.0], vec![3, 2])
    );
    assert!(refused("[{interpolate_space: 2}]", float(1.0)).contains("this is a number"));
}

#[test]
fn resampling_has_known_values() {
    let four = doubles(&[1.0, 2.0, 3.0, 4.0], &[4]);
    assert_eq!(elements(&one("[{resample: {shape: 2, method: conservative}}]", four.clone())).0, [1.5, 3.5]);
    assert_eq!(
        elements(&one("[{resample: {shape: 8, method: nearest}}]", four.clone())).0,
        [1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0]
    );
    assert_eq!(elements(&one("[{resample: 2}]", four.clone())).0, [1.5, 3.5]);
    assert_eq!(
        elements(&one("[{resample: {shape: 7, points: nodes}}]", four.clone())).0,
        [1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0]
    );
    assert_eq!(elements(&one("[{resample: 4}]", four.clone())).0, [1.0, 2.0, 3.0, 4.0]);
    assert!(refused("[{resample: [2, 2]}]", four).contains("another number of axes"));
    let filters = Filter::read("[{resample: {shape: 2, method: conservative, points: nodes}}]").unwrap();
    assert!(Chain::at_receiver(&filters, &FilterContext::NOTHING).is_err());
}

#[test]
fn what_is_compressed_is_the_same_at_the_other_end() {
    let tree = Value::Map(vec![
        ("a".into(), doubles(&[0.5; 1000], &[10, 100])),
        ("b".into(), Value::String("text".into())),
    ]);
    for method in ["lz4", "zstd"] {
        for value in [tree.clone(), Value::None, doubles(&[1.0; 4096], &[4096])] {
            let filters = Filter::read(&format!("[{{multiply: 1}}, {{compress: {method}}}, {{every: 1}}]"));
            let mut filters = filters.unwrap();
            filters.remove(0);
            let mut sender = Chain::at_sender(&filters, &FilterContext::NOTHING).unwrap().unwrap();
            let mut receiver = Chain::at_receiver(&filters, &FilterContext::NOTHING).unwrap().unwrap();
            let mut sent = out(sender.apply(parcel(1.0, Some(2.0), value.clone())).unwrap());
            let (at, next, packed) = sent.remove(0);
            let Value::Bytes(bytes) = &packed else { panic!("{packed:?}") };
            assert!(bytes.len() < 1000, "{}", bytes.len());
            assert_eq!(out(receiver.apply(parcel(at, next, packed)).unwrap()), [(1.0, Some(2.0), value)]);
        }
    }
}

#[test]
fn what_is_no_compressed_message_is_refused() {
    let filters = Filter::read("[compress]").unwrap();
    let mut receiver = Chain::at_receiver(&filters, &FilterContext::NOTHING).unwrap().unwrap();
    for bytes in [
        vec![],
        vec![1; 11],
        vec![9; 40],
        [&[1, 0, 0][..], &[255; 8], &[0; 20]].concat(),
        [&[2, 0, 0][..], &u64::MAX.to_le_bytes()].concat(),
    ] {
        let value = Value::Bytes(bytes.into());
        assert!(receiver.apply(parcel(0.0, None, value)).is_err());
    }
    assert!(receiver.apply(parcel(0.0, None, float(1.0))).is_err());
}

#[test]
fn the_console_says_what_passes() {
    let mut chain = chain("[{console: here}]");
    let passed = chain.apply(parcel(1.0, Some(2.0), doubles(&[1.5, 2.0], &[2]))).unwrap();
    let said: Vec<(&str, bool)> = passed.said.iter().map(|said| (&*said.text, said.warning)).collect();
    assert_eq!(said, [("here: time 1, next 2: an array of float64 with shape [2]: 1.5, 2", false)]);
    assert_eq!(passed.parcels.len(), 1);
}

#[test]
fn a_run_may_go_on_without_a_message_that_a_filter_cannot_take_or_with_it_as_it_was() {
    let mut skip = chain("[{multiply: 2, on_error: skip}, {multiply: 5}]");
    let passed = skip.apply(parcel(0.0, None, Value::String("a".into()))).unwrap();
    assert!(
        passed.parcels.is_empty() && passed.said[0].text.contains("filter 1 (multiply), message at time 0")
    );
    let mut pass = chain("[{multiply: 2}, {type: {to: uint8}, on_error: pass}, {multiply: 10}]");
    assert_eq!(out(pass.apply(parcel(0.0, None, float(1000.0))).unwrap()), [(0.0, None, float(20_000.0))]);
    assert_eq!(out(pass.apply(parcel(0.0, None, float(100.0))).unwrap()), [(0.0, None, float(2000.0))]);
}

#[test]
fn numbers_of_our_own_are_changed_in_place() {
    let values = vec![1.0; 10_000];
    let lent = ArrayRef::from_slice(&values, &[10_000], ArrayOrder::RowMajor);
    let mut one = chain("[{multiply: 2}]");
    let mut more = chain("[{threshold: 0}, {expression: x + 1}, {unit: {from: m, to: m}}]");
    let data = Data::lent(&ValueRef::Array(lent)).unwrap();
    let made = one.apply(Parcel { timestamp: 0.0, next_timestamp: None, data }).unwrap().parcels.remove(0);
    let place = |data: &Data<'_>| match data.to_send() {
        ValueRef::Array(array) => array.data.as_ptr(),
        _ => panic!(),
    };
    let before = place(&made.data);
    let after = more.apply(made).unwrap().parcels.remove(0);
    assert_eq!(place(&after.data), before);
    assert_eq!(elements(&after.data.into_value().unwrap()).0, vec![3.0; 10_000]);
    assert_eq!(values, vec![1.0; 10_000]);
}

/// Returns the errors in the parameters of filters.
fn impossible(text: &str) -> String {
    let faults = Chain::faults(&Filter::read(text).unwrap());
    faults.iter().map(ToString::to_string).collect()
}

#[test]
fn a_filter_makes_no_more_than_memory_can_hold() {
    for text in ["[{interpolate_time: 1000001}]", "[{interpolate_space: 1000001}]"] {
        assert!(impossible(text).contains("at most 1000000 parts"), "{text}");
    }
    assert!(impossible("[{resample: {shape: [2000000000, 2000000000]}}]").contains("at most 134217728 points"));
    let grid = || doubles(&[0.0; 4], &[2, 2]);
    assert!(refused("[{resample: {shape: [130000000, 130000000]}}]", grid()).contains("at most 64 GiB"));
    assert!(refused("[{interpolate_space: 1000000}]", grid()).contains("at most 64 GiB"));
    let none = || doubles(&[], &[0, 1_000_000_000_000]);
    assert!(refused("[{reduce: {to: sum, axis: 0}}]", none()).contains("at most 64 GiB"));
    assert_eq!(elements(&one("[{reduce: {to: sum, axis: 1}}]", none())), (vec![], vec![0]));
    let mut between = chain("[{interpolate_time: 1000000}]");
    between.apply(parcel(0.0, None, doubles(&[0.0; 10_000], &[10_000]))).unwrap();
    let failure = between.apply(parcel(1.0, None, doubles(&[0.0; 10_000], &[10_000]))).unwrap_err();
    assert!(failure.to_string().contains("at most 64 GiB"), "{failure}");
}

#[test]
fn what_a_sender_lends_is_checked_before_it_is_read() {
    let zero = [0; 8];
    let array =
        |shape, strides| ArrayRef { strides, ..ArrayRef::from_slice(&[0.0], shape, ArrayOrder::RowMajor) };
    let lent = |shape, strides| Data::lent(&ValueRef::Array(ArrayRef { data: &zero, ..array(shape, strides) }));
    assert!(lent(&[10], None).is_err());
    assert!(lent(&[2], Some(&[8])).is_err());
    assert!(lent(&[1 << 47, 1 << 47], Some(&[0, 0])).is_err());
    // All elements of this array are one number in memory, as in an array of NumPy's `broadcast_to`.
    let data = lent(&[1_000_000_000_000], Some(&[0])).unwrap();
    let failure =
        chain("[{multiply: 2}]").apply(Parcel { timestamp: 0.0, next_timestamp: None, data }).unwrap_err();
    assert!(failure.to_string().contains("at most 64 GiB"), "{failure}");
    let data = lent(&[3], Some(&[0])).unwrap();
    let mut doubled = chain("[{expression: x + i}]");
    let passed = doubled.apply(Parcel { timestamp: 0.0, next_timestamp: None, data }).unwrap();
    assert_eq!(elements(&passed.parcels[0].data.clone().into_value().unwrap()).0, [0.0, 1.0, 2.0]);
}

#[test]
fn a_length_that_compressed_bytes_claim_is_not_believed() {
    let filters = Filter::read("[{compress: zstd}]").unwrap();
    let mut sender = Chain::at_sender(&filters, &FilterContext::NOTHING).unwrap().unwrap();
    let mut receiver = Chain::at_receiver(&filters, &FilterContext::NOTHING).unwrap().unwrap();
    // The compression ratio is so high that the receiver's memory must grow as the bytes are produced.
    let value = doubles(&vec![0.0; 1 << 20], &[1 << 20]);
    for _ in 0..2 {
        let packed = out(sender.apply(parcel(0.0, None, value.clone())).unwrap()).remove(0).2;
        let Value::Bytes(bytes) = &packed else { panic!("{packed:?}") };
        let claims = |length: u64| [&bytes[..3], &length.to_le_bytes(), &bytes[11..]].concat();
        for (length, why) in
            [(1 << 40, "64 GiB"), (1 << 35, "should have come out"), (1 << 20, "should have come")]
        {
            let failure = receiver.apply(parcel(0.0, None, Value::Bytes(claims(length).into()))).unwrap_err();
            assert!(failure.to_string().contains(why), "{failure}");
        }
        let cut = Value::Bytes(bytes[..bytes.len() - 1].to_vec().into());
        assert!(receiver.apply(parcel(0.0, None, cut)).is_err());
        assert_eq!(out(receiver.apply(parcel(0.0, None, packed)).unwrap()), [(0.0, None, value.clone())]);
    }
}

#[test]
fn comparisons_are_not_compared() {
    for text in ["0 < x < 1", "x == 1 == 1", "not 0 < x > 3"] {
        assert!(impossible(&format!("[{{expression: \"{text}\"}}]")).contains("a < x and x < b"), "{text}");
    }
    assert_eq!(one("[{expression: \"(0 < x) < 2 and x > 1\"}]", float(2.0)), float(1.0));
}

#[test]
fn single_precision_holds_no_number_beyond_its_own() {
    for to in ["float32", "complex64"] {
        let text = format!("[{{type: {to}}}]");
        assert!(refused(&text, doubles(&[1.0, 1e300], &[2])).contains("element 1 is 1000"), "{to}");
        assert!(refused(&text, float(-1e39)).contains("cannot hold"), "{to}");
    }
    let complex =
        Value::Array(Array::from_slice(&[[0.0, 0.0], [0.0, 1e300]], &[2], ArrayOrder::RowMajor).unwrap());
    assert!(refused("[{type: complex64}]", complex).contains("element 1 is 1000"));
    assert_eq!(one("[{type: float32}]", float(f64::INFINITY)), float(f64::INFINITY));
}

#[test]
fn a_series_has_one_type_and_goes_on_behind_a_message_that_is_left_out() {
    let whole = |at: i32| Value::Array(Array::from_slice(&[at], &[1], ArrayOrder::RowMajor).unwrap());
    let mut chain = chain("[{interpolate_time: 2, on_error: skip}]");
    let mut all = Vec::new();
    for (at, value) in [(0.0, whole(0)), (1.0, Value::String("none".into())), (2.0, whole(3))] {
        all.extend(out(chain.apply(parcel(at, None, value)).unwrap()));
    }
    let all: Vec<(f64, Vec<f64>)> = all.iter().map(|(at, _, value)| (*at, elements(value).0)).collect();
    assert_eq!(all, [(0.0, vec![0.0]), (1.0, vec![1.5]), (2.0, vec![3.0])]);
}

#[test]
fn times_that_are_none_do_not_come_out_of_a_chunk() {
    for times in [[f64::NAN, 1.0], [0.0, f64::INFINITY], [2.0, 1.0]] {
        let chunk = |times: &[f64]| {
            let values = Value::List(vec![float(1.0), float(2.0)]);
            Value::Map(vec![("timestamps".into(), doubles(times, &[2])), ("values".into(), values)])
        };
        assert!(refused("[dechunk]", chunk(&times)).contains("(dechunk), message at time 0.5: it would make"));
    }
}

proptest! {
    #[test]
    fn a_conservative_mean_conserves_the_integral(values in prop::collection::vec(-1e3..1e3f64, 1..40),
        new in 1usize..60) {
        let old = values.len();
        let made = elements(&one(&format!("[{{resample: {{shape: {new}, method: \
                                           conservative}}}}]"), doubles(&values, &[old]))).0;
        let (before, after) = (values.iter().sum::<f64>() / old as f64, made.iter().sum::<f64>() / new as f64);
        prop_assert!((before - after).abs() <= 1e-9 * (1.0 + before.abs()), "{before} {after}");
    }

    #[test]
    fn linear_resampling_is_exact_for_linear_functions(
        old in [2usize..12, 2..12], new in [1u64..20, 1..20], a in -5.0..5.0f64, b in -5.0..5.0f64,
        c in -5.0..5.0f64
    ) {
        // Returns the value of a linear function at the centre of a cell, in a square of length 1.
        let value = |i: usize, n: usize, j: usize, m: usize| {
            a * (i as f64 + 0.5) / n as f64 + b * (j as f64 + 0.5) / m as f64 + c
        };
        let grid = |n: usize, m: usize| -> Vec<f64> {
            (0..n).flat_map(|i| (0..m).map(move |j| value(i, n, j, m))).collect()
        };
        let from = doubles(&grid(old[0], old[1]), &old);
        let made = elements(&one(&format!("[{{resample: [{}, {}]}}]", new[0], new[1]), from)).0;
        let expected = grid(new[0] as usize, new[1] as usize);
        prop_assert!(made.iter().zip(&expected).all(|(x, y)| (x - y).abs() < 1e-9), "{made:?} {expected:?}");
    }

    #[test]
    fn row_and_column_major_arrays_give_the_same(n in 1usize..5, m in 1usize..5, which in 0usize..5) {
        let text = ["[{reduce: {to: sum, axis: \
                     1}}]", "[{resample: [3, \
                                                       4]}]", "[{interpolate_space: {parts: 3, \
                                                                               axis: 0}}]",
            "[{slice: \"0:2, ::2\"}]", "[{expression: x * (i + 1) - j}]"][which];
        let rows: Vec<f64> = (0..n * m).map(|i| (i * i) as f64).collect();
        let columns: Vec<f64> = (0..n * m).map(|at| rows[(at % n) * m + at / n]).collect();
        let of = |elements: &[f64], order| {
            let sent = Value::Array(Array::from_slice(elements, &[n, m], order).unwrap());
            let Value::Array(made) = one(text, sent) else { panic!() };
            made
        };
        let (by_rows, by_columns) = (of(&rows, ArrayOrder::RowMajor), of(&columns, ArrayOrder::ColumnMajor));
        prop_assert_eq!(by_rows.shape(), by_columns.shape());
        let all = |array: &Array| -> Vec<f64> {
            let strides = array.strides();
            let shape = array.shape().to_vec();
            let elements = array.as_slice::<f64>().unwrap();
            let index = |at: u64| -> usize {
                let mut rest = at;
                let mut place = 0;
                for axis in (0..shape.len()).rev() {
                    place += (rest % shape[axis]) as i64 * strides[axis];
                    rest /= shape[axis];
                }
                place as usize / 8
            };
            (0..array.len()).map(|at| elements[index(at)]).collect()
        };
        prop_assert_eq!(all(&by_rows), all(&by_columns));
    }
}

#[test]
fn only_units_that_take_prefixes_have_them() {
    for wrong in ["kdeg", "mmin", "kmmHg", "khh"] {
        assert!(Unit::parse(wrong).is_err(), "{wrong}");
    }
    for right in ["km", "mbar", "µs", "GPa"] {
        Unit::parse(right).unwrap();
    }
}

#[test]
fn what_is_compressed_may_be_no_larger_than_the_messages_of_its_conduit() {
    let array = Array::from_slice(&vec![0.0; 1000], &[1000], ArrayOrder::RowMajor).unwrap();
    for method in ["lz4", "zstd"] {
        let filters = Filter::read(&format!("[{{compress: {method}}}]")).unwrap();
        let around = |message_size| FilterContext { message_size, ..FilterContext::NOTHING };
        let mut free = Chain::at_sender(&filters, &FilterContext::NOTHING).unwrap().unwrap();
        let packed = free.apply(parcel(1.0, None, Value::Array(array.clone()))).unwrap().parcels.pop().unwrap();
        let Data::Kept(packed) = packed.data else { panic!() };
        for (limit, fits) in [(Some(9000), true), (Some(7000), false), (None, true)] {
            let mut sender = Chain::at_sender(&filters, &around(limit)).unwrap().unwrap();
            let mut receiver = Chain::at_receiver(&filters, &around(limit)).unwrap().unwrap();
            let sent = sender.apply(parcel(1.0, None, Value::Array(array.clone())));
            assert_eq!(sent.is_ok(), fits, "{method} {limit:?}");
            let came = receiver.apply(parcel(1.0, None, packed.clone()));
            assert_eq!(came.is_ok(), fits, "{method} {limit:?}");
            if let Err(failure) = came {
                assert!(failure.to_string().contains("and those of this conduit may have 7000"), "{failure}");
            }
        }
    }
}

/// A filter of a user that returns a message with these times at the end, or an error.
struct AtTheEnd(Result<(f64, Option<f64>), Fault>);

impl FilterStep for AtTheEnd {
    fn apply<'a>(&mut self, _: Parcel<'a>, _: &mut Vec<FilterRemark>) -> Result<StepOutput<'a>, Fault> {
        Ok(StepOutput::None)
    }

    fn finish(&mut self) -> Result<StepOutput<'static>, Fault> {
        let (timestamp, next_timestamp) = self.0.clone()?;
        Ok(StepOutput::One(Parcel { timestamp, next_timestamp, data: Data::Kept(Value::Int(1)) }))
    }

    fn memory(&mut self) -> FilterMemory<'_> {
        FilterMemory::Hidden("it is a test".into())
    }
}

#[test]
fn what_a_filter_of_a_user_s_gives_at_the_end_goes_on_if_it_can_be() {
    let ended = |given: Result<(f64, Option<f64>), &'static str>, on_error: &str| {
        let text = format!("[{{python: \"a:b\", on_error: {on_error}}}, {{multiply: 2}}]");
        let given = given.map_err(|why| fault!(FILTER_FAILED, "{why}"));
        let own = |_: &Filter| Ok(Box::new(AtTheEnd(given.clone())) as Box<dyn FilterStep>);
        let around = FilterContext { own: &own, ..FilterContext::NOTHING };
        let mut chain = Chain::at_receiver(&Filter::read(&text).unwrap(), &around).unwrap().unwrap();
        chain.apply(parcel(0.0, None, Value::Int(5))).unwrap();
        chain.finish().map(|passed| (passed.parcels.len(), passed.said)).map_err(|failure| failure.to_string())
    };
    assert_eq!(ended(Ok((1.0, Some(2.0))), "end"), Ok((1, Vec::new())));
    assert_eq!(ended(Err("it is full"), "end").unwrap_err(), "filter 1 (python): it is full");
    assert!(ended(Ok((2.0, Some(1.0))), "end").unwrap_err().contains("next time 1, which cannot be"));
    assert!(ended(Ok((f64::NAN, None)), "end").unwrap_err().contains("time NaN"));
    let (parcels, said) = ended(Err("it is full"), "skip").unwrap();
    assert!(
        parcels == 0 && said[0].warning && said[0].text.contains("what it still had is left out"),
        "{said:?}"
    );
}

#[test]
fn filters_of_users_own_need_somebody_who_makes_them() {
    let filters = Filter::read("[{library: {file: f.so, function: f}}]").unwrap();
    let failure = Chain::at_receiver(&filters, &FilterContext::NOTHING).unwrap_err().to_string();
    assert!(failure.starts_with("filter 1 (library): nothing here runs filters of users' own"), "{failure}");
}

#[test]
fn powers_are_taken_from_the_right_and_a_slash_divides_by_one_symbol() {
    let of_x = |formula: &str| one(&format!("[{{expression: \"{formula}\"}}]"), float(2.0));
    assert_eq!(of_x("x ** 3 ** 2"), float(512.0));
    assert_eq!(of_x("-x ** 2 + 2 ** -x"), float(-3.75));
    let same = |a: &str, b: &str| Unit::parse(a).unwrap().is_the_same_as(&Unit::parse(b).unwrap());
    assert!(same("m/s s", "m") && same("W/m2 K", "W K m-2") && !same("m/s s", "m s-2"));
}

/// Passes messages through filters at times that a code computes by adding up its step.
fn added_up(text: &str, begin: f64, step: f64, steps: usize) -> Out {
    let mut chain = chain(text);
    let mut all = Vec::new();
    let mut time = begin;
    for i in 0..=steps {
        let next = (i < steps).then_some(time + step);
        all.extend(out(chain.apply(parcel(time, next, Value::Int(i as i64))).unwrap()));
        time += step;
    }
    all
}

fn first_and_last(all: &Out) -> (Value, Value) {
    (all.first().unwrap().2.clone(), all.last().unwrap().2.clone())
}

#[test]
fn a_single_message_at_a_sum_of_steps_is_at_the_limit() {
    let time = (0..1000).fold(0.0, |time, _| time + 0.1);
    for filter in ["[block_after: 100]", "[block_until: 100]"] {
        let passed = chain(filter).apply(parcel(time, None, Value::None)).unwrap();
        assert_eq!(passed.parcels.len(), 1, "{filter}, {time}");
    }
}

#[test]
fn a_limit_between_two_steps_is_between_them() {
    assert_eq!(added_up("[block_after: 9.999]", 0.0, 1.0, 20).len(), 10);
    assert_eq!(added_up("[block_until: 10.001]", 0.0, 1.0, 20).len(), 10);
    assert_eq!(added_up("[block_after: 1700000019.9]", 1.7e9, 1.0, 40).len(), 20);
}

#[test]
fn every_begins_anew_with_a_new_series() {
    let mut chain = chain("[every: 2]");
    let times = [0.0, 1.0, 2.0, 0.0, 1.0, 2.0, 0.0];
    let kept = times.map(|time| out(chain.apply(parcel(time, None, Value::None)).unwrap()).len());
    assert_eq!(kept, [1, 0, 1, 1, 0, 1, 1]);
}

#[test]
fn steps_of_a_millisecond_since_1970_are_steps() {
    for (begin, step) in [(1.7e9, 1e-3), (1.7e12, 1.0), (1.7e15, 1000.0)] {
        let limit = begin + 3.0 * step;
        assert_eq!(added_up(&format!("[block_after: {limit:e}]"), begin, step, 9).len(), 4, "{limit}");
        assert_eq!(added_up(&format!("[block_until: {limit:e}]"), begin, step, 9).len(), 7, "{limit}");
        assert_eq!(added_up("[interpolate_time: 2]", begin, step, 9).len(), 19, "{begin}");
        let mut mean = chain(&format!("[{{time_offset: {begin:e}}}, moving_average: 2]"));
        let means = [0.0, step, 0.0, step].map(|time| {
            let one = mean.apply(parcel(time, None, Value::Float(time / step))).unwrap();
            out(one)[0].2.clone()
        });
        assert_eq!(means, [0.0, 0.5, 0.0, 0.5].map(Value::Float), "{begin}");
    }
}

#[test]
fn a_message_of_the_same_time_begins_no_new_series() {
    let mut chain = chain("[moving_average: 2]");
    let _ = chain.apply(parcel(0.30000000000000004, None, Value::Float(1.0))).unwrap();
    let all = out(chain.apply(parcel(0.3, None, Value::Float(3.0))).unwrap());
    assert_eq!(all[0].2, Value::Float(2.0));
}

#[test]
fn messages_of_one_time_come_out_of_their_chunk() {
    let mut chain = chain("[{chunk: 2}, dechunk]");
    let _ = chain.apply(parcel(0.30000000000000004, Some(0.3), Value::Float(1.0)));
    let all = out(chain.apply(parcel(0.3, None, Value::Float(3.0))).unwrap());
    assert_eq!(all.iter().map(|one| one.0).collect::<Vec<_>>(), [0.30000000000000004, 0.3]);
}

proptest! {
    /// The limit is the exact time of step k. The filters find step k, although the code's times have
    /// rounding errors.
    #[test]
    fn limits_meet_the_sums_of_a_code(
        (begin, unit) in prop::sample::select(vec![(0.0, 1.0), (1.7e9, 1.0), (-5.0, 1.0), (1.7e9, 60.0),
            (1.7e9, 1e-2), (1.7e12, 10.0), (0.0, 1e-9), (0.0, 1e15)]),
        step in prop::sample::select(vec![0.1, 0.3, 0.6, 0.7, 1.1, 1.0]),
        steps in 3usize..400,
        at in 0.0..1.0f64,
        change in prop::sample::select(vec!["", "time_offset", "time_factor"]),
    ) {
        let (step, k) = (step * unit, (at * steps as f64) as usize);
        let limit = begin + k as f64 * step;
        let (before, limit) = match change {
            "time_offset" => (format!("time_offset: {:e}, ", -begin), k as f64 * step),
            "time_factor" => ("time_factor: 86400, ".to_owned(), limit * 86400.0),
            _ => (String::new(), limit),
        };
        let before = before.trim_end_matches(", ");
        let with = |filter: &str| match before {
            "" => format!("[{filter}: {limit:e}]"),
            before => format!("[{before}, {filter}: {limit:e}]"),
        };
        let number = |i: usize| Value::Int(i as i64);
        let after = added_up(&with("block_after"), begin, step, steps);
        prop_assert_eq!(first_and_last(&after), (number(0), number(k)), "{}", limit);
        prop_assert_eq!(after.last().unwrap().1, None);
        let until = added_up(&with("block_until"), begin, step, steps);
        prop_assert_eq!(first_and_last(&until), (number(k), number(steps)), "{}", limit);
    }
}
