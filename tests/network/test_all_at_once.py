"""Messages of mixed sizes, in both directions, between a site that only dials out and another one, over a relay
behind a lossy wide-area link. The link is interrupted briefly and for long, and the relay is killed repeatedly.
No message is lost or doubled, and all arrive in order."""

import re
import time
from pathlib import Path

import pytest
from test_relays import Post

MODEL = """ymmsl_version: v0.1
model:
  name: all_at_once
  components:
    out: {{implementation: out, ports: {{o_i: out}}}}
    in: {{implementation: in, ports: {{s: in}}}}
    back_out: {{implementation: back_out, ports: {{o_i: out}}}}
    back_in: {{implementation: back_in, ports: {{s: in}}}}
  conduits: {{out.out: in.in, back_out.out: back_in.in}}
implementations:
  out: {{executable: {program}, args: [source, {there}, mixed, '{count}']}}
  in: {{executable: {program}, args: [sink, {there}, mixed, '{count}']}}
  back_out: {{executable: {program}, args: [source, {back}, mixed, '{count}']}}
  back_in: {{executable: {program}, args: [sink, {back}, mixed, '{count}']}}
"""


@pytest.mark.parametrize("count, flaps, kills, cut", [
    (60, 1, 1, 3),
    pytest.param(500, 3, 5, 30, marks=pytest.mark.slow),
])
def test_checksummed_messages_outlive_flaps_a_cut_loss_and_a_relay_that_is_killed(
        network, wide_area, spread, compile_c, ligament, tmp_path, count, flaps, kills, cut):
    # The network: head ── wide-area link ── gate ── other. The relay is at the gate, and no machine can connect
    # to the other two.
    link, net = wide_area(rtt=40, rate=50, loss=0.3), network("other")
    head, gate, other = link.a, link.b, net["other"]
    near, far = gate.v4, link.attach("b", net)
    head.wall()
    other.wall()
    relay = Post(ligament, gate, tmp_path / "gate.relay", "--address", near, "--address", far, listen="0.0.0.0")
    there, back = tmp_path / "there", tmp_path / "back"
    for folder in (there, back):
        folder.mkdir()
    model = MODEL.format(program=compile_c(Path(__file__).with_name("flow.c")), there=there, back=back,
                         count=count)
    run = spread([head, other], model, on={1: ["in", "back_out"]}, options=["--relay", relay.file])

    def arrived():
        return [(folder / "came").stat().st_size if (folder / "came").exists() else 0 for folder in (there,
                                                                                                     back)]

    def await_so(so):
        until = time.monotonic() + 120
        while not so():
            ended = [process.poll() for process in run.processes if process.poll() is not None]
            assert not ended and time.monotonic() < until, f"{arrived()} have arrived {ended}\n{run.said()}"
            time.sleep(0.01)

    def at(part):
        """Waits until this part of the messages has arrived in each direction; the last tenth is not sent
        yet."""
        await_so(lambda: min(arrived()) >= part * count)

    for number in range(flaps):
        at(0.05 * (number + 1))
        link.cut()
        time.sleep(2)
        link.restore()
    for number in range(kills):
        at(0.2 + 0.1 * number)
        relay.again()
        await_so(lambda: gate.counted("Tcp", "CurrEstab") >= 4)  # the relay is used again before the next fault
    at(0.75)
    link.cut()
    for folder in (there, back):
        (folder / "enough").touch()
    time.sleep(cut)
    assert max(arrived()) < count, "what is sent during the cut has come all the same"
    link.restore()
    run.succeed(300)
    for one, another in (("out", "in"), ("back_out", "back_in")):
        sent, came = (run.file(name, "summary").split() for name in (one, another))
        assert sent == came and int(sent[0]) == count
    assert arrived() == [count, count]
    link.close()
    loss, lost_in_cuts = map(int, re.search(r"a->b: .*dropped: loss (\d+).* cut (\d+)\+", link.said()).groups())
    assert loss > 0 and lost_in_cuts > 0, link.said()
