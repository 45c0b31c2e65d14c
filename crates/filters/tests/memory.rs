//! The memory of filters at a cut: a chain that gets the state of another one, by way of the bytes of a
//! message, goes on in the same way.

use ligament_filters::{
    Chain, Data, FilterContext, FilterMemory, FilterRemark, FilterStep, Parcel, StepOutput,
};
use ligament_model::Filter;
use ligament_wire::{
    decode_body, Array, ArrayMeta, ArrayOrder, Bytes, DType, Encoder, Limits, Value, ValueRef,
};

fn chain(filters: &str) -> Chain {
    let filters = Filter::read(filters).expect("filters");
    Chain::at_receiver(&filters, &FilterContext::NOTHING).expect("parameters").expect("filters")
}

/// Returns the value as a checkpoint file gives it back.
fn by_way_of_a_file(value: &Value) -> Value {
    let mut encoder = Encoder::new();
    let value = ValueRef::Owned(value);
    let plan = encoder.plan(&value).expect("a message can hold it");
    let mut body = vec![0; plan.body_len() as usize];
    plan.write_body(&mut body);
    decode_body(plan.parts(), Bytes::from(body), &Limits::default()).expect("a value")
}

/// Returns all bits of the messages that leave a chain.
fn passed(chain: &mut Chain, parcel: Option<Parcel<'_>>) -> Vec<String> {
    let made = match parcel {
        Some(parcel) => chain.apply(parcel),
        None => chain.finish(),
    };
    let bits = |parcel: Parcel<'_>| {
        let (at, next) = (parcel.timestamp.to_bits(), parcel.next_timestamp.map(f64::to_bits));
        format!("{at} {next:?} {:?}", parcel.data.into_value().expect("memory"))
    };
    made.expect("they take it").parcels.into_iter().map(bits).collect()
}

/// A message of a series that begins anew at the 12th one.
fn message(number: usize, form: &str) -> Parcel<'static> {
    let step = number % 12;
    let timestamp = step as f64 * 0.1;
    let numbers: Vec<f64> =
        (0..6).map(|i| ((number * 7 + i * 3) as f64).sin() * 10f64.powi(i as i32)).collect();
    let array = |dtype, bytes: Vec<u8>, meta| {
        Value::Array(
            Array::new(dtype, &[2, 3], ArrayOrder::ColumnMajor, Bytes::from(bytes), meta).expect("fits"),
        )
    };
    let large = |i: usize| if number % 5 == 2 { f64::MAX / (1 + i) as f64 } else { numbers[i] };
    let data = match form {
        "number" => Value::Float(numbers[1]),
        "complex" => Value::Complex(numbers[1], numbers[2]),
        "list" => Value::List(numbers.iter().copied().map(Value::Float).collect()),
        "single" => {
            let bytes = numbers.iter().flat_map(|&x| (x as f32).to_ne_bytes()).collect();
            array(DType::Float32, bytes, None)
        }
        _ => {
            let bytes = (0..6).flat_map(|i| large(i).to_ne_bytes()).collect();
            let unit = Some(["m", "km"][number % 2].to_owned());
            let names = vec!["x".to_owned(), "y".to_owned()];
            array(DType::Float64, bytes, Some(ArrayMeta { names, unit, strides: None }))
        }
    };
    Parcel { timestamp, next_timestamp: (step < 11).then_some(timestamp + 0.1), data: Data::Kept(data) }
}

const WITH_MEMORY: [&str; 6] = [
    "[every: 3]",
    "[block_until: 0.3]",
    "[block_after: 0.75]",
    "[interpolate_time: 3]",
    "[moving_average: 4]",
    "[chunk: 5]",
];

#[test]
fn each_filter_with_memory_goes_on_bit_for_bit_after_any_message() {
    let together = ["[every: 2, moving_average: 3, interpolate_time: 2, chunk: 3]"];
    for filters in WITH_MEMORY.into_iter().chain(together) {
        for form in ["number", "complex", "list", "single", "array"] {
            for cut in 0..24 {
                let mut whole = chain(filters);
                let mut first = chain(filters);
                for number in 0..cut {
                    assert_eq!(
                        passed(&mut whole, Some(message(number, form))),
                        passed(&mut first, Some(message(number, form)))
                    );
                }
                let state = by_way_of_a_file(&first.state().expect("a state"));
                let mut second = chain(filters);
                second.restore(&state).expect("it is the state of this chain");
                for number in cut..24 {
                    let left = passed(&mut second, Some(message(number, form)));
                    assert_eq!(
                        passed(&mut whole, Some(message(number, form))),
                        left,
                        "{filters}, {form}, {cut}"
                    );
                }
                assert_eq!(passed(&mut whole, None), passed(&mut second, None), "{filters}, {form}, {cut}");
            }
        }
    }
}

#[test]
fn each_of_these_filters_needs_its_memory() {
    for filters in WITH_MEMORY {
        let differs = (1..24).any(|cut| {
            let (mut whole, mut new) = (chain(filters), chain(filters));
            (0..cut).for_each(|number| drop(passed(&mut whole, Some(message(number, "number")))));
            let left = |chain: &mut Chain| -> Vec<String> {
                let rest = (cut..24).flat_map(|number| passed(chain, Some(message(number, "number"))));
                rest.collect::<Vec<_>>().into_iter().chain(passed(chain, None)).collect()
            };
            left(&mut whole) != left(&mut new)
        });
        // A limit compares times with the step of the series, which matters for times beside it only.
        assert!(differs || filters.contains("block"), "{filters}");
    }
}

#[test]
fn a_state_of_other_filters_is_refused_with_the_filter() {
    let mut average = chain("[moving_average: 4]");
    passed(&mut average, Some(message(0, "array")));
    let state = average.state().expect("a state");
    let refusal = |filters: &str| chain(filters).restore(&state).unwrap_err().to_string();
    assert!(refusal("[chunk: 2]").contains("filter 1 (chunk): what it remembered is of another form"));
    assert!(refusal("[multiply: 2]").contains("filter 1 (multiply): it remembers nothing"));
    assert!(refusal("[moving_average: 4, every: 2]").contains("filter 2 (every): the model had fewer filters"));
    let mut two = chain("[moving_average: 4, multiply: 2]");
    let state = two.state().expect("a state");
    assert!(chain("[moving_average: 4]").restore(&state).unwrap_err().to_string().contains("had more filters"));
}

/// A filter that cannot say what it remembers.
struct Secretive;

impl FilterStep for Secretive {
    fn apply<'a>(
        &mut self,
        parcel: Parcel<'a>,
        _: &mut Vec<FilterRemark>,
    ) -> Result<StepOutput<'a>, ligament_catalogue::Fault> {
        Ok(StepOutput::One(parcel))
    }

    fn memory(&mut self) -> FilterMemory<'_> {
        FilterMemory::Hidden("it keeps a secret".into())
    }
}

#[test]
fn a_filter_that_cannot_say_what_it_remembers_is_named() {
    let own = |_: &Filter| Ok(Box::new(Secretive) as Box<dyn FilterStep>);
    let around = FilterContext { own: &own, ..FilterContext::NOTHING };
    let filters = Filter::read("[{multiply: 2}, {python: \"a:b\"}]").expect("filters");
    let mut chain = Chain::at_receiver(&filters, &around).expect("parameters").expect("filters");
    let wanted = "filter 2 (python): it keeps a secret";
    assert_eq!(chain.hidden().map(|failure| failure.to_string()).as_deref(), Some(wanted));
    assert_eq!(chain.state().unwrap_err().to_string(), wanted);
}
