//! The choice of colours in the output: `--color`.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use ligament_runtime::Colours;
use std::sync::OnceLock;

static COLOURS: OnceLock<Colours> = OnceLock::new();

/// Reads the option's value.
pub(crate) fn parser() -> impl TypedValueParser<Value = Colours> {
    let auto = PossibleValue::new("auto").help("On a terminal, unless NO_COLOR is set");
    PossibleValuesParser::new([auto, PossibleValue::new("always"), PossibleValue::new("never")]).map(|name| {
        match name.as_str() {
            "always" => Colours::Always,
            "never" => Colours::Never,
            _ => Colours::Auto,
        }
    })
}

/// Stores the user's choice.
pub(crate) fn choose(colours: Colours) {
    let _ = COLOURS.set(colours);
}

/// Returns the stored choice.
pub(crate) fn chosen() -> Colours {
    COLOURS.get().copied().unwrap_or_default()
}
