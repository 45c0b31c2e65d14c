//! The choice of colours in the output.

/// The condition under which the output has colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Colours {
    /// The output is a terminal, and NO_COLOR is not set (<https://no-color.org>).
    #[default]
    Auto,
    Always,
    Never,
}

impl Colours {
    /// Returns true if the output has colours. `terminal` is true if the output is a terminal.
    pub fn wanted(self, terminal: bool) -> bool {
        let no_colour = || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        match self {
            Colours::Always => true,
            Colours::Never => false,
            Colours::Auto => terminal && !no_colour(),
        }
    }
}
