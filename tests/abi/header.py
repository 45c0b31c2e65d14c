"""Reads the promises of a version of ligament.h: the layouts of its structs, its numbers, its functions."""

import re
import subprocess
from pathlib import Path


class Header:
    """A parsed header file, in the plain form that cbindgen writes."""

    def __init__(self, path):
        self.path = Path(path)
        text = re.sub(r"//[^\n]*", "", self.path.read_text())
        self.enums = {
            name: re.findall(r"\b(LIG_\w+) =", body)
            for name, body in re.findall(r"LIG_ENUM\((\w+)\) \{(.*?)\};", text, re.S)
        }
        self.constants = re.findall(r"#define (LIG_\w+) \d+$", text, re.M)
        self.structs = {
            name: [self._member(line) for line in body.split(";") if line.strip()]
            for body, name in re.findall(r"typedef struct \{(.*?)\} (\w+);", text, re.S)
        }
        prototypes = text.split('extern "C" {')[1].split("#ifdef __cplusplus")[0].split("#endif")[1]
        self.functions = {
            re.search(r"\b(lig_\w+)\(", prototype).group(1): " ".join(prototype.split()) + ";"
            for prototype in prototypes.split(";")
            if prototype.strip()
        }

    @staticmethod
    def _member(declaration):
        pointer = re.search(r"\(\*(\w+)\)", declaration)
        return pointer.group(1) if pointer else re.search(r"(\w+)(\[[^]]*\])?\s*$", declaration).group(1)

    def layout(self, directory):
        """Every size, offset and number, as a compiler of this machine finds it: {name: number}."""
        lines = []
        for struct, members in self.structs.items():
            lines.append(f'SAY("sizeof {struct}", sizeof({struct}));')
            for member in members:
                lines.append(f'SAY("offset {struct}.{member}", offsetof({struct}, {member}));')
                lines.append(f'SAY("sizeof {struct}.{member}", sizeof((({struct} *)0)->{member}));')
        for enum, names in self.enums.items():
            lines.append(f'SAY("sizeof {enum}", sizeof({enum}));')
            lines += [f'SAY("{name}", {name});' for name in names]
        lines += [f'SAY("{name}", {name});' for name in self.constants if not name.startswith("LIG_VERSION_")]
        source = Path(directory) / "layout.c"
        source.write_text(
            f'#include "{self.path}"\n#include <stdio.h>\n'
            '#define SAY(what, number) printf("%s = %lld\\n", what, (long long)(number))\n'
            "int main(void) {\n" + "\n".join(lines) + "\n}\n"
        )
        program = Path(directory) / "layout"
        subprocess.run(["gcc", "-std=c11", "-Wall", "-Werror", source, "-o", program], check=True)
        said = subprocess.run([program], check=True, capture_output=True, text=True).stdout
        return dict(read_layout(said))


def read_layout(text):
    """The pairs of a layout file: name and number."""
    for line in text.splitlines():
        what, _, number = line.partition(" = ")
        yield what, int(number)
