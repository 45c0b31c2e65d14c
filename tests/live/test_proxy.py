"""The page behind a proxy that has a path of its own."""

import json
import socket

import pytest
from pages import Asker
from proxies import PREFIX, PrefixProxy


@pytest.fixture
def proxy():
    one = PrefixProxy()
    yield one
    one.close()


def test_the_page_works_behind_a_proxy_with_a_path_of_its_own_and_lets_nobody_else_in(place, browser, proxy):
    place.starts("steered")
    public = f"http://hub.test:{proxy.port}{PREFIX}/"
    with socket.create_server(("127.0.0.1", 0)) as free:
        proxy.to = free.getsockname()[1]
    view = place.view("--port", proxy.to, "--public-url", public.rstrip("/"), "--link", "steer")
    assert view["at"] == public and view["link"].startswith(f"{public}#steer=")
    browser.does("open", link=view["link"])
    browser.says("running", "h1")
    # Everything works: the plan, the values of a port, the log, and changes.
    browser.until("document.querySelectorAll('.node').length === 2")
    browser.does("fill", place="#values input[list]", text="front.out")
    browser.does("click", place="#values button[type=submit]")
    browser.until("Number(document.querySelector('.value')?.dataset.message) > 0")
    browser.says("front", "#logs")
    browser.until("document.querySelector('[data-setting=\"front.D\"] input')")
    [cookie] = [one for one in browser.does("cookies") if one["name"].startswith("ligament-")]
    assert (cookie["path"], cookie["httpOnly"], cookie["sameSite"]) == (f"{PREFIX}/", True, "Strict")
    # Another link to the page leads through the proxy, too.
    assert place.call("view", "run", "--link", "look").count(f"{public}#look=") == 1
    for strips, keeps in ((False, True), (True, False), (False, False)):
        proxy.strips_path, proxy.keeps_host = strips, keeps
        asked = browser.does(
            "tell", what="Number(document.querySelector('[data-conduit] [data-messages]').dataset.messages)")
        browser.until(
            f"Number(document.querySelector('[data-conduit] [data-messages]').dataset.messages) > {asked}")
        status = browser.does(
            "tell", what="fetch('api/steer', {method: 'POST', headers: {'X-Ligament': '1'}, body: '{}'})"
                                            ".then((answer) => answer.status)")
        assert status == 401, (strips, keeps)
    assert not [text for text in browser.does("said") if "401" not in text
                and "Cross-Origin-Opener-Policy" not in text]
    asker = Asker({"at": f"http://127.0.0.1:{proxy.to}/", "link": view["link"]})
    for host, origin in (("other.test", public), (f"hub.test:{proxy.port}", "http://other.test"),
                         ("hub.test", "http://hub.test")):
        status, _, _ = asker.ask("POST", "/api/session", {"Origin": origin, "X-Ligament": "1"},
                                 {"secret": "0" * 48}, host=host)
        assert status in (403, 421), (host, origin)
    # The path without its slash redirects to it; the port itself still works.
    status, headers, _ = asker.ask("GET", PREFIX)
    assert (status, headers["location"]) == (308, f"{PREFIX}/")
    assert asker.ask("GET", "/page.js")[0] == 200
    assert place.is_over()["state"] == "done"


def test_without_the_option_no_proxy_is_let_in_and_the_page_says_how(place, proxy):
    place.starts()
    asker = Asker(place.view())
    status, _, text = asker.ask("GET", "/", host="hub.test")
    assert status == 421 and "--public-url" in text
    assert asker.ask("GET", f"{PREFIX}/")[0] == 404
    for wrong in ("hub.test", "https://hub.test/?x=1", "ftp://hub.test/"):
        place.call("view", "run", "--port", 0, "--public-url", wrong, status=2)
    told = json.loads(place.call("view", "run", "--public-url", "https://hub.test/", "--json", status=2))
    assert '"--port"' in told["error"]
