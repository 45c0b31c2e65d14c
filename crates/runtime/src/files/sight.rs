//! The content of a path below an instance's directory. Nothing outside of this directory is shown.

use ligament_catalogue::{fault, Fault};
use ligament_wire::peek::{Entry, Sight, MAX_ANSWER_BYTES, MAX_DIRECTORY_ENTRIES};
use rustix::fs::{seek, SeekFrom};
use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Component, Path};

/// Returns the content of `path` below `home`: the entries of a directory, or at most `most` bytes of a file,
/// from `offset` on. The manager removes the middle of an output (`output.log`) that is too long; this gap is
/// skipped.
pub(crate) fn see(home: &Path, path: &str, offset: u64, most: u32) -> Sight {
    look(home, path, offset, most).unwrap_or_else(|why| Sight::Nothing(why.with_code()))
}

fn look(home: &Path, path: &str, offset: u64, most: u32) -> Result<Sight, Fault> {
    let named = path.strip_prefix("workdir/").unwrap_or(path);
    let outside = || {
        fault!(NOTHING_TO_SEE, "\"{named}\" leads out of the instance's directory; only what is in it is shown")
    };
    let plain =
        Path::new(path).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !plain || path.contains('\0') {
        return Err(outside());
    }
    let wrong = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            fault!(
                NOTHING_TO_SEE,
                "the instance has no file \"{named}\"; without a name, all that it has is listed"
            )
        }
        _ => fault!(NOTHING_TO_SEE, "\"{named}\" cannot be read: {error}"),
    };
    // A link is followed if its target is inside of the directory.
    let there = home.join(path).canonicalize().map_err(wrong)?;
    if !home.canonicalize().is_ok_and(|home| there.starts_with(home)) {
        return Err(outside());
    }
    let found = std::fs::metadata(&there).map_err(wrong)?;
    if found.is_dir() {
        return entries(&there).map_err(wrong);
    }
    if !found.is_file() {
        return Err(fault!(NOTHING_TO_SEE, "\"{named}\" is neither a file nor a directory"));
    }
    // A link or a pipe may have replaced the file meanwhile. The flags make the open follow no link, and not
    // wait for a pipe's other end.
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = File::options().read(true).custom_flags(flags.bits() as i32).open(&there).map_err(wrong)?;
    let found = file.metadata().map_err(wrong)?;
    let offset =
        if path == "output.log" { seek(&file, SeekFrom::Data(offset)).unwrap_or(offset) } else { offset };
    let until =
        if path == "output.log" { seek(&file, SeekFrom::Hole(offset)).unwrap_or(u64::MAX) } else { u64::MAX };
    let most = u64::from(most.min(MAX_ANSWER_BYTES)).min(until.saturating_sub(offset));
    let mut bytes = vec![0; most as usize];
    let read = file.read_at(&mut bytes, offset).map_err(wrong)?;
    bytes.truncate(read);
    Ok(Sight::File { offset, bytes, size: found.len(), identity: found.ino() })
}

fn entries(directory: &Path) -> std::io::Result<Sight> {
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(directory)?.take(MAX_DIRECTORY_ENTRIES) {
        let entry = entry?;
        // The entry was removed meanwhile, or is a link without a target.
        let Ok(found) = std::fs::metadata(entry.path()) else { continue };
        let age = found.modified().ok().and_then(|at| at.elapsed().ok()).map_or(0, |age| age.as_secs());
        let name = entry.file_name().to_string_lossy().into_owned();
        entries.push(Entry { name, directory: found.is_dir(), bytes: found.len(), age });
    }
    entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(Sight::Directory(entries))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn what_is_in_the_directory_is_seen_and_nothing_else() {
        let top = std::env::temp_dir().join(format!("ligament-sight-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&top);
        let home = top.join("home");
        std::fs::create_dir_all(home.join("workdir/deep")).unwrap();
        std::fs::write(home.join("workdir/deep/result"), "0123456789").unwrap();
        std::fs::write(top.join("secret"), "not yours").unwrap();
        symlink("deep/result", home.join("workdir/latest")).unwrap();
        symlink("../../secret", home.join("workdir/out")).unwrap();
        symlink("../..", home.join("workdir/up")).unwrap();
        symlink("/etc", home.join("workdir/etc")).unwrap();
        let text = |path: &str, offset, most| match see(&home, path, offset, most) {
            Sight::File { bytes, offset: at, size: 10, .. } if at == offset => {
                String::from_utf8(bytes).unwrap()
            }
            other => panic!("{path}: {other:?}"),
        };
        assert_eq!(text("workdir/deep/result", 0, 100), "0123456789");
        assert_eq!(text("workdir/latest", 3, 4), "3456");
        assert_eq!(text("workdir/latest", 12, 4), "");
        for path in [
            "workdir/out",
            "workdir/up/secret",
            "workdir/etc/passwd",
            "../secret",
            "/etc/passwd",
            "workdir/../../secret",
        ] {
            match see(&home, path, 0, 100) {
                Sight::Nothing(why) => assert!(why.contains("leads out of the instance's directory"), "{why}"),
                other => panic!("{path}: {other:?}"),
            }
        }
        let why = "the instance has no file \"nothing\"; without a name, all that it has is listed (ligament \
                   explain nothing-to-see)";
        assert_eq!(see(&home, "workdir/nothing", 0, 1), Sight::Nothing(why.into()));
        let Sight::Directory(entries) = see(&home, "workdir", 0, 0) else { panic!("no directory") };
        let names: Vec<_> =
            entries.iter().map(|entry| (entry.name.as_str(), entry.directory, entry.bytes)).collect();
        assert_eq!(names[0].0, "deep");
        assert!(names.contains(&("latest", false, 10)));
        std::fs::remove_dir_all(&top).unwrap();
    }
}
