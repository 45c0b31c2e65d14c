"""The drivers, built once a session."""

import functools

import pytest

from programs import LANGUAGES


@pytest.fixture(scope="session")
def driver(tmp_path_factory):
    """Returns the command of a program of drivers/, by its language and name. Each is built once."""

    @functools.cache
    def command(language, name):
        return LANGUAGES[language](name, tmp_path_factory.mktemp(f"{name}-{language}"))

    return command
