//! Finds site files. It searches `sites/` below the working directory of the command first, and then the
//! user's configuration.

use super::{read_site, Site};
use ligament_catalogue::{fault, Fault};
use ligament_model::{nearest, Problems};
use std::path::{Path, PathBuf};

/// The directory of a project's site files.
pub const SITES_DIRECTORY: &str = "sites";

/// Returns the directory of a user's site files for all projects, or `None` if the environment does not
/// name it.
pub fn own_directory() -> Option<PathBuf> {
    let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let config = config.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config")));
    config.map(|config| config.join("ligament").join(SITES_DIRECTORY))
}

/// Returns the directories that are searched, in the order of the search.
fn directories() -> Vec<PathBuf> {
    [PathBuf::from(SITES_DIRECTORY)].into_iter().chain(own_directory()).collect()
}

/// Returns the names and files of all known sites. A project's site hides the user's own site of the same
/// name.
pub fn known_sites() -> Vec<(String, PathBuf)> {
    let mut known: Vec<(String, PathBuf)> = Vec::new();
    for directory in directories() {
        let mut files: Vec<PathBuf> = std::fs::read_dir(directory)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|end| end == "yaml" || end == "yml"))
            .collect();
        files.sort();
        for file in files {
            let name = name_of(&file);
            if !known.iter().any(|(known, _)| *known == name) {
                known.push((name, file));
            }
        }
    }
    known
}

fn name_of(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the site of this name. The name is a file (if it contains a `/` or ends in `.yaml`), or one of
/// `known_sites`.
///
/// # Errors
/// No site has this name, or its file has mistakes. The error lists all mistakes, one per line.
pub fn find_site(wanted: &str) -> Result<Site, Fault> {
    let is_file = wanted.contains('/') || wanted.ends_with(".yaml") || wanted.ends_with(".yml");
    let file = if is_file {
        PathBuf::from(wanted)
    } else {
        let known = known_sites();
        match known.iter().find(|(name, _)| name == wanted) {
            Some((_, file)) => file.clone(),
            None => return Err(unknown(wanted, &known)),
        }
    };
    let text = ligament_model::read_text(&file)
        .map_err(|error| fault!(SITE_UNKNOWN, "the site file {} cannot be read: {error}", file.display()))?;
    let (mut site, problems) = read_site(&text, &file.display().to_string());
    if problems.iter().any(ligament_model::Problem::is_error) {
        return Err(Problems(problems).into());
    }
    site.name = name_of(&file);
    let file = std::path::absolute(&file).unwrap_or(file);
    for relay in &mut site.relays {
        *relay = place_of(relay, &file);
    }
    site.file = Some(file);
    Ok(site)
}

/// Returns the path of a file that a site's file names. Relative names are beside the site's file, and `~/`
/// is the user's home.
fn place_of(name: &Path, site: &Path) -> PathBuf {
    match (name.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Ok(below), Some(home)) => PathBuf::from(home).join(below),
        _ => site.parent().unwrap_or(Path::new(".")).join(name),
    }
}

fn unknown(wanted: &str, known: &[(String, PathBuf)]) -> Fault {
    let names: Vec<&str> = known.iter().map(|(name, _)| name.as_str()).collect();
    let places: Vec<String> = directories().iter().map(|path| path.display().to_string()).collect();
    let advice = match (nearest(wanted, names.iter().copied()), names.as_slice()) {
        (Some(meant), _) => format!("did you mean \"{meant}\"?"),
        (None, []) => format!("write its file with \"ligament site new {wanted}\""),
        (None, names) => format!("there is {}", names.join(", ")),
    };
    fault!(SITE_UNKNOWN, "there is no site \"{wanted}\" in {}; {advice}", places.join(" or "))
}
