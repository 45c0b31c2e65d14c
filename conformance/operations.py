#!/usr/bin/env python3
"""Writer of docs/reference/operations.md from operations.toml. Usage: conformance/operations.py [--write]"""

import sys
import textwrap
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "reference" / "operations.md"
LANGUAGES = {"c": "C", "cpp": "C++", "fortran": "Fortran", "java": "Java", "python": "Python", "rust": "Rust"}
HEADING = """# Operations

Each operation of the library, and its name in each language. The pages of the languages say how to call it; it
does the same in all of them.
"""


def groups():
    return tomllib.loads((HERE / "operations.toml").read_text())["group"]


def page():
    """Returns the page as Markdown."""
    lines = [HEADING]
    for group in groups():
        if "commands" in group:
            lines += [f"## {group['title']}", "", "| operation | command |", "| --- | --- |"]
            lines += [f"| {row['what']} | `{row['command']}` |" for row in group["operation"]] + [""]
            continue
        lines += [f"## {group['title']}", "", "| operation | " + " | ".join(LANGUAGES.values()) + " |",
                  "| --- |" + " --- |" * len(LANGUAGES)]
        notes = []
        for row in group["operation"]:
            names = [f"`{row[key]}`" if row[key] != "-" else "–" for key in LANGUAGES]
            lines.append(f"| {row['what']} | " + " | ".join(names) + " |")
            if "note" in row:
                wrapped = textwrap.wrap(f"{row['note']}.", 112, break_long_words=False, break_on_hyphens=False)
                notes += wrapped
        lines += ["", *notes, ""] if notes else [""]
    return "\n".join(lines).rstrip("\n") + "\n"


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page())
    else:
        print(page(), end="")
