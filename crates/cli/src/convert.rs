//! `ligament convert`: makes a yMMSL model file from a model in xMML.

use crate::arguments::print;
use crate::check::count;
use ligament_catalogue::{fault, Fault};
use ligament_model::Problem;
use ligament_runtime::shown;
use ligament_xmml::ConvertedModel;
use std::path::{Path, PathBuf};

/// Maximum size of a model file in xMML, in bytes.
const MAX_FILE_BYTES: u64 = 64 << 20;

#[derive(Debug, clap::Args)]
pub(crate) struct Convert {
    /// The model in xMML.
    #[arg(value_name = "FILE.xmml")]
    pub file: PathBuf,
    /// Write it into this file.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print what is wrong, and the model as a text, as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Converts a model.
pub(crate) fn convert(arguments: &Convert) -> i32 {
    let done = read_xmml(&arguments.file)
        .map(|text| ligament_xmml::convert(&text, &arguments.file.display().to_string()));
    match done {
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

/// Returns the text of an xMML file.
pub(crate) fn read_xmml(path: &Path) -> Result<String, Fault> {
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

fn told(arguments: &Convert, converted: &ConvertedModel) -> Result<String, Fault> {
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
