//! Writer of program output to the standard output. A file or a pipe gets the output unchanged. A terminal gets
//! it without control sequences, because these could hide lines or change the terminal.

use ligament_launch::terminal_text::TextCleaner;
use std::io::{IsTerminal, StdoutLock, Write};

/// Standard output, for the output of programs.
pub(crate) struct ProgramOutput {
    out: StdoutLock<'static>,
    cleaner: Option<TextCleaner>,
}

impl ProgramOutput {
    /// Begins the output of one file.
    pub fn begin() -> ProgramOutput {
        let out = std::io::stdout();
        let cleaner = out.is_terminal().then(TextCleaner::default);
        ProgramOutput { out: out.lock(), cleaner }
    }

    /// Shows the next bytes of the file.
    ///
    /// # Errors
    /// Returns the error of the system if the standard output cannot be written.
    pub fn show(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        match &mut self.cleaner {
            Some(cleaner) => self.out.write_all(cleaner.clean(bytes).as_bytes())?,
            None => self.out.write_all(bytes)?,
        }
        self.out.flush()
    }
}
