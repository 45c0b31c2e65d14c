//! The environment of an instance: the variables that its program adds, and the variables that the
//! program's texts refer to.

use ligament_model::{pieces, TextPiece};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Environment variables by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    variables: BTreeMap<OsString, OsString>,
}

/// Variables of this process that a login shell needs.
const KEPT_FOR_LOGIN: [&str; 7] = ["HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "TZ"];

impl Environment {
    /// Returns the environment of this process.
    pub fn inherited() -> Environment {
        Environment { variables: std::env::vars_os().collect() }
    }

    /// Returns the environment of this process, without the changes of a virtual environment.
    pub fn clean() -> Environment {
        let mut environment = Environment::inherited();
        if let Some(venv) = environment.variables.remove(OsStr::new("VIRTUAL_ENV")) {
            environment.variables.remove(OsStr::new("VIRTUAL_ENV_PROMPT"));
            let bin = [venv.as_bytes(), b"/bin"].concat();
            if let Some(path) = environment.variables.get_mut(OsStr::new("PATH")) {
                let kept: Vec<&[u8]> = path.as_bytes().split(|&b| b == b':').filter(|d| *d != bin).collect();
                *path = OsString::from_vec(kept.join(&b':'));
            }
        }
        environment
    }

    /// Returns the minimal environment from which a login shell starts.
    pub fn for_login() -> Environment {
        let mut environment = Environment::inherited();
        environment.variables.retain(|name, _| KEPT_FOR_LOGIN.iter().any(|kept| name == kept));
        environment
    }

    /// Returns the value of a variable.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// Sets a variable.
    pub fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.variables.insert(name.into(), value.into());
    }

    /// Sets a variable whose name need not be text.
    pub(crate) fn set_any(&mut self, name: OsString, value: OsString) {
        self.variables.insert(name, value);
    }

    /// Sets a variable unless it is set.
    pub fn set_default(&mut self, name: &str, value: impl Into<OsString>) {
        self.variables.entry(name.into()).or_insert_with(|| value.into());
    }

    /// Removes a variable.
    pub fn remove(&mut self, name: &str) {
        self.variables.remove(OsStr::new(name));
    }

    /// Puts a directory in front of a list of directories such as `PATH`.
    pub fn prepend(&mut self, name: &str, directory: &OsStr) {
        let value = match self.get(name) {
            Some(old) if !old.is_empty() => [directory.as_bytes(), b":", old.as_bytes()].concat(),
            _ => directory.as_bytes().to_vec(),
        };
        self.set(name, OsString::from_vec(value));
    }

    /// Applies an entry of a program's `env`: sets a variable, or appends to it if the name begins with `+`.
    pub fn apply(&mut self, name: &str, value: &str) {
        match name.strip_prefix('+') {
            Some(name) => {
                let mut whole = self.get(name).unwrap_or_default().to_os_string();
                whole.push(value);
                self.set(name, whole);
            }
            None => self.set(name, value),
        }
    }

    /// Returns all variables.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }
}

/// Replaces variables by their values. Variables that are not set become empty.
pub fn expand(text: &str, environment: &Environment) -> OsString {
    let mut out = OsString::with_capacity(text.len());
    for piece in pieces(text) {
        match piece {
            TextPiece::Text(text) => out.push(text),
            TextPiece::Variable(name) => out.push(environment.get(name).unwrap_or_default()),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plus_appends_and_a_plain_name_replaces() {
        let mut environment = Environment::default();
        environment.set("A", "x");
        environment.apply("+A", ":y");
        environment.apply("+B", "z");
        environment.apply("C", "1");
        assert_eq!(environment.get("A").unwrap(), "x:y");
        assert_eq!(environment.get("B").unwrap(), "z");
        assert_eq!(environment.get("C").unwrap(), "1");
    }

    #[test]
    fn variables_in_arguments_are_expanded_and_can_be_escaped() {
        let mut environment = Environment::default();
        environment.set("DIR", "/m");
        assert_eq!(expand("${DIR}/x${NONE}.py", &environment), "/m/x.py");
        assert_eq!(expand("a$${DIR}b", &environment), "a${DIR}b");
        assert_eq!(expand("open ${DIR", &environment), "open ${DIR");
        assert_eq!(expand("$DIR/x $$DIR $5", &environment), "/m/x $DIR $5");
    }
}
