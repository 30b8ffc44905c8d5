#!/usr/bin/env python3
"""The README names all routines that there are and no other, is short, and like the guide has short sentences."""

from __future__ import annotations

import itertools
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
OWN = {"wsymv"}
"""Has no standard name."""
MOST_LINES, MOST_COLUMNS, MOST_WORDS = 90, 120, 35


def routines() -> set[str]:
    """As api/routines.def lists them: a line each."""
    listed = re.findall(r"^[A-Z0-9_]+\((\w+), (?:float|double|std::complex<\w+>)\)$", (ROOT / "api/routines.def").read_text(), re.MULTILINE)
    assert len(listed) == len(set(listed)) > 100, listed
    return set(listed)


def named(text: str) -> list[str]:
    """Of its tables, with "[sdcz]gemm" for four of them."""
    rows = "\n".join(line for line in text.splitlines() if line.startswith("|"))
    return [letter + rest for letters, rest in re.findall(r"`\[([sdcz]+)\](\w+)`", rows) for letter in letters]


def sentences(text: str) -> list[str]:
    """Of paragraphs and items, without code, tables, headings and where links lead."""
    text = re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.MULTILINE | re.DOTALL)
    lines = [line for line in text.splitlines() if not re.match(r" {4,}(?![-*\d])|\||#", line)]
    paragraphs = "\n".join(re.sub(r"^\s*([-*]|\d+\.) ", "\n\n", line) for line in lines).split("\n\n")
    plain = (re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "code", " ".join(paragraph.split()))) for paragraph in paragraphs)
    return [x for x in itertools.chain.from_iterable(re.split(r"(?<=[.!?:;])[)*\]]*\s+", paragraph) for paragraph in plain) if x]


def long_ones(text: str) -> list[str]:
    return [x for x in sentences(text) if len(x.split()) > MOST_WORDS]


def what_is_wrong_is_seen() -> None:
    words = " ".join(["word"] * MOST_WORDS)
    assert long_ones(f"A {words}.\n\n- {words}\n- {words}. {words}.\n\n| {words} {words} |\n\n    {words} {words}\n") == [f"A {words}."]
    assert named("`[sd]gemm`\n| what | `[sd]gemm` `[cz]hemv` |\n") == ["sgemm", "dgemm", "chemv", "zhemv"]


def main() -> int:
    what_is_wrong_is_seen()
    readme = (ROOT / "README.md").read_text()
    names, there = named(readme), routines() - OWN
    errors = [f"README: {name} is not routed" for name in sorted(set(names) - there)]
    errors += [f"README: {name} is missing" for name in sorted(there - set(names))]
    errors += [f"README: {name} comes twice" for name in sorted(set(names)) if names.count(name) > 1]
    if len(readme.splitlines()) > MOST_LINES:
        errors.append(f"README: {len(readme.splitlines())} lines")
    errors += [f"README: {len(line)} columns: {line}" for line in readme.splitlines() if len(line) > MOST_COLUMNS and not line.startswith("|")]
    for name in ("README.md", "docs/user/guide.md"):
        errors += [f"{name}: {len(x.split())} words: {x}" for x in long_ones((ROOT / name).read_text())]
    print("\n".join(errors) or f"{len(names)} routines")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
