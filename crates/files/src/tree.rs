//! The directory of the receiver. Each name is opened component by component from the directory's
//! descriptor, and no link is followed. So nothing is written outside the directory, even if another
//! process puts links into it meanwhile.

use crate::names;
use rustix::fs::{self, AtFlags, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

const WAY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

pub(crate) struct Tree {
    root: OwnedFd,
    /// Local name of the directory with which all names begin, if it differs from the sender's.
    first: Option<Vec<u8>>,
    /// The components and descriptors that lead to the directory that was used last.
    way: Vec<(Vec<u8>, OwnedFd)>,
}

impl Tree {
    /// Opens an existing directory. `first` replaces the first component of all names.
    pub fn new(directory: &Path, first: Option<Vec<u8>>) -> Result<Tree, Errno> {
        // The user has named this directory, so it may be a link.
        let root = fs::open(directory, WAY.difference(OFlags::NOFOLLOW), Mode::empty())?;
        Ok(Tree { root, first, way: Vec::new() })
    }

    /// Returns the directory itself.
    pub fn root(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }

    /// Returns the local name for a name of the sender.
    pub fn called(&self, name: &[u8]) -> Vec<u8> {
        match &self.first {
            None => name.to_vec(),
            Some(first) => match name.iter().position(|&byte| byte == b'/') {
                Some(at) => [first, &name[at..]].concat(),
                None => first.clone(),
            },
        }
    }

    /// Opens a directory by its name below the root. The empty name is the root itself.
    pub fn directory(&mut self, name: &[u8]) -> Result<BorrowedFd<'_>, Errno> {
        let components = name.split(|&byte| byte == b'/').filter(|one| !one.is_empty());
        let shared =
            self.way.iter().zip(components.clone()).take_while(|((have, _), want)| have == want).count();
        self.way.truncate(shared);
        for component in components.skip(shared) {
            let at = self.way.last().map_or(&self.root, |(_, fd)| fd);
            let fd = fs::openat(at, component, WAY, Mode::empty())?;
            self.way.push((component.to_vec(), fd));
        }
        Ok(self.way.last().map_or(&self.root, |(_, fd)| fd).as_fd())
    }

    /// Opens the directory of a name, and returns it with the last component of the name.
    pub fn parent<'n>(&mut self, name: &'n [u8]) -> Result<(BorrowedFd<'_>, &'n [u8]), Errno> {
        let (directory, last) = names::split(name);
        Ok((self.directory(directory)?, last))
    }

    /// Forgets the open directories, because some of them were removed.
    pub fn forget_way(&mut self) {
        self.way.clear();
    }

    /// Returns the status of the file with this name, or none if it does not exist.
    pub fn look(&mut self, name: &[u8]) -> Result<Option<Stat>, Errno> {
        let (directory, last) = match self.parent(name) {
            Err(Errno::NOENT) => return Ok(None),
            found => found?,
        };
        match fs::statat(directory, last, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(None),
            found => found.map(Some),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporary::Temporary;
    use std::os::unix::fs::symlink;

    #[test]
    fn no_link_on_the_way_is_followed() {
        let at = Temporary::new("links");
        std::fs::create_dir_all(at.0.join("inside/deep")).unwrap();
        std::fs::create_dir_all(at.0.join("outside")).unwrap();
        symlink(at.0.join("outside"), at.0.join("inside/out")).unwrap();
        symlink("deep", at.0.join("inside/near")).unwrap();
        let mut tree = Tree::new(&at.0.join("inside"), None).unwrap();
        assert!(tree.parent(b"deep/file").is_ok());
        for name in [&b"out/file"[..], b"near/file", b"deep/../out/file"] {
            assert!(tree.parent(name).is_err() || names::wrong(name).is_some());
        }
        assert!(tree.look(b"out").unwrap().is_some_and(|stat| stat.st_mode & 0o170000 == 0o120000));
        assert!(tree.look(b"nothing/here").unwrap().is_none());
    }

    #[test]
    fn the_first_component_may_have_another_name_here() {
        let at = Temporary::new("first");
        let tree = Tree::new(&at.0, Some(b"other".to_vec())).unwrap();
        assert_eq!(tree.called(b"mine"), b"other");
        assert_eq!(tree.called(b"mine/below"), b"other/below");
    }
}
