//! Surfaces on which a field has one value, the level. An [`Encoder`] makes the surface of one block of a grid,
//! as bytes: the signs of the points where they change, and one byte for each edge of the lattice that the
//! surface crosses. A [`MeshBuilder`] makes triangles from the bytes of one or many blocks. It numbers edges on
//! the lattice of the whole grid, so there are no gaps between blocks. `header` and `planes` have the format,
//! and `table` the triangles of a cell. No I/O.
//!
//! The method is that of W. Schroeder, R. Maynard and B. Geveci, "Flying Edges: a high-performance scalable
//! isocontouring algorithm", LDAV 2015, in two parts: signs and crossings are made in the process that has the
//! field, and triangles in the process that draws them.

#![deny(unsafe_code)]

mod block;
mod cells;
mod decode;
mod encode;
mod error;
mod header;
mod lattice;
mod mesh;
mod planes;
#[allow(unsafe_code)]
mod sys;
mod table;

pub use block::{Block, FieldValues};
pub use decode::{nan_points, MeshBuilder};
pub use encode::{Encoder, Surface};
pub use error::SurfaceError;
pub use header::{Header, HEADER_BYTES};
pub use mesh::Mesh;
pub use sys::Lanes;
pub use table::{case_triangles, typescript_table};
