//! The command and the C library of this installation. An environment variable gives the library's path to
//! started programs. A Java virtual machine needs this path: unlike a program that is linked with the
//! library, it does not find the library by itself.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The name of the environment variable with the library's path.
pub(crate) const ENV_LIBRARY: &str = "LIGAMENT_LIBRARY";
/// The name of the library's file, as in `crates/capi/build.rs`.
const LIBRARY_FILE: &str = "libligament.so.0";

static INSTALL_PREFIX: OnceLock<PathBuf> = OnceLock::new();

/// Sets the prefix below which Ligament is installed. It is needed if the prefix does not follow from the path
/// of this process's program, which may be a Python interpreter.
pub fn installed_below(prefix: PathBuf) {
    // Only the first call has an effect. Later calls have the same value.
    let _ = INSTALL_PREFIX.set(prefix);
}

/// Returns the path of the library, if the library exists.
pub(crate) fn library() -> Option<PathBuf> {
    find(INSTALL_PREFIX.get().map(PathBuf::as_path), std::env::current_exe().ok().as_deref())
}

/// Returns the command `ligament` of this installation, for other processes to start. Returns its bare name
/// if it is not found in this installation.
pub fn own_command() -> PathBuf {
    let named = |path: &PathBuf| path.file_name().is_some_and(|name| name == "ligament") && path.is_file();
    let installed = INSTALL_PREFIX.get().map(|prefix| prefix.join("bin/ligament"));
    let called = std::env::args_os().next().map(PathBuf::from).and_then(|path| std::path::absolute(path).ok());
    let own = installed.into_iter().chain(std::env::current_exe().ok()).chain(called).find(named);
    own.unwrap_or_else(|| "ligament".into())
}

/// Returns the library below the prefix, or at its place relative to the program: in `lib` of an
/// installation, or in the same directory of a build tree.
fn find(prefix: Option<&Path>, program: Option<&Path>) -> Option<PathBuf> {
    let folder = program.and_then(Path::parent);
    let installed = folder.filter(|folder| folder.ends_with("bin")).and_then(Path::parent);
    let below = prefix.into_iter().chain(installed).map(|prefix| prefix.join("lib"));
    below
        .chain(folder.map(Path::to_path_buf))
        .map(|folder| folder.join(LIBRARY_FILE))
        .find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_found_below_the_prefix_in_an_installation_and_in_a_build_tree() {
        let root = std::env::temp_dir().join(format!("ligament-library-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&root);
        for folder in ["told/lib", "installed/lib", "installed/bin", "built"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        for folder in ["told/lib", "installed/lib", "built"] {
            std::fs::write(root.join(folder).join(LIBRARY_FILE), "").unwrap();
        }
        let found = |prefix: Option<&str>, program: &str| {
            let prefix = prefix.map(|prefix| root.join(prefix));
            let found = find(prefix.as_deref(), Some(&root.join(program)))?;
            Some(found.strip_prefix(&root).unwrap().display().to_string())
        };
        let of = |folder: &str| Some(format!("{folder}/{LIBRARY_FILE}"));
        assert_eq!(found(Some("told"), "installed/bin/ligament"), of("told/lib"));
        assert_eq!(found(Some("elsewhere"), "installed/bin/ligament"), of("installed/lib"));
        assert_eq!(found(None, "built/ligament"), of("built"));
        assert_eq!(found(None, "nowhere/bin/python3"), None);
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn the_library_is_called_as_its_soname_says() {
        let build = include_str!("../../capi/build.rs");
        assert!(build.contains(&format!("-soname,{LIBRARY_FILE}\"")));
    }
}
