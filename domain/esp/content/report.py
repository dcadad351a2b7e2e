"""What an export reports: violations and warnings, with their limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice

from attrs import asdict, evolve, field, frozen

from ...conditions import LocatedViolation
from ...content import ContentWarning, InvalidContent, Strict, WarningCode, WarningKind
from ...content.errors import MAX_VIOLATIONS, MAX_WARNINGS
from ...content.tree import Lines
from ...errors import Rule, Violation
from ..errors import NameProposal

__all__ = ["RejectedWarning", "UnfoundName", "UnnamedField"]


@frozen
class UnnamedField(LocatedViolation):
    """A reference to a field that has no name at the integration, and a name to set."""

    proposal: NameProposal = field(kw_only=True)


@frozen
class UnfoundName(ContentWarning):
    """A warning about a name that the last sync did not find, and a similar one that it found."""

    proposal: NameProposal = field(kw_only=True)


@frozen
class RejectedWarning(LocatedViolation):
    """A warning that is a violation, because it is not permitted.

    `proposal` is that of an UnfoundName.
    """

    warning: WarningCode = field(kw_only=True)
    proposal: NameProposal | None = field(default=None, kw_only=True)


class Report:
    """The violations and warnings of one content, at the offsets in it.

    `strict` says which warnings are violations. `violations` are those that are already known.
    """

    def __init__(
        self, lines: Lines, strict: Strict, violations: Iterable[LocatedViolation] = ()
    ) -> None:
        self._lines, self._strict = lines, strict
        self._violations = list(violations)
        self._warnings: dict[WarningKind, dict[ContentWarning, None]] = {
            kind: {} for kind in WarningKind
        }

    def warn(
        self, offset: int, code: WarningCode, message: str, proposal: NameProposal | None = None
    ) -> None:
        """Add a warning. Equal ones are reported once, and up to 1,000 of each kind."""
        warnings = self._warnings[code.kind]
        if len(warnings) < MAX_WARNINGS:
            warning = self._lines.warning(offset, code, message)
            if proposal is not None:
                warning = UnfoundName(**asdict(warning, recurse=False), proposal=proposal)
            warnings[warning] = None

    def refuse(
        self,
        offset: int,
        message: str,
        proposal: NameProposal | None = None,
        *,
        rule: Rule = Rule.NOT_APPLICABLE,
    ) -> None:
        """Add a violation. Raises: InvalidContent if there are 1,000 of them."""
        violation = self._lines.violation(offset, rule, message)
        if proposal is not None:
            violation = UnnamedField(**asdict(violation, recurse=False), proposal=proposal)
        self._violations.append(violation)
        if len(self._violations) >= MAX_VIOLATIONS:
            raise InvalidContent(self._violations)

    def stop(self, offset: int, message: str) -> None:
        """Add a violation after which the export can't continue. Raises: InvalidContent."""
        self.refuse(offset, message)
        raise InvalidContent(self._violations)

    def end_if_invalid(self) -> None:
        """Finish if there are violations. Raises: InvalidContent then."""
        if self._violations:
            self.finish()

    def finish(self) -> tuple[ContentWarning, ...]:
        """Return up to 1,000 warnings in order, each caveat once. Mistakes have priority.

        Raises: InvalidContent if there are violations, or warnings that are not permitted.
        """
        mistakes, caveats = self._warnings[WarningKind.MISTAKE], self._warnings[WarningKind.CAVEAT]
        reported = islice(chain(mistakes, caveats), MAX_WARNINGS)
        warnings = sorted(reported, key=lambda each: (each.line, each.column))
        invalid = {each.position for each in self._violations}
        rejected = (
            _as_violation(each)
            for each in warnings
            if each.code.kind.is_rejected(self._strict) and each.position not in invalid
        )
        violations = [*self._violations, *rejected]
        if violations:
            raise InvalidContent(violations[:MAX_VIOLATIONS])
        return tuple(_with_each_caveat_once(warnings))


def _with_each_caveat_once(warnings: Iterable[ContentWarning]) -> Iterator[ContentWarning]:
    """Yield the mistakes, and each caveat at its first place, with its other places."""
    groups: dict[object, list[ContentWarning]] = {}
    for warning in warnings:
        is_caveat = warning.code.kind is WarningKind.CAVEAT
        group = (warning.code, warning.message) if is_caveat else warning
        groups.setdefault(group, []).append(warning)
    for first, *others in groups.values():
        yield evolve(first, places=tuple(each.position for each in others))


def _as_violation(warning: ContentWarning) -> LocatedViolation:
    located = warning.position.locate(Violation(Rule.NOT_APPLICABLE, warning.message))
    proposal = warning.proposal if isinstance(warning, UnfoundName) else None
    return RejectedWarning(
        **asdict(located, recurse=False), warning=warning.code, proposal=proposal
    )
