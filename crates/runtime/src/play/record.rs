//! Recording of a case: a run of a whole model in which all messages of one instance pass through a recorder.
//! The recorder forwards the messages, and writes them into the case in the same order. Its program is the
//! command `ligament`.

use super::values::{written, written_number};
use super::PlayDirectories;
use crate::{check_instance, run_over, RunOptions, RunResult};
use ligament_catalogue::{fault, Fault};
use ligament_instance::{Error, ErrorKind, Flags, Instance, Message, Outgoing, ValueRef, Wait};
use ligament_manager::RunState;
use ligament_model::{
    without_variables, Channel, Endpoint, Identifier, Operator, Program, Reference, ResolvedComponent,
    ResolvedInstance, ResolvedModel, ResolvedPort, Resources,
};
use ligament_wire::Value;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Name of the recorder's component, if no other component has it.
const RECORDER: &str = "recorder";
/// Name of the port on which overlays of settings arrive.
const SETTINGS_IN: &str = "muscle_settings_in";
/// Time without a message on any port after which the recorder checks for ports that have ended.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The options of a recording.
#[derive(Debug)]
pub struct RecordOptions {
    /// Path of the case file, which must not exist.
    pub case: PathBuf,
    /// Name of the instance whose messages are recorded.
    pub instance: String,
    /// The command `ligament`, which is the recorder's program.
    pub ligament: PathBuf,
    /// Options of the run.
    pub run: RunOptions,
}

/// The instructions for the recorder.
#[derive(Debug, Serialize, Deserialize)]
struct RecordPlan {
    /// The first lines of the case.
    head: String,
    ports: Vec<RecordedPort>,
}

#[derive(Debug, Serialize, Deserialize)]
struct RecordedPort {
    name: String,
    /// The recorder's port on which it forwards the messages of this port.
    handed_on: String,
    /// True if the submodel receives on the port.
    to: bool,
    vector: bool,
}

/// Runs a model, and writes the case of one of its instances. If the run fails, no case is written.
///
/// # Errors
/// The ports cannot be recorded, or the run could not begin.
pub fn record(mut model: ResolvedModel, options: RecordOptions) -> Result<RunResult, Fault> {
    let RecordOptions { case, instance, ligament, run } = options;
    let made_case = NewCase::begin(&case)?;
    let place = PlayDirectories::new(run.directory.as_deref())?;
    let (plan_file, made) = (place.result.with_extension("plan"), place.result.with_extension("case"));
    let done = prepare(&mut model, &instance, &ligament, &plan_file, &made).and_then(|()| {
        ligament_launch::adopt_orphans();
        run_over(&model, run, None, None)
    });
    let written = done.and_then(|result| {
        if result.record.state == RunState::Done {
            let text = std::fs::read(&made)
                .map_err(|error| fault!(CASE_UNREADABLE, "the recorder left no case: {error}"))?;
            made_case.finish(&text)?;
        }
        Ok(result)
    });
    place.clear();
    written
}

/// A new case file. It is written under a temporary name in the same directory, so that no file of the user
/// is ever replaced.
struct NewCase {
    case: PathBuf,
    part: PathBuf,
    /// True if the file with the temporary name must be removed when this value is dropped.
    is_open: bool,
}

impl NewCase {
    /// Begins the file before the run. Fails if the file cannot be written.
    fn begin(case: &Path) -> Result<NewCase, Fault> {
        if case.symlink_metadata().is_ok() {
            return Err(NewCase::is_there(case));
        }
        let name = case.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let part = case.with_file_name(format!(".{name}.{}", std::process::id()));
        std::fs::File::create_new(&part)
            .map_err(|error| fault!(CASE_UNREADABLE, "{} cannot be written: {error}", case.display()))?;
        Ok(NewCase { case: case.to_owned(), part, is_open: true })
    }

    fn finish(mut self, text: &[u8]) -> Result<(), Fault> {
        std::fs::write(&self.part, text)
            .map_err(|error| fault!(CASE_UNREADABLE, "{} cannot be written: {error}", self.case.display()))?;
        // A hard link never replaces an existing file, as a rename would.
        match std::fs::hard_link(&self.part, &self.case) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                self.is_open = false;
                let why = NewCase::is_there(&self.case);
                Err(why.told(|why| format!("{why}; the recording is in {}", self.part.display())))
            }
            // Some file systems have no hard links.
            Err(_) => {
                self.is_open = false;
                std::fs::rename(&self.part, &self.case).map_err(|error| {
                    fault!(CASE_UNREADABLE, "{} cannot be written: {error}", self.case.display())
                })
            }
        }
    }

    fn is_there(case: &Path) -> Fault {
        fault!(CASE_UNREADABLE, "{} is there already; name another file, or remove it first", case.display())
    }
}

impl Drop for NewCase {
    fn drop(&mut self) {
        if self.is_open {
            let _ = std::fs::remove_file(&self.part);
        }
    }
}

/// Puts the recorder between an instance and its peers.
fn prepare(
    model: &mut ResolvedModel,
    name: &str,
    ligament: &Path,
    plan: &Path,
    made: &Path,
) -> Result<(), Fault> {
    check_instance(model, name)?;
    let of = model.instances.iter().position(|instance| instance.name.to_string() == name).unwrap_or_default()
        as u32;
    if model.light_program(of).is_some() {
        return Err(fault!(CASE_UNREADABLE, "\"{name}\" is a light component, which cannot be recorded alone"));
    }
    let ports = model.instances[of as usize].ports.clone();
    let connected: Vec<&ResolvedPort> = ports.iter().filter(|port| port.connected).collect();
    if let Some(port) = connected.iter().find(|port| port.operator == Operator::None) {
        return Err(fault!(
            CASE_UNREADABLE,
            "the model does not say at which operator \"{name}\" uses its port \"{}\"; declare its ports",
            port.name
        ));
    }
    if connected.iter().any(|port| port.name == *SETTINGS_IN) {
        return Err(fault!(
            CASE_UNREADABLE,
            "\"{name}\" receives settings on {SETTINGS_IN}, which a case does not hold; record it in a model \
             without"
        ));
    }
    if let Some(port) = connected.iter().find(|port| port.array.is_some() || port.clock.is_some()) {
        return Err(fault!(
            CASE_UNREADABLE,
            "\"{name}\" takes part in an exchange on its port \"{}\", and a case holds no parts of arrays, \
             events or signals; record an instance without",
            port.name
        ));
    }
    if model.instances[of as usize].ranks.is_some() {
        return Err(fault!(
            CASE_UNREADABLE,
            "each rank of \"{name}\" speaks for itself, and a case holds what one process sends and receives; \
             record an instance without ranks"
        ));
    }
    if model.channels.iter().any(|channel| channel.from.instance == of && channel.to.instance == of) {
        return Err(fault!(
            CASE_UNREADABLE,
            "\"{name}\" has a conduit to itself, of which a case would be both ends"
        ));
    }
    let own = |channel: &&Channel| channel.from.instance == of || channel.to.instance == of;
    if model.channels.iter().filter(own).any(|channel| channel.steps.is_some() || channel.own_filters.is_some())
    {
        return Err(fault!(
            CASE_UNREADABLE,
            "conduits of \"{name}\" have filters, or tell it which iterations are over, which a case does not \
             hold; record it in a model without"
        ));
    }
    let told = RecordPlan {
        head: head(model, of, &connected),
        ports: connected
            .iter()
            .map(|port| RecordedPort {
                name: port.name.to_string(),
                handed_on: handed_on(port, &connected).to_string(),
                to: !port.sends,
                vector: port.vector,
            })
            .collect(),
    };
    let text = serde_json::to_string(&told).map_err(|error| fault!(CASE_UNREADABLE, "the plan: {error}"))?;
    std::fs::write(plan, text)
        .map_err(|error| fault!(RUN_DIRECTORY_UNWRITABLE, "{}: {error}", plan.display()))?;
    let words = ["record-part".as_ref(), plan.as_os_str(), made.as_os_str()];
    insert(model, of, program(ligament, &words)?);
    Ok(())
}

fn program(ligament: &Path, words: &[&OsStr]) -> Result<Program, Fault> {
    let text = |word: &OsStr| match word.to_str() {
        // A "$" in a path begins no variable.
        Some(word) => Ok(without_variables(word)),
        None => Err(fault!(CASE_UNREADABLE, "{} is no text in UTF-8", word.to_string_lossy())),
    };
    let mut program = Program::new(Reference::new(RECORDER).map_err(Fault::from)?);
    program.executable = Some(text(ligament.as_os_str())?);
    program.args = Some(words.iter().map(|word| text(word)).collect::<Result<_, _>>()?);
    Ok(program)
}

/// Leads every channel of the instance to the recorder, and adds a channel from the recorder to the old
/// receiver.
fn insert(model: &mut ResolvedModel, of: u32, program: Program) {
    let recorder = model.instances.len() as u32;
    let submodel = &model.instances[of as usize];
    let name = Reference::from(unused(model));
    let mut ports = Vec::new();
    let mut places = vec![None; submodel.ports.len()];
    let connected: Vec<&ResolvedPort> = submodel.ports.iter().filter(|port| port.connected).collect();
    for (at, port) in submodel.ports.iter().enumerate().filter(|(_, port)| port.connected) {
        places[at] = Some(ports.len() as u32);
        ports.push(ResolvedPort { operator: Operator::S, sends: false, ..port.clone() });
        let name = handed_on(port, &connected);
        ports.push(ResolvedPort { name, operator: Operator::OI, sends: true, ..port.clone() });
    }
    for at in 0..model.channels.len() {
        let channel = &model.channels[at];
        let inner = match (channel.from.instance == of, channel.to.instance == of) {
            (true, _) => channel.from,
            (_, true) => channel.to,
            _ => continue,
        };
        let Some(port) = places[inner.port as usize] else { continue };
        let comes = Endpoint { instance: recorder, rank: 0, port, slot: inner.slot };
        let goes = Endpoint { instance: recorder, rank: 0, port: port + 1, slot: inner.slot };
        let id = model.channels.len() as u32;
        let second = Channel { id, from: goes, ..channel.clone() };
        model.channels[at].to = comes;
        model.channels.push(second);
    }
    model.components.push(ResolvedComponent {
        name: name.clone(),
        multiplicity: Vec::new(),
        implementation: Some(program.name.clone()),
    });
    model.programs.push(program);
    model.instances.push(ResolvedInstance {
        name,
        component: model.components.len() as u32 - 1,
        index: Vec::new(),
        program: Some(model.programs.len() as u32 - 1),
        // The recorder is one process, even if the submodel is an MPI program with many.
        resources: Resources::default(),
        grid: None,
        block: 0,
        tick: None,
        ranks: None,
        ports: ports.into(),
    });
}

/// Returns the name of the recorder's port on which it forwards the messages of a port. The name is derived
/// from the port's name, and no other port has it.
fn handed_on(port: &ResolvedPort, all: &[&ResolvedPort]) -> Identifier {
    let mut name = format!("{}_recorded", port.name);
    while all.iter().any(|other| other.name.to_string() == name) {
        name.push('_');
    }
    Identifier::new(&name).expect("letters after a port's name make another")
}

/// Returns a name that no component has.
fn unused(model: &ResolvedModel) -> Identifier {
    let is_free = |name: &String| model.components.iter().all(|one| one.name.to_string() != *name);
    let names = (0..).map(|i| if i == 0 { RECORDER.to_owned() } else { format!("{RECORDER}_{i}") });
    let name = names.into_iter().find(is_free).unwrap_or_else(|| RECORDER.to_owned());
    Identifier::new(&name).expect("a recorder's name is one")
}

/// Returns the beginning of the case file, up to its messages.
fn head(model: &ResolvedModel, of: u32, ports: &[&ResolvedPort]) -> String {
    let instance = &model.instances[of as usize];
    let mut text = String::from("ligament_case: 1\n");
    let _ = writeln!(text, "description: {} in a run of {}", instance.name, model.name);
    text.push_str("ports:\n");
    for operator in [Operator::FInit, Operator::OI, Operator::S, Operator::OF] {
        let names: Vec<String> = ports
            .iter()
            .filter(|port| port.operator == operator)
            .map(|port| match (port.vector, port.length) {
                (true, Some(slots)) => format!("\"{}[{slots}]\"", port.name),
                (true, None) => format!("\"{}[]\"", port.name),
                (false, _) => port.name.to_string(),
            })
            .collect();
        if !names.is_empty() {
            let _ = writeln!(text, "  {}: [{}]", operator.name().to_lowercase(), names.join(", "));
        }
    }
    let settings = settings_of(model, &instance.name.to_string());
    if !settings.is_empty() {
        text.push_str("settings:\n");
        for (name, value) in settings {
            let _ = writeln!(text, "  {name}: {value}");
        }
    }
    text.push_str("messages:\n");
    text
}

/// Returns the settings of an instance by the names that its code uses. The first of `a.micro[1].x`,
/// `a.micro.x`, `a.x` and `x` that is set is the value of `x`.
fn settings_of(model: &ResolvedModel, instance: &str) -> Vec<(String, String)> {
    let without_index = instance.split('[').next().unwrap_or(instance);
    let mut prefixes = vec![format!("{instance}."), format!("{without_index}.")];
    let mut path = without_index;
    while let Some((parent, _)) = path.rsplit_once('.') {
        prefixes.push(format!("{parent}."));
        path = parent;
    }
    prefixes.push(String::new());
    let components: Vec<String> = model.components.iter().map(|one| one.name.to_string()).collect();
    let of_another = |name: &str| {
        let is_of = |component: &String| {
            let rest = name.strip_prefix(component.as_str());
            rest.is_some_and(|rest| rest.starts_with(['.', '[']))
        };
        components.iter().any(is_of)
    };
    let mut found: Vec<(String, usize, String)> = Vec::new();
    for (name, value) in model.settings.iter() {
        let name = name.to_string();
        let Some(rank) = prefixes.iter().position(|prefix| name.starts_with(prefix.as_str())) else { continue };
        let short = name[prefixes[rank].len()..].to_owned();
        if prefixes[rank].is_empty() && of_another(&name) {
            continue;
        }
        match found.iter_mut().find(|(known, ..)| *known == short) {
            Some(known) if rank < known.1 => (known.1, known.2) = (rank, value.to_string()),
            Some(_) => {}
            None => found.push((short, rank, value.to_string())),
        }
    }
    found.into_iter().map(|(name, _, value)| (name, value)).collect()
}

/// Works as the recorder of a run: forwards all messages, and writes the case when the last conduit has ended.
///
/// # Errors
/// The run cannot be joined, or the case cannot be written.
pub fn record_part(plan: &Path, made: &Path) -> Result<(), Fault> {
    let told = std::fs::read_to_string(plan)
        .map_err(|error| fault!(CASE_UNREADABLE, "{}: {error}", plan.display()))?;
    let plan: RecordPlan =
        serde_json::from_str(&told).map_err(|error| fault!(CASE_UNREADABLE, "{}: {error}", plan.display()))?;
    let flags = Flags { dont_apply_overlay: true, ..Flags::default() };
    let mut instance = Instance::with_options(None, flags, "rust")?;
    let mut text = plan.head.clone();
    match hand_on(&mut instance, &plan, &mut text) {
        Ok(None) => {}
        Ok(Some(why)) => return Ok(instance.error_shutdown(&why.with_code())?),
        // The run reports the reason, so this process does not.
        Err(error) if error.kind() == ErrorKind::RunEnds => return Ok(()),
        Err(error) => return Err(error.into()),
    }
    std::fs::write(made, text)
        .map_err(|error| fault!(RUN_DIRECTORY_UNWRITABLE, "{}: {error}", made.display()))?;
    Ok(instance.finish()?)
}

/// A port, or a slot of a port, whose conduit has not ended.
struct OpenPort<'a> {
    port: &'a RecordedPort,
    slot: Option<u32>,
}

/// Forwards all messages and appends them to `text`. Returns a fault if a case cannot hold one of the messages.
fn hand_on(instance: &mut Instance, plan: &RecordPlan, text: &mut String) -> Result<Option<Fault>, Error> {
    instance.reuse_instance()?;
    let mut open = Vec::new();
    for port in &plan.ports {
        if port.vector {
            let slots = instance.get_port_length(&port.name)? as u32;
            open.extend((0..slots).map(|slot| OpenPort { port, slot: Some(slot) }));
        } else {
            open.push(OpenPort { port, slot: None })
        }
    }
    while !open.is_empty() {
        let mut at = 0;
        while at < open.len() {
            let OpenPort { port, slot } = open[at];
            if !instance.poll(&port.name, slot)? {
                at += 1;
                continue;
            }
            match instance.receive(&port.name, slot) {
                Ok(message) if holds_settings(&message.data) => {
                    return Ok(Some(fault!(
                        CASE_UNREADABLE,
                        "a message on port \"{}\" holds settings, which a case cannot; send them as a mapping",
                        port.name
                    )))
                }
                Ok(message) => {
                    text.push_str(&step(port, slot, &message));
                    let outgoing = Outgoing {
                        timestamp: message.timestamp,
                        next_timestamp: message.next_timestamp,
                        data: ValueRef::from(&message.data),
                        settings: message.settings.as_ref(),
                    };
                    instance.send(&port.handed_on, &outgoing, slot)?;
                }
                Err(error) if error.kind() == ErrorKind::Closed => {
                    open.remove(at);
                    // All slots of a port end together, so the port is ended when its last slot has ended.
                    if open.iter().all(|other| other.port.name != port.name) {
                        instance.end_port(&port.handed_on)?;
                    }
                }
                Err(error) => return Err(error),
            }
        }
        let ports: Vec<(&str, Option<u32>)> =
            open.iter().map(|one| (one.port.name.as_str(), one.slot)).collect();
        match instance.wait_any(&ports, Wait::AtMost(POLL_INTERVAL)) {
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::Closed) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

fn holds_settings(value: &Value) -> bool {
    match value {
        Value::Settings(_) => true,
        Value::List(items) => items.iter().any(holds_settings),
        Value::Map(entries) => entries.iter().any(|(_, item)| holds_settings(item)),
        _ => false,
    }
}

/// Returns a message in the form of a case.
fn step(port: &RecordedPort, slot: Option<u32>, message: &Message) -> String {
    let mut text = format!("  - {{{}: {}", if port.to { "to" } else { "from" }, port.name);
    if let Some(slot) = slot {
        let _ = write!(text, ", slot: {slot}");
    }
    let _ = write!(text, ", timestamp: {}", written_number(message.timestamp));
    match message.next_timestamp {
        Some(next) => {
            let _ = write!(text, ", next_timestamp: {}", written_number(next));
        }
        None if !port.to => text.push_str(", next_timestamp: null"),
        None => {}
    }
    let _ = writeln!(text, ", data: {}}}", written(&message.data));
    text
}
