"""Fixtures of the tests of the C and C++ faces: the installation and the compiled programs, made once a
session."""

from pathlib import Path

import pytest
from programs import compile_program, install


@pytest.fixture(scope="session")
def prefix(tmp_path_factory):
    return install(tmp_path_factory.mktemp("prefix"))


@pytest.fixture(scope="session")
def program(prefix, tmp_path_factory):
    """Compiles a source file of this repository's tests; each file only once."""
    made = {}

    def program(source):
        source = Path(source)
        if source not in made:
            made[source] = compile_program(prefix, source, tmp_path_factory.mktemp("programs") / source.stem)
        return made[source]

    return program
