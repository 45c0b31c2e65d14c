//! `ligament explain` works for every code, and its links lead to pages and headings that exist.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Output};

fn ligament(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ligament")).args(arguments).current_dir("/").output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_code_is_explained_with_its_messages_and_what_to_do() {
    for code in ["no-such-port", "unknown-port", "(no-such-port)", "[unknown-port]"] {
        let output = ligament(&["explain", code]);
        let said = text(&output.stdout);
        assert!(output.status.success() && said.starts_with(code.trim_matches(['(', ')', '[', ']'])), "{said}");
        assert!(said.lines().count() > 2 && !said.contains('`'), "{said}");
    }
}

#[test]
fn every_link_of_an_explanation_is_a_page_to_open_with_the_heading_that_is_meant() {
    let json: serde_json::Value = serde_json::from_slice(&ligament(&["explain", "--json"]).stdout).unwrap();
    let mut count = 0;
    for entry in json["codes"].as_array().unwrap() {
        let (code, meaning) = (entry["code"].as_str().unwrap(), entry["meaning"].as_str().unwrap());
        let written = ligament_catalogue::find(code).unwrap().meaning;
        let links = entry["links"].as_array().unwrap();
        assert_eq!(links.len(), written.matches("](").count(), "{code}");
        assert!(!meaning.contains("]("));
        let said = text(&ligament(&["explain", code]).stdout);
        for link in links {
            let file = link["file"].as_str().unwrap();
            let page = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{code}: {file}: {error}"));
            assert!(said.contains(&format!("  {file}")), "{said}");
            if let Some(heading) = link["heading"].as_str() {
                assert!(page.lines().any(|line| line.trim_start_matches('#').trim() == heading), "{heading}");
                assert!(said.contains(&format!("under \"{heading}\"")), "{said}");
            }
            count += 1;
        }
        // A link with an anchor names its heading.
        let places = links.iter().filter(|link| !link["heading"].is_null()).count();
        assert_eq!(places, written.matches(".md#").count(), "{code}");
    }
    assert!(count > 20);
}

#[test]
fn without_a_code_all_are_listed() {
    let said = text(&ligament(&["explain"]).stdout);
    for entry in ligament_catalogue::entries() {
        assert!(
            said.lines().any(|line| line.trim_start().starts_with(&format!("{} ", entry.code))),
            "{}",
            entry.code
        );
    }
    let json: serde_json::Value = serde_json::from_slice(&ligament(&["explain", "--json"]).stdout).unwrap();
    assert_eq!(json["codes"].as_array().unwrap().len(), ligament_catalogue::entries().len());
    assert_eq!(json["ok"], true);
}

#[test]
fn a_code_that_is_not_there_is_refused_with_the_nearest_one() {
    let output = ligament(&["explain", "no-such-prot"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("did you mean \"no-such-port\"?"), "{output:?}");
}

#[test]
fn shells_complete_the_codes() {
    let script = text(&ligament(&["completions", "bash"]).stdout);
    assert!(script.contains("no-such-port") && script.contains("deadlock"));
}

#[test]
fn what_goes_wrong_ends_with_a_code_that_can_be_explained() {
    let output = ligament(&["status", "nothing-like-it"]);
    let said = text(&output.stderr);
    let (_, code) = said.trim_end().rsplit_once("(ligament explain ").expect("the message names its code");
    assert!(ligament(&["explain", code]).status.success(), "{said}");
    let json = ligament(&["status", "nothing-like-it", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!((json["ok"].as_bool(), json["code"].as_str()), (Some(false), Some("no-such-run")));
}

#[test]
fn what_check_finds_has_its_code_at_the_end_of_the_line() {
    let model = std::env::temp_dir().join(format!("ligament-explain-{}.ymmsl", std::process::id()));
    std::fs::write(&model, "ymmsl_version: v0.2\nmodel: {}\n").unwrap();
    let said = text(&ligament(&["check", model.to_str().unwrap()]).stderr);
    std::fs::remove_file(&model).unwrap();
    assert!(said.lines().any(|line| line.ends_with("[unknown-key]")), "{said}");
}

#[test]
fn output_that_cannot_be_written_is_an_error_and_a_reader_that_goes_away_is_none() {
    let into = |file: std::fs::File| {
        Command::new(env!("CARGO_BIN_EXE_ligament")).arg("explain").stdout(file).output().unwrap()
    };
    let full = into(std::fs::File::options().write(true).open("/dev/full").unwrap());
    assert_eq!(full.status.code(), Some(1));
    assert!(text(&full.stderr).contains("No space left on device"), "{}", text(&full.stderr));
    assert!(text(&full.stderr).contains("ligament explain output-lost"), "{}", text(&full.stderr));

    let (reader, writer) = UnixStream::pair().unwrap();
    drop(reader);
    let writer = OwnedFd::from(writer);
    let gone = Command::new(env!("CARGO_BIN_EXE_ligament")).arg("explain").stdout(writer).output().unwrap();
    assert_eq!((gone.status.code(), text(&gone.stderr)), (Some(0), String::new()));
}
