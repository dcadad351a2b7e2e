"""The fields, codes and conditions that the keys in content mean at one target, and their use."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice

from attrs import evolve

from ...conditions import Condition
from ...conditions.evaluation import keys_set_if
from ...conditions.tree import condition_keys
from ...content import Content
from ...content.filters import FilterName
from ...content.resolution import EMAIL_KEY, DataValue, FieldResolver, compared_data
from ...content.tree import Block, Node, Reference
from ...data_paths import DataPath
from ...fields.errors import FieldNotFound
from ...fields.protocol import Field
from ...fields.values import DataType
from ..code_warnings import name_warnings
from ..comparisons import Operand, find_readings
from ..conditions import ConditionCode, compile_readings, shared_variable
from ..data_codes import DataCode, Scope, find_data_code, reach
from ..field_codes import CodeSource, FieldCode
from ..languages.conditions import Presence
from ..names import Target
from ..profiles import Profiles
from ..profiles.profile import Profile
from ..recognition.words import find_variables
from .foreign_code import MAX_TAGS, find_examined_end
from .report import Report

THEN, OTHERWISE = "\0then\0", "\0otherwise\0"
"""Marks for the texts in the code of a condition. Neither content nor codes contain U+0000."""


class CodeResolver(FieldResolver):
    """The fields and codes of one target, by the keys of references. It resolves each key once.

    `presences` are the tests whether a value is set, by the keys for which they differ. `scope` is
    that of the place whose codes are read.
    """

    def __init__(
        self,
        codes: CodeSource,
        target: Target,
        sent_by: str | None = None,
        presences: Mapping[str, Presence] = {},
    ) -> None:
        super().__init__(codes.names.by_key, explain_key=codes.names.explain_key)
        self._codes, self._target, self._presences = codes, target, presences
        self._profile = codes.names.get_profile(target)
        self.scope: Scope = Scope(sent_by)
        self.profiles: Profiles = codes.names.profiles
        self._found: dict[str, FieldCode | None] = {}
        self._data: dict[tuple[DataValue, Scope], DataCode] = {}
        self._readings: dict[tuple[Condition, Scope], Sequence[Mapping[str, Operand]]] = {}
        self._compiled: dict[tuple[Condition, Scope, bool, FilterName | None], ConditionCode] = {}

    def find(self, key: str) -> Field | None:
        """Return the field that a reference with this key means at the target, or None."""
        if isinstance(key, DataPath):
            return super().find(key)
        code = self.find_code(key)
        return None if code is None else code.field

    def find_code(self, key: str) -> FieldCode | None:
        """Return the code of the field that a reference with this key means, or None."""
        if key not in self._found:
            code = self._codes.find(key, self._target)
            if code is None and key == EMAIL_KEY:
                code = self._codes.get_own_email(self._target)
            self._found[key] = code
        return self._found[key]

    def get_data_code(self, value: DataValue) -> DataCode:
        """Return the code of data in the current scope."""
        key = value, self.scope
        if key not in self._data:
            self._data[key] = find_data_code(self._profile, *key)
        return self._data[key]

    def get_code(self, key: str) -> FieldCode:
        """Return the code of the field that a reference with this key means.

        Raises: FieldNotFound if there is none.
        """
        code = self.find_code(key)
        if code is None:
            raise FieldNotFound
        return code

    def check(self, condition: Condition) -> None:
        """Check a condition on known fields, with their data types at the target.

        Raises: InvalidCondition if it does not fit the fields.
        """
        self.read(condition)

    def read(self, condition: Condition) -> Sequence[Mapping[str, Operand]]:
        """Return the readings of a condition on known fields. Raises: as `check` does."""
        key = condition, self.scope
        if key not in self._readings:
            data = compared_data(condition)
            codes = {
                key: self.get_data_code(data[key])
                if key in data
                else reach(self.get_code(key), self.scope)
                for key in dict.fromkeys(condition_keys(condition))
            }
            self._readings[key] = find_readings(condition, codes)
        return self._readings[key]

    def compile(
        self, condition: Condition, *, has_otherwise: bool, guard: FilterName | None = None
    ) -> ConditionCode:
        """Return the code with marks for the texts. Raises: NotExpressible if there is none.

        `guard` is the filter that needs a value, if the condition is that of a filter. A date is
        neither 0 nor false, which some languages read as missing.
        """
        key = condition, self.scope, has_otherwise, guard
        if key not in self._compiled:
            readings = self.read(condition)
            if guard is FilterName.DATE:
                readings = [
                    {name: evolve(each, data_type=DataType.DATE) for name, each in reading.items()}
                    for reading in readings
                ]
            if self._presences and guard is None:
                readings = [
                    {
                        name: evolve(operand, presence=self._presences.get(name))
                        for name, operand in reading.items()
                    }
                    for reading in readings
                ]
            self._compiled[key] = compile_readings(
                condition,
                readings,
                self._profile,
                then=THEN,
                otherwise=OTHERWISE if has_otherwise else "",
            )
        return self._compiled[key]


class UsedFields:
    """The fields that content uses, by the keys of its references, in the order of first use."""

    def __init__(
        self, profile: Profile, content: Content, resolver: CodeResolver, report: Report
    ) -> None:
        self._profile, self._content = profile, content
        self._resolver, self._report = resolver, report
        self._offsets: dict[str, list[int]] = {}
        self._variables: dict[str, tuple[str, str]] = {}

    def show(self, reference: Reference) -> FieldCode:
        """Return the code of what the reference shows, and add its preludes."""
        if not isinstance(reference.key, DataPath):
            code: FieldCode = self.use(reference.key, reference.start)
            return reach(code, self._resolver.scope)
        code = self._resolver.get_data_code(DataValue.shown(reference, reference.key))
        self._add_preludes(code, reference.start)
        return code

    def use(self, key: str, offset: int) -> FieldCode:
        """Return the code of the field or data that the key means, and add its preludes."""
        if isinstance(key, DataPath):
            code: FieldCode = self._resolver.get_data_code(DataValue(key))
        else:
            code = self._resolver.get_code(key)
            if key in self._offsets:
                self._offsets[key].append(offset)
                return code
            self._offsets[key] = [offset]
        self._add_preludes(code, offset)
        return code

    def _add_preludes(self, code: FieldCode, offset: int) -> None:
        for variable, prelude in code.preludes.items():
            if variable in self._set_by_content and not code.sets_variables:
                continue
            first = self._variables.setdefault(variable, (prelude, code.field.key))
            if first[0] != prelude:
                self._report.refuse(offset, shared_variable(first[1], code.field.key, variable))

    @cached_property
    def _set_by_content(self) -> Container[str]:
        """The variables that the content sets, perhaps from a value expression.

        Only the tags that are examined for code of other ESPs are read.
        """
        parts: list[str] = []
        end = 0
        for each in self._content.references():
            if each.is_expression:
                parts.append(self._content.masked[end : each.start])
                end = self._content.source.index("}}", each.start) + len("}}")
                parts.append("_" * (end - each.start))
        text = "".join((*parts, self._content.masked[end:]))
        tags = islice(self._profile.find_tags(text[: find_examined_end(text)]), MAX_TAGS)
        return find_variables(tags, self._profile.vocabulary).assigned

    def preludes(self) -> str:
        """Return the preludes of the codes, once each."""
        return "".join(dict.fromkeys(prelude for prelude, _ in self._variables.values()))

    def warn_of_names(self) -> None:
        """Warn of the ESP names of the fields, wherever these are used."""
        for warning in name_warnings(self._codes()):
            for offset in (each for key in warning.keys for each in self._offsets[key]):
                self._report.warn(offset, warning.code, warning.message, warning.proposal)

    def meant_keys(self) -> Mapping[str, str]:
        """Return the keys of the fields that the keys of references mean."""
        return {key: str(code.meant_field.key) for key, code in self._codes().items()}

    def _codes(self) -> Mapping[str, FieldCode]:
        return {key: self._resolver.get_code(key) for key in self._offsets}


def find_guarded(nodes: Iterable[Node], keys: frozenset[str] = frozenset()) -> Iterator[int]:
    """Yield the offsets of the references to fields that are certainly set there.

    `keys` are those of the fields that are set for all nodes.
    """
    for node in nodes:
        if isinstance(node, Reference) and node.key in keys:
            yield node.start
        elif isinstance(node, Block):
            set_before = keys
            for branch in node.branches:
                if branch.condition is None:
                    yield from find_guarded(branch.nodes, set_before)
                else:
                    holds = keys_set_if(branch.condition, holds=True)
                    yield from find_guarded(branch.nodes, set_before | holds)
                    set_before |= keys_set_if(branch.condition, holds=False)
