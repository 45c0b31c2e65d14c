//! Directories for tests.

use std::path::PathBuf;

/// A temporary directory that is removed when it is dropped.
pub(crate) struct Temporary(pub PathBuf);

impl Temporary {
    pub fn new(name: &str) -> Temporary {
        let path = std::env::temp_dir().join(format!("ligament-files-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Temporary(path)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
