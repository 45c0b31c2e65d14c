//! Errors of the calls of an instance. Each operation has an enum of its own. An error's text says what is
//! wrong, where, and what to do.

use crate::turn::Overlap;
use ligament_catalogue::{errors, fault, hinted, Code, Coded, Fault};
use ligament_model::SettingError;
use ligament_shm::ShmError;
use std::fmt;

/// An error of a call of an instance. A program acts on its `kind`; a person looks up its `code`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// The process is not an instance of a run, or is no longer one.
    Identity(IdentityError),
    /// The port or slot is not as the code assumes: it does not exist, or it cannot be used in this way.
    Port(PortError),
    /// The value cannot be a message.
    Send(SendError),
    /// The message is not what the code asked for.
    Receive(ReceiveError),
    /// The setting is not set, or has another type.
    Setting(SettingError),
    /// The agent sent impossible data.
    Agent(AgentError),
    /// A conduit's filter failed.
    Filter(FilterError),
    /// A part of a distributed array cannot be sent or received.
    Exchange(ExchangeError),
    /// The call does not go with the clock.
    Clock(ClockError),
    /// The message does not fit into the iterations of this instance.
    Timeline(TimelineError),
    /// The mapper did not send all messages that it has to send.
    Mapper(MapperError),
    /// Another call uses the instance at this moment: a call of another thread, or a call of the same
    /// thread that this call interrupted.
    InUse(Overlap),
    /// The transport failed.
    Transport {
        /// The activity during which the transport failed.
        during: String,
        /// The transport's error.
        error: ShmError,
    },
    /// A signal arrived while waiting.
    Interrupted,
    /// An error that the code itself has made, in the code's words. It counts as `Usage`.
    Own(String),
    /// Any other error, such as a wrong argument in a call from another language.
    Other {
        /// The kind, by which a program can act.
        kind: ErrorKind,
        /// The error with its code and text.
        fault: Fault,
    },
}

/// The kind of an error, by which a program can act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is no run to join, or the run refused this instance.
    Registration,
    /// The code used the library in a way that cannot work: an unknown port, a slot that is not there, a call
    /// at the wrong moment.
    Usage,
    /// A message is not what the caller asked for (another type, another shape).
    Unexpected,
    /// The conduit has ended: no more messages will arrive on this port.
    Closed,
    /// A setting is not set.
    SettingUnset,
    /// A setting is of another type.
    SettingType,
    /// No message arrived within the time allowed.
    TimedOut,
    /// A signal arrived while waiting.
    Interrupted,
    /// The run has too little memory to store the message.
    OutOfMemory,
    /// The run is ending, for the reason given.
    RunEnds,
    /// The operating system failed, or another process sent wrong data.
    System,
}

errors! {
    /// Why a process is not an instance.
    pub enum IdentityError {
        /// The process, or one that started it, has joined the run before.
        TakesPart => ALREADY_REGISTERED,
            "this process, or one that it comes from, takes part in the run already; a program makes one \
             Instance and no more";
        /// The environment names no run.
        NotInARun { variable: String } => NOT_IN_A_RUN,
            "this program takes part in a coupled model, but {variable} is not set, so it does not know in \
             which run; start it with `ligament run MODEL`, or by hand with `ligament join RUN INSTANCE -- \
             PROGRAM`";
        /// Rank 0 speaks for this process.
        OtherRank { rank: u32, ranks: u32, instance: String } => MPI_OTHER_RANK,
            "this is rank {rank} of the {ranks} of {instance}, and rank 0 speaks for all of them; make the \
             instance on all ranks together with the MPI interface of your language (ligament_mpi.h, \
             ligament/mpi.hpp), or on rank 0 only";
        /// The model gives the instance fewer ranks.
        RankBeyond { rank: u32, last: u32, instance: String } => MPI_RANK_BEYOND,
            "this is rank {rank}, and the model gives {instance} the ranks 0 to {last}; start as many \
             processes as \"ranks:\" under \"ligament:\" says";
        /// No launcher has set a variable with the number of this rank.
        RankUnknown { instance: String, variables: String } => MPI_RANK_UNKNOWN,
            "each rank of {instance} speaks for itself, and nothing says which one this is: none of \
             {variables} is set; start the processes with the MPI that they are built with";
        /// The process is a forked child of an instance.
        Forked { instance: String } => FORKED,
            "this process is a fork of instance {instance}; only the process that made it may use it";
        /// The instance has ended.
        Over { instance: String } => INSTANCE_OVER,
            "instance {instance} is over: reuse_instance() said no, or it was shut down";
    }
}

errors! {
    /// Why a port cannot be used as the code wants to.
    pub enum PortError {
        /// The caller wrote the port's name with brackets.
        NameWithBrackets { port: String, bare: String } => NO_SUCH_PORT,
            "there is no port \"{port}\"; call it \"{bare}\" here";
        /// No port has this name.
        Unknown { port: String, known: String } => NO_SUCH_PORT,
            "there is no port \"{port}\"; this instance has {known}. Declare it where the instance is made, \
             and in the model";
        /// The caller sends on a port that receives.
        Receives { port: String, operator: &'static str } => WRONG_OPERATOR,
            "port \"{port}\" is an {operator} port, which receives; send on O_I and O_F ports";
        /// The caller receives on a port that sends.
        Sends { port: String, operator: &'static str } => WRONG_OPERATOR,
            "port \"{port}\" is an {operator} port, which sends; receive on F_INIT and S ports";
        /// The caller receives on a port without a conduit.
        NotConnected { port: String } => NOT_CONNECTED,
            "nothing is connected to port \"{port}\", so nothing can be received on it; connect it in the \
             model, or ask is_connected() first";
        /// The caller receives on a slot without a conduit; other slots of the port have one.
        SlotNotConnected { port: String, slot: usize } => NOT_CONNECTED,
            "nothing is connected to slot {slot} of port \"{port}\", so nothing can be received on it; connect \
             it in the model, where other slots of this port are connected";
        /// The slot is beyond the length that the code has set.
        BeyondLength { port: String, slots: usize, slot: u32 } => NO_SUCH_SLOT,
            "port \"{port}\" has {slots} slots now, so there is no slot {slot}; set their number with \
             set_port_length()";
        /// The slot is beyond the length that the model has set.
        BeyondModel { port: String, last: usize, slot: u32 } => NO_SUCH_SLOT,
            "port \"{port}\" has slots 0 to {last}, so there is no slot {slot}";
        /// The caller names a slot of a port without slots.
        Scalar { port: String, slot: u32 } => NO_SUCH_SLOT,
            "port \"{port}\" is not a vector port, so there is no slot {slot}; leave the slot out, or declare \
             the port as \"{port}[]\"";
        /// The caller names no slot of a port with slots.
        WhichSlot { port: String, slots: usize } => WHICH_SLOT,
            "port \"{port}\" is a vector port with {slots} slots: say which slot is meant";
        /// The caller sets the length of a port without slots.
        NoLength { port: String } => NOT_RESIZABLE, "port \"{port}\" is not a vector port, so it has no length";
        /// The caller sets a length that the model has set already.
        LengthOfModel { port: String, slots: usize, length: usize } => NOT_RESIZABLE,
            "port \"{port}\" has {slots} slots, as the model says, and cannot be made to have {length}; change \
             the multiplicities in the model, or ask is_resizable() first";
        /// The length is beyond the maximum.
        TooManySlots { port: String, length: usize, most: usize } => NOT_RESIZABLE,
            "port \"{port}\" cannot have {length} slots; {most} are the most";
    }
}

errors! {
    /// The reason why a message cannot be sent.
    pub enum SendError {
        /// The message of this pass on an `O_F` port was already sent.
        SecondFinal { port: String, at: f64 } => SECOND_FINAL_MESSAGE,
            "port {port} is an O_F port and has sent its message of this pass already, so that the one at time \
             {at} would be taken for that of the next pass; send once in each pass that reuse_instance() \
             begins, or on an O_I port";
        /// The next timestamp is earlier than the timestamp.
        NextIsEarlier { at: f64, next: f64 } => NOT_A_TIME,
            "the next timestamp {next} is earlier than the timestamp {at}; give the time of the next message \
             on this port, or none if there will be none";
        /// The next timestamp is not finite.
        NextIsNoTime { next: f64 } => NOT_A_TIME,
            "the next timestamp is {next}, which is no time; give a finite number, or none if there will \
             be no next message";
        /// The timestamp is not finite.
        NoTime { at: f64 } => NOT_A_TIME,
            "the timestamp is {at}, which is no time; give a finite number";
    }
}

errors! {
    /// The reason why a receive gives no message, or not the requested one.
    pub enum ReceiveError {
        /// The sender has ended.
        Closed { port: String, peer: String } => CLOSED,
            "port {port} was closed by its sender ({peer}): nothing more will come; does the sender end its \
             loop before this one does?";
        /// The sender has ended within a pass, without a further call of `reuse_instance`.
        ClosedWithinPass { port: String, peer: String } => CLOSED,
            "port {port} was closed by its sender ({peer}), which ended without calling reuse_instance() \
             again, so that nothing more will come; a code that is wanted more than once goes on while \
             reuse_instance() says yes";
        /// The senders of all ports have ended.
        AllClosed => CLOSED, "all of the ports waited for have ended";
        /// No initial message came for this slot in this pass.
        NoSlotCame { port: String, slots: usize, slot: usize } => INITIAL_MESSAGE_USED,
            "port \"{port}\" has {slots} slots this time, so nothing came for slot {slot}";
        /// The code has already received the initial message of this pass.
        Used { port: String } => INITIAL_MESSAGE_USED,
            "the message on F_INIT port {port} was received already; there is one for each time that \
             reuse_instance() says yes";
        /// The message belongs to another member of an ensemble.
        OtherSettings { port: String } => OTHER_SETTINGS,
            "the message on port {port} was made with other settings than this instance has now: two branches \
             of an ensemble are being mixed, or two blocks of a grid have different overlays. Check that its \
             F_INIT and S ports are connected to the same member, and give all blocks of a grid the same \
             overlay";
        /// The message on the settings port holds another value than settings.
        OnlySettings { port: &'static str, value: String } => ONLY_SETTINGS,
            "{port} received {value}; only settings can be sent to it";
        /// The value is no array; `found` describes it and its origin.
        NoArray { found: String, expected: String } => NOT_AN_ARRAY, "{found}, where {expected} was expected";
        /// The elements of the array have another type.
        OtherType { found: String, expected: String } => OTHER_TYPE, "{found}, where {expected} was expected";
        /// The array has another shape.
        OtherShape { found: String, expected: String } => OTHER_SHAPE, "{found}, where {expected} was expected";
        /// The memory to receive into does not fit its shape and type.
        OtherSize { shape: Vec<u64>, dtype: &'static str, bytes: u64, room: usize } => NOT_AN_ARRAY,
            "shape {shape:?} of {dtype} takes {bytes} bytes, but the array to receive into has {room}";
    }
}

errors! {
    /// The reason why a part of a distributed array cannot be sent or received.
    pub enum ExchangeError {
        /// The port has no distributed array.
        NoArray { port: String } => NO_ARRAY_PORT,
            "port \"{port}\" has no distributed array; give its conduit \"{{array: [...]}}\", or \"{{signal: \
             [...], delay: 1 ms}}\" for one that goes by clocks, under \"exchange:\" in the model, or leave \
             out the call";
        /// The map is not possible for this array.
        BadMap { port: String, error: String } => BAD_MAP, "the part of port \"{port}\": {error}";
        /// The rank has not given its map.
        NoMap { port: String } => MAP_MISSING,
            "port \"{port}\" carries parts of an array, and this rank has not said which part it has; call map \
             first";
        /// The value is no array.
        OnlyArrays { port: String } => UNFIT_ARRAY,
            "port \"{port}\" carries parts of an array; send an array, also where this rank has no elements";
        /// The array to send has another shape than the part.
        PartShape { port: String, part: Vec<u64>, shape: Vec<u64> } => UNFIT_ARRAY,
            "this rank's part of the array of port \"{port}\" has the shape {part:?}, and the array to \
             send has {shape:?}; send the part that was given to map, or call map again";
        /// The array to receive into has another shape than the part.
        IntoShape { port: String, part: Vec<u64>, shape: Vec<u64> } => UNFIT_ARRAY,
            "this rank's part of the array of port \"{port}\" has the shape {part:?}, and the array to \
             receive into has {shape:?}; use an array of the part that was given to map, or call map \
             again";
        /// No rank sends this element.
        NoOwner { port: String, index: String, sender: String } => MAP_GAP,
            "port \"{port}\" is to receive the element with index {index}, which no rank has that sends to it \
             ({sender} and its other ranks); let one of them have it, or leave it out of this rank's part";
        /// Two ranks send this element.
        TwoOwners { port: String, index: String, owners: String } => MAP_OVERLAP,
            "port \"{port}\" would receive the element with index {index} from {owners}; let only one rank of \
             the sender have it";
        /// The parts have different times.
        Times { port: String, times: String } => PARTS_DIFFER,
            "the parts that came on port \"{port}\" are of different times: {times}; let all ranks send at \
             the same times";
        /// The parts have different types or units.
        Kinds { port: String, kinds: String } => PARTS_DIFFER,
            "the parts that came on port \"{port}\" are of different kinds: {kinds}; let all ranks send the \
             same";
        /// The sender's library cannot have sent this map or part.
        Malformed { port: String, peer: String } => MALFORMED_DATA,
            "{peer} sent a part of an array on port \"{port}\" that does not fit its map";
    }
}

errors! {
    /// The reason why an instance cannot go on by its clock.
    pub enum ClockError {
        /// The model gives the instance no tick.
        NoClock { instance: String } => NO_CLOCK,
            "\"{instance}\" has no clock; give it a tick under \"ligament:\" in the model, for example \
             \"ticks: {{{instance}: 1 ms}}\"";
        /// The port carries no events.
        NoEvents { port: String } => NO_EVENT_PORT,
            "port \"{port}\" carries no events; give its conduit \"{{events: N, latency: 5 ms}}\" under \
             \"exchange:\" in the model, or leave out the call";
        /// The port carries events, and the call is for messages.
        CarriesEvents { port: String, call: &'static str } => NO_EVENT_PORT,
            "port \"{port}\" carries events, and no messages of the code; call {call} instead";
        /// The numbers of times and of ids differ.
        Lengths { port: String, times: usize, ids: usize } => BAD_EVENT,
            "port \"{port}\": {times} times and {ids} ids; each event has one of both";
        /// The time of an event is not within the tick.
        OutsideTick { port: String, id: i32, time: f64, window: String } => BAD_EVENT,
            "port \"{port}\": the event with the id {id} has the time {time}, and those of this tick have \
             times {window}, in the model's time_unit (s, if it has none); insert each event before the tick \
             that passes its time";
        /// The id is beyond those that the model gives.
        BadId { port: String, id: i32, last: u64 } => BAD_EVENT,
            "port \"{port}\": an event has the id {id}, and the model gives the conduit ids from 0 to {last}; \
             correct the id, or give the conduit another number of \"events:\" in the model";
        /// The id belongs to another rank.
        OtherId { port: String, id: i32 } => BAD_EVENT,
            "port \"{port}\": an event has the id {id}, which is not among those that this rank has given to \
             map";
        /// The code has not read the events of the previous tick.
        Unread { port: String } => EVENTS_UNREAD,
            "tick: port \"{port}\" has events that were not read; read them after each tick";
        /// The timestamp of a sample is not the time of the clock.
        OffClock { port: String, timestamp: f64, now: f64 } => OFF_CLOCK,
            "port \"{port}\": the sample has the timestamp {timestamp}, and the clock is at {now}; send each \
             sample at the time of the clock";
        /// The port has a sample of this tick already.
        SecondSample { port: String, now: String } => OFF_CLOCK,
            "port \"{port}\" has a sample of the time {now} already; send one sample, and then call tick";
        /// The code has used the clock before the first pass.
        BeforeLoop => OFF_CLOCK,
            "the clock was used before the first reuse_instance, and begins anew there; call reuse_instance \
             first";
        /// The code calls `map` although the sender already has the ids of this rank.
        LateIds { port: String } => BAD_MAP,
            "port \"{port}\": its sender sorts the events, and was sent the ids that this rank wants; call map \
             before the first tick of a pass";
        /// The code calls `map` after it has received samples.
        LateMap { port: String } => BAD_MAP,
            "port \"{port}\": the part of a signal changes between passes only; call map before the first \
             receive of a pass";
        /// The sender has ended its pass before the time of the sample.
        SignalOver { port: String, peer: String } => SIGNAL_OVER,
            "port \"{port}\": {peer} has ended its pass before the time of which a sample is wanted; let it \
             run as long as this code, or end earlier here";
        /// The samples cannot be joined by a line.
        NoLine { port: String } => UNFIT_ARRAY,
            "port \"{port}\": two samples of the signal have no line between them, because they are no \
             floating numbers of one type; write \"interpolation: nearest\" into the model";
        /// The receiver's library cannot have sent these ids.
        OtherIds { port: String } => MALFORMED_DATA,
            "a receiver of port \"{port}\" sent something else than the ids that it wants";
        /// The sender's library cannot have sent these events.
        Malformed { port: String, peer: String } => MALFORMED_DATA,
            "{peer} sent something else than events on port \"{port}\"";
    }
}

errors! {
    /// The reason why messages cannot pass a conduit's filters.
    pub enum FilterError {
        /// A filter failed, or cannot take a message.
        Failed { conduit: String, failure: String } => FILTER_FAILED, "conduit {conduit}: {failure}";
    }
}

errors! {
    /// A message that a mapper did not make.
    pub enum MapperError {
        /// The mapper sent no message on this slot.
        Incomplete { port: String, slot: String } => MAPPER_INCOMPLETE,
            "the mapper made no message for port \"{port}\"{slot}; it makes one for each slot of each port \
             that is connected";
    }
}

errors! {
    /// Data of the agent that the library cannot read.
    pub enum AgentError {
        /// The settings are malformed.
        Settings => MALFORMED_DATA, "the agent sent settings that cannot be read";
        /// The filters are malformed.
        Filters => MALFORMED_DATA, "the agent sent filters that cannot be read";
        /// The name of a port contains a NUL.
        PortName { name: String } => MALFORMED_DATA, "the agent speaks of a port {name:?}";
        /// The operator is unknown: the agent has another version.
        Operator { operator: String } => OTHER_VERSION, "the agent speaks of an operator \"{operator}\"";
        /// A channel belongs to an unknown port.
        ChannelOfPort { port: u32 } => MALFORMED_DATA,
            "the agent gave a channel to port {port}, which does not exist";
        /// A channel belongs to an unknown slot.
        ChannelOfSlot { port: String, slot: usize } => MALFORMED_DATA,
            "the agent gave a channel to port \"{port}\" slot {slot}, which does not exist";
        /// A channel belongs to an unknown instance.
        ChannelOfMember { member: u32 } => MALFORMED_DATA, "the agent gave a channel to member {member}";
        /// An instance has a list of port names that was not sent.
        ListOfPorts { list: usize } => MALFORMED_DATA, "the agent speaks of a list of ports {list}";
        /// A message names an overlay that its sender has not announced.
        UnknownOverlay { port: String, overlay: u32 } => MALFORMED_DATA,
            "a message on port {port} names settings overlay {overlay}, which never came";
        /// The sender of a resizable port has sent an unexpected kind of message.
        OnResizable { what: String, port: String } => MALFORMED_DATA, "{what} came on the resizable port \
                                                                       \"{port}\"";
    }
}

errors! {
    /// The reason why an instance cannot go on along its timelines.
    pub enum TimelineError {
        /// Iterations are nested deeper than a check permits.
        TooDeep { most: usize } => MALFORMED_DATA,
            "the agent speaks of iterations that are nested more than {most} deep";
        /// The messages of one pass belong to iterations of which neither lies within the other.
        Apart { one: String, other: String } => ITERATIONS_APART,
            "messages for one pass are of the iterations {one} and {other}, and neither lies in the other. \
             Send on all O_I ports of a timeline once in each step, and once on each O_F port in each pass";
        /// The iteration is nested less or more deeply than those of this instance.
        Depth { iteration: String, depth: usize } => ITERATIONS_APART,
            "the messages that came are of the iteration {iteration}, and this instance's are nested {depth} \
             deep";
        /// A milestone is not the expected next one.
        OutOfStep { port: String, over: String, due: String } => ITERATIONS_APART,
            "port {port} heard that the iteration {over} is over, when {due} was due. Send on all O_I ports of \
             a timeline once in each step, and once on each O_F port in each pass";
        /// The body of a milestone is not the path of an iteration.
        NoMilestone { port: String } => MALFORMED_DATA,
            "a milestone that names no iteration came on port {port}";
        /// The filter `last` is on a port whose length changes from message to message.
        LastOfSlots { port: String } => BAD_FILTER,
            "the conduit of port \"{port}\" has the filter \"last\", and the code sets the length of this \
             port, so that nobody knows of how many slots a last message is due; give the port its length by a \
             multiplicity, or take the filter out";
        /// A conduit repeats messages, and the code does not use the reuse loop.
        NeedsLoop { port: String } => NEEDS_REUSE_LOOP,
            "the conduit to port {port} repeats a message for as long as it counts, which the reuse loop says; \
             call reuse_instance() before each pass";
        /// No message came that could be repeated.
        Nothing { port: String } => ITERATIONS_APART,
            "no message came for port {port} in this pass";
    }
}

impl Error {
    /// Makes an error that has no variant of its own, from its kind and its code and text.
    pub fn other(kind: ErrorKind, fault: impl Into<Fault>) -> Error {
        Error::Other { kind, fault: fault.into() }
    }

    /// Makes an error from a transport error, and adds the activity during which it happened.
    pub(crate) fn during(error: ShmError, what: impl FnOnce() -> String) -> Error {
        match error {
            ShmError::Interrupted => Error::Interrupted,
            error => Error::Transport { during: what(), error },
        }
    }

    /// Makes an error from a transport error that happened while the instance was made.
    pub(crate) fn while_registering(error: ShmError) -> Error {
        match error {
            ShmError::System { .. } => {
                Error::other(ErrorKind::System, fault!(REGISTER_FAILED, "setting up shared memory: {error}"))
            }
            error => Error::during(error, || "setting up shared memory".into()),
        }
    }

    /// The kind, by which a program can act.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Identity(IdentityError::Forked { .. } | IdentityError::Over { .. }) => ErrorKind::Usage,
            Error::Identity(_) => ErrorKind::Registration,
            Error::Port(_) | Error::Send(_) | Error::Mapper(_) | Error::InUse(_) | Error::Own(_) => {
                ErrorKind::Usage
            }
            Error::Receive(error) => match error {
                ReceiveError::Closed { .. }
                | ReceiveError::ClosedWithinPass { .. }
                | ReceiveError::AllClosed => ErrorKind::Closed,
                ReceiveError::NoSlotCame { .. }
                | ReceiveError::Used { .. }
                | ReceiveError::OtherSize { .. } => ErrorKind::Usage,
                ReceiveError::OtherSettings { .. }
                | ReceiveError::OnlySettings { .. }
                | ReceiveError::NoArray { .. }
                | ReceiveError::OtherType { .. }
                | ReceiveError::OtherShape { .. } => ErrorKind::Unexpected,
            },
            Error::Setting(SettingError::NotSet { .. } | SettingError::Misspelt { .. }) => {
                ErrorKind::SettingUnset
            }
            Error::Setting(_) => ErrorKind::SettingType,
            Error::Timeline(TimelineError::NeedsLoop { .. }) => ErrorKind::Usage,
            Error::Timeline(TimelineError::TooDeep { .. } | TimelineError::NoMilestone { .. }) => {
                ErrorKind::System
            }
            Error::Timeline(_) => ErrorKind::Unexpected,
            Error::Agent(_) => ErrorKind::System,
            Error::Filter(_) => ErrorKind::Unexpected,
            Error::Clock(error) => match error {
                ClockError::SignalOver { .. } => ErrorKind::Closed,
                ClockError::NoLine { .. } => ErrorKind::Unexpected,
                ClockError::Malformed { .. } | ClockError::OtherIds { .. } => ErrorKind::System,
                _ => ErrorKind::Usage,
            },
            Error::Exchange(error) => match error {
                ExchangeError::NoOwner { .. }
                | ExchangeError::TwoOwners { .. }
                | ExchangeError::Times { .. }
                | ExchangeError::Kinds { .. } => ErrorKind::Unexpected,
                ExchangeError::Malformed { .. } => ErrorKind::System,
                _ => ErrorKind::Usage,
            },
            Error::Transport { error, .. } => match error {
                ShmError::OutOfMemory { .. } => ErrorKind::OutOfMemory,
                ShmError::TooLarge { .. } | ShmError::NotHere => ErrorKind::Usage,
                ShmError::TimedOut => ErrorKind::TimedOut,
                ShmError::Interrupted => ErrorKind::Interrupted,
                ShmError::RunEnds(_) | ShmError::AgentGone => ErrorKind::RunEnds,
                ShmError::System { .. } | ShmError::NoFence { .. } | ShmError::Malformed(_) => {
                    ErrorKind::System
                }
            },
            Error::Interrupted => ErrorKind::Interrupted,
            Error::Other { kind, .. } => *kind,
        }
    }
}

impl Coded for Error {
    fn code(&self) -> Code {
        match self {
            Error::Identity(error) => error.code(),
            Error::Port(error) => error.code(),
            Error::Send(error) => error.code(),
            Error::Receive(error) => error.code(),
            Error::Setting(error) => error.code(),
            Error::Timeline(error) => error.code(),
            Error::Mapper(error) => error.code(),
            Error::Agent(error) => error.code(),
            Error::Filter(error) => error.code(),
            Error::Exchange(error) => error.code(),
            Error::Clock(error) => error.code(),
            Error::InUse(overlap) => overlap.code(),
            Error::Transport { error, .. } => error.code(),
            Error::Interrupted => ShmError::Interrupted.code(),
            Error::Own(text) => hinted(text).unwrap_or(Code::REPORTED_AN_ERROR),
            Error::Other { fault, .. } => fault.code(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            // This text is printed without an allocation.
            Error::InUse(overlap) => return overlap.fmt(f),
            // An interruption needs no message.
            Error::Interrupted => return ShmError::Interrupted.fmt(f),
            Error::Own(text) => return f.write_str(text),
            Error::Identity(error) => error.to_string(),
            Error::Port(error) => error.to_string(),
            Error::Send(error) => error.to_string(),
            Error::Receive(error) => error.to_string(),
            Error::Setting(error) => error.to_string(),
            Error::Timeline(error) => error.to_string(),
            Error::Mapper(error) => error.to_string(),
            Error::Agent(error) => error.to_string(),
            Error::Filter(error) => error.to_string(),
            Error::Exchange(error) => error.to_string(),
            Error::Clock(error) => error.to_string(),
            Error::Transport { during, error } => format!("{during}: {error}"),
            Error::Other { fault, .. } => fault.to_string(),
        };
        f.write_str(&Fault::new(self.code(), text).with_code())
    }
}

impl std::error::Error for Error {}

macro_rules! from {
    ($($name:ident($error:ty)),+ $(,)?) => {
        $(impl From<$error> for Error {
            fn from(error: $error) -> Error {
                Error::$name(error)
            }
        })+
    };
}
from!(
    Identity(IdentityError),
    Port(PortError),
    Send(SendError),
    Receive(ReceiveError),
    Setting(SettingError),
    Agent(AgentError),
    Filter(FilterError),
    Exchange(ExchangeError),
    Clock(ClockError),
    Timeline(TimelineError),
    Mapper(MapperError),
);
