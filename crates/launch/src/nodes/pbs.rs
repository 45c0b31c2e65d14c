//! The file that `$PBS_NODEFILE` names: one line for each process that the job asked for. The code follows the
//! documentation ("PBS Professional User's Guide", The Job's Node File).

use super::{counted, ComputeNode};
use ligament_catalogue::{fault, Fault};
use std::path::Path;

pub(super) fn nodes(file: &Path) -> Result<Vec<ComputeNode>, Fault> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        fault!(
            ALLOCATION_NOT_UNDERSTOOD,
            "PBS_NODEFILE, {}, cannot be read: {error}; is this the job's first node?",
            file.display()
        )
    })?;
    let counts = counted(text.lines().map(str::trim).filter(|line| !line.is_empty()));
    if counts.is_empty() {
        return Err(fault!(
            ALLOCATION_NOT_UNDERSTOOD,
            "PBS_NODEFILE, {}, names no node; is it as PBS has written it?",
            file.display()
        ));
    }
    // If each node is listed once, `select=n:ncpus=m` was requested, and the file does not show the cores.
    let told = counts.iter().any(|(_, count)| *count > 1);
    Ok(counts.into_iter().map(|(name, count)| ComputeNode::new(name, told.then_some(count))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, text: &str) -> Result<Vec<ComputeNode>, Fault> {
        let path = std::env::temp_dir().join(format!("ligament-pbs-{}-{name}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        let nodes = nodes(&path);
        std::fs::remove_file(&path).unwrap();
        nodes
    }

    #[test]
    fn a_node_has_as_many_cores_as_lines() {
        assert_eq!(
            of("lines", "b\na\nb\n\nb\n").unwrap(),
            [ComputeNode::new("b", 3), ComputeNode::new("a", 1)]
        );
    }

    #[test]
    fn where_each_node_stands_once_its_cores_are_not_known() {
        assert_eq!(of("once", "a\nb\n").unwrap(), [ComputeNode::new("a", None), ComputeNode::new("b", None)]);
    }

    #[test]
    fn an_empty_or_missing_file_is_an_error_that_names_it() {
        assert!(of("empty", "\n").unwrap_err().contains("names no node"));
        assert!(nodes(Path::new("/nowhere/nodes")).unwrap_err().contains("/nowhere/nodes"));
    }
}
