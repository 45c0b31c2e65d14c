"""The same programs with MUSCLE 3 and with the face: each instance sends and receives the same."""

import pytest
from conftest import PROGRAMS, call, records


def both(face, peer, tmp_path, program, *words):
    """Runs a program in both environments, and returns what the instances wrote under each."""
    found = []
    for interpreter in (peer, face):
        folder = tmp_path / interpreter.parents[1].name.strip(".")
        folder = folder.with_name(f"{folder.name}-{len(found)}")
        folder.mkdir()
        call(interpreter, PROGRAMS / program, *words, cwd=folder)
        found.append(records(folder))
    return found


def test_each_instance_sends_and_receives_the_same(face, peer, tmp_path):
    theirs, ours = both(face, peer, tmp_path, "every_call.py", PROGRAMS / "model.ymmsl")
    assert set(theirs) == {"driver", "worker[0]", "worker[1]", "helper[0]", "helper[1]", "splitter",
                           "collector"}
    for name, lines in theirs.items():
        assert ours[name] == lines, name
    assert len(theirs["driver"]) > 100


def test_odd_values_arrive_as_with_muscle3(face, peer, tmp_path):
    theirs, ours = both(face, peer, tmp_path, "odd_values.py")
    assert len(theirs["maker"]) == 8
    assert ours == theirs


# The face's exceptions may be of more kinds than those of MUSCLE 3: all of Ligament's are RuntimeErrors.
def test_an_exception_is_of_the_kind_that_muscle3_raises(face, peer, tmp_path):
    theirs, ours = both(face, peer, tmp_path, "mistakes.py")
    makers = [name for name in theirs if "reader" not in name]
    assert len(makers) == 21
    for name in makers:
        what, _, kinds = theirs[name][0].rpartition(": ")
        mine, _, our_kinds = ours[name][0].rpartition(": ")
        assert mine == what
        assert set(kinds.split()) <= set(our_kinds.split()), what
        assert (kinds == "nothing") == (our_kinds == "nothing"), what


if __name__ == "__main__":
    pytest.main([__file__])
