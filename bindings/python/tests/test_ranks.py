"""Functions as components whose ranks speak for themselves."""

import ligament
from ligament import Instance, InstanceFlags, Message, Model, Operator, Settings

RANKS = 3
MODEL = """ymmsl_version: v0.1
model:
  name: sweep
  components:
    driver: {implementation: driver, ports: {o_i: settings, s: result}}
    code: {implementation: code, ports: {o_f: result}}
  conduits:
    driver.settings: code.muscle_settings_in
    code.result: driver.result
settings: {x: 0, y: 5}
ligament: {ranks: {code: 3}}
"""


def test_each_rank_has_its_overlay_and_its_output(run_in, tmp_path):
    (tmp_path / "model.ymmsl").write_text(MODEL)

    def driver():
        ports = {Operator.O_I: ["settings[]"], Operator.S: ["result[]"]}
        instance = Instance(ports, flags=InstanceFlags.DONT_APPLY_OVERLAY)
        while instance.reuse_instance():
            assert (instance.rank, instance.ranks) == (0, 1)
            assert instance.get_port_length("settings") == instance.get_port_length("result") == RANKS
            for x in (1, 2):
                for rank in range(RANKS):
                    instance.send("settings", Message(0.0, data=Settings({"x": 10 * x + rank})), slot=rank)
                for rank in range(RANKS):
                    assert instance.receive_with_settings("result", slot=rank).data == [rank, RANKS,
                                                                                        10 * x + rank, 5]

    def code():
        instance = Instance()
        while instance.reuse_instance():
            x, y = instance.get_setting("x", "int"), instance.get_setting("y", "int")
            print("x is", x)
            assert instance.name == "code"
            instance.send("result", Message(0.0, data=[instance.rank, instance.ranks, x, y]))

    result = run_in(Model.load(tmp_path / "model.ymmsl"), {"driver": driver, "code": code})
    assert list(result.instances) == ["driver", *(f"code:{rank}" for rank in range(RANKS))]
    assert all(result.instances[f"code:{rank}"].iterations == 2 for rank in range(RANKS))
    assert [result.output(f"code:{rank}") for rank in range(RANKS)] == [f"x is 1{rank}\nx is 2{rank}\n"
                                                                        for rank in range(RANKS)]


def test_a_rank_that_fails_is_named_with_what_it_printed(run_in, tmp_path):
    (tmp_path / "model.ymmsl").write_text(MODEL)

    def driver():
        instance = Instance()
        while instance.reuse_instance():
            instance.receive("result", slot=0)

    def code():
        instance = Instance()
        if instance.rank == 1:
            raise RuntimeError("too hot")
        instance.reuse_instance()

    try:
        run_in(Model.load(tmp_path / "model.ymmsl"), {"driver": driver, "code": code})
        raise AssertionError("the run went well")
    except ligament.RunError as failure:
        assert "code:1" in str(failure) and "too hot" in str(failure)
