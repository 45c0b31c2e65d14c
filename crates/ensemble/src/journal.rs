//! The answers of a study, as one JSON object per line. Each answer is written when it arrives, so that
//! another run can continue the study. Each line names the point of its evaluation, so that an answer is
//! never used for another point.

use crate::sampler::{text_of, SamplingPlan};
use ligament_catalogue::{fault, Fault};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Name of the journal in the study's working directory.
pub const ANSWERS: &str = "answers.jsonl";

/// Name of the setting with the path of an earlier run, or of its journal.
pub(crate) const CONTINUE: &str = "continue";

/// One answer: numbers in row-major order, and their shape (`[]` for a single number).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerEntry {
    pub evaluation: usize,
    /// Values of the parameters, as a table of points has them.
    pub point: Vec<String>,
    pub shape: Vec<u64>,
    pub values: Vec<f64>,
}

impl AnswerEntry {
    /// Makes an entry. Returns `None` if a value is not finite: JSON has no such numbers, and the
    /// evaluation counts as failed.
    pub(crate) fn new(
        plan: &SamplingPlan,
        evaluation: usize,
        shape: &[u64],
        values: &[f64],
    ) -> Option<AnswerEntry> {
        values.iter().all(|value| value.is_finite()).then(|| AnswerEntry {
            evaluation,
            point: point_of(plan, evaluation),
            shape: shape.to_vec(),
            values: values.to_vec(),
        })
    }
}

fn point_of(plan: &SamplingPlan, evaluation: usize) -> Vec<String> {
    plan.points[evaluation].iter().map(text_of).collect()
}

/// The journal that this run writes.
#[derive(Debug)]
pub(crate) struct Journal {
    /// The file. `None` once a line could not be written.
    file: Option<File>,
}

impl Journal {
    /// Creates the journal in the working directory.
    ///
    /// # Errors
    /// Fails if the file cannot be made.
    pub fn create() -> Result<Journal, Fault> {
        let file = File::create(ANSWERS).map_err(|error| unwritable(&error))?;
        Ok(Journal { file: Some(file) })
    }

    /// Adds an answer. After an error the journal takes no more answers, because the file may end in a part of
    /// a line.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn add(&mut self, entry: &AnswerEntry) -> Result<(), Fault> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let line = serde_json::to_string(entry).map(|line| line + "\n").map_err(std::io::Error::from);
        line.and_then(|line| file.write_all(line.as_bytes())).map_err(|error| {
            self.file = None;
            unwritable(&error)
        })
    }
}

fn unwritable(error: &std::io::Error) -> Fault {
    fault!(BAD_STUDY, "{ANSWERS} cannot be written: {error}; the study cannot be continued from here")
}

/// Returns the path of the journal of the instance `name`. `place` is a run directory, or the journal
/// itself.
fn file_of(place: &Path, name: &str) -> PathBuf {
    if place.is_dir() {
        place.join("instances").join(name).join("workdir").join(ANSWERS)
    } else {
        place.to_path_buf()
    }
}

/// Reads the answers of an earlier run for the points of this plan, in the order of the file. A last line
/// without a line end is ignored, because the run was killed while it wrote the line.
///
/// # Errors
/// Fails if the file cannot be read, if a line is damaged, or if the earlier study had other points.
pub(crate) fn read(place: &str, name: &str, plan: &SamplingPlan) -> Result<Vec<AnswerEntry>, Fault> {
    let file = file_of(Path::new(place), name);
    let shown = file.display();
    let text = std::fs::read_to_string(&file).map_err(|error| {
        fault!(BAD_STUDY, "the answers of the earlier study cannot be read: {shown}: {error}")
    })?;
    let mut seen = vec![false; plan.points.len()];
    let mut entries = Vec::new();
    for (at, line) in text.split_inclusive('\n').enumerate() {
        let Some(line) = line.strip_suffix('\n') else { break };
        let at = at + 1;
        let entry: AnswerEntry = serde_json::from_str(line)
            .map_err(|error| fault!(BAD_STUDY, "{shown}:{at}: this is no answer of a study: {error}"))?;
        let number = entry.evaluation;
        if number >= plan.points.len() || entry.point != point_of(plan, number) {
            let here = if number < plan.points.len() { plan.describe(number) } else { "none".to_owned() };
            return Err(fault!(
                BAD_STUDY,
                "{shown}:{at}: the earlier study had another point as evaluation {number} ({}, here {here}); a \
                 study is continued with the sampler, parameters, seed and number of evaluations that it began \
                 with",
                entry.point.join(", ")
            ));
        }
        let elements = entry.shape.iter().try_fold(1u64, |all, &extent| all.checked_mul(extent));
        if elements != Some(entry.values.len() as u64) || std::mem::replace(&mut seen[number], true) {
            return Err(fault!(
                BAD_STUDY,
                "{shown}:{at}: the answer of evaluation {number} is damaged, or there for the second time"
            ));
        }
        entries.push(entry);
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ligament_wire::SettingValue;

    fn plan() -> SamplingPlan {
        let points = [0.1, 0.2, 0.3].map(|rate| vec![SettingValue::Float(rate)]).to_vec();
        SamplingPlan { names: vec!["rate".into()], points }
    }

    fn read_text(name: &str, text: &str) -> Result<Vec<AnswerEntry>, Fault> {
        let file = std::env::temp_dir().join(format!("ligament-answers-{}-{name}", std::process::id()));
        std::fs::write(&file, text).unwrap();
        let result = read(file.to_str().unwrap(), "study", &plan());
        std::fs::remove_file(&file).unwrap();
        result
    }

    fn line(evaluation: usize, values: &[f64]) -> String {
        let entry = AnswerEntry::new(&plan(), evaluation, &[values.len() as u64], values).unwrap();
        serde_json::to_string(&entry).unwrap() + "\n"
    }

    #[test]
    fn answers_come_back_bit_by_bit_and_a_torn_last_line_is_left_out() {
        let values = [0.1 + 0.2, f64::MIN_POSITIVE / 3.0, -0.0, 1.7e308, 1e22];
        let torn = &line(1, &values)[..30];
        let entries = read_text("torn", &(line(2, &values) + torn)).unwrap();
        assert_eq!(entries.len(), 1);
        let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        assert_eq!((entries[0].evaluation, bits(&entries[0].values)), (2, bits(&values)));
    }

    #[test]
    fn answers_of_another_study_and_damaged_ones_are_refused_with_their_line() {
        let good = line(0, &[1.0]);
        for (name, text, expected) in [
            ("point", good.replace("0.1", "0.5"), ":1: the earlier study had another point"),
            ("number", good.clone() + &good.replace(":0,", ":7,"), ":2: the earlier study had another point"),
            ("twice", good.clone() + &good, ":2: the answer of evaluation 0 is damaged"),
            ("shape", good.replace("[1]", "[2]"), ":1: the answer of evaluation 0 is damaged"),
            ("text", good.clone() + "what\n", ":2: this is no answer of a study"),
        ] {
            let error = read_text(name, &text).unwrap_err();
            assert!(error.contains(expected), "{name}: {error}");
        }
    }

    #[test]
    fn what_is_not_finite_is_no_answer() {
        assert_eq!(AnswerEntry::new(&plan(), 0, &[], &[f64::NAN]), None);
    }
}
