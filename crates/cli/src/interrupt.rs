//! Waits that Ctrl-C ends without ending the process.

use ligament_catalogue::{fault, Fault};
use std::time::Duration;
use tokio::signal::unix::{signal, Signal, SignalKind};

/// A receiver of Ctrl-C. While it exists, Ctrl-C does not end the process.
pub(crate) struct InterruptWatch {
    runtime: tokio::runtime::Runtime,
    interrupt: Signal,
}

impl InterruptWatch {
    /// Begins to receive Ctrl-C.
    ///
    /// # Errors
    /// Fails if the system provides no event loop, or does not let signals be watched.
    pub fn new() -> Result<InterruptWatch, Fault> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| fault!(CANNOT_WATCH, "no event loop: {error}"))?;
        let entered = runtime.enter();
        let interrupt = signal(SignalKind::interrupt());
        drop(entered);
        let interrupt =
            interrupt.map_err(|error| fault!(CANNOT_WATCH, "signals cannot be watched: {error}"))?;
        Ok(InterruptWatch { runtime, interrupt })
    }

    /// Waits for `at_most`, or until Ctrl-C is pressed. Returns true if Ctrl-C was pressed.
    pub fn waits(&mut self, at_most: Duration) -> bool {
        let InterruptWatch { runtime, interrupt } = self;
        runtime.block_on(async {
            tokio::select! {
                biased;
                _ = interrupt.recv() => true,
                () = tokio::time::sleep(at_most) => false,
            }
        })
    }
}
