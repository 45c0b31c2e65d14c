"""Writes the modules in Fortran."""

import textwrap

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


class Writer:
    """Writes one module; `only` is `serial` or `mpi`."""

    def __init__(self, module, only):
        self.module, self.only, self.prefix = module, only, module.prefix
        self.calls = [(type_, call) for type_ in module.types.values() for call in of_module(type_, only)]

    def named(self, type_, name):
        return f"{self.prefix}_{type_.name}_{name}"

    def is_function(self, call):
        return call.result is not None and not kinds.array_of(call.result)

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
            lines += [f"type, public :: {self.prefix}_{flags}",
                      *indented(f"logical :: {name} = .false." for name in names),
                      "contains", f"    procedure :: to_int => {self.prefix}_{flags}_to_int",
                      f"end type {self.prefix}_{flags}", ""]
        for type_ in self.module.types.values():
            calls = [call for one, call in self.calls if one is type_]
            bound = [call for call in calls if not call.is_static]
            lines += [f"type, public :: {self.prefix}_{type_.name}", "    integer(c_intptr_t) :: ptr = 0"]
            lines += ["contains"] if bound else []
            lines += indented(f"procedure :: {call.name} => {self.named(type_, call.name)}" for call in bound)
            lines += indented(f"generic :: {generic} => {', '.join(names)}"
                              for generic, names in self.generics(bound).items())
            lines += [f"end type {self.prefix}_{type_.name}", ""]
            made = self.generics(calls)
            names = ["free", *(call.name for call in calls), *made]
            lines += [f"public :: {self.named(type_, name)}" for name in names]
            made[""] = [call.name for call in calls if call.name == "create" or call.generic == "create"]
            for generic, names in made.items():
                name = self.named(type_, generic).rstrip("_")
                specific = ", ".join(self.named(type_, one) for one in names)
                lines += [f"interface {name}", f"    procedure {specific}", f"end interface {name}"]
            lines += [""]
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
        own = [] if call.is_static else [Argument("self", type_.name)]
        arguments = [*own, *call.arguments]
        dummies = [dummy for argument in arguments for dummy in kinds.dummies(argument)]
        declared = [line for argument in arguments for line in kinds.declarations(argument, self.prefix)]
        passed, before = [], []
        for argument in arguments:
            if argument.is_optional:
                variable, declaration, statements = kinds.optional_value(argument)
                passed.append(variable)
                declared.append(declaration)
                before += statements
            else:
                passed += kinds.passed(argument)
        array = kinds.array_of(result) if result else None
        copied = bool(array) and array[0] == "logical"
        if array:
            dummies.append(result.name)
            declared += kinds.declarations(result, self.prefix, "inout")
            passed += kinds.passed(result)
            if copied:
                passed[-3] = "copy"
                declared.append(f"logical(c_bool), allocatable :: copy({kinds.colons(array[1])})")
                sizes = ", ".join(f"size({result.name}, {axis})" for axis in range(1, array[1] + 1))
                before += [f"allocate (copy({sizes}))"]
        if call.fails:
            dummies += ["err_code", "err_msg"]
            declared += ERRORS
        c_call = f"{self.named(type_, call.c_name)}_c({', '.join(passed)})"
        settle = [f"call settle('{name}'{', err_code' if call.fails else ''})"]
        # gfortran 12 loses the length of a text that is passed on as an optional argument.
        settle += ["if (present(err_msg)) call take_error(err_msg)"] if call.fails else []
        if not self.is_function(call):
            after = [f"if (ligament_face_error() == 0) {result.name} = copy"] if copied else []
            return procedure((name, dummies), [*declared, *before, f"call {c_call}", *after, *settle])
        declared.append(self.answer(result))
        texts = {"character": "answer = kept_text()", "characters": "answer = kept_texts()"}
        if result.kind in texts:
            return procedure((name, dummies), [*declared, *before, f"call {c_call}", *settle,
                                                texts[result.kind]], "answer")
        target = "answer%ptr" if kinds.is_object(result.kind) else "answer"
        return procedure((name, dummies), [*declared, *before, f"{target} = {c_call}", *settle], "answer")

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
