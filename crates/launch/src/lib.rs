//! Starting processes
