//! The options that a model file has under `ligament:`, beyond yMMSL.

use crate::exchange::Exchange;
use crate::filters::Filter;
use crate::grid::Grid;
use crate::identity::Reference;
use crate::problem::At;
use crate::scales::DeclaredScales;
use crate::ticks::Nanoseconds;
use indexmap::IndexMap;
use std::path::{Component, Path};
use std::sync::Arc;

/// The way in which instances wait for messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WaitMode {
    /// Spin while there are cores to spare, then park.
    #[default]
    Auto,
    /// Always spin.
    Spin,
    /// Always park.
    Park,
}

impl WaitMode {
    /// All names.
    pub const NAMES: &'static [&'static str] = &["auto", "spin", "park"];

    /// Reads a name.
    pub fn from_name(name: &str) -> Option<WaitMode> {
        Some(match name {
            "auto" => WaitMode::Auto,
            "spin" => WaitMode::Spin,
            "park" => WaitMode::Park,
            _ => return None,
        })
    }

    /// The name in a file.
    pub fn name(self) -> &'static str {
        match self {
            WaitMode::Auto => "auto",
            WaitMode::Spin => "spin",
            WaitMode::Park => "park",
        }
    }
}

/// Default maximum of the number of instances.
pub const DEFAULT_INSTANCES: u64 = 10_000;

/// An entry for the conduits of a port, or for one conduit between two ports: a size in bytes, or filters.
#[derive(Clone, Debug, PartialEq)]
pub struct ForConduit<T> {
    /// The sending or receiving port.
    pub port: Reference,
    /// The receiving port, if `port` is a sending port and the entry is for this one conduit only.
    pub receiver: Option<Reference>,
    pub value: T,
    /// The place in the file.
    pub at: At,
}

/// The domain in which something is placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InDomain {
    /// A domain's number, or the name of its machine.
    pub domain: String,
    /// The place in the file.
    pub at: At,
}

/// A file or directory that an instance finds in its working directory when it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StagedInput {
    /// The path of the source, as the file has it. A relative path is relative to the file that contains it
    /// (`At::beside`).
    pub source: String,
    /// The name in the working directory. Directories may precede the name.
    pub name: String,
    /// The place in the file.
    pub at: At,
}

impl StagedInput {
    /// Returns true if `name` can be a name in a working directory: a relative path that does not lead out
    /// of it.
    pub fn is_name(name: &str) -> bool {
        let mut parts = Path::new(name).components().peekable();
        parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_))) && !name.contains('\0')
    }
}

/// A setting that may change while a model runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SteerableOption {
    /// Smallest value that the setting may have.
    pub min: Option<f64>,
    /// Largest value that the setting may have.
    pub max: Option<f64>,
    pub unit: String,
    /// True if the code reads the setting when a pass of its reuse loop begins, and not in each step.
    pub restart: bool,
    /// The place in the file.
    pub at: At,
}

/// The section `ligament:` of a file. Sizes are in bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LigamentOptions {
    /// Memory for all messages of the run on one machine.
    pub memory: Option<u64>,
    /// Budget of every conduit without a budget of its own.
    pub budget: Option<u64>,
    /// Memory that one reader's live views may occupy; beyond it, `receive` copies.
    pub reader_pinned: Option<u64>,
    /// Maximum size of a message on every conduit without a limit of its own.
    pub message_size: Option<u64>,
    /// Maximum size of the run's log. At this size a new log begins, and the log before it is kept.
    pub log: Option<u64>,
    /// Number of bytes that are kept of the output of each instance.
    pub output: Option<u64>,
    /// Size at which the run's timeline is made coarser; 0 for no timeline.
    pub timeline: Option<u64>,
    /// The unit of all times of messages, and its place in the file. If `None`, the unit is not known.
    pub time_unit: Option<(String, At)>,
    /// Maximum number of instances.
    pub instances: Option<u64>,
    /// Number of checkpoints that are kept.
    pub kept_checkpoints: Option<usize>,
    /// Number of times that a run goes on from its last checkpoint after it has failed.
    pub restarts: Option<u32>,
    /// The way in which instances wait.
    pub wait: Option<WaitMode>,
    /// The place in the file.
    pub wait_at: At,
    /// Implementations whose instances all run in one process (see `run_light`), with the place in the
    /// file.
    pub light: IndexMap<Reference, At>,
    /// Components whose instances may end too early, in which case the run continues without them; with the
    /// place in the file.
    pub may_fail: IndexMap<Reference, At>,
    /// Programs that are started with MPICH's `mpirun`, for which yMMSL has no name; with the place in the
    /// file.
    pub mpich: IndexMap<Reference, At>,
    /// The commands that start single programs with MPI, with the place in the file.
    pub mpirun: IndexMap<Reference, (String, At)>,
    /// Number of ranks of each instance, for components whose ranks speak for themselves; with the place in
    /// the file.
    pub ranks: IndexMap<Reference, (usize, At)>,
    /// The tick of each component that has a clock; with the place in the file.
    pub ticks: IndexMap<Reference, (Nanoseconds, At)>,
    /// Grids, by the component whose instances or ranks are their blocks.
    pub grids: IndexMap<Reference, Grid>,
    /// The scales of components.
    pub scales: IndexMap<Reference, DeclaredScales>,
    /// Budgets of single conduits, by the text that names them: `a.out`, `b.in` or `a.out -> b.in`.
    pub budgets: IndexMap<String, ForConduit<u64>>,
    /// Maximum size of a message on single conduits, which are named in the same way.
    pub message_sizes: IndexMap<String, ForConduit<u64>>,
    /// Filters of conduits, which are named in the same way.
    pub filters: IndexMap<String, ForConduit<Arc<[Filter]>>>,
    /// Conduits from all ranks to all ranks, which are named in the same way.
    pub exchange: IndexMap<String, ForConduit<Exchange>>,
    /// Units of the values that ports send or receive, by component and port; with the place in the file.
    pub units: IndexMap<Reference, (String, At)>,
    /// The domains of components or of single instances, if the run has several domains.
    pub place: IndexMap<Reference, InDomain>,
    /// The inputs of components, or of single instances of them.
    pub stage: IndexMap<Reference, Vec<StagedInput>>,
    /// Settings that may change while a model runs, by their full names without indices.
    pub steerable: IndexMap<Reference, SteerableOption>,
    /// True if instances are spread over all domains; false if they fill one domain after the other. If
    /// `None`, they are spread.
    pub spread: Option<bool>,
    /// True if a domain may get more instances than it has cores for.
    pub overcommit: Option<bool>,
}

impl LigamentOptions {
    /// The keys that are allowed under `ligament:`.
    pub const KEYS: &'static [&'static str] = &[
        "memory",
        "budget",
        "budgets",
        "reader_pinned",
        "message_size",
        "message_sizes",
        "filters",
        "exchange",
        "units",
        "log",
        "output",
        "timeline",
        "time_unit",
        "instances",
        "wait",
        "light",
        "may_fail",
        "mpich",
        "mpirun",
        "ranks",
        "ticks",
        "checkpoints",
        "restarts",
        "grids",
        "scales",
        "place",
        "stage",
        "spread",
        "overcommit",
        "steerable",
    ];

    /// Returns true if no option is set.
    pub fn is_empty(&self) -> bool {
        *self == LigamentOptions::default()
    }

    /// Takes over the values that the overlay sets.
    pub fn update(&mut self, overlay: LigamentOptions) {
        self.memory = overlay.memory.or(self.memory);
        self.budget = overlay.budget.or(self.budget);
        self.reader_pinned = overlay.reader_pinned.or(self.reader_pinned);
        self.message_size = overlay.message_size.or(self.message_size);
        self.log = overlay.log.or(self.log);
        self.output = overlay.output.or(self.output);
        self.timeline = overlay.timeline.or(self.timeline);
        self.time_unit = overlay.time_unit.or(self.time_unit.take());
        self.instances = overlay.instances.or(self.instances);
        self.kept_checkpoints = overlay.kept_checkpoints.or(self.kept_checkpoints);
        self.restarts = overlay.restarts.or(self.restarts);
        if overlay.wait.is_some() {
            (self.wait, self.wait_at) = (overlay.wait, overlay.wait_at);
        }
        self.light.extend(overlay.light);
        self.may_fail.extend(overlay.may_fail);
        self.mpich.extend(overlay.mpich);
        self.mpirun.extend(overlay.mpirun);
        self.ranks.extend(overlay.ranks);
        self.ticks.extend(overlay.ticks);
        self.grids.extend(overlay.grids);
        self.scales.extend(overlay.scales);
        self.budgets.extend(overlay.budgets);
        self.message_sizes.extend(overlay.message_sizes);
        self.filters.extend(overlay.filters);
        self.exchange.extend(overlay.exchange);
        self.units.extend(overlay.units);
        self.place.extend(overlay.place);
        self.stage.extend(overlay.stage);
        self.steerable.extend(overlay.steerable);
        self.spread = overlay.spread.or(self.spread);
        self.overcommit = overlay.overcommit.or(self.overcommit);
    }
}

/// Reads a size: a whole number of bytes, or a number with `kB`, `MB`, `GB`, `TB` (powers of 1000) or
/// `KiB`, `MiB`, `GiB`, `TiB` (powers of 1024). Returns `None` if the text is not a size or does not fit
/// into 63 bits.
pub fn parse_bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number = number.replace('_', "");
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kb" => 1000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        "kib" | "k" => 1 << 10,
        "mib" | "m" => 1 << 20,
        "gib" | "g" => 1 << 30,
        "tib" | "t" => 1 << 40,
        _ => return None,
    };
    let bytes = match number.parse::<u64>() {
        Ok(whole) => whole.checked_mul(factor)?,
        Err(_) if factor > 1 => {
            let bytes = number.parse::<f64>().ok()? * factor as f64;
            if !(0.0..9e18).contains(&bytes) {
                return None;
            }
            bytes as u64
        }
        Err(_) => return None,
    };
    (bytes <= i64::MAX as u64).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::{parse_bytes, StagedInput};

    #[test]
    fn a_name_in_a_working_directory_leads_to_no_other() {
        for name in ["mesh.dat", "data/mesh.dat", "a b", ".hidden"] {
            assert!(StagedInput::is_name(name), "{name}");
        }
        for name in ["", ".", "..", "../mesh.dat", "data/../../x", "/etc/passwd", "a\0b"] {
            assert!(!StagedInput::is_name(name), "{name:?}");
        }
    }

    #[test]
    fn sizes_are_read_with_and_without_units() {
        for (text, bytes) in
            [("0", 0), ("64", 64), ("4 GiB", 4 << 30), ("1.5 MiB", 3 << 19), ("2kB", 2000), ("1_000 b", 1000)]
        {
            assert_eq!(parse_bytes(text), Some(bytes), "{text}");
        }
        for text in ["", "GiB", "4 XB", "-1", "1.5", "99999999999 TiB", "1.2.3 GiB"] {
            assert_eq!(parse_bytes(text), None, "{text}");
        }
    }
}
