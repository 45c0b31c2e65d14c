//! Converter from xMML 0.4 to model files. xMML is the XML form of the Multiscale Modelling Language (Borgdorff
//! et al., eScience 2011, doi:10.1109/eScienceW.2011.9). `read` reads an xMML file and finds its mistakes.
//! `write` writes yMMSL. `docs/guides/from-xmml.md` lists each element of xMML with its counterpart in yMMSL.

mod limits;
mod read;
mod scales;
mod write;

pub use read::{
    Apply, Coupling, Definition, DefinitionKind, FilterDefinition, Implementation, PortDefinition,
    XmmlInstance, XmmlModel,
};
pub use scales::{Direction, XmmlScales};

use ligament_model::Problem;

/// A model that was converted from xMML to yMMSL, with the warnings of the conversion.
#[derive(Debug, Clone)]
pub struct ConvertedModel {
    pub text: String,
    pub warnings: Vec<Problem>,
    /// Name and language of each program whose language the xMML file gives. Example: `("macro", "Fortran")`.
    pub languages: Vec<(String, String)>,
}

/// Converts the text of an xMML file to yMMSL. Messages call the file `file`.
///
/// # Errors
/// Returns all mistakes, sorted by their place in the file. If the text is not valid XML, returns only the
/// first mistake.
pub fn convert(text: &str, file: &str) -> Result<ConvertedModel, Vec<Problem>> {
    let (model, mut problems) = read::read(text, file)?;
    let text = write::write(&model, &mut problems);
    problems.sort_by_key(|problem| (problem.line, problem.column));
    if problems.iter().any(Problem::is_error) {
        Err(problems)
    } else {
        Ok(ConvertedModel { text, warnings: problems, languages: write::languages(&model) })
    }
}
