//! Good models have no errors. A large model is checked fast enough for a check after each change in an editor.

use ligament_analysis::{check_configuration, check_with_modules, CheckOptions, Files, GivenCode};
use ligament_model::{FileModules, ModelBuilder, SettingValue};
use std::path::Path;

fn options() -> CheckOptions {
    CheckOptions { files: Files::Elsewhere, given: GivenCode::Everything, ..CheckOptions::default() }
}

#[test]
fn good_models_have_no_errors() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/models/good");
    let modules = FileModules { path: vec![folder.join("modules")], ..FileModules::default() };
    let mut checked = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "ymmsl") {
            continue;
        }
        let report = check_with_modules(&[&path], &options(), &modules);
        let errors: Vec<_> = report.problems.iter().filter(|p| p.is_error() && p.code != "no-model").collect();
        assert!(errors.is_empty(), "{}: {errors:#?}", path.display());
        checked += 1;
    }
    assert!(checked >= 18, "only {checked} good models were found");
}

#[test]
fn the_text_that_is_written_beside_the_check_is_that_of_all_that_was_read_and_set() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/models/good");
    let path = folder.join("v02_scales.ymmsl");
    let mut options = options();
    options.settings.push(ligament_model::parse_assignment("flow.scale.time_step=0.25").unwrap());
    let beside = CheckOptions { with_text: true, ..options.clone() };
    let beside = check_with_modules(&[&path], &beside, &FileModules::default());
    let after = check_with_modules(&[&path], &options, &FileModules::default());
    let text = beside.into_text();
    assert_eq!(text, after.into_text());
    assert!(text.contains("flow.scale.time_step: 0.25"), "{text}");
}

#[test]
fn codes_find_their_scales_as_settings_in_seconds_and_metres() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/models/good/v02_scales.ymmsl");
    let mut options = options();
    options.settings.push(ligament_model::parse_assignment("flow.scale.time_step=0.25").unwrap());
    let report = check_with_modules(&[&path], &options, &FileModules::default());
    let settings = report.resolved.unwrap().settings;
    let of = |instance: &str, name: &str| {
        let found = settings.get(&instance.parse().unwrap(), &format!("scale.{name}").parse().unwrap());
        found.map(|(_, value)| value.clone())
    };
    assert_eq!(of("tissue", "time_step"), Some(SettingValue::Float(21_600.0)));
    assert_eq!(of("tissue", "extent"), Some(SettingValue::FloatList(vec![0.01, 0.004])));
    assert_eq!(of("drug[1]", "total_time"), Some(SettingValue::Float(1800.0)));
    assert_eq!(of("drug[1]", "time_step"), None);
    // The setting of the user replaces the scale of the model file.
    assert_eq!(of("flow", "time_step"), Some(SettingValue::Float(0.25)));
}

#[test]
fn codes_find_their_times_in_the_unit_of_the_model() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/models/good/v02_scales.ymmsl");
    let folder = std::env::temp_dir().join(format!("ligament-unit-of-time-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let unit = folder.join("unit.ymmsl");
    std::fs::write(&unit, "ymmsl_version: v0.2\nligament: {time_unit: d}\n").unwrap();
    let report = check_with_modules(&[&path, &unit], &options(), &FileModules::default());
    std::fs::remove_dir_all(&folder).unwrap();
    let settings = report.resolved.unwrap().settings;
    let step = settings.exact(&"tissue.scale.time_step".parse().unwrap());
    assert_eq!(step, Some(&SettingValue::Float(0.25)));
    let extent = settings.exact(&"tissue.scale.extent".parse().unwrap());
    assert_eq!(extent, Some(&SettingValue::FloatList(vec![0.01, 0.004])));
}

#[test]
fn later_files_add_to_earlier_ones() {
    let folder = std::env::temp_dir().join(format!("ligament-analysis-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let model = folder.join("model.ymmsl");
    let more = folder.join("more.ymmsl");
    std::fs::write(
        &model,
        "ymmsl_version: v0.1\nmodel:\n  name: m\n  components: {a: p}\nsettings: {x: 1, y: 1}\n",
    )
    .unwrap();
    std::fs::write(
        &more,
        "ymmsl_version: v0.2\nprograms: {p: {executable: /bin/true}}\nsettings: {x: 2}\nresources: {m.a: \
         {threads: 3}}\n",
    )
    .unwrap();
    let mut options = CheckOptions::default();
    options.settings.push(ligament_model::parse_assignment("y=5").unwrap());
    let report = check_with_modules(&[&model, &more], &options, &FileModules::default());
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(report.is_ok(), "{}", report.to_text());
    let resolved = report.resolved.unwrap();
    let get = |name: &str| resolved.settings.exact(&name.parse().unwrap()).cloned();
    assert_eq!(get("x"), Some(SettingValue::Int(2)));
    assert_eq!(get("y"), Some(SettingValue::Int(5)));
    assert_eq!(resolved.instances[0].resources, ligament_model::Resources::Threads { threads: 3 });
    assert_eq!(resolved.program(0).unwrap().executable.as_deref(), Some("/bin/true"));
}

#[test]
fn a_component_with_code_needs_no_program() {
    let mut model = ModelBuilder::new("m").unwrap();
    model.add_component("a", Some("f"), &[("O_F", "out")], &[]).unwrap();
    let mut options = options();
    options.given = GivenCode::Nothing;
    let report = check_configuration(model.configuration().clone(), &options);
    assert_eq!(report.problems[0].code, "unknown-implementation");
    options.given = GivenCode::Names(["f".to_owned()].into());
    assert!(check_configuration(model.into_configuration(), &options).is_ok());
}

#[test]
fn a_model_of_a_thousand_instances_and_fifty_thousand_conduits_is_checked() {
    let mut model = ModelBuilder::new("grid").unwrap();
    for i in 0..1000 {
        model.add_component(&format!("c{i}"), Some("p"), &[], &[]).unwrap();
        for p in 0..50 {
            model.connect(&format!("c{i}.out{p}"), &format!("c{}.in{p}", (i + p + 1) % 1000)).unwrap();
        }
    }
    let start = std::time::Instant::now();
    let report = check_configuration(model.into_configuration(), &options());
    println!("checked in {:?}", start.elapsed());
    assert!(report.is_ok(), "{}", report.to_text());
    assert_eq!(report.resolved.unwrap().channels.len(), 50_000);
}

#[test]
fn the_examples_of_the_reference_page_are_right() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/model-file.md");
    let page = std::fs::read_to_string(page).unwrap();
    let blocks: Vec<&str> =
        page.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    let ligament = blocks.iter().find(|b| b.starts_with("ligament:")).unwrap();
    let read = ligament_model::read(&format!("{}{ligament}", blocks[0]), "model-file.md");
    assert!(read.problems.is_empty(), "{:#?}", read.problems);
    let report = check_configuration(read.configuration, &options());
    assert!(report.problems.is_empty(), "{}", report.to_text());
    assert_eq!(report.resolved.unwrap().channels[0].budget, Some(8 << 20));
}
