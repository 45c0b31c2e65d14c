"""The page and the times of its data: the test chooses the server's answers and their times."""

import re

# Unix time at which the run began, ms. It is long ago, because the clock of a machine may be wrong.
BEGAN = 1_700_000_000_000


def picture(number, at, time, state="computing", **more):
    """The data of a run of one instance that has sent ten messages a second, `at` seconds after its begin."""
    instance = {"name": "front", "state": state, "model_time": time, "model_end": 1000.0, "iterations": 1,
                "sends": [],
                "sent_messages": 0, "sent_bytes": 0, "received_messages": 0, "received_bytes": 0, **more}
    conduit = {"from": "front.out", "to": "echo.in", "channels": 1, "messages": round(10 * time), "bytes": 0,
               "received_messages": 0, "received_bytes": 0, "under_way": 0}
    run = {"run": "scripted", "model": "scripted", "state": "running", "host": "h",
           "started": "2023-11-14T22:13:20.000Z"}
    return {"picture": number, "at": BEGAN + round(1000 * at), "role": "look", "view": {"state": "live"},
            "run": run,
            "instances": {"0": instance}, "conduits": {"0": conduit}}


def seconds_left(browser):
    """The forecast that the page shows, s."""
    text = browser.until("document.querySelector('#progress .quiet')?.innerText.match(/about (.*) left/)?.[1]")
    factors = {"h": 3600, "min": 60, "s": 1, "ms": 1e-3}
    return sum(float(number) * factors[unit] for number, unit in re.findall(r"([\d.]+) (h|min|ms|s)\b", text))


def goes_on(number, at, time, many=5):
    """Data once a second, for a run that advances by 1 s of model time a second."""
    return [picture(number + i, at + i, time + i) for i in range(many)]


def test_what_is_reckoned_from_pictures_is_reckoned_with_their_own_times(browser):
    browser.does("script")
    # There was no viewer for 300 s: the first data is that old, and an instance had begun to wait just then.
    old = picture(1, 0.0, 0.0, state="waiting to receive", waits_for="echo.out", waits_on=[],
                  waits_from=BEGAN - 100)
    browser.does("news", news=[old])
    browser.says("Nobody has waited for longer than a second", ".headline")
    browser.does("news", news=goes_on(2, 300.0, 300.0))
    browser.until("document.querySelector('#progress .number')?.innerText.startsWith('304 ')")
    assert 600 < seconds_left(browser) <= 697
    rate = browser.does("tell", what="document.querySelector('[data-conduit]').children[3].innerText")
    assert rate == "10", rate


def test_a_run_that_stands_still_has_no_forecast_and_is_not_slower_for_that_afterwards(browser):
    browser.does("script")
    browser.does("news", news=goes_on(1, 0.0, 0.0))
    assert 900 < seconds_left(browser) <= 1000
    browser.does("news", news=[picture(20, 4.1, 4.0, state="held"), picture(21, 600.0, 4.0, state="held")])
    browser.until("document.querySelector('#progress .quiet').innerText.trim() === 'paused'")
    browser.does("news", news=[picture(22, 600.1, 4.0), *goes_on(23, 601.0, 5.0)])
    browser.until("document.querySelector('#progress .number').innerText.startsWith('9 ')")
    assert 900 < seconds_left(browser) <= 1000
    # A process that a debugger has stopped counts in the same way.
    browser.does("news", news=[picture(40, 606.0, 9.0, stopped=True)])
    browser.until("document.querySelector('#progress .quiet').innerText.trim() === 'paused'")
    assert browser.does("said") == []


LONG = ["atmosphere_with_a_name_that_goes_on_and_on_and_on_for_ever",
        "ocean_circulation_of_the_northern_hemisphere", "coupler"]


def long_names(at):
    """The data of a run with long names, in which some instances wait, and the answers to other requests."""
    names = [f"{LONG[0]}[{i}]" for i in range(3)] + LONG[1:]
    told = picture(1, at, at)
    told["run"].update(run="a_run_whose_name_is_as_long_as_those_that_people_give_their_runs_20261126",
                       state="running")
    one = told["instances"]["0"]
    told["instances"] = {str(i): {**one, "name": name,
                                  "sends": ["temperature_at_the_surface"]} for i, name in enumerate(names)}
    told["instances"]["4"].update(state="waiting to receive", waits_for=f"{LONG[0]}.temperature_at_the_surface",
                                  waits_on=[names[0]],
                                  waits_from=BEGAN + round(1000 * at) - 5000)
    told["conduits"] = {str(i): {**told["conduits"]["0"], "from": f"{LONG[i]}.temperature_at_the_surface",
                                 "to": f"{LONG[(i + 1) % 3]}.temperature_at_the_boundary"} for i in range(3)}
    told["usage"] = {str(i): {"cores": 0.5 * i, "memory": 123_456_789} for i in range(5)}
    box = {"implementation": None, "width": 196, "height": 90, "tile": 16, "per_row": 11}
    nodes = [{**box, "name": name, "instances": 3 if i == 0 else 1, "x": 24 + 386 * i,
              "y": 24} for i, name in enumerate(LONG)]
    links = [{"from": f"{LONG[i]}.temperature_at_the_surface",
              "to": f"{LONG[i + 1]}.temperature_at_the_boundary", "filters": [],
              "points": [[220 + 386 * i, 80], [410 + 386 * i, 80]]} for i in range(2)]
    row = {"columns": [[0.5, 0.5, 0, 0]] * 400, "seconds": [45.0, 45.0, 0, 0]}
    answers = {"api/plan": {"nodes": nodes, "links": links, "width": 1016, "height": 140},
               "api/timeline": {"kinds": ["compute", "wait", "send", "receive"], "seconds": 90.0,
                                "started": "2023-11-14T22:13:20.000Z",
                                "rows": [{"name": name, **row} for name in names]},
               "api/log": {
                   "text": "2023-11-14T22:13:20.000Z INFO a line of the log that is longer than a phone is "
                           "wide, by a good deal\n", "next": 99}}
    return told, answers


def test_on_a_phone_nothing_is_wider_than_the_page_and_all_names_can_be_told_apart(browser, pictures):
    told, answers = long_names(90.0)
    for width, height in ((390, 844), (1280, 900)):
        viewer = {"viewer": str(width)}
        browser.does("size", width=width, height=height, **viewer)
        browser.does("script", answers=answers, **viewer)
        browser.does("news", news=[told], **viewer)
        browser.until(
            "document.querySelectorAll('.timeline .names li').length === 5 && "
            "document.querySelectorAll('.node').length === 3", **viewer)
        browser.does("picture", place="body", path=str(pictures / f"names-{width}.png"), **viewer)
        assert browser.does("tell", what="document.documentElement.scrollWidth", **viewer) <= width
        wide = browser.does(
            "tell",
            what="[...document.querySelectorAll('body *')].filter((one) => !one.closest('.scroll, svg, "
                 ".hidden, .skip')"
                                          " && one.getBoundingClientRect().right > innerWidth + 1).map((one) "
                                          "=> one.outerHTML.slice(0, 200))", **viewer)
        assert wide == [], (width, wide)
        # The ends of names, with their numbers, can be seen though their beginnings cannot.
        ends = browser.does(
            "tell",
            what="[...document.querySelectorAll('.timeline .names li')].map((one) => { const box = "
                 "one.getBoundingClientRect(),"
                                          " tail = one.lastElementChild.getBoundingClientRect(); return "
                                          "tail.right <= box.right + 1 && tail.width > 0; })", **viewer)
        assert ends == [True] * 5
        ticks = browser.does(
            "tell", what="[...document.querySelectorAll('.timeline .axis span')].map((one) => one.innerText)",
            **viewer)
        assert ticks == (["0", "1 min 0 s"] if width < 600 else ["0", "30 s", "1 min 0 s", "1 min 30 s"])
        # Shares of the time can be read, on the phone below the picture.
        assert "compute 50 %" in browser.does(
            "tell", what="document.querySelector('.timeline .parts').innerText", **viewer)
        assert browser.does("tell", what="document.querySelector('[data-instance] [data-memory]').innerText",
                            **viewer) == "118 MiB"
    assert browser.does("said") == []


def frame(number, elements, **head):
    """A value that a port sends, in the form of the server."""
    return {"head": {"frame": number, "timestamp": float(number), "slot": 2, "message": number, **head},
            "elements": elements}


def test_a_slot_can_be_chosen_colours_hold_their_range_and_values_stay_after_the_run(browser):
    browser.does("script")
    browser.does("news", news=[picture(1, 1.0, 1.0, sends=["out"])])
    browser.does("fill", place="#values input[list]", text="front.out")
    browser.does("fill", place="#values input[placeholder=any]", text="2")
    browser.does("click", place="#values button[type=submit]")
    array = {"kind": "array", "dtype": "float64", "shape": [2, 2]}
    browser.does("frame", frame=frame(1, [0, 1, 2, 3], **array))
    browser.says("3", ".scale")
    assert browser.does("asked") == "front.out[2]"
    scale = "[...document.querySelectorAll('.scale span')].map((one) => one.innerText).join(' ')"
    browser.does("click", place=".held-range input")
    browser.does("frame", frame=frame(2, [0, 100, 200, 300], **array))
    browser.until("document.querySelector('.value').dataset.message === '2'")
    assert browser.does("tell", what=scale) == "0 3"
    browser.does("fill", place=".held-range input[aria-label=Greatest]", text="150")
    browser.until(f"{scale} === '0 150'")
    browser.does("fill", place=".held-range input[aria-label=Greatest]", text="-1")
    browser.says("no range", ".held-range")
    browser.does("click", place=".held-range input")
    browser.until(f"{scale} === '0 300'")
    over = picture(2, 2.0, 1.0, state="done", sends=["out"])
    over["run"].update(state="done", duration=2.0)
    browser.does("news", news=[{**over, "view": {"state": "over"}}])
    browser.does("frame", frame=frame(3, [], kind="none", why="the instance has ended", over=True))
    browser.says("the instance has ended", ".value")
    assert browser.does("tell", what=scale) == "0 300"
    assert browser.does("said") == []
