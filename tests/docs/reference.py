"""The commands, options and variables in `docs/cli.md` and `docs/settings.md`.

`python tests/docs/reference.py` writes each part between `<!-- written: PART -->` and
`<!-- end -->`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from enum import Enum
from pathlib import Path

import click

from recipient_fields.domain.esp import DIALECTS
from recipient_fields.entrypoints.cli import main
from recipient_fields.entrypoints.cli.command_group import STORAGE
from recipient_fields.entrypoints.selection import esp_variables

PAGES = tuple(Path(__file__).parents[2] / "docs" / name for name in ("cli.md", "settings.md"))

_PART = re.compile(r"(<!-- written: ([a-zA-Z ]+) -->\n)(?:.*?)(<!-- end -->\n)", re.DOTALL)


def written(page: str) -> str:
    """Return the page with its generated parts up to date."""
    return _PART.sub(lambda part: f"{part[1]}\n{_PARTS[part[2]]()}\n\n{part[3]}", page)


def commands() -> dict[str, click.Command]:
    """Return every command and group by its name after `recipient-fields`."""
    return dict(_below("", main))


def options(command: click.Command) -> list[click.Option]:
    """Return the options of the command, without `--help` and `--storage`."""
    every = () if command is main else (STORAGE,)
    return [
        each
        for each in command.params
        if isinstance(each, click.Option) and each.envvar and each not in every
    ]


def _below(typed: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield typed, command
    if isinstance(command, click.Group):
        for name, each in command.commands.items():
            yield from _below(f"{typed} {name}".strip(), each)


def _every_command() -> str:
    return "\n\n".join(_section(typed, command) for typed, command in commands().items() if typed)


def _section(typed: str, command: click.Command) -> str:
    arguments = [_metavar(each) for each in command.params if isinstance(each, click.Argument)]
    heading = f"{'###' if ' ' in typed else '##'} {' '.join((typed, *arguments))}"
    parts = [heading, inspect.cleandoc(command.help or "")]
    if options(command):
        rows = [(_shown(each), each.help or "", _default(each)) for each in options(command)]
        parts.append(_table(("Option", "", "Default"), rows))
    return "\n\n".join(parts)


def _settings(typed: str) -> str:
    rows = [
        (f"`{each.envvar}`<br>{_code(_names(each))}", each.help or "", _default(each))
        for each in options(commands()[typed])
    ]
    return _table(("Variable, option", "", "Default"), rows)


def _credentials() -> str:
    rows = []
    for esp, dialect in DIALECTS.items():
        required, optional = esp_variables(esp)
        rows += [(dialect.title, f"`{name}`", "required") for name in required]
        rows += [(dialect.title, f"`{name}`", "") for name in optional]
    return _table(("ESP", "Variable", ""), rows)


def _table(titles: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    return "\n".join(_row(cells) for cells in (titles, ("---",) * len(titles), *rows))


def _row(cells: tuple[str, ...]) -> str:
    return "|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|"


def _shown(option: click.Option) -> str:
    return _code(_names(option) if option.is_flag else f"{_names(option)} {_metavar(option)}")


def _names(option: click.Option) -> str:
    return " / ".join((*option.opts, *option.secondary_opts))


def _metavar(parameter: click.Parameter) -> str:
    return parameter.make_metavar(click.Context(main))


def _default(option: click.Option) -> str:
    default = option.default
    if option.required:
        return "required"
    if option.is_flag:
        return f"`{option.opts[0]}`" if default is True else ""
    if option.show_default or option.type.name == "choice":
        default = default.value if isinstance(default, Enum) else default
        return f"`{default}`" if isinstance(default, str | int) else ""
    return ""


def _code(text: str) -> str:
    """Return code for a table cell, with spaces between choices, where lines can break."""
    return "`{}`".format(text.replace("|", r" \| "))


_PARTS = {
    "every command": _every_command,
    "options of every command": lambda: _settings(""),
    "options of serve": lambda: _settings("serve"),
    "options of keys": lambda: _settings("keys"),
    "credentials of ESPs": _credentials,
}

if __name__ == "__main__":
    for path in PAGES:
        path.write_text(written(path.read_text("utf-8")), "utf-8")
