//! Models in xMML 0.4, the XML form of the Multiscale Modelling Language (Borgdorff et al., eScience 2011,
//! doi:10.1109/eScienceW.2011.9), made into model files. `read` reads the file and finds what is wrong with it;
//! `write` writes yMMSL. `docs/guides/from-xmml.md` says what becomes of what.

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

/// A model in yMMSL, and what is worth knowing of how it was made.
#[derive(Debug, Clone)]
pub struct ConvertedModel {
    pub text: String,
    pub warnings: Vec<Problem>,
    /// The programs of which the file says the language, and that.
    pub languages: Vec<(String, String)>,
}

/// Makes a model file of xMML; `file` is its name for messages.
///
/// # Errors
/// All that is wrong with it, in the order of the file; of what is no XML, the first mistake.
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
