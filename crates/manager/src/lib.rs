//! One per run: registry, waits, log
