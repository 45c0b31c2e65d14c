"""The page of a large run: parts out of sight are not drawn again, and are up to date when they come into
sight."""

import time

from test_live import TABLE

# Many components that only make steps, in one process, until they are told to end.
STEPPERS = """
import os, time
class One(Submodel):
    def initialise(self, instance):
        pass
    def is_done(self):
        return os.path.exists(os.path.join(HERE, "go"))
    def observe(self, instance):
        pass
    def solve(self, instance):
        time.sleep(0.001)
    def observe_final(self, instance):
        pass
run_light(lambda instance: One(), {})
"""
INSTANCES = 310

# A chain of components in one process: each sends to the next.
LINK = """
from ligament import Message
class Link(Submodel):
    def initialise(self, instance):
        self.first = instance.receive("start", default=Message(0.0)).timestamp == 0.0
    def is_done(self):
        return True
    def observe(self, instance):
        pass
    def solve(self, instance):
        pass
    def observe_final(self, instance):
        instance.send("end", Message(1.0))
run_light(lambda instance: Link(), {Operator.F_INIT: ["start"], Operator.O_F: ["end"]})
"""
LONG = 200
NEWS_COUNT = "performance.getEntriesByType('resource').filter((one) => one.name.includes('/api/news')).length"


def sent(browser):
    return browser.does(
        "tell", what="Number(document.querySelector('[data-conduit] [data-messages]').dataset.messages)")


def test_a_panel_out_of_sight_is_drawn_when_it_is_seen_and_when_the_run_is_over(place, browser, python_program):
    model = (place.path / "endless.ymmsl").read_text()
    crowd = python_program("crowd", STEPPERS.replace("HERE", repr(str(place.path))))
    model = model.replace(
        "  components:\n",
        f"  components:\n    crowd: {{implementation: crowd, multiplicity: {INSTANCES}, ports: {{}}}}\n")
    (place.path / "large.ymmsl").write_text(f"{model}  crowd: {crowd}\nligament: {{light: crowd}}\n")
    place.starts("large")
    browser.does("open", link=place.view()["link"])
    # The browser counts 250 requests, unless it is told to count more.
    browser.does("tell", what="performance.setResourceTimingBufferSize(100000)")
    browser.says("running", "h1")
    browser.until(f"document.querySelectorAll('svg.model .tile').length === {INSTANCES + 2}")
    browser.until("document.querySelectorAll('[data-conduit]').length === 2")
    browser.until(f"{NEWS_COUNT} > 4")
    # The browser tells the page that a part is out of sight only a while after the model has pushed it there.
    for _ in range(10):
        first, heard = sent(browser), browser.does("tell", what=NEWS_COUNT)
        browser.until(f"{NEWS_COUNT} > {heard + 3}")
        if sent(browser) == first:
            break
    else:
        raise AssertionError("a panel out of sight is drawn again and again")
    # The part is drawn again as soon as it is seen.
    browser.does("tell", what="document.querySelector('#conduits-title').scrollIntoView()")
    browser.until(
        f"Number(document.querySelector('[data-conduit] [data-messages]').dataset.messages) > {first + 5}")
    browser.does("tell", what="scrollTo(0, 0)")
    record = place.is_over()
    browser.says("done", "h1")
    expected = {f"{one['from']} {one['to']}": one["messages"] for one in record["conduits"]}
    until = time.monotonic() + 60
    shown = {}
    while {name: one["messages"] for name, one in shown.items()} != expected:
        assert time.monotonic() < until, (shown, expected)
        shown = browser.does("tell", what=TABLE)["conduits"]
    # The first rows are shown, and more if the viewer asks for them.
    browser.until("document.querySelectorAll('[data-instance]').length === 100")
    browser.does("click", place="#tables .scroll > button")
    browser.until("document.querySelectorAll('[data-instance]').length === 200")
    assert browser.does("said") == []


def test_a_model_too_wide_for_the_page_begins_near_its_first_box(place, browser, python_program):
    parts = "".join(f"    c{i}: {{implementation: link, ports: {{f_init: start, o_f: end}}}}\n"
                    for i in range(LONG))
    conduits = "".join(f"    c{i}.end: c{i + 1}.start\n" for i in range(LONG - 1))
    (place.path / "long.ymmsl").write_text(
        f"ymmsl_version: v0.1\nmodel:\n  name: long\n  components:\n{parts}  conduits:\n{conduits}"
        f"implementations:\n  link: {python_program('link', LINK)}\nligament: {{light: link}}\n")
    place.starts("long")
    place.is_over()
    browser.does("open", link=place.view()["link"])
    named = "[...document.querySelectorAll('svg.model .node text')].map((one) => one.textContent)"
    browser.until(f"{named}.includes('c0')")
    browser.does(
        "tell",
        what="[...document.querySelectorAll('button')].find((one) => one.textContent === 'Whole').click()")
    browser.until(f"!{named}.includes('c0')")
    assert browser.does("said") == []
