//! The files that the instances of a domain leave on a machine that does not see the run directory: all files
//! below the directories of the instances, except copies of inputs to which no instance has written.

use ligament_catalogue::said;
use ligament_launch::staging::CopyStamp;
use ligament_wire::InstanceId;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// A file that an instance left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LeftoverFile {
    pub instance: InstanceId,
    /// Path below the directory of the instance's process.
    pub name: String,
    pub path: PathBuf,
    pub bytes: u64,
}

/// Returns the files below the directory of an instance's process, and the errors of files that could not be
/// read. `inputs` has the copies of the run's inputs in this domain. Unchanged copies are left out, because the
/// run directory has these files already.
pub(super) fn left_by(
    instance: InstanceId,
    home: &Path,
    inputs: &HashSet<CopyStamp>,
) -> (Vec<LeftoverFile>, Vec<String>) {
    let (mut left, mut lost) = (Vec::new(), Vec::new());
    let mut below = vec![PathBuf::new()];
    while let Some(directory) = below.pop() {
        let place = home.join(&directory);
        let entries = match std::fs::read_dir(&place) {
            Ok(entries) => entries,
            Err(error) => {
                lost.push(format!("{}: {error}", place.display()));
                continue;
            }
        };
        for entry in entries.flatten() {
            let name = directory.join(entry.file_name());
            // Links and pipes have no meaning on another machine, so they are left out.
            let Some(found) = entry.metadata().ok().filter(|found| found.is_dir() || found.is_file()) else {
                continue;
            };
            if found.is_dir() {
                below.push(name);
            } else if !inputs.contains(&CopyStamp::of(&found)) {
                match name.to_str() {
                    Some(name) => {
                        let (name, path) = (name.to_owned(), entry.path());
                        left.push(LeftoverFile { instance, name, path, bytes: found.len() });
                    }
                    None => {
                        lost.push(said!(FILE_LEFT_BEHIND, "{}: its name is not UTF-8", entry.path().display()))
                    }
                }
            }
        }
    }
    (left, lost)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ligament_launch::staging::copy_for_process;

    #[test]
    fn everything_is_left_but_links_and_inputs_that_nobody_has_replaced_or_written_to() {
        let top = std::env::temp_dir().join(format!("ligament-left-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&top);
        let (home, store) = (top.join("home"), top.join("inputs"));
        std::fs::create_dir_all(home.join("workdir/deep")).unwrap();
        std::fs::create_dir_all(store.join("data")).unwrap();
        let inputs = ["data/mesh", "table", "restart"].map(|name| {
            std::fs::write(store.join(name), name).unwrap();
            copy_for_process(&store.join(name), &home.join("workdir").join(name), name.len() as u64, 0o444)
                .unwrap()
        });
        std::fs::remove_file(home.join("workdir/table")).unwrap();
        std::fs::write(home.join("workdir/table"), "one of its own").unwrap();
        std::fs::write(home.join("workdir/restart"), "RESTART").unwrap();
        std::fs::write(home.join("workdir/deep/result"), "42").unwrap();
        std::fs::write(home.join("output.log"), "said\n").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", home.join("link")).unwrap();
        let (mut left, lost) = left_by(InstanceId::new(7), &home, &inputs.into());
        left.sort_by(|a, b| a.name.cmp(&b.name));
        let told: Vec<_> =
            left.iter().map(|one| (one.instance.number(), one.name.as_str(), one.bytes)).collect();
        let wanted = [
            (7, "output.log", 5),
            (7, "workdir/deep/result", 2),
            (7, "workdir/restart", 7),
            (7, "workdir/table", 14),
        ];
        assert_eq!(told, wanted);
        assert!(lost.is_empty());
        std::fs::remove_dir_all(&top).unwrap();
    }
}
