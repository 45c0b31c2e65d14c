//! One structured grid whose blocks are the instances, or the ranks, of a component. A [`Domain`] is the part
//! of the grid that this process has. Its code keeps each field of the grid in an array with ghosts: points
//! around its own, which belong to the neighbouring blocks. `exchange` fills the ghosts.
//!
//! ```no_run
//! use ligament_grid::{Domain, Field, FieldData};
//! use ligament_instance::Instance;
//!
//! let mut instance = Instance::new(None)?;
//! while instance.reuse_instance()? {
//!     let mut domain = Domain::new(&instance)?;
//!     let u = domain.add_field(Field::new("u").with_ghosts(1))?;
//!     let mut data = vec![0.0f64; domain.elements(u)];
//!     for step in 0..100 {
//!         let bytes = bytemuck::cast_slice_mut(&mut data);
//!         domain.exchange(&mut instance, f64::from(step), &mut [FieldData { field: u, bytes }])?;
//!         // Computes the next step from the own points and their ghosts.
//!     }
//! }
//! # Ok::<(), ligament_instance::Error>(())
//! ```
#![forbid(unsafe_code)]

mod domain;
mod error;
mod exact_sum;
mod pieces;
mod region;
mod window;

pub use domain::{Domain, Field, FieldData, FieldId};
pub use error::GridError;
pub use ligament_model::Edges;
