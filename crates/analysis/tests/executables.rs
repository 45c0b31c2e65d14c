//! Reports about missing programs and scripts, and about programs that cannot be started in the given form,
//! name the file that the user meant and the correct form.

use ligament_analysis::{check, CheckOptions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// A temporary directory with files, in which a test checks models.
struct Place(PathBuf);

impl Place {
    fn new(test: &str, files: &[(&str, &str, u32)]) -> Place {
        let path = std::env::temp_dir().join(format!("ligament-executables-{}-{test}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        for (name, text, mode) in files {
            std::fs::write(path.join(name), text).unwrap();
            std::fs::set_permissions(path.join(name), std::fs::Permissions::from_mode(*mode)).unwrap();
        }
        Place(path)
    }

    /// Returns the reports about a model with this program as `[code] message; advice`. Paths are relative to
    /// the directory.
    fn said(&self, program: &str) -> Vec<String> {
        self.said_of(program, "")
    }

    fn said_of(&self, program: &str, more: &str) -> Vec<String> {
        let model = self.0.join("model.ymmsl");
        let text = format!(
            "ymmsl_version: v0.1\nmodel: {{name: m, components: {{micro: micro}}}}\nimplementations:\n  micro: \
             {program}\n{more}"
        );
        std::fs::write(&model, text).unwrap();
        let report = check(&[&model], &CheckOptions::default());
        let said = report.problems.iter().map(|p| {
            assert!(p.line == 4 || !more.is_empty(), "{p}");
            format!("[{}] {}; {}", p.code, p.message, p.advice).replace(&format!("{}/", self.0.display()), "")
        });
        said.collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const SCRIPT: &str = "print('x')\n";

#[test]
fn a_script_that_is_missing_is_found_and_what_was_meant_is_named() {
    let place = Place::new("script", &[("micro.py", SCRIPT, 0o644)]);
    assert!(place.said("{executable: python3, args: micro.py}").is_empty());
    assert!(place.said("{executable: python3, args: [-u, micro.py, --level, 3 x]}").is_empty());
    assert!(place.said("{executable: python3, args: [-m, mirco]}").is_empty());
    let of_variable = "{executable: python3, args: ['$WHERE/mirco.py'], env: {WHERE: /nowhere}";
    let said = place.said(&format!("{of_variable}}}"));
    assert!(said[0].starts_with("[missing-script] the script \"$WHERE/mirco.py\" that python3"), "{said:?}");
    assert!(said[0].contains("(looked for at /nowhere/mirco.py)"), "{said:?}");
    assert!(place.said("{executable: python3, args: ['$WHERE/mirco.py'], modules: [m]}").is_empty());
    assert_eq!(
        place.said("{executable: python3, args: mirco.py}"),
        ["[missing-script] the script \"mirco.py\" that python3 is to run for \"micro\" is not there (looked \
          for at mirco.py); did you mean \"micro.py\"?"]
    );
    assert!(place.said("{executable: python3, args: [-u, other.py]}")[0].contains("put it there"));
    let staged = "ligament: {stage: {micro: {mirco.py: micro.py}}}\n";
    assert!(place.said_of("{executable: python3, args: mirco.py}", staged).is_empty());
}

#[test]
fn variables_in_arguments_that_are_not_set_are_noted_unless_the_start_sets_them() {
    let place = Place::new("unset", &[]);
    let notes = |program: &str| {
        assert!(place.said(program).is_empty(), "{program}");
        check(&[&place.0.join("model.ymmsl")], &CheckOptions::default()).notes
    };
    let unset = "['$NO_SUCH/x', 'a${NO_SUCH}$NEITHER', '$$NO_SUCH', '$LIGAMENT_INSTANCE', '$OWN']";
    let program = format!("executable: /bin/true, args: {unset}, env: {{OWN: x}}");
    assert_eq!(
        notes(&format!("{{{program}}}")),
        ["NO_SUCH, NEITHER in the arguments of \"micro\" are not set here; where the run is started without \
          them, nothing is filled in"]
    );
    assert!(notes(&format!("{{{program}, modules: [m]}}")).is_empty());
    assert!(notes("{executable: /bin/true, args: ['$PATH', '$CARGO_MANIFEST_DIR']}").is_empty());
}

#[test]
fn several_arguments_in_one_text_are_found() {
    let place = Place::new("words", &[("micro.py", SCRIPT, 0o644), ("a b.py", SCRIPT, 0o644)]);
    for (args, advice) in
        [("-u micro.py", "write args: [-u, micro.py]"), ("micro.py --fast", "write args: [micro.py, --fast]")]
    {
        let said = place.said(&format!("{{executable: python3, args: [{args}]}}"));
        assert!(
            said.len() == 1 && said[0].starts_with("[one-argument]") && said[0].ends_with(advice),
            "{said:?}"
        );
    }
    assert!(place.said("{executable: python3, args: [a b.py]}").is_empty());
    let said = place.said("{executable: /bin/true, args: [--level 3]}");
    assert!(said[0].contains("write args: [--level, 3]"), "{said:?}");
    assert!(place.said("{executable: /bin/true, args: [some text]}").is_empty());
    assert!(place.said("{executable: bash, args: [-c, echo a b]}").is_empty());
}

#[test]
fn a_script_as_executable_is_told_how_to_be_written() {
    let files = [
        ("micro.py", SCRIPT, 0o644),
        ("other.py", SCRIPT, 0o755),
        ("good.py", "#!/usr/bin/env sh\n", 0o755),
        ("dos.py", "#!/bin/sh\r\n", 0o755),
        ("lost.py", "#!/no/such/python\n", 0o755),
        ("lost2.py", "#!/usr/bin/env no-such-python\n", 0o755),
        ("plain.sh", "#!/bin/sh\n", 0o644),
    ];
    let place = Place::new("as-executable", &files);
    let advice = "write \"executable: python3\" and \"args: micro.py\"";
    for (program, code, part) in [
        ("{executable: micro.py}", "missing-executable", advice),
        ("{executable: mirco.py}", "missing-executable", advice),
        ("{executable: ./micro.py}", "not-executable", advice),
        ("{executable: ./other.py}", "not-executable", "args: other.py"),
        ("{executable: ./dos.py}", "not-executable", "line ends of Unix"),
        ("{executable: ./lost.py}", "not-executable", "\"#!/no/such/python\", which is not there"),
        ("{executable: ./lost2.py}", "not-executable", "install no-such-python"),
        ("{executable: ./plain.sh}", "not-executable", "chmod +x"),
    ] {
        let said = place.said(program);
        assert!(
            said.len() == 1 && said[0].starts_with(&format!("[{code}]")) && said[0].contains(part),
            "{program}: {said:?}"
        );
    }
    assert!(place.said("{executable: ./good.py}").is_empty());
}

#[test]
fn a_program_that_is_not_built_or_misspelt_is_told_so() {
    let files = [
        ("weather.c", "", 0o644),
        ("climate.f90", "", 0o644),
        ("ocean.cpp", "", 0o644),
        ("ocean_model", "\u{7f}ELF", 0o755),
        ("notes", "", 0o644),
    ];
    let place = Place::new("built", &files);
    for (program, part) in [
        (
            "{executable: ./weather}",
            "; build it: cc ./weather.c -o ./weather $(ligament config --cflags --libs)",
        ),
        ("{executable: weather}", "build it: cc weather.c"),
        ("{executable: build/ocean}", "; build it: c++ -std=c++17 ocean.cpp -o build/ocean $("),
        ("{executable: ./climate}", "; build it from ./climate.f90"),
        ("{executable: ./ocean_modle}", "; did you mean \"./ocean_model\"?"),
        ("{executable: ocean_model}", "write \"executable: ./ocean_model\""),
        ("{executable: pyhton3, args: [-V]}", "; did you mean \"python3"),
        ("{executable: ./note}", "; build it, or correct the path"),
    ] {
        let said = place.said(program);
        assert!(
            said.len() == 1 && said[0].starts_with("[missing-executable]") && said[0].contains(part),
            "{program}: {said:?}"
        );
    }
}

#[test]
fn a_program_of_mpi_is_built_by_the_compiler_of_mpi() {
    let place = Place::new("mpi", &[("weather.c", "", 0o644), ("ocean.cpp", "", 0o644)]);
    for (name, part) in [("weather", "mpicc ./weather.c -o"), ("ocean", "mpicxx -std=c++17 ./ocean.cpp -o")] {
        let program = format!("{{executable: ./{name}, execution_model: openmpi}}");
        let said = place.said_of(&program, "resources: {micro: {mpi_processes: 2}}\n");
        assert!(said[0].starts_with("[missing-executable]") && said[0].contains(part), "{said:?}");
    }
}

#[test]
fn an_input_that_is_missing_says_where_it_would_go() {
    let place = Place::new("input", &[("mesh.dat", "", 0o644)]);
    let said = place.said_of("{executable: /bin/true}", "ligament: {stage: {micro: [mseh.dat]}}\n");
    assert_eq!(
        said,
        ["[missing-input] the input \"mseh.dat\", which \"stage:\" is to put into the working directory of \
          \"micro\", is not there (looked for at mseh.dat); did you mean \"mesh.dat\"?"]
    );
}

#[test]
fn a_virtual_environment_is_one_if_it_has_a_python_and_one_that_modules_name_is_left_to_the_run() {
    let place = Place::new("venv", &[]);
    let with = |venv: &str| place.said(&format!("{{executable: /bin/true, virtual_env: {venv}}}"));
    std::fs::create_dir_all(place.0.join("half/bin")).unwrap();
    std::fs::write(place.0.join("half/bin/activate"), "").unwrap();
    assert!(with("half")[0].starts_with("[missing-virtual-env]"));
    let said = with("$NO_SUCH_VARIABLE/venv");
    assert!(
        said[0].starts_with("[missing-virtual-env]") && said[0].contains("NO_SUCH_VARIABLE, that is not set")
    );
    assert!(with("'${ROOT}/venv', modules: [m]").is_empty());
}
