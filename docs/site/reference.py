"""Makes pages of reference from what the code says of itself: the C header, and the Python package as it is
installed."""

import enum
import inspect
import re

COMMENT = re.compile(r"^// ?", re.M)
NAME = re.compile(
    r"^LIG_ENUM\((\w+)\)|^typedef struct \w* ?\{.*\} (\w+);|^typedef [^;]*?\(?\*?(\w+)\)?(?:\([^;]*\))?;"
                  r"|^(?:struct|enum) (\w+)|^[\w *]*?\b(lig_\w+)\(|^#define (\w+)", re.M | re.S)


def c_header(text):
    """A page with every declaration of the header under a heading of its own, its description as text."""
    page = ["# The C header", "",
            "All of `ligament.h`, in its order; [the C interface](c-api.md) is the overview.", ""]
    for comment, code in declarations(text):
        name = NAME.search(code)
        if name is None:
            continue
        page += [f"## {next(group for group in name.groups() if group)}", "", prose(comment), "", "```c", code,
                 "```", ""]
    return "\n".join(page)


def declarations(text):
    """The paragraphs of the header that declare something: the comment before, and the code."""
    body = text.split("#include <stdint.h>", 1)[1].replace('extern "C" {', "")
    for paragraph in re.split(r"\n\s*\n(?![ }])", body):
        lines = paragraph.strip("\n").splitlines()
        count = next((i for i, line in enumerate(lines) if not line.startswith("//")), len(lines))
        code = "\n".join(line for line in lines[count:])
        if code and not code.startswith(("#if", "#endif", "#else", "}")):
            yield "\n".join(lines[:count]), code


def prose(comment):
    return COMMENT.sub("", comment)


def python_package(package):
    """A page with every public name of the package, as the package describes it."""
    page = ["# The Python package, call by call", "",
            "Made from the package's own descriptions; [the Python API](python-api.md) is the overview.", ""]
    for name in package.__all__:
        thing = getattr(package, name)
        if not callable(thing):
            continue
        page += [f"## {name}", "", *described(thing, name)]
        if not inspect.isclass(thing):
            continue
        if issubclass(thing, enum.Enum):
            page += [", ".join(f"`{member}`" for member in thing.__members__), ""]
        for member in members(thing):
            page += [f"### {name}.{member}", "", *described(getattr(thing, member), member)]
    return "\n".join(page)


def members(thing):
    """The public names that a class has of its own, and not of Python's."""
    theirs = {name for kind in (enum.Flag, enum.IntEnum, OSError, object) for name in dir(kind)}
    if issubclass(thing, enum.Enum):
        theirs |= set(thing.__members__)
    if issubclass(thing, tuple):
        theirs |= set(dir(tuple))
    return [m for m in dir(thing) if not m.startswith("_") and m not in theirs]


def described(thing, name):
    """How a call is written, and what its description says."""
    lines = []
    try:
        signature = str(inspect.signature(thing))
        signature = re.sub(r"\bcollections\.abc\.|\btyping\.|\bligament\._\w+\.|\bos\.(?=PathLike)", "",
                           signature)
        signature = re.sub(r"<(\w+\.\w+): [^>]*>", r"\1", signature).replace("self, /, ", "self, ")
        signature = re.sub(r"\(self(, /)?(, )?", "(", re.sub(r"<object object at \w+>", "…", signature))
        if not (inspect.isclass(thing) and issubclass(thing, (enum.Enum, BaseException))):
            lines += ["```python", f"{name}{signature}", "```", ""]
    except (TypeError, ValueError):
        pass  # an attribute, or something without a signature
    text = inspect.getdoc(thing) or ""
    examples = []
    for part in re.split(r"\n\n", text):
        if part.lstrip().startswith(">>>"):
            examples += ["```python", inspect.cleandoc(part), "```", ""]
        elif re.match(r"(Args|Returns|Raises|Yields|Attributes):\n", part):
            examples += [*arguments(part), ""]
        else:
            examples += [part.replace("``", "`"), ""]
    return lines + examples


def arguments(part):
    """A list out of a section of a description: each name, and what is said of it."""
    title, *rest = part.splitlines()
    items = []
    for line in rest:
        if re.match(r"    \S", line):
            items.append(line.strip())
        elif items:
            items[-1] += " " + line.strip()
    found = [re.match(r"([\w*, ]+): (.*)", item) for item in items]
    return [f"**{title[:-1]}**", "", *(
        f"- `{m.group(1)}`: {m.group(2)}".replace("``", "`") if m else f"- {item}".replace("``", "`")
        for m, item in zip(found, items)
    )]
