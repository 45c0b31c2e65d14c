"""The JSON schema for editors accepts every good model file and refuses those whose form is broken.

Needs jsonschema and PyYAML.
"""

import json
import re
from pathlib import Path

import pytest

jsonschema = pytest.importorskip("jsonschema", reason="pip install jsonschema")
yaml = pytest.importorskip("yaml", reason="pip install pyyaml")

HERE = Path(__file__).parent
SCHEMA = json.loads((HERE.parent.parent / "schemas" / "ymmsl.schema.json").read_text())
GOOD = sorted(path for folder in ("good", "notyet") for path in (HERE / folder).rglob("*.ymmsl"))

# The mistakes in these files can be seen without the meaning of names.
BROKEN_FORM = [
    "bad-names",
    "budgets",
    "exchange-form",
    "filters",
    "empty",
    "imports",
    "misspelt-keys",
    "missing-version",
    "not-a-model",
    "place",
    "scales-form",
    "script-and-more",
    "stage",
    "wrong-types",
    "wrong-version",
]
# The form of these files is right; their contents are wrong.
BROKEN_MEANING = [
    "time-unit",
    "exchange",
    "exchange-filters",
    "missing-executable",
    "missing-implementation",
    "multiplicity",
    "nested-models",
    "resources",
    "scales",
    "setting-type",
    "two-senders",
    "unknown-port",
    "waiting-circle",
    "wrong-direction",
]


class Loader(yaml.SafeLoader):
    """Reads YAML as editors do, in version 1.2: only true and false are truth values."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if not tag.endswith((":bool", ":float", ":timestamp"))]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
Loader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile("^(true|True|TRUE|false|False|FALSE)$"), "tTfF"
)
Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(
        r"^([-+]?([0-9]+[eE][-+]?[0-9]+|([0-9]+\.[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|\.(inf|Inf|INF))|\.(nan|NaN))$"
    ),
    "-+0123456789.",
)


@pytest.fixture(scope="session")
def validator():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    return jsonschema.Draft202012Validator(SCHEMA)


def problems(validator, path):
    return [error.message for error in validator.iter_errors(yaml.load(path.read_text(), Loader))]


@pytest.mark.parametrize("path", GOOD, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_a_good_file_is_accepted(path, validator):
    assert problems(validator, path) == []


@pytest.mark.parametrize("name", BROKEN_FORM)
def test_a_file_of_a_broken_form_is_refused(name, validator):
    assert problems(validator, HERE / "broken" / f"{name}.ymmsl")


@pytest.mark.parametrize("name", BROKEN_MEANING)
def test_a_file_whose_form_is_right_is_accepted(name, validator):
    assert problems(validator, HERE / "broken" / f"{name}.ymmsl") == []
