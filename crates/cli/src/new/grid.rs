//! The starter of a simulation on a grid: a driver program, a module, and the model of a grid in two blocks.

use super::contents::File;
use super::languages::Language;
use ligament_catalogue::{fault, Fault};

/// The differences between the languages of a grid's starter.
struct GridCode {
    /// Paths and texts of the sources.
    sources: Vec<(String, &'static str)>,
    /// The Makefile's rules, and the files that they make.
    rules: String,
    made: Vec<String>,
    /// The entry by which a model starts the driver, and the command of a shell.
    program: String,
    command: String,
}

/// Returns all files of the starter of a grid.
///
/// # Errors
/// A language that modules are not made for.
pub(super) fn files(name: &str, language: Language) -> Result<Vec<File>, Fault> {
    let GridCode { sources, rules, made, program, command } = code(name, language)?;
    let file = |path: &str, text: String| File { path: path.to_owned(), text, executable: false };
    let mut files: Vec<File> =
        sources.iter().map(|(path, text)| file(path, text.replace("NAME", name))).collect();
    let model = format!("{name}.ymmsl");
    let makefile = format!(
        "# Builds the simulation, prints its plan, and runs it: make test\nall: {targets}\n\n{rules}test: all\n\
         \t{command} --plan\n\tligament run --quiet {model}\n\
         \tligament logs latest '{name}[0][0]' | grep 'step 10:'\n\
         \nclean:\n\trm -rf {targets} runs *.mod\n\n.PHONY: all test clean\n",
        targets = made.join(" "),
    );
    files.push(file("Makefile", makefile));
    files.push(file(
        &model,
        include_str!("starters/grid.ymmsl").replace("PROGRAM", &program).replace("NAME", name),
    ));
    let list: Vec<String> = sources.iter().map(|(path, _)| format!("- `{path}`\n")).collect();
    let readme = include_str!("starters/grid.md").replace("SOURCES", &list.concat());
    files.push(file("README.md", readme.replace("COMMAND", &command).replace("NAME", name)));
    let ignored: Vec<String> = made.iter().map(|path| format!("/{path}\n")).collect();
    files.push(file(".gitignore", format!("/runs/\n*.mod\n{}", ignored.concat())));
    Ok(files)
}

fn code(name: &str, language: Language) -> Result<GridCode, Fault> {
    let object = format!("{name}_module.so");
    let in_python = (format!("{{executable: python3, args: {name}.py}}"), format!("python3 {name}.py"));
    let (sources, rules, made, (program, command)) = match language {
        Language::Python => {
            let sources = vec![(format!("{name}.py"), include_str!("starters/grid_module.py"))];
            (sources, String::new(), vec![], in_python)
        }
        Language::Fortran => {
            let sources = vec![
                (format!("{name}.py"), include_str!("starters/grid_driver.py")),
                (format!("{name}_module.f90"), include_str!("starters/grid_module.f90")),
            ];
            let rules = format!(
                "{object}: {name}_module.f90\n\tgfortran -shared -fPIC -O2 -Wall \\\n\
                 \t\t$$(ligament config --fortran)/ligament_modules.f90 $< -o $@\n\n"
            );
            (sources, rules, vec![object], in_python)
        }
        Language::C => {
            let sources = vec![
                (format!("{name}.c"), include_str!("starters/grid_driver.c")),
                (format!("{name}_module.c"), include_str!("starters/grid_module.c")),
            ];
            let rules = format!(
                "{name}: {name}.c\n\t$(CC) -O2 -Wall -Wextra $< -o $@ $$(ligament config --cflags --libs)\n\n\
                 {object}: {name}_module.c\n\
                 \t$(CC) -shared -fPIC -O2 -Wall -Wextra $< -o $@ $$(ligament config --cflags)\n\n"
            );
            let own = (format!("{{executable: ./{name}}}"), format!("./{name}"));
            (sources, rules, vec![name.to_owned(), object], own)
        }
        _ => {
            let said = language.said();
            return Err(fault!(
                STARTER_NOT_MADE,
                "there is no starter of a grid in {said}; take C, Fortran or Python"
            ));
        }
    };
    Ok(GridCode { sources, rules, made, program, command })
}
