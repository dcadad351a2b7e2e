"""The count of code lines that `make check` prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from .code_lines import code_lines, main, measure


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ('"""A module."""\n\nimport a\nfrom b import (\n    c,\n)\n', 0),
        ("x = 1  # why\n# only a comment\n\n", 1),
        ('def f():\n    """Return 1."""\n    return (\n        1\n    )\n', 4),
        ('x = """a\nb"""\n', 2),
    ],
)
def test_comments_docstrings_and_imports_are_no_code(source, lines):
    assert code_lines(source) == lines


def test_statements_count_but_migrations_do_not(tmp_path):
    (tmp_path / "migrations").mkdir()
    for name in ("fields.sql", "migrations/0001.sql"):
        (tmp_path / name).write_text("-- get_field: one field\nSELECT *\nFROM field;\n\n")
    (tmp_path / "module.py").write_text("x = 1\n")
    size = measure(tmp_path)
    assert (size.lengths, size.code) == ((1,), 3)


@pytest.mark.slow
def test_the_table_has_each_room_and_the_product(capsys: pytest.CaptureFixture[str]) -> None:
    main(Path(__file__).parents[2])
    printed = capsys.readouterr().out
    assert "  domain/fields " in printed
    assert printed.splitlines()[-1].startswith("product ")
