//! Output of programs, on its way to standard output: as it is into a file or a pipe, and onto a terminal
//! without control sequences, which could hide lines or change the terminal.

use ligament_launch::terminal_text::TextCleaner;
use std::io::{IsTerminal, StdoutLock, Write};

/// Standard output, for the output of programs.
pub(crate) struct ProgramOutput {
    out: StdoutLock<'static>,
    cleaner: Option<TextCleaner>,
}

impl ProgramOutput {
    /// For one file from beginning to end.
    pub fn begin() -> ProgramOutput {
        let out = std::io::stdout();
        let cleaner = out.is_terminal().then(TextCleaner::default);
        ProgramOutput { out: out.lock(), cleaner }
    }

    /// Shows what has come.
    ///
    /// # Errors
    /// The error of the system.
    pub fn show(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        match &mut self.cleaner {
            Some(cleaner) => self.out.write_all(cleaner.clean(bytes).as_bytes())?,
            None => self.out.write_all(bytes)?,
        }
        self.out.flush()
    }
}
