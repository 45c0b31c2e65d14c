//! Skeletons: codes with the ports and the execution loop of a model, which send arrays of zeros. They are a
//! start for users who have a model and no codes. `starters` has a file for each language with the text around
//! the loop. This module has the text of the loop.

use super::languages::{Code, Language};
use ligament_model::Operator;
use std::fmt::Write;

/// A port of a skeleton.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SkeletonPort {
    pub name: String,
    pub operator: Operator,
    /// True if the port is a vector port, which has slots.
    pub vector: bool,
}

/// A code of a model: its description, and its ports.
#[derive(Debug, Clone)]
pub(super) struct Skeleton {
    pub about: String,
    pub ports: Vec<SkeletonPort>,
}

/// The text of a skeleton's statements in one language. `PORT` is replaced by the name of the port. `SLOT`
/// is replaced by `slot` for a vector port, and by `alone` for any other port.
struct LanguageWords {
    file: &'static str,
    /// Returns the text for a port in the list of all ports; `between` separates two of them.
    declared: fn(&Operator, &str) -> String,
    between: &'static str,
    comment: &'static str,
    /// Number of blanks before the loop's body, and additional blanks for each level of nesting.
    margin: usize,
    indent: usize,
    slot: &'static str,
    alone: &'static str,
    slots: (&'static str, &'static str),
    /// Statement for `F_INIT`: receives a message and begins at its time.
    begin: &'static str,
    steps: (&'static str, &'static str),
    send_step: &'static str,
    receive: &'static str,
    /// Beginning and end of a loop that repeats while each message announces another message.
    until_last: (&'static str, &'static str),
    receive_next: &'static str,
    send_end: &'static str,
}

const PYTHON: LanguageWords = LanguageWords {
    file: include_str!("starters/skeleton.py"),
    declared: |_, _| String::new(),
    between: "",
    comment: "#",
    margin: 4,
    indent: 4,
    slot: ", slot=slot",
    alone: "",
    slots: ("for slot in range(instance.get_port_length(\"PORT\")):", ""),
    begin: "t = instance.receive(\"PORT\"SLOT).timestamp",
    steps: (
        "steps = instance.get_setting(\"steps\", \"int\")\nfor step in range(steps):\n+more = step + 1 < steps",
        "+t += dt",
    ),
    send_step: "instance.send(\"PORT\", Message(t, t + dt if more else None, state)SLOT)",
    receive: "instance.receive(\"PORT\"SLOT)",
    until_last: ("more = True\nwhile more:", ""),
    receive_next: "try:\n+more = instance.receive(\"PORT\"SLOT).next_timestamp is not None and more\nexcept \
                   ClosedError:\n+more = False",
    send_end: "instance.send(\"PORT\", Message(t, data=state)SLOT)",
};

const C: LanguageWords = LanguageWords {
    file: include_str!("starters/skeleton.c"),
    declared: |operator, port| format!("{{LIG_{}, \"{port}\"}}", operator.name()),
    between: ", ",
    comment: "//",
    margin: 8,
    indent: 4,
    slot: "slot",
    alone: "-1",
    slots: ("for (long slot = 0; slot < slots(instance, \"PORT\"); slot++) {", "}"),
    begin: "t = receive(instance, \"PORT\", SLOT, NULL);",
    steps: (
        "int64_t steps;\ncheck(lig_get_setting_int(instance, \"steps\", &steps, &error));\n\
         for (int64_t step = 0; step < steps; step++) {\n+const bool more = step + 1 < steps;\n+(void)more;",
        "+t += dt;\n}",
    ),
    send_step: "send(instance, \"PORT\", SLOT, t, more, dt, state);",
    receive: "receive(instance, \"PORT\", SLOT, NULL);",
    until_last: ("for (bool more = true; more;) {", "}"),
    receive_next: "receive(instance, \"PORT\", SLOT, &more);",
    send_end: "send(instance, \"PORT\", SLOT, t, false, dt, state);",
};

const CPP: LanguageWords = LanguageWords {
    file: include_str!("starters/skeleton.cpp"),
    declared: |_, _| String::new(),
    between: "",
    comment: "//",
    margin: 8,
    indent: 4,
    slot: ", slot",
    alone: "",
    slots: ("for (std::size_t slot = 0; slot < instance.get_port_length(\"PORT\"); ++slot) {", "}"),
    begin: "t = instance.receive(\"PORT\"SLOT).timestamp();",
    steps: (
        "const auto steps = instance.get_setting_as<std::int64_t>(\"steps\");\nfor (std::int64_t step = 0; \
         step < steps; ++step) {\n+[[maybe_unused]] const bool more = step + 1 < steps;",
        "+t += dt;\n}",
    ),
    send_step: "instance.send(\"PORT\", {t, more ? std::optional(t + dt) : std::nullopt}, stateSLOT);",
    receive: "instance.receive(\"PORT\"SLOT);",
    until_last: ("for (bool more = true; more;) {", "}"),
    receive_next: "try {\n+more = instance.receive(\"PORT\"SLOT).has_next_timestamp() && more;\n\
                   } catch (const ligament::ClosedError &) {\n+more = false;\n}",
    send_end: "instance.send(\"PORT\", t, stateSLOT);",
};

const JAVA: LanguageWords = LanguageWords {
    file: include_str!("starters/skeleton.java"),
    declared: |_, _| String::new(),
    between: "",
    comment: "//",
    margin: 16,
    indent: 4,
    slot: ", slot",
    alone: "",
    slots: ("for (int slot = 0; slot < instance.getPortLength(\"PORT\"); slot++) {", "}"),
    begin: "try (Message message = instance.receive(\"PORT\"SLOT)) {\n+t = message.timestamp();\n}",
    steps: (
        "long steps = instance.getSettingLong(\"steps\");\nfor (long step = 0; step < steps; step++) {\n\
         +boolean more = step + 1 < steps;",
        "+t += dt;\n}",
    ),
    send_step: "instance.send(\"PORT\", more ? Times.of(t, t + dt) : Times.of(t), stateSLOT);",
    receive: "instance.receive(\"PORT\"SLOT).close();",
    until_last: ("for (boolean more = true; more;) {", "}"),
    receive_next: "try (Message message = instance.receive(\"PORT\"SLOT)) {\n\
                   +more = message.nextTimestamp().isPresent() && more;\n\
                   } catch (LigamentException.Closed over) {\n+more = false;\n}",
    send_end: "instance.send(\"PORT\", t, stateSLOT);",
};

const FORTRAN: LanguageWords = LanguageWords {
    file: include_str!("starters/skeleton.f90"),
    declared: |operator, port| format!("ligament_port(LIGAMENT_{}, '{port}')", operator.name()),
    between: ", &\n      ",
    comment: "!",
    margin: 6,
    indent: 3,
    slot: ", slot=slot",
    alone: "",
    slots: ("do slot = 0, instance%get_port_length('PORT') - 1", "end do"),
    begin: "call instance%receive('PORT', messageSLOT)\nt = message%timestamp()",
    steps: (
        "call instance%get_setting('steps', steps)\ndo step = 1, steps\n+more = step < steps",
        "+t = t + dt\nend do",
    ),
    send_step: "if (more) then\n+call instance%send('PORT', t, state, next_timestamp=t + dtSLOT)\nelse\n\
                +call instance%send('PORT', t, stateSLOT)\nend if",
    receive: "call instance%receive('PORT', messageSLOT)",
    until_last: ("more = .true.\ndo while (more)", "end do"),
    receive_next: "call instance%receive('PORT', message, ierr=statusSLOT)\n\
                   if (status /= LIGAMENT_OK .and. status /= LIGAMENT_ERR_CLOSED) error stop 'cannot receive'\n\
                   if (status /= LIGAMENT_OK) then\n+more = .false.\n+exit\nend if\n\
                   more = more .and. message%has_next_timestamp()",
    send_end: "call instance%send('PORT', t, stateSLOT)",
};

const RUST: LanguageWords = LanguageWords {
    file: include_str!("starters/skeleton.rs"),
    declared: |operator, port| {
        let operator = match operator {
            Operator::FInit => "FInit",
            Operator::OI => "OI",
            Operator::S => "S",
            _ => "OF",
        };
        format!(".with(Operator::{operator}, \"{port}\")")
    },
    between: "",
    comment: "//",
    margin: 8,
    indent: 4,
    slot: "Some(slot as u32)",
    alone: "None",
    slots: ("for slot in 0..instance.get_port_length(\"PORT\")? {", "}"),
    begin: "t = instance.receive(\"PORT\", SLOT)?.timestamp;",
    steps: (
        "let SettingValue::Int(steps) = instance.get_setting(\"steps\", Some(SettingType::Int))? else { break \
         };\nfor step in 0..steps {\n+let more = step + 1 < steps;",
        "+t += dt;\n}",
    ),
    send_step: "let mut message = Outgoing::at(t, &state);\nif more {\n+message = message.next(t + dt);\n}\n\
                instance.send(\"PORT\", &message, SLOT)?;",
    receive: "instance.receive(\"PORT\", SLOT)?;",
    until_last: ("let mut more = true;\nwhile more {", "}"),
    receive_next: "more = match instance.receive(\"PORT\", SLOT) {\n+Ok(message) => \
                   message.next_timestamp.is_some() && more,\n+Err(error) if error.kind() == ErrorKind::Closed \
                   => false,\n+Err(error) => return Err(error.into()),\n};",
    send_end: "instance.send(\"PORT\", &Outgoing::at(t, &state), SLOT)?;",
};

impl Language {
    fn words(self) -> &'static LanguageWords {
        match self {
            Language::C => &C,
            Language::Cpp => &CPP,
            Language::Fortran => &FORTRAN,
            Language::Java => &JAVA,
            Language::Python => &PYTHON,
            Language::Rust => &RUST,
        }
    }

    /// Returns the language with this name in a model file, or none if no starters exist for the language.
    pub fn by_name(name: &str) -> Option<Language> {
        Some(match name.trim().to_ascii_lowercase().as_str() {
            "c" => Language::C,
            "c++" | "cpp" | "cxx" => Language::Cpp,
            "fortran" | "fortran90" | "f90" | "fortran 90" => Language::Fortran,
            "java" => Language::Java,
            "python" | "python3" => Language::Python,
            "rust" => Language::Rust,
            _ => return None,
        })
    }
}

/// The lines of a skeleton's body, in the order in which they are written.
struct SkeletonBody<'a> {
    words: &'a LanguageWords,
    depth: usize,
    text: String,
}

impl SkeletonBody<'_> {
    /// Writes lines. Each `+` at the beginning of a line indents the line by one level more.
    fn lines(&mut self, lines: &str) {
        for line in lines.lines().filter(|line| !line.is_empty()) {
            let deeper = line.len() - line.trim_start_matches('+').len();
            let blank = self.words.margin + (self.depth + deeper) * self.words.indent;
            let _ = writeln!(self.text, "{:blank$}{}", "", &line[deeper..]);
        }
    }

    fn comment(&mut self, text: &str) {
        self.lines(&format!("{} {text}", self.words.comment));
    }

    /// Writes the code for a port: once, or in a loop over all slots if the port has slots.
    fn each(&mut self, port: &SkeletonPort, what: &str) {
        let words = self.words;
        let slot = if port.vector { words.slot } else { words.alone };
        let what = what.replace("SLOT", slot).replace("PORT", &port.name);
        if port.vector {
            self.lines(&words.slots.0.replace("PORT", &port.name));
            self.depth += 1;
            self.lines(&what);
            self.depth -= 1;
            self.lines(words.slots.1);
        } else {
            self.lines(&what)
        }
    }
}

impl Skeleton {
    fn of(&self, operator: Operator) -> impl Iterator<Item = &SkeletonPort> {
        self.ports.iter().filter(move |port| port.operator == operator)
    }

    pub fn has(&self, operator: Operator) -> bool {
        self.of(operator).next().is_some()
    }

    /// Returns the source text of a code.
    pub fn text(&self, code: &Code) -> String {
        let words = code.language.words();
        let mut body = SkeletonBody { words, depth: 0, text: String::new() };
        for port in self.of(Operator::FInit) {
            body.comment("F_INIT");
            body.each(port, words.begin);
        }
        if self.has(Operator::OI) {
            body.lines(words.steps.0);
            body.depth += 1;
            for port in self.of(Operator::OI) {
                body.comment("O_I");
                body.each(port, words.send_step);
            }
            for port in self.of(Operator::S) {
                body.comment("S");
                body.each(port, words.receive);
            }
            body.comment("Compute a step here.");
            body.depth -= 1;
            body.lines(words.steps.1);
        } else if self.has(Operator::S) {
            body.lines(words.until_last.0);
            body.depth += 1;
            for port in self.of(Operator::S) {
                body.comment("S");
                body.each(port, words.receive_next);
            }
            body.comment("Compute a step here.");
            body.depth -= 1;
            body.lines(words.until_last.1);
        } else {
            body.comment("Compute here.");
        }
        for port in self.of(Operator::OF) {
            body.comment("O_F");
            body.each(port, words.send_end);
        }
        let catches = body.text.contains("except ClosedError");
        let file = match code.language {
            Language::Python if !catches => {
                words.file.replace("import ClosedError, Instance", "import Instance")
            }
            Language::Fortran => without_unused(words.file, &body.text),
            _ => words.file.to_owned(),
        };
        // Texts from the model come last, because they may contain placeholders by chance.
        code.named(&file)
            .replace("COUNT", &self.ports.len().to_string())
            .replace("PORTS", &self.declared(code.language))
            .replace("BODY\n", &body.text)
            .replacen("ABOUT", &self.about, 1)
    }

    fn declared(&self, language: Language) -> String {
        let words = language.words();
        let shown =
            |port: &SkeletonPort| if port.vector { format!("{}[]", port.name) } else { port.name.clone() };
        let grouped = |of: fn(&str, &[String]) -> String| -> String {
            let all =
                [Operator::FInit, Operator::OI, Operator::S, Operator::OF].into_iter().filter_map(|operator| {
                    let names: Vec<String> =
                        self.of(operator).map(|port| format!("\"{}\"", shown(port))).collect();
                    (!names.is_empty()).then(|| of(operator.name(), &names))
                });
            all.collect::<Vec<_>>().join(", ")
        };
        match language {
            Language::Python => {
                grouped(|operator, names| format!("Operator.{operator}: [{}]", names.join(", ")))
            }
            Language::Cpp => {
                grouped(|operator, names| format!("{{Operator::{operator}, {{{}}}}}", names.join(", ")))
            }
            Language::Java => {
                grouped(|operator, names| format!("Operator.{operator}, List.of({})", names.join(", ")))
            }
            Language::C | Language::Fortran | Language::Rust => {
                let all: Vec<String> =
                    self.ports.iter().map(|port| (words.declared)(&port.operator, &shown(port))).collect();
                all.join(words.between)
            }
        }
    }
}

/// Returns the Fortran file without declarations of variables that the body does not use, because compilers
/// warn about them.
fn without_unused(file: &str, body: &str) -> String {
    let is_used = |line: &str| match line.trim().split("::").nth(1) {
        Some(names) if line.trim_start().starts_with("integer") || line.trim_start().starts_with("logical") => {
            names.split(',').any(|name| body.contains(name.trim()))
        }
        Some(" message") => body.contains("message"),
        _ => !line.contains("message%free") || body.contains("message"),
    };
    file.lines().filter(|line| is_used(line)).map(|line| format!("{line}\n")).collect()
}
