//! `ligament graph` draws the pictures of the examples as they are in the repository. Further tests draw models
//! that are large, nested or wrong. With `LIGAMENT_WRITE_PICTURES=1` the tests write the pictures of the
//! examples; review the changes before you commit them.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn graph(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ligament")).arg("graph").args(arguments).output().unwrap()
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Makes a directory for the test `test`.
fn place(test: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("ligament-graph-{}-{test}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn model(place: &Path, text: &str) -> String {
    let path = place.join("model.ymmsl");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

const NESTED: &str = "ymmsl_version: v0.2
models:
  town:
    components:
      clock: {ports: {o_i: time, s: report}, implementation: program}
      house: {ports: {f_init: time, o_f: report}, implementation: house, multiplicity: 3}
    conduits:
      clock.time: house.time
      house.report: clock.report
  house:
    ports: {f_init: time, o_f: report}
    components:
      cellar: {ports: {f_init: time, o_f: heat}, implementation: program}
      roof: {ports: {f_init: heat, o_f: report}, implementation: program}
    conduits:
      time: cellar.time
      cellar.heat: roof.heat
      roof.report: report
programs:
  program: {executable: program}
";

#[test]
fn each_example_shows_the_picture_of_its_model() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let drawn = place("examples").join("drawn.svg");
    let write = std::env::var_os("LIGAMENT_WRITE_PICTURES").is_some();
    let mut seen = 0;
    for folder in std::fs::read_dir(examples).unwrap().map(|entry| entry.unwrap().path()) {
        let name = folder.file_name().unwrap().to_string_lossy().replace('-', "_");
        let model = folder.join(format!("{name}.ymmsl"));
        if !model.exists() {
            continue;
        }
        let picture = folder.join(format!("{name}_model.svg"));
        let to = if write { &picture } else { &drawn };
        text(&graph(&[model.to_str().unwrap(), "-o", to.to_str().unwrap()]));
        let here = std::fs::read_to_string(&picture).unwrap_or_default();
        assert_eq!(
            std::fs::read_to_string(to).unwrap(),
            here,
            "{}: LIGAMENT_WRITE_PICTURES=1",
            picture.display()
        );
        let page = std::fs::read_to_string(folder.join("README.md")).unwrap();
        assert!(page.contains(&format!("{name}_model.svg")), "{} does not show its model", folder.display());
        seen += 1;
    }
    assert!(seen >= 3);
}

#[test]
fn a_nested_model_is_open_or_one_box() {
    let model = model(&place("nested"), NESTED);
    let open = text(&graph(&[&model]));
    for line in ["house.cellar (program), 3 instances", "O_F heat → house.roof.heat (F_INIT)"] {
        assert!(open.contains(line), "{open}");
    }
    let folded = text(&graph(&[&model, "--folded"]));
    for line in ["house (program), 2 components, 6 instances", "O_F roof.report → clock.report[] (S)"] {
        assert!(folded.contains(line), "{folded}");
    }
    assert!(!folded.contains("heat"), "what passes within a folded model is not shown:\n{folded}");
}

#[test]
fn a_thousand_alike_components_share_a_box_unless_all_are_wanted() {
    let place = place("many");
    let mut lines = String::from("ymmsl_version: v0.2\nmodels:\n  ring:\n    components:\n");
    for at in 0..1000 {
        lines.push_str(&format!("      cell{at}: {{ports: {{o_i: out, s: in}}, implementation: cell}}\n"));
    }
    lines.push_str("    conduits:\n");
    for at in 0..1000 {
        lines.push_str(&format!("      cell{at}.out: cell{}.in\n", (at + 1) % 1000));
    }
    lines.push_str("programs:\n  cell: {executable: cell}\n");
    let model = model(&place, &lines);
    let one = text(&graph(&[&model]));
    assert!(one.contains("cell# (cell), 1000 components, 1000 instances"), "{one}");
    let picture = place.join("all.svg");
    let json: Value =
        serde_json::from_str(&text(&graph(&[&model, "--all", "--json", "-o", picture.to_str().unwrap()])))
            .unwrap();
    assert_eq!(json["topology"]["nodes"].as_array().unwrap().len(), 1000);
    assert_eq!(json["topology"]["links"].as_array().unwrap().len(), 1000);
    assert!(std::fs::read_to_string(picture).unwrap().contains(">cell999<"));
}

#[test]
fn filters_and_ports_that_lead_nowhere_are_shown_and_names_are_only_text() {
    let place = place("filters");
    let model = model(
        &place,
        "ymmsl_version: v0.2
models:
  \"a\":
    description: <b>&
    components:
      macro: {ports: {o_i: [out, spare]}, implementation: program}
      micro: {ports: {f_init: in}, implementation: program}
    conduits:
      macro.out: last micro.in
programs:
  program: {executable: program}
",
    );
    let picture = place.join("a.svg");
    let shown = text(&graph(&[&model, "-o", picture.to_str().unwrap()]));
    assert!(shown.contains("O_I out → (last) micro.in (F_INIT)"), "{shown}");
    assert!(shown.contains("O_I spare (not connected)"), "{shown}");
    assert!(std::fs::read_to_string(picture).unwrap().contains(">last</text>"));
}

#[test]
fn filters_under_ligament_ranks_and_vector_ports_are_shown() {
    let place = place("more");
    let model = model(
        &place,
        "ymmsl_version: v0.2
models:
  a:
    components:
      macro: {ports: {o_i: out, s: back}, implementation: program}
      micro: {ports: {f_init: in, o_f: end}, implementation: program, multiplicity: 3}
      left: {ports: {o_i: out}, implementation: ranked}
      right: {ports: {s: in}, implementation: ranked}
      undeclared: {implementation: program}
    conduits:
      macro.out: micro.in
      micro.end: macro.back
      left.out: right.in
programs:
  program: {executable: program}
  ranked: {executable: program}
ligament:
  ranks: {left: 2, right: 2}
  filters: {macro.out: [{chunk: 10}, {multiply: 2}]}
",
    );
    let picture = place.join("a.svg");
    let shown = text(&graph(&[&model, "-o", picture.to_str().unwrap()]));
    for line in [
        "O_I out[] → (chunk: 10, multiply: 2) micro.in (F_INIT)",
        "left (ranked), 2 ranks",
        "O_F end → macro.back[] (S)",
    ] {
        assert!(shown.contains(line), "{shown}");
    }
    let drawn = std::fs::read_to_string(picture).unwrap();
    assert!(drawn.contains(">chunk: 10, multiply: 2</text>") && drawn.contains(">2 ranks</text>"));
    assert!(drawn.contains(">out[]</text>"));
    let json: Value = serde_json::from_str(&text(&graph(&[&model, "--json"]))).unwrap();
    let topology = &json["topology"];
    assert_eq!(topology["links"][0]["filters"], serde_json::json!(["chunk: 10", "multiply: 2"]));
    assert_eq!(
        (&topology["nodes"][0]["ports"][0]["vector"], &topology["nodes"][2]["ranks"]),
        (&true.into(), &2.into())
    );
}

#[test]
fn a_model_with_errors_is_shown_and_the_status_says_that_it_cannot_be_run() {
    let wrong = NESTED.replace("programs:", "settings: {clock.x: {y: 1}}\nprograms:");
    let model = model(&place("errors"), &wrong);
    for command in ["graph", "tasks"] {
        let shown =
            Command::new(env!("CARGO_BIN_EXE_ligament")).args([command, &model, "--json"]).output().unwrap();
        assert_eq!(shown.status.code(), Some(2));
        let json: Value = serde_json::from_slice(&shown.stdout).unwrap();
        assert_eq!((&json["ok"], &json["problems"][0]["code"]), (&false.into(), &"bad-setting".into()));
        assert!(json["topology"]["nodes"].is_array() || json["tasks"]["tasks"].is_array());
    }
}

#[test]
fn what_cannot_be_drawn_is_said_with_its_place() {
    let place = place("wrong");
    let broken = model(&place, "ymmsl_version: v0.2\nmodels:\n  a:\n    components: 3\n");
    let refused = graph(&[&broken]);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("model.ymmsl:4"), "{said}");
    let model = model(&place, NESTED);
    let odd = place.join("a.gif");
    let refused = graph(&[&model, "-o", odd.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains(".svg or .png") && !odd.exists());
}
