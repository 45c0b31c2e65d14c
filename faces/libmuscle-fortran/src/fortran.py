"""Writes the modules in Fortran."""

import textwrap
from dataclasses import dataclass, field

import kinds
from table import Argument, of_module

COLUMNS = 100
ERRORS = ["integer, optional, intent(out) :: err_code",
          "character(:), allocatable, optional, intent(out) :: err_msg"]


def wrapped(line):
    """A statement over as many lines as it needs."""
    if len(line) <= COLUMNS:
        return line
    indent = line[:len(line) - len(line.lstrip())]
    parts = textwrap.wrap(line.strip(), COLUMNS - len(indent), break_long_words=False, break_on_hyphens=False)
    return f" &\n{indent}    ".join([indent + parts[0], *parts[1:]])


def indented(lines):
    return [" " * 4 + line if line else line for line in lines]


def procedure(head, body, answer=None):
    """A procedure: a function if it has an answer, the name of its result."""
    word = "function" if answer else "subroutine"
    name, arguments = head
    first = f"{word} {name}({', '.join(arguments)})" + (f" result({answer})" if answer else "")
    return [first, *indented(body), f"end {word} {name}"]


@dataclass
class Arguments:
    """The arguments of a procedure: their names and declarations, the statements before and after the call in
    C++, and what it passes there."""

    dummies: list = field(default_factory=list)
    declared: list = field(default_factory=list)
    before: list = field(default_factory=list)
    passed: list = field(default_factory=list)
    after: list = field(default_factory=list)


class Writer:
    """Writes one module; `only` is `serial` or `mpi`."""

    def __init__(self, module, only):
        self.module, self.only, self.prefix = module, only, module.prefix
        self.calls = [(type_, call) for type_ in module.types.values() for call in of_module(type_, only)]

    def named(self, type_, name):
        return f"{self.prefix}_{type_.name}_{name}"

    def text(self):
        name = self.module.name + ("_mpi" if self.only == "mpi" else "")
        uses = [] if self.module.name == "ymmsl" else ["use ymmsl"]
        uses = ["use, intrinsic :: iso_c_binding", *uses, "implicit none", "private", ""]
        lines = [f"! The module {name}. Made by faces/libmuscle-fortran/src/generate.py of calls.txt.",
                 f"module {name}", *indented(uses)]
        lines += indented(self.constants() + self.types() + self.interfaces())
        lines += ["    include 'interfaces.inc'", "", "contains", ""]
        for type_ in self.module.types.values():
            lines += indented(self.free(type_)) + [""]
        for type_, call in self.calls:
            lines += indented(self.call(type_, call)) + [""]
        for flags, names in self.module.flags.items():
            lines += indented(self.to_int(flags, names)) + [""]
        lines += ["    include 'common.inc'"]
        if self.module.flags:
            lines += ["    include 'instance.inc'"]
        return "\n".join(wrapped(line) for line in [*lines, f"end module {name}"]) + "\n"

    def constants(self):
        return [f"integer, parameter, public :: {self.prefix}_{name} = {value}"
                for name, value in self.module.constants] + [""]

    def types(self):
        lines = []
        for flags, names in self.module.flags.items():
            lines += self.flags(flags, names)
        for type_ in self.module.types.values():
            calls = [call for one, call in self.calls if one is type_]
            lines += [*self.type_definition(type_, calls), *self.type_names(type_, calls), ""]
        return lines

    def flags(self, name, flags):
        """The type of an instance's properties, each a component."""
        return [f"type, public :: {self.prefix}_{name}",
                *indented(f"logical :: {flag} = .false." for flag in flags),
                "contains", f"    procedure :: to_int => {self.prefix}_{name}_to_int",
                f"end type {self.prefix}_{name}", ""]

    def type_definition(self, type_, calls):
        """A type with its short names."""
        bound = [call for call in calls if not call.is_static]
        procedures = [f"procedure :: {call.name} => {self.named(type_, call.name)}" for call in bound]
        generics = [f"generic :: {generic} => {', '.join(names)}"
                    for generic, names in self.generics(bound).items()]
        name = f"{self.prefix}_{type_.name}"
        return [f"type, public :: {name}", "    integer(c_intptr_t) :: ptr = 0", "contains",
                *indented([*procedures, *generics]), f"end type {name}", ""]

    def type_names(self, type_, calls):
        """The long names of a type's calls, and its own name for those that make an object."""
        generics = self.generics(calls)
        names = ["free", *(call.name for call in calls), *generics]
        lines = [f"public :: {self.named(type_, name)}" for name in names]
        generics[""] = [call.name for call in calls if "create" in (call.name, call.generic)]
        for generic, names in generics.items():
            name = self.named(type_, generic).rstrip("_")
            specific = ", ".join(self.named(type_, one) for one in names)
            lines += [f"interface {name}", f"    procedure {specific}", f"end interface {name}"]
        return lines

    def generics(self, calls):
        """The specific names of each generic one."""
        made = {}
        for call in calls:
            if call.generic:
                made.setdefault(call.generic, []).append(call.name)
        return made

    def interfaces(self):
        """The functions in C++, each once."""
        lines, seen = ["interface"], set()
        for type_ in self.module.types.values():
            free = Argument("self", type_.name)
            lines += indented(self.interface(type_, "free", [free], None))
        for type_, call in self.calls:
            if (type_.name, call.c_name) not in seen:
                seen.add((type_.name, call.c_name))
                own = [] if call.is_static else [Argument("self", type_.name)]
                lines += indented(self.interface(type_, call.c_name, [*own, *call.arguments], call.result))
        if self.only == "mpi":
            lines += indented(["function ligament_face_world() bind(C)", "    import",
                               "    integer(c_int) :: ligament_face_world", "end function ligament_face_world"])
        return [*lines, "end interface"]

    def interface(self, type_, c_name, arguments, result):
        pairs = [pair for argument in arguments for pair in kinds.interface(argument)]
        answer = None
        if result and kinds.array_of(result):
            pairs += kinds.interface(result, "inout")
        elif result and result.kind not in ("character", "characters"):
            answer = kinds.interface(result)[0][1].replace(", value", "").format("answer")
        word = "function" if answer else "subroutine"
        name = self.named(type_, c_name) + "_c"
        head = f"{word} {name}({', '.join(name for name, _ in pairs)})" + (" result(answer)" if answer else "")
        body = ["import", *(declared.format(name) for name, declared in pairs), *([answer] if answer else [])]
        return [f'{head} bind(C, name="ligament_face_{type_.name}_{c_name}")', *indented(body),
                f"end {word} {name}"]

    def free(self, type_):
        name = self.named(type_, "free")
        return procedure((name, ["self"]), [f"class({self.prefix}_{type_.name}), intent(in) :: self",
                                            f"call {name}_c(self%ptr)", f"call settle('{name}')"])

    def call(self, type_, call):
        """The procedure of a call."""
        name, result = self.named(type_, call.name), call.result
        parts = self.arguments(type_, call)
        settle = [f"call settle('{name}'{', err_code' if call.fails else ''})"]
        # gfortran 12 loses the length of a text that is passed on as an optional argument.
        settle += ["if (present(err_msg)) call take_error(err_msg)"] if call.fails else []
        c_call = f"{self.named(type_, call.c_name)}_c({', '.join(parts.passed)})"
        head, body = (name, parts.dummies), [*parts.declared, *parts.before]
        if result is None or kinds.array_of(result):
            return procedure(head, [*body, f"call {c_call}", *parts.after, *settle])
        body.insert(len(parts.declared), self.answer(result))
        texts = {"character": "answer = kept_text()", "characters": "answer = kept_texts()"}
        if result.kind in texts:
            return procedure(head, [*body, f"call {c_call}", *settle, texts[result.kind]], "answer")
        target = "answer%ptr" if kinds.is_object(result.kind) else "answer"
        return procedure(head, [*body, f"{target} = {c_call}", *settle], "answer")

    def arguments(self, type_, call):
        """The arguments of a call's procedure, and what it does for them."""
        parts = Arguments()
        own = [] if call.is_static else [Argument("self", type_.name)]
        for argument in [*own, *call.arguments]:
            parts.dummies += kinds.dummies(argument)
            parts.declared += kinds.declarations(argument, self.prefix)
            if argument.is_optional:
                variable, declaration, statements = kinds.optional_value(argument)
                parts.passed.append(variable)
                parts.declared.append(declaration)
                parts.before += statements
            else:
                parts.passed += kinds.passed(argument)
        if call.result and kinds.array_of(call.result):
            self.add_array(parts, call.result)
        if call.fails:
            parts.dummies += ["err_code", "err_msg"]
            parts.declared += ERRORS
        return parts

    def add_array(self, parts, result):
        """Adds the caller's array for a result. Logicals of C++ are shorter, and pass through a copy."""
        kind, dimensions = kinds.array_of(result)
        parts.dummies.append(result.name)
        parts.declared += kinds.declarations(result, self.prefix, "inout")
        passed = kinds.passed(result)
        if kind == "logical":
            passed[0] = "copy"
            parts.declared.append(f"logical(c_bool), allocatable :: copy({kinds.colons(dimensions)})")
            sizes = ", ".join(f"size({result.name}, {axis})" for axis in range(1, dimensions + 1))
            parts.before.append(f"allocate (copy({sizes}))")
            parts.after.append(f"if (ligament_face_error() == 0) {result.name} = copy")
        parts.passed += passed

    def answer(self, result):
        """The declaration of a function's result."""
        if result.kind == "character":
            return "character(:), allocatable :: answer"
        if result.kind == "characters":
            return "character(:), allocatable :: answer(:)"
        if kinds.is_object(result.kind):
            return f"type({kinds.prefix_of(result.kind, self.prefix)}_{result.kind}) :: answer"
        return f"{kinds.NUMBERS[result.kind].fortran.format(P=self.prefix)} :: answer"

    def to_int(self, flags, names):
        name = f"{self.prefix}_{flags}_to_int"
        terms = " + ".join(f"merge({2**bit}, 0, self%{one})" for bit, one in enumerate(names))
        return procedure((name, ["self"]), [f"class({self.prefix}_{flags}), intent(in) :: self",
                                            "integer :: answer", f"answer = {terms}"], "answer")
