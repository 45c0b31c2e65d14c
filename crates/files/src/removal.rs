//! Removing what the sender has no more, if the user has asked for that. What is gone cannot be got back: it is not done in a
//! directory that holds more than what was copied there, and ends at once when nobody waits for it any more.

use crate::names;
use crate::partial::Trouble;
use crate::tree::Tree;
use rustix::fs::{self, AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::collections::HashSet;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

/// How something is removed.
pub(crate) struct Removal<'a> {
    /// It is only told what would be.
    pub dry: bool,
    /// Called with each name.
    pub told: &'a mut dyn FnMut(&[u8]),
    /// Whether somebody still waits for it.
    pub is_wanted: &'a dyn Fn() -> bool,
}

/// Of these places the first that a directory is, or that lies in it.
fn place_in(directory: BorrowedFd<'_>, places: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
    let own = fs::fstat(directory).ok()?;
    let is_it =
        |path: &Path| fs::stat(path).is_ok_and(|stat| (stat.st_dev, stat.st_ino) == (own.st_dev, own.st_ino));
    // By their numbers: the same directory has many names.
    let mut places = places.filter_map(|place| place.canonicalize().ok());
    places.find(|place| place.ancestors().any(is_it))
}

/// What of this user's a directory holds that no copy has brought there: the home directory, or the one in which the command
/// was given. Every root directory does.
pub(crate) fn holds(directory: BorrowedFd<'_>) -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    place_in(directory, home.into_iter().chain(std::env::current_dir().ok()))
}

/// The names in a directory, with what each is.
fn contents(directory: BorrowedFd<'_>) -> Result<Vec<(Vec<u8>, FileType)>, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = fs::openat(directory, ".", flags, Mode::empty())?;
    let mut found = Vec::new();
    for entry in Dir::new(opened)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => FileType::from_raw_mode(
                fs::statat(directory, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)?.st_mode,
            ),
            kind => kind,
        };
        found.push((name.to_vec(), kind));
    }
    Ok(found)
}

/// Removes what stands under a name, and all below it; whether anything did.
pub(crate) fn remove(tree: &mut Tree, name: &[u8], how: &mut Removal<'_>) -> Result<bool, Trouble> {
    let Some(stat) = tree.look(name)? else { return Ok(false) };
    if FileType::from_raw_mode(stat.st_mode).is_dir() {
        for (last, _) in contents(tree.directory(name)?)? {
            remove(tree, &names::join(name, &last), how)?;
        }
    }
    if !(how.is_wanted)() {
        return Err(Trouble::Cut);
    }
    if !how.dry {
        tree.forget_way();
        let (directory, last) = tree.parent(name)?;
        let is_dir = FileType::from_raw_mode(stat.st_mode).is_dir();
        let flags = if is_dir { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        fs::unlinkat(directory.as_fd(), last, flags)?;
    }
    (how.told)(name);
    Ok(true)
}

/// Removes everything below the root that is not among these names. Files that are not whole go with those whose they are.
pub(crate) fn remove_others(
    tree: &mut Tree,
    keep: &HashSet<Vec<u8>>,
    how: &mut Removal<'_>,
) -> Result<(), Trouble> {
    let partials: HashSet<Vec<u8>> = keep
        .iter()
        .map(|name| {
            let (directory, last) = names::split(name);
            names::join(directory, &names::partial(last))
        })
        .collect();
    let mut open = vec![Vec::new()];
    while let Some(directory) = open.pop() {
        for (last, kind) in contents(tree.directory(&directory)?)? {
            let name = names::join(&directory, &last);
            if keep.contains(&name) {
                if kind.is_dir() {
                    open.push(name);
                }
            } else if !partials.contains(&name) {
                remove(tree, &name, how)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::OFlags;
    use std::cell::Cell;

    /// A directory that is removed at the end.
    struct Temporary(PathBuf);

    impl Temporary {
        fn new(name: &str) -> Temporary {
            let path = std::env::temp_dir().join(format!("ligament-removal-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Temporary(path)
        }
    }

    impl Drop for Temporary {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_directory_that_holds_a_place_is_known_by_any_of_its_names() {
        let at = Temporary::new("holds");
        std::fs::create_dir_all(at.0.join("home/me/deep")).unwrap();
        std::fs::create_dir_all(at.0.join("home/other")).unwrap();
        std::os::unix::fs::symlink(at.0.join("home"), at.0.join("link")).unwrap();
        let me = at.0.join("link/me");
        let found = |path: &Path| {
            let directory = fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
            place_in(directory.as_fd(), [at.0.join("nowhere"), me.clone()].into_iter()).is_some()
        };
        for holds in ["home/me", "home", "link", "link/me", "home/me/deep/..", ""] {
            assert!(found(&at.0.join(holds)), "{holds}");
        }
        assert!(found(Path::new("/")));
        assert!(!found(&at.0.join("home/other")) && !found(&at.0.join("home/me/deep")));
    }

    #[test]
    fn nothing_more_is_removed_when_nobody_waits_for_it() {
        let at = Temporary::new("wanted");
        for i in 0..9 {
            std::fs::write(at.0.join(i.to_string()), "x").unwrap();
        }
        let removed = Cell::new(0);
        let mut how = Removal {
            dry: false,
            told: &mut |_| removed.set(removed.get() + 1),
            is_wanted: &|| removed.get() < 4,
        };
        let mut tree = Tree::new(&at.0, None).unwrap();
        assert_eq!(remove_others(&mut tree, &HashSet::new(), &mut how), Err(Trouble::Cut));
        assert_eq!(std::fs::read_dir(&at.0).unwrap().count(), 5);
    }
}
