"""The fields that content uses, and the preludes of their codes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ...conditions.evaluation import keys_set_if
from ...content import Content
from ...content.resolution import DataValue
from ...content.tree import Block, Node, Reference
from ...data_paths import DataPath
from ..conditions.compilation import shared_variable
from ..data_codes import reach
from ..field_codes import FieldCode
from ..name_warnings import name_warnings
from ..preludes import assigned_variables
from ..profiles.profile import Profile
from .report import Report
from .resolver import CodeResolver


class UsedFields:
    """The fields that content uses, by the keys of its references, in the order of first use."""

    def __init__(
        self, profile: Profile, content: Content, resolver: CodeResolver, report: Report
    ) -> None:
        self._resolver, self._report = resolver, report
        has_variables = profile.insertion.prelude is not None
        self._set_by_content = assigned_variables(content.source) if has_variables else set()
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
