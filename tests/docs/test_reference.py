"""The reference pages have all commands, options and variables, and no others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from contextlib import suppress
from itertools import takewhile
from pathlib import Path

import click
import pytest

from recipient_fields.adapters.esp import SOURCES
from recipient_fields.application.environment import FILE_SUFFIX, SECRETS_KEY
from recipient_fields.domain import RecipientFieldsError
from recipient_fields.domain.esp import BUILT_IN
from recipient_fields.entrypoints.cli.commands import API_KEY_VARIABLE
from recipient_fields.entrypoints.service.selection import open_field_source, open_key_validator

from .blocks import PAGES, ROOT, RUN, blocks_of, inline_code
from .reference import BADGES, badges, commands, options, written
from .reference import PAGES as WRITTEN_PAGES

COMMANDS = commands()

_CALL = re.compile(r"(?:^|[\s(/])recipient-fields (.+)")
_OPTION = re.compile(r"--[a-z][a-z-]*")
_WORD = re.compile(r"[a-z-]+")
_VARIABLE = re.compile(r"\bRECIPIENT_FIELDS_[A-Z_]*[A-Z]\b")


@pytest.mark.parametrize("page", WRITTEN_PAGES, ids=lambda path: path.name)
def test_the_generated_parts_of_a_page_are_up_to_date(page):
    text = page.read_text("utf-8")

    assert text == written(text), "Run `.venv/bin/python tests/docs/reference.py`."


def test_the_badges_are_up_to_date() -> None:
    assert BADGES.read_text("utf-8") == badges(), "Run `.venv/bin/python tests/docs/reference.py`."


@pytest.mark.parametrize(
    ("page", "before", "esps", "after"),
    [
        ("README.md", " ESPs: ", sorted(each.title for each in BUILT_IN), "."),
        (
            "docs/integrations.md",
            "For ",
            [each.title for each in BUILT_IN if each.names.lists_fields_in_use_only],
            ", a sync removes none",
        ),
        (
            "docs/integrations.md",
            " ",
            [each.title for each in BUILT_IN if each.esp not in SOURCES],
            " list no fields",
        ),
    ],
)
def test_a_sentence_names_the_esps_of_the_profiles(page, before, esps, after):
    text = " ".join((ROOT / page).read_text("utf-8").split())

    assert f"{before}{', '.join(esps[:-1])} and {esps[-1]}{after}" in text


def test_the_command_line_page_has_every_command() -> None:
    headings = re.findall(r"^###? (.+)$", (ROOT / "docs/cli.md").read_text("utf-8"), re.MULTILINE)

    assert [re.sub(r" [A-Z\[].*", "", heading) for heading in headings] == list(COMMANDS)[1:]


def test_the_settings_page_has_every_variable() -> None:
    lasting = {o.envvar for typed in ("", "serve", "keys") for o in options(COMMANDS[typed])}
    documented = {*_VARIABLE.findall((ROOT / "docs/settings.md").read_text("utf-8"))}

    assert {each.removesuffix(FILE_SUFFIX) for each in documented} == lasting | _secrets()


def known_variables() -> Set[object]:
    """Return the variables of commands, secrets, the test suite and Kubernetes."""
    of_commands = {option.envvar for each in COMMANDS.values() for option in options(each)}
    suite = (ROOT / "Makefile", *(ROOT / "tests").rglob("*.py"))
    of_suite = {name for path in suite for name in _VARIABLE.findall(path.read_text("utf-8"))}
    known = of_commands | _secrets() | of_suite | {"RECIPIENT_FIELDS_SERVICE_HOST"}
    return known | {f"{name}{FILE_SUFFIX}" for name in known}


def commands_on(page: Path) -> Iterator[str]:
    text = page.read_text("utf-8")
    shell = [b.text.replace("\\\n", "") for b in blocks_of(page.name, text) if b.language in RUN]
    for line in (line for each in (*shell, *inline_code(text)) for line in each.splitlines()):
        yield from (call[1] for call in _CALL.finditer(line))


def test_commands_and_options_on_a_page_exist() -> None:
    used = [(page, call) for page in PAGES for call in commands_on(page)]

    assert [(page, call) for page, call in used if not _exists(call)] == []


def test_variables_on_a_page_are_read() -> None:
    used = {(page, each) for page in PAGES for each in _VARIABLE.findall(page.read_text("utf-8"))}
    known = known_variables()

    assert {(page, variable) for page, variable in used if variable not in known} == set()


@pytest.mark.parametrize(
    ("call", "exists"),
    [
        ("--storage memory: keys create --organization 1 > key", True),
        ("keys list --organization 1 | grep --count active", True),
        ("fields delete loyalty_tier --organization 1 --yes", True),
        ("organisations list", False),
        ("keys make", False),
        ("keys list --storage memory: --organization 1", True),
        ("keys list --grace 24h", False),
        ("serve --prot 8080", False),
    ],
)
def test_an_unknown_command_is_detected(call, exists):
    assert _exists(call) is exists


def _exists(call: str) -> bool:
    """Return whether the command and its options exist."""
    typed, before, known = "", "", _names(COMMANDS[""])
    for word in takewhile(lambda word: not set(word) & set("|&;<>)#"), call.split()):
        longer = f"{typed} {word}".strip()
        option = _OPTION.match(word)
        if option is not None:
            if option[0] not in known:
                return False
        elif longer in COMMANDS:
            typed, known = longer, known | _names(COMMANDS[longer])
        elif isinstance(COMMANDS[typed], click.Group) and _is_command(word, before):
            return False
        before = word
    return True


def _is_command(word: str, before: str) -> bool:
    """Return whether a word is a command: no `ID`, no `…`, and no value of an option."""
    return bool(_WORD.fullmatch(word)) and not _OPTION.match(before)


def _names(command: click.Command) -> set[str]:
    parameters = command.params
    return {"--help", "--version"} | {n for p in parameters for n in (*p.opts, *p.secondary_opts)}


class _RecordingEnvironment(Mapping[str, str]):
    """An empty environment that records which variables are read."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self.names.add(name)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def _secrets() -> set[str]:
    """Return the variables that are read in addition to those of options, without `_FILE`."""
    environment = _RecordingEnvironment()
    for esp in BUILT_IN.esps:
        with suppress(RecipientFieldsError):
            open_field_source(esp, environment)
    with suppress(RecipientFieldsError):
        open_key_validator("introspection+https://issuer.example.com", environment)
    read = {name for name in environment.names if not name.endswith(FILE_SUFFIX)}
    return {*read, API_KEY_VARIABLE, SECRETS_KEY}
