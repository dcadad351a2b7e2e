"""The page that exports content for an ESP, and previews it with sample values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from http import HTTPStatus

from attrs import evolve, field, frozen
from falcon import Request, Response

from recipient_fields.application.content.content import (
    ContentTrial,
    FieldSample,
    SampledPreview,
)
from recipient_fields.application.content.documents import (
    MAX_CONTENT_LENGTH,
    MAX_EXPORTS_LENGTH,
)
from recipient_fields.application.documents.conversion import with_suggestion
from recipient_fields.application.documents.strict_json import NotJson, parse_json
from recipient_fields.application.wording import excerpt, other_places
from recipient_fields.domain import IntegrationId, InvalidInput, Rule, Violation
from recipient_fields.domain.conditions import LocatedViolation, TextPosition
from recipient_fields.domain.content import (
    DEFAULT_STRICT,
    ContentWarning,
    InvalidContent,
    Surface,
    WarningCode,
    read_content,
)
from recipient_fields.domain.esp import (
    Esp,
    ExportedContent,
    ExportOptions,
    NameProposal,
    Profiles,
    RejectedWarning,
    UnfoundName,
    UnnamedField,
)
from recipient_fields.domain.integrations import Integration

from .forms import NO_ERRORS, Form, FormError, FormErrors, OneAtATime
from .pages import Page
from .requests import visit

ALL = "all"
"""The value of the option that exports for each integration."""
SHOWN_INTEGRATIONS = 20
"""Integrations for which one form exports. Each export takes time."""
_LONG = 65_536
"""The characters of content, counted once per export, above which exports run one at a time."""
_BUSY = "The server exports other content at the moment. Try again in a few seconds."
SHOWN_PLACES = 100
"""Warnings, or places to correct. The page shows the number of the others."""
SHOWN_VALUES = 50
"""Sample values that can be changed. A multipart form has at most 64 inputs."""
_VALUE = "value."
"""The names of the inputs for sample values begin with this, and end with the key of a field."""
_SURFACES = {surface.value: surface for surface in Surface}
"""The surfaces by the values of their options. Another option lets the export find the surface."""


@frozen
class ContentView(Page):
    """`/console/o/{organization_id}/content`."""

    _long_exports: OneAtATime = field(factory=lambda: OneAtATime(_BUSY), init=False)
    is_for_viewers = True

    def on_get(self, req: Request, resp: Response) -> None:
        """Show an empty form."""
        self._show(req, resp, _Inputs.of(visit(req).form), self._targets(req))

    def on_continue(self, req: Request, resp: Response) -> None:
        """Show the form with the inputs of an ended session."""
        self._show(req, resp, _Inputs.of(visit(req).form), self._targets(req))

    def on_post(self, req: Request, resp: Response) -> None:
        """Show the content for the chosen ESP or for each integration, and its preview."""
        inputs, targets = _Inputs.of(visit(req).form), self._targets(req)
        chosen = _chosen(targets, inputs.target)
        most = MAX_CONTENT_LENGTH // max(1, len(inputs.content))
        if not chosen or len(chosen) > most:
            message = "Choose an integration or an email service provider."
            if chosen:
                message = f"Content of this length has at most {most} exports at once. Choose one."
            errors = FormErrors((FormError("target", "Export for", message),))
            self._show(req, resp, inputs, targets, errors=errors)
            return
        try:
            options, event = inputs.options(), inputs.read_event()
        except InvalidInput as invalid:
            errors = FormErrors.of(invalid, {"literals": "Literals", "event": "Event data"})
            self._show(req, resp, inputs, targets, errors=errors)
            return
        is_long = len(inputs.content) * len(chosen) > _LONG
        with self._long_exports.working() if is_long else nullcontext():
            self._export(req, resp, inputs, targets, chosen, options, event)

    def _export(
        self,
        req: Request,
        resp: Response,
        inputs: _Inputs,
        targets: Mapping[str, _Target],
        chosen: Sequence[_Target],
        options: ExportOptions,
        event: Mapping[str, object],
    ) -> None:
        source, preview = inputs.content, None
        try:
            trial = self.core.content.try_content(
                visit(req).organization.id, read_content(source), options
            )
            exports = list(_exports(trial, chosen, source))
            written = next((each.exported for each in exports if each.exported), None)
            if written is not None:
                preview = _Preview.of(trial.preview(written, inputs.values, event))
        except InvalidContent as invalid:
            places = _Places.of(source, map(_refused_place, invalid.violations))
            self._show(req, resp, inputs, targets, places=places)
            return
        if written is None and len(exports) == 1:
            self._show(req, resp, inputs, targets, places=exports[0].places)
            return
        self._show(req, resp, inputs, targets, exports=exports, preview=preview)

    def _targets(self, req: Request) -> Mapping[str, _Target]:
        """Return the targets by the values of their options."""
        integrations = self.core.integrations.list_integrations(visit(req).organization.id)
        return {target.value: target for target in _targets(integrations, self.core.profiles)}

    def _show(
        self,
        req: Request,
        resp: Response,
        inputs: _Inputs,
        targets: Mapping[str, _Target],
        *,
        errors: FormErrors = NO_ERRORS,
        places: _Places | None = None,
        exports: Sequence[_Export] = (),
        preview: _Preview | None = None,
    ) -> None:
        if preview is not None:
            errors = preview.errors
        is_refused = places is not None or (exports and preview is None)
        is_shown = preview is not None and preview.text is not None
        self.pages.send(
            req,
            resp,
            "content.html",
            status=HTTPStatus.UNPROCESSABLE_ENTITY
            if is_refused
            else HTTPStatus.OK
            if is_shown
            else errors.status,
            inputs=inputs,
            targets=targets.values(),
            all_integrations=ALL if len(_connected(targets)) > 1 else None,
            values=inputs.hidden_values(() if preview is None else preview.samples),
            errors=errors,
            places=places,
            exports=exports,
            preview=preview,
        )


@frozen(kw_only=True)
class _Inputs:
    """What the form contains. `values` are the entered sample values, by the keys of fields."""

    content: str
    target: str
    surface: str
    raw: bool
    allows_mistakes: bool
    literals: str
    sent_by: str
    event: str
    shown_tab: str
    values: Mapping[str, str]

    @classmethod
    def of(cls, form: Form) -> _Inputs:
        """Return the inputs of the form."""
        names = [name for name in form.inputs if name.startswith(_VALUE)][:SHOWN_VALUES]
        return cls(
            content=form.text("content"),
            target=form.text("target"),
            surface=form.text("surface"),
            raw=form.text("raw") == "true",
            allows_mistakes=form.text("allow_mistakes") == "true",
            literals=form.text("literals"),
            sent_by=form.text("sent_by"),
            event=form.text("event"),
            shown_tab=form.text("tab"),
            values={name.removeprefix(_VALUE): form.text(name) for name in names},
        )

    def options(self) -> ExportOptions:
        """Return the options of the export. Raises: InvalidInput."""
        return ExportOptions(
            surface=_SURFACES.get(self.surface),
            raw=self.raw,
            strict=False if self.allows_mistakes else DEFAULT_STRICT,
            literals=list(filter(None, map(str.strip, self.literals.splitlines()))),
            sent_by=self.sent_by.strip() or None,
        )

    def read_event(self) -> Mapping[str, object]:
        """Return the event data. Raises: InvalidInput if it is no JSON object."""
        try:
            event = parse_json(self.event.encode()) if self.event.strip() else {}
        except NotJson as error:
            raise InvalidInput([Violation(Rule.FORMAT, str(error), ("event",))]) from None
        if not isinstance(event, dict):
            message = 'Write a JSON object, such as {"order_id": "A-1"}.'
            raise InvalidInput([Violation(Rule.TYPE, message, ("event",))])
        return event

    def hidden_values(self, shown: Sequence[_Sample]) -> Mapping[str, str]:
        """Return the sample values, by input, of fields for which the page shows no input.

        The content may use these fields again later.
        """
        names = {sample.name for sample in shown}
        entered = {f"{_VALUE}{key}": text for key, text in self.values.items()}
        hidden = [(name, text) for name, text in entered.items() if name not in names]
        return dict(hidden[: SHOWN_VALUES - len(names)])


@frozen
class _Target:
    """An ESP, or an integration with it, as an option."""

    value: str
    title: str
    id: Esp | IntegrationId


def _targets(integrations: Iterable[Integration], profiles: Profiles) -> Iterator[_Target]:
    """Yield the integrations, then the ESPs without an integration."""
    used = set()
    for each in integrations:
        used.add(each.esp)
        title = f"{each.name} ({profiles.title(each.esp)})"
        yield _Target(str(each.id), title, each.id)
    for profile in profiles:
        if profile.esp not in used:
            yield _Target(profile.esp, profile.title, profile.esp)


def _connected(targets: Mapping[str, _Target]) -> list[_Target]:
    return [each for each in targets.values() if not isinstance(each.id, Esp)]


def _chosen(targets: Mapping[str, _Target], value: str) -> list[_Target]:
    """Return the targets of the option with this value. There are none if it does not exist."""
    if value == ALL:
        return _connected(targets)[:SHOWN_INTEGRATIONS]
    return [targets[value]] if value in targets else []


@frozen
class _Export:
    """The content for one target with its warnings, or the places to correct."""

    target: _Target
    exported: ExportedContent | None
    places: _Places

    @classmethod
    def of(cls, trial: ContentTrial, target: _Target, source: str, max_length: int) -> _Export:
        """Return the export of the source for the target, with up to this number of characters."""
        try:
            exported = trial.export(target.id)
        except InvalidContent as invalid:
            refused = map(_refused_place, invalid.violations)
            return cls(target, None, _Places.of(source, refused))
        if len(exported.content) > max_length:
            message = f"All exports would have more than {MAX_EXPORTS_LENGTH:,} characters."
            place = _Place(TextPosition(1, 1), f"{message} Export for this integration alone.")
            return cls(target, None, _Places.of(source, [place]))
        warnings = map(_place_of_warning, exported.warnings)
        return cls(target, exported, _Places.of(source, warnings))


def _exports(trial: ContentTrial, targets: Iterable[_Target], source: str) -> Iterator[_Export]:
    left = MAX_EXPORTS_LENGTH
    for target in targets:
        export = _Export.of(trial, target, source, left)
        left -= 0 if export.exported is None else len(export.exported.content)
        yield export


@frozen
class _Place:
    """A place in the content, and the reason why it is shown.

    A warning has a kind, and a sentence with its other places if there are any. A rejected one has
    a kind, too. A field without a name at an integration, or with one that the last sync did not
    find, can have a proposal.
    """

    position: TextPosition
    message: str
    kind: str = ""
    others: str = ""
    excerpt: str = ""
    proposal: NameProposal | None = None


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
    place = _Place(violation.position, f"{violation.reason}{hint}")
    match violation:
        case UnnamedField(proposal=proposal):
            return evolve(place, proposal=proposal)
        case RejectedWarning(warning=code, proposal=proposal):
            return evolve(place, kind=_titled(code), proposal=proposal)
    return place


def _place_of_warning(warning: ContentWarning) -> _Place:
    return _Place(
        warning.position,
        warning.message,
        kind=_titled(warning.code),
        proposal=warning.proposal if isinstance(warning, UnfoundName) else None,
        others=other_places(warning.places) if warning.places else "",
    )


def _titled(code: WarningCode) -> str:
    return code.kind.value.capitalize()


@frozen
class _Sample(FieldSample):
    """A sample value that can be changed."""

    @property
    def name(self) -> str:
        """The name of the input."""
        return f"{_VALUE}{self.field.key}"


@frozen
class _Preview:
    """What a recipient with the sample values reads, and the errors of these values.

    If a value has another type than its field, there is no text.
    """

    samples: tuple[_Sample, ...]
    errors: FormErrors
    text: str | None

    @classmethod
    def of(cls, preview: SampledPreview) -> _Preview:
        """Return the preview as the page shows it."""
        errors = tuple(
            FormError(f"{_VALUE}{each.path[0]}", str(each.path[0]), with_suggestion(each).message)
            for each in preview.violations
        )
        shown = preview.samples[:SHOWN_VALUES]
        samples = tuple(_Sample(each.field, each.text) for each in shown)
        return cls(samples, FormErrors(errors), preview.content)
