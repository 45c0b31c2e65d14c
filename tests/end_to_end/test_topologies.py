"""One compiled submodel in three models, unchanged: alone with itself, as a pair, and in a ring of five."""

import hashlib
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent / "walker.cpp"


def model(program, names, steps, starts):
    components = "\n".join(f"    {n}: {{implementation: walker, ports: {{o_i: out, s: in}}}}" for n in names)
    conduits = "\n".join(f"    {a}.out: {b}.in" for a, b in zip(names, names[1:] + names[:1]))
    settings = "\n".join(f"  {n}.start: {s}" for n, s in zip(names, starts))
    return f"""ymmsl_version: v0.1
model:
  name: walk
  components:
{components}
  conduits:
{conduits}
settings:
  steps: {steps}
{settings}
implementations:
  walker: {{executable: {program}}}
"""


@pytest.mark.parametrize("names", [["only"], ["left", "right"], ["n", "e", "s", "w", "centre"]])
def test_the_same_binary_walks_in_every_topology(names, run, compile_cpp):
    program = compile_cpp(SOURCE)
    before = hashlib.sha256(program.read_bytes()).hexdigest()
    steps, starts = 7, [100 * i for i in range(len(names))]
    done = run(model(program, names, steps, starts))
    assert done.status == 0, done.text
    for i, name in enumerate(names):
        # After each step, a number has moved one place along the ring and has grown by one.
        assert int(done.file(name, "number.txt")) == starts[(i - steps) % len(names)] + steps
    assert hashlib.sha256(program.read_bytes()).hexdigest() == before
