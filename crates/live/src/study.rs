//! The studies of a run: their progress and their latest answers, which each study writes into its working
//! directory.

use crate::history::plain_file;
use ligament_ensemble::{AnswerEntry, ProgressRecord, ANSWERS, MAX_PROGRESS_BYTES, PROGRESS};
use ligament_manager::{workdir_in, RunDirectory};
use serde::Serialize;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Length of the end of the file of answers that is read, in bytes.
const ANSWERS_TAIL_BYTES: u64 = 256 << 10;
/// Maximum number of studies that are shown.
const MAX_STUDIES: usize = 8;
/// Maximum number of answers that are shown for a study.
const MAX_ANSWERS: usize = 200;
/// Maximum number of elements that are shown for an answer.
const MAX_ELEMENTS: usize = 4;

/// A study of the run.
#[derive(Debug, Serialize)]
pub struct StudyView {
    /// The instance that runs the study.
    pub instance: String,
    pub state: ProgressRecord,
    /// The latest answers, the oldest first.
    pub answers: Vec<AnswerEntry>,
}

/// Returns the studies of a run, in the order of their names. Studies at other sites are missing while the run
/// goes on, because their files come to this machine only at the end of the run.
pub fn studies_of(run: &RunDirectory) -> Vec<StudyView> {
    let entries = std::fs::read_dir(run.instances()).into_iter().flatten().flatten();
    let views = entries.filter_map(|entry| {
        let workdir = workdir_in(&entry.path());
        let state = state_in(&workdir)?;
        let instance = entry.file_name().to_string_lossy().into_owned();
        Some(StudyView { instance, state, answers: answers_in(&workdir).unwrap_or_default() })
    });
    let mut views: Vec<StudyView> = views.take(MAX_STUDIES).collect();
    views.sort_by(|one, other| one.instance.cmp(&other.instance));
    views
}

/// Reads the state from the file. The file's age is subtracted from the remaining time.
fn state_in(workdir: &Path) -> Option<ProgressRecord> {
    let file = plain_file(&workdir.join(PROGRESS)).ok()?;
    let age = file.metadata().ok()?.modified().ok()?.elapsed().unwrap_or_default().as_secs_f64();
    let mut bytes = Vec::new();
    file.take(MAX_PROGRESS_BYTES).read_to_end(&mut bytes).ok()?;
    let mut state = ProgressRecord::read(&bytes)?;
    state.remains = state.remains.map(|remains| remains - age).filter(|&remains| remains > 0.0);
    Some(state)
}

fn answers_in(workdir: &Path) -> std::io::Result<Vec<AnswerEntry>> {
    let mut file = plain_file(&workdir.join(ANSWERS))?;
    let from = file.metadata()?.len().saturating_sub(ANSWERS_TAIL_BYTES);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(ANSWERS_TAIL_BYTES).read_to_end(&mut bytes)?;
    // The first line may be cut, and the last one may still be being written. Neither can be parsed then,
    // and both are skipped.
    let text = String::from_utf8_lossy(&bytes);
    let mut answers: Vec<AnswerEntry> =
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    answers.drain(..answers.len().saturating_sub(MAX_ANSWERS));
    for answer in &mut answers {
        answer.values.truncate(MAX_ELEMENTS);
    }
    Ok(answers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_study_is_shown_as_its_files_have_it_and_other_files_are_none() {
        let place = std::env::temp_dir().join(format!("ligament-study-{}", std::process::id()));
        for name in ["study", "other", "pipe"] {
            fs::create_dir_all(place.join("instances").join(name).join("workdir")).unwrap();
        }
        let run = RunDirectory::open(&place);
        let in_workdir = |name: &str, file: &str| run.workdir(name).join(file);
        fs::write(in_workdir("other", PROGRESS), r#"{"progress": 3}"#).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            in_workdir("pipe", PROGRESS),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RWXU,
            0,
        )
        .unwrap();
        let state = r#"{"format": "ligament-study-1", "evaluations": 9, "answered": 3, "failed": 1,
            "instances": 2, "instances_left": 1, "remains": 100.0, "parameters": ["rate"], "failures":
            [{"evaluation": 1, "settings": "rate = 0.1", "why": "it ended"}]}"#;
        fs::write(in_workdir("study", PROGRESS), state).unwrap();
        let answer = |at: usize| {
            format!("{{\"evaluation\":{at},\"point\":[\"0.5\"],\"shape\":[9],\"values\":[1,2,3,4,5]}}\n")
        };
        let lines: String = (0..300).map(answer).collect();
        fs::write(in_workdir("study", ANSWERS), format!("valu\n{lines}{}", &answer(300)[..20])).unwrap();
        let hour = std::time::Duration::from_secs(3600);
        let found = studies_of(&run);
        assert_eq!(found.len(), 1);
        assert!(found[0].state.remains.is_some_and(|remains| remains > 0.0 && remains <= 100.0));
        // A forecast whose time has passed is not shown.
        let file = fs::File::options().write(true).open(in_workdir("study", PROGRESS)).unwrap();
        file.set_modified(std::time::SystemTime::now() - hour).unwrap();
        assert_eq!(studies_of(&run)[0].state.remains, None);
        assert_eq!((found[0].state.answered, found[0].state.failures[0].evaluation), (3, 1));
        assert_eq!((found[0].answers.len(), found[0].answers[199].evaluation), (200, 299));
        assert_eq!(found[0].answers[0].values, [1.0, 2.0, 3.0, 4.0]);
        fs::remove_dir_all(&place).unwrap();
    }
}
