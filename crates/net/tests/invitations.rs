//! Tests of files with a run's keys. Only their owner can read them, and a file that others can read is
//! refused.

use ligament_net::{Invitation, RunKeys};
use std::fs;
use std::os::unix::fs::{symlink, MetadataExt, PermissionsExt};
use std::path::PathBuf;

/// A directory for one test, which is removed when the test ends.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let path = std::env::temp_dir().join(format!("ligament-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Place(path)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn invitation() -> Invitation {
    let head = vec!["10.0.0.1:4000".parse().unwrap(), "[2001:db8::1]:4000".parse().unwrap()];
    Invitation::new("reaction-diffusion", head, true, RunKeys::make())
}

#[test]
fn an_invitation_comes_back_from_text_and_from_a_file_as_it_was() {
    let place = Place::new("there-and-back");
    let file = place.0.join("invitation");
    let given = invitation();
    assert_eq!(Invitation::from_text(&given.to_text()).unwrap(), given);
    given.write(&file).unwrap();
    assert_eq!(Invitation::read(&file).unwrap(), given);
    assert_eq!(fs::read_dir(&place.0).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn a_file_is_for_its_owner_alone_even_where_one_that_all_could_read_was_before() {
    let place = Place::new("owner-alone");
    let file = place.0.join("invitation");
    fs::write(&file, "old").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    invitation().write(&file).unwrap();
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn a_file_that_others_can_read_or_write_is_refused_and_so_is_what_is_no_file() {
    let place = Place::new("others");
    let file = place.0.join("invitation");
    invitation().write(&file).unwrap();
    for mode in [0o640, 0o604, 0o644, 0o620, 0o602, 0o660, 0o666] {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let error = Invitation::read(&file).unwrap_err().to_string();
        assert!(error.contains(&format!("{mode:04o}")) && error.contains("others"), "{error}");
    }
    let link = place.0.join("link");
    symlink(&file, &link).unwrap();
    assert!(Invitation::read(&link).is_err(), "what counts is the file, not the link to it");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o400)).unwrap();
    assert!(Invitation::read(&link).is_ok());
    assert!(Invitation::read(&place.0).unwrap_err().to_string().contains("not a file"));
    assert!(Invitation::read(&place.0.join("nothing")).unwrap_err().to_string().contains("cannot be read"));
}

#[test]
fn what_is_no_invitation_is_refused_with_what_is_wrong_and_never_with_the_secret() {
    let good = invitation().to_text();
    let secret = good.split("\"secret\": \"").nth(1).unwrap()[..64].to_string();
    let cases = [
        ("".to_string(), "no invitation"),
        ("{}".into(), "does not say"),
        ("[1, 2]".into(), "does not say"),
        (good.replace("invitation\": 1", "invitation\": 2"), "version 2"),
        (good.replace(&secret, &secret[..63]), "64 hexadecimal digits"),
        (good.replace(&secret, &format!("g{}", &secret[1..])), "64 hexadecimal digits"),
        (good.replace("10.0.0.1:4000", "10.0.0.1"), "no whole invitation"),
        (good.replace("\"encrypt\"", "\"encrypted\""), "no whole invitation"),
        (good[..good.len() - 40].to_string(), "no invitation"),
    ];
    for (text, because) in cases {
        let error = Invitation::from_text(&text).unwrap_err().to_string();
        assert!(error.contains(because), "{error} for {because}");
        assert!(!error.contains(&secret[..16]), "{error}");
    }
}

#[test]
fn two_runs_never_have_the_same_keys() {
    assert_ne!(RunKeys::make(), RunKeys::make());
}
