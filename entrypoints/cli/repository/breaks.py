"""`--content` and `--break`: the files that a change of fields would break."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import click
from attrs import frozen

from recipient_fields.application.wording import counted
from recipient_fields.domain import FieldKey
from recipient_fields.domain.integrations import EspNames
from recipient_fields.domain.integrations.text_checks import TextChecker

from ..options import F, repeatable
from ..output import note, one_line, print_line
from ..typed_options import KEY
from .checking import FieldSource, FileChecker
from .files import Unreadable, split_files


def content_options(command: F) -> F:
    """Add `--content` and `--break` to the command."""
    content = repeatable(
        "--content",
        metavar="PATH",
        text="Refuse changes that break this file, or a file in this folder.",
    )
    permitted = repeatable(
        "--break", "broken", type=KEY, text="Permit changes of this field that break files."
    )
    return content(permitted(command))


@frozen
class ContentGuard:
    """The files of `--content`, and the keys of `--break`."""

    paths: Sequence[str]
    permitted: Collection[FieldKey] = ()

    def find_refusals(
        self, read_names: Callable[[], EspNames], change: Callable[[EspNames], EspNames]
    ) -> Mapping[str, str]:
        """Return why changes are refused, by the keys of fields: `used in FILE:LINE`.

        `read_names` returns the names before the change, and `change` those after it. Files that
        can't be read are reported.
        """
        if not self.paths:
            return {}
        before = read_names()
        checker = FileChecker(FieldSource(), names=before)
        old, new = TextChecker(before), TextChecker(change(before))
        places: dict[str, list[str]] = {}
        for file in split_files(checker.find_files(self.paths))[0]:
            try:
                uses = list(checker.find_uses(file))
            except Unreadable as error:
                note(one_line(f"{file}: {error}"))
                continue
            esp = checker.esp_of(file)
            for use in uses:
                if use.key not in self.permitted and new.is_broken(use, esp, old):
                    places.setdefault(use.key, []).append(f"{file}:{use.position.line}")
        return {key: _describe(key, [*dict.fromkeys(each)]) for key, each in places.items()}

    def require_unbroken(
        self, read_names: Callable[[], EspNames], change: Callable[[EspNames], EspNames]
    ) -> None:
        """Print the refusals. Raises: click.ClickException if there are any."""
        refusals = self.find_refusals(read_names, change)
        for key, reason in sorted(refusals.items()):
            print_line(one_line(f"! refused {key}: {reason}"))
        if refusals:
            count = counted(len(refusals), "field")
            raise click.ClickException(f"The change breaks uses of {count}. Nothing was changed.")


def _describe(key: str, places: Sequence[str]) -> str:
    others = len(places) - 1
    more = f" and in {counted(others, 'other place')}" if others else ""
    return f"used in {places[0]}{more}. To change it nevertheless, add --break {key}."
