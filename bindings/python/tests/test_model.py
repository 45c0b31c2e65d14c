"""Models and settings that a script makes."""

import time

import pytest

from ligament import Model, ModelError, Operator, RunError, SettingError, Settings, UsageError, run


def ring(count: int) -> Model:
    model = Model("ring")
    for i in range(count):
        model.add(f"node{i}", ports={Operator.S: ["left"], Operator.O_I: ["right"]})
    for i in range(count):
        model.connect(f"node{i}.right", f"node{(i + 1) % count}.left")
    return model


def test_a_ring_has_as_many_instances_as_channels():
    assert ring(5).size() == (5, 5)
    assert ring(5).instances() == [f"node{i}" for i in range(5)]


def test_a_model_comes_back_from_its_file(tmp_path):
    model = Model("pair")
    model.add("macro", program=["python3", "macro.py", "--fast"], ports={"O_I": "out", "S": "in"})
    model.add("micro", implementation="solver", ports={"F_INIT": ["init"], "O_F": ["final"]}, multiplicity=[3])
    model.add_program("solver", "/bin/true", ["-n", 4], env={"THREADS": "2"})
    model.connect("macro.out", "micro.init")
    model.connect("micro.final", "macro.in")
    model.settings["micro.dt"] = 0.1
    model.settings.update({"grid": [[1.0, 2.0], [3.0]], "name": "7"})
    model.save(tmp_path / "pair.ymmsl")
    back = Model.load(tmp_path / "pair.ymmsl")
    assert back.to_yaml() == model.to_yaml()
    assert back.settings == model.settings
    assert back.settings["name"] == "7"
    assert back.components == ["macro", "micro"]
    assert back.conduits == [("macro.out", "micro.init"), ("micro.final", "macro.in")]
    assert back.name == "pair"


def test_what_was_loaded_can_be_added_to(tmp_path):
    ring(2).save(tmp_path / "ring.ymmsl")
    model = Model.load(tmp_path / "ring.ymmsl")
    model.add("watcher", ports={"F_INIT": ["seen"]})
    model.connect("node0.right", "watcher.seen")
    assert model.size() == (3, 3)


def test_check_reports_every_problem_at_once():
    model = Model("broken")
    model.add("a", program="/no/such/program", ports={"O_I": ["out"]})
    model.add("b", ports={"F_INIT": ["in"]})
    model.connect("a.uot", "b.in")
    model.connect("a.out", "c.in")
    problems = [problem for problem in model.check() if problem.is_error]
    text = "\n".join(map(str, problems))
    assert len(problems) >= 3, text
    assert "uot" in text and '"c"' in text and "/no/such/program" in text
    assert all(problem.advice and problem.code and problem.severity == "error" for problem in problems)


def test_check_knows_which_components_functions_are_given_for():
    model = ring(2)
    assert not [problem for problem in model.check() if problem.is_error]
    missing = [problem for problem in model.check(given=["node0"]) if problem.is_error]
    assert missing and all("node1" in str(problem) for problem in missing)


def test_timelines_that_contradict_each_other_are_refused_as_the_command_refuses_them(tmp_path):
    model = Model("pair")
    model.add("a", ports={"O_F": "out"})
    model.add("b", ports={"F_INIT": "init"})
    model.connect("a.out", "b.init", filters=["last"])
    assert "timeline-mismatch" in [problem.code for problem in model.check(given=["a", "b"])]
    with pytest.raises(ModelError, match='"last" stands') as refused:
        run(model, {"a": print, "b": print}, run_dir=tmp_path / "run")
    assert "timeline-mismatch" in [problem.code for problem in refused.value.problems]


def test_what_cannot_be_done_yet_is_refused_as_the_command_refuses_it(tmp_path):
    file = tmp_path / "model.ymmsl"
    file.write_text("ymmsl_version: v0.2\nmodels: {m: {components: {a: {implementation: p}}}}\n"
                    "ligament: {wait: park}\n")
    model = Model.load(file)
    (problem,) = model.check()
    assert (problem.code, problem.line, problem.is_error) == ("wait-not-yet", 3, True)
    (problem,) = model.check(ignore=["wait"])
    assert not problem.is_error
    with pytest.raises(UsageError, match="cannot be ignored"):
        model.check(ignore=["filters"])
    with pytest.raises(ModelError, match="wait"):
        run(model, {"p": print})


def test_restarts_are_refused_by_name(tmp_path):
    file = tmp_path / "model.ymmsl"
    file.write_text("ymmsl_version: v0.1\nmodel: {name: m, components: {a: p}}\nligament: {restarts: 2}\n")
    with pytest.raises(RunError, match="asks for restarts"):
        run(Model.load(file), {"p": print}, run_dir=tmp_path / "run")


def test_a_file_that_is_no_model_says_what_is_wrong_and_where(tmp_path):
    path = tmp_path / "bad.ymmsl"
    path.write_text("ymmsl_version: v0.1\nmodel:\n  name: x\n  componnets: {}\n")
    with pytest.raises(ModelError, match=r"bad\.ymmsl:4") as caught:
        Model.load(path)
    assert caught.value.problems[0].line == 4
    with pytest.raises(ModelError, match="missing.ymmsl"):
        Model.load(tmp_path / "missing.ymmsl")


@pytest.mark.parametrize(
    ("do", "what"),
    [
        (lambda model: model.add("node0"), "already"),
        (lambda model: model.add("9 lives"), "9 lives"),
        (lambda model: model.add("x", ports={"O_X": ["a"]}), "O_X"),
        (lambda model: model.add("x", multiplicity=0), "multiplicity"),
        (lambda model: model.add("x", program="a", implementation="b"), "either"),
        (lambda model: model.connect("node0", "node1.left"), "node0"),
        (lambda model: model.connect("node0.right", "node1.left", ["lats"]), "lats"),
    ],
)
def test_what_cannot_be_added_is_refused_at_once(do, what):
    with pytest.raises(ModelError, match=what):
        do(ring(2))


def test_settings_behave_like_a_dict_of_checked_values():
    settings = Settings({"a": 1})
    settings["b.c"] = [1, 2.5]
    assert list(settings) == ["a", "b.c"] and len(settings) == 2 and "b.c" in settings and "z" not in settings
    assert dict(settings) == {"a": 1, "b.c": [1.0, 2.5]} == settings
    assert settings.get("z") is None and settings.get("z", 3) == 3
    other = settings.copy()
    del other["a"]
    assert "a" in settings and "a" not in other and settings != other
    with pytest.raises(KeyError):
        settings["z"]
    for value in [None, {}, object(), ["a"], [True], 2**70]:
        with pytest.raises(SettingError):
            settings["a"] = value
    with pytest.raises(SettingError):
        settings["1x"] = 1


def test_a_thousand_instances_and_fifty_thousand_conduits_are_made_by_ten_lines():
    model = Model("grid")
    for i in range(1000):
        model.add(f"n{i}", ports={"S": [f"in{k}" for k in range(50)], "O_I": [f"out{k}" for k in range(50)]})
    for i in range(1000):
        for k in range(50):
            model.connect(f"n{i}.out{k}", f"n{(i + k + 1) % 1000}.in{k}")
    began = time.perf_counter()
    assert not [problem for problem in model.check() if problem.is_error]
    print(f"checked in {time.perf_counter() - began:.2f} s")
    assert model.size() == (1000, 50_000)


def test_conduits_can_be_made_by_what_looks_at_the_model():
    model = ring(3)
    model.add("watcher", ports={"S": ["a", "b", "c"]})
    model.connect_all((f"{model.components[i]}.right", f"watcher.{port}") for i, port in enumerate("abc"))
    assert model.size() == (4, 6)
