"""Reads calls.txt, the table of all calls; its head says how a line is written."""

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

DIMENSIONS = range(1, 8)
CALL = re.compile(r"(?:(?P<only>serial|mpi) )?(?:(?P<generic>[\w$]+): )?"
                  r"(?P<name>[\w$#]+)\((?P<arguments>[^)]*)\)"
                  r"(?: -> (?:(?P<array>\w+): )?(?P<result>[\w$\[\]#]+))?(?P<fails> !)? = (?P<expression>.*?)"
                  r"(?: for (?P<list>[A-Z_]+))?")


@dataclass(frozen=True)
class Argument:
    """An argument of a call: its name, its kind, such as `real8`, and the number of dimensions of a grid."""

    name: str
    kind: str
    dimensions: int = 0
    is_optional: bool = False


@dataclass(frozen=True)
class Call:
    """A call of one type for one kind. `only` is the module that has it, if not both have it."""

    name: str
    arguments: list
    result: Argument | None
    fails: bool
    expression: str
    generic: str | None = None
    only: str | None = None
    kind: str = ""
    dimensions: int = 0

    @property
    def is_static(self):
        """True if the call makes an object, and is not one of an object."""
        return self.name.startswith("create")

    @property
    def c_name(self):
        """The name without the number of dimensions, which is an argument in C++."""
        return self.name.replace(f"_{self.dimensions}_", "_", 1) if self.dimensions else self.name


@dataclass
class Type:
    name: str
    calls: list = field(default_factory=list)


@dataclass
class Module:
    """A module of Fortran; `prefix` begins each of its names."""

    name: str
    prefix: str
    constants: list
    types: dict = field(default_factory=dict)
    flags: dict = field(default_factory=dict)


def argument(text, name=None):
    """An argument of `name: kind`, or of the kind alone if the name is given."""
    if name is None:
        name, _, text = text.partition(": ")
    grid = re.fullmatch(r"(\w+)\[(\d)\]|(names)(\d)", text)
    if grid:
        return Argument(name, grid[1] or grid[3], int(grid[2] or grid[4]))
    return Argument(name, text.rstrip("?"), is_optional=text.endswith("?"))


def joined_lines(text):
    """The lines of the table, each with those that continue it, and its number."""
    lines = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(" "):
            lines[-1] = (lines[-1][0], f"{lines[-1][1]} {line.strip()}")
        elif line and not line.startswith("#"):
            lines.append((number, line))
    return lines


def calls_of(line, type_name, lists):
    """The calls of a line: one for each kind of its list, and for each number of dimensions."""
    found = CALL.fullmatch(line)
    if not found:
        raise ValueError(f"this is no call: {line}")
    for kind in lists[found["list"]] if found["list"] else [""]:
        for dimensions in DIMENSIONS if "#" in found["name"] else [0]:
            def filled(text, kind=kind, dimensions=dimensions):
                return text.replace("$", kind).replace("#", str(dimensions)).replace("Self", type_name)
            arguments = [argument(filled(one)) for one in found["arguments"].split(", ") if one]
            result = found["result"] and argument(filled(found["result"]), found["array"] or "answer")
            generic = found["generic"] and filled(found["generic"])
            expression = found["expression"].replace("Self", type_name)
            yield Call(filled(found["name"]), arguments, result, bool(found["fails"]), expression, generic,
                       found["only"], kind, dimensions)


def modules(path=Path(__file__).parent / "calls.txt"):
    """The modules of the table. Raises ValueError with the number of a line that is wrong."""
    lists, shared, made, types = {}, [], [], []
    for number, line in joined_lines(path.read_text()):
        word, _, rest = line.partition(" ")
        if word == "list":
            name, _, kinds = rest.partition(" = ")
            lists[name] = kinds.split()
        elif word == "constants":
            constants = [one.split(" = ") for one in rest.split(", ")]
            (made[-1].constants if made else shared).extend(constants)
        elif word == "module":
            made.append(Module(*rest.split(), list(shared)))
        elif word == "flags":
            name, _, flags = rest.partition(" = ")
            made[-1].flags[name] = flags.split()
        elif word == "type":
            types = [made[-1].types.setdefault(name, Type(name)) for name in rest.split()]
        else:
            try:
                for one in types:
                    one.calls += calls_of(line, one.name, lists)
            except (KeyError, ValueError) as error:
                raise ValueError(f"{path}:{number}: {error}") from error
    return made


def of_module(type_, only):
    """The calls of a type in the module `serial` or `mpi`."""
    return [replace(call, only=None) for call in type_.calls if call.only in (None, only)]
