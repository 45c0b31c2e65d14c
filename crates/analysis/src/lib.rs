//! What can be said of a model without running it
