"""The site builds without a warning, loads nothing from elsewhere, and its links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

pytestmark = pytest.mark.wide

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    target = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--quiet",
        "--site-dir",
        str(target),
    ]
    done = subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return target


class Loads(HTMLParser):
    """Collects what a page loads and where it links to."""

    def __init__(self):
        super().__init__()
        self.loaded, self.linked, self.names = [], [], set()

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if tag in ("script", "img", "iframe", "source"):
            self.loaded.append(found.get("src"))
        if tag == "link" and found.get("rel") in ("stylesheet", "preconnect", "preload", "icon"):
            self.loaded.append(found.get("href"))
        if tag == "a" and found.get("href"):
            self.linked.append(found["href"])
        self.names.add(found.get("id") or found.get("name"))


def read(page):
    parser = Loads()
    parser.feed(page.read_text(encoding="utf-8"))
    return parser


def test_the_site_loads_nothing_from_elsewhere(site):
    for page in site.rglob("*.html"):
        elsewhere = [
            source for source in read(page).loaded if source and re.match(r"(https?:)?//", source)
        ]
        assert not elsewhere, (page.name, elsewhere)


def test_every_link_inside_the_site_leads_somewhere(site):
    parsed = {page.resolve(): read(page) for page in site.rglob("*.html")}
    for page, found in parsed.items():
        if page.name == "404.html":
            continue
        for link in found.linked:
            if re.match(r"[a-z]+:", link):
                assert link.startswith(("https://", "mailto:")), (page.name, link)
                continue
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            target = target / "index.html" if target.is_dir() else target
            assert target.exists(), (page.name, link)
            if anchor and target in parsed:
                assert anchor in parsed[target].names, (page.name, link)


def test_links_of_the_readme_lead_somewhere():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if not re.match(r"https://", link):
            assert (ROOT / link.partition("#")[0]).exists(), link
