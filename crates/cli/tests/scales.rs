//! `ligament scales` and `ligament tasks` draw the pictures of the examples as they are in the repository.
//! Further tests show models with filters, nested models, circles of waits, and mistakes. With
//! `LIGAMENT_WRITE_PICTURES=1` the tests write the pictures of the examples; review the changes before you
//! commit them.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn ligament(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ligament")).args(arguments).output().unwrap()
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&text(&ligament(arguments))).unwrap()
}

/// Writes a model to a directory for the test `test`, and returns its path.
fn model(test: &str, text: &str) -> PathBuf {
    let place = std::env::temp_dir().join(format!("ligament-scales-{}-{test}", std::process::id()));
    let _ = std::fs::remove_dir_all(&place);
    std::fs::create_dir_all(&place).unwrap();
    let path = place.join("model.ymmsl");
    std::fs::write(&path, text).unwrap();
    path
}

const LEVELS: &str = "ymmsl_version: v0.2
models:
  levels:
    components:
      macro: {ports: {o_i: [call, forcing], s: done, o_f: end}, implementation: program}
      meso: {ports: {f_init: start, o_i: call, s: [done, forcing], o_f: end}, implementation: program}
      micro: {ports: {f_init: start, o_f: end}, implementation: program, multiplicity: 3}
      after: {ports: {f_init: [start, trace]}, implementation: program}
    conduits:
      macro.call: meso.start
      macro.forcing: repeat meso.forcing
      macro.end: after.start
      meso.call: micro.start
      meso.end: [macro.done, last after.trace]
      micro.end: meso.done
programs:
  program: {executable: program}
ligament:
  scales:
    macro: {time_step: 1 h, total_time: 2 h, space_step: 1 mm, extent: [1 m, 2 m]}
    meso: {time_step: 1 min, total_time: 1 h, extent: 1 cm}
    micro: {time_step: 1 ms, total_time: 2 s, space_step: 50 µm, extent: 1 mm}
";

#[test]
fn each_example_shows_its_scales() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let drawn = model("examples", "").with_file_name("drawn.svg");
    let write = std::env::var_os("LIGAMENT_WRITE_PICTURES").is_some();
    let mut seen = 0;
    for folder in std::fs::read_dir(examples).unwrap().map(|entry| entry.unwrap().path()) {
        let name = folder.file_name().unwrap().to_string_lossy().replace('-', "_");
        let model = folder.join(format!("{name}.ymmsl"));
        if !std::fs::read_to_string(&model).is_ok_and(|text| text.contains("\n  scales:")) {
            continue;
        }
        for what in ["scales", "tasks"] {
            let picture = folder.join(format!("{name}_{what}.svg"));
            let to = if write { &picture } else { &drawn };
            text(&ligament(&[what, model.to_str().unwrap(), "-o", to.to_str().unwrap()]));
            let here = std::fs::read_to_string(&picture).unwrap_or_default();
            let now = std::fs::read_to_string(to).unwrap();
            assert_eq!(now, here, "{}: LIGAMENT_WRITE_PICTURES=1", picture.display());
            let page = std::fs::read_to_string(folder.join("README.md")).unwrap();
            assert!(page.contains(&format!("{name}_{what}.svg")), "{} does not show it", folder.display());
        }
        seen += 1;
    }
    assert!(seen >= 4);
}

#[test]
fn the_map_says_what_is_resolved_and_how_far_apart_it_is() {
    let path = model("map", LEVELS);
    let file = path.to_str().unwrap();
    let shown = text(&ligament(&["scales", file]));
    for line in [
        "macro      1 h – 2 h    1 mm – 2 m    2",
        "meso       1 min – 1 h  1 cm          60",
        "micro      1 ms – 2 s   50 µm – 1 mm  2000",
        "macro (O_I) → meso (F_INIT): time contiguous, space overlapping",
        "meso (O_I) → micro (F_INIT): time separated 30 times, space separated 10 times",
        "without scales: after",
    ] {
        assert!(shown.contains(line), "{line}\n{shown}");
    }
    let picture = path.with_file_name("map.svg");
    let map = json(&["scales", file, "--json", "-o", picture.to_str().unwrap()]);
    assert_eq!(map["scales"]["boxes"][0]["time_step"], 3600.0);
    assert_eq!(map["scales"]["boxes"][0]["extent"], serde_json::json!([1.0, 2.0]));
    assert_eq!(map["scales"]["links"][0]["time"]["kind"], "contiguous");
    assert!(std::fs::read_to_string(picture).unwrap().contains(">micro</text>"));
}

/// Returns the values of an attribute in all lines of a picture that contain the text `with`.
fn numbers(picture: &str, with: &str, attribute: &str) -> Vec<f64> {
    let of = |line: &str| {
        let (_, rest) = line.split_once(&format!(" {attribute}=\"")).unwrap();
        rest.split('"').next().unwrap().parse().unwrap()
    };
    picture.lines().filter(|line| line.contains(with)).map(of).collect()
}

#[test]
fn a_component_without_a_time_covers_no_names_of_the_axis() {
    let timeless =
        LEVELS.replace("time_step: 1 min, total_time: 1 h, extent: 1 cm", "space_step: 1 mm, extent: 1 m");
    let path = model("timeless", &timeless);
    let to = path.with_file_name("timeless.svg");
    text(&ligament(&["scales", path.to_str().unwrap(), "-o", to.to_str().unwrap()]));
    let picture = std::fs::read_to_string(to).unwrap();
    let left = numbers(&picture, "<title>meso: ", "x")[0];
    let axis: Vec<f64> = numbers(&picture, "text-anchor=\"end\" fill=\"#444\"", "x");
    // The last label belongs to the time axis, at the right.
    assert!(axis.len() > 4 && axis[..axis.len() - 1].iter().all(|x| *x < left), "{left} {axis:?}");
    let others = numbers(&picture, "<title>macro: ", "x")[0];
    assert!(left + numbers(&picture, "<title>meso: ", "width")[0] < others);
}

#[test]
fn the_order_follows_calls_restarts_and_filters() {
    let path = model("order", LEVELS);
    let shown = text(&ligament(&["tasks", path.to_str().unwrap()]));
    for line in [
        "macro  O_I 1\n",
        "meso   F_INIT 1 ← macro.call\n",
        // Both steps of the pass receive the same message of macro, because it is repeated.
        "meso   S 1.1 ← macro.forcing, micro.end\n",
        "meso   S 1.2 ← macro.forcing, micro.end\n",
        "micro  F_INIT 4 ← meso.call\n",
        "macro  S 2 ← meso.end\n",
        "after  F_INIT ← macro.end, meso.end\n",
    ] {
        assert!(shown.contains(line), "{line}\n{shown}");
    }
    let tasks = json(&["tasks", path.to_str().unwrap(), "--json"])["tasks"].clone();
    let all = tasks["tasks"].as_array().unwrap();
    let of = |component: u64, operator: &str| {
        let is_it = |task: &&Value| task["component"] == component && task["operator"] == operator;
        all.iter().filter(is_it).cloned().collect::<Vec<Value>>()
    };
    // All steps of a pass receive the message that macro sent in the step that called the pass.
    for step in of(1, "S") {
        let sent = step["after"].as_array().unwrap().iter().filter_map(|after| {
            let from = &all[after["task"].as_u64().unwrap() as usize];
            (after["message"][0] == "macro.forcing").then(|| from["step"].clone())
        });
        assert_eq!(sent.collect::<Vec<_>>(), [step["pass"].clone()], "{step}");
    }
    assert_eq!((of(2, "F_INIT").len(), tasks["stuck"].as_array().unwrap().len()), (4, 0));
    assert_eq!(tasks["rounds"], 26);
    let once = json(&["tasks", path.to_str().unwrap(), "--steps", "1", "--json"])["tasks"].clone();
    assert_eq!(once["tasks"].as_array().unwrap().len(), 10);
}

#[test]
fn an_order_that_comes_to_a_circle_says_who_waits() {
    let path = model(
        "circle",
        &LEVELS
            .replace("      macro.call: meso.start", "      macro.end: meso.start")
            .replace("      macro.end: after.start\n", ""),
    );
    let shown = ligament(&["tasks", path.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(said.contains("macro: waits for ever") && said.contains("meso: waits for ever"), "{said}");
}

#[test]
fn what_has_no_scales_or_wrong_ones_is_told_with_its_place() {
    let path = model("none", &LEVELS[..LEVELS.find("ligament:").unwrap()]);
    let refused = ligament(&["scales", path.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("no component of \"levels\" has scales"));
    let path = model("wrong", &LEVELS.replace("time_step: 1 min", "time_step: 1"));
    let checked = ligament(&["check", "--elsewhere", path.to_str().unwrap()]);
    assert_eq!(checked.status.code(), Some(2));
    let said = String::from_utf8_lossy(&checked.stderr).into_owned();
    assert!(
        said.contains("model.ymmsl:21:23: error: \"time_step\" is the whole number 1, without a unit"),
        "{said}"
    );
}
