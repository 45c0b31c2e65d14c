//! A coupled model: components with ports, joined by conduits; programs, settings and resources. This crate
//! reads and writes yMMSL v0.1 and v0.2, merges files, follows imports, and expands a model into the instances
//! and channels of a run. It starts nothing and prints nothing.

mod builder;
mod checkpoints;
mod clocks;
mod configuration;
mod customise;
mod exchange;
mod expand;
mod filters;
mod flatten;
mod graph;
mod grid;
mod identity;
mod import;
mod log;
mod options;
mod packages;
mod passes;
mod problem;
mod program;
mod read;
mod scales;
mod settings;
mod shipped;
mod steps;
mod structure;
mod ticks;
mod timelines;
mod variables;
mod write;
pub mod yaml;

pub use builder::{BuildError, ModelBuilder};
pub use checkpoints::{CheckpointRule, Checkpoints, Resume};
pub use clocks::PortClock;
pub use configuration::{Configuration, Import, Version};
pub use exchange::{
    EventExchange, Exchange, Interpolation, SignalExchange, MAX_ARRAY_DIMENSIONS, MAX_ARRAY_ELEMENTS,
    MAX_EVENT_IDS,
};
pub use expand::{
    Channel, Endpoint, ExpandOptions, ForConduits, ResolvedComponent, ResolvedInstance, ResolvedModel,
    ResolvedPort, NO_SLOT,
};
pub use filters::{
    Filter, FilterEnd, FilterSpec, FilterValue, OnError, Parameter, ParameterKind, COMPRESS, FILTERS, LIBRARY,
    PYTHON,
};
pub use flatten::{FlatComponent, FlatConduit, FlatEnd, FlatModel};
pub use graph::{
    Component, Conduit, ConduitFilter, MatchingTimelines, Model, Operator, Port, Ports, Timeline, SETTINGS_PORT,
};
pub use grid::{
    block_range, Blocks, Edges, Grid, AXES, GHOSTS_IN, GHOSTS_OUT, MAX_GRID_DIMENSIONS, SUMS_IN, SUMS_OUT,
};
pub use identity::{Identifier, InvalidName, Reference, ReferencePart};
pub use import::{FileModules, ModuleText, Modules, NoModule, NoModules};
pub use log::{log_level, read_log_level, LOCAL_LOG_LEVEL, LOG_LEVELS, LOG_NOTHING, REMOTE_LOG_LEVEL};
pub use options::{parse_bytes, ForConduit, InDomain, LigamentOptions, StagedInput, SteerableOption, WaitMode};
pub use packages::Packages;
pub use problem::{nearest, At, Problem, Problems, Severity};
pub use program::{BaseEnv, ExecutionModel, KeepsState, Program, ResourceRequirements, Resources};
pub use read::{
    read, read_file, read_text, read_whole, FieldReader, Fields, OtherFile, ReadResult, TextOrList,
};
pub use scales::{DeclaredScales, Scale};
pub use settings::{parse_assignment, SettingError, SettingType, SettingValue, Settings, SupportedSetting};
pub use shipped::{shipped, ShippedComponent, ShippedSetting, IMPLEMENTATION_SETTING, SHIPPED};
pub use steps::ConduitSteps;
pub use structure::{check_structure, component_ports};
pub use ticks::Nanoseconds;
pub use timelines::{check_timelines, ModelTimelines};
pub use variables::{is_variable_name, pieces, variables, without_variables, TextPiece};
pub use write::quoted;
