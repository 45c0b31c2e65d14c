//! All codes, with what they mean and what to do: the one place where a person writes that. The texts are
//! Markdown, and their links are those of a page in `docs/reference/`. A code never changes, since programs and
//! people look for it.

pub mod checks;
pub mod command;
pub mod files;
pub mod instance;
pub mod link;
pub mod run;

use crate::Code;

/// Codes that stand under one heading.
#[derive(Debug)]
pub struct Section {
    /// The heading.
    pub when: &'static str,
    /// Each code and what it means.
    pub codes: &'static [(Code, &'static str)],
}

/// The errors of a run, in the order of their page, `docs/reference/errors.md`.
pub const ERRORS: [&Section; 17] = [
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
    &instance::MEMORY,
    &run::ENDS,
    &run::DOMAINS,
    &link::LINK,
    &files::FILES,
    &command::PLAY,
    &command::ASKING,
];

/// The problems of a model, `docs/reference/check-codes.md`.
pub const CHECKS: [&Section; 1] = [&checks::CHECKS];

/// Makes a section, and its codes as constants of `Code`.
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
