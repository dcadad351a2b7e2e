"""The commands, options and variables in `docs/cli.md` and `docs/settings.md`.

And the conditions that each ESP supports, in `docs/conditions.md`, their code and the engines, in
`docs/internals/condition-codes.md`, the filters of each ESP, in `docs/internals/filter-codes.md`,
the links in `docs/content.md`, their codes and sources, in `docs/internals/system-values.md`, the
examples in `docs/embedding.md`, the methods and the cases of each group of ports, in
`docs/storage-contract.md`, and the badges of the README.

`python tests/docs/reference.py` writes each part between `<!-- written: PART -->` and
`<!-- end -->`, and the badges.
"""

from __future__ import annotations

import inspect
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from enum import Enum
from pathlib import Path

import click

from recipient_fields.application import (
    AdministratorRepository,
    ApiKeyRepository,
    EspConnectionRepository,
    FieldRepository,
    HistoryRepository,
    IntegrationRepository,
    OrganizationRepository,
    SessionRepository,
    Storage,
)
from recipient_fields.application.environment import FILE_SUFFIX
from recipient_fields.domain import (
    DataType,
    FieldDraft,
    FieldId,
    IntegrationId,
    OrganizationId,
    RecipientField,
    sync_channel,
)
from recipient_fields.domain.conditions import Value, parse_condition
from recipient_fields.domain.content import Surface, SystemValue, parse_content, preview_content
from recipient_fields.domain.content.filters import (
    DATE_PARTS,
    DATE_STYLES,
    Filter,
    FilterName,
    apply_filters,
)
from recipient_fields.domain.content.resolution import DataValue
from recipient_fields.domain.data_paths import DataPath
from recipient_fields.domain.esp import (
    BUILT_IN,
    Esp,
    NotExpressible,
    compile_condition,
    derive_codes,
)
from recipient_fields.domain.esp.data_codes import Scope, find_data_code
from recipient_fields.domain.esp.errors import NotInsertable
from recipient_fields.domain.esp.filtered_codes import UNKNOWN, filter_code
from recipient_fields.domain.esp.profiles.profile import FilterRefusal, Strength
from recipient_fields.domain.integrations import FieldCodes, IntegrationDraft
from recipient_fields.entrypoints.cli import main
from recipient_fields.entrypoints.cli.commands import STORAGE, commands_of
from recipient_fields.entrypoints.cli.options import EnvironmentOption
from recipient_fields.entrypoints.service.selection import esp_variables
from recipient_fields.testing import (
    CatalogContract,
    ConsoleContract,
    HistoryContract,
    IntegrationContract,
)

ROOT = Path(__file__).parents[2]
PAGES = tuple(
    ROOT / "docs" / name
    for name in (
        *("cli.md", "conditions.md", "content.md", "embedding.md", "settings.md"),
        "storage-contract.md",
        *("internals/condition-codes.md", "internals/filter-codes.md"),
        "internals/system-values.md",
    )
)
BADGES = ROOT / "docs" / "_static" / "badges.svg"

_PART = re.compile(r"(<!-- written: ([\w /.-]+) -->\n)(?:.*?)(<!-- end -->\n)", re.DOTALL)


def written(page: str) -> str:
    """Return the page with its generated parts up to date."""
    return _PART.sub(lambda part: f"{part[1]}\n{_written_part(part[2])}\n\n{part[3]}", page)


def _written_part(name: str) -> str:
    return _example(name) if name.startswith("examples/") else _PARTS[name]()


def _example(path: str) -> str:
    """Return the file as a block, because a code host does not insert files as Sphinx does."""
    code = (ROOT / "docs" / path).read_text("utf-8")
    return f"<!-- not run: tests/embedding runs the file -->\n```python\n{code}```"


def badges() -> str:
    """Return a picture of the version, the Python versions and the license in the metadata."""
    facts = tuple(_badge_facts())
    parts, left = [], 0
    for label, value in facts:
        label_width, value_width = _badge_width(label), _badge_width(value)
        parts += [
            _badge_half(left, label_width, "#3d444d", label),
            _badge_half(left + label_width, value_width, "#0b655d", value),
        ]
        left += label_width + value_width + _BADGE_GAP
    described = ". ".join(f"{label} {value}" for label, value in facts)
    return _BADGES.format(width=left - _BADGE_GAP, title=described, parts="\n".join(parts))


def _badge_facts() -> Iterator[tuple[str, str]]:
    metadata = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    python = re.compile(r"Programming Language :: Python :: (\d+\.\d+)")
    versions = [found[1] for each in metadata["classifiers"] if (found := python.fullmatch(each))]
    yield "version", metadata["version"]
    yield "python", " | ".join(versions)
    yield "license", metadata["license"]


def _badge_width(text: str) -> int:
    return _BADGE_MARGIN + round(6.5 * len(text))


def _badge_half(left: int, width: int, color: str, text: str) -> str:
    middle = left + width / 2
    return (
        f'  <rect x="{left}" width="{width}" height="20" fill="{color}"/>\n'
        f'  <text x="{middle:g}" y="14" textLength="{width - _BADGE_MARGIN}">{text}</text>'
    )


_BADGE_MARGIN, _BADGE_GAP = 12, 6
_BADGES = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img"
     font-family="Verdana, 'DejaVu Sans', sans-serif" font-size="11" text-anchor="middle"
     fill="#fff">
  <title>{title}</title>
{parts}
</svg>
"""


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
        for name, each in commands_of(command).items():
            yield from _below(f"{typed} {name}".strip(), each)


def _every_command() -> str:
    return "\n\n".join(_section(typed, command) for typed, command in commands().items() if typed)


def _section(typed: str, command: click.Command) -> str:
    arguments = [_metavar(each) for each in command.params if isinstance(each, click.Argument)]
    heading = f"{'###' if ' ' in typed else '##'} {' '.join((typed, *arguments))}"
    parts = [heading, inspect.cleandoc(command.help or "")]
    if options(command):
        rows = [(_shown(each), each.help or "", _default(each)) for each in options(command)]
        parts.append(_table(("Option", "Meaning", "Default"), rows))
    return "\n\n".join(parts)


def _settings(typed: str) -> str:
    rows = [
        (f"{_variables(each)}<br>{_code(_names(each))}", each.help or "", _default(each))
        for each in options(commands()[typed])
    ]
    return _table(("Variable, option", "Meaning", "Default"), rows)


def _variables(option: click.Option) -> str:
    is_secret = isinstance(option, EnvironmentOption) and option.is_secret
    return f"`{option.envvar}`" + (f"<br>`{option.envvar}{FILE_SUFFIX}`" if is_secret else "")


def _credentials() -> str:
    rows = []
    for profile in BUILT_IN:
        required, optional = esp_variables(profile.esp)
        rows += [(profile.title, f"`{name}`", "yes") for name in required]
        rows += [(profile.title, f"`{name}`", "no") for name in optional]
    return _table(("ESP", "Variable", "Required"), rows)


_CONDITIONS = {
    'tier = "gold"': "text `=`, `!=`, `in`",
    'tier contains "ol"': "text `contains`",
    "tier is set": "text `is set`",
    "visits = 3": "number `=`, `!=`, `in`",
    "visits > 3": "number `<`, `<=`, `>`, `>=`",
    "visits is set": "number `is set`",
    "member": "boolean by itself, `= true`",
    "member = false": "boolean `= false`",
    "member is set": "boolean `is set`",
    'born < date "2026-11-20"': "date `=`, `<`, `in`, …",
    'seen < date "2026-11-20T09:15:00Z"': "datetime `=`, `<`, `in`, …",
    "born is set": "date, datetime `is set`",
}
"""Conditions, and the names of the rows for them."""
_FIELDS = {
    "tier": DataType.TEXT,
    "visits": DataType.NUMBER,
    "member": DataType.BOOLEAN,
    "born": DataType.DATE,
    "seen": DataType.DATETIME,
}


def _condition_support() -> str:
    rows = [
        (name, *(_compiled(text, esp)[0] for esp in BUILT_IN.esps))
        for text, name in _CONDITIONS.items()
    ]
    return _table(("", *(profile.title for profile in BUILT_IN)), rows)


def _condition_notes() -> str:
    notes: dict[tuple[str, str, str], list[str]] = {}
    for profile in BUILT_IN:
        for text, name in _CONDITIONS.items():
            result, messages = _compiled(text, profile.esp)
            for message in messages:
                notes.setdefault((profile.title, result, message), []).append(name)
    rows = [
        (title, "; ".join(names), result, message)
        for (title, result, message), names in notes.items()
    ]
    return _table(("ESP", "Comparison", "Support", "Reason"), rows)


def _compiled(text: str, esp: Esp) -> tuple[str, tuple[str, ...]]:
    """Return yes, caveat or refused, and the messages."""
    try:
        caveats = compile_condition(parse_condition(text), _codes(esp), esp, then="").caveats
    except NotExpressible as refusal:
        return "refused", (str(refusal).partition(": ")[2],)
    return ("caveat", caveats) if caveats else ("yes", ())


def _codes(esp: Esp) -> FieldCodes:
    """Return the codes of the fields that a sync from the ESP created."""
    now = datetime.now(UTC)
    draft = IntegrationDraft(esp=esp, name="Main", created_at=now)
    integration = draft.with_id(IntegrationId(1), OrganizationId(1)).synced(now)
    fields = [_field(esp, key, data_type) for key, data_type in _FIELDS.items()]
    return FieldCodes.of(fields, [integration])


def _field(esp: Esp, key: str, data_type: DataType) -> RecipientField:
    name = key.upper() if esp in {Esp("mailchimp"), Esp("brevo"), Esp("activecampaign")} else key
    draft = FieldDraft(
        name=name,
        data_type=data_type,
        key=key,
        custom_value_expression=derive_codes(esp, name).value_expression,
        esp_field_name=name,
    )
    definition = draft.define(by=sync_channel(IntegrationId(1)), at=datetime.now(UTC))
    return definition.with_id(FieldId(1), OrganizationId(1))


_EXAMPLES = (
    *('tier = "gold"', 'tier in ("gold", "silver")', 'not tier contains "ol"', "tier is set"),
    *("visits = 3", "visits != 0", "visits >= 3", "visits <= 3", "visits is set"),
    *("member", "member = false", "member is set"),
    *('born >= date "2026-11-20"', 'seen < date "2026-11-20T09:15:00Z"'),
    'tier = "gold" and visits >= 3',
    '(tier = "gold" or member) and (visits < 1 or visits > 10)',
    'tier != "gold" and (visits >= 3 or not member) and (tier is set or visits is not set)',
)
"""Conditions with one, two, four and five comparisons."""


def _condition_codes() -> str:
    """Return the code of each example, per ESP."""
    parts = []
    for profile in BUILT_IN:
        examples = "\n\n".join(f"{text}\n    {_code_of(text, profile.esp)}" for text in _EXAMPLES)
        parts.append(f"### {profile.title}\n\n```\n{examples}\n```")
    return "\n\n".join(parts)


def _code_of(text: str, esp: Esp) -> str:
    condition, codes = parse_condition(text), _codes(esp)
    try:
        return compile_condition(condition, codes, esp, then="yes", otherwise="no").code
    except NotExpressible as refusal:
        return f"refused: {refusal}"


def _engines() -> str:
    rows = [
        (profile.title, engine.value, source)
        for profile in BUILT_IN
        for engine, source in profile.engines.items()
    ]
    return _table(("ESP", "Engine", "Source"), rows)


_FILTERS = {
    Filter(FilterName.UPPER): DataType.TEXT,
    Filter(FilterName.LOWER): DataType.TEXT,
    Filter(FilterName.TITLE): DataType.TEXT,
    Filter(FilterName.TRUNCATE, 20): DataType.TEXT,
    Filter(FilterName.URL): DataType.TEXT,
    Filter(FilterName.NUMBER, 2): DataType.NUMBER,
    Filter(FilterName.DATE, DATE_STYLES["long"]): DataType.DATETIME,
    Filter(FilterName.PLUS, 1): DataType.NUMBER,
    Filter(FilterName.MINUS, 1): DataType.NUMBER,
    Filter(FilterName.TIMES, 1.2): DataType.NUMBER,
    Filter(FilterName.FIRST): DataType.TEXT,
    Filter(FilterName.JOIN, ", "): DataType.TEXT,
}


_MEANINGS: Mapping[Filter, tuple[Value | tuple[str, ...], str]] = {
    Filter(FilterName.UPPER): ("Zürich", "Capital letters"),
    Filter(FilterName.LOWER): ("Zürich", "Small letters"),
    Filter(FilterName.TITLE): ("JEAN-LUC o'neil", "A capital at the beginning of each word"),
    Filter(FilterName.TRUNCATE, 5): ("Zürich", "At most 5 characters, of which … is one"),
    Filter(FilterName.URL): ("a b&c", "A part of a link, percent-encoded"),
    Filter(FilterName.NUMBER, 2): (2.5, "2 decimals (0 to 4). Halves are rounded away from zero"),
    Filter(FilterName.PLUS, 1): (2.5, "The sum. `number` must follow, here `number: 1`"),
    Filter(FilterName.MINUS, 1): (2.5, "The difference. `number` must follow, here `number: 1`"),
    Filter(FilterName.TIMES, 1.2): (2.5, "The product. `number` must follow, here `number: 0`"),
    Filter(FilterName.FIRST): (("a", "b"), "The first text of a list of event data"),
    Filter(FilterName.JOIN, ", "): (
        ("a", "b"),
        "The texts of a list with 1 to 10 characters between",
    ),
    **{
        Filter(FilterName.DATE, format_): (date(2026, 11, 4), note)
        for note, formats in {
            "The date in UTC, in English": DATE_STYLES.values(),
            f"A format of {' '.join(f'`{each}`' for each in DATE_PARTS)} and ` ,./:-`": (
                "%a, %b %-d",
            ),
        }.items()
        for format_ in formats
    },
}
"""Values for the filters, and what a reader should know."""


def _meaning_of_filters() -> str:
    rows = [
        (
            f"`{each}`",
            f"`{json.dumps(value) if isinstance(value, tuple) else value}`",
            f"`{apply_filters(value, [each])}`",
            note,
        )
        for each, (value, note) in _MEANINGS.items()
    ]
    return _table(("Filter", "Value", "Shown", "Meaning"), rows)


def _filter_support() -> str:
    """Return the strength of the source of each filter, per ESP."""
    rows = []
    for profile in BUILT_IN:
        cells = []
        for each in _FILTERS:
            form = profile.filters.forms.get(each.name, UNKNOWN)
            refused = "refused: " if isinstance(form, FilterRefusal) else ""
            cells.append(f"{refused}{form.strength.value}")
        rows.append((profile.title, *cells))
    return _table(("", *(f"`{each}`" for each in _FILTERS)), rows)


def _ways_of_event_data() -> str:
    """Return what each ESP calls event data, per way in which it sends messages."""
    total = DataValue(DataPath("event.total"))
    rows = []
    for profile in BUILT_IN:
        if isinstance(profile.events, str):
            rows.append((profile.title, "none", profile.events.format(title="It"), "", ""))
            continue
        for way in profile.events.ways:
            code = find_data_code(profile, total, Scope(way.name)).require_value_expression()
            cells = profile.title, f"`{way.name}`", way.sent_by, f"`{code}`", way.source
            rows.append(cells)
    return _table(("ESP", "`sent_by`", "Event data", "Expression of `event.total`", "Source"), rows)


def _filter_codes() -> str:
    """Return, per ESP, the code of each filter, its source, and what differs from the preview."""
    return "\n\n".join(
        f"## {BUILT_IN[esp].title}\n\n"
        + _table(
            ("Filter", "Code", "Source", "Differences"),
            [_filter_row(esp, each, data_type) for each, data_type in _FILTERS.items()],
        )
        for esp in BUILT_IN.esps
    )


def _filter_row(esp: Esp, shown: Filter, data_type: DataType) -> tuple[str, ...]:
    expression = derive_codes(esp, _field(esp, "tier", data_type).name).value_expression
    source = BUILT_IN[esp].filters.forms.get(shown.name, UNKNOWN).source
    try:
        code = filter_code(BUILT_IN[esp], expression, [shown], data_type)
    except NotInsertable as refusal:
        return f"`{shown}`", "refused", source, str(refusal).partition("is not possible. ")[2]
    written_code = code.code.replace("|", "\\|")
    differences = " ".join(code.differences).replace("|", "\\|")
    return f"`{shown}`", f"`{written_code}`", source, differences


_SHOWN = {
    SystemValue.UNSUBSCRIBE: "The address of the page to unsubscribe",
    SystemValue.UNSUBSCRIBE_ALL: "The address of the page to refuse all emails",
    SystemValue.PREFERENCES: "The address of the page with preferences",
    SystemValue.VIEW_IN_BROWSER: "The address of the email as a web page",
    SystemValue.SENDER_NAME: "The name of the company",
    SystemValue.SENDER_ADDRESS: "The postal address of the company, on one line",
    SystemValue.YEAR: "The year in which the ESP sends the email",
}


def _names_of_system_values() -> str:
    """Return what each value shows, in an email and in the preview."""
    shown = {str(value): description for value, description in _SHOWN.items()}
    shown["{{recipient.email}}"] = "The address of the recipient, also without a field `email`"
    previews = {code: f"`{preview_content(parse_content(code), [], {}).content}`" for code in shown}
    previews[str(SystemValue.YEAR)] = "the current year"
    rows = [(f"`{code}`", shown[code], preview) for code, preview in previews.items()]
    return _table(("Write", "To show", "In the preview"), rows)


_MARKS = {Strength.VENDOR: "vendor", Strength.SECONDARY: "third party"}


def _system_values() -> str:
    """Return which ESPs have each value, and who says so."""
    codes = [
        [BUILT_IN[esp].find_system_code(value) for value in SystemValue] for esp in BUILT_IN.esps
    ]
    rows = [
        (BUILT_IN[esp].title, *("-" if isinstance(c, str) else _MARKS[c.strength] for c in row))
        for esp, row in zip(BUILT_IN.esps, codes, strict=True)
    ]
    return _table(("ESP", *(f"`{value.value}`" for value in SystemValue)), rows)


def _system_codes() -> str:
    """Return a section per value with its code at each ESP, and the source."""
    return "\n\n".join(
        f"### {value.value}\n\n"
        + _table(
            ("ESP", "Code", "Source"),
            [(BUILT_IN[esp].title, *_system_code(esp, value)) for esp in BUILT_IN.esps],
        )
        for value in SystemValue
    )


def _system_code(esp: Esp, value: SystemValue) -> tuple[str, str]:
    code = BUILT_IN[esp].find_system_code(value)
    if isinstance(code, str):
        return "none", code
    source = f"{_address(code.source)} ({_MARKS[code.strength]})"
    shown = code.code.replace("|", "\\|")
    return f"`{shown}`", f"{source}. {code.caveat or ''}".strip()


def _link_rules() -> str:
    rows = [
        (profile.title, rule.message, f"{_address(rule.source)} ({_MARKS[rule.strength]})")
        for profile in BUILT_IN
        if (rule := profile.link_rule) is not None
    ]
    return _table(("ESP", "Rule", "Source"), rows)


def _address(source: str) -> str:
    return source if " " in source else f"<https://{source}>"


def _surfaces() -> str:
    """Return what each ESP does with HTML in values, and what the export adds to its code."""
    rows = []
    for profile in BUILT_IN:
        rules, cells = profile.surfaces, []
        for surface in Surface:
            form = rules.form(surface)
            is_changed = form in rules.forms
            code = f", exported {form.value}" if is_changed else ""
            cells.append(f"{rules.escaping(surface).value}{code}")
        rows.append((profile.title, *cells, rules.source))
    return _table(("ESP", *(f"`{each.value}`" for each in Surface), "Source"), rows)


_GROUPS = {
    CatalogContract: (Storage, OrganizationRepository, FieldRepository),
    HistoryContract: (HistoryRepository,),
    IntegrationContract: (ApiKeyRepository, IntegrationRepository, EspConnectionRepository),
    ConsoleContract: (AdministratorRepository, SessionRepository),
}
"""The ports of each group by its suite, in the order in which an adapter can add them."""


def _methods_and_cases() -> str:
    """Return, for each group, its methods, and the cases of its suite by what they check."""
    parts = []
    for suite, ports in _GROUPS.items():
        methods = [(f"`{port.__name__}`", _names_of(_methods(port))) for port in ports]
        parts += [f"## {suite.__name__}", _table(("Port", "Methods"), methods), *_cases_of(suite)]
    return "\n\n".join(parts)


def _cases_of(suite: type) -> Iterator[str]:
    """Yield what each class of cases of the suite checks, with a list of these cases."""
    for topic in suite.__mro__:
        cases = [name for name in vars(topic) if name.startswith("test_")]
        if cases:
            sentence = (inspect.getdoc(topic) or "").partition("\n\n")[0].partition(". ")[0]
            checked = " ".join(sentence.split()).removeprefix("Cases for ").removesuffix(".")
            yield f"**{checked[0].upper()}{checked[1:]}**"
            yield "\n".join(f"- {name.removeprefix('test_').replace('_', ' ')}" for name in cases)


def _methods(port: type) -> list[str]:
    return [name for name, _ in inspect.getmembers(port, inspect.isfunction) if name[0] != "_"]


def _names_of(methods: Sequence[str]) -> str:
    return ", ".join(f"`{each}`" for each in methods)


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
    if option.show_default is not False:
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
    "support of conditions": _condition_support,
    "notes on conditions": _condition_notes,
    "engines": _engines,
    "surfaces": _surfaces,
    "condition codes": _condition_codes,
    "meaning of filters": _meaning_of_filters,
    "support of filters": _filter_support,
    "ways of event data": _ways_of_event_data,
    "filter codes": _filter_codes,
    "names of system values": _names_of_system_values,
    "system values": _system_values,
    "system codes": _system_codes,
    "link rules": _link_rules,
    "methods and cases": _methods_and_cases,
}

if __name__ == "__main__":
    for path in PAGES:
        path.write_text(written(path.read_text("utf-8")), "utf-8")
    BADGES.write_text(badges(), "utf-8")
