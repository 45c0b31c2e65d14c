//! Tests of the inputs that are staged for each process, and of their files.

use super::*;
use ligament_model::Configuration;

/// A directory with a model file and files to stage.
struct StagingFixture(PathBuf);

impl StagingFixture {
    fn new(test: &str) -> StagingFixture {
        let path = std::env::temp_dir().join(format!("ligament-staging-{}-{test}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(path.join("data/deep")).unwrap();
        std::fs::create_dir_all(path.join("other")).unwrap();
        for (name, text) in [("mesh", "mesh"), ("data/a", "a"), ("data/deep/b", "b"), ("other/mesh", "another")]
        {
            std::fs::write(path.join(name), text).unwrap();
        }
        StagingFixture(path)
    }

    fn model(&self, stage: &str) -> ResolvedModel {
        let text = format!(
            "ymmsl_version: v0.2\nmodels:\n  town:\n    components:\n      macro: {{ports: {{o_i: out}}, \
            implementation: p}}\n      micro: {{multiplicity: 2, implementation: p}}\nprograms: {{p: \
            {{executable: p}}}}\nligament: {{stage: {stage}}}\n"
        );
        let file = self.0.join("m.ymmsl").display().to_string();
        Configuration::from_yaml(&text, &file).unwrap().expand().unwrap()
    }

    fn inputs(&self, stage: &str) -> Result<StagedInputs, Fault> {
        StagedInputs::of(&self.model(stage), |i| i)
    }
}

impl Drop for StagingFixture {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn told(inputs: &StagedInputs) -> Vec<(u32, &str, &str)> {
    let one = |given: &ProcessInput| inputs.files[given.input as usize].name.clone();
    let names: Vec<String> = inputs.given.iter().map(one).collect();
    let names: Vec<&'static str> = names.into_iter().map(|name| &*name.leak()).collect();
    inputs
        .given
        .iter()
        .zip(names)
        .map(|(given, name)| (given.process.number(), given.name.as_str(), name))
        .collect()
}

#[test]
fn every_instance_of_a_component_finds_its_files_and_one_copy_is_kept() {
    let ground = StagingFixture::new("component");
    let inputs = ground.inputs("{micro: [mesh, data]}").unwrap();
    assert_eq!(inputs.files.len(), 3);
    let each = [("data/a", "data/a"), ("data/deep/b", "data/deep/b"), ("mesh", "mesh")];
    let wanted: Vec<_> = [1, 2].iter().flat_map(|&i| each.map(|(name, stored)| (i, name, stored))).collect();
    assert_eq!(told(&inputs), wanted);
}

#[test]
fn an_instances_own_file_comes_before_its_components_of_that_name() {
    let ground = StagingFixture::new("own");
    let inputs = ground.inputs("{micro: mesh, \"micro[1]\": other/mesh}").unwrap();
    assert_eq!(told(&inputs), [(1, "mesh", "mesh"), (2, "mesh", "mesh~2")]);
    let found = inputs.staged_for(InstanceId::new(2), Path::new("/w"));
    assert_eq!(found[&ground.0.join("other/mesh")], Path::new("/w/mesh"));
}

#[test]
fn instances_of_one_process_cannot_have_different_files_of_one_name() {
    let ground = StagingFixture::new("process");
    let model = ground.model("{micro: mesh, \"micro[1]\": other/mesh}");
    let why = StagedInputs::of(&model, |i| i.min(InstanceId::new(1))).unwrap_err();
    assert!(why.contains("different inputs called \"mesh\""), "{why}");
}

#[test]
fn what_is_not_there_or_no_file_is_named() {
    let ground = StagingFixture::new("missing");
    let why = ground.inputs("{macro: nothing}").unwrap_err();
    assert!(why.starts_with("the inputs of macro cannot be staged: ") && why.contains("nothing"), "{why}");
    let why = ground.inputs("{macro: {nothing: /dev/null}}").unwrap_err();
    assert!(why.contains("/dev/null is neither a file nor a directory"), "{why}");
}

#[test]
fn a_directory_that_leads_back_into_itself_is_not_followed_for_ever() {
    let ground = StagingFixture::new("circle");
    std::os::unix::fs::symlink("..", ground.0.join("data/deep/up")).unwrap();
    assert!(ground.inputs("{macro: data}").unwrap_err().contains("too deep"));
}

#[test]
fn a_copy_is_whole_can_be_executed_as_before_and_is_not_to_be_written() {
    let ground = StagingFixture::new("copy");
    let source = ground.0.join("mesh");
    std::fs::set_permissions(&source, std::fs::Permissions::from_mode(0o750)).unwrap();
    let inputs = ground.inputs("{macro: mesh}").unwrap();
    let (input, copy) = (&inputs.files[0], ground.0.join("inputs/mesh"));
    store(&input.source, &copy, input.bytes, input.mode).unwrap();
    assert_eq!(std::fs::read(&copy).unwrap(), b"mesh");
    assert_eq!(std::fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o550);
    let there = ground.0.join("workdir/data/mesh");
    copy_for_process(&copy, &there, input.bytes, input.mode).unwrap();
    assert!(copy_for_process(&copy, &source, 4, 0o400).unwrap_err().contains("is there already"));
    let why = store(&ground.0.join("nothing"), &ground.0.join("inputs/nothing"), 0, 0o400).unwrap_err();
    assert!(why.contains("No such file"), "{why}");
    let left: Vec<_> = std::fs::read_dir(ground.0.join("inputs")).unwrap().collect();
    assert_eq!(left.len(), 1, "nothing half-written is left: {left:?}");
}

#[test]
fn each_process_has_a_copy_of_its_own_and_writing_to_it_changes_no_other_and_shows() {
    let ground = StagingFixture::new("own-copies");
    let inputs = ground.inputs("{micro: mesh}").unwrap();
    let (input, stored) = (&inputs.files[0], ground.0.join("inputs/mesh"));
    store(&input.source, &stored, input.bytes, input.mode).unwrap();
    let [one, other] = ["1/mesh", "2/mesh"].map(|name| ground.0.join(name));
    let laid = [&one, &other].map(|there| copy_for_process(&stored, there, input.bytes, input.mode).unwrap());
    let now = |path: &Path| CopyStamp::of(&std::fs::metadata(path).unwrap());
    assert_eq!(std::fs::metadata(&one).unwrap().permissions().mode() & 0o300, 0o200, "its owner may write");
    assert_eq!(laid, [now(&one), now(&other)]);
    // The new content has the same length, and is written immediately after the copy was made.
    std::fs::write(&one, "MESH").unwrap();
    assert_ne!(laid[0], now(&one));
    assert_eq!(laid[1], now(&other));
    for kept in [&other, &stored, &input.source] {
        assert_eq!(std::fs::read(kept).unwrap(), b"mesh");
    }
}
