"""The code of event data, which no field defines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias
from zlib import crc32

from attrs import evolve, frozen

from ..content import WarningCode
from ..content.resolution import DataValue
from ..content.tree import Reference
from ..data_paths import EVENT, DataPath
from ..fields.values import DataType
from .derived_codes import derive, write_code
from .errors import NoSafeForm, NotExpressible, NotInsertable
from .field_codes import FieldCode
from .profiles.profile import EventData, EventWay, LoopForm, Profile, Strength, ValueForm

_RENAME = "Send the value with another name."
_PLAIN = re.compile(r"[A-Za-z0-9]+(?:_[A-Za-z0-9]+)*")


def name_variable(path: DataPath) -> str:
    """Return the beginning of the names of variables that code sets to the value.

    It has capital letters, so it is never the key of a field.
    """
    parts = [str(each) for each in path.parts]
    stem = f"{path.root.upper()}_{'__'.join(parts)}"
    if all(each.isalnum() and each.isascii() for each in parts):
        return stem
    if len(parts) == 1 and _PLAIN.fullmatch(parts[0]):
        return stem
    return f"{re.sub('[^A-Za-z0-9]+', '_', stem)}_{crc32(path.encode()):x}"


@frozen(kw_only=True)
class DataCode(FieldCode):
    """How code for one ESP refers to event data. No person has written it."""

    path: DataPath

    @property
    def variable(self) -> str:
        """The beginning of the names of variables that code sets to the value."""
        return name_variable(self.path)

    @property
    def is_derived(self) -> bool:
        """Whether a name derives the code: always."""
        return True

    def describe(self) -> str:
        """Return what this is the code of."""
        kind = "State of a loop" if self.path.is_state else "Event data"
        return f"{kind}: {self.path}."

    def _derive_code(self, default: str | None, form: ValueForm) -> str:
        events = self.profile.events
        template = None
        if default is not None and isinstance(events, EventData):
            template = events.with_default
        elif self.path.is_state:
            template = self.profile.insertion.code
        expression = self.require_value_expression()
        try:
            return write_code(self.profile, expression, self.data_type, default, form, template)
        except NoSafeForm as error:
            raise self._refuse_default(error) from None


def find_way(profile: Profile, sent_by: str | None) -> tuple[EventData, EventWay]:
    """Return how the ESP reads event data. Raises: NotInsertable if it does not in this way."""
    events = profile.events
    if isinstance(events, str):
        raise NotInsertable(events.replace("{title}", profile.title))
    ways = {each.name: each for each in events.ways}
    if sent_by is None:
        return events, events.ways[0]
    if sent_by not in ways:
        names = ", ".join(f"`{each}`" for each in ways)
        message = f"{profile.title} has no event data called `{sent_by}`. Use {names}."
        raise NotInsertable(message)
    return events, ways[sent_by]


@frozen
class Scope:
    """What code can reach at one place: `variables` are those of the loops around it, in order.

    `sent_by` is the way in which the message is sent.
    """

    sent_by: str | None = None
    variables: tuple[str, ...] = ()

    def inside(self, variable: str) -> Scope:
        """Return the scope in a loop with this variable."""
        return evolve(self, variables=(*self.variables, variable))


def find_data_code(profile: Profile, value: DataValue, scope: Scope) -> DataCode:
    """Return the code of data in the scope.

    If the ESP has none, the code has the reason in place of its codes.
    """
    preludes: dict[str, str] = {}
    expression = refusal = None
    try:
        events, way = find_way(profile, scope.sent_by)
        written = _write(profile, events, way, value.key, scope)
        if events.write_path is None:
            derived = derive(profile, written)
            written, prelude = derived.value_expression, derived.prelude
            preludes = {} if prelude is None else {written.lower(): prelude}
        expression = written
    except (NotExpressible, NotInsertable) as error:
        refusal = str(error).replace("{title}", profile.title)
    except NoSafeForm as error:
        refusal = " ".join((*(each.message for each in error.violations), _RENAME))
    code = None
    if expression is not None:
        code = write_code(profile, expression, value.data_type, None, ValueForm.USUAL)
    return DataCode(
        field=value,
        profile=profile,
        integration_id=None,
        insertion_code=code,
        insertion_refusal=refusal,
        value_expression=expression,
        expression_refusal=refusal,
        preludes=preludes,
        path=value.key,
    )


def reach(code: FieldCode, scope: Scope) -> FieldCode:
    """Return the code of a field in the scope: loops of Handlebars hide the names outside."""
    events = code.profile.events
    loop = events.loop if isinstance(events, EventData) else None
    has_none = code.insertion_code is None and code.value_expression is None
    if loop is None or not loop.root or not scope.variables or has_none:
        return code
    if not code.is_derived or code.value_expression is None:
        reason = "Its code is not derived from a name, so it would read the item of the loop."
        return evolve(
            code,
            insertion_code=None,
            insertion_refusal=reason,
            value_expression=None,
            expression_refusal=reason,
        )
    expression = f"{loop.root}.{code.value_expression}"
    shown = write_code(code.profile, expression, code.data_type, None, ValueForm.USUAL)
    return DataCode(
        field=code.field,
        profile=code.profile,
        integration_id=code.integration_id,
        name_from=code.name_from,
        esp_name=code.esp_name,
        insertion_code=shown,
        value_expression=expression,
        path=DataPath(str(code.field.key)),
    )


def find_loop(profile: Profile, scope: Scope) -> LoopForm:
    """Return the code of loops. Raises: NotInsertable if there is none."""
    events, _ = find_way(profile, scope.sent_by)
    if events.loop is None:
        raise NotInsertable(events.no_loop.replace("{title}", profile.title))
    return events.loop


def rename(profile: Profile, variable: str) -> str:
    """Return the variable, or another name if the ESP or its code reads this one as its own."""
    words = profile.vocabulary
    reserved = (words.roots, words.local, words.system, words.common, profile.names.reserved)
    is_taken = variable.startswith(_VARIABLES) or any(variable in each for each in reserved)
    return f"{variable}_item" if is_taken else variable


_VARIABLES = ("condition_", "number_parts")
"""The variables that the code of conditions and filters sets begin with these."""


Caveats: TypeAlias = Iterator[tuple[WarningCode, str]]


def data_caveats(profile: Profile, reference: Reference | None, sent_by: str | None) -> Caveats:
    """Yield the warnings about data that is shown, with values of any type, or a list of it."""
    yield from _way_caveats(profile, sent_by)
    if reference is None or reference.filters or reference.is_expression:
        return
    insertion = profile.insertion
    for data_type in (DataType.NUMBER, DataType.BOOLEAN):
        if data_type in insertion.shown_forms:
            yield WarningCode.SHOWN_FORM, insertion.shown_forms[data_type]
        if reference.default and data_type in insertion.default_also_replaces:
            replaced = insertion.default_also_replaces[data_type]
            message = f"{profile.title} also replaces {replaced} with the default."
            yield WarningCode.EVENT_DATA, message


def condition_caveats(profile: Profile, data_type: DataType | None, sent_by: str | None) -> Caveats:
    """Yield the warnings about a condition on event data, whose type is None if it can be any."""
    yield from _way_caveats(profile, sent_by)
    if data_type is None and profile.conditions.number_is_set is None:
        message = f"{profile.title} reads an empty list as not set."
        yield WarningCode.EVENT_DATA, message


def _way_caveats(profile: Profile, sent_by: str | None) -> Caveats:
    events, way = find_way(profile, sent_by)
    others = ", ".join(f"`{each.name}`" for each in events.ways if each is not way)
    if sent_by is None:
        message = f"{profile.title} reads event data from {way.sent_by}."
        if others:
            message += f" For other messages, use the option `sent_by`: {others}."
        yield WarningCode.EVENT_DATA, message
    if events.caveat is not None:
        yield WarningCode.EVENT_DATA, events.caveat
    yield WarningCode.CHANGED_EXPORT, "Earlier versions kept such tags as they were."
    if way.strength is Strength.SECONDARY:
        message = f"Only secondary sources establish how {profile.title} reads event data."
        yield WarningCode.SECONDARY_SOURCES, message


def _write(profile: Profile, events: EventData, way: EventWay, path: DataPath, scope: Scope) -> str:
    """Return the expression of the data at the path. Raises: NotExpressible."""
    loop = events.loop
    if path.root != EVENT:
        return _write_item(profile, events, path, scope)
    first, *rest = path.parts
    if first in events.reserved:
        raise NotExpressible(f"{{title}} reads the name `{first}` as code.")
    if events.write_path is None:
        if rest or not isinstance(first, str):
            raise NotExpressible("{title} reads only attributes: send this value as one of them.")
        return first
    if "NAME" not in way.value:
        root = loop.root if loop is not None and scope.variables else ""
        return events.write_path(way.value or root, path.parts)
    if re.fullmatch(way.pattern, str(first)) is None:
        raise NotExpressible(f"{{title}} has no safe way to write the name `{first}`. {_RENAME}")
    return events.write_path(way.value.replace("NAME", str(first)), rest)


def _write_item(profile: Profile, events: EventData, path: DataPath, scope: Scope) -> str:
    """Return the expression of a value of a loop. Raises: NotExpressible."""
    if events.loop is None or events.write_path is None:
        raise NotExpressible(events.no_loop)
    if path.is_state:
        member = str(path.parts[0])
        if member not in events.loop.members:
            raise NotExpressible(f"No source establishes how {{title}} writes `loop.{member}`.")
        return events.loop.members[member]
    if events.loop.hides_outer and path.root not in scope.variables[-1:] and scope.variables:
        raise NotExpressible(
            f"No source establishes how {{title}} reads `{path.root}` in the loop inside."
        )
    name = events.loop.variable.replace("VARIABLE", rename(profile, path.root))
    return events.write_path(name, path.parts)
