"""Takes the first program and its model out of a face's README and runs them."""

import re

from programs import compile_program, run_model


def first_program(prefix, readme, language, directory):
    text = readme.read_text()
    source = directory / f"rod.{language}"
    source.write_text(re.search(rf"```{language}\n(.*?)```", text, re.S).group(1))
    model = re.search(r"```yaml\n(.*?)```", text, re.S).group(1)
    program = compile_program(prefix, source, directory / "rod")
    return run_model(prefix, directory, model.replace("./rod", str(program)))
