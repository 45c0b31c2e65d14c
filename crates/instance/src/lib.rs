//! What runs inside a simulation code: an `Instance` with ports, through which it sends and receives, learns its
//! settings and writes to the run's log. All languages are thin faces of this crate.
//!
//! ```no_run
//! use ligament_instance::{Instance, Message, Operator, Outgoing, Ports};
//!
//! let ports = Ports::new().with(Operator::FInit, "init").with(Operator::OF, "result");
//! let mut instance = Instance::new(Some(&ports))?;
//! while instance.reuse_instance()? {
//!     let start: Message = instance.receive("init", None)?;
//!     instance.send("result", &Outgoing::at(start.timestamp, &start.data), None)?;
//! }
//! # Ok::<(), ligament_instance::Error>(())
//! ```

mod transport;

mod error;
mod expected;
mod head;
mod identity;
mod instance;
mod light;
mod loan;
mod message;
mod order;
mod ordinary;
mod overlay;
mod ports;
mod receive;
mod resizable;
mod send;
mod submodel;
mod sys;
mod turn;

pub use error::{AgentError, Error, IdentityError, Kind, PortError, ReceiveError, SendError};
pub use expected::{Expected, Origin};
pub use instance::{Flags, Instance, LogLevel, Parallelism};
pub use ligament_model::{Operator, SettingType, SettingValue, Settings};
pub use ligament_wire::{Array, ArrayKind, ArrayMeta, ArrayRef, DType, Order, Value, ValueRef};
pub use light::{run_light, run_light_with};
pub use loan::Loan;
pub use message::{ArrayMut, Message, Outgoing, Times};
pub use ordinary::PlainArray;
pub use overlay::from_value as settings_from_value;
pub use ports::{PortName, Ports};
pub use receive::Wait;
pub use submodel::{run_submodel, Submodel};
pub use turn::{Call, InCall, Overlap, Turn};
