//! Removal of files that the sender no longer has, if the user asks for it. Removed files cannot be restored.
//! So directories with files of the user, such as the home directory, are kept (`KeptDirectories`), and the
//! removal stops at once if the other end is gone.

use crate::names;
use crate::partial::PartialFileError;
use crate::tree::Tree;
use rustix::fs::{self, AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::collections::HashSet;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

/// The options and callbacks of a removal.
pub(crate) struct Removal<'a> {
    /// True for a dry run: the names are reported and nothing is removed.
    pub dry: bool,
    /// Names that count as removed already in a dry run.
    pub cleared: &'a HashSet<Vec<u8>>,
    pub kept: &'a KeptDirectories,
    /// Called with each removed name, and with each name that cannot be removed.
    pub told: &'a mut dyn FnMut(&[u8]),
    pub failed: &'a mut dyn FnMut(&[u8], Errno),
    /// Returns true while the other end still waits for the removal.
    pub is_wanted: &'a dyn Fn() -> bool,
}

/// The identity of a directory: device number and inode number. It is the same for all names of the
/// directory.
type Identity = (u64, u64);

fn identity(stat: &Stat) -> Identity {
    (stat.st_dev, stat.st_ino)
}

/// Directories that are never removed, because they hold files that did not come from a copy: the home
/// directory, the working directory and the root.
#[derive(Debug, Default)]
pub(crate) struct KeptDirectories {
    places: Vec<(PathBuf, Identity)>,
}

impl KeptDirectories {
    /// Returns the directories of this user: the home directory (from `HOME` and from `/etc/passwd`), the
    /// working directory of the command, and the root.
    pub fn of_user() -> KeptDirectories {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let sudo = std::env::var("SUDO_UID").ok();
        let own = [Some(rustix::process::geteuid().as_raw().to_string()), sudo];
        let homes = own.iter().flatten().filter_map(|user| home_of(&users, user));
        let all = [PathBuf::from("/")].into_iter().chain(home).chain(homes).chain(std::env::current_dir().ok());
        KeptDirectories::these(all)
    }

    fn these(places: impl Iterator<Item = PathBuf>) -> KeptDirectories {
        let known = |place: PathBuf| {
            let place = place.canonicalize().ok()?;
            let identity = identity(&fs::stat(&place).ok()?);
            Some((place, identity))
        };
        KeptDirectories { places: places.filter_map(known).collect() }
    }

    /// Returns the first kept directory that is `directory` itself or lies below it by name.
    pub fn within(&self, directory: BorrowedFd<'_>) -> Option<&Path> {
        // Directories are compared by device and inode number, because one directory may have many names.
        let own = fs::fstat(directory).map(|stat| identity(&stat)).ok();
        let is_it = |path: &Path| fs::stat(path).map(|stat| identity(&stat)).ok() == own;
        let mut places = self.places.iter().map(|(place, _)| place.as_path());
        places.find(|place| place.ancestors().any(is_it))
    }

    /// Returns true if this is a kept directory. It may be reached by another name.
    fn has(&self, stat: &Stat) -> bool {
        self.places.iter().any(|(_, one)| *one == identity(stat))
    }
}

/// Returns the home directory of the user with this number, according to the text of `/etc/passwd`.
fn home_of(users: &str, number: &str) -> Option<PathBuf> {
    let fields = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let mut homes = fields.filter(|fields| fields.len() >= 7 && fields[2] == number && !fields[5].is_empty());
    homes.next().map(|fields| PathBuf::from(fields[5]))
}

/// Returns the names in a directory, with their file types.
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

/// Removes a file, or a directory with all its contents. Returns true if the name existed. Mounted file
/// systems and kept directories stay.
pub(crate) fn remove(tree: &mut Tree, name: &[u8], how: &mut Removal<'_>) -> Result<bool, PartialFileError> {
    let Some(stat) = tree.look(name)? else { return Ok(false) };
    let is_dir = FileType::from_raw_mode(stat.st_mode).is_dir();
    if is_dir {
        may_be_entered(tree, &stat, how.kept)?;
        for (last, _) in contents(tree.directory(name)?)? {
            remove(tree, &names::join(name, &last), how)?;
        }
    }
    if !(how.is_wanted)() {
        return Err(PartialFileError::Cut);
    }
    if !how.dry {
        tree.forget_way();
        let (directory, last) = tree.parent(name)?;
        let flags = if is_dir { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        fs::unlinkat(directory.as_fd(), last, flags)?;
    }
    (how.told)(name);
    Ok(true)
}

/// Fails if the directory lies in another file system than the root of the tree, or is a kept directory.
/// Nothing is removed there.
fn may_be_entered(tree: &Tree, stat: &Stat, kept: &KeptDirectories) -> Result<(), Errno> {
    if fs::fstat(tree.root())?.st_dev != stat.st_dev {
        return Err(Errno::XDEV);
    }
    if kept.has(stat) {
        Err(Errno::PERM)
    } else {
        Ok(())
    }
}

/// Returns true if the directory exists. Fails if nothing may be removed in it.
fn enter(tree: &mut Tree, name: &[u8], kept: &KeptDirectories) -> Result<bool, PartialFileError> {
    match tree.look(name)? {
        Some(stat) => may_be_entered(tree, &stat, kept).map(|()| true).map_err(PartialFileError::from),
        None => Ok(false),
    }
}

/// Removes everything below the root whose name is not in `keep`. The partial file of a name in `keep`
/// stays, too. Names that cannot be removed are reported and stay.
pub(crate) fn remove_others(
    tree: &mut Tree,
    keep: &HashSet<Vec<u8>>,
    how: &mut Removal<'_>,
) -> Result<(), PartialFileError> {
    let partials: HashSet<Vec<u8>> = keep
        .iter()
        .map(|name| {
            let (directory, last) = names::split(name);
            names::join(directory, &names::partial(last))
        })
        .collect();
    let mut open = vec![Vec::new()];
    while let Some(directory) = open.pop() {
        let found = match tree.directory(&directory).and_then(contents) {
            Ok(found) => found,
            Err(errno) => {
                (how.failed)(&directory, errno);
                continue;
            }
        };
        for (last, kind) in found {
            let name = names::join(&directory, &last);
            let done = match (keep.contains(&name), kind.is_dir()) {
                (true, true) if how.cleared.contains(&name) => Ok(()),
                (true, true) => enter(tree, &name, how.kept).map(|enters| {
                    open.extend(enters.then(|| name.clone()));
                }),
                (false, _) if !partials.contains(&name) => remove(tree, &name, how).map(|_| ()),
                _ => Ok(()),
            };
            match done {
                Err(PartialFileError::System(errno)) => (how.failed)(&name, errno),
                other => other?,
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporary::Temporary;
    use rustix::fs::OFlags;
    use std::cell::Cell;

    #[test]
    fn a_directory_that_holds_a_place_is_known_by_any_of_its_names() {
        let at = Temporary::new("holds");
        std::fs::create_dir_all(at.0.join("home/me/deep")).unwrap();
        std::fs::create_dir_all(at.0.join("home/other")).unwrap();
        std::os::unix::fs::symlink(at.0.join("home"), at.0.join("link")).unwrap();
        let me = at.0.join("link/me");
        let kept = KeptDirectories::these([at.0.join("nowhere"), me.clone()].into_iter());
        let found = |path: &Path| {
            let directory = fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
            kept.within(directory.as_fd()).is_some()
        };
        for holds in ["home/me", "home", "link", "link/me", "home/me/deep/..", ""] {
            assert!(found(&at.0.join(holds)), "{holds}");
        }
        assert!(found(Path::new("/")));
        assert!(!found(&at.0.join("home/other")) && !found(&at.0.join("home/me/deep")));
    }

    /// Removes all files whose names are not in `keep`. Returns the number of removed names, and the names
    /// that could not be removed.
    fn others(
        at: &Path,
        keep: &[&str],
        kept: &KeptDirectories,
        most: usize,
    ) -> (Result<(), PartialFileError>, usize, Vec<String>) {
        let (removed, mut failed) = (Cell::new(0), Vec::new());
        let keep: HashSet<Vec<u8>> = keep.iter().map(|name| name.as_bytes().to_vec()).collect();
        let mut how = Removal {
            dry: false,
            cleared: &HashSet::new(),
            kept,
            told: &mut |_| removed.set(removed.get() + 1),
            failed: &mut |name, _| failed.push(String::from_utf8_lossy(name).into_owned()),
            is_wanted: &|| removed.get() < most,
        };
        let done = remove_others(&mut Tree::new(at, None).unwrap(), &keep, &mut how);
        (done, removed.get(), failed)
    }

    #[test]
    fn nothing_more_is_removed_when_nobody_waits_for_it() {
        let at = Temporary::new("wanted");
        for i in 0..9 {
            std::fs::write(at.0.join(i.to_string()), "x").unwrap();
        }
        let (done, removed, _) = others(&at.0, &[], &KeptDirectories::default(), 4);
        assert_eq!((done, removed), (Err(PartialFileError::Cut), 4));
        assert_eq!(std::fs::read_dir(&at.0).unwrap().count(), 5);
    }

    #[test]
    fn what_is_kept_stays_where_only_its_numbers_tell_and_all_else_goes() {
        let at = Temporary::new("kept");
        for name in ["me/mine", "you/yours", "they/theirs"] {
            std::fs::create_dir_all(at.0.join(name)).unwrap();
        }
        let kept = KeptDirectories::these([at.0.join("me")].into_iter());
        let (done, _, failed) = others(&at.0, &["you"], &kept, 100);
        assert_eq!((done, failed), (Ok(()), vec!["me".to_owned()]));
        assert!(at.0.join("me/mine").exists() && at.0.join("you").exists() && !at.0.join("they").exists());
        assert!(!at.0.join("you/yours").exists());
        let (_, removed, failed) = others(&at.0, &["me", "you"], &kept, 100);
        assert_eq!(
            (removed, failed),
            (0, vec!["me".to_owned()]),
            "nor is it entered where the sender has it, too"
        );
    }

    #[test]
    fn homes_are_found_by_the_number_of_their_user() {
        let users = "root:x:0:0:root:/root:/bin/sh\nme:x:1000:100::/home/me:/bin/sh\nbroken\n";
        assert_eq!(home_of(users, "1000"), Some(PathBuf::from("/home/me")));
        assert_eq!((home_of(users, "0"), home_of(users, "7")), (Some("/root".into()), None));
        assert!(KeptDirectories::of_user().places.iter().any(|(place, _)| place == Path::new("/")));
    }
}
