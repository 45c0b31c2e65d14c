//! The command ligament
