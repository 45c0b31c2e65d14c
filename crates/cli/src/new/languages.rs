//! Differences between the languages of a starter: its source, how it is built, and how it is started.

use std::path::Path;

/// A language that starters are made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Language {
    C,
    Cpp,
    Fortran,
    Java,
    Python,
    Rust,
}

impl Language {
    #[cfg(test)]
    pub const ALL: [Language; 6] =
        [Language::C, Language::Cpp, Language::Fortran, Language::Java, Language::Python, Language::Rust];

    /// Returns the usual name of the language.
    pub fn said(self) -> &'static str {
        match self {
            Language::C => "C",
            Language::Cpp => "C++",
            Language::Fortran => "Fortran",
            Language::Java => "Java",
            Language::Python => "Python",
            Language::Rust => "Rust",
        }
    }
}

/// The role of a code in a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Macro,
    Submodel,
}

impl Role {
    pub fn ports(self) -> &'static str {
        match self {
            Role::Macro => "{o_i: state, s: result}",
            Role::Submodel => "{f_init: start, o_f: end}",
        }
    }

    pub fn what(self) -> &'static str {
        match self {
            Role::Macro => "a code that steps forward in time and asks another one in every step",
            Role::Submodel => "a code that is started by a message and ends with one",
        }
    }

    pub fn how(self) -> &'static str {
        match self {
            Role::Macro => "It sends on `state` and receives on `result`, up to the setting `t_max`.",
            Role::Submodel => "It receives on `start` and sends on `end`.",
        }
    }
}

/// One code of a starter.
pub(super) struct Code {
    pub name: String,
    pub role: Role,
    pub language: Language,
    /// True if the code is an MPI program. Not every language has starters with MPI.
    pub mpi: bool,
}

impl Code {
    pub fn new(name: &str, role: Role, language: Language) -> Code {
        Code { name: name.to_owned(), role, language, mpi: false }
    }

    pub fn with_mpi(self, mpi: bool) -> Code {
        Code { mpi, ..self }
    }

    /// Returns the name of the code's class, for languages that need one.
    fn class(&self) -> String {
        let words = self.name.split('_').filter(|word| !word.is_empty());
        words.map(|word| word[..1].to_uppercase() + &word[1..]).collect()
    }

    /// Returns the path of the source file.
    pub fn source(&self) -> String {
        match self.language {
            Language::C => format!("{}.c", self.name),
            Language::Cpp => format!("{}.cpp", self.name),
            Language::Fortran => format!("{}.f90", self.name),
            Language::Java => format!("{}.java", self.class()),
            Language::Python => format!("{}.py", self.name),
            Language::Rust => format!("src/bin/{}.rs", self.name),
        }
    }

    /// Returns the text of the source.
    pub fn text(&self) -> String {
        let text = match (self.language, self.role) {
            (Language::C, Role::Macro) if self.mpi => include_str!("starters/macro_mpi.c"),
            (Language::C, Role::Submodel) if self.mpi => include_str!("starters/submodel_mpi.c"),
            (Language::Cpp, Role::Macro) if self.mpi => include_str!("starters/macro_mpi.cpp"),
            (Language::Cpp, Role::Submodel) if self.mpi => include_str!("starters/submodel_mpi.cpp"),
            (Language::Fortran, Role::Macro) if self.mpi => include_str!("starters/macro_mpi.f90"),
            (Language::Fortran, Role::Submodel) if self.mpi => include_str!("starters/submodel_mpi.f90"),
            (Language::Python, Role::Macro) if self.mpi => include_str!("starters/macro_mpi.py"),
            (Language::Python, Role::Submodel) if self.mpi => include_str!("starters/submodel_mpi.py"),
            (Language::C, Role::Macro) => include_str!("starters/macro.c"),
            (Language::C, Role::Submodel) => include_str!("starters/submodel.c"),
            (Language::Cpp, Role::Macro) => include_str!("starters/macro.cpp"),
            (Language::Cpp, Role::Submodel) => include_str!("starters/submodel.cpp"),
            (Language::Fortran, Role::Macro) => include_str!("starters/macro.f90"),
            (Language::Fortran, Role::Submodel) => include_str!("starters/submodel.f90"),
            (Language::Java, Role::Macro) => include_str!("starters/macro.java"),
            (Language::Java, Role::Submodel) => include_str!("starters/submodel.java"),
            (Language::Python, Role::Macro) => include_str!("starters/macro.py"),
            (Language::Python, Role::Submodel) => include_str!("starters/submodel.py"),
            (Language::Rust, Role::Macro) => include_str!("starters/macro.rs"),
            (Language::Rust, Role::Submodel) => include_str!("starters/submodel.rs"),
        };
        self.named(text)
    }

    /// Returns a text with the code's name in place of `NAME`, and the name of its class in place of
    /// `CLASS`.
    pub fn named(&self, text: &str) -> String {
        text.replace("NAME", &self.name).replace("CLASS", &self.class())
    }

    /// Returns the path of the case file.
    pub fn case(&self) -> String {
        format!("{}.case.yaml", self.name)
    }

    /// Returns the text of the case.
    pub fn case_text(&self) -> &'static str {
        match self.role {
            Role::Macro => include_str!("starters/macro.case.yaml"),
            Role::Submodel => include_str!("starters/submodel.case.yaml"),
        }
    }

    /// Returns a script that starts the program, for languages in which a single command name does not
    /// start it.
    pub fn script(&self) -> Option<String> {
        let script = include_str!("starters/java.sh");
        (self.language == Language::Java).then(|| script.replace("CLASS", &self.class()))
    }

    /// Returns the command by which a shell starts the program from the starter's directory.
    pub fn command(&self) -> String {
        match self.language {
            Language::C | Language::Cpp | Language::Fortran => format!("./{}", self.name),
            Language::Java => format!("./{}.sh", self.name),
            Language::Python => format!("python3 {}.py", self.name),
            Language::Rust => format!("target/release/{}", self.name),
        }
    }

    /// Returns the entry by which a model file starts the program.
    pub fn implementation(&self) -> String {
        let model = if self.mpi { ", execution_model: openmpi" } else { "" };
        match self.language {
            Language::Python => format!("{{executable: python3, args: {}.py{model}}}", self.name),
            _ => format!("{{executable: {}{model}}}", self.command()),
        }
    }

    /// Returns the target of `make` that builds the code; none if the language is not compiled.
    pub fn target(&self) -> Option<String> {
        match self.language {
            Language::C | Language::Cpp | Language::Fortran => Some(self.name.clone()),
            Language::Java => Some(format!("build/{}.class", self.class())),
            Language::Python => None,
            Language::Rust => Some(format!("target/release/{}", self.name)),
        }
    }

    /// Returns the files and directories that `make` produces.
    pub fn made(&self) -> Vec<&str> {
        match self.language {
            Language::C | Language::Cpp => vec![&self.name],
            Language::Fortran => vec![&self.name, "build"],
            Language::Java => vec!["build"],
            Language::Python => vec![],
            Language::Rust => vec!["target"],
        }
    }

    /// Returns the rules of a Makefile that build the code.
    pub fn rule(&self) -> String {
        let name = &self.name;
        let compiler = |alone: &'static str, with_mpi: &'static str| if self.mpi { with_mpi } else { alone };
        match self.language {
            Language::C => format!(
                "{name}: {name}.c\n\
                 \t{cc} -O2 -Wall -Wextra {name}.c -o {name} $$(ligament config --cflags --libs)\n\n",
                cc = compiler("$(CC)", "mpicc")
            ),
            Language::Cpp => format!(
                "{name}: {name}.cpp\n\
                 \t{cxx} -O2 -Wall -Wextra {name}.cpp -o {name} $$(ligament config --cflags --libs)\n\n",
                cxx = compiler("$(CXX) -std=c++17", "mpicxx -std=c++17 -Wno-cast-function-type")
            ),
            Language::Fortran => format!(
                "{name}: {name}.f90 build/ligament.o\n\
                 \t{fc} -O2 -Wall -Jbuild {name}.f90 build/*.o \\\n\
                 \t\t-o {name} $$(ligament config --libs)\n\n",
                fc = compiler("gfortran", "mpif90")
            ),
            Language::Java => format!(
                "build/{class}.class: {class}.java\n\
                 \tmkdir -p build\n\
                 \tjavac -cp \"$$(ligament config --jar)\" -d build {class}.java\n\n",
                class = self.class()
            ),
            Language::Python => String::new(),
            Language::Rust => {
                format!(
                    "target/release/{name}: src/bin/{name}.rs Cargo.toml\n\tcargo build --release --quiet\n\n"
                )
            }
        }
    }
}

/// Makefile rules for the Fortran binding. The user's own compilers must compile it, because module files
/// differ between compilers.
pub(super) const FORTRAN_RULES: &str = "\
build/ligament.o:
\tmkdir -p build
\tcd build && source=$$(ligament config --fortran) && \\
\t\tgfortran -c $$source/ligament.f90 $$source/ligament_descriptors.c $$(ligament config --cflags)

";

/// Makefile rules for the Fortran binding of MPI programs. The compilers of the user's MPI must compile it.
pub(super) const FORTRAN_MPI_RULES: &str = "\
build/ligament.o:
\tmkdir -p build
\tcd build && source=$$(ligament config --fortran) && \\
\t\tmpicc -c $$source/ligament_mpi_ranks.c $$source/ligament_descriptors.c $$(ligament config --cflags) && \\
\t\tmpif90 -c $$source/ligament.f90 $$source/ligament_mpi.f90

";

/// Returns the `Cargo.toml` for codes in Rust: a package that depends on the crate of the installation.
pub(super) fn cargo(name: &str, krate: &Path) -> String {
    format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n\
         [dependencies]\nligament-instance = {{ path = {:?} }}\n\n[workspace]\n",
        krate.display().to_string()
    )
}
