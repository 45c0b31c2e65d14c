"""The page shows the surface of a running grid, and the run never waits for a viewer."""

import json
import socket
import time

import pytest
from pages import Asker

LIMIT = 60
# A ball in a grid of two blocks, which does not change; but for a point of NaN, as long as the test wants it.
BALL = """
import os, time
instance = Instance({Operator.O_I: ["log"]})
told = lambda word: os.path.exists(os.path.join(HERE, word))
while instance.reuse_instance():
    domain = Domain(instance)
    u = domain.field("u", ghosts=1, unit="K")
    x, y, z = np.ogrid[domain.range]
    ball = 10 - np.sqrt((x - 11.6) ** 2 + (y - 9.3) ** 2 + (z - 10.2) ** 2)
    step = 0
    # All blocks end after the same step.
    while domain.min(0.0 if told("go") else 1.0) > 0:
        domain.interior(u)[...] = ball
        if told("nan") and domain.block == 0:
            domain.interior(u)[0, 0, 0] = np.nan
        domain.exchange(float(step), u)
        if not (told("mute") and domain.block == 1):
            domain.publish(u)
        step += 1
        time.sleep(0.3 if told("slow") else 0.002)
"""

MODEL = """ymmsl_version: v0.2
models:
  m:
    components:
      ball: {{implementation: ball{ports}}}
programs:
  ball: {program}
ligament:
  grids:
    ball: {{shape: [24, 20, 22], blocks: [2, 1, 1], periodic: [y]}}
"""


@pytest.fixture
def ball(request, place, python_program, tmp_path):
    """A run of it, which goes on until the test is over."""
    program = python_program("ball", "import numpy as np\n" + BALL.replace("HERE", repr(str(tmp_path))))
    (tmp_path / "ball.ymmsl").write_text(MODEL.format(program=program, ports=getattr(request, "param", "")))
    place.call("run", "ball.ymmsl", "--run-dir=run", "--detach", "--overcommit")
    return place


def step(place):
    """A step that all blocks have done."""
    status = json.loads(place.call("status", "run", "--json"))
    return min(one["model_time"] or 0.0 for one in status["instances"])


def goes_on(place):
    """Waits until all blocks have done more steps."""
    first = step(place)
    place.waits_until(lambda status: min(one["model_time"] or 0.0 for one in status["instances"]) > first + 20)


def asks(asker, session, **words):
    """An answer about a surface: its head, and its bytes."""
    query = "&".join(f"{key}={value}" for key, value in {"grid": "ball", "field": "u", **words}.items())
    asker.line = None
    connection = asker.stays().line
    connection.request("GET", f"/api/surface?{query}", headers={"Host": f"127.0.0.1:{asker.port}", **session})
    answer = connection.getresponse()
    head, _, body = answer.read().partition(b"\n")
    connection.close()
    return answer.status, head.decode(errors="replace"), body


# The port without a conduit is no field, whether the model declares it or the code alone.
@pytest.mark.parametrize("ball", ["", ", ports: {o_i: log}"], indirect=True)
def test_the_surface_of_a_run_is_shown_again_and_again_and_equals_that_of_the_command(ball, browser):
    view = ball.view()
    browser.does("open", link=view["link"])
    browser.until("document.querySelector('.surface canvas')?.meshes?.[0]?.triangles.length > 0")
    browser.says("ball.u = ", "#surfaces [data-words]")
    fields = "document.querySelectorAll('#surfaces select')[1].options"
    assert browser.does("tell", what=f"[...{fields}].map((one) => one.text)") == ["u"]
    browser.does("fill", place="#surfaces input[inputmode]", text="2.5")
    browser.says("ball.u = 2.5 K", "#surfaces [data-words]")
    first = browser.does("tell", what="Number(document.querySelector('#surfaces').dataset.frame)")
    browser.until(f"Number(document.querySelector('#surfaces').dataset.frame) > {first}")
    told = json.loads(ball.call("tap", "run", "ball.u", "--level", "2.5", "--once", "--json"))
    triangles = 3 * told["levels"][0]["triangles"]
    assert triangles > 3000
    browser.until(f"document.querySelector('.surface canvas').meshes[0].triangles.length === {triangles}")
    # Several levels are in one picture.
    browser.does("fill", place="#surfaces input[inputmode]", text="2.5, 5")
    browser.says("ball.u = 2.5, 5 K", "#surfaces [data-words]")
    told = json.loads(ball.call("tap", "run", "ball.u", "--level", "2.5", "--level", "5", "--once", "--json"))
    counts = [3 * one["triangles"] for one in told["levels"]]
    shown = "document.querySelector('.surface canvas').meshes.map((mesh) => mesh.triangles.length)"
    browser.until(f"String({shown}) === '{counts[0]},{counts[1]}'")
    assert counts[0] == triangles > counts[1] > 0
    browser.does("fill", place="#surfaces input[inputmode]", text="99")
    browser.says("empty: the level 99 is outside of the data, which goes from", "#surfaces [role=status]")
    ball.tells("nan")
    browser.says("1 point is NaN", "#surfaces [role=status]")
    ball.tells("go")
    browser.until("document.querySelector('.state').innerText.includes('done')")


def test_viewers_that_stall_hold_up_neither_the_run_nor_each_other(ball):
    view = ball.view()
    asker = Asker(view)
    session = asker.opens()
    # One viewer asks for the largest pictures and never reads the answers.
    stalled = socket.create_connection(("127.0.0.1", asker.port))
    lines = [f"GET /api/surface?grid=ball&field=u&level=2.5&has={{}} HTTP/1.1\r\nHost: 127.0.0.1:{asker.port}"]
    lines += [f"{name}: {value}" for name, value in session.items()]
    request = "\r\n".join(lines) + "\r\n\r\n"
    stalled.sendall("".join(request.format(has) for has in range(50)).encode())
    # A feed that has ended because a block was late is followed by another one, whose frames begin at 1 again.
    has, pictures, until = 0, 0, time.monotonic() + LIMIT
    while pictures < 5:
        assert time.monotonic() < until
        status, head, body = asks(asker, session, level=2.5, has=has)
        told = json.loads(head)
        assert status == 200, head
        if "picture" in told:
            pictures += 1
            assert sum(told["picture"]["block_bytes"]) == len(body)
            assert len(told["picture"]["block_bytes"]) == 2 and told["picture"]["unit"] == "K"
        has = told["frame"]
    goes_on(ball)
    stalled.close()
    assert ball.record()["state"] == "running"


def test_a_block_that_stays_silent_is_named_until_it_answers(ball, tmp_path):
    asker = Asker(ball.view())
    session = asker.opens()
    has, until = 0, time.monotonic() + LIMIT

    def comes(what):
        nonlocal has
        head = ""
        while True:
            assert time.monotonic() < until, head
            _, head, _ = asks(asker, session, level=2.5, has=has)
            has = json.loads(head)["frame"]
            if what in head:
                return

    comes("picture")
    # A block that publishes a few times a second is not silent, although no viewer has asked for a while.
    ball.tells("slow")
    time.sleep(6)
    _, head, _ = asks(asker, session, level=2.5, has=has)
    has = json.loads(head)["frame"]
    assert "No picture comes" not in head, head
    (tmp_path / "slow").unlink()
    ball.tells("mute")
    comes("No picture comes: 1 of 2 blocks has not answered: ball[1][0][0]. A block answers when it publishes")
    (tmp_path / "mute").unlink()
    comes("picture")


@pytest.mark.parametrize(("words", "status", "why"), [
    ({"level": "nan"}, 400, "finite level"),
    ({"level": "-inf"}, 400, "finite level"),
    ({"level": "one"}, 400, "level"),
    ({"level": "1,,2"}, 400, "finite level"),
    ({"level": 1, "grid": "nobody"}, 200, "has no grid"),
    ({"level": 1, "field": "nothing"}, 200, "has no port"),
])
def test_a_request_that_makes_no_sense_is_refused_in_words(ball, words, status, why):
    asker = Asker(ball.view())
    session = asker.opens()
    place_until = time.monotonic() + LIMIT
    while True:
        found, head, _ = asks(asker, session, **words)
        # A block that has not begun yet is said to be late.
        if why in head:
            break
        assert time.monotonic() < place_until, head
    assert found == status, head


def test_the_place_of_an_old_level_is_free_for_a_new_one(ball):
    asker = Asker(ball.view())
    session = asker.opens()
    for level in range(12):
        until = time.monotonic() + LIMIT
        # A level that is no longer requested is dropped after 3 s.
        while True:
            status, head, _ = asks(asker, session, level=level / 2)
            if "picture" in head:
                break
            assert (status == 200 or "surfaces at the most" in head) and time.monotonic() < until, head
            time.sleep(0.05)
