//! Removing what the sender has no more, if the user has asked for that.

use crate::names;
use crate::tree::Tree;
use rustix::fs::{self, AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::collections::HashSet;
use std::os::fd::{AsFd, BorrowedFd};

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

/// Removes what stands under a name, and all below it; whether anything did. Calls `told` with each name.
pub(crate) fn remove(
    tree: &mut Tree,
    name: &[u8],
    dry: bool,
    told: &mut dyn FnMut(&[u8]),
) -> Result<bool, Errno> {
    let Some(stat) = tree.look(name)? else { return Ok(false) };
    if FileType::from_raw_mode(stat.st_mode).is_dir() {
        for (last, _) in contents(tree.directory(name)?)? {
            remove(tree, &names::join(name, &last), dry, told)?;
        }
    }
    if !dry {
        tree.forget_way();
        let (directory, last) = tree.parent(name)?;
        let is_dir = FileType::from_raw_mode(stat.st_mode).is_dir();
        let flags = if is_dir { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        fs::unlinkat(directory.as_fd(), last, flags)?;
    }
    told(name);
    Ok(true)
}

/// Removes everything below the root that is not among these names. Files that are not whole go with those whose they are.
pub(crate) fn remove_others(
    tree: &mut Tree,
    keep: &HashSet<Vec<u8>>,
    dry: bool,
    told: &mut dyn FnMut(&[u8]),
) -> Result<(), Errno> {
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
                remove(tree, &name, dry, told)?;
            }
        }
    }
    Ok(())
}
