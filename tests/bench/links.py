#!/usr/bin/env python3
"""Every relative link of the documents leads to a file that is there, and every #fragment to a heading of it; no line is
too long to be read in a terminal."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DOCUMENTS = ("*.md", "docs/**/*.md", "docs/**/*.html", "tests/data/*.md")
LINK = re.compile(r"\]\(\s*<?([^\s()<>]+)>?(?:\s+\"[^\"]*\")?\s*\)|\b(?:href|src)=[\"']([^\"']+)[\"']")


def prose(text: str) -> str:
    """Without code, where brackets are no links."""
    text = re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^(?: {4}|\t)(?! *[-*|]).*$", "", text, flags=re.MULTILINE)
    return re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "", text)


def anchors(text: str) -> set[str]:
    """Of headings, as GitHub and others name them; a name that comes again gets a number."""
    found: set[str] = set()
    for title in re.findall(r"^#+ +(.*?) *#*$", text, flags=re.MULTILINE):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower()
        name = re.sub(r"[^\w\- ]", "", title).replace(" ", "-")
        unique, times = name, 0
        while unique in found:
            times += 1
            unique = f"{name}-{times}"
        found.add(unique)
    return found | set(re.findall(r"\b(?:id|name)=[\"']([^\"']+)[\"']", text))


def dangling(document: Path) -> list[str]:
    """What leads nowhere, as it is written."""
    text = document.read_text()
    bad = []
    for match in LINK.finditer(prose(text) if document.suffix == ".md" else text):
        target = match.group(1) or match.group(2)
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        name, _, fragment = target.partition("#")
        path = document.parent / name if name else document
        if not path.exists() or (fragment and path.suffix in (".md", ".html") and fragment not in anchors(path.read_text())):
            bad.append(target)
    return bad


def too_long(document: Path) -> list[int]:
    """Numbers of lines of more than 120 characters, but for tables and code."""
    text = re.sub(r"^(```|~~~).*?^\1", lambda code: "\n" * code.group(0).count("\n"), document.read_text(), flags=re.MULTILINE | re.DOTALL)
    return [number for number, line in enumerate(text.split("\n"), 1) if len(line) > 120 and not re.match(r" *\|| {4}", line)]


def what_dangles_is_seen() -> None:
    with tempfile.TemporaryDirectory() as folder:
        document = Path(folder, "some.md")
        Path(folder, "other.md").write_text("# Two words\n\n## The call's *own* `time`\n\n## Two words\n")
        document.write_text("[a](other.md) [b](other.md#two-words) ![c](gone.svg) [d](gone/) [e](#none) [f](https://a.b/c) `x[1](y)`\n"
                            "[g](other.md#two-words-1) [h](other.md#the-calls-own-time) [i](other.md#two-words-2)\n\n"
                            "    code[2](z)\n\n- item\n\n- <img src=\"gone.png\">\n")
        found = dangling(document)
        assert found == ["gone.svg", "gone/", "#none", "other.md#two-words-2", "gone.png"], found
        document.write_text(f"{'a' * 120}\n{'b' * 121}\n| {'c' * 121}\n\n    {'d' * 121}\n```\n{'e' * 121}\n```\n{'f' * 121}\n")
        assert too_long(document) == [2, 9], too_long(document)


def main() -> int:
    what_dangles_is_seen()
    documents = sorted(path for pattern in DOCUMENTS for path in ROOT.glob(pattern))
    assert len(documents) > 10, documents
    links = 0
    bad = []
    for document in documents:
        bad += [f"{document.relative_to(ROOT)}: {target}" for target in dangling(document)]
        if document.suffix == ".md":
            bad += [f"{document.relative_to(ROOT)}:{number}: more than 120 characters" for number in too_long(document)]
        links += len(LINK.findall(document.read_text()))
    print("\n".join(bad) or f"{len(documents)} documents, {links} links")
    return 1 if bad or links < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
