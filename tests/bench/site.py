#!/usr/bin/env python3
"""The documents' site is made without a complaint, has a page for every document, and no link of it leads nowhere.

    site.py --python PYTHON    which has MkDocs; status 77 if it has none
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent.parent


class Page(HTMLParser):
    """Where a page leads, and the places in it."""

    def __init__(self, path: Path):
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if value and name in ("href", "src"):
                self.links.append(value)
            if value and name in ("id", "name"):
                self.places.add(value)


def dangling(site: Path) -> list[str]:
    pages = {path: Page(path) for path in site.rglob("*.html") if path.name != "404.html"}
    bad = []
    for path, page in pages.items():
        for link in page.links:
            to = urlsplit(link)
            if to.scheme or to.netloc:
                continue
            target = (path.parent / unquote(to.path)).resolve() if to.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists() or (to.fragment and target in pages and unquote(to.fragment) not in pages[target].places):
                bad.append(f"{path.relative_to(site)}: {link}")
    return bad


def what_dangles_is_seen() -> None:
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder).resolve()
        (site / "other.html").write_text('<h2 id="here">x</h2>')
        (site / "some.html").write_text('<a href="other.html#here"><a href="other.html#gone"><img src="gone.svg"><a href="https://a.b/c">')
        assert dangling(site) == ["some.html: other.html#gone", "some.html: gone.svg"], dangling(site)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True)
    python = parser.parse_args().python
    if subprocess.run([python, "-c", "import mkdocs, material"], capture_output=True, check=False).returncode != 0:
        print(f"{python} has no MkDocs")
        return 77
    what_dangles_is_seen()
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder).resolve()
        command = [python, "-m", "mkdocs", "build", "--strict", "--quiet", "-f", ROOT / "tools/site/mkdocs.yml", "-d", site]
        made = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"})
        errors = [f"status {made.returncode}"] if made.returncode else []
        errors += [line for line in (made.stdout + made.stderr).splitlines() if line.strip()]
        documents = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")]
        for document in documents:
            page = document.with_name("index.html" if document.name == "README.md" else f"{document.stem}.html")
            if not (site / page).exists():
                errors.append(f"no page for {document}")
        errors += dangling(site)
    print("\n".join(errors) or f"{len(documents)} pages")
    return 1 if errors or len(documents) < 15 else 0


if __name__ == "__main__":
    sys.exit(main())
