"""Checks of texts that use the fields of an organization: portable content, or code of one ESP."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from operator import attrgetter

from attrs import frozen

from ..conditions import Comparison, InvalidCondition, Operator, TextPosition, check_condition
from ..conditions.tree import comparisons
from ..content import Content, InvalidContent, Strict, WarningCode, WarningKind, read_content
from ..content.resolution import EMAIL_KEY
from ..content.tree import Lines
from ..errors import Rule
from ..esp.code_warnings import name_warnings
from ..esp.content.export import check_content, check_native
from ..esp.content.options import to_texts
from ..esp.content.report import RejectedWarning
from ..esp.content.resolver import find_guarded
from ..esp.field_codes import FieldCode
from ..esp.names import Esp, NameState, Target
from ..esp.profiles.profile import Profile
from ..esp.recognition.uses import NativeUse, find_uses
from ..fields.field import RecipientField
from ..fields.protocol import Field
from ..fields.values import DataType
from ..suggestions import closest_match, did_you_mean
from .codes import FieldCodes
from .esp_names import EspNames

_MAX_SUGGESTIONS = 20
"""The search for a similar name is slow if there are thousands of fields."""


@frozen(kw_only=True)
class FieldUse:
    """A place at which a text uses a field.

    In code of an ESP, `esp_name` is the name there. `is_shown` is whether the value is shown.
    `compared` contains the values with which it is compared, as texts.
    """

    key: str
    position: TextPosition
    esp_name: str | None = None
    is_shown: bool = False
    compared: tuple[str, ...] = ()


@frozen(kw_only=True)
class TextFinding:
    """What is wrong at a place of a text.

    `kind` is that of a warning, and `code` its code. Without a kind, a rule is broken, whose value
    is the code.
    """

    position: TextPosition
    kind: WarningKind | None
    code: str
    message: str

    def is_error(self, strict: Strict) -> bool:
        """Return whether a check with this strictness rejects the text."""
        return self.kind is None or self.kind.is_rejected(strict)


@frozen
class CheckedText:
    """What is wrong in a text, in its order, the fields that it uses, and its event data.

    `event` contains the names of event data in portable content, in the order of their first use.
    """

    findings: tuple[TextFinding, ...]
    uses: tuple[FieldUse, ...]
    event: tuple[str, ...] = ()


class TextChecker:
    """Checks texts against the fields of one organization.

    `literals` are texts that must stay as they are. What texts share is computed once.
    """

    def __init__(self, names: EspNames, literals: Collection[str] = ()) -> None:
        self.names: EspNames = names
        self._literals = to_texts(literals)
        self._codes = FieldCodes(names)
        self._found: dict[tuple[str, Target], FieldCode | None] = {}
        self._native: dict[Esp, _NativeNames] = {}

    def check(self, text: str, esp: Esp | None = None) -> CheckedText:
        """Return what is wrong in portable content, or in code of the ESP.

        Raises: MissingProfile if the ESP has no profile.
        """
        findings = self._check_portable(text) if esp is None else self._check_native(text, esp)
        ordered = sorted(dict.fromkeys(findings), key=attrgetter("position"))
        event = read_content(text).event_names() if esp is None else ()
        return CheckedText(tuple(ordered), tuple(self.find_uses(text, esp)), event)

    def find_uses(self, text: str, esp: Esp | None = None) -> Iterator[FieldUse]:
        """Yield the uses of fields in portable content, or in code of the ESP."""
        if esp is None:
            yield from _portable_uses(read_content(text), self.names.by_key)
            return
        lines, native = Lines(text), self._native_names(esp)
        for use in find_uses(text, native.profile):
            code = native.find(use.name)
            if code is not None:
                yield FieldUse(
                    key=str(code.field.key),
                    position=lines.position(use.start),
                    esp_name=use.name,
                    is_shown=use.is_shown,
                    compared=use.compared,
                )

    def is_broken(self, use: FieldUse, esp: Esp | None, before: TextChecker) -> bool:
        """Return whether a use in a text for the ESP was right before, and is not with the fields.

        A field is gone or is another one, can't be shown any more, or has lost an allowed value; in
        code of an ESP, its name is gone there.
        """
        old, new = before._find_field(use, esp), self._find_field(use, esp)
        if old is None or new is None:
            return old is not None
        if use.esp_name is None and old.id != new.id:
            return True
        if use.is_shown and old.insertable and not new.insertable:
            return True
        return any(_permits(old, text) and not _permits(new, text) for text in use.compared)

    def _find_field(self, use: FieldUse, esp: Esp | None) -> Field | None:
        """Return the field that the use means, or None if the last sync did not find its name."""
        if esp is None or use.esp_name is None:
            return self.names.by_key.get(use.key)
        code = self._native_names(esp).find(use.esp_name)
        name = None if code is None else code.esp_name
        is_missing = name is None or name.state is NameState.MISSING
        return None if code is None or is_missing else code.field

    def _check_portable(self, text: str) -> Iterator[TextFinding]:
        content, names = read_content(text), self.names
        try:
            check_content(
                content,
                names.fields,
                explain_key=names.explain_key,
                strict=True,
                literals=self._literals,
                profiles=names.profiles,
            )
        except InvalidContent as invalid:
            yield from _findings(invalid)
        lines, by_key = content.lines, names.by_key
        for reference in content.references():
            field = by_key.get(reference.key)
            if field is not None and not field.insertable and not reference.is_expression:
                yield _not_insertable(lines.position(reference.start), field)
        for target in names.with_profile:
            yield from self._notes(content, target)

    def _notes(self, content: Content, target: Target) -> Iterator[TextFinding]:
        """Yield what the writer should know about an integration."""
        uses = tuple(_portable_uses(content, self.names.by_key))
        first = {use.key: use.position for use in reversed(uses)}
        found = {key: self._find_code(key, target) for key in first}
        codes = {key: code for key, code in found.items() if code is not None}
        for warning in name_warnings(codes):
            if warning.code is WarningCode.MISSING_NAME:
                yield _note(first[warning.keys[0]], warning.code, warning.message)
        missing = self.names.get_profile(target).insertion.missing_value
        if missing is None:
            return
        guarded = set(find_guarded(content.nodes))
        for each in content.references():
            code = codes.get(each.key)
            is_guarded = each.default is not None or each.start in guarded
            shown = None if code is None or is_guarded else code.insertion_code
            if shown is not None and each.key != EMAIL_KEY and re.search(missing.pattern, shown):
                position = content.lines.position(each.start)
                yield _note(position, WarningCode.MISSING_VALUE_STOPS, missing.message)

    def _find_code(self, key: str, target: Target) -> FieldCode | None:
        if (key, target) not in self._found:
            self._found[key, target] = self._codes.find(key, target)
        return self._found[key, target]

    def _check_native(self, text: str, esp: Esp) -> Iterator[TextFinding]:
        native, lines = self._native_names(esp), Lines(text)
        try:
            check_native(text, esp, literals=self._literals, profiles=self.names.profiles)
        except InvalidContent as invalid:
            yield from _findings(invalid)
        content = read_content(text)
        portable = [each.start for each in content.references()]
        portable += [each.start for each in content.branches() if each.condition is not None]
        for start in portable:
            message = f"{native.profile.title} does not read this. Export the content first."
            yield _error(lines.position(start), Rule.NOT_APPLICABLE, message)
        for use in find_uses(text, native.profile):
            if not any(use.name in each for each in self._literals):
                yield from native.check(use, text, lines.position(use.start))

    def _native_names(self, esp: Esp) -> _NativeNames:
        if esp not in self._native:
            self._native[esp] = _NativeNames(self._codes, esp)
        return self._native[esp]


class _NativeNames:
    """The fields that names in code of one ESP mean, at all integrations with it."""

    def __init__(self, codes: FieldCodes, esp: Esp) -> None:
        names = codes.names
        self.profile: Profile = names.profiles[esp]
        connected = [each for each in names.with_profile if names.integrations[each].esp == esp]
        self._targets: tuple[Target, ...] = (*connected,) or (esp,)
        self._names = names
        self._by_name: dict[str, FieldCode] = {}
        self._proposed: set[str] = set()
        """The names at the ESP, as it writes them, without those that a sync did not find."""
        for target in self._targets:
            for synced in names.synced_fields(target):
                field = names.definition_of(synced) or synced
                name = str(synced.origin.esp_field_name)
                self._by_name.setdefault(self._fold(name), codes.get(field, target))
                self._proposed.add(name)
            for field in names.fields:
                code = codes.get(field, target)
                if code.esp_name is not None:
                    self._by_name.setdefault(self._fold(code.esp_name.name), code)
                    if code.esp_name.state is not NameState.MISSING:
                        self._proposed.add(code.esp_name.name)
        self._suggestions_left = _MAX_SUGGESTIONS

    def _fold(self, name: str) -> str:
        return self.profile.vocabulary.fold(name)

    def find(self, name: str) -> FieldCode | None:
        """Return the code of the field with this name, or None."""
        return self._by_name.get(self._fold(name))

    def check(self, use: NativeUse, text: str, position: TextPosition) -> Iterator[TextFinding]:
        """Yield what is wrong with the use of a field."""
        code = self.find(use.name)
        if code is None:
            if not use.is_member:  # Objects and lists of the ESP are no fields here.
                yield from self._unknown(use.name, position)
            return
        if use.is_shown and isinstance(code.field, RecipientField) and not code.field.insertable:
            yield _not_insertable(position, code.field)
        if code.esp_name is not None and code.esp_name.state is NameState.MISSING:
            message = f"The last sync did not find the field {use.name} at {self.profile.title}."
            yield _note(position, WarningCode.MISSING_NAME, message)
        yield from _impossible(code, use, position)
        missing = self.profile.insertion.missing_value
        tag = next(self.profile.find_tags(text[use.start :]), None) if use.is_shown else None
        if missing is not None and tag is not None:
            shown = text[use.start + tag.start : use.start + tag.end]
            if re.search(missing.pattern, shown):
                yield _note(position, WarningCode.MISSING_VALUE_STOPS, missing.message)

    def _unknown(self, name: str, position: TextPosition) -> Iterator[TextFinding]:
        """Yield that no field has the name, unless the account or its own fields have it."""
        own = self.profile.vocabulary.bare_fields, self.profile.names.standard_fields.values()
        is_own = any(self._fold(name) in map(self._fold, each) for each in own)
        if is_own or any(self._names.is_taken(name, each) for each in self._targets):
            return
        self._suggestions_left -= 1
        similar = None
        if self._suggestions_left >= 0:
            similar = closest_match(name, self._proposed)
        message = f"There is no field with the name {name} at {self.profile.title}."
        if similar is None and self.profile.vocabulary.any_name:
            reason = "It can be a value of the event that causes the send."
            yield _note(position, WarningCode.UNKNOWN_WORD, f"{message} {reason}")
            return
        yield _error(position, Rule.UNKNOWN_FIELD, f"{message}{did_you_mean(similar)}")


def _impossible(code: FieldCode, use: NativeUse, position: TextPosition) -> Iterator[TextFinding]:
    """Yield the values of a comparison that no recipient can have."""
    field = code.field
    if field.allowed_values is None or field.data_type is not DataType.TEXT:
        return
    for text in filter(None, use.compared):
        try:
            check_condition(Comparison(str(field.key), Operator.EQUAL, text), [field])
        except InvalidCondition as invalid:
            for each in invalid.violations:
                message = f"{each.message}{did_you_mean(each.suggestion)}"
                yield _error(position, each.rule, message)


def _permits(field: Field, text: str) -> bool:
    """Return whether a recipient can have the value with this text."""
    allowed = field.allowed_values
    return allowed is None or text in map(str, allowed.values)


def _portable_uses(content: Content, known: Collection[str]) -> Iterator[FieldUse]:
    """Yield the uses of the fields with these keys."""
    lines = content.lines
    for reference in content.references():
        if reference.key in known:
            yield FieldUse(
                key=reference.key,
                position=lines.position(reference.start),
                is_shown=not reference.is_expression,
            )
    for branch in content.branches():
        for each in () if branch.condition is None else comparisons(branch.condition):
            if each.key in known:
                yield FieldUse(
                    key=each.key,
                    position=each.position or lines.position(branch.start),
                    compared=tuple(map(str, each.values)),
                )


def _findings(invalid: InvalidContent) -> Iterator[TextFinding]:
    for each in invalid.violations:
        message = f"{each.reason}{did_you_mean(each.suggestion)}"
        if isinstance(each, RejectedWarning):
            code = each.warning
            yield TextFinding(
                position=each.position, kind=code.kind, code=code.value, message=message
            )
        else:
            yield _error(each.position, each.rule, message)


def _not_insertable(position: TextPosition, field: RecipientField) -> TextFinding:
    message = f"The field {field.key} is not insertable. Remove it, or make the field insertable."
    return _error(position, Rule.NOT_APPLICABLE, message)


def _error(position: TextPosition, rule: Rule, message: str) -> TextFinding:
    return TextFinding(position=position, kind=None, code=rule.value, message=message)


def _note(position: TextPosition, code: WarningCode, message: str) -> TextFinding:
    return TextFinding(position=position, kind=WarningKind.CAVEAT, code=code.value, message=message)
