//! The type `Instance`: joining the run, the reuse loop, settings, logging, and a clean end.

use crate::chains::{by_channel, Lists};
use crate::checkpoint::{CheckpointState, LoopStep};
use crate::clock::{join_clocks, Clock};
use crate::error::{AgentError, Error, ErrorKind, IdentityError, PortError, ReceiveError};
use crate::flags::Flags;
use crate::identity::from_environment;
use crate::loan::Spare;
use crate::message::Message;
use crate::order::OrderWatch;
use crate::overlay::{from_value, Overlays};
use crate::ports::{JoinedChannel, PortTable, Ports};
use crate::receive::{settings_of, Overlay};
use crate::record::{info_of, replay_directory, warn_of, CodeDeclarations, Recorded, Replayed};
use crate::sys;
use crate::timing::TimelineState;
use crate::transport::Transport;
use ligament_catalogue::{fault, said};
use ligament_model::{
    nearest, Operator, Reference, SettingError, SettingType, SettingValue, Settings, LOCAL_LOG_LEVEL,
    LOG_NOTHING, SETTINGS_PORT,
};
use ligament_shm::line::{AgentLine, Identity, Registration};
use ligament_shm::{forks, Endpoint, ShmError};
use ligament_wire::control::{ChannelInfo, ChannelSteps, GridInfo, Rank, Welcome, ENV_IDENTITY};
use ligament_wire::{decode_body, ConduitEnd, Encoder, Limits, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::CString;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The importance of a line in the run's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum LogLevel {
    Debug = 0,
    Info = 1,
    Warning = 2,
    Error = 3,
    Critical = 4,
}

impl LogLevel {
    /// Returns the level with this number. A number above 4 gives the highest level.
    pub fn from_number(number: u8) -> LogLevel {
        match number {
            0 => LogLevel::Debug,
            1 => LogLevel::Info,
            2 => LogLevel::Warning,
            3 => LogLevel::Error,
            _ => LogLevel::Critical,
        }
    }

    /// Returns the level's name as it is printed.
    fn name(self) -> &'static str {
        match self {
            LogLevel::Debug => "DEBUG",
            LogLevel::Info => "INFO",
            LogLevel::Warning => "WARNING",
            LogLevel::Error => "ERROR",
            LogLevel::Critical => "CRITICAL",
        }
    }
}

/// Maximum number of settings among which the library looks for a similar name when a setting is not set. A
/// code may ask for many settings that are not set, so the search must stay short.
const MAX_SETTINGS_TO_COMPARE: usize = 200;

/// The rank of an instance that has only one rank.
const ALONE: Rank = Rank { number: 0, of: 1 };

/// The state of the messages between a block of a grid and its neighbours.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GridProgress {
    /// A description of the fields of the last exchange, which the neighbours know.
    pub fields: Option<Arc<str>>,
    /// The activity whose messages have not all been received.
    pub open: Option<OpenExchange>,
}

/// An exchange or reduction whose messages have not all been received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenExchange {
    /// The exchange has begun, and its second half is still to come.
    Begun,
    /// The exchange has failed, or a call is working on it.
    Within,
}

/// The number of ranks and threads of an instance. A number is zero if the code has not given it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Parallelism {
    /// Number of processes that are one instance together, as MPI starts them.
    pub ranks: u32,
    /// Number of threads of each process.
    pub threads: u32,
}

/// An instance of a component in a running model. It belongs to one thread at a time.
pub struct Instance {
    pub(crate) endpoint: Transport,
    pub(crate) table: PortTable,
    pub(crate) name: Reference,
    name_text: String,
    run: Arc<str>,
    base: Arc<Settings>,
    pub(crate) overlays: Overlays,
    /// Settings whose values a client has changed while the model runs.
    pub(crate) steered: Settings,
    asked: Option<RequestedSettings>,
    pub(crate) flags: Flags,
    parallelism: Parallelism,
    rank: Rank,
    pub(crate) order: OrderWatch,
    /// Messages that `reuse_instance` has received on `F_INIT` ports and that the code has not yet
    /// received, by port and slot.
    pub(crate) initial: HashMap<(usize, usize), (Message, Overlay)>,
    /// True once the code has called `reuse_instance`, which then receives the messages on `F_INIT` ports.
    pub(crate) looping: bool,
    /// The position of the instance on the model's timelines. `None` if no conduit of the instance needs
    /// it.
    pub(crate) timing: Option<Box<TimelineState>>,
    passes: u64,
    /// False once `reuse_instance` has found that there is no further pass.
    is_wanted: bool,
    over: bool,
    forks: u32,
    /// Lowest level of lines that are written to the run's log.
    log_level: u8,
    /// Lowest level of lines that are written to this process's own output.
    local_log_level: u8,
    pub(crate) encoder: Encoder,
    /// Ports and slots whose senders may fail: the run goes on without these instances.
    may_fail: HashSet<(usize, usize)>,
    /// Loans whose memory can be used again.
    pub(crate) spare: Spare,
    /// Number of array heads that the instance has planned.
    pub(crate) heads: u64,
    /// The clock, if the model gives the instance a tick.
    pub(crate) clock: Option<Clock>,
    /// The grid of which the instance, or this rank, is a block.
    grid: Option<GridInfo>,
    grid_progress: GridProgress,
    /// The state of checkpoints, if the model asks for them.
    pub(crate) checkpoints: Option<Box<CheckpointState>>,
    /// The call for checkpoints that comes next.
    pub(crate) loop_step: LoopStep,
    /// The fields of a grid that were published.
    pub(crate) published: Vec<Box<str>>,
}

/// The data that all instances of a process share.
pub(crate) struct Common {
    run: Arc<str>,
    settings: Arc<Settings>,
    /// Names of the settings that the code has asked for. `None` if the agent does not want them.
    pub asked: Option<RequestedSettings>,
    flags: Flags,
}

/// The names of the settings that the code of this process has asked for, or `*`. The agent compares them
/// with the model, to find misspelt settings.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestedSettings(Arc<Mutex<BTreeSet<String>>>);

impl RequestedSettings {
    /// Stands for all settings, whatever their names.
    const ALL: &'static str = "*";

    fn note(&self, name: &str) {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !names.contains(name) {
            names.insert(name.to_owned());
        }
    }

    /// Returns all names.
    pub fn names(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

/// The ports of an instance, joined with their channels, and its place on the model's timelines.
struct WelcomedPorts {
    table: PortTable,
    timing: Option<Box<TimelineState>>,
}

impl WelcomedPorts {
    fn of(welcome: &Welcome, instance: &str) -> Result<WelcomedPorts, Error> {
        let joined = |channels: &[ChannelInfo]| -> Vec<JoinedChannel> {
            let of_ports = channels.iter().enumerate().filter(|(_, channel)| channel.wants_of.is_none());
            of_ports.map(|(index, channel)| JoinedChannel::of(channel, index)).collect()
        };
        let names: Vec<Arc<str>> = welcome.ports.iter().map(|port| port.name.as_str().into()).collect();
        let (sends, receives) = (joined(&welcome.sends), joined(&welcome.receives));
        let mut table = PortTable::new(&welcome.ports, &names, sends, receives)?;
        join_clocks(&mut table, welcome);
        let steps = |channels: &[ChannelInfo]| -> HashMap<usize, ChannelSteps> {
            let all = channels.iter().enumerate();
            all.filter_map(|(index, channel)| Some((index, channel.steps?))).collect()
        };
        let lists = Lists::told(welcome.filters.as_deref())?;
        let (sending, receiving) = (by_channel(&welcome.sends), by_channel(&welcome.receives));
        lists.join(instance, &mut table, &sending, &receiving)?;
        let timing = TimelineState::of(&mut table, steps(&welcome.sends), steps(&welcome.receives))?;
        Ok(WelcomedPorts { table, timing })
    }
}

impl Common {
    /// Reads the shared data from the agent's welcome. Also blanks the variables of the identity in the
    /// environment, so that a process which this one starts does not take itself for the instance.
    pub fn new(welcome: &Welcome, flags: Flags) -> Result<Common, Error> {
        forks::watch();
        for variable in ENV_IDENTITY.map(CString::new).into_iter().flatten() {
            sys::blank_variable(&variable);
        }
        let settings = decode_body(0, welcome.settings.clone().into(), &Limits::default())
            .ok()
            .and_then(|value| from_value(&value))
            .ok_or(AgentError::Settings)?;
        let asked = (welcome.hears_use == Some(true)).then(RequestedSettings::default);
        Ok(Common { run: welcome.run.as_str().into(), settings: Arc::new(settings), asked, flags })
    }
}

impl Instance {
    /// Joins the run that the environment names (`ligament run` sets the variables). If `ports` is `None`,
    /// the model's ports are used.
    ///
    /// # Errors
    /// `Registration` if there is no run, or if the ports do not fit the model. The text says what to do.
    pub fn new(ports: Option<&Ports>) -> Result<Instance, Error> {
        Instance::with_options(ports, Flags::default(), "rust")
    }

    /// Does the same as `new`, with flags and with the language of the caller (for the run's records).
    pub fn with_options(ports: Option<&Ports>, flags: Flags, language: &str) -> Result<Instance, Error> {
        let identity = from_environment()?;
        let code = CodeDeclarations { ports: ports.map(Ports::declarations), language };
        if let Some(directory) = replay_directory(&identity) {
            return Instance::replayed(&identity, &directory, &code, flags);
        }
        let registered = AgentLine::register(&identity, code.ports.clone(), language, false)
            .map_err(|fault| Error::other(ErrorKind::Registration, fault))?;
        Instance::alone(identity, registered, &code, flags)
    }

    /// Makes the instance of a process that is replayed from a recording in `directory`.
    pub(crate) fn replayed(
        identity: &Identity,
        directory: &Path,
        code: &CodeDeclarations<'_>,
        flags: Flags,
    ) -> Result<Instance, Error> {
        let (replayed, welcome) = Replayed::open(directory, identity, code)?;
        let joined = WelcomedPorts::of(&welcome, &identity.instance)?;
        let transport = Transport::Replayed(Box::new(replayed));
        Instance::welcomed(transport, joined, &welcome, (identity.instance.clone(), flags))
    }

    /// Makes the instance of a process that has only one.
    pub(crate) fn alone(
        identity: Identity,
        registered: Registration,
        code: &CodeDeclarations<'_>,
        flags: Flags,
    ) -> Result<Instance, Error> {
        let Registration { line, welcome, foundation } = registered;
        let joined = WelcomedPorts::of(&welcome, &identity.instance)?;
        let mut endpoint = Endpoint::new(foundation, &welcome.sends, &welcome.receives, line)
            .map_err(Error::while_registering)?;
        endpoint.steering().begin(welcome.schedule.as_deref().unwrap_or_default());
        let transport = match &welcome.recording {
            None => Transport::Own(endpoint),
            Some(path) => {
                let info = info_of(&identity.instance, &welcome, code);
                match Recorded::begin(endpoint, Path::new(path), &info) {
                    Ok(recorded) => Transport::Recorded(Box::new(recorded)),
                    Err((mut endpoint, fault)) => {
                        warn_of(&mut endpoint, &fault);
                        Transport::Own(endpoint)
                    }
                }
            }
        };
        Instance::welcomed(transport, joined, &welcome, (identity.instance, flags))
    }

    /// Makes an instance from the data with which the agent has admitted it.
    fn welcomed(
        transport: Transport,
        joined: WelcomedPorts,
        welcome: &Welcome,
        (name, flags): (String, Flags),
    ) -> Result<Instance, Error> {
        let common = Common::new(welcome, flags)?;
        let WelcomedPorts { table, timing } = joined;
        let mut made = Instance::made_of(transport, table, name, welcome.log_level, &common, timing)?;
        made.rank = welcome.rank.unwrap_or(ALONE);
        made.clock = welcome.clock.map(Clock::new);
        made.grid = welcome.grid.clone();
        if let Err(error) = made.join_checkpoints(welcome) {
            // The reason reaches the run before the conduits end, which would make others fail first.
            let _ = made.error_shutdown(&error.to_string());
            return Err(error);
        }
        let may_fail = welcome.receives.iter().filter(|channel| channel.may_fail == Some(true));
        made.may_fail = may_fail.map(|one| (one.port as usize, one.slot.unwrap_or(0) as usize)).collect();
        Ok(made)
    }

    /// Makes an instance from its parts. `alone` and `run_light` fill in the rest.
    pub(crate) fn made_of(
        transport: Transport,
        table: PortTable,
        name_text: String,
        log_level: u8,
        common: &Common,
        timing: Option<Box<TimelineState>>,
    ) -> Result<Instance, Error> {
        let name = Reference::new(&name_text).map_err(|error| {
            Error::other(ErrorKind::Registration, fault!(BAD_SETTING_NAME, "LIGAMENT_INSTANCE: {error}"))
        })?;
        let local = ligament_model::log_level(&common.settings, &name, LOCAL_LOG_LEVEL);
        let local_log_level = local.unwrap_or(LOG_NOTHING);
        Ok(Instance {
            endpoint: transport,
            table,
            name,
            name_text,
            run: common.run.clone(),
            base: common.settings.clone(),
            overlays: Overlays::default(),
            steered: Settings::new(),
            asked: common.asked.clone(),
            flags: common.flags,
            parallelism: Parallelism::default(),
            rank: ALONE,
            order: OrderWatch::new(),
            initial: HashMap::new(),
            looping: false,
            timing,
            passes: 0,
            is_wanted: true,
            over: false,
            forks: forks::count(),
            log_level,
            local_log_level,
            encoder: Encoder::new(),
            may_fail: HashSet::new(),
            spare: Spare::default(),
            heads: 0,
            clock: None,
            grid: None,
            grid_progress: GridProgress::default(),
            checkpoints: None,
            loop_step: LoopStep::Reuse,
            published: Vec::new(),
        })
    }

    /// The instance's name, such as `micro[3]`.
    pub fn name(&self) -> &str {
        &self.name_text
    }

    /// Returns the instance's index within its component. The index is empty if the component has no
    /// multiplicity.
    pub fn index(&self) -> Vec<usize> {
        self.name.split_indices().1
    }

    /// Returns true if the sender of this port (and slot) may fail: the run goes on if that instance ends
    /// too early, and the conduit then ends as if the instance had finished.
    ///
    /// # Errors
    /// `Usage` if there is no such port.
    pub fn peer_may_fail(&self, port: &str, slot: Option<u32>) -> Result<bool, Error> {
        Ok(self.may_fail.contains(&(self.table.find(port)?, slot.unwrap_or(0) as usize)))
    }

    /// Returns the number of this rank within its instance, from 0 on, if the model says that each rank
    /// speaks for itself. Returns 0 otherwise.
    pub fn rank(&self) -> u32 {
        self.rank.number
    }

    /// Returns the number of ranks of this instance that speak for themselves. Returns 1 if the model does
    /// not give `ranks`.
    pub fn ranks(&self) -> u32 {
        self.rank.of
    }

    /// Returns the grid of which this instance, or this rank, is a block. Returns `None` if the model gives its
    /// component no grid. The crate `grid` makes a `Domain` of it.
    pub fn grid(&self) -> Option<&GridInfo> {
        self.grid.as_ref()
    }

    /// Returns the state of the messages between this block and its neighbours. It belongs to the instance,
    /// since a code may make a domain in each pass.
    pub fn grid_progress(&mut self) -> &mut GridProgress {
        &mut self.grid_progress
    }

    /// Returns the number of passes that have begun.
    pub(crate) fn passes(&self) -> u64 {
        self.passes
    }

    pub(crate) fn set_passes(&mut self, passes: u64) {
        self.passes = passes;
    }

    /// The name of the run.
    pub fn run_name(&self) -> &str {
        &self.run
    }

    /// Sets the number of ranks and threads of this instance. While the instance computes, this number of
    /// cores counts as busy, and instances that wait for it do not spin on these cores. Without this call,
    /// the numbers under `resources:` in the model count.
    pub fn set_parallelism(&mut self, parallelism: Parallelism) {
        if parallelism != Parallelism::default() {
            self.endpoint.keeps_busy(parallelism.ranks.max(1).saturating_mul(parallelism.threads.max(1)));
        }
        self.parallelism = parallelism;
    }

    /// Returns the number of ranks and threads that the code has set.
    pub fn parallelism(&self) -> Parallelism {
        self.parallelism
    }

    /// Returns true if the code is to go through its execution loop once more. If `F_INIT` ports are
    /// connected, the call waits for a message on each of them, and returns false if their conduits have
    /// ended. Otherwise the call returns true once. After it has returned false, the instance is over: all
    /// its conduits are ended and it has signed off.
    ///
    /// # Errors
    /// `Unexpected` if the messages have different settings overlays; otherwise as `receive`.
    pub fn reuse_instance(&mut self) -> Result<bool, Error> {
        let again = self.begins_pass()?;
        if !again {
            self.finish()?;
        }
        Ok(again)
    }

    /// Does the same as `reuse_instance`, but leaves it to the caller to end the instance.
    pub(crate) fn begins_pass(&mut self) -> Result<bool, Error> {
        self.alive()?;
        self.check_pass_end()?;
        let goes_on = self.goes_on_within_pass();
        let again = match self.known_pass() {
            Some(again) => {
                self.looping = true;
                again
            }
            None => {
                let again = self.receive_pass()?;
                self.save_without_state(again)?;
                again
            }
        };
        self.is_wanted = again;
        if again {
            self.begin_steps();
        }
        if again && !goes_on {
            if self.passes > 0 && self.clock.is_some() {
                self.begin_receiving_pass();
            }
            self.steer_pass()?;
            self.passes += 1;
            self.endpoint.count_iteration();
        }
        Ok(again)
    }

    /// Ends the pass, and receives the messages of the next one. Returns true if there is a next pass.
    pub(crate) fn receive_pass(&mut self) -> Result<bool, Error> {
        self.looping = true;
        self.order.reuse();
        self.report_silence()?;
        self.end_clock_pass(self.passes)?;
        self.table.ports.iter_mut().for_each(|port| port.sent.forget());
        self.drop_unread()?;
        let again = match self.timing {
            Some(_) => self.start_on_timeline()?,
            None => self.receive_overlay()? && self.receive_initial()?,
        };
        Ok(again && (self.passes == 0 || self.has_initial()))
    }

    /// Warns about each `O_F` port on which nothing was sent in the pass that has just ended, once for each
    /// port. The receiver would get the message of a later pass instead, or none.
    fn report_silence(&mut self) -> Result<(), Error> {
        if self.passes == 0 {
            return Ok(());
        }
        for port in 0..self.table.ports.len() {
            let here = &mut self.table.ports[port];
            if here.operator != Operator::OF || here.sent.silence_reported {
                continue;
            }
            let silent = |&slot: &usize| here.is_connected_at(slot) && here.sent.is_silent(slot);
            let Some(slot) = (0..here.slots.len()).find(silent) else { continue };
            here.sent.silence_reported = true;
            let text = format!(
                "port {}: {} {}",
                here.describe(slot),
                self.name_text,
                said!(
                ORDER_OF_CALLS,
                "has sent no O_F message in pass {} of its loop; a receiver waits for one in each pass, and \
                 takes the next one for it",
                self.passes
            )
            );
            self.log(LogLevel::Warning, &text)?;
        }
        Ok(())
    }

    /// Drops messages on `F_INIT` ports that the code did not receive in the previous pass, and warns about
    /// the first one.
    fn drop_unread(&mut self) -> Result<(), Error> {
        if let Some(&(port, slot)) = self.initial.keys().next() {
            let port = self.table.ports[port].describe(slot);
            self.log(
                LogLevel::Warning,
                &said!(
                    INITIAL_MESSAGE_UNREAD,
                    "the message on F_INIT port {port} was not received before the next pass; it is dropped"
                ),
            )?;
            self.initial.clear();
        }
        Ok(())
    }

    /// Returns the port on which explicit settings arrive, if it is connected.
    pub(crate) fn settings_port(&self) -> Option<usize> {
        self.table.ports.iter().position(|port| &*port.name == SETTINGS_PORT && port.is_connected())
    }

    /// Receives the overlay of this pass if the settings port is connected. Returns false if the conduit
    /// has ended.
    fn receive_overlay(&mut self) -> Result<bool, Error> {
        let Some(port) = self.settings_port() else {
            self.overlays.set(Settings::new());
            return Ok(true);
        };
        let mut message = Message::default();
        let Some(came) = self.receive_raw(port, 0, None, &mut message)? else {
            return Ok(false);
        };
        self.set_explicit(&message.data, came)?;
        Ok(true)
    }

    /// Applies settings that came on the settings port, on top of the overlay that came with the same
    /// message.
    pub(crate) fn set_explicit(&mut self, data: &Value, came: Overlay) -> Result<(), Error> {
        let own = from_value(data).ok_or_else(|| ReceiveError::OnlySettings {
            port: SETTINGS_PORT,
            value: crate::message::kind_of(data),
        })?;
        self.overlays.set_explicit(settings_of(came), &own);
        Ok(())
    }

    /// Receives a message on every connected slot of the `F_INIT` ports. Returns false if a conduit has
    /// ended.
    fn receive_initial(&mut self) -> Result<bool, Error> {
        let settings_port = self.settings_port();
        let mut first = settings_port.is_none();
        for port in 0..self.table.ports.len() {
            if self.table.ports[port].operator != Operator::FInit || Some(port) == settings_port {
                continue;
            }
            // The message on slot 0 gives the number of slots of a resizable port.
            let mut slots = 0..;
            while let Some(slot) = slots.next().filter(|&slot| self.table.ports[port].has_slot_for_start(slot))
            {
                if !self.table.ports[port].is_connected_at(slot) {
                    continue;
                }
                let mut message = Message::default();
                let Some(came) = self.receive_raw(port, slot, None, &mut message)? else {
                    return Ok(false);
                };
                self.take_initial(port, slot, message, came, &mut first)?;
            }
        }
        Ok(true)
    }

    /// Stores a message for the pass that begins. `first` is true until a message has set the overlay of
    /// the pass. If no settings came on the settings port, the first message sets the overlay, and all
    /// others must have the same one.
    pub(crate) fn take_initial(
        &mut self,
        port: usize,
        slot: usize,
        mut message: Message,
        came: Overlay,
        first: &mut bool,
    ) -> Result<(), Error> {
        if self.flags.dont_apply_overlay {
            message.settings = Some(settings_of(came.clone()));
        } else if message.timestamp == f64::NEG_INFINITY {
            // An empty message of the filter `last` says that there is no message. It has no overlay.
        } else if std::mem::take(first) {
            self.overlays.set(settings_of(came.clone()));
        } else {
            self.check_overlay(port, slot, came.as_ref())?;
        }
        self.initial.insert((port, slot), (message, came));
        Ok(())
    }

    /// Returns the value of a setting for this instance, with the overlay applied. If several names fit,
    /// the longest one wins, as in MUSCLE 3.
    ///
    /// # Errors
    /// `SettingUnset` if the setting is not set. `SettingType` if the value does not have the type
    /// `wanted`; `None` accepts any type.
    pub fn get_setting(&self, name: &str, wanted: Option<SettingType>) -> Result<SettingValue, Error> {
        let reference = Reference::new(name).map_err(|error| {
            let fault = fault!(BAD_SETTING_NAME, "\"{name}\" is no name for a setting: {error}");
            Error::other(ErrorKind::SettingUnset, fault)
        })?;
        self.asked.iter().for_each(|asked| asked.note(name));
        let layers = [self.overlays.current(), &self.steered, &*self.base];
        let found = match wanted {
            Some(wanted) => Settings::layered_as(&layers, &self.name, &reference, wanted),
            None => match Settings::layered(&layers, &self.name, &reference) {
                Some((_, value)) => return Ok(value.clone()),
                None => Err(SettingError::NotSet { name: reference, instance: self.name.clone() }),
            },
        };
        found.map_err(|error| Error::Setting(self.with_meant(error)))
    }

    /// Adds the most similar known name to the error of a setting that is not set.
    #[cold]
    fn with_meant(&self, error: SettingError) -> SettingError {
        let SettingError::NotSet { name, instance } = error else { return error };
        if self.base.len() > MAX_SETTINGS_TO_COMPARE {
            return SettingError::NotSet { name, instance };
        }
        let known = self.names_of_settings();
        match nearest(&name.to_string(), known.iter().map(String::as_str)) {
            Some(meant) => SettingError::Misspelt { name, instance, meant: meant.to_owned() },
            None => SettingError::NotSet { name, instance },
        }
    }

    /// Returns a setting of this instance as a number, for the library's own use. The setting is not noted
    /// as requested by the code.
    pub(crate) fn known_number(&self, name: &str) -> Option<f64> {
        let reference = Reference::new(name).ok()?;
        let layers = [self.overlays.current(), &self.steered, &*self.base];
        match Settings::layered_as(&layers, &self.name, &reference, SettingType::Float) {
            Ok(SettingValue::Float(number)) => Some(number),
            _ => None,
        }
    }

    /// Returns the names of the settings that apply to this instance.
    pub fn list_settings(&self) -> Vec<String> {
        self.asked.iter().for_each(|asked| asked.note(RequestedSettings::ALL));
        self.names_of_settings()
    }

    fn names_of_settings(&self) -> Vec<String> {
        let mut all = Settings::clone(&self.base);
        all.update(&self.steered);
        all.update(self.overlays.current());
        all.names_for(&self.name)
    }

    /// Returns the names of the ports by operator, in the model's order.
    pub fn list_ports(&self) -> BTreeMap<&'static str, Vec<String>> {
        let mut ports: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
        for port in self.table.ports.iter().filter(|port| &*port.name != SETTINGS_PORT) {
            ports.entry(port.operator.name()).or_default().push(port.name.to_string());
        }
        ports
    }

    /// Returns true if a conduit is connected to the port.
    pub fn is_connected(&self, port: &str) -> Result<bool, Error> {
        Ok(self.table.ports[self.table.find(port)?].is_connected())
    }

    /// Returns true if the port has slots.
    pub fn is_vector_port(&self, port: &str) -> Result<bool, Error> {
        Ok(self.table.ports[self.table.find(port)?].vector)
    }

    /// Returns the number of slots of a vector port. For a resizable port that receives, this is the number
    /// that came with the last received message (0 before the first one).
    ///
    /// # Errors
    /// `Usage` for a port without slots.
    pub fn get_port_length(&self, port: &str) -> Result<usize, Error> {
        let port = &self.table.ports[self.table.find(port)?];
        if port.vector {
            Ok(port.slots.len())
        } else {
            Err(PortError::NoLength { port: port.name.to_string() }.into())
        }
    }

    /// Returns true if the port is resizable: its sender sets the number of slots with `set_port_length`.
    /// This holds for vector ports that are connected to vector ports of components with the same
    /// multiplicity, or that are not connected.
    ///
    /// # Errors
    /// `Usage` if there is no such port.
    pub fn is_resizable(&self, port: &str) -> Result<bool, Error> {
        Ok(self.table.ports[self.table.find(port)?].resizable.is_some())
    }

    /// Sets the number of slots of a resizable port, which is 0 at first. Each message carries the number
    /// to the receivers.
    ///
    /// # Errors
    /// `Usage` for a port without slots, or if the model has set another number of slots.
    pub fn set_port_length(&mut self, port: &str, length: usize) -> Result<(), Error> {
        self.alive()?;
        let index = self.table.find(port)?;
        self.table.ports[index].set_length(length)
    }

    /// Writes a line to the run's log, if the model's log level lets lines of this level pass.
    pub fn log(&mut self, level: LogLevel, text: &str) -> Result<(), Error> {
        if (level as u8) < self.log_level {
            self.log_here(level, text);
            Ok(())
        } else {
            self.log_anyhow(level, text)
        }
    }

    /// Writes a line to this process's own output, if the model asks for lines of this level there.
    fn log_here(&self, level: LogLevel, text: &str) {
        if level as u8 >= self.local_log_level {
            // A failure is ignored: a process that has closed its output does not want the lines.
            let _ = writeln!(std::io::stderr(), "{}: {text}", level.name());
        }
    }

    /// Writes a line to the run's log whatever its level, for output that the model itself asks for.
    pub(crate) fn log_anyhow(&mut self, level: LogLevel, text: &str) -> Result<(), Error> {
        self.log_here(level, text);
        let told = self.endpoint.log(level as u8, text);
        told.map_err(|error| Error::during(error, || "writing to the run's log".into()))
    }

    /// Ends the run because of an error in this code, and reports the reason to the run.
    ///
    /// # Errors
    /// `Usage` in a forked child, which is not the instance. `System` if the report cannot be sent.
    pub fn error_shutdown(&mut self, why: &str) -> Result<(), Error> {
        if self.forks != forks::count() {
            return Err(self.why_dead());
        }
        if std::mem::replace(&mut self.over, true) {
            return Ok(());
        }
        self.endpoint.end(true);
        let told = self.endpoint.fail(why);
        told.map_err(|error| Error::during(error, || "reporting an error".into()))
    }

    /// Ends all conduits on which this instance sends, and signs off. `reuse_instance` calls this before it
    /// returns false, and so does the drop of an instance that has not failed.
    pub fn finish(&mut self) -> Result<(), Error> {
        if self.over || self.forks != forks::count() {
            return Ok(());
        }
        self.save_end()?;
        let ended = self.finish_clock();
        self.over = true;
        ended?;
        // Read before the conduits are ended, because their ends would count as messages.
        let sent = self.endpoint.sent_on();
        for port in 0..self.table.ports.len() {
            if self.table.ports[port].operator.sends() {
                self.end_conduits(port)?;
            }
        }
        self.end_wants()?;
        self.endpoint.end(false);
        let told = self.tell_use(sent.unwrap_or_default()).and_then(|()| self.endpoint.sign_off());
        told.map_err(|error| Error::during(error, || "signing off".into()))
    }

    /// Ends the conduits of one port. The receivers find the end while this instance goes on, and nothing
    /// more can be sent on the port. This is for a program that stands in for another instance; a submodel
    /// ends all its conduits by `finish`.
    ///
    /// # Errors
    /// `Usage` if there is no such port, or if the port does not send.
    #[doc(hidden)]
    pub fn end_port(&mut self, port: &str) -> Result<(), Error> {
        self.alive()?;
        let index = self.table.find(port)?;
        if self.table.ports[index].operator.sends() {
            self.end_conduits(index)
        } else {
            Err(self.table.ports[index].receives_only())
        }
    }

    fn end_conduits(&mut self, port: usize) -> Result<(), Error> {
        self.finish_filters(port, |_| true)?;
        // The end of the conduits also ends the outermost iteration.
        self.let_go(port, 0)?;
        self.end_shared(port)?;
        let ending = self.ending();
        for slot in 0..self.table.ports[port].ended.len() {
            if std::mem::replace(&mut self.table.ports[port].ended[slot], true) {
                continue;
            }
            for i in 0..self.table.ports[port].slots[slot].len() {
                let channel = self.table.ports[port].slots[slot][i];
                self.endpoint.end_channel(channel, ending).map_err(|error| {
                    Error::during(error, || format!("closing port {}", self.table.ports[port].describe(slot)))
                })?;
            }
        }
        Ok(())
    }

    /// Returns the kind of end that conduits get if they end now. An instance whose passes are started by
    /// messages ends within a pass, unless `reuse_instance` has found that there is no further pass.
    pub(crate) fn ending(&self) -> ConduitEnd {
        if self.is_wanted && self.has_initial() {
            ConduitEnd::WithinPass
        } else {
            ConduitEnd::Done
        }
    }

    /// Reports to the agent which settings the code has asked for, and the number of messages on each
    /// channel.
    fn tell_use(&mut self, mut sent: Vec<(u32, u64)>) -> Result<(), ShmError> {
        let Some(asked) = &self.asked else { return Ok(()) };
        let names = asked.names();
        let mut received = self.endpoint.received_from().unwrap_or_default();
        // These messages were received by `reuse_instance` but never passed to the code, so they do not
        // count.
        for &(port, slot) in self.initial.keys() {
            let channel = self.table.ports[port].slots.get(slot).and_then(|channels| channels.first());
            if let Some((_, count)) = channel.and_then(|&channel| received.get_mut(channel)) {
                *count = count.saturating_sub(1);
            }
        }
        // Channels of resizable ports also carry marks that name the slot, so their counts are left out.
        let marked = |sends: bool| {
            let ports = self.table.ports.iter().filter(move |port| port.operator.sends() == sends);
            let shared = ports.filter_map(|port| port.resizable.as_ref());
            // Channels on which iterations matter also carry milestones, so their counts are left out too.
            let stepped = self.timing.iter().flat_map(move |timing| timing.channels(sends));
            // Channels of distributed arrays also carry maps, and those of clocks the ends of passes.
            let parts = self.table.ports.iter().filter(move |port| port.operator.sends() == sends);
            let parts = parts.filter(|port| port.exchanges()).flat_map(|port| port.channels());
            let clocked = self.table.ports.iter().filter_map(|port| port.clocked.as_ref());
            let wants = clocked.flat_map(move |clocked| clocked.wants_channels(sends));
            shared.flat_map(|shared| shared.channels.iter().copied()).chain(stepped).chain(parts).chain(wants)
        };
        for (sends, counts) in [(true, &mut sent), (false, &mut received)] {
            let marked: BTreeSet<usize> = marked(sends).collect();
            let mut index = 0..;
            counts.retain(|_| index.next().is_some_and(|index| !marked.contains(&index)));
        }
        self.endpoint.tell_use(names, sent, received)
    }

    /// Marks the instance as over without ending its conduits: the run fails for a reason outside of this
    /// instance.
    pub(crate) fn abandon(&mut self) {
        self.over = true;
    }

    /// Returns true if `finish` or `error_shutdown` has been called.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Sets a function that is called at least once a second while the instance waits. If it returns true,
    /// the waiting call fails with `Interrupted`.
    pub fn set_interrupt_check(&mut self, check: Box<dyn Fn() -> bool + Send>) {
        self.endpoint.set_interrupt_check(check);
    }

    /// Fails if the instance is over, or if this process is a forked child of the instance.
    #[inline(always)]
    pub(crate) fn alive(&self) -> Result<(), Error> {
        if self.is_alive() {
            Ok(())
        } else {
            Err(self.why_dead())
        }
    }

    #[inline(always)]
    pub(crate) fn is_alive(&self) -> bool {
        !self.over && self.forks == forks::count()
    }

    #[cold]
    fn why_dead(&self) -> Error {
        let instance = self.name_text.clone();
        if self.forks == forks::count() {
            IdentityError::Over { instance }
        } else {
            IdentityError::Forked { instance }
        }
        .into()
    }

    /// Notes that a port is used, and warns if this is not the order of the execution loop.
    #[inline(always)]
    pub(crate) fn note_use(&mut self, port: usize) -> Result<(), Error> {
        let here = &self.table.ports[port];
        if let Some(deviation) = self.order.used(here.operator) {
            let text = format!("port \"{}\": {} {deviation}", here.name, self.name_text);
            self.log(LogLevel::Warning, &text)?;
        }
        Ok(())
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // A panic counts as a failure of the code, not as a clean end.
        if std::thread::panicking() {
            let _ = self.error_shutdown(&said!(CODE_PANICKED, "the code panicked"));
        } else {
            let _ = self.finish();
        }
    }
}
