"""Takes the first program and its model out of the README of a face and runs them; compiles the other pieces of
code."""

import re

from programs import compile_object, compile_program, run_model


def first_program(prefix, readme, language, directory):
    text = readme.read_text()
    source = directory / f"rod.{language}"
    source.write_text(re.search(rf"```{language}\n(.*?)```", text, re.S).group(1))
    model = re.search(r"```yaml\n(.*?)```", text, re.S).group(1)
    program = compile_program(prefix, source, directory / "rod")
    return run_model(prefix, directory, model.replace("./rod", str(program)))


def compile_pieces(prefix, page, language, skipped, opening, directory):
    """Compiles the pieces of code of a page, except for the first `skipped`, as one function that begins with
    `opening`."""
    pieces = re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.S)[skipped:]
    assert pieces, f"there is no code in {page}"
    source = directory / f"pieces.{language}"
    source.write_text(f"{opening} {{\n{''.join(pieces)}}}\n")
    compile_object(prefix, source, directory / "pieces.o")
