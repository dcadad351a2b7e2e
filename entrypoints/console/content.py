"""The page that exports content for an ESP, and the frame with its preview."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from http import HTTPStatus

import falcon
from attrs import evolve, frozen
from falcon import Request, Response

from recipient_fields.application.content.content import (
    ContentTrial,
    FieldSample,
)
from recipient_fields.application.content.documents import (
    MAX_CONTENT_LENGTH,
    MAX_EXPORTS_LENGTH,
)
from recipient_fields.application.documents.conversion import with_suggestion
from recipient_fields.application.documents.strict_json import NotJson, parse_json
from recipient_fields.application.fields.texts import is_id
from recipient_fields.application.wording import excerpt, other_places
from recipient_fields.domain import (
    DataType,
    FieldQuery,
    IntegrationId,
    InvalidInput,
    RecipientField,
    Rule,
    Violation,
)
from recipient_fields.domain.conditions import LocatedViolation, TextPosition, format_condition
from recipient_fields.domain.content import (
    DEFAULT_STRICT,
    ContentWarning,
    InvalidContent,
    Surface,
    SystemValue,
    WarningCode,
    WarningKind,
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
from recipient_fields.domain.integrations import Integration, Outcome

from .email_frame import EMAIL_POLICY, render_email, render_text, text_of
from .fields.codes import example_conditions
from .forms import NO_ERRORS, Form, FormError, FormErrors, OneAtATime
from .pages import Page
from .requests import visit

ALL = "all"
"""The value of the option that exports for each integration."""
SHOWN_INTEGRATIONS = 20
"""Integrations for which one form exports. Each export takes time."""
_LONG = 65_536
"""The characters of content, counted once per export, above which exports run one at a time."""
BUSY = "The server exports other content at the moment. Try again in a few seconds."
SHOWN_PLACES = 100
"""Warnings, or places to correct. The page shows the number of the others."""
SHOWN_VALUES = 50
"""Sample values that can be changed. A multipart form has at most 64 inputs."""
_VALUE = "value."
"""The names of the inputs for sample values begin with this, and end with the key of a field."""
_TEXT_VIEW = "text"
_VIEWS = (("600", "Desktop"), ("375", "Phone"), (_TEXT_VIEW, "Text"))
"""The widths of the frame in pixels, and the preview as text."""
_NO_PREVIEW = "There is no preview, because the content can't be exported. Correct it first."
_SHOWN_REASONS = 3
_WRONG_VALUES = "There is no preview. Correct these sample values:"
_MISTAKE = "Mistake"
_NOT_VERIFIED = {
    WarningCode.ASSUMED_NAME,
    WarningCode.POSSIBLY_FOREIGN_CODE,
    WarningCode.SECONDARY_SOURCES,
    WarningCode.UNESTABLISHED_CHARACTER,
    WarningCode.UNKNOWN_CASE_AND_SPACES,
    WarningCode.UNKNOWN_COMPARISON,
    WarningCode.UNKNOWN_NAME,
    WarningCode.UNKNOWN_NUMBER_FORM,
    WarningCode.UNKNOWN_OPTION_FORM,
    WarningCode.UNKNOWN_ZERO,
}
"""Caveats about what no documentation of the ESP says. The others are about known differences."""
_INPUT_TYPES = {DataType.NUMBER: "number", DataType.DATE: "date"}
_SYSTEM_VALUES = {
    SystemValue.UNSUBSCRIBE: "Unsubscribe from this list",
    SystemValue.UNSUBSCRIBE_ALL: "Unsubscribe from all emails",
    SystemValue.PREFERENCES: "Change preferences",
    SystemValue.VIEW_IN_BROWSER: "View in the browser",
    SystemValue.SENDER_NAME: "Name of the sender",
    SystemValue.SENDER_ADDRESS: "Postal address of the sender",
    SystemValue.YEAR: "Year of sending",
}
SHOWN_FIELDS = 300
"""Fields in the menu *Insert*. A search finds the others."""
_SURFACES = {surface.value: surface for surface in Surface}
"""The surfaces by the values of their options. Another option lets the export find the surface."""


@frozen
class _ContentPage(Page):
    """A page that receives the form with the content."""

    long_exports: OneAtATime
    is_for_viewers = True

    def _targets(self, req: Request) -> Mapping[str, _Target]:
        """Return the targets by the values of their options."""
        integrations = self.core.integrations.list_integrations(visit(req).organization.id)
        return {target.value: target for target in _targets(integrations, self.core.profiles)}

    def _exporting(self, inputs: _Inputs, count: int) -> AbstractContextManager[None]:
        """Permit this number of exports. Raises: HTTPServiceUnavailable if others run."""
        is_long = len(inputs.content) * count > _LONG
        return self.long_exports.working() if is_long else nullcontext()

    def _trial(self, req: Request, inputs: _Inputs) -> ContentTrial:
        content = read_content(inputs.content)
        return self.core.content.try_content(visit(req).organization.id, content, inputs.options())


class ContentView(_ContentPage):
    """`/console/o/{organization_id}/content`."""

    def on_get(self, req: Request, resp: Response) -> None:
        """Show the form, with the inputs of an ended session if there are some."""
        self._show(req, resp, _Inputs.of(visit(req).form), self._targets(req))

    on_continue = on_get

    def on_post(self, req: Request, resp: Response) -> None:
        """Show the content for the chosen ESP or for each integration, or send one as a file."""
        inputs, targets = _Inputs.of(visit(req).form), self._targets(req)
        chosen = _chosen(targets, inputs.download or inputs.target)
        most = MAX_CONTENT_LENGTH // max(1, len(inputs.content))
        if inputs.finds:
            self._show(req, resp, inputs, targets)
            return
        if inputs.action == "convert" and inputs.source in targets:
            with self.long_exports.working():
                self._convert(req, resp, inputs, targets)
            return
        if not chosen or len(chosen) > most:
            message = "Choose an integration or an email service provider."
            if chosen:
                message = f"Content of this length has at most {most} exports at once. Choose one."
            errors = FormErrors((FormError("target", "Export for", message),))
            self._show(req, resp, inputs, targets, errors=errors)
            return
        try:
            inputs.options()
            inputs.read_event()
        except InvalidInput as invalid:
            errors = FormErrors.of(invalid, {"literals": "Literals", "event": "Event data"})
            self._show(req, resp, inputs, targets, errors=errors)
            return
        with self._exporting(inputs, len(chosen)):
            self._export(req, resp, inputs, targets, chosen)

    def _convert(
        self, req: Request, resp: Response, inputs: _Inputs, targets: Mapping[str, _Target]
    ) -> None:
        """Show the form with the template of the chosen source as content."""
        text, source = inputs.content, targets[inputs.source].id
        try:
            converted = self.core.content.convert_content(visit(req).organization.id, text, source)
        except InvalidContent as invalid:
            places = _Places.of(text, map(_refused_place, invalid.violations))
            self._show(req, resp, inputs, targets, places=places)
            return
        by_hand = (
            _Place(each.position, " ".join(each.reasons), kind="By hand")
            for each in converted.tags
            if each.outcome is Outcome.BY_HAND
        )
        shown = _Conversion(len(converted.tags), _Places.of(text, by_hand))
        inputs = evolve(inputs, content=converted.content)
        self._show(req, resp, inputs, targets, conversion=shown)

    def _export(
        self,
        req: Request,
        resp: Response,
        inputs: _Inputs,
        targets: Mapping[str, _Target],
        chosen: Sequence[_Target],
    ) -> None:
        try:
            trial = self._trial(req, inputs)
            exports = list(_exports(trial, chosen, inputs.content))
        except InvalidContent as invalid:
            places = _Places.of(inputs.content, map(_refused_place, invalid.violations))
            self._show(req, resp, inputs, targets, places=places)
            return
        written = next((each.exported for each in exports if each.exported), None)
        if written is None and len(exports) == 1:
            self._show(req, resp, inputs, targets, places=exports[0].refused)
        elif written is not None and inputs.download:
            _send_file(resp, chosen[0], written)
        elif written is None:
            self._show(req, resp, inputs, targets, exports=exports)
        else:
            examples = trial.examples(written)
            inputs = inputs.of_example(examples)
            self._show(
                req,
                resp,
                inputs,
                targets,
                exports=exports,
                samples=_samples(trial, written, inputs),
                has_examples=len(examples) > 1,
            )

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
        samples: Sequence[_Sample] | None = None,
        has_examples: bool = False,
        conversion: _Conversion | None = None,
    ) -> None:
        is_refused = places is not None or (exports and samples is None)
        query = FieldQuery(
            text=inputs.find or None, counterparts=False, sort="name", limit=SHOWN_FIELDS
        )
        found = self.core.fields.find_fields(visit(req).organization.id, query)
        self.pages.send(
            req,
            resp,
            "content.html",
            status=HTTPStatus.UNPROCESSABLE_ENTITY if is_refused else errors.status,
            inputs=inputs,
            targets=targets.values(),
            all_integrations=ALL if len(_connected(targets)) > 1 else None,
            values=inputs.hidden_values(samples or ()),
            errors=errors,
            places=places,
            exports=exports,
            samples=samples,
            has_examples=has_examples,
            conversion=conversion,
            insertable=[_Insertable.of(each) for each in found.fields],
            more_fields=found.total - len(found.fields),
            views=_VIEWS,
            system_values=_SYSTEM_VALUES,
        )


@frozen
class _Conversion:
    """The number of tags of a converted template, and those that stay by hand."""

    count: int
    by_hand: _Places


class ContentPreview(_ContentPage):
    """`/console/o/{organization_id}/content/preview`: the document in the frame of the preview."""

    def on_post(self, req: Request, resp: Response) -> None:
        """Send what a recipient with the sample values reads, or why there is no preview."""
        inputs = _Inputs.of(visit(req).form)
        try:
            chosen = _chosen(self._targets(req), inputs.target)
            with self._exporting(inputs, len(chosen)):
                document = self._render(self._trial(req, inputs), chosen, inputs)
        except falcon.HTTPServiceUnavailable as busy:
            document = render_text(str(busy.description))
        except InvalidInput as invalid:
            reasons = (each.message for each in invalid.violations[:_SHOWN_REASONS])
            document = render_text("\n".join((_NO_PREVIEW, *reasons)))
        resp.content_type = falcon.MEDIA_HTML
        resp.text = document
        resp.set_header("Content-Security-Policy", EMAIL_POLICY)
        resp.set_header("X-Frame-Options", "SAMEORIGIN")

    def _render(self, trial: ContentTrial, chosen: Iterable[_Target], inputs: _Inputs) -> str:
        written = next(_written(trial, chosen), None)
        if written is None:
            return render_text(_NO_PREVIEW)
        preview = trial.preview(written, inputs.values, inputs.read_event())
        if preview.content is None:
            wrong = (
                f"{each.path[0]}: {with_suggestion(each).message}" for each in preview.violations
            )
            return render_text("\n".join((_WRONG_VALUES, *wrong)))
        if written.surface is not Surface.HTML:
            return render_text(preview.content)
        if inputs.view == _TEXT_VIEW:
            return render_text(text_of(preview.content))
        return render_email(preview.content)


def _written(trial: ContentTrial, chosen: Iterable[_Target]) -> Iterator[ExportedContent]:
    """Yield the exports that are possible."""
    for target in chosen:
        with suppress(InvalidContent):
            yield trial.export(target.id)


def _send_file(resp: Response, target: _Target, exported: ExportedContent) -> None:
    suffix = "html" if exported.surface is Surface.HTML else "txt"
    resp.content_type = f"{falcon.MEDIA_HTML if suffix == 'html' else falcon.MEDIA_TEXT}"
    resp.downloadable_as = f"{target.file_name}.{suffix}"
    resp.text = exported.content


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
    view: str
    find: str
    action: str
    """What the pressed button does: nothing but the export, `find` or `example`."""
    example: int
    """The position of the shown example of a recipient."""
    download: str
    source: str
    """The option whose code the content is, if it is converted."""
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
            view=form.text("view") or _VIEWS[0][0],
            find=form.text("find").strip(),
            action=form.text("action"),
            example=int(form.text("example")) if is_id(form.text("example")) else 0,
            download=form.text("download"),
            source=form.text("source"),
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

    @property
    def finds(self) -> bool:
        """Whether fields to insert are searched, and nothing is exported."""
        return self.action == "find"

    def of_example(self, examples: Sequence[Mapping[str, str]]) -> _Inputs:
        """Return these inputs, or those of the next example if its button was pressed."""
        if self.action != "example":
            return self
        position = (self.example + 1) % len(examples)
        return evolve(self, example=position, values={**self.values, **examples[position]})

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
    file_name: str


def _targets(integrations: Iterable[Integration], profiles: Profiles) -> Iterator[_Target]:
    """Yield the integrations, then the ESPs without an integration."""
    used = set()
    for each in integrations:
        used.add(each.esp)
        title = f"{each.name} ({profiles.title(each.esp)})"
        yield _Target(str(each.id), title, each.id, f"content-{each.esp}")
    for profile in profiles:
        if profile.esp not in used:
            yield _Target(profile.esp, profile.title, profile.esp, f"content-{profile.esp}")


def _connected(targets: Mapping[str, _Target]) -> list[_Target]:
    return [each for each in targets.values() if not isinstance(each.id, Esp)]


def _chosen(targets: Mapping[str, _Target], value: str) -> list[_Target]:
    """Return the targets of the option with this value. There are none if it does not exist."""
    if value == ALL:
        return _connected(targets)[:SHOWN_INTEGRATIONS]
    return [targets[value]] if value in targets else []


@frozen(kw_only=True)
class _Export:
    """The content for one target with its warnings, or the places to correct."""

    target: _Target
    exported: ExportedContent | None = None
    refused: _Places | None = None
    mistakes: _Places | None = None
    caveats: _Places | None = None

    @classmethod
    def of(cls, trial: ContentTrial, target: _Target, source: str, max_length: int) -> _Export:
        """Return the export of the source for the target, with up to this number of characters."""
        try:
            exported = trial.export(target.id)
        except InvalidContent as invalid:
            refused = map(_refused_place, invalid.violations)
            return cls(target=target, refused=_Places.of(source, refused))
        if len(exported.content) > max_length:
            message = f"All exports would have more than {MAX_EXPORTS_LENGTH:,} characters."
            place = _Place(TextPosition(1, 1), f"{message} Export for this integration alone.")
            return cls(target=target, refused=_Places.of(source, [place]))
        mistakes, caveats = (
            _Places.of(
                source,
                map(_place_of_warning, (w for w in exported.warnings if w.code.kind is kind)),
            )
            for kind in WarningKind
        )
        return cls(target=target, exported=exported, mistakes=mistakes, caveats=caveats)


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
    def are_mistakes(self) -> bool:
        """Whether an export that permits mistakes would permit all of them."""
        return all(each.kind == _MISTAKE for each in self.shown)

    @property
    def count(self) -> int:
        """The number of places, including those that are not shown."""
        return len(self.shown) + self.others


def _refused_place(violation: LocatedViolation) -> _Place:
    place = _Place(violation.position, with_suggestion(violation).reason)
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
    if code.kind is WarningKind.MISTAKE:
        return _MISTAKE
    return "Not verified" if code in _NOT_VERIFIED else "Note"


@frozen
class _Sample(FieldSample):
    """A sample value that can be changed."""

    @property
    def name(self) -> str:
        """The name of the input."""
        return f"{_VALUE}{self.field.key}"

    @property
    def input_type(self) -> str:
        """The type of the input, if the values are not a list to choose from."""
        return _INPUT_TYPES.get(self.field.data_type, "text")

    @property
    def choices(self) -> Sequence[str]:
        """The values to choose from, with the current one. There are none if any is possible."""
        if self.field.data_type is DataType.BOOLEAN:
            values: Sequence[str] = ("true", "false")
        elif self.field.allowed_values is None:
            return ()
        else:
            values = [str(each) for each in self.field.allowed_values.values]
        return list(dict.fromkeys(("", *values, self.text)))


def _samples(
    trial: ContentTrial, exported: ExportedContent, inputs: _Inputs
) -> tuple[_Sample, ...]:
    shown = trial.samples(exported, inputs.values)[:SHOWN_VALUES]
    return tuple(_Sample(each.field, each.text) for each in shown)


@frozen
class _Insertable:
    """A field as an entry of the menu *Insert*, with a reference to it and a condition on it."""

    field: RecipientField
    condition: str

    @classmethod
    def of(cls, field: RecipientField) -> _Insertable:
        """Return the entry of the field."""
        condition, is_set = map(format_condition, example_conditions(field))
        has_value = field.allowed_values is not None or field.data_type is DataType.BOOLEAN
        return cls(field, f"recipient.{condition if has_value else is_set}")
