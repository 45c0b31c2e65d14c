//! Waiting with an ear for Ctrl-C, where that is to end no more than the waiting.

use ligament_catalogue::{fault, Fault};
use std::time::Duration;
use tokio::signal::unix::{signal, Signal, SignalKind};

/// Hears Ctrl-C from when it is made; it does not end the process any more.
pub(crate) struct InterruptWatch {
    runtime: tokio::runtime::Runtime,
    interrupt: Signal,
}

impl InterruptWatch {
    /// # Errors
    /// The system gives no event loop, or signals cannot be watched.
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

    /// Waits for so long, or until somebody presses Ctrl-C: gives whether that was it.
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
