//! Locations of files: here, or at a site or a host by ssh.

use ligament_catalogue::{fault, Fault};
use ligament_launch::site::{find_site, known_sites, Site};
use std::path::PathBuf;

/// A place of files, as the user names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FileLocation {
    Here(PathBuf),
    /// The site or host, and the path there. An empty path is the directory in which a login begins.
    There(String, String),
}

impl FileLocation {
    /// Reads a location as scp does: the text before the first colon is a site or a host, unless it
    /// contains a slash.
    pub fn read(word: &str) -> FileLocation {
        if let Some((host, path)) = word.strip_prefix('[').and_then(|rest| rest.split_once("]:")) {
            return FileLocation::There(host.to_owned(), path.to_owned());
        }
        match word.split_once(':') {
            Some((host, path)) if !host.is_empty() && !host.contains('/') => {
                FileLocation::There(host.to_owned(), path.to_owned())
            }
            _ => FileLocation::Here(PathBuf::from(word)),
        }
    }
}

/// Returns the site with this name. If there is no such site, returns the host that ssh knows by this name.
pub(crate) fn site_of(name: &str) -> Result<Site, Fault> {
    if known_sites().iter().any(|(known, _)| known == name) {
        return find_site(name);
    }
    if name.starts_with('-') {
        return Err(fault!(SITE_UNKNOWN, "\"{name}\" is neither a site nor a host"));
    }
    Ok(Site { name: name.to_owned(), ssh: Some(name.to_owned()), ..Site::default() })
}

/// Returns the name of a known site that is similar to a name that is not a site.
pub(crate) fn meant(site: &Site) -> Option<String> {
    let known = known_sites();
    let is_known = site.file.is_some() || known.iter().any(|(name, _)| *name == site.name);
    let nearest = ligament_model::nearest(&site.name, known.iter().map(|(name, _)| name.as_str()));
    nearest.filter(|_| !is_known).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_with_a_host_is_elsewhere() {
        let there = |host: &str, path: &str| FileLocation::There(host.into(), path.into());
        assert_eq!(FileLocation::read("east:out/a"), there("east", "out/a"));
        assert_eq!(FileLocation::read("me@login.org:"), there("me@login.org", ""));
        assert_eq!(FileLocation::read("[::1]:/tmp"), there("::1", "/tmp"));
        for here in ["out", "/a/b:c", "./a:b", ":a"] {
            assert_eq!(FileLocation::read(here), FileLocation::Here(here.into()));
        }
    }
}
