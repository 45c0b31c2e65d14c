//! The Python face of Ligament.
