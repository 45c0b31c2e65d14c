"""Each kind of wrong declaration is found out, in each language."""

import re
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PYTHON_DRIVER = "import sys\nfrom ligament import grid\ngrid.run(['{}'], sys.argv[1:])\n"
READS_BOTH = "reads: {u: interior}, writes: {v: interior}"
POINTS = 'interior (point [2, 3] of the grid\'s)'
# For each function: what it declares, whether it is found out by marks only, and what is said.
KINDS = {
    "neighbours": (READS_BOTH, True, 'reads the ghosts of the field "u", and declares that it reads its interior'),
    "gap": ("writes: {v: interior}", True, 'that it writes the field "v", and has not written it in its ' + POINTS),
    "update": (READS_BOTH, True, 'declares only that it writes it: the field "v" depends on it in its interior'),
    "beyond": ("writes: {v: interior}", True, 'writes the field "v" in its ghosts (point [-1, 3] of the grid'),
    "change": (READS_BOTH, True, 'writes the field "u" in its ' + POINTS),
    "total": ("reads: {u: interior}", True, 'reads the ghosts of the field "u"'),
    "other": ("reads: {u: interior}", False, 'asks for the field "v", and does not declare'),
    "parameter": ("reads: {u: interior}", False, 'asks for the parameter "length", which its module does not'),
    "refuse": ("reads: {u: interior}", False, "the height is below the ground"),
    "crash": ("reads: {u: interior}", False, "crashed in block [0, 0] of \"wave\""),
}


@pytest.fixture
def command(shared_object, c_driver, tmp_path):
    """Returns the command that runs a function with its declaration, in a language."""

    def of(language, name, uses):
        source = (HERE / f"faults.{dict(c='c', fortran='f90', python='py')[language]}").read_text()
        if language == "python":
            uses = "{" + f"bin: evol, {uses}" + "}"
            quoted = uses
            for word in ("bin", "evol", "reads", "writes", "interior", "everywhere", "u", "v"):
                quoted = re.sub(rf"\b{word}\b", f'"{word}"', quoted)
            path = tmp_path / "faults_program.py"
            path.write_text(source.replace("@NAME@", name).replace('"@USES@"', quoted))
            return [sys.executable, path]
        path = tmp_path / f"faults.{'c' if language == 'c' else 'f90'}"
        path.write_text(source.replace("@DECLARATION@", f"{name}: {{bin: evol, {uses}}}"))
        made = shared_object(path)
        if language == "c":
            return [c_driver, made]
        program = tmp_path / "program.py"
        program.write_text(PYTHON_DRIVER.format(made))
        return [sys.executable, program]

    return of


@pytest.mark.parametrize("language", ["c", "fortran", "python"])
@pytest.mark.parametrize("name", KINDS)
def test_a_function_that_does_not_do_what_it_declares_is_named(run, model, command, language, name):
    uses, by_marks, why = KINDS[name]
    program = command(language, name, uses)
    text = model([*program, "--poison"], (8, 8), (2, 1), ("periodic", "periodic"), "steps: 2")
    done = run(text)
    said = " ".join(done.text.split())
    assert done.status != 0 and why in said, done.text
    assert f'the function "{name}" of the module "faults" (evol)' in said and 'of "wave"' in said
    if by_marks:
        assert run(text.replace(", '--poison'", "")).status == 0


@pytest.mark.parametrize(("language", "uses"), [("c", "everywhere"), ("fortran", "everywhere"), ("python", "everywhere")])
def test_a_function_that_does_what_it_declares_is_left_alone(run, model, command, language, uses):
    program = command(language, "neighbours", f"reads: {{u: {uses}}}, writes: {{v: interior}}")
    done = run(model([*program, "--poison"], (8, 8), (2, 2), ("periodic", "mirrored"), "steps: 3"))
    assert done.status == 0, done.text
