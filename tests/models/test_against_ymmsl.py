"""Every good model file has the same meaning for Ligament and for PyPI's ymmsl 0.18.0. Needs ymmsl==0.18.0; the
tests of flattening and of peers also need muscle3 0.11. The program that prints Ligament's reading is taken
from the environment variable DUMP_MODEL, or built with cargo."""

import json
import math
import os
import re
import shlex
import subprocess
import warnings
from pathlib import Path

import pytest

ymmsl = pytest.importorskip("ymmsl", reason="pip install ymmsl==0.18.0")

from ymmsl.v0_2 import Configuration, Reference, Timeline, resolve

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
MODULES = HERE / "good" / "modules"
# The reference refuses a file with a section of Ligament. Features that are valid and not done yet are also
# compared.
GOOD = sorted(
    path
    for folder in ("good", "notyet")
    for path in (HERE / folder).glob("*.ymmsl")
    if "\nligament:" not in path.read_text()
)
WITH_MODEL = [path for path in GOOD if "components:" in path.read_text()]


@pytest.fixture(scope="session")
def dump_model():
    """The command that prints a model as JSON."""
    command = os.environ.get("DUMP_MODEL")
    if command is None:
        # As the Rust tests have built it: nothing is compiled twice.
        build = ["cargo", "build", "--profile", "tests", "--locked", "--quiet", "--example", "dump_model"]
        subprocess.run(build, cwd=ROOT, check=True)
        target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
        command = str(target / "tests" / "examples" / "dump_model")

    def run(mode, path):
        done = subprocess.run(
            [command, mode, path, MODULES], check=False, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def load(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ymmsl.load_as(Configuration, path)


def text(description):
    # The reference adds this text where v0.1 and programs have no description.
    return "" if description.startswith("Please add a description") else description


def ports(given):
    return {str(name): [port.operator.name, str(port.timeline)] for name, port in given.items()}


def supported(given):
    if given is None:
        return {}
    return {str(name): [str(setting.typ), setting.description] for name, setting in given}


def setting(value):
    if isinstance(value, bool):
        return ["bool", value]
    if isinstance(value, int):
        return ["int", value]
    if isinstance(value, float):
        return ["float", value if math.isfinite(value) else str(value)]
    if isinstance(value, str):
        return ["str", value]
    if isinstance(value[0], list):
        return ["[[float]]", value]
    if isinstance(value[0], float):
        return ["[float]", [float(x) for x in value]]
    return ["[int]", value]


def ours_setting(given):
    kind, value = given
    return [kind, [float(x) for x in value]] if kind == "[float]" else given


def rule(given):
    names = ["at"] if hasattr(given, "at") else ["start", "stop", "every"]
    return {name: getattr(given, name) for name in names}


def optional(value):
    return None if value is None else str(value)


def program(given):
    return {
        "description": text(given.description),
        "ports": ports(given.ports),
        "supported_settings": supported(given.supported_settings),
        "base_env": given.base_env.name.lower(),
        "modules": given.modules,
        "virtual_env": optional(given.virtual_env),
        "env": given.env,
        "execution_model": given.execution_model.name.lower(),
        # A Path drops a leading "./".
        "executable": optional(given.executable),
        # The reference makes a shell's command line of a single text.
        "args": shlex.split(given.args[0]) if given.args and len(given.args) == 1 else given.args,
        "script": given.script,
        "can_share_resources": given.can_share_resources,
        "keeps_state_for_next_use": given.keeps_state_for_next_use.name.lower(),
    }


def model(given):
    return {
        "description": text(given.description),
        "ports": ports(given.ports),
        "supported_settings": supported(given.supported_settings),
        "components": {
            str(name): {
                "description": text(component.description),
                "ports": ports(component.ports),
                "implementation": optional(component.implementation),
                "optional": component.optional,
                "multiplicity": component.multiplicity,
            }
            for name, component in given.components.items()
        },
        "conduits": [[str(c.sender), str(c.receiver), [f.value for f in c.filters]] for c in given.conduits],
        "matching_timelines": [
            [str(m.head), sorted(map(str, m.matches))] for m in given.matching_timelines or []
        ],
    }


def resources(given):
    return {name: value for name, value in vars(given).items() if name != "name"}


def configuration(given):
    return {
        "description": text(given.description),
        "imports": [[str(i.module), str(i.name)] for i in given.imports],
        "models": {str(name): model(m) for name, m in given.models.items()},
        "custom_implementations": {str(k): optional(v) for k, v in given.custom_implementations.items()},
        "settings": {str(name): setting(value) for name, value in given.settings.items()},
        "programs": {str(name): program(p) for name, p in given.programs.items()},
        "resources": {str(name): resources(r) for name, r in given.resources.items()},
        "checkpoints": {
            "at_end": given.checkpoints.at_end,
            "wallclock_time": [rule(r) for r in given.checkpoints.wallclock_time],
            "simulation_time": [rule(r) for r in given.checkpoints.simulation_time],
        },
        "resume": {str(name): str(path) for name, path in given.resume.items()},
    }


def normalised(ours):
    ours["settings"] = {name: ours_setting(value) for name, value in ours["settings"].items()}
    for entry in ours["programs"].values():
        for key in ("executable", "virtual_env"):
            if entry[key] is not None:
                entry[key] = str(Path(entry[key]))
    return ours


def in_reading_order(given):
    """Models by name and conduits in their order: the order of mappings is no part of the meaning."""
    return json.loads(json.dumps(given, sort_keys=True))


@pytest.mark.parametrize("path", GOOD, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_a_file_is_read_as_the_reference_reads_it(path, dump_model):
    theirs = in_reading_order(configuration(load(path)))
    ours = in_reading_order(normalised(dump_model("--read", path)))
    assert ours == theirs


@pytest.fixture
def module_path(monkeypatch):
    monkeypatch.setenv("YMMSL_PATH", str(MODULES))


@pytest.mark.parametrize("path", GOOD, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_imports_and_custom_implementations_are_resolved_alike(path, dump_model, module_path):
    config = load(path)
    resolve(Reference([]), config, reuse_cached_imports=False)
    assert in_reading_order(normalised(dump_model("--resolve", path))) == in_reading_order(
        configuration(config)
    )


def flattened(path):
    hammer = pytest.importorskip("libmuscle.manager.hammer", reason="pip install muscle3==0.11.0")
    config = load(path)
    resolve(Reference([]), config, reuse_cached_imports=False)
    # This does not check if timelines fit; flattening only needs some timeline for each component.
    for nested in config.models.values():
        for component in nested.components.values():
            component.timeline = Timeline(str(component.name))
    return hammer.flatten(config)


@pytest.mark.parametrize("path", WITH_MODEL, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_nested_models_are_flattened_alike(path, dump_model, module_path):
    theirs = flattened(path).root_model()
    ours = dump_model("--flat", path)
    # The reference leaves out every component without an implementation. Ligament leaves out only optional
    # ones, because a code may be given for the others.
    components = {n: c for n, c in ours["components"].items() if c["implementation"] is not None}
    assert ours["name"] == str(theirs.name)
    assert components == {
        str(name): {
            "implementation": optional(c.implementation),
            "multiplicity": c.multiplicity,
            "ports": ports(c.ports),
        }
        for name, c in theirs.components.items()
    }
    conduits = [c for c in ours["conduits"] if all(end.rsplit(".", 1)[0] in components for end in c[:2])]
    assert conduits == sorted(
        [str(c.sender), str(c.receiver), [f.value for f in c.filters]] for c in theirs.conduits
    )


def component_of(end):
    """Returns the component of an end such as a.b[1].port[2]."""
    return Reference(re.sub(r"\[\d+\]", "", end).rsplit(".", 1)[0])


@pytest.mark.parametrize("path", WITH_MODEL, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_instances_have_the_peers_and_slots_of_the_reference(path, dump_model, module_path):
    from itertools import product

    config = flattened(path)
    peer_info = pytest.importorskip("libmuscle.peer_info")
    from libmuscle.manager.topology_store import TopologyStore

    topology = TopologyStore(config)
    theirs = set()
    for name, component in topology.model.components.items():
        dims = topology.get_peer_dimensions(name)
        conduits = topology.get_conduits(name)
        for index in product(*map(range, component.multiplicity)):
            info = peer_info.PeerInfo(name, list(index), conduits, dims, {}, [])
            for port in {c.sending_port() for c in conduits if c.sending_component() == name}:
                peer_dims = info.check_peer_dimensions(port)
                is_vector = len(peer_dims) > len(index)
                for slot in range(peer_dims[-1]) if is_vector else [None]:
                    for peer in info.get_peer_endpoints(port, slot):
                        end = str(name + list(index) + port) + (f"[{slot}]" if is_vector else "")
                        theirs.add((end, str(peer.ref())))
    ours = {tuple(pair) for pair in dump_model("--channels", path)}
    assert {
        pair for pair in ours if all(component_of(end) in topology.model.components for end in pair)
    } == theirs
