//! `ligament convert`: makes a yMMSL model file from a model in xMML, from a cxa file of MUSCLE 2, or, with the
//! help of `precice`, from a configuration of preCICE.

use crate::arguments::print;
use crate::check::count;
use crate::precice::{self, PreciceOptions};
use ligament_catalogue::{fault, Fault};
use ligament_cxa::CxaHost;
use ligament_model::Problem;
use ligament_runtime::shown;
use std::path::{Path, PathBuf};

/// Maximum size of a model file in another language, in bytes.
const MAX_FILE_BYTES: u64 = 64 << 20;

#[derive(Debug, clap::Args)]
pub(crate) struct Convert {
    /// The model: in xMML, a cxa file of MUSCLE 2 (its name ends in .cxa.rb), or a precice-config.xml.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    #[command(flatten)]
    pub precice: PreciceOptions,
    /// Write it into this file.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print what is wrong, and the model as a text, as JSON.
    #[arg(long)]
    pub json: bool,
}

/// A model file, with the warnings of its conversion.
pub(crate) struct Converted {
    pub text: String,
    pub warnings: Vec<Problem>,
}

/// Converts a model.
pub(crate) fn convert(arguments: &Convert) -> i32 {
    match read_text(&arguments.file).and_then(|text| converted(&text, arguments)) {
        Ok(Ok(converted)) => match told(arguments, &converted) {
            Ok(text) => {
                print(&text);
                crate::DONE
            }
            Err(error) => crate::fail(arguments.json, &error, crate::BAD_USE),
        },
        Ok(Err(problems)) => {
            if arguments.json {
                print(&format!("{}\n", serde_json::json!({ "ok": false, "problems": problems })));
            } else {
                ligament_runtime::say_lines(&in_lines(&problems));
                let errors = problems.iter().filter(|problem| problem.is_error()).count();
                ligament_runtime::say(&format!("{}; the model is not converted", count(errors, "error")));
            }
            crate::BAD_USE
        }
        Err(error) => crate::fail(arguments.json, &error, crate::BAD_USE),
    }
}

/// Returns the model, or the problems of the file.
///
/// # Errors
/// Fails if the options do not go with the file, or if the converter for preCICE cannot be run.
fn converted(text: &str, arguments: &Convert) -> Result<Result<Converted, Vec<Problem>>, Fault> {
    let file = &arguments.file;
    if ligament_cxa::is_cxa(file) {
        arguments.precice.refuse_for(file)?;
        Ok(converted_cxa(text, file))
    } else if precice::is_configuration(text) {
        precice::convert(file, &arguments.precice)
    } else {
        arguments.precice.refuse_for(file)?;
        let made = ligament_xmml::convert(text, &file.display().to_string());
        Ok(made.map(|made| Converted { text: made.text, warnings: made.warnings }))
    }
}

/// Converts the text of a cxa file, with the environment of this process.
pub(crate) fn converted_cxa(text: &str, path: &Path) -> Result<Converted, Vec<Problem>> {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let folder = whole.parent().map(|folder| folder.display().to_string()).unwrap_or_default();
    let host = CxaHost { environment: &|name| std::env::var(name).ok(), folder: &folder };
    let made = ligament_cxa::convert(text, &path.display().to_string(), &host)?;
    Ok(Converted { text: made.text, warnings: made.warnings })
}

/// Returns the text of a model in another language than yMMSL.
pub(crate) fn read_text(path: &Path) -> Result<String, Fault> {
    let wrong = |error: std::io::Error| fault!(CANNOT_READ_FILE, "{} cannot be read: {error}", path.display());
    let length = std::fs::metadata(path).map_err(wrong)?.len();
    if length > MAX_FILE_BYTES {
        return Err(fault!(
            FILE_TOO_LARGE,
            "{} has {length} bytes, and {MAX_FILE_BYTES} are the most",
            path.display()
        ));
    }
    ligament_model::read_text(path).map_err(wrong)
}

pub(crate) fn in_lines(problems: &[Problem]) -> String {
    problems.iter().map(|problem| format!("{problem} [{}]\n", problem.code)).collect()
}

fn told(arguments: &Convert, converted: &Converted) -> Result<String, Fault> {
    if let Some(path) = &arguments.output {
        crate::picture::spare([arguments.file.as_path()], path)?;
        crate::picture::write_file(path, |out| out.write_all(converted.text.as_bytes()))?;
    }
    if arguments.json {
        let json = serde_json::json!({ "ok": true, "model": converted.text, "problems": converted.warnings });
        return Ok(format!("{json}\n"));
    }
    ligament_runtime::say_lines(&in_lines(&converted.warnings));
    Ok(match &arguments.output {
        Some(path) => format!("{}\n", shown(path)),
        None => converted.text.clone(),
    })
}
