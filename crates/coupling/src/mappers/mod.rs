//! Mappers that come with Ligament.

mod join;
mod mesh;

pub(crate) use join::{Combine, Gather, Scatter};
pub(crate) use mesh::Mesh;

use crate::numbers::{in_rows, numbers_of, with_elements};
use crate::settings::{self, unfit};
use ligament_catalogue::fault;
use ligament_filters::{Around, Chain, Data, Numbers, Parcel};
use ligament_instance::{Error, Inputs, Instance, Mapper, Message, Order, Outputs, Value};
use ligament_model::{At, Filter, FilterValue, OnError};

/// The first message that came on a port; of one with slots, that on the first.
pub(crate) fn on<'a>(inputs: &'a Inputs, port: &str, who: &str) -> Result<&'a Message, Error> {
    inputs.slots(port).ok().and_then(<[Message]>::first).ok_or_else(|| {
        unfit(fault!(CANNOT_MAP, "{who}: nothing is connected to its port \"{port}\"; connect it in the model"))
    })
}

/// The name of the instance, for errors.
pub(crate) fn name_of(outputs: &mut Outputs<'_>) -> String {
    outputs.instance().name().to_owned()
}

/// The same message to each receiver.
pub(crate) struct Duplicate;

impl Mapper for Duplicate {
    fn map(&mut self, inputs: &Inputs, outputs: &mut Outputs<'_>) -> Result<(), Error> {
        let who = name_of(outputs);
        outputs.send_to_all(&on(inputs, "in", &who)?.data)
    }
}

/// Numbers of two messages, element by element. Their shapes are the same, or one of them is a number.
pub(crate) fn element_by_element(
    who: &str,
    one: &Value,
    other: &Value,
    function: impl Fn(f64, f64) -> f64,
) -> Result<Numbers<'static>, Error> {
    let (mut one, other) = (numbers_of(one, who)?, numbers_of(other, who)?);
    if one.frame.shape != other.frame.shape {
        let (these, those) = (&one.frame.shape, &other.frame.shape);
        return Err(unfit(fault!(
            CANNOT_MAP,
            "{who}: its messages have shapes {these:?} and {those:?}, and they must be the same"
        )));
    }
    let elements = in_rows(&one).iter().zip(in_rows(&other)).map(|(&a, b)| function(a, b)).collect();
    one.frame.order = Order::RowMajor;
    Ok(with_elements(one, elements))
}

/// What came on `a` less what came on `b`.
pub(crate) struct Difference;

impl Mapper for Difference {
    fn map(&mut self, inputs: &Inputs, outputs: &mut Outputs<'_>) -> Result<(), Error> {
        let who = name_of(outputs);
        let (a, b) = (on(inputs, "a", &who)?, on(inputs, "b", &who)?);
        let made = element_by_element(&who, &a.data, &b.data, |a, b| a - b)?;
        outputs.send_to_all(&made.into_value())
    }
}

/// Another regular grid over the same extent, as the filter `resample` does it.
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
        for name in ["method", "points"] {
            parameters.extend(settings::text(instance, name)?.map(|text| (name, FilterValue::Text(text))));
        }
        let filter =
            Filter { name: "resample", parameters, end: None, on_error: OnError::End, at: At::default() };
        match Chain::at_receiver(&[filter], &Around::NOTHING) {
            Ok(Some(chain)) => Ok(Regrid(chain)),
            Ok(None) => Err(settings::wrong(fault!(SHIPPED_SETTING_WRONG, "\"shape\" is missing"))),
            Err(failure) => Err(settings::wrong(fault!(SHIPPED_SETTING_WRONG, "{}", failure.cause))),
        }
    }
}

impl Mapper for Regrid {
    fn map(&mut self, inputs: &Inputs, outputs: &mut Outputs<'_>) -> Result<(), Error> {
        let who = name_of(outputs);
        let message = on(inputs, "in", &who)?;
        let data = Data::Kept(message.data.clone());
        let parcel = Parcel { timestamp: message.timestamp, next_timestamp: message.next_timestamp, data };
        let refused = |why: String| unfit(fault!(CANNOT_MAP, "{who}: {why}"));
        let passed = self.0.apply(parcel).map_err(|failure| refused(failure.cause.text().to_owned()))?;
        let made = passed.parcels.into_iter().next().map(|parcel| parcel.data.into_value());
        let made = made.unwrap_or(Ok(Value::None)).map_err(|why| refused(why.text().to_owned()))?;
        outputs.send_to_all(&made)
    }
}
