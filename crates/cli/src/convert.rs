//! `ligament convert`: makes a yMMSL model file from a model in xMML, or from a cxa file of MUSCLE 2.

use crate::arguments::print;
use crate::check::count;
use ligament_catalogue::{fault, Fault};
use ligament_cxa::CxaHost;
use ligament_model::Problem;
use ligament_runtime::shown;
use std::path::{Path, PathBuf};

/// Maximum size of a model file in another language, in bytes.
const MAX_FILE_BYTES: u64 = 64 << 20;

#[derive(Debug, clap::Args)]
pub(crate) struct Convert {
    /// The model: in xMML, or a cxa file of MUSCLE 2 (its name ends in .cxa.rb).
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Write it into this file.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print what is wrong, and the model as a text, as JSON.
    #[arg(long)]
    pub json: bool,
}

/// A model file, with the warnings of its conversion.
struct Converted {
    text: String,
    warnings: Vec<Problem>,
}

/// Converts a model.
pub(crate) fn convert(arguments: &Convert) -> i32 {
    match read_text(&arguments.file).map(|text| converted(&text, &arguments.file)) {
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

fn converted(text: &str, path: &Path) -> Result<Converted, Vec<Problem>> {
    let file = path.display().to_string();
    if !ligament_cxa::is_cxa(path) {
        let made = ligament_xmml::convert(text, &file)?;
        return Ok(Converted { text: made.text, warnings: made.warnings });
    }
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let folder = whole.parent().map(|folder| folder.display().to_string()).unwrap_or_default();
    let host = CxaHost { environment: &|name| std::env::var(name).ok(), folder: &folder };
    let made = ligament_cxa::convert(text, &file, &host)?;
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
