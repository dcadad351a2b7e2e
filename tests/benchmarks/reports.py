"""The reports of the benchmarks, and the page that shows them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from attrs import Factory, frozen

_INTERNALS = Path(__file__).resolve().parents[2] / "docs" / "internals"


@frozen
class Report:
    """A text for a page, and its pictures by file name."""

    text: str
    pictures: Mapping[str, str] = Factory(dict)
    page: str = "performance.md"

    def write(self, part: str) -> None:
        """Replace the text between the markers of that part in the page."""
        begin, end = f"<!-- {part} -->\n", f"<!-- /{part} -->"
        pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
        path = _INTERNALS / self.page
        page = path.read_text("utf-8")
        assert pattern.search(page), f"{path} has no place for {part}"
        path.write_text(pattern.sub(lambda _: f"{begin}\n{self.text}\n\n{end}", page), "utf-8")
        for name, picture in self.pictures.items():
            (_INTERNALS / name).write_text(picture, "utf-8")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown. The first column is text, and the others are figures."""
    rule = ["---", *("--:" for _ in head[1:])]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *rows))


def section(title: str, text: str) -> str:
    """Return the text below a heading for a part of a page's section."""
    return f"### {title}\n\n{text}"


def microseconds(seconds: float) -> str:
    return f"{seconds * 1e6:,.0f}"


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.1f}"


def rate(requests: float) -> str:
    return f"{requests:,.0f}"
