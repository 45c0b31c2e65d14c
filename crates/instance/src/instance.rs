//! The instance: registering, the reuse loop, settings, logging, and a clean end.

use crate::chains::{by_channel, Lists};
use crate::error::{AgentError, Error, ErrorKind, IdentityError, PortError, ReceiveError};
use crate::identity::from_environment;
use crate::loan::Spare;
use crate::message::Message;
use crate::order::OrderWatch;
use crate::overlay::{from_value, Overlays};
use crate::ports::{JoinedChannel, PortTable, Ports};
use crate::receive::{settings_of, Overlay};
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
use ligament_wire::control::{ChannelInfo, ChannelSteps, Rank, Welcome, ENV_IDENTITY};
use ligament_wire::{decode_body, ConduitEnd, Encoder, Limits, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::CString;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

/// How important a line in the run's log is.
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
    /// The level of this number, the highest for larger ones.
    pub fn from_number(number: u8) -> LogLevel {
        match number {
            0 => LogLevel::Debug,
            1 => LogLevel::Info,
            2 => LogLevel::Warning,
            3 => LogLevel::Error,
            _ => LogLevel::Critical,
        }
    }

    /// Its name, as people read it.
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

/// Options of an instance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flags {
    /// Overlays that come with messages are handed over with them (`Message::settings`) instead of being
    /// applied: for components that serve others with different settings.
    pub dont_apply_overlay: bool,
}

/// Among more settings than this no misspelt one is looked for: codes may ask for many that they can do
/// without.
const MAX_SETTINGS_TO_COMPARE: usize = 200;

/// The rank of an instance that has no others.
const ALONE: Rank = Rank { number: 0, of: 1 };

/// The number of ranks and threads that an instance has. Zero where that was not said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Parallelism {
    /// Processes that are one instance together, as MPI starts them.
    pub ranks: u32,
    /// Threads of each of them.
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
    /// Settings that have changed while the model runs.
    pub(crate) steered: Settings,
    asked: Option<RequestedSettings>,
    pub(crate) flags: Flags,
    parallelism: Parallelism,
    rank: Rank,
    pub(crate) order: OrderWatch,
    /// Messages on `F_INIT` ports, received by `reuse_instance` for the calls that follow; by port and slot.
    pub(crate) initial: HashMap<(usize, usize), (Message, Overlay)>,
    /// True if `reuse_instance` takes in the `F_INIT` messages.
    pub(crate) looping: bool,
    /// The state of timelines, where they matter: how it stands on them.
    pub(crate) timing: Option<Box<TimelineState>>,
    passes: u64,
    /// True if `reuse_instance` has not said that there is no other pass.
    is_wanted: bool,
    over: bool,
    forks: u32,
    /// The least level of what goes to the run's log.
    log_level: u8,
    /// The least level of what goes into this process's own output.
    local_log_level: u8,
    pub(crate) encoder: Encoder,
    /// Ports and slots at whose other ends are instances without which the run goes on.
    may_fail: HashSet<(usize, usize)>,
    /// Loans for the next ones.
    pub(crate) spare: Spare,
    /// The number of heads of arrays that were planned.
    pub(crate) heads: u64,
}

/// The common part of all instances of a process.
pub(crate) struct Common {
    run: Arc<str>,
    settings: Arc<Settings>,
    /// The requested settings, where the agent wants to know of them.
    pub asked: Option<RequestedSettings>,
    flags: Flags,
}

/// The names of settings that were asked for in this process, or `*`: so a misspelt setting is found.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestedSettings(Arc<Mutex<BTreeSet<String>>>);

impl RequestedSettings {
    /// For all settings, whatever their names.
    const ALL: &'static str = "*";

    fn note(&self, name: &str) {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !names.contains(name) {
            names.insert(name.to_owned());
        }
    }

    /// All of them.
    pub fn names(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

impl Common {
    /// From what the agent told. The process has its identity now: what is started from here is not this
    /// instance.
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
    /// Joins the run that the environment names (`ligament run` sets it). Ports that are not given are taken
    /// from the model.
    ///
    /// # Errors
    /// `Registration`: there is no run, or the ports do not fit the model; the text says what to do.
    pub fn new(ports: Option<&Ports>) -> Result<Instance, Error> {
        Instance::with_options(ports, Flags::default(), "rust")
    }

    /// As `new`, with flags and the language of the caller (for the run's records).
    pub fn with_options(ports: Option<&Ports>, flags: Flags, language: &str) -> Result<Instance, Error> {
        let identity = from_environment()?;
        let registered = AgentLine::register(&identity, ports.map(Ports::declarations), language, false)
            .map_err(|fault| Error::other(ErrorKind::Registration, fault))?;
        Instance::alone(identity, registered, flags)
    }

    /// The only instance of its process.
    pub(crate) fn alone(identity: Identity, registered: Registration, flags: Flags) -> Result<Instance, Error> {
        let Registration { line, welcome, foundation } = registered;
        let joined = |channels: &[ChannelInfo]| -> Vec<JoinedChannel> {
            channels.iter().enumerate().map(|(index, channel)| JoinedChannel::of(channel, index)).collect()
        };
        let names: Vec<Arc<str>> = welcome.ports.iter().map(|port| port.name.as_str().into()).collect();
        let (sends, receives) = (joined(&welcome.sends), joined(&welcome.receives));
        let mut table = PortTable::new(&welcome.ports, &names, sends, receives)?;
        let steps = |channels: &[ChannelInfo]| -> HashMap<usize, ChannelSteps> {
            let all = channels.iter().enumerate();
            all.filter_map(|(index, channel)| Some((index, channel.steps?))).collect()
        };
        let lists = Lists::told(welcome.filters.as_deref())?;
        let (sending, receiving) = (by_channel(&welcome.sends), by_channel(&welcome.receives));
        lists.join(&identity.instance, &mut table, &sending, &receiving)?;
        let timing = TimelineState::of(&mut table, steps(&welcome.sends), steps(&welcome.receives))?;
        let mut endpoint = Endpoint::new(foundation, &welcome.sends, &welcome.receives, line)
            .map_err(Error::while_registering)?;
        endpoint.steering().begin(welcome.schedule.as_deref().unwrap_or_default());
        let common = Common::new(&welcome, flags)?;
        let (transport, name) = (Transport::Own(endpoint), identity.instance);
        let mut made = Instance::made_of(transport, table, name, welcome.log_level, &common, timing)?;
        made.rank = welcome.rank.unwrap_or(ALONE);
        let may_fail = welcome.receives.iter().filter(|channel| channel.may_fail == Some(true));
        made.may_fail = may_fail.map(|one| (one.port as usize, one.slot.unwrap_or(0) as usize)).collect();
        Ok(made)
    }

    /// Puts an instance together.
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
        })
    }

    /// The instance's name, such as `micro[3]`.
    pub fn name(&self) -> &str {
        &self.name_text
    }

    /// The instance's index among those of its component: empty for one without multiplicity.
    pub fn index(&self) -> Vec<usize> {
        self.name.split_indices().1
    }

    /// Returns true if the run goes on if the instance that sends to this port (and slot) ends before it is
    /// done. Then the conduit ends, as if it had been done.
    ///
    /// # Errors
    /// `Usage` for a port that is not there.
    pub fn peer_may_fail(&self, port: &str, slot: Option<u32>) -> Result<bool, Error> {
        Ok(self.may_fail.contains(&(self.table.find(port)?, slot.unwrap_or(0) as usize)))
    }

    /// Which of its instance's ranks this is, from 0 on, where the model says that each of them speaks for
    /// itself; else 0.
    pub fn rank(&self) -> u32 {
        self.rank.number
    }

    /// The number of ranks of its instance that speak for themselves: 1 where the model has no word of them.
    pub fn ranks(&self) -> u32 {
        self.rank.of
    }

    /// The name of the run.
    pub fn run_name(&self) -> &str {
        &self.run
    }

    /// Says how many ranks and threads this instance has. While it computes, it counts as so many busy cores:
    /// who waits for it does not spin on these. Unless it is said, the model's `resources:` count.
    pub fn set_parallelism(&mut self, parallelism: Parallelism) {
        if parallelism != Parallelism::default() {
            self.endpoint.keeps_busy(parallelism.ranks.max(1).saturating_mul(parallelism.threads.max(1)));
        }
        self.parallelism = parallelism;
    }

    /// The number of ranks and threads that the code has said that this instance has.
    pub fn parallelism(&self) -> Parallelism {
        self.parallelism
    }

    /// Returns true to go through the execution loop (again). Where `F_INIT` ports are connected, waits for a
    /// message on each of them and says yes, or no if they have ended; otherwise says yes once. When it says no
    /// the instance is over: all its conduits are ended and it is signed off.
    ///
    /// # Errors
    /// `Unexpected` when the messages come with different settings overlays; else as `receive`.
    pub fn reuse_instance(&mut self) -> Result<bool, Error> {
        let again = self.begins_pass()?;
        if !again {
            self.finish()?;
        }
        Ok(again)
    }

    /// As `reuse_instance`, of an instance that its caller ends.
    pub(crate) fn begins_pass(&mut self) -> Result<bool, Error> {
        self.alive()?;
        self.looping = true;
        self.order.reuse();
        self.report_silence()?;
        self.table.ports.iter_mut().for_each(|port| port.sent.forget());
        self.drop_unread()?;
        let again = match self.timing {
            Some(_) => self.start_on_timeline()?,
            None => self.receive_overlay()? && self.receive_initial()?,
        };
        let again = again && (self.passes == 0 || self.has_initial());
        self.is_wanted = again;
        if again {
            self.steer_pass()?;
            self.passes += 1;
            self.endpoint.count_iteration();
        }
        Ok(again)
    }

    /// Reports `O_F` ports that have sent nothing in the pass that is over, each once: whoever waits there
    /// meets the message of a later pass, or none.
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

    fn has_initial(&self) -> bool {
        self.table.ports.iter().any(|port| port.operator == Operator::FInit && port.is_connected())
    }

    /// Forgets initial messages that the code did not look at in the pass before.
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

    /// The port on which settings come, if it is connected.
    pub(crate) fn settings_port(&self) -> Option<usize> {
        self.table.ports.iter().position(|port| &*port.name == SETTINGS_PORT && port.is_connected())
    }

    /// Takes in the overlay of this pass, if the settings port is connected. False if it has ended.
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

    /// Puts explicit settings in force, over those that their message came with.
    pub(crate) fn set_explicit(&mut self, data: &Value, came: Overlay) -> Result<(), Error> {
        let own = from_value(data).ok_or_else(|| ReceiveError::OnlySettings {
            port: SETTINGS_PORT,
            value: crate::message::kind_of(data),
        })?;
        self.overlays.set_explicit(settings_of(came), &own);
        Ok(())
    }

    /// Takes in a message on every connected `F_INIT` slot. False if they have ended.
    fn receive_initial(&mut self) -> Result<bool, Error> {
        let settings_port = self.settings_port();
        let mut first = settings_port.is_none();
        for port in 0..self.table.ports.len() {
            if self.table.ports[port].operator != Operator::FInit || Some(port) == settings_port {
                continue;
            }
            // The message on slot 0 tells how many slots a resizable port has.
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

    /// Keeps a message for the pass that begins. Unless settings came explicitly, the first one says what is in
    /// force.
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
            // An empty message of `last` stands for none, which has no settings.
        } else if std::mem::take(first) {
            self.overlays.set(settings_of(came.clone()));
        } else {
            self.check_overlay(port, slot, came.as_ref())?;
        }
        self.initial.insert((port, slot), (message, came));
        Ok(())
    }

    /// A setting's value for this instance, overlay included: the longest name that fits wins, as in MUSCLE 3.
    ///
    /// # Errors
    /// `SettingUnset` if it is not set, `SettingType` if it is not of the wanted type; `None` wants none in
    /// particular.
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

    /// Adds to the error of a setting that is not set which one is probably meant.
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

    /// A number among its settings, for the library's own use: nobody is noted to have asked for it.
    pub(crate) fn known_number(&self, name: &str) -> Option<f64> {
        let reference = Reference::new(name).ok()?;
        let layers = [self.overlays.current(), &self.steered, &*self.base];
        match Settings::layered_as(&layers, &self.name, &reference, SettingType::Float) {
            Ok(SettingValue::Float(number)) => Some(number),
            _ => None,
        }
    }

    /// The names of the settings that this instance can ask for.
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

    /// The ports by operator, in the model's order.
    pub fn list_ports(&self) -> BTreeMap<&'static str, Vec<String>> {
        let mut ports: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
        for port in self.table.ports.iter().filter(|port| &*port.name != SETTINGS_PORT) {
            ports.entry(port.operator.name()).or_default().push(port.name.to_string());
        }
        ports
    }

    /// Returns true if something is connected to the port.
    pub fn is_connected(&self, port: &str) -> Result<bool, Error> {
        Ok(self.table.ports[self.table.find(port)?].is_connected())
    }

    /// Returns true if the port has slots.
    pub fn is_vector_port(&self, port: &str) -> Result<bool, Error> {
        Ok(self.table.ports[self.table.find(port)?].vector)
    }

    /// The number of slots that a vector port has; for a resizable port that receives, as many as came with the
    /// message that was received last (0 before).
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

    /// Returns true if `set_port_length` can set the number of the port's slots: of vector ports that are
    /// joined to vector ports of other components with the same multiplicity, or to none. For those, its sender
    /// decides.
    ///
    /// # Errors
    /// `Usage` for a port that is not there.
    pub fn is_resizable(&self, port: &str) -> Result<bool, Error> {
        Ok(self.table.ports[self.table.find(port)?].resizable.is_some())
    }

    /// Sets the number of slots of a resizable port, which is 0 at first. Receivers learn it with each message.
    ///
    /// # Errors
    /// `Usage` for a port without slots, or whose number of slots is another and the model's.
    pub fn set_port_length(&mut self, port: &str, length: usize) -> Result<(), Error> {
        self.alive()?;
        let index = self.table.find(port)?;
        self.table.ports[index].set_length(length)
    }

    /// Writes a line to the run's log, where the model lets lines of this level through.
    pub fn log(&mut self, level: LogLevel, text: &str) -> Result<(), Error> {
        if (level as u8) < self.log_level {
            self.log_here(level, text);
            Ok(())
        } else {
            self.log_anyhow(level, text)
        }
    }

    /// Writes a line into this process's own output, where the model asks for lines of this level there.
    fn log_here(&self, level: LogLevel, text: &str) {
        if level as u8 >= self.local_log_level {
            // Whoever has closed its output does not want to read it.
            let _ = writeln!(std::io::stderr(), "{}: {text}", level.name());
        }
    }

    /// As `log`, for what the model has asked for by itself, whatever the level.
    pub(crate) fn log_anyhow(&mut self, level: LogLevel, text: &str) -> Result<(), Error> {
        self.log_here(level, text);
        let told = self.endpoint.log(level as u8, text);
        told.map_err(|error| Error::during(error, || "writing to the run's log".into()))
    }

    /// Ends the run because of an error in this code: the others are told the reason.
    ///
    /// # Errors
    /// `Usage` in a forked child, whose errors are not the instance's; `System` if the run cannot be told.
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

    /// Ends all conduits that this instance sends on and signs off. Called by `reuse_instance` when it says no,
    /// and when an instance that did not fail is dropped.
    pub fn finish(&mut self) -> Result<(), Error> {
        if self.over || self.forks != forks::count() {
            return Ok(());
        }
        self.over = true;
        // Before their ends, which count too.
        let sent = self.endpoint.sent_on();
        for port in 0..self.table.ports.len() {
            if self.table.ports[port].operator.sends() {
                self.end_conduits(port)?;
            }
        }
        self.endpoint.end(false);
        let told = self.tell_use(sent.unwrap_or_default()).and_then(|()| self.endpoint.sign_off());
        told.map_err(|error| Error::during(error, || "signing off".into()))
    }

    /// Ends the conduits of one port: its receivers meet their end while this instance goes on. Nothing can be
    /// sent there any more. For what stands in for another instance; a submodel ends all of them by `finish`.
    ///
    /// # Errors
    /// `Usage` for a port that is not there or does not send.
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
        // The outermost iteration is over with them.
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

    /// How this instance ends its conduits now: if messages start its passes, it may be wanted again until it
    /// is told that it is not.
    pub(crate) fn ending(&self) -> ConduitEnd {
        if self.is_wanted && self.has_initial() {
            ConduitEnd::WithinPass
        } else {
            ConduitEnd::Done
        }
    }

    /// Tells the agent which settings were asked for, and how many messages went where.
    fn tell_use(&mut self, mut sent: Vec<(u32, u64)>) -> Result<(), ShmError> {
        let Some(asked) = &self.asked else { return Ok(()) };
        let names = asked.names();
        let mut received = self.endpoint.received_from().unwrap_or_default();
        // Taken in by `reuse_instance`, and never handed to the code.
        for &(port, slot) in self.initial.keys() {
            let channel = self.table.ports[port].slots.get(slot).and_then(|channels| channels.first());
            if let Some((_, count)) = channel.and_then(|&channel| received.get_mut(channel)) {
                *count = count.saturating_sub(1);
            }
        }
        // Beside their messages, these carry marks that say which slot is meant.
        let marked = |sends: bool| {
            let ports = self.table.ports.iter().filter(move |port| port.operator.sends() == sends);
            let shared = ports.filter_map(|port| port.resizable.as_ref());
            // As do those on which iterations matter.
            let stepped = self.timing.iter().flat_map(move |timing| timing.channels(sends));
            shared.flat_map(|shared| shared.channels.iter().copied()).chain(stepped)
        };
        for (sends, counts) in [(true, &mut sent), (false, &mut received)] {
            let marked: BTreeSet<usize> = marked(sends).collect();
            let mut index = 0..;
            counts.retain(|_| index.next().is_some_and(|index| !marked.contains(&index)));
        }
        self.endpoint.tell_use(names, sent, received)
    }

    /// It is over without having ended: the run fails, and not because of it.
    pub(crate) fn abandon(&mut self) {
        self.over = true;
    }

    /// Returns true if `finish` or `error_shutdown` has been called.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// While waiting, `check` is asked at least once a second whether to give up with `Interrupted`.
    pub fn set_interrupt_check(&mut self, check: Box<dyn Fn() -> bool + Send>) {
        self.endpoint.set_interrupt_check(check);
    }

    /// Refuses calls after the end and in a forked child.
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

    /// Notes that a port was used, and reports a deviation from the loop's order.
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
        // A panic is a failure, not an end.
        if std::thread::panicking() {
            let _ = self.error_shutdown(&said!(CODE_PANICKED, "the code panicked"));
        } else {
            let _ = self.finish();
        }
    }
}
