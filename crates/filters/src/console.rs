//! The filter `console`, which shows messages to people and passes them on unchanged.

use crate::chain::{FilterRemark, FilterStep, StepOutput};
use crate::memory::FilterMemory;
use crate::parcel::{kind_of, Data, Parcel};
use ligament_catalogue::Fault;
use ligament_wire::times::ShownTime;
use ligament_wire::{DType, Value};

/// Maximum number of elements of an array that the filter shows.
const MAX_SHOWN_ELEMENTS: usize = 6;

/// The filter `console`, which makes a remark about each message. The string is a label before each remark;
/// it may be empty.
pub(crate) struct Console(pub String);

impl FilterStep for Console {
    fn apply<'a>(&mut self, parcel: Parcel<'a>, said: &mut Vec<FilterRemark>) -> Result<StepOutput<'a>, Fault> {
        let label = if self.0.is_empty() { String::new() } else { format!("{}: ", self.0) };
        let next = parcel.next_timestamp.map(|next| format!(", next {}", ShownTime(next))).unwrap_or_default();
        let time = ShownTime(parcel.timestamp);
        let text = format!("{label}time {time}{next}: {}", shown(&parcel.data));
        said.push(FilterRemark { text, warning: false });
        Ok(StepOutput::One(parcel))
    }

    fn memory(&mut self) -> FilterMemory<'_> {
        FilterMemory::None
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
        Data::Kept(Value::Array(array)) => format!("{kind}{}", first(&crate::view::ArrayView::from(array))),
        Data::Kept(_) => kind,
        Data::Lent(view) => format!("{kind}{}", first(view)),
        Data::Own(numbers) => {
            let all = numbers.to_f64();
            let first: Vec<String> = all.iter().take(MAX_SHOWN_ELEMENTS).map(f64::to_string).collect();
            format!("{kind}: {}{}", first.join(", "), if all.len() > MAX_SHOWN_ELEMENTS { ", …" } else { "" })
        }
    }
}

/// Returns the first elements as text. The list is empty if strided elements cannot be copied for lack of
/// memory.
fn shown_of<T: bytemuck::AnyBitPattern + ToString>(view: &crate::view::ArrayView<'_>) -> Vec<String> {
    view.elements::<T>()
        .map_or(Vec::new(), |all| all.iter().take(MAX_SHOWN_ELEMENTS).map(T::to_string).collect())
}

/// Returns the first elements of an array of f64, f32, i32 or i64 as one text, or an empty text for other
/// types.
fn first(view: &crate::view::ArrayView<'_>) -> String {
    let text: Vec<String> = match view.dtype {
        DType::Float64 => shown_of::<f64>(view),
        DType::Float32 => shown_of::<f32>(view),
        DType::Int32 => shown_of::<i32>(view),
        DType::Int64 => shown_of::<i64>(view),
        _ => return String::new(),
    };
    format!(": {}{}", text.join(", "), if view.len() > MAX_SHOWN_ELEMENTS { ", …" } else { "" })
}
