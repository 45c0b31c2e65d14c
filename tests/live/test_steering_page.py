"""Steering in a real browser: by viewers with a link for steering, and seen by viewers with a link for
looking."""

import json

from pages import Asker

ROWS = """(() => Object.fromEntries([...document.querySelectorAll("[data-history]")].map((row) =>
  [row.dataset.history, row.dataset.state])))()"""


def value(name):
    return f"document.querySelector(\"[data-setting='{name}']\")?.dataset.value"


def opens(place, browser, role, **whose):
    view = json.loads(place.call("view", "run", "--link", role, "--json"))
    browser.does("open", link=view["link"], **whose)
    browser.says("running", "h1", **whose)
    browser.until(value("front.D"), **whose)
    return view


def fills(browser, name, text):
    browser.does("fill", place=f"[id='setting-{name}']", text=text)


def pictures_of(browser, pictures, name):
    for scheme in ("light", "dark"):
        browser.does("scheme", scheme=scheme)
        for panel in ("steering", "timeline"):
            path = pictures / f"{name}-{panel}-{scheme}.png"
            browser.does("picture", place=f"#{panel}", path=str(path))
            assert path.read_bytes().startswith(b"\x89PNG")
    browser.does("scheme", scheme="light")


def test_a_coefficient_changed_in_the_browser_is_in_force_from_one_model_time_on_and_undone(place, browser,
                                                                                            pictures):
    place.starts("steered")
    place.goes()
    place.view()
    opens(place, browser, "steer")
    opens(place, browser, "look", viewer="other")
    # A viewer with a link for looking has no controls, and sees the changes.
    parts = "[...document.querySelectorAll('#steering input, #steering button, #steering select')].length"
    assert browser.does("tell", what=parts, viewer="other") == 0
    browser.says("This page is for looking", "#steering", viewer="other")
    browser.until(f"{parts} > 8")
    # By keyboard: into the field, and Enter.
    browser.does("tell", what="document.getElementById('setting-front.D').focus()")
    for key in "0.25":
        browser.does("press", key=key)
    browser.does("press", key="Enter")
    browser.says("Change 1 is agreed: in force from the first step at", "#steering .outcome")
    for viewer in ("", "other"):
        browser.until(f"{value('front.D')} === '0.25'", viewer=viewer)
        browser.until(f"{ROWS}['change 1'] === 'in force'", viewer=viewer)
    record = json.loads(place.call("status", "run", "--json"))["steering"][0]
    browser.says(f"{record['model_time']:g}", "[data-history='change 1']")
    browser.says(record["who"], "[data-history='change 1']")
    # Two settings are changed together, and then both are changed back.
    fills(browser, "front.D", "1")
    fills(browser, "front.name", "a \"wave\": # 1")
    browser.does("tell", what="document.querySelector('#steering form[aria-label=Settings]').requestSubmit()")
    browser.until(f"{ROWS}['change 2'] === 'in force'")
    browser.until(f"{value('front.D')} === '1.0' && {value('front.name')}.includes('wave')")
    assert browser.does("tell", what="!document.querySelector(\"[aria-label='Undo change 1']\")")
    pictures_of(browser, pictures, "steered")
    browser.does("click", place="[aria-label='Undo change 2']")
    browser.until(f"{ROWS}['change 3'] === 'in force'", viewer="other")
    browser.until(f"{value('front.D')} === '0.25' && {value('front.name')} === '\"wave\"'", viewer="other")
    record = place.is_over()
    ats = [one["model_time"] for one in record["steering"]]
    steps = place.steps()
    bounds = [-1.0, *ats, float("inf")]
    for D, begin, end in zip((0.5, 0.25, 1.0, 0.25), bounds, bounds[1:]):
        assert {one for step, one, _ in steps if begin <= step < end} == {D}
    # The front moved by the values that were in force.
    fronts = [0.0] + [front for _, _, front in steps]
    assert all(fronts[i + 1] == fronts[i] + D for i, (_, D, _) in enumerate(steps))
    states = [entry["state"] for entry in place.journal() if entry["event"] == "steering"]
    assert states == ["asked", "agreed", "in force"] * 3
    for viewer in ("", "other"):
        browser.says("The run is over", "#steering", viewer=viewer)
        assert browser.does("tell", what=f"Object.keys({ROWS}).length", viewer=viewer) == 3
    assert browser.does(
        "tell", what="document.querySelectorAll('#steering input, #steering td button').length") == 0
    assert browser.does("said") == []
    # A run that repeats the changes of the record gives the same results, bit for bit.
    (place.path / "go").unlink()
    place.tells("quick")
    place.call("run", "steered.ymmsl", "--run-dir=again", "--steered", "run", "--quiet", "--setting",
               f"front.last={len(steps)}")
    assert place.steps("again") == steps
    assert [one["model_time"] for one in place.record("again")["steering"]] == ats


def test_bad_values_are_refused_in_the_form_and_what_the_run_refuses_is_told(place, browser, pictures):
    place.starts("deaf")
    place.goes()
    place.view()
    opens(place, browser, "steer")
    button = "document.querySelector('#steering form[aria-label=Settings] button[type=submit]')"
    for name, text, why in (
        ("front.D", "1.5", "1 mm^2/s is the most"), ("front.D", "-1e-3", "0 mm^2/s is the least"),
        ("front.D", "warm", "it is of type float"), ("front.D", "0x10", "it is of type float"),
        ("front.n", "2.5", "it is of type int"), ("front.list", "[1, ", "a list of numbers"),
        ("front.list", "[1, -1]", "-1 is out of range"), ("front.D", "1" * 1_000_000, "4096 are the most"),
    ):
        fills(browser, name, text)
        browser.says(why, f"[id='setting-{name}-problem']")
        assert browser.does("tell", what=f"{button}.disabled")
        fills(browser, name, "")
    fills(browser, "front.D", "0.25")
    browser.does("fill", place="#steer-at", text="0")
    browser.says("all have passed 0", "#steer-at-problem")
    assert browser.does("tell", what=f"{button}.disabled")
    browser.does("fill", place="#steer-at", text="")
    browser.until(f"!{button}.disabled")
    # A value that the page accepts, and the run refuses.
    fills(browser, "front.D", "")
    fills(browser, "echo.k2", "7")
    browser.does("fill", place="#steer-at", text="1e9")
    browser.does("tell", what=f"{button}.click()")
    browser.until(f"{ROWS}['change 1'] === 'agreed'")
    browser.until("document.getElementById('setting-echo.k2').value === ''")
    # The instances have a minute to agree, so that a busy machine does not change the result.
    browser.does("tell", what="""(() => {
      const plain = window.fetch;
      window.fetch = (to, how) => {
        const asked = typeof how?.body === "string" ? JSON.parse(how.body) : null;
        return plain(to, asked?.what === "set" ? { ...how, body: JSON.stringify({ ...asked, patience: 60 }) } : how);
      };
    })()""")
    # The front is stopped between two steps, so the front is the first to come to the change. A change that
    # finds the echo within a step stops the echo, and the front waits for that.
    place.holds("front")
    fills(browser, "k", "3")
    browser.until(f"!{button}.disabled")
    browser.does("tell", what=f"{button}.click()")
    browser.says("have not accepted it yet", "[data-change='2']")
    place.lets_go("front")
    # The front waits, and the component that never asks has not answered.
    browser.says("deaf has not accepted it yet", "[data-change='2']")
    browser.until("document.querySelector(\"[data-instance='front'] td\").innerText === 'held'")
    pictures_of(browser, pictures, "pending")
    browser.does("click", place="[data-change='2'] button")
    browser.until(f"{ROWS}['change 2'] === 'refused'")
    browser.says("it was withdrawn by", "[data-history='change 2']")
    # A halt does not wait for a component that never asks, and the page reports this.
    browser.does("click", place="#steering [role=group] button:text-is('Pause')")
    browser.says("deaf has never called steer(t): it goes on until it waits for others.", "#steering .outcome")
    browser.says("front stands there. deaf has never called steer(t)", "#steering .standing")
    browser.does("click", place="#steering [role=group] button:text-is('Go on')")
    browser.until("!document.querySelector('#steering .standing')")
    assert {D for _, D, _ in place.steps()} == {0.5}
    record = place.is_over()
    assert [one["state"] for one in record["steering"]][1:] == ["refused", "agreed"]


def test_a_run_stands_still_makes_a_step_goes_on_and_is_stopped_when_that_is_confirmed(place, browser,
                                                                                       pictures):
    place.starts("steered")
    place.goes()
    place.view()
    opens(place, browser, "steer")
    group = "#steering [role=group] "
    browser.does("click", place=f"{group}button:text-is('Pause')")
    browser.says("front stands there", "#steering .standing")
    steps = len(place.steps())
    browser.does("click", place=f"{group}button:text-is('One step')")
    browser.says("makes one step", "#steering .outcome")
    browser.says("front stands there", "#steering .standing")
    assert steps <= len(place.steps()) <= steps + 2
    browser.until(
        "[...document.querySelectorAll('#timeline .parts li')].some((row) => row.innerText.includes('held'))")
    pictures_of(browser, pictures, "halted")
    browser.does("fill", place="#steer-until", text="0")
    browser.says("all have passed 0", "#steer-until-problem")
    until = len(place.steps()) + 30
    browser.does("fill", place="#steer-until", text=str(until))
    browser.does("press", key="Enter")
    browser.says(f"stands still from model time {until} on: front", "#steering .standing")
    assert max(step for step, _, _ in place.steps()) < until
    browser.does("click", place=f"{group}button:text-is('Go on')")
    browser.until("!document.querySelector('#steering .standing')")
    # The page asks before it ends the run; Escape means no.
    browser.does("click", place=f"{group}button:text-is('Stop …')")
    browser.until("document.querySelector('dialog').open")
    browser.does("press", key="Escape")
    browser.until("!document.querySelector('dialog').open")
    assert place.record()["state"] == "running"
    browser.does("click", place=f"{group}button:text-is('Stop …')")
    browser.does("click", place="dialog button.danger")
    browser.says("ends then", "#steering .standing")
    orders = [entry["order"].split(",")[0] for entry in place.journal() if entry["event"] == "order"]
    assert orders == ["step", "until", "resume"]
    place.is_over(status=1)
    browser.says("stopped", "h1")
    browser.says("The run is over", "#steering")


def test_a_page_that_comes_back_steers_again_by_a_new_link(place, browser):
    place.starts("steered")
    place.goes()
    view = place.view("--link", "steer")
    browser.does("open", link=view["link"])
    browser.until(value("front.D"))
    place.close()
    browser.says("The page's server does not answer", ".headline")
    again = place.view("--link", "look", "--port", Asker(view).port)
    browser.says("open the page by its link", ".headline")
    browser.does("tell", what=f"void (location.hash = '#' + {json.dumps(again['link'].split('#')[1])})")
    browser.says("This page is for looking", "#steering")
    more = json.loads(place.call("view", "run", "--link", "steer", "--json"))
    browser.does("tell", what=f"void (location.hash = '#' + {json.dumps(more['link'].split('#')[1])})")
    browser.until("document.getElementById('setting-front.D')")
    fills(browser, "front.D", "0.75")
    browser.does("press", key="Enter")
    browser.until(f"{value('front.D')} === '0.75'")
    # A page that is loaded again is still one for steering.
    browser.does("open", link=again["at"])
    browser.until("document.getElementById('setting-front.D')")
    assert place.is_over()["steering"][0]["who"].endswith("by link 2 to the page")
