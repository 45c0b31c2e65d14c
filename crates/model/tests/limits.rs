//! Small files that would become huge models are refused soon, with a place and what to do; and no file makes
//! the reader wait for ever or overflow the stack.

use ligament_model::*;
use std::fmt::Write;

fn flatten(text: &str) -> Result<FlatModel, Problem> {
    let read = read(text, "m.ymmsl");
    assert!(read.problems.is_empty(), "{:#?}", read.problems);
    read.configuration.flatten(None)
}

/// A chain of `levels` models. Each uses the next one once for each of `uses`; the last has a component with a
/// program.
fn nested(levels: usize, uses: &[&str], conduits: &str) -> String {
    let mut text = "ymmsl_version: v0.2\nprograms: {p: {executable: p}}\nmodels:\n".to_owned();
    for level in 0..=levels {
        let inner = if level == levels { "p".to_owned() } else { format!("m{}", level + 1) };
        let ports = if level == 0 { "" } else { "ports: {f_init: i}, " };
        writeln!(text, "  m{level}:\n    {{description: x, {ports}components: {{").unwrap();
        for name in uses {
            writeln!(text, "      {name}: {{description: x, ports: {{f_init: i}}, implementation: {inner}}},")
                .unwrap();
        }
        if level == 0 {
            writeln!(text, "      s: {{description: x, ports: {{o_f: i}}, implementation: p}}}},").unwrap();
            writeln!(text, "      conduits: {{s.i: {}.i}}}}", uses[0]).unwrap();
        } else {
            writeln!(text, "      }}, conduits: {{{conduits}}}}}").unwrap();
        }
    }
    text
}

#[test]
fn models_that_double_at_each_level_are_refused_before_they_are_made() {
    let error = flatten(&nested(40, &["a", "b"], "i: [a.i, b.i]")).unwrap_err();
    assert_eq!((error.code.name(), error.line > 0), ("too-large", true), "{error}");
    assert!(error.message.contains("10000") && error.advice.contains("instances:"), "{error}");
    assert_eq!(flatten(&nested(6, &["a", "b"], "i: [a.i, b.i]")).unwrap().components.len(), 129);
}

#[test]
fn conduits_that_double_at_each_level_are_refused_even_where_they_are_wrong() {
    let error = flatten(&nested(40, &["a"], "i: [a.i, a.i]")).unwrap_err();
    assert_eq!(error.code, "too-large", "{error}");
    assert!(error.message.contains("ports and conduits"), "{error}");
}

#[test]
fn ports_of_one_program_do_not_become_millions() {
    let ports: String = (0..2000).map(|i| format!(" p{i}")).collect();
    let text = nested(12, &["a", "b"], "")
        .replace("{executable: p}", &format!("{{executable: p, ports: {{o_f:{ports}}}}}"));
    let text = text.replace("ports: {f_init: i}, implementation: p}", "implementation: p}");
    let error = flatten(&text).unwrap_err();
    assert_eq!(error.code, "too-large", "{error}");
    assert!(error.message.contains("ports and conduits"), "{error}");
}

#[test]
fn what_a_file_declares_itself_is_never_too_much() {
    let mut text =
        "ymmsl_version: v0.2\nprograms: {p: {executable: p}}\nmodels:\n  m:\n    description: x\n".to_owned();
    let ports: String = (0..30_000).map(|i| format!(" p{i}")).collect();
    let conduits: String = (0..30_000).map(|i| format!("      a.p{i}: b.p{i}\n")).collect();
    writeln!(text, "    components:\n      a: {{description: x, ports: {{o_f:{ports}}}, implementation: p}}")
        .unwrap();
    write!(
        text,
        "      b: {{description: x, ports: {{f_init:{ports}}}, implementation: p}}\n    conduits:\n{conduits}"
    )
    .unwrap();
    let text = format!("{text}ligament: {{instances: 2}}\n");
    assert_eq!(flatten(&text).unwrap().conduits.len(), 30_000);
}

#[test]
fn models_within_models_without_end_are_refused() {
    assert!(flatten(&nested(60, &["a"], "i: a.i")).is_ok());
    let error = flatten(&nested(70, &["a"], "i: a.i")).unwrap_err();
    assert_eq!(error.code, "nested-too-deep", "{error}");
    // Models without components count too.
    let empty = nested(40, &["a", "b"], "").replace("implementation: p}", "optional: true}");
    assert_eq!(flatten(&empty).unwrap_err().code, "too-large");
}

#[test]
fn a_name_that_no_directory_can_have_is_refused() {
    let model = |name: &str, shape: &str| {
        flatten(&format!(
            "ymmsl_version: v0.1\nmodel:\n  name: m\n  components:\n    ? {name}\n    : {{implementation: p, \
             multiplicity: {shape}}}\n"
        ))
    };
    assert!(model(&"x".repeat(255), "[]").is_ok());
    assert_eq!(model(&"x".repeat(256), "[]").unwrap_err().code, "name-too-long");
    assert!(model(&"x".repeat(247), "[10, 10, 1]").is_err());
    let many = vec!["1"; 100_000].join(", ");
    assert_eq!(model("x", &format!("[{many}]")).unwrap_err().code, "name-too-long");
}

#[test]
fn multiplicities_whose_product_is_no_number_are_refused() {
    let text = "ymmsl_version: v0.1\nmodel:\n  name: m\n  components:\n    a: {implementation: p, \
                multiplicity: [4611686018427387904, 4611686018427387904]}\n";
    let error = read(text, "m.ymmsl").configuration.expand().unwrap_err();
    assert_eq!(error.0[0].code, "too-large");
}

/// Modules of which each imports the next.
struct Chain(usize);

impl Modules for Chain {
    fn find(&self, module: &Reference, _: Option<&std::path::Path>) -> Result<ModuleText, NoModule> {
        let level: usize = module.to_string()[1..].parse().unwrap();
        let text = if level == self.0 {
            "ymmsl_version: v0.2\nprograms: {p: {executable: p}}\n".to_owned()
        } else {
            let next = if level + 1 == self.0 { "p".to_owned() } else { format!("m{}", level + 1) };
            format!(
                "ymmsl_version: v0.2\nimports: [from k{} import implementation {next}]\nmodels:\n  \
                     m{level}: {{description: x, components: {{a: {{description: x, implementation: \
                     {next}}}}}}}\n",
                level + 1
            )
        };
        Ok(ModuleText { text, file: format!("k{level}.ymmsl"), remark: None })
    }
}

fn chain(length: usize) -> Vec<Problem> {
    let first = Chain(length).find(&"k0".parse().unwrap(), None).unwrap();
    let mut config = read(&first.text, &first.file).configuration;
    config.resolve_imports(&Chain(length))
}

#[test]
fn a_long_chain_of_imports_is_refused_where_it_is_too_deep() {
    assert!(chain(60).is_empty(), "{:#?}", chain(60));
    let problems = chain(1500);
    assert_eq!(problems[0].code, "nested-too-deep", "{:#?}", problems[0]);
    assert!(problems[0].line == 2 && problems[0].message.contains("\"k65\""), "{}", problems[0]);
}

#[test]
fn what_is_no_file_is_not_waited_for() {
    let place = std::env::temp_dir().join(format!("ligament-limits-{}", std::process::id()));
    std::fs::create_dir_all(&place).unwrap();
    let pipe = place.join("pipe.ymmsl");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let large = place.join("large.ymmsl");
    std::fs::File::create(&large).unwrap().set_len(10 << 30).unwrap();
    std::fs::write(place.join("model.ymmsl"), "ymmsl_version: v0.1\n").unwrap();
    let said = |path: &std::path::Path| {
        let problem = read_file(path).problems.remove(0);
        (problem.code.name(), problem.message, problem.advice)
    };
    let (code, message, _) = said(&pipe);
    assert_eq!((code, message.contains("it is a pipe")), ("cannot-read-file", true), "{message}");
    assert!(said("/dev/zero".as_ref()).1.contains("it is a device"));
    let (_, message, advice) = said(&place);
    assert!(message.contains("it is a directory") && advice.contains("such as "), "{message}; {advice}");
    assert_eq!(said(&large).0, "file-too-large");
    assert!(said(&place.join("modle.ymmsl")).2.contains("did you mean"));
    // A module whose file is a pipe counts as missing.
    let modules = FileModules { path: vec![place.clone()], ..FileModules::default() };
    let Err(NoModule::Nowhere(looked)) = modules.find(&"pipe".parse().unwrap(), None) else { panic!() };
    assert!(looked[0].contains("it is a pipe"), "{looked:?}");
    std::fs::remove_dir_all(place).unwrap();
}
