"""The site is complete: every link and picture of every page leads to a place in it, no page loads anything
from elsewhere, and the documentation from the sources is part of it."""

import html.parser
import json
import re
import subprocess
import sys
from urllib.parse import unquote, urlsplit

import pytest
from test_docs import PAGES, ROOT

import ligament


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    out = tmp_path_factory.mktemp("built") / "site"
    done = subprocess.run(
        [sys.executable, ROOT / "docs/site/build", out], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True
    )
    assert done.returncode == 0, done.stdout
    return out


class Page(html.parser.HTMLParser):
    """The links of a page, the files that it loads, and its anchors."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loaded, self.places = set(), set(), {""}
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.places |= {values[key] for key in ("id", "name") if values.get(key)}
        if tag == "a" and values.get("href"):
            self.links.add(values["href"])
        loads = tag != "link" or values.get("rel") in ("stylesheet", "icon", "preload", "modulepreload")
        for key in ("src", "href") if tag in ("link", "script", "img", "iframe", "source") else ():
            if values.get(key) and loads:
                self.loaded.add(values[key])


def test_every_link_and_picture_of_the_site_leads_somewhere(site):
    pages = {path: Page(path) for path in site.rglob("*.html")}
    assert len(pages) > 25
    lost = []
    for path, page in pages.items():
        if path.name == "404.html":
            continue  # its links begin at the place that the site will have
        for link in page.links | page.loaded:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            places = pages[target].places if target in pages else {"", parts.fragment}
            if not target.is_file() or unquote(parts.fragment) not in places:
                lost.append(f"{path.relative_to(site)}: {link}")
    assert not lost, "\n".join(sorted(lost))


def test_no_page_fetches_anything_from_elsewhere(site):
    for path in site.rglob("*.html"):
        foreign = [link for link in Page(path).loaded if urlsplit(link).netloc]
        assert not foreign, f"{path.relative_to(site)} loads {foreign}"


def test_every_page_of_the_repository_is_in_the_site(site):
    for page in PAGES:
        name = page.relative_to(ROOT).with_suffix(".html")
        name = name.with_name("index.html") if page.name == "README.md" else name
        assert (site / name).is_file(), f"{name} is missing"


def test_every_call_of_the_c_header_and_of_the_package_has_its_place(site):
    header = (ROOT / "crates/capi/include/ligament.h").read_text()
    functions = set(re.findall(r"\b(lig_\w+)\(", header))
    assert len(functions) > 50 and functions <= Page(site / "docs/reference/c-header.html").places
    names = {name.lower() for name in ligament.__all__ if callable(getattr(ligament, name))}
    places = Page(site / "docs/reference/python-package.html").places
    assert names <= places and {"instancereceive_into", "modelconnect"} <= places


def test_what_is_searched_for_is_found(site):
    index = json.loads((site / "search/search_index.json").read_text())["docs"]
    for words, page in {"lig_send_loan": "docs/reference/c-header.html",
                        "budget": "docs/reference/model-file.html",
                        "pip install": "docs/getting-started/index.html"}.items():
        assert any(words in entry["text"] + entry["title"] and entry["location"].startswith(page)
                   for entry in index)
