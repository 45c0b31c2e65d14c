"""Filters and units in models that Python code makes."""

import pytest

import ligament
from ligament import ClosedError, Instance, Message, Model, ModelError, Operator, run


def source():
    instance = Instance({Operator.O_I: ["out"]})
    while instance.reuse_instance():
        for i in range(4):
            instance.send("out", Message(float(i), float(i + 1) if i < 3 else None, float(i)))


def sink():
    instance = Instance({Operator.S: ["in"]})
    came = []
    while instance.reuse_instance():
        try:
            while True:
                message = instance.receive("in")
                came.append((message.timestamp, message.data))
        except ClosedError:
            pass
    print(came)


def coupled(filters):
    model = Model("built")
    model.add("source", ports={"o_i": ["out"]})
    model.add("sink", ports={"s": ["in"]})
    model.connect("source.out", "sink.in", filters)
    return model


def test_a_model_made_in_python_runs_with_filters(tmp_path):
    model = coupled([{"multiply": 10, "at": "sender"}, {"every": 2}, {"unit": {"from": "degC", "to": "K"}}])
    done = run(model, {"source": source, "sink": sink}, run_dir=tmp_path / "run", show="nothing")
    assert done.output("sink") == "[(0.0, 273.15), (2.0, 293.15)]\n"


def test_ymmsl_s_own_filters_stand_beside_others_and_all_are_written(tmp_path):
    model = coupled(["last", "repeat", "discard", {"console": {"label": "a \"b\""}, "on_error": "skip"}])
    text = model.to_yaml()
    assert "last repeat" in text and "discard" in text and "on_error: skip" in text, text
    (tmp_path / "m.ymmsl").write_text(text)
    assert Model.load(tmp_path / "m.ymmsl").to_yaml() == text


@pytest.mark.parametrize("filters, why", [
    ([{"mutliply": 2}], "did you mean \"multiply\"?"),
    (["lats"], "there is no filter \"lats\""),
    ([{"multiply": float("nan")}], "must be a finite number"),
    ([{"multiply": 2, "at": "home"}], "sender"),
])
def test_filters_that_cannot_be_are_refused_and_nothing_is_added(filters, why):
    model = coupled(None)
    before = model.to_yaml()
    with pytest.raises(ModelError, match=why.replace("?", "\\?")):
        model.connect("source.out", "sink.in", filters)
    assert model.to_yaml() == before


def test_check_finds_units_that_do_not_fit():
    model = coupled(None)
    model.set_unit("source.out", "degC")
    model.set_unit("sink.in", "K")
    [problem] = [problem for problem in model.check(given=["source", "sink"]) if problem.code == "units-differ"]
    assert "put a filter into the conduit: unit: {from: degC, to: K}" in str(problem)
    with pytest.raises(ligament.ModelError):
        model.set_unit("source out", "K")
