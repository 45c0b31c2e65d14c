//! The variables in paths and arguments of programs, if their values are known before a program starts.

use ligament_model::{pieces, BaseEnv, Program, TextPiece};
use std::path::Path;

/// Variables that may get a new value when an instance is started.
const SET_AT_START: [&str; 8] = [
    "LIGAMENT_INSTANCE",
    "LIGAMENT_LIBRARY",
    "PYTHONUNBUFFERED",
    "OMP_NUM_THREADS",
    "OMP_PLACES",
    "OMP_PROC_BIND",
    "PATH",
    "VIRTUAL_ENV",
];

/// The result of filling in the variables of a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ExpandedText {
    Known(String),
    /// The variable with this name is not set.
    Unset(String),
    /// The value is known only when the program starts.
    AtStart,
}

/// Returns true if a shell with modules or login scripts starts the program. These may set any variable.
pub(crate) fn starts_in_shell(program: &Program) -> bool {
    program.modules.is_some() || program.base_env == BaseEnv::Login
}

/// Fills in the variables of a text of a program, in the environment of this process.
pub(crate) fn fill(program: &Program, model_directory: Option<&Path>, text: &str) -> ExpandedText {
    let mut whole = String::new();
    for piece in pieces(text) {
        match piece {
            TextPiece::Text(text) => whole.push_str(text),
            TextPiece::Variable(name) => match value(program, model_directory, name) {
                ExpandedText::Known(value) => whole.push_str(&value),
                other => return other,
            },
        }
    }
    ExpandedText::Known(whole)
}

fn value(program: &Program, model_directory: Option<&Path>, name: &str) -> ExpandedText {
    let appended = program.env.get(&format!("+{name}"));
    let from = |base: Option<String>| match (base, appended) {
        (None, None) => ExpandedText::Unset(name.to_owned()),
        (base, more) => ExpandedText::Known(base.unwrap_or_default() + more.map_or("", String::as_str)),
    };
    if name == "LIGAMENT_MODEL_DIR" {
        let directory = model_directory.map(|path| path.to_string_lossy().into_owned());
        return directory.map_or(ExpandedText::AtStart, ExpandedText::Known);
    }
    match program.env.get(name) {
        Some(own) if appended.is_none() => ExpandedText::Known(own.clone()),
        _ if starts_in_shell(program) || SET_AT_START.contains(&name) => ExpandedText::AtStart,
        Some(own) => from(Some(own.clone())),
        None => from(std::env::var(name).ok()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ligament_model::Reference;

    #[test]
    fn a_variable_is_the_programs_own_or_this_process_s_or_comes_with_modules() {
        let mut program = Program::new(Reference::new("solver").unwrap());
        program.env.insert("OWN".into(), "/own".into());
        program.env.insert("+MORE".into(), "/more".into());
        let filled = |program: &Program, text: &str| fill(program, Some(Path::new("/model")), text);
        let known = |text: &str| ExpandedText::Known(text.into());
        let here = std::env::var("CARGO_MANIFEST_DIR").unwrap();
        assert_eq!(filled(&program, "$OWN/${LIGAMENT_MODEL_DIR}$MORE/$$OWN"), known("/own//model/more/$OWN"));
        assert_eq!(filled(&program, "$CARGO_MANIFEST_DIR/x"), known(&format!("{here}/x")));
        assert_eq!(filled(&program, "$NO_SUCH_VARIABLE/x"), ExpandedText::Unset("NO_SUCH_VARIABLE".into()));
        assert_eq!(filled(&program, "$OMP_NUM_THREADS"), ExpandedText::AtStart);
        program.modules = Some(vec!["solver/1".into()]);
        assert_eq!(filled(&program, "$OWN"), known("/own"));
        for text in ["$CARGO_MANIFEST_DIR", "$NO_SUCH_VARIABLE/x", "$MORE"] {
            assert_eq!(filled(&program, text), ExpandedText::AtStart, "{text}");
        }
    }
}
