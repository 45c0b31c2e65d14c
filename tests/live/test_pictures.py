"""The page and the times of its pictures: a test says what the server answers, and when that was so."""

import re

# Unix time at which the run began, ms: long ago, as the clock of a machine may be wrong.
BEGAN = 1_700_000_000_000


def picture(number, at, time, state="computing", **more):
    """A picture of a run of one instance that has sent ten messages a second, `at` seconds after its begin."""
    instance = {"name": "front", "state": state, "model_time": time, "model_end": 1000.0, "iterations": 1, "sends": [],
                "sent_messages": 0, "sent_bytes": 0, "received_messages": 0, "received_bytes": 0, **more}
    conduit = {"from": "front.out", "to": "echo.in", "channels": 1, "messages": round(10 * time), "bytes": 0,
               "received_messages": 0, "received_bytes": 0, "under_way": 0}
    run = {"run": "scripted", "model": "scripted", "state": "running", "host": "h", "started": "2023-11-14T22:13:20.000Z"}
    return {"picture": number, "at": BEGAN + round(1000 * at), "role": "look", "view": {"state": "live"}, "run": run,
            "instances": {"0": instance}, "conduits": {"0": conduit}}


def seconds_left(browser):
    """The forecast that the page shows, s."""
    text = browser.until("document.querySelector('#progress .quiet')?.innerText.match(/about (.*) left/)?.[1]")
    factors = {"h": 3600, "min": 60, "s": 1, "ms": 1e-3}
    return sum(float(number) * factors[unit] for number, unit in re.findall(r"([\d.]+) (h|min|ms|s)\b", text))


def goes_on(number, at, time, many=5):
    """Pictures once a second, of a run that goes on by 1 s of model time a second."""
    return [picture(number + i, at + i, time + i) for i in range(many)]


def test_what_is_reckoned_from_pictures_is_reckoned_with_their_own_times(browser):
    browser.does("script")
    # Nobody has looked for 300 s: the first picture is as old, and says that somebody had begun to wait just then.
    old = picture(1, 0.0, 0.0, state="waiting to receive", waits_for="echo.out", waits_on=[], waits_from=BEGAN - 100)
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
    # So does a process that a debugger has stopped.
    browser.does("news", news=[picture(40, 606.0, 9.0, stopped=True)])
    browser.until("document.querySelector('#progress .quiet').innerText.trim() === 'paused'")
    assert browser.does("said") == []
