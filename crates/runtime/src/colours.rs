//! The choice of colours in the output.

/// When there are colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Colours {
    /// On a terminal, unless NO_COLOR is set (https://no-color.org).
    #[default]
    Auto,
    Always,
    Never,
}

impl Colours {
    /// Returns true if there are colours on what is a terminal or not.
    pub fn wanted(self, terminal: bool) -> bool {
        let no_colour = || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        match self {
            Colours::Always => true,
            Colours::Never => false,
            Colours::Auto => terminal && !no_colour(),
        }
    }
}
