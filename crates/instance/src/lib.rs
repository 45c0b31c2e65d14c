//! The library inside a simulation code. An `Instance` has ports, on which it sends and receives messages.
//! It reads its settings and writes to the run's log. The bindings of all languages are thin layers over
//! this crate.
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

mod chains;
mod checkpoint;
mod clock;
mod error;
mod events;
mod exchange;
mod expected;
mod flags;
mod identity;
mod instance;
mod iteration;
mod light;
mod loan;
mod mapper;
mod message;
mod order;
mod ordinary;
mod overlay;
mod own;
mod ports;
mod preamble;
mod receive;
mod record;
mod resizable;
mod send;
mod send_filters;
mod signal;
mod start;
mod steer;
mod submodel;
mod sys;
mod tap_writer;
mod timing;
mod turn;
mod wants;

pub use error::{
    AgentError, ClockError, Error, ErrorKind, ExchangeError, FilterError, IdentityError, MapperError,
    PortError, ReceiveError, SendError,
};
pub use events::EventBatch;
pub use expected::{Expected, Origin};
pub use flags::Flags;
pub use instance::{GridProgress, Instance, LogLevel, OpenExchange, Parallelism};
pub use ligament_exchange::Part;
pub use ligament_model::{Operator, Reference, SettingType, SettingValue, Settings};
pub use ligament_wire::{Array, ArrayKind, ArrayMeta, ArrayOrder, ArrayRef, DType, Value, ValueRef};
pub use light::{run_light, run_light_with};
pub use loan::Loan;
pub use mapper::{run_mapper, Mapper, MapperInputs, MapperSubmodel, Outputs};
pub use message::{ArrayMut, Message, MessageTimes, Outgoing};
pub use ordinary::PlainArray;
pub use overlay::from_value as settings_from_value;
pub use own::{run_python_filters_by, Interpreter};
pub use ports::{PortName, Ports};
pub use receive::Wait;
pub use steer::SettingDeclaration;
pub use submodel::{run_submodel, Submodel, SubmodelState};
pub use sys::CrashNote;
pub use tap_writer::PublishedField;
pub use turn::{Call, CallGuard, InCall, Overlap};
