//! Names of files in messages: bytes, relative to the copied directory, with `/` between the components.

/// The suffix of the name of a partial file. The partial file of `f` is `.f.ligament-part` in the same
/// directory.
pub(crate) const PARTIAL_SUFFIX: &[u8] = b".ligament-part";
/// Maximum length of a name in bytes, and maximum number of its components.
const MAX_NAME_BYTES: usize = 4096;
const MAX_DEPTH: usize = 255;

/// Returns the name of the partial file for the final name `last`. A long name is cut and gets a part of
/// its checksum, so that the file system accepts it.
pub(crate) fn partial(last: &[u8]) -> Vec<u8> {
    let room = 255 - PARTIAL_SUFFIX.len() - 1;
    let mut name = vec![b'.'];
    if last.len() <= room {
        name.extend_from_slice(last);
    } else {
        let whole = ring::digest::digest(&ring::digest::SHA256, last);
        let digits: String = whole.as_ref()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        name.extend_from_slice(&last[..room - digits.len()]);
        name.extend_from_slice(digits.as_bytes());
    }
    name.extend_from_slice(PARTIAL_SUFFIX);
    name
}

/// Returns the name of a partial file that only one copy uses. The name has a random number.
pub(crate) fn partial_of_one(last: &[u8]) -> Vec<u8> {
    let mut number = [0; 8];
    // Without random numbers, the name may be in use already, which the caller detects.
    let _ = ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut number);
    let end: String = number.iter().map(|byte| format!("{byte:02x}")).collect();
    partial(&[&last[..last.len().min(200)], b".", end.as_bytes()].concat())
}

/// Returns true if the last component of a name is that of a partial file.
pub(crate) fn is_partial(last: &[u8]) -> bool {
    last.starts_with(b".") && last.ends_with(PARTIAL_SUFFIX)
}

/// Returns the reason why a name from the other end must not be written, or none if the name is allowed.
pub(crate) fn wrong(name: &[u8]) -> Option<&'static str> {
    let component = |one: &[u8]| match one {
        b"" => Some("has an empty component"),
        b"." | b".." => Some("leads out of its directory"),
        one if one.contains(&0) => Some("has a zero byte"),
        one if one.len() > 255 => Some("has a component of more than 255 bytes"),
        one if is_partial(one) => Some("is that of a file that is not whole"),
        _ => None,
    };
    match name {
        _ if name.len() > MAX_NAME_BYTES => Some("is too long"),
        _ if name.split(|&byte| byte == b'/').count() > MAX_DEPTH => Some("is too deep"),
        _ => name.split(|&byte| byte == b'/').find_map(component),
    }
}

/// Returns a name as text for people, without control characters.
pub(crate) fn shown(name: &[u8]) -> String {
    let text = String::from_utf8_lossy(name);
    text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// Joins the name of a directory and the last part of a name. An empty directory name is the copied directory
/// itself.
pub(crate) fn join(directory: &[u8], last: &[u8]) -> Vec<u8> {
    match directory {
        b"" => last.to_vec(),
        _ => [directory, b"/", last].concat(),
    }
}

/// Returns the directory part of a name, and its last component.
pub(crate) fn split(name: &[u8]) -> (&[u8], &[u8]) {
    match name.iter().rposition(|&byte| byte == b'/') {
        Some(at) => (&name[..at], &name[at + 1..]),
        None => (&[], name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_leads_out_is_wrong() {
        for name in ["", "/etc/passwd", "a//b", "../a", "a/../../b", "a/.", "a\0b", ".a.ligament-part", "a/"] {
            assert!(wrong(name.as_bytes()).is_some(), "{name}");
        }
        assert!(wrong(&[b'x'; 256]).is_some());
        for name in ["a", "a/b", "a/..b", "...", "a/ligament-part", "b/with blank"] {
            assert_eq!(wrong(name.as_bytes()), None, "{name}");
        }
    }

    #[test]
    fn a_long_name_has_a_partial_file_of_its_own() {
        let (one, other) = ([b'x'; 255], [&[b'x'; 254][..], b"y"].concat());
        assert!(partial(&one).len() <= 255 && is_partial(&partial(&one)));
        assert_ne!(partial(&one), partial(&other));
        assert_eq!(partial(b"a"), b".a.ligament-part");
    }

    #[test]
    fn names_are_joined_and_split() {
        assert_eq!(join(b"", b"a"), b"a");
        assert_eq!(join(b"a/b", b"c"), b"a/b/c");
        assert_eq!(split(b"a/b/c"), (&b"a/b"[..], &b"c"[..]));
        assert_eq!(split(b"c"), (&b""[..], &b"c"[..]));
    }
}
