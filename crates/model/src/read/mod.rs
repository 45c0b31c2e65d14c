//! Makes a configuration of YAML text. After a problem, reading continues wherever possible, so that all
//! problems are found at once. The result has everything that could be read.

mod exchange;
mod fields;
mod filters;
mod graph;
mod grid;
mod other_file;
mod program;
mod scales;
mod sections;
mod shell_words;

use crate::configuration::{Configuration, Version};
use crate::identity::Reference;
use crate::problem::{nearest, At, Problem, Problems};
use crate::yaml::{self, YamlKind, YamlNode};
pub use fields::{FieldReader, Fields, TextOrList};
use ligament_catalogue::{fault, Code};
pub use other_file::OtherFile;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;

/// The configuration that was read, complete or not, and the problems of the file.
#[derive(Clone, Debug, Default)]
pub struct ReadResult {
    /// The part that could be read.
    pub configuration: Configuration,
    /// The version of the file.
    pub version: Version,
    /// The problems, in the order of the file.
    pub problems: Vec<Problem>,
}

impl ReadResult {
    /// Returns the configuration, unless there are errors.
    pub fn into_result(self) -> Result<Configuration, Problems> {
        if self.problems.iter().any(Problem::is_error) {
            Err(Problems(self.problems))
        } else {
            Ok(self.configuration)
        }
    }
}

const KEYS_V01: &[&str] = &[
    "ymmsl_version",
    "description",
    "model",
    "settings",
    "implementations",
    "resources",
    "checkpoints",
    "resume",
    "ligament",
];

const KEYS_V02: &[&str] = &[
    "ymmsl_version",
    "description",
    "imports",
    "models",
    "custom_implementations",
    "settings",
    "programs",
    "resources",
    "checkpoints",
    "resume",
    "ligament",
];

/// Reads a model from text in yMMSL v0.1 or v0.2. `file` is the name shown with problems.
pub fn read(text: &str, file: &str) -> ReadResult {
    let file: Arc<str> = file.into();
    let mut result = ReadResult::default();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Some(root) = yaml::parse(text, Some(file), &mut result.problems) {
        let mut reader =
            FieldReader { problems: std::mem::take(&mut result.problems), ..FieldReader::default() };
        result.version = reader.document(&root, &mut result.configuration);
        result.problems = reader.problems;
    }
    result.problems.sort_by_key(|p| (p.line, p.column));
    result
}

/// Does the same as `read_whole`, for a file with text.
///
/// # Errors
/// The errors of `read_whole`, and `InvalidData` if the file is not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    let text = String::from_utf8(read_whole(path)?);
    text.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not valid UTF-8 text"))
}

/// Reads a user's file as a whole. Only a regular file is opened: a pipe or a device might never end. No
/// more is read than a model file may have.
///
/// # Errors
/// The file cannot be read; `FileTooLarge` if it is larger than a model file may be.
pub fn read_whole(path: &Path) -> io::Result<Vec<u8>> {
    let found = std::fs::metadata(path)?;
    let kind = found.file_type();
    if !kind.is_file() {
        let what = match kind {
            kind if kind.is_dir() => "a directory",
            kind if kind.is_fifo() => "a pipe",
            kind if kind.is_socket() => "a socket",
            _ => "a device",
        };
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {what}, and no file")));
    }
    let too_large = || {
        let message = format!("it has more than {} MiB", yaml::MAX_BYTES >> 20);
        io::Error::new(io::ErrorKind::FileTooLarge, message)
    };
    if found.len() > yaml::MAX_BYTES as u64 {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(found.len() as usize + 1);
    // The file may grow meanwhile, or have reported no length.
    File::open(path)?.take(yaml::MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > yaml::MAX_BYTES {
        return Err(too_large());
    }
    Ok(bytes)
}

/// Returns advice for a file that cannot be read.
fn unreadable(path: &Path, error: &io::Error) -> String {
    let entries = |directory: &Path| -> Vec<String> {
        let found = std::fs::read_dir(directory).into_iter().flatten().flatten();
        let mut names: Vec<String> = found.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names
    };
    if path.is_dir() {
        let inside = entries(path);
        return match inside.iter().find(|name| name.ends_with(".ymmsl")) {
            Some(model) => format!("name the model file in it, such as {}", path.join(model).display()),
            None => "name the model file in it".to_owned(),
        };
    }
    if error.kind() == io::ErrorKind::NotFound {
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let beside = entries(directory);
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if let Some(meant) = nearest(name, beside.iter().map(String::as_str)) {
            return format!("did you mean \"{}\"?", path.with_file_name(meant).display());
        }
    }
    match error.kind() {
        io::ErrorKind::InvalidInput => "write the model to a file, and name that".to_owned(),
        _ => "check its name and its permissions".to_owned(),
    }
}

/// Reads a model file. If the file cannot be read, that is reported as a problem of the model.
pub fn read_file(path: &Path) -> ReadResult {
    let name = path.display().to_string();
    match read_whole(path) {
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => {
                let result = read(&text, &name);
                let is_wrong = result.problems.iter().any(Problem::is_error);
                let no_model = Some(text.as_bytes()).filter(|_| is_wrong).and_then(|text| no_model(path, text));
                no_model.map_or(result, failed)
            }
            Err(error) if no_model(path, error.as_bytes()).is_some() => {
                no_model(path, error.as_bytes()).map(failed).unwrap_or_default()
            }
            Err(error) => {
                let line = error.as_bytes()[..error.utf8_error().valid_up_to()]
                    .iter()
                    .filter(|b| **b == b'\n')
                    .count();
                let at = At { file: Some(name.into()), line: line as u32 + 1, column: 1 };
                failed(Problem::error(
                    Code::NOT_UTF8,
                    &at,
                    "this line is not valid UTF-8 text",
                    "save the file as UTF-8; make sure that it is a model file",
                ))
            }
        },
        Err(error) => {
            let at = At { file: Some(name.into()), line: 0, column: 0 };
            failed(match error.kind() {
                io::ErrorKind::FileTooLarge => Problem::error(
                    Code::FILE_TOO_LARGE,
                    &at,
                    fault!(RUN_UNREADABLE, "the file cannot be read: {error}"),
                    "split it into several files, or build the model in a script",
                ),
                _ => Problem::error(
                    Code::CANNOT_READ_FILE,
                    &at,
                    fault!(RUN_UNREADABLE, "the file cannot be read: {error}"),
                    unreadable(path, &error),
                ),
            })
        }
    }
}

/// Returns the problem that a file is no model, if the file looks like one of another kind.
fn no_model(path: &Path, bytes: &[u8]) -> Option<Problem> {
    let other = OtherFile::of(path, bytes)?;
    let at = At { file: Some(path.display().to_string().into()), line: 1, column: 1 };
    Some(Problem::error(
        Code::NOT_A_MODEL,
        &at,
        format!("this is no model file: it is {}", other.what),
        other.advice,
    ))
}

fn failed(problem: Problem) -> ReadResult {
    ReadResult { problems: vec![problem], ..ReadResult::default() }
}

/// Returns the place of a key in a mapping.
fn key_at(node: &YamlNode, name: &str) -> Option<At> {
    let YamlKind::Map(pairs) = &node.kind else { return None };
    let key = pairs.iter().find(|(key, _)| yaml::key_text(key).as_deref() == Some(name));
    key.map(|(key, _)| key.at.clone())
}

impl Configuration {
    /// Reads a model from text in yMMSL v0.1 or v0.2. `file` is the name shown with problems. Imports are
    /// not followed; `resolve_imports` does that.
    pub fn from_yaml(text: &str, file: &str) -> Result<Configuration, Problems> {
        read(text, file).into_result()
    }
}

impl FieldReader {
    fn document(&mut self, root: &YamlNode, out: &mut Configuration) -> Version {
        if !matches!(root.kind, YamlKind::Map(_)) {
            let message = match &root.kind {
                YamlKind::Null => "the file is empty".to_owned(),
                _ => format!("a model file is a mapping of keys to values, and this is {}", root.describe()),
            };
            self.error(Code::NOT_A_MODEL, &root.at, message, "begin it with \"ymmsl_version: v0.2\"");
            return Version::default();
        }
        let version = self.version(root);
        let keys = match version {
            Version::V01 => KEYS_V01,
            Version::V02 => KEYS_V02,
        };
        let map = self.mapping(root, "a model file", keys);
        if let Some(node) = map.get("description") {
            out.description = self.text(node, "the description").unwrap_or_default();
        }
        match version {
            Version::V01 => {
                if let Some(node) = map.get("model") {
                    self.model_v01(node, out);
                }
                if let Some(node) = map.get("implementations") {
                    self.programs(node, version, out);
                }
            }
            Version::V02 => {
                if let Some(node) = map.get("imports") {
                    self.imports(node, out);
                }
                if let Some(node) = map.get("models") {
                    self.models_v02(node, out);
                }
                if let Some(node) = map.get("custom_implementations") {
                    self.custom_implementations(node, out);
                }
                if let Some(node) = map.get("programs") {
                    self.programs(node, version, out);
                }
            }
        }
        if let Some(node) = map.get("settings") {
            self.settings(node, out);
        }
        if let Some(node) = map.get("resources") {
            let prefix = match version {
                Version::V01 => out.models.first().map(|(name, _)| name.clone()),
                Version::V02 => None,
            };
            self.resources(node, &prefix.unwrap_or_default(), out);
        }
        if let Some(node) = map.get("checkpoints") {
            self.checkpoints(node, out);
            out.checkpoints.at = key_at(root, "checkpoints").unwrap_or_else(|| node.at.clone());
        }
        if let Some(node) = map.get("resume") {
            self.resume(node, out);
        }
        if let Some(node) = map.get("ligament") {
            self.ligament(node, out);
        }
        version
    }

    fn version(&mut self, root: &YamlNode) -> Version {
        let YamlKind::Map(pairs) = &root.kind else { return Version::default() };
        let key =
            |name: &str| pairs.iter().find(|(k, _)| yaml::key_text(k).as_deref() == Some(name)).map(|(_, v)| v);
        // If the key with the version is missing or wrong, the other keys of the file show the version.
        let guess = if key("model").is_some() || key("implementations").is_some() {
            Version::V01
        } else {
            Version::V02
        };
        let Some(node) = key("ymmsl_version") else {
            let misspelt = pairs
                .iter()
                .filter_map(|(k, _)| yaml::key_text(k))
                .any(|k| nearest(&k, ["ymmsl_version"]).is_some());
            if !misspelt {
                self.error(
                    Code::MISSING_VERSION,
                    &root.at,
                    "the file does not say which version of yMMSL it is written in",
                    format!("add \"ymmsl_version: {}\" as its first line", guess.name()),
                );
            }
            return guess;
        };
        match &node.kind {
            YamlKind::Str(text) if text == "v0.1" => Version::V01,
            YamlKind::Str(text) if text == "v0.2" => Version::V02,
            _ => {
                self.error(
                    Code::UNKNOWN_VERSION,
                    &node.at,
                    format!("the version of yMMSL cannot be {}", node.describe()),
                    "write v0.1 or v0.2",
                );
                guess
            }
        }
    }

    /// Reads a reference without indices, such as the name of an implementation.
    fn plain_reference(&mut self, node: &YamlNode, what: &str) -> Option<Reference> {
        let reference = self.reference(node, what)?;
        if reference.parts().iter().any(|p| matches!(p, crate::ReferencePart::Index(_))) {
            self.error(
                Code::BAD_NAME,
                &node.at,
                format!("{what} \"{reference}\" has an index in square brackets"),
                "remove the index",
            );
            return None;
        }
        Some(reference)
    }
}
