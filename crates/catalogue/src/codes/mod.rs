//! All codes, each with its meaning and advice. The meanings are written by hand, and only here. They are
//! Markdown, and their links are relative to `docs/reference/`. A code never changes its name, because programs
//! compare it and people search for it.

pub mod checks;
pub mod command;
pub mod files;
pub mod instance;
pub mod link;
pub mod run;

use crate::Code;

/// The codes below one heading of a page.
#[derive(Debug)]
pub struct Section {
    /// Heading of the section. Example: `When a run begins`.
    pub when: &'static str,
    /// Codes, each with its meaning.
    pub codes: &'static [(Code, &'static str)],
}

/// Errors of a run, in the order of the page `docs/reference/errors.md`.
pub const ERRORS: [&Section; 18] = [
    &run::BEGINS,
    &run::MACHINES,
    &instance::REGISTERING,
    &instance::PORTS,
    &instance::SENDING,
    &instance::RECEIVING,
    &instance::EXCHANGES,
    &instance::CLOCKS,
    &instance::ARGUMENTS,
    &instance::SHIPPED,
    &instance::CHECKPOINTS,
    &instance::MEMORY,
    &run::ENDS,
    &run::DOMAINS,
    &link::LINK,
    &files::FILES,
    &command::PLAY,
    &command::ASKING,
];

/// Problems of a model, for the page `docs/reference/check-codes.md`.
pub const CHECKS: [&Section; 1] = [&checks::CHECKS];

/// Defines a section, and each of its codes as a constant of `Code`.
macro_rules! codes {
    ($section:ident, $when:literal: $($code:ident $name:literal: $meaning:literal;)+) => {
        impl crate::Code {
            $(#[doc = concat!("`", $name, "`")] pub const $code: crate::Code = crate::Code::new($name);)+
        }

        #[doc = $when]
        pub const $section: super::Section =
            super::Section { when: $when, codes: &[$((crate::Code::$code, $meaning)),+] };
    };
}
use codes;
