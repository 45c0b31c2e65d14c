//! The model that a cxa file describes: instances, couplings and settings, by the rules of MUSCLE 2.

use crate::place::{SyntaxFault, TextPosition};
use crate::programs::is_of_program;
use crate::value::CxaValue;
use crate::write::{is_duplication, shipped};
use std::collections::HashMap;

/// The kind of an instance: it says how its program is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstanceKind {
    /// A class of Java.
    Java,
    /// A program that is started by itself.
    Native,
    /// A program of several processes.
    Mpi,
    Python,
    Matlab,
    /// A source or sink, which is a class of Java.
    Terminal,
}

/// Values by name, in the order in which they were given.
#[derive(Debug, Default)]
pub(crate) struct SettingTable {
    pub entries: Vec<(String, CxaValue, TextPosition)>,
    found: HashMap<String, usize>,
}

impl SettingTable {
    pub fn get(&self, name: &str) -> Option<&CxaValue> {
        self.found.get(name).map(|at| &self.entries[*at].1).filter(|value| **value != CxaValue::Nil)
    }

    /// Gives a setting a value. `Nil` takes it out.
    pub fn set(&mut self, name: &str, value: CxaValue, place: TextPosition) {
        let at = *self.found.entry(name.to_owned()).or_insert_with(|| {
            self.entries.push((name.to_owned(), CxaValue::Nil, place));
            self.entries.len() - 1
        });
        (self.entries[at].1, self.entries[at].2) = (value, place);
    }
}

/// An instance.
#[derive(Debug)]
pub(crate) struct CxaInstance {
    pub name: String,
    pub kind: InstanceKind,
    /// Class of Java.
    pub class: Option<String>,
    pub settings: SettingTable,
    pub place: TextPosition,
}

/// A coupling of two ports.
#[derive(Debug)]
pub(crate) struct CxaCoupling {
    /// Sending end: index of the instance, and port.
    pub from: (usize, String),
    pub to: (usize, String),
    /// Filters that run at the sender.
    pub sender_filters: Vec<String>,
    /// Filters that run at the receiver.
    pub receiver_filters: Vec<String>,
    pub place: TextPosition,
}

/// The content of a cxa file.
#[derive(Debug, Default)]
pub(crate) struct CxaModel {
    pub instances: Vec<CxaInstance>,
    pub couplings: Vec<CxaCoupling>,
    pub settings: SettingTable,
    pub classpath: Vec<String>,
    /// Parts of the file that a model file cannot have, as warnings.
    pub warnings: Vec<SyntaxFault>,
    names: HashMap<String, usize>,
    /// Instances that have one coupling at most, with its line: terminals, and mappers that duplicate, which
    /// receive from one.
    sole: HashMap<usize, u32>,
    /// Ends that have a coupling, with its line. The last part is true for sending ends.
    joined: HashMap<(usize, String, bool), u32>,
}

impl CxaModel {
    pub fn instance(&self, name: &str) -> Option<usize> {
        self.names.get(name).copied()
    }

    /// # Errors
    /// The name is empty, or another instance has it.
    pub fn add(&mut self, instance: CxaInstance) -> Result<usize, SyntaxFault> {
        if instance.name.is_empty() {
            return Err(instance.place.fault("the instance has no name", "give it one"));
        }
        if let Some(at) = self.instance(&instance.name) {
            let what = format!(
                "there is an instance \"{}\" already, in line {}",
                instance.name, self.instances[at].place.line
            );
            return Err(instance.place.fault(what, "give one of them another name"));
        }
        self.names.insert(instance.name.clone(), self.instances.len());
        self.instances.push(instance);
        Ok(self.instances.len() - 1)
    }

    /// Gives each instance those settings of its program that the file gives by `$env['instance:name']`.
    /// Settings by `instance['name']` come first, as in MUSCLE 2.
    pub fn share_program_settings(&mut self) {
        for at in 0..self.settings.entries.len() {
            let (key, value, place) = self.settings.entries[at].clone();
            let Some((of, name)) = key.split_once(':') else { continue };
            let Some(owner) = self.instance(of) else { continue };
            let instance = &mut self.instances[owner];
            if is_of_program(instance.kind, name) {
                if instance.settings.get(name).is_none() {
                    instance.settings.set(name, value, place);
                }
                self.settings.set(&key, CxaValue::Nil, place);
            }
        }
    }

    /// # Errors
    /// A port is empty, or has a coupling already; a terminal has one already, or a sink sends; or a mapper
    /// that duplicates receives already.
    pub fn couple(&mut self, coupling: CxaCoupling) -> Result<(), SyntaxFault> {
        for (end, is_sender) in [(coupling.from.0, true), (coupling.to.0, false)] {
            let instance = &self.instances[end];
            if is_sender && shipped(instance).is_some() {
                let what = format!("\"{}\" is a sink, and sends nothing", instance.name);
                return Err(coupling.place.fault(what, "couple another instance with it, as the sender"));
            }
            let is_terminal = instance.kind == InstanceKind::Terminal;
            let is_sole = is_terminal || (!is_sender && is_duplication(instance));
            if let (true, Some(line)) = (is_sole, self.sole.get(&end)) {
                let what = format!("\"{}\" has its only coupling already, in line {line}", instance.name);
                return Err(coupling.place.fault(what, "make another instance for this one"));
            }
            if is_sole {
                self.sole.insert(end, coupling.place.line);
            }
        }
        for (end, is_sender) in [(&coupling.from, true), (&coupling.to, false)] {
            if end.1.is_empty() {
                return Err(coupling.place.fault("a port has no name", "write its name"));
            }
            let key = (end.0, end.1.clone(), is_sender);
            if let Some(line) = self.joined.get(&key) {
                let (name, port) = (&self.instances[end.0].name, &end.1);
                let way = if is_sender { "from" } else { "to" };
                let what = format!("there is a coupling {way} {name}.{port} already, in line {line}");
                let advice = "use another port, or a DuplicationMapper for one that leads to several";
                return Err(coupling.place.fault(what, advice));
            }
            self.joined.insert(key, coupling.place.line);
        }
        self.couplings.push(coupling);
        Ok(())
    }
}
