"""Resizable ports: vector ports that are joined to vector ports. The sender sets the number of slots."""

import numpy as np
import pytest
from conftest import pipe

from ligament import ClosedError, Instance, Message, Model, Operator, RunError, Settings, UsageError


def test_f_init_takes_in_as_many_messages_as_the_sender_has_slots(run_in):
    lengths = [2, 4, 1]
    model = Model("pipe")
    model.add("sender", ports={"O_I": ["out"]})
    model.add("receiver", ports={"F_INIT": ["in"]})
    model.connect("sender.out", "receiver.in")

    def sender():
        instance = Instance({Operator.O_I: ["out[]"]})
        while instance.reuse_instance():
            for time, length in enumerate(lengths):
                instance.set_port_length("out", length)
                for slot in range(length):
                    instance.send("out", Message(float(time), data=[time, slot]), slot)

    def receiver():
        instance = Instance({Operator.F_INIT: ["in[]"]})
        for time, length in enumerate(lengths):
            assert instance.reuse_instance() and instance.get_port_length("in") == length
            for slot in reversed(range(length)):
                message = instance.receive("in", slot)
                assert (message.timestamp, message.data) == (time, [time, slot])
            with pytest.raises(UsageError, match=f"has {length} slots this time"):
                instance.receive("in", length)
            with pytest.raises(UsageError, match="received already"):
                instance.receive("in", 0)
        assert not instance.reuse_instance()

    run_in(model, {"sender": sender, "receiver": receiver})


def test_a_slot_below_0_is_refused_by_each_call(run_in):
    def sender():
        instance = Instance({Operator.O_F: ["out[]"]})
        instance.reuse_instance()
        for length in (-1, 2**64):
            with pytest.raises(UsageError, match=f"a port cannot have {length} slots"):
                instance.set_port_length("out", length)
        instance.set_port_length("out", 1)
        for slot in (-1, 2**32):
            with pytest.raises(UsageError, match=f"there is no slot {slot}; slots count from 0"):
                instance.send("out", Message(0.0), slot)
        instance.send("out", Message(0.0, data="came"), 0)

    def receiver():
        instance = Instance({Operator.F_INIT: ["in[]"]})
        instance.reuse_instance()
        for call in (instance.receive, instance.receive_with_settings, instance.poll, instance.has_next):
            with pytest.raises(UsageError, match="there is no slot -1"):
                call("in", slot=-1)
        assert instance.receive("in", 0).data == "came"

    run_in(pipe(), {"sender": sender, "receiver": receiver})


def test_slots_are_queues_of_their_own_whatever_the_order(run_in):
    def sender():
        instance = Instance({Operator.O_I: ["out[]"]})
        while instance.reuse_instance():
            instance.set_port_length("out", 3)
            for time in range(50):
                for slot in (2, 0, 1):
                    instance.send("out", Message(float(time), data=np.full(1000, 3 * time + slot)), slot)
            instance.set_port_length("out", 1)
            instance.send("out", Message(50.0, data="last"), 0)

    def receiver():
        instance = Instance({Operator.S: ["in[]"]})
        while instance.reuse_instance():
            for slot in (1, 2, 0):
                for time in range(50):
                    message = instance.receive("in", slot)
                    assert message.timestamp == time and (message.data == 3 * time + slot).all()
                    assert instance.get_port_length("in") == 3
            port, message = instance.receive_any([("in", 2), ("in", 0)])
            assert (port, message.data, instance.get_port_length("in")) == (("in", 0), "last", 1)
            assert instance.poll("in", 1)  # since it has ended

    model = Model("pipe")
    model.add("sender", ports={"O_I": ["out"]})
    model.add("receiver", ports={"S": ["in"]})
    model.connect("sender.out", "receiver.in")
    run_in(model, {"sender": sender, "receiver": receiver})


def test_one_port_sets_the_length_for_all_who_receive_from_it(run_in):
    model = Model("fan")
    model.add("sender", ports={"O_F": ["out"]})
    for name in ("first", "second"):
        model.add(name, ports={"F_INIT": ["in"]})
        model.connect("sender.out", f"{name}.in")

    def sender():
        instance = Instance({Operator.O_F: ["out[]"]})
        while instance.reuse_instance():
            instance.set_port_length("out", 2)
            for slot in range(2):
                instance.send("out", Message(0.0, data=slot, settings=Settings({"of": slot // 2})), slot)

    def receiver():
        instance = Instance({Operator.F_INIT: ["in[]"]})
        while instance.reuse_instance():
            assert [instance.receive("in", slot).data for slot in range(instance.get_port_length("in"))] == [0,
                                                                                                             1]
            assert instance.get_setting("of") == 0

    run_in(model, {"sender": sender, "first": receiver, "second": receiver})


def test_instances_with_the_same_multiplicity_each_have_lengths_of_their_own(run_in):
    def sender():
        instance = Instance({Operator.O_F: ["out[]"]})
        while instance.reuse_instance():
            length = 1 + instance.index[0]
            instance.set_port_length("out", length)
            for slot in range(length):
                instance.send("out", Message(0.0, data=[*instance.index, slot]), slot)

    def receiver():
        instance = Instance({Operator.F_INIT: ["in[]"]})
        while instance.reuse_instance():
            assert instance.get_port_length("in") == 1 + instance.index[0]
            for slot in range(instance.get_port_length("in")):
                assert instance.receive("in", slot).data == [*instance.index, slot]

    run_in(pipe(sender=3, receiver=3), {"sender": sender, "receiver": receiver})


def test_a_port_without_slots_and_one_of_the_models_length_cannot_be_resized(run_in):
    def sender():
        instance = Instance({Operator.O_F: ["out[]"], Operator.O_I: ["plain", "nowhere[]"]})
        while instance.reuse_instance():
            assert not instance.is_resizable("out") and not instance.is_resizable("plain")
            with pytest.raises(UsageError, match="has 2 slots, as the model says"):
                instance.set_port_length("out", 3)
            with pytest.raises(UsageError, match="not a vector port"):
                instance.set_port_length("plain", 3)
            assert instance.is_resizable("nowhere")
            instance.set_port_length("nowhere", 4)
            assert instance.get_port_length("nowhere") == 4
            instance.send("nowhere", Message(0.0), 3)
            with pytest.raises(UsageError, match="cannot have"):
                instance.set_port_length("nowhere", 1 << 40)
            for slot in range(2):
                instance.send("out", Message(0.0), slot)

    def receiver():
        instance = Instance({Operator.F_INIT: ["in"]})
        while instance.reuse_instance():
            instance.receive("in")

    run_in(pipe(receiver=2), {"sender": sender, "receiver": receiver})


def test_a_vector_port_joined_to_a_scalar_one_ends_the_run_with_advice(run_in):
    def component(ports):
        def run():
            instance = Instance(ports)
            while instance.reuse_instance():
                pass

        return run

    functions = {"sender": component({Operator.O_F: ["out[]"]}),
                 "receiver": component({Operator.F_INIT: ["in"]})}
    with pytest.raises(RunError, match="joined to a .* port of .*; declare both"):
        run_in(pipe(), functions)


@pytest.mark.parametrize("slots", [(0,), (1,), (0, 1)], ids=["slot 0", "slot 1", "both"])
def test_a_wait_for_any_slot_ends_with_what_comes_for_one_of_them_and_with_the_conduit(run_in, slots):
    rounds = 2000
    model = Model("dialogue")
    model.add("asker", ports={"O_I": ["question"], "S": ["answer"]})
    model.add("teller", ports={"S": ["question"], "O_I": ["answer"]})
    model.connect("asker.question", "teller.question")
    model.connect("teller.answer", "asker.answer")

    def asker():
        instance = Instance({Operator.O_I: ["question[]"], Operator.S: ["answer"]})
        while instance.reuse_instance():
            instance.set_port_length("question", 2)
            for i in range(rounds):
                # The message comes at once, or a little later, so that it arrives at every possible moment of
                # the receiver's check.
                for _ in range(i % 50):
                    pass
                instance.send("question", Message(float(i), data=i), slots[i % len(slots)])
                assert instance.receive("answer").data == i

    def teller():
        instance = Instance({Operator.S: ["question[]"], Operator.O_I: ["answer"]})
        while instance.reuse_instance():
            for i in range(rounds):
                slot = slots[i % len(slots)]
                # The receiver checks the slot with the message first, or last.
                wanted = [("question", (slot + i // 2) % 2), ("question", (slot + i // 2 + 1) % 2)]
                port, message = instance.receive_any(wanted)
                assert (port, message.data) == (("question", slot), i)
                instance.send("answer", message)
            with pytest.raises(ClosedError, match="all of the ports waited for have ended"):
                instance.receive_any([("question", 0), ("question", 1)])

    run_in(model, {"asker": asker, "teller": teller})
