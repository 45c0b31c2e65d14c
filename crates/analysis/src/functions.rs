//! A check of the Python functions that shipped components call. The file must exist, and must contain the
//! function's name. The check never runs the file. All other faults of a function appear only in a run.

use crate::executables::similar;
use ligament_catalogue::Code;
use ligament_model::{
    nearest, Configuration, FlatComponent, FlatModel, Identifier, Problem, Reference, ReferencePart,
    SettingValue,
};
use std::collections::HashSet;
use std::io::Read;
use std::path::Path;

/// Name of the setting that names a function.
const SETTING: &str = "function";
/// Endings of files that Python imports. Only files with the first ending contain source text.
const ENDINGS: [&str; 3] = ["py", "pyc", "so"];
/// Maximum size of a source file that is read, in bytes.
const MAX_SOURCE_BYTES: u64 = 1 << 20;
/// Words in a source file that show that the file may define names dynamically. No name is reported as missing
/// from such a file.
const DYNAMIC: [&str; 7] = ["globals", "locals", "vars", "exec", "setattr", "__dict__", "__getattr__"];

/// `model_file` is the first file of the model. Paths are relative to its directory.
pub(crate) fn check(
    config: &Configuration,
    flat: &FlatModel,
    model_file: Option<&str>,
    problems: &mut Vec<Problem>,
) {
    // A model that a script has made has no file, so no directory is known.
    let Some(directory) = model_file.map(Path::new).and_then(Path::parent) else { return };
    let staged: HashSet<&str> =
        config.ligament.stage.values().flatten().map(|input| input.name.as_str()).collect();
    let Ok(setting) = Identifier::new(SETTING) else { return };
    let mut seen = HashSet::new();
    for component in &flat.components {
        let program = component.implementation.as_ref().and_then(|name| config.programs.get(name));
        let calls = program
            .and_then(|program| program.shipped())
            .is_some_and(|shipped| shipped.in_python && shipped.settings.iter().any(|one| one.name == SETTING));
        if !calls {
            continue;
        }
        for (whole, text) in named_for(config, component, &setting) {
            if !seen.insert(whole) {
                continue;
            }
            if let Some((message, advice)) = wrong(text, directory, &staged) {
                let at = config.settings.at(whole).cloned().unwrap_or_default();
                let message = format!("\"{whole}\" is \"{text}\", {message}");
                problems.push(Problem::error(Code::MISSING_FUNCTION, &at, message, advice));
            }
        }
    }
}

/// Returns the functions that the settings name for a component, and for single instances of the component.
fn named_for<'a>(
    config: &'a Configuration,
    component: &FlatComponent,
    setting: &Identifier,
) -> Vec<(&'a Reference, &'a str)> {
    let path = component.name.parts();
    let of_instances = config.settings.iter().filter(|(whole, _)| match whole.parts().split_last() {
        Some((ReferencePart::Name(last), prefix)) => {
            last == setting && prefix.len() > path.len() && prefix.starts_with(path)
        }
        _ => false,
    });
    let of_all = config.settings.get(&component.name, &Reference::from(setting.clone()));
    let texts = of_all.into_iter().chain(of_instances).filter_map(|(whole, value)| match value {
        SettingValue::Str(text) => Some((whole, &**text)),
        _ => None,
    });
    texts.collect()
}

/// Returns the problem of a function and advice. The problem continues a sentence that begins with the
/// function's name.
fn wrong(text: &str, directory: &Path, staged: &HashSet<&str>) -> Option<(String, String)> {
    let is_name = |part: &str| !part.is_empty() && part.chars().all(is_of_name);
    let Some((file, name)) =
        text.rsplit_once(':').filter(|(file, name)| !file.is_empty() && name.split('.').all(is_name))
    else {
        let advice = "write the file and the function: \"file.py:function\"";
        return Some(("which names no function".to_owned(), advice.to_owned()));
    };
    let ending = Path::new(file).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    if !ENDINGS.contains(&ending) {
        let message = "which is no file of Python's: its name does not end in .py".to_owned();
        return Some((message, "name a file of Python's".to_owned()));
    }
    // If a directory is staged, all files in it are staged.
    let plain = Path::new(file.trim_start_matches("./"));
    if staged.iter().any(|name| plain.starts_with(name)) {
        return None;
    }
    let path = directory.join(file);
    if !path.is_file() {
        return Some((format!("and there is no file {}", path.display()), file_advice(&path, file)));
    }
    let text = (ending == ENDINGS[0]).then(|| read(&path)).flatten()?;
    // The part after a dot may be inherited or imported, so only the first part is searched in the file.
    let missing = name.split('.').next().filter(|part| !may_define(&text, part))?;
    let advice = match nearest(missing, defined(&text)) {
        Some(meant) => format!("did you mean \"{meant}\"?"),
        None => "define it there, or correct the name".to_owned(),
    };
    Some((format!("and {} defines no \"{missing}\"", path.display()), advice))
}

fn file_advice(path: &Path, written: &str) -> String {
    let is_python = |other: &Path| other.extension().is_some_and(|ending| ending == ENDINGS[0]);
    match similar(path, is_python) {
        Some(like) => format!("did you mean \"{}\"?", Path::new(written).with_file_name(like).display()),
        None => "put it there, or correct the path, which is relative to the model file".to_owned(),
    }
}

/// Returns the text of a file, or `None` if the file is too long or not text.
fn read(path: &Path) -> Option<String> {
    let mut text = String::new();
    let read = std::fs::File::open(path).ok()?.take(MAX_SOURCE_BYTES).read_to_string(&mut text).ok()?;
    ((read as u64) < MAX_SOURCE_BYTES).then_some(text)
}

fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Returns false only if a file's text lacks a name, and has no sign of names that are made dynamically.
fn may_define(text: &str, name: &str) -> bool {
    let is_dynamic = |word: &str| DYNAMIC.contains(&word);
    let lines = || text.lines().map(str::trim_start).filter(|line| !line.starts_with('#'));
    // Python treats some different letters as the same, so a name that is not ASCII is not checked.
    !name.is_ascii()
        || lines().any(|line| line.starts_with("from ") && line.contains('*'))
        || lines().any(|line| line.split(|c| !is_of_name(c)).any(|word| word == name || is_dynamic(word)))
}

/// Returns the names of the functions and classes of a file.
fn defined(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let line = line.strip_prefix("async ").unwrap_or(line);
        let rest = line.strip_prefix("def ").or_else(|| line.strip_prefix("class "))?;
        rest.split(|c| !is_of_name(c)).next().filter(|name| !name.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_may_be_there_is_not_missed() {
        for text in [
            "def rain():\n    pass",
            "class rain: pass",
            "rain = make()",
            "if True:\n    from weather import hail as rain",
            "rain, hail = 1, 2",
            "from weather import *  # all",
            "globals()['ra' + 'in'] = 1",
            "def __getattr__(name):\n    return name",
        ] {
            assert!(may_define(text, "rain"), "{text}");
        }
        for text in ["", "def rainfall():\n    pass", "# def rain():", "train = 3"] {
            assert!(!may_define(text, "rain"), "{text}");
        }
        let text = "async def hail(): pass\nclass Rain(Base):\n    def own(self): pass\ndef snow():";
        assert_eq!(defined(text).collect::<Vec<_>>(), ["hail", "Rain", "snow"]);
    }
}
