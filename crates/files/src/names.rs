//! Names of files as they travel: bytes, relative to the directory that is copied, with `/` between components.

/// The end of the name of a file that is not whole yet. It stands beside its final name, with a dot before it.
pub(crate) const PARTIAL_SUFFIX: &[u8] = b".ligament-part";
/// The longest name (bytes), and the deepest directory.
const MAX_NAME_BYTES: usize = 4096;
const MAX_DEPTH: usize = 255;

/// The name under which a file arrives, until it is whole. A long name is cut, so that the file system takes
/// it.
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

/// The same, of one copy alone: with a random number.
pub(crate) fn partial_of_one(last: &[u8]) -> Vec<u8> {
    let mut number = [0; 8];
    // Without random numbers, the name may be taken at the worst.
    let _ = ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut number);
    let end: String = number.iter().map(|byte| format!("{byte:02x}")).collect();
    partial(&[&last[..last.len().min(200)], b".", end.as_bytes()].concat())
}

/// Returns true if this is the last component of a file that is not whole.
pub(crate) fn is_partial(last: &[u8]) -> bool {
    last.starts_with(b".") && last.ends_with(PARTIAL_SUFFIX)
}

/// Why a name that came from elsewhere is none that may be written; none if it may.
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

/// A name as people read it.
pub(crate) fn shown(name: &[u8]) -> String {
    let text = String::from_utf8_lossy(name);
    text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// A name below another one, which may be the directory itself.
pub(crate) fn join(directory: &[u8], last: &[u8]) -> Vec<u8> {
    match directory {
        b"" => last.to_vec(),
        _ => [directory, b"/", last].concat(),
    }
}

/// The parent of a name, and its last component.
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
