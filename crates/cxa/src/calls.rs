//! Calls of functions, and of the parts of MUSCLE 2: `Cxa`, `Muscle`, the connection scheme, `$env`, instances.

use crate::evaluate::{Evaluated, Evaluation, Flow};
use crate::methods::number_in;
use crate::model::CxaCoupling;
use crate::place::TextPosition;
use crate::syntax::{Block, RubyCall};
use crate::value::{BuiltinObject, CxaValue};

/// Classes that a file may name.
const CLASSES: &[&str] = &[
    "Instance",
    "NativeInstance",
    "MPIInstance",
    "PythonInstance",
    "MatlabInstance",
    "Terminal",
    "Cxa",
    "Muscle",
    "ConnectionScheme",
    "Conduit",
    "File",
    "Array",
    "Hash",
    "String",
    "Integer",
    "Float",
    "Symbol",
];

/// Calls whose blocks are read.
const WITH_BLOCK: &[&str] = &[
    "each",
    "each_pair",
    "each_with_index",
    "map",
    "collect",
    "times",
    "upto",
    "downto",
    "step",
    "loop",
    "attach",
    "new",
];

/// The variable that is set wherever MUSCLE 2 runs. Programs find it when they start.
const HOME: &str = "MUSCLE_HOME";

/// A call after its receiver and arguments are evaluated.
pub(crate) struct CallRequest<'c> {
    pub place: TextPosition,
    pub name: &'c str,
    pub arguments: Vec<CxaValue>,
    pub block: Option<&'c Block>,
}

impl CallRequest<'_> {
    pub fn argument(&self, at: usize) -> CxaValue {
        self.arguments.get(at).cloned().unwrap_or(CxaValue::Nil)
    }
}

impl Evaluation<'_> {
    pub(crate) fn constant(&mut self, place: TextPosition, name: &str) -> Evaluated {
        if let Some(value) = self.variables.get(name) {
            return Ok(value.clone());
        }
        if let Some(class) = CLASSES.iter().find(|class| **class == name) {
            return Ok(CxaValue::Class(class));
        }
        match name {
            "ENV" => Ok(CxaValue::Builtin(BuiltinObject::Environment)),
            "__FILE__" => Ok(CxaValue::text(format!("{}/{}", self.host.folder, self.file))),
            "ARGV" => Ok(self.heap.list(Vec::new())),
            _ => {
                let known = self.variables.keys().map(String::as_str).chain(CLASSES.iter().copied());
                let meant = ligament_model::nearest(name, known);
                let advice = meant
                    .map_or("give it a value before".to_owned(), |meant| format!("did you mean \"{meant}\"?"));
                Err(place.fault(format!("\"{name}\" is not known"), advice).into())
            }
        }
    }

    pub(crate) fn call(&mut self, place: TextPosition, call: &RubyCall) -> Evaluated {
        let receiver = match &call.receiver {
            Some(receiver) => Some(self.known(receiver)?),
            None => None,
        };
        let arguments = self.values(&call.arguments)?;
        let request = CallRequest { place, name: &call.name, arguments, block: call.block.as_ref() };
        if request.block.is_some() && !WITH_BLOCK.contains(&request.name) {
            let what = format!("the block of \"{}\" is not read", request.name);
            return Err(place.fault(what, "write out what it does").into());
        }
        match receiver {
            None => self.function(&request),
            Some(CxaValue::Class(class)) => self.method_of_class(class, &request),
            Some(CxaValue::Instance(at)) => self.method_of_instance(at, &request),
            Some(CxaValue::Builtin(part)) => self.method_of_part(part, &request),
            Some(value) => self.method(&value, &request),
        }
    }

    pub(crate) fn unknown_call(&self, request: &CallRequest, of: &str) -> Flow {
        let what = format!("\"{}\" of {of} is not read", request.name);
        let advice =
            if of == "nil" { "look for the value that is not set" } else { "write the model without it" };
        request.place.fault(what, advice).into()
    }

    fn function(&mut self, request: &CallRequest) -> Evaluated {
        let place = request.place;
        match request.name {
            "abort" | "raise" | "exit" | "fail" => {
                let said = self.shown(place, &request.argument(0)).unwrap_or_default();
                let colon = if said.is_empty() { "" } else { ": " };
                let what = format!("the file ends itself by \"{}\"{colon}{said}", request.name);
                Err(Flow::Halt(place.fault(what, "correct what it asks for")))
            }
            "puts" | "print" | "p" | "srand" => Ok(CxaValue::Nil),
            "require" | "require_relative" | "load" => {
                let named = self.shown(place, &request.argument(0))?;
                let what = format!("\"{named}\" is not read");
                let fault = place.fault(what, "put what it brings into this file if the model needs it");
                self.model.warnings.push(fault);
                Ok(CxaValue::Bool(true))
            }
            "add_classpath" | "add_libpath" | "add_path" => self.method_of_part(BuiltinObject::Muscle, request),
            "attach" | "tie" => self.method_of_part(BuiltinObject::Scheme, request),
            "loop" => match request.block {
                Some(block) => {
                    while self.block_pass(place, block, CxaValue::Nil)?.is_some() {}
                    Ok(CxaValue::Nil)
                }
                None => Err(place.fault("the loop has no block", "write loop do … end").into()),
            },
            "sprintf" | "format" => {
                let rest = request.arguments.get(1..).unwrap_or_default().to_vec();
                let rest = self.heap.list(rest);
                let format = self.shown(place, &request.argument(0))?;
                self.formatted(place, &format, &rest)
            }
            "Integer" | "Float" | "String" => self.conversion(request),
            name => {
                let what = format!("the function \"{name}\" is not read");
                Err(place.fault(what, "write the model without it").into())
            }
        }
    }

    /// Evaluates `Integer(…)`, `Float(…)` or `String(…)`. Unlike `to_i` and `to_f`, the first two take no text
    /// that has more than a number.
    fn conversion(&mut self, request: &CallRequest) -> Evaluated {
        let place = request.place;
        let [value] = &request.arguments[..] else {
            return Err(place
                .fault(format!("\"{}\" is read with one value", request.name), "give it one")
                .into());
        };
        let name = match request.name {
            "Integer" => "to_i",
            "Float" => "to_f",
            _ => "to_s",
        };
        if let (CxaValue::Text(text), "Integer" | "Float") = (value, request.name) {
            let is_whole = request.name == "Integer";
            let text = text.trim();
            // Ruby takes a leading 0 of a whole number for another base than ten.
            let has_base = is_whole && text.trim_start_matches(['+', '-']).len() > 1 && {
                text.trim_start_matches(['+', '-']).starts_with('0')
            };
            if text.is_empty() || number_in(text, !is_whole).0 != text.len() || has_base {
                let kind = if is_whole { "whole number" } else { "number" };
                let what = format!("{:?} is no {kind} for \"{}\"", text, request.name);
                return Err(place.fault(what, "write a number with base ten").into());
            }
        }
        let inner = CallRequest { place, name, arguments: Vec::new(), block: None };
        self.method(value, &inner)
    }

    fn method_of_class(&mut self, class: &str, request: &CallRequest) -> Evaluated {
        if request.block.is_some() && class != "Array" {
            let what = format!("the block of {class}.{} is not read", request.name);
            return Err(request.place.fault(what, "write out what it does").into());
        }
        match (class, request.name) {
            ("Cxa", "LAST") => Ok(CxaValue::Builtin(BuiltinObject::Cxa)),
            ("Muscle", "LAST") => Ok(CxaValue::Builtin(BuiltinObject::Muscle)),
            ("ConnectionScheme", "LAST") => Ok(CxaValue::Builtin(BuiltinObject::Scheme)),
            ("Conduit", "new") => Ok(request.arguments.last().cloned().unwrap_or(CxaValue::Nil)),
            ("Array", "new") => self.new_list(request),
            ("Hash", "new") if request.arguments.is_empty() => Ok(self.heap.map(Vec::new())),
            ("Hash", "new") => {
                let what = "a value for all keys that a map does not have is not read";
                Err(request.place.fault(what, "write Hash.new, and ask for keys by fetch").into())
            }
            ("File", _) => self.method_of_file(request),
            (_, "new") if class.ends_with("Instance") || class == "Terminal" => {
                self.new_instance(class, request)
            }
            _ => Err(self.unknown_call(request, class)),
        }
    }

    fn new_list(&mut self, request: &CallRequest) -> Evaluated {
        let place = request.place;
        let count = match request.argument(0) {
            CxaValue::Nil if request.arguments.is_empty() => 0,
            CxaValue::Int(count) if count >= 0 => usize::try_from(count).unwrap_or(usize::MAX),
            other => {
                let what = format!("the length of a list is {}", other.kind());
                return Err(place.fault(what, "write a whole number that is not below 0").into());
            }
        };
        self.charge(place, count)?;
        let Some(block) = request.block else { return Ok(self.heap.list(vec![request.argument(1); count])) };
        let mut made = Vec::new();
        for at in 0..count {
            match self.block_pass(place, block, CxaValue::Int(at as i64))? {
                Some(value) => made.push(value),
                None => return Ok(CxaValue::Nil),
            }
        }
        Ok(self.heap.list(made))
    }

    fn method_of_file(&mut self, request: &CallRequest) -> Evaluated {
        let place = request.place;
        let mut texts = Vec::new();
        for value in &request.arguments {
            texts.push(self.shown(place, value)?);
        }
        let first = texts.first().cloned().unwrap_or_default();
        let text = match request.name {
            "dirname" => match first.rsplit_once('/') {
                Some(("", _)) => "/".to_owned(),
                Some((folder, _)) => folder.to_owned(),
                None => ".".to_owned(),
            },
            "basename" => {
                let name = first.rsplit('/').next().unwrap_or_default();
                let end = match texts.get(1).map_or("", String::as_str) {
                    ".*" => name.rfind('.').filter(|at| *at > 0).map_or("", |at| &name[at..]),
                    end => end,
                };
                name.strip_suffix(end).unwrap_or(name).to_owned()
            }
            "join" => texts.join("/").replace("//", "/"),
            "expand_path" if first.starts_with('/') => first,
            "expand_path" => format!("{}/{first}", texts.get(1).map_or(self.host.folder, String::as_str)),
            _ => {
                let what =
                    format!("File.{} depends on the files that are there, and is not read", request.name);
                return Err(place.fault(what, "write the path that is meant").into());
            }
        };
        self.text(place, text)
    }

    pub(crate) fn method_of_part(&mut self, part: BuiltinObject, request: &CallRequest) -> Evaluated {
        let place = request.place;
        match (part, request.name) {
            (BuiltinObject::Cxa, "env") => Ok(CxaValue::Builtin(BuiltinObject::Settings)),
            (BuiltinObject::Cxa, "cs") => Ok(CxaValue::Builtin(BuiltinObject::Scheme)),
            (BuiltinObject::Cxa, "add_kernel" | "add_instance") => self.new_instance("Instance", request),
            (BuiltinObject::Cxa, "add_terminal") => self.new_instance("Terminal", request),
            (BuiltinObject::Cxa, "get") => {
                self.instance_of(place, &request.argument(0)).map(CxaValue::Instance)
            }
            (BuiltinObject::Muscle, "add_classpath") => {
                let path = self.shown(place, &request.argument(0))?;
                self.model.classpath.push(path);
                Ok(CxaValue::Nil)
            }
            (BuiltinObject::Muscle, "add_libpath" | "add_path") => {
                let path = self.shown(place, &request.argument(0))?;
                let what = format!("\"{path}\" is to be searched for libraries, and is left out");
                let advice = "write it under \"env\" of the programs: LD_LIBRARY_PATH";
                self.model.warnings.push(place.fault(what, advice));
                Ok(CxaValue::Nil)
            }
            (BuiltinObject::Scheme, "attach") => self.attach(request),
            (BuiltinObject::Scheme, "tie") => self.tie(request),
            (BuiltinObject::Environment, "has_key?" | "key?" | "include?" | "member?") => {
                let name = self.shown(place, &request.argument(0))?;
                Ok(CxaValue::Bool(self.variable_of_environment(&name).is_some()))
            }
            (BuiltinObject::Environment, "fetch") => {
                let name = self.shown(place, &request.argument(0))?;
                match (self.variable_of_environment(&name), request.arguments.get(1)) {
                    (Some(text), _) => Ok(CxaValue::text(text)),
                    (None, Some(otherwise)) => Ok(otherwise.clone()),
                    (None, None) => {
                        let what = format!("the variable {name} of the environment is not set");
                        Err(place.fault(what, "set it, and convert again").into())
                    }
                }
            }
            (BuiltinObject::Settings, "merge!" | "update") => self.merge(request),
            (BuiltinObject::Settings, "has_key?" | "key?" | "include?" | "member?") => {
                let name = self.shown(place, &request.argument(0))?;
                Ok(CxaValue::Bool(self.model.settings.get(&name).is_some()))
            }
            (BuiltinObject::Settings, "delete") => {
                let name = self.shown(place, &request.argument(0))?;
                self.model.settings.set(&name, CxaValue::Nil, place);
                Ok(CxaValue::Nil)
            }
            (part, _) => Err(self.unknown_call(request, CxaValue::Builtin(part).kind())),
        }
    }

    fn variable_of_environment(&self, name: &str) -> Option<String> {
        let set = (self.host.environment)(name);
        set.or_else(|| (name == HOME).then(|| format!("${{{HOME}}}")))
    }

    fn merge(&mut self, request: &CallRequest) -> Evaluated {
        let CxaValue::Map(map) = request.argument(0) else {
            return Err(request.place.fault("merge! needs a map", "write 'name' => value").into());
        };
        for (key, value) in self.heap.maps[map].clone() {
            let name = self.shown(request.place, &key)?;
            self.model.settings.set(&name, value, request.place);
        }
        Ok(CxaValue::Builtin(BuiltinObject::Settings))
    }

    /// Returns the instance that a value is, or names.
    fn instance_of(&mut self, place: TextPosition, value: &CxaValue) -> Evaluated<usize> {
        if let CxaValue::Instance(at) = value {
            return Ok(*at);
        }
        let name = self.shown(place, value)?;
        self.model.instance(&name).ok_or_else(|| {
            let names = self.model.instances.iter().map(|instance| instance.name.as_str());
            let advice = ligament_model::nearest(&name, names)
                .map_or("make it before".to_owned(), |meant| format!("did you mean \"{meant}\"?"));
            place.fault(format!("there is no instance \"{name}\""), advice).into()
        })
    }

    fn attach(&mut self, request: &CallRequest) -> Evaluated {
        let place = request.place;
        let pair = match request.argument(0) {
            CxaValue::Map(map) => match &self.heap.maps[map][..] {
                [pair] => Some(pair.clone()),
                _ => None,
            },
            _ => None,
        };
        let (Some((from, to)), Some(block)) = (pair, request.block) else {
            let advice = "write attach('a' => 'b') do … end";
            return Err(place.fault("attach needs two instances and a block", advice).into());
        };
        let ends = (self.instance_of(place, &from)?, self.instance_of(place, &to)?);
        let before = self.attached.replace(ends);
        let done = self.block_pass(place, block, CxaValue::Nil);
        self.attached = before;
        done.map(|_| CxaValue::Nil)
    }

    fn tie(&mut self, request: &CallRequest) -> Evaluated {
        let place = request.place;
        let Some((from, to)) = self.attached else {
            return Err(place.fault("tie stands outside of attach", "put it into the block of attach").into());
        };
        let (ports, rest) = match request.argument(0) {
            map @ CxaValue::Map(_) => (self.ports(place, &map)?, 1),
            out => {
                let out = self.shown(place, &out)?;
                let into = match request.argument(1) {
                    CxaValue::Nil => out.clone(),
                    into => self.shown(place, &into)?,
                };
                (vec![(out, into)], 2)
            }
        };
        let filters = (request.argument(rest), request.argument(rest + 1));
        self.join(place, (from, to), ports, filters)
    }

    fn method_of_instance(&mut self, at: usize, request: &CallRequest) -> Evaluated {
        let place = request.place;
        match request.name {
            "couple" => {
                let CxaValue::Instance(to) = request.argument(0) else {
                    let what = format!("an instance is coupled with {}", request.argument(0).kind());
                    return Err(place.fault(what, "name the variable of the other instance").into());
                };
                let ports = self.ports(place, &request.argument(1))?;
                self.join(place, (at, to), ports, (request.argument(2), request.argument(3)))
            }
            "name" => Ok(CxaValue::text(&self.model.instances[at].name)),
            "nil?" => Ok(CxaValue::Bool(false)),
            "cls" => Ok(self.model.instances[at].class.as_ref().map_or(CxaValue::Nil, CxaValue::text)),
            "prop" => {
                let name = self.shown(place, &request.argument(0))?;
                let text = format!("{}:{name}", self.model.instances[at].name);
                self.text(place, text)
            }
            _ => Err(self.unknown_call(request, "an instance")),
        }
    }

    /// Returns pairs of ports: of a map, or the same name at both ends.
    fn ports(&mut self, place: TextPosition, value: &CxaValue) -> Evaluated<Vec<(String, String)>> {
        match value {
            CxaValue::Map(map) => {
                let pairs = self.heap.maps[*map].clone();
                pairs
                    .iter()
                    .map(|(out, into)| Ok((self.shown(place, out)?, self.shown(place, into)?)))
                    .collect()
            }
            CxaValue::Text(_) | CxaValue::Symbol(_) => {
                let name = self.shown(place, value)?;
                Ok(vec![(name.clone(), name)])
            }
            other => {
                let what = format!("ports are given as {}", other.kind());
                Err(place.fault(what, "write 'port', or 'out' => 'in'").into())
            }
        }
    }

    /// Couples ports. One list of filters runs at the receiver; of two, the first runs at the sender.
    fn join(
        &mut self,
        place: TextPosition,
        (from, to): (usize, usize),
        ports: Vec<(String, String)>,
        filters: (CxaValue, CxaValue),
    ) -> Evaluated {
        let first = self.filters(place, &filters.0)?;
        let (sender, receiver) = match filters.1 {
            CxaValue::Nil => (Vec::new(), first),
            second => (first, self.filters(place, &second)?),
        };
        for (out, into) in ports {
            self.charge(place, 1 + sender.len() + receiver.len())?;
            let coupling = CxaCoupling {
                from: (from, out),
                to: (to, into),
                sender_filters: sender.clone(),
                receiver_filters: receiver.clone(),
                place,
            };
            self.model.couple(coupling)?;
        }
        Ok(CxaValue::Nil)
    }

    fn filters(&mut self, place: TextPosition, value: &CxaValue) -> Evaluated<Vec<String>> {
        match value {
            CxaValue::Nil => Ok(Vec::new()),
            CxaValue::List(list) => {
                let values = self.heap.lists[*list].clone();
                self.charge(place, values.len())?;
                values.iter().map(|value| self.shown(place, value)).collect()
            }
            CxaValue::Text(_) | CxaValue::Symbol(_) => Ok(vec![self.shown(place, value)?]),
            other => {
                let what = format!("filters are given as {}", other.kind());
                Err(place.fault(what, "write a list of their names").into())
            }
        }
    }

    /// Returns an element of a list, map or text, a setting, or a variable of the environment.
    pub(crate) fn element(&mut self, place: TextPosition, of: &CxaValue, index: &[CxaValue]) -> Evaluated {
        let (Some(key), 1) = (index.first(), index.len()) else {
            return Err(place.fault("an element has one index", "write one").into());
        };
        match (of, key) {
            (CxaValue::Builtin(BuiltinObject::Environment), _) => {
                let name = self.shown(place, key)?;
                Ok(self.variable_of_environment(&name).map_or(CxaValue::Nil, CxaValue::text))
            }
            (CxaValue::Builtin(BuiltinObject::Settings), _) => {
                let name = self.shown(place, key)?;
                Ok(self.model.settings.get(&name).cloned().unwrap_or(CxaValue::Nil))
            }
            (CxaValue::Instance(at), _) => {
                let name = self.shown(place, key)?;
                Ok(self.model.instances[*at].settings.get(&name).cloned().unwrap_or(CxaValue::Nil))
            }
            (CxaValue::List(list), CxaValue::Int(at)) => {
                let list = &self.heap.lists[*list];
                let at = if *at < 0 { *at + list.len() as i64 } else { *at };
                Ok(usize::try_from(at).ok().and_then(|at| list.get(at)).cloned().unwrap_or(CxaValue::Nil))
            }
            (CxaValue::Map(map), _) => {
                self.charge(place, self.heap.maps[*map].len() / 16)?;
                let found = self.heap.maps[*map].iter().find(|(known, _)| known == key);
                Ok(found.map_or(CxaValue::Nil, |(_, value)| value.clone()))
            }
            _ => {
                let what = format!("an element of {} is asked for by {}", of.kind(), key.kind());
                Err(place.fault(what, "write another value").into())
            }
        }
    }

    pub(crate) fn set_element(
        &mut self,
        place: TextPosition,
        (of, key): (&CxaValue, &CxaValue),
        value: CxaValue,
    ) -> Evaluated<()> {
        match (of, key) {
            (CxaValue::Builtin(BuiltinObject::Settings), _) => {
                let name = self.shown(place, key)?;
                self.model.settings.set(&name, value, place);
            }
            (CxaValue::Instance(at), _) => {
                let name = self.shown(place, key)?;
                self.model.instances[*at].settings.set(&name, value, place);
            }
            (CxaValue::List(list), CxaValue::Int(at)) => {
                let length = self.heap.lists[*list].len();
                let at = if *at < 0 { *at + length as i64 } else { *at };
                let at = usize::try_from(at).ok().filter(|at| *at <= length + 1000);
                let Some(at) = at else {
                    return Err(place
                        .fault("this index is far outside of the list", "add elements by <<")
                        .into());
                };
                let list = &mut self.heap.lists[*list];
                if at >= list.len() {
                    list.resize(at + 1, CxaValue::Nil);
                }
                list[at] = value;
                self.charge(place, (at + 1).saturating_sub(length))?;
            }
            (CxaValue::Map(map), _) => {
                self.charge(place, self.heap.maps[*map].len() / 16)?;
                let map = &mut self.heap.maps[*map];
                match map.iter_mut().find(|(known, _)| known == key) {
                    Some((_, old)) => *old = value,
                    None => map.push((key.clone(), value)),
                }
            }
            _ => {
                let what = format!("an element of {} is given a value by {}", of.kind(), key.kind());
                return Err(place.fault(what, "give it to a setting, a list or a map").into());
            }
        }
        Ok(())
    }
}
