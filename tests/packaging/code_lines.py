"""Count the code lines of the product and of its tests, per room: what a change adds or removes.

A code line has a token that is no comment, docstring or import. Lines of `.sql` files count, too,
except comments, blank lines, migrations and tests.

`python tests/packaging/code_lines.py` prints the modules, the lines, the code lines and the median
length of a module. The table forbids nothing.
"""

from __future__ import annotations

import ast
import io
import statistics
import sys
import tokenize
from functools import cache
from pathlib import Path

from attrs import frozen

PRODUCT = ("domain", "application", "adapters", "entrypoints")
_NO_CODE = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.ENCODING, tokenize.ENDMARKER),
}
_NOT_COUNTED = {"migrations", "tests"}


@frozen
class Size:
    """The length of each module, and the number of code lines."""

    lengths: tuple[int, ...]
    code: int

    def __str__(self) -> str:
        median = statistics.median(self.lengths) if self.lengths else 0
        return (
            f"{len(self.lengths):5} modules {sum(self.lengths):7,} lines {self.code:7,} code"
            f"   median {median:.0f}"
        )


def code_lines(source: str) -> int:
    """Return the number of code lines of a module."""
    omitted: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Expr(ast.Constant(str())):
                omitted.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_CODE:
            found.update(range(token.start[0], token.end[0] + 1))
    return len(found - omitted)


def measure(folder: Path) -> Size:
    """Return the size of all modules and statements in the folder."""
    modules = [_measure_module(path) for path in folder.rglob("*.py")]
    statements = [
        line.strip()
        for path in folder.rglob("*.sql")
        if _NOT_COUNTED.isdisjoint(path.parts)
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    sql = sum(1 for line in statements if line and not line.startswith("--"))
    return Size(tuple(length for length, _ in modules), sum(code for _, code in modules) + sql)


@cache
def _measure_module(path: Path) -> tuple[int, int]:
    source = path.read_text(encoding="utf-8")
    return len(source.splitlines()), code_lines(source)


def main(root: Path) -> None:
    """Print the table of the folders, and of the rooms in them."""
    sizes = {name: measure(root / name) for name in (*PRODUCT, "tests")}
    rows: list[tuple[str, Size]] = []
    for name, size in sizes.items():
        rooms = sorted(path for path in (root / name).iterdir() if any(path.rglob("*.py")))
        rows += [(f"  {name}/{room.name}", measure(room)) for room in rooms]
        rows.append((name, size))
    product = [sizes[name] for name in PRODUCT]
    lengths = tuple(length for size in product for length in size.lengths)
    rows.append(("product", Size(lengths, sum(size.code for size in product))))
    sys.stdout.writelines(f"{name:34}{size}\n" for name, size in rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[2])
