//! Shows messages to people as they pass.

use crate::chain::{Emitted, Said, Step};
use crate::parcel::{kind_of, Data, Parcel};
use ligament_catalogue::Fault;
use ligament_wire::times::ShownTime;
use ligament_wire::{DType, Value};

/// As many elements of an array are shown.
const SHOWN: usize = 6;

/// Says what passes; with a label, if there is one.
pub(crate) struct Console(pub String);

impl Step for Console {
    fn apply<'a>(&mut self, parcel: Parcel<'a>, said: &mut Vec<Said>) -> Result<Emitted<'a>, Fault> {
        let label = if self.0.is_empty() { String::new() } else { format!("{}: ", self.0) };
        let next = parcel.next_timestamp.map(|next| format!(", next {}", ShownTime(next))).unwrap_or_default();
        let time = ShownTime(parcel.timestamp);
        let text = format!("{label}time {time}{next}: {}", shown(&parcel.data));
        said.push(Said { text, warning: false });
        Ok(Emitted::One(parcel))
    }
}

fn shown(data: &Data<'_>) -> String {
    let kind = kind_of(data);
    match data {
        Data::Kept(Value::Float(number)) => format!("{number}"),
        Data::Kept(Value::Int(number)) => format!("{number}"),
        Data::Kept(Value::UInt(number)) => format!("{number}"),
        Data::Kept(Value::Bool(truth)) => format!("{truth}"),
        Data::Kept(Value::String(text)) if text.len() <= 80 => format!("{text:?}"),
        Data::Kept(Value::Array(array)) => format!("{kind}{}", first(&crate::view::View::from(array))),
        Data::Kept(_) => kind,
        Data::Lent(view) => format!("{kind}{}", first(view)),
        Data::Own(numbers) => {
            let all = numbers.to_f64();
            let first: Vec<String> = all.iter().take(SHOWN).map(f64::to_string).collect();
            format!("{kind}: {}{}", first.join(", "), if all.len() > SHOWN { ", …" } else { "" })
        }
    }
}

/// The first elements in words; none if they lie apart and cannot be gathered.
fn shown_of<T: bytemuck::AnyBitPattern + ToString>(view: &crate::view::View<'_>) -> Vec<String> {
    view.elements::<T>().map_or(Vec::new(), |all| all.iter().take(SHOWN).map(T::to_string).collect())
}

/// The first elements of an array of doubles or single precision.
fn first(view: &crate::view::View<'_>) -> String {
    let text: Vec<String> = match view.dtype {
        DType::Float64 => shown_of::<f64>(view),
        DType::Float32 => shown_of::<f32>(view),
        DType::Int32 => shown_of::<i32>(view),
        DType::Int64 => shown_of::<i64>(view),
        _ => return String::new(),
    };
    format!(": {}{}", text.join(", "), if view.len() > SHOWN { ", …" } else { "" })
}
