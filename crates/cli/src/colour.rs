//! Whether what is printed has colours: `--color`, and NO_COLOR (https://no-color.org).

use std::sync::atomic::{AtomicU8, Ordering};

/// When there are colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    Always,
    Never,
}

static CHOSEN: AtomicU8 = AtomicU8::new(Colour::Auto as u8);

/// What whoever called the command wants.
pub(crate) fn choose(colour: Colour) {
    CHOSEN.store(colour as u8, Ordering::Relaxed);
}

/// Whether there are colours on what is a terminal or not.
pub(crate) fn wanted(terminal: bool) -> bool {
    let no_colour = || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    match CHOSEN.load(Ordering::Relaxed) {
        chosen if chosen == Colour::Always as u8 => true,
        chosen if chosen == Colour::Never as u8 => false,
        _ => terminal && !no_colour(),
    }
}
