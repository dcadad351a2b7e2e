"""The page that exports content for an ESP, and previews it with sample values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus

import falcon
from attrs import evolve, frozen

from recipient_fields.application import Core
from recipient_fields.application.wording import excerpt, other_places
from recipient_fields.domain import (
    DataType,
    IntegrationId,
    RecipientField,
    RecipientSchema,
    RecipientTexts,
)
from recipient_fields.domain.conditions import LocatedViolation, TextPosition
from recipient_fields.domain.content import (
    Content,
    ContentWarning,
    InvalidContent,
    parse_content,
    preview_content,
)
from recipient_fields.domain.esp import (
    DIALECTS,
    Esp,
    ExportedContent,
    FieldCodes,
    Integration,
    export_content,
)

from .form_errors import NO_ERRORS, FormError, FormErrors
from .forms import Form
from .page import Page, visit
from .rendering import Pages

SHOWN_PLACES = 100
"""Warnings, or places to correct. The page shows the number of the others."""
SHOWN_VALUES = 50
"""Sample values that can be changed. A multipart form has at most 64 inputs."""
_VALUE = "value."
"""The names of the inputs for sample values begin with this, and end with the key of a field."""
_SAMPLES: Mapping[DataType, str] = {
    DataType.NUMBER: "3",
    DataType.BOOLEAN: "true",
    DataType.DATE: "2026-11-20",
    DataType.DATETIME: "2026-11-20T09:15:00Z",
}
"""The sample values of fields without allowed values. Those of text fields are their names."""


@frozen
class ContentView(Page):
    """`/console/o/{organization_id}/content`."""

    core: Core
    pages: Pages
    is_for_viewers = True

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Show an empty form."""
        self._show(req, resp, self._targets(req))

    def on_continue(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Show the form with the inputs of an ended session."""
        self._show(req, resp, self._targets(req))

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Show the content for the chosen ESP, and its preview."""
        form, targets = visit(req).form, self._targets(req)
        target = targets.get(form.text("target"))
        if target is None:
            message = "Choose an integration or an email service provider."
            errors = FormErrors((FormError("target", "Export for", message),))
            self._show(req, resp, targets, errors=errors)
            return
        codes = self.core.content.read_codes(visit(req).organization.id)
        source = form.text("content")
        try:
            content = parse_content(source)
            literals = list(filter(None, map(str.strip, form.text("literals").splitlines())))
            exported = export_content(content, codes, target.id, literals=literals)
            preview = _Preview.of(content, exported, codes, _entered_values(form))
        except InvalidContent as invalid:
            places = _Places.of(source, map(_refused_place, invalid.violations))
            self._show(req, resp, targets, places=places)
            return
        warnings = _Places.of(source, map(_place_of_warning, exported.warnings))
        self._show(
            req,
            resp,
            targets,
            exported=exported,
            warnings=warnings,
            preview=preview,
            errors=preview.errors,
        )

    def _targets(self, req: falcon.Request) -> Mapping[str, _Target]:
        """Return the targets by the values of their options."""
        integrations = self.core.integrations.list_integrations(visit(req).organization.id)
        return {target.value: target for target in _targets(integrations)}

    def _show(
        self,
        req: falcon.Request,
        resp: falcon.Response,
        targets: Mapping[str, _Target],
        *,
        errors: FormErrors = NO_ERRORS,
        places: _Places | None = None,
        exported: ExportedContent | None = None,
        warnings: _Places | None = None,
        preview: _Preview | None = None,
    ) -> None:
        form = visit(req).form
        self.pages.send(
            req,
            resp,
            "content.html",
            status=errors.status if places is None else HTTPStatus.UNPROCESSABLE_ENTITY,
            content=form.text("content"),
            literals=form.text("literals"),
            targets=targets.values(),
            chosen=form.text("target"),
            values={} if preview else _entered_values(form),
            errors=errors,
            places=places,
            exported=exported,
            warnings=warnings,
            preview=preview,
        )


@frozen
class _Target:
    """An ESP, or an integration with it, as an option."""

    value: str
    title: str
    id: Esp | IntegrationId


def _targets(integrations: Iterable[Integration]) -> Iterator[_Target]:
    """Yield the integrations, then the ESPs without an integration."""
    used = set()
    for each in integrations:
        used.add(each.esp)
        title = f"{each.name} ({DIALECTS[each.esp].title})"
        yield _Target(str(each.id), title, each.id)
    for esp, dialect in DIALECTS.items():
        if esp not in used:
            yield _Target(esp.value, dialect.title, esp)


@frozen
class _Place:
    """A place in the content, and the reason why it is shown.

    A warning has a kind, and a sentence with its other places if there are any.
    """

    position: TextPosition
    message: str
    kind: str = ""
    others: str = ""
    excerpt: str = ""


@frozen
class _Places:
    """The first places of a list, and the number of the others."""

    shown: tuple[_Place, ...]
    others: int

    @classmethod
    def of(cls, source: str, places: Iterable[_Place]) -> _Places:
        """Return these places with their excerpts of the source."""
        lines, places = source.split("\n"), tuple(places)
        shown = tuple(
            evolve(each, excerpt=excerpt(lines[each.position.line - 1], each.position.column))
            for each in places[:SHOWN_PLACES]
        )
        return cls(shown, len(places) - len(shown))

    @property
    def count(self) -> int:
        """The number of places, including those that are not shown."""
        return len(self.shown) + self.others


def _refused_place(violation: LocatedViolation) -> _Place:
    hint = "" if violation.suggestion is None else f" Did you mean {violation.suggestion}?"
    return _Place(violation.position, f"{violation.reason}{hint}")


def _place_of_warning(warning: ContentWarning) -> _Place:
    return _Place(
        warning.position,
        warning.message,
        kind=warning.code.kind.value.capitalize(),
        others=other_places(warning.places) if warning.places else "",
    )


@frozen
class _Sample:
    """A sample value that can be changed."""

    field: RecipientField
    text: str

    @classmethod
    def of(cls, field: RecipientField, entered: Mapping[str, str]) -> _Sample:
        """Return the entered value of the field, or its first allowed value, or an example."""
        text = entered.get(_input_name(field))
        if text is not None:
            return cls(field, text)
        if field.allowed_values is not None:
            return cls(field, str(field.allowed_values.values[0]))
        return cls(field, _SAMPLES.get(field.data_type, str(field.name)))

    @property
    def name(self) -> str:
        """The name of the input."""
        return _input_name(self.field)


@frozen
class _Preview:
    """What a recipient with the sample values reads, or the errors of these values."""

    samples: tuple[_Sample, ...]
    errors: FormErrors
    text: str | None

    @classmethod
    def of(
        cls,
        content: Content,
        exported: ExportedContent,
        codes: FieldCodes,
        entered: Mapping[str, str],
    ) -> _Preview:
        """Return the preview with the entered values, and with samples for other fields.

        Raises: InvalidContent if the preview is too long.
        """
        by_key = codes.names.by_key
        samples = [_Sample.of(by_key[key], entered) for key in exported.keys]
        texts = {str(sample.field.key): sample.text for sample in samples}
        checked = RecipientTexts(RecipientSchema(by_key)).check(texts)
        errors = FormErrors(
            tuple(
                FormError(f"{_VALUE}{each.path[0]}", str(each.path[0]), each.message)
                for each in checked.violations
            )
        )
        text = None
        if not errors.errors:
            text = preview_content(
                content, by_key.values(), checked.values, resolved=exported.resolved
            )
        return cls(tuple(samples[:SHOWN_VALUES]), errors, text)


def _input_name(field: RecipientField) -> str:
    return f"{_VALUE}{field.key}"


def _entered_values(form: Form) -> Mapping[str, str]:
    """Return the entered sample values by the names of their inputs."""
    names = [name for name in form.inputs if name.startswith(_VALUE)]
    return {name: form.text(name) for name in names[:SHOWN_VALUES]}
