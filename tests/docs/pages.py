"""Reads a page as its reader would follow it: files to write, commands to give, and what they should print.

A fenced block is a file when the paragraph before it begins with the file's name in backquotes. Lines with `$ `
in a `console` block, or in an indented one, are commands; in a `console` block what follows is their output, in
which `…` stands for anything within a line, and alone in a line for any lines. Other blocks are for the eye.
"""

import re

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
NAMED = re.compile(r"`([\w/-]+\.(?:py|cpp|c|f90|java|rs|sh|toml|csv|txt|yaml|ymmsl)|CMakeLists\.txt)`")
INDENTED = re.compile(r"^    \$ (.*?)(?:\s{2,}#.*)?$", re.M)


class File:
    def __init__(self, name, text):
        self.name, self.text = name, text


class Command:
    def __init__(self, line, output):
        self.line, self.output = line, output


def steps(text):
    """The files and commands of a page, in their order."""
    found, end = [], 0
    for match in FENCE.finditer(text):
        before = text[end:match.start()]
        found += [Command(line, None) for line in INDENTED.findall(before)]
        end = match.end()
        paragraph = before.strip().rsplit("\n\n", 1)[-1]
        named = NAMED.match(paragraph)
        if match.group(1) == "console":
            found += commands(match.group(2))
        elif named:
            found.append(File(named.group(1), match.group(2)))
    return found + [Command(line, None) for line in INDENTED.findall(text[end:])]


def commands(block):
    found = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append(Command(line[2:], []))
        else:
            found[-1].output.append(line)
    return found


def pattern(lines):
    """Returns a pattern for a whole output; the number of spaces between words does not matter."""
    parts = []
    for line in lines:
        if line == "…":
            parts.append(r"(?:.*\n)*?")
        else:
            words = [re.escape(word).replace("…", ".*?") for word in line.split()]
            parts.append(" *" + " +".join(words) + r" *\n")
    return re.compile("".join(parts) + r"\Z")


def prose_links(text):
    """The targets of all links and pictures outside code."""
    prose = re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))
    return re.findall(r"\]\(([^)\s]+)\)", prose)
