//! Converter from the cxa files of MUSCLE 2 to model files. A cxa file is a Ruby program. This crate reads the
//! forms of Ruby that such files use, and runs no Ruby: `tokens`, `parser` and `expression` read the text,
//! `evaluate` and its neighbours compute it within limits, `model` has the rules of MUSCLE 2, and `write`
//! writes yMMSL. The page on MUSCLE 2 in `docs/` lists each form with its counterpart.

mod arithmetic;
mod calls;
mod evaluate;
mod expression;
mod filters;
mod instances;
mod methods;
mod model;
mod parser;
mod place;
mod programs;
mod syntax;
mod tokens;
mod value;
mod write;

pub use evaluate::CxaHost;

use ligament_model::Problem;
use place::SyntaxFault;
use std::path::Path;
use std::sync::Arc;

/// Maximum size of a cxa file, in bytes.
pub const MAX_BYTES: usize = 1 << 20;

/// A model that was converted from a cxa file to yMMSL, with the warnings of the conversion.
#[derive(Debug, Clone)]
pub struct ConvertedCxa {
    pub text: String,
    pub warnings: Vec<Problem>,
}

/// Returns true if the name of a file is that of a cxa file.
pub fn is_cxa(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    name.ends_with(".cxa.rb") || name.ends_with(".cxa")
}

/// Converts the text of a cxa file to yMMSL. Messages call the file `file`.
///
/// # Errors
/// Returns all mistakes, and all forms that are not read, sorted by their place in the file.
pub fn convert(text: &str, file: &str, host: &CxaHost) -> Result<ConvertedCxa, Vec<Problem>> {
    let name: Arc<str> = file.into();
    let errors = |mut faults: Vec<SyntaxFault>| {
        faults.sort_by_key(|fault| (fault.place.line, fault.place.column));
        faults.iter().map(|fault| fault.error(&name)).collect::<Vec<Problem>>()
    };
    let begin = place::TextPosition { line: 1, column: 1 };
    if text.len() > MAX_BYTES {
        let what = format!("the file has {} bytes, and {MAX_BYTES} are the most", text.len());
        return Err(errors(vec![begin.fault(what, "name a cxa file of MUSCLE 2")]));
    }
    let nodes = parser::parse(text).map_err(errors)?;
    let mut evaluation = evaluate::Evaluation::of(&nodes, host, file.rsplit('/').next().unwrap_or(file));
    if evaluation.problems.is_empty() && evaluation.model.instances.is_empty() {
        let fault = begin.fault("the file makes no instance", "name a cxa file of MUSCLE 2");
        evaluation.problems.push(fault);
    }
    if !evaluation.problems.is_empty() {
        return Err(errors(evaluation.problems));
    }
    evaluation.model.share_program_settings();
    let mut model = model_name(file);
    // A program has the name of its instance, and no program has the name of a model.
    while evaluation.model.instances.iter().any(|instance| instance.name.replace('-', "_") == model) {
        model.insert_str(0, "model_");
    }
    let written = write::write(&mut evaluation.model, &evaluation.heap, &model).map_err(errors)?;
    let mut warnings = evaluation.model.warnings;
    warnings.sort_by_key(|fault| (fault.place.line, fault.place.column));
    let warnings = warnings.iter().map(|fault| fault.warning(&name)).collect();
    Ok(ConvertedCxa { text: written, warnings })
}

/// Returns the name of the model: that of the file, as far as a model may have it.
fn model_name(file: &str) -> String {
    let name = file.rsplit('/').next().unwrap_or_default().split('.').next().unwrap_or_default();
    let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    match write::name_objection(&name) {
        None => name,
        Some(_) => format!("model_{name}"),
    }
}
