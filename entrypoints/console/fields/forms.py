"""The forms that create and edit a manual field."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from http import HTTPStatus

from attrs import frozen
from falcon import Request, Response

from recipient_fields.application import InvalidDocument
from recipient_fields.application.fields.inputs import parse_draft, parse_replacement
from recipient_fields.application.fields.texts import is_id, parse_value
from recipient_fields.domain import (
    ADMINISTRATOR,
    MAX_ALLOWED_VALUES,
    NULLABLE_TEXTS,
    WRITABLE_MEMBERS,
    DataType,
    Denied,
    FieldChanges,
    FieldDraft,
    FieldId,
    InvalidField,
    KeyTaken,
    Operation,
    Precondition,
    RecipientField,
    Rule,
    VersionConflict,
    Violation,
)

from ..forms import Form, FormError, FormErrors
from ..pages import ChangingPage, Flash, Page
from ..requests import author, visit
from ..submitted_forms import claimed_form

DATA_TYPES = {
    DataType.TEXT.value: "Text",
    DataType.NUMBER.value: "Number",
    DataType.BOOLEAN.value: "Boolean",
    DataType.DATE.value: "Date",
    DataType.DATETIME.value: "Date and time",
}
LABELS = {
    "name": "Name",
    "key": "Key",
    "data_type": "Data type",
    "allowed_values": "Allowed values",
    "insertable": "Insertable",
    "custom_insertion_code": "Insertion code",
    "custom_value_expression": "Value expression",
}
_EMPTY = Form({"data_type": (DataType.TEXT.value,), "insertable": ("yes",)})
"""The form of a new field."""


@frozen
class FieldErrors(FormErrors):
    """The errors of the form, in the order of its inputs."""

    taken_by: FieldId | None = None
    """The field that has the key already."""

    @classmethod
    def of_violations(cls, violations: Iterable[Violation], form: Form) -> FieldErrors:
        """Return the errors that report these violations of the values in the form."""
        in_order = sorted(violations, key=_position)
        return cls(tuple(_error(each, form.texts("allowed_value")) for each in in_order))

    @classmethod
    def of_taken_key(cls, taken: KeyTaken) -> FieldErrors:
        """Return the error of a key that another field has."""
        message = f"Another field has the key {taken.key}. Use another key, or open that field."
        if taken.is_synced:
            message = str(taken)
        return cls((FormError("key", LABELS["key"], message),), taken.existing_id)

    @property
    def suggested_key(self) -> str | None:
        """The key to use in place of the entered one."""
        return next((each.suggestion for each in self.at("key") if each.suggestion), None)

    @property
    def has_wrong_values(self) -> bool:
        """Whether one or more of the allowed values, or their list, are wrong."""
        return any(each.anchor.startswith("allowed_value") for each in self.errors)


class FieldCreation(ChangingPage):
    """`/console/o/{organization_id}/fields/new`."""

    def on_get(self, req: Request, resp: Response) -> None:
        """Show an empty form."""
        _send_form(self, req, resp, _EMPTY)

    def on_continue(self, req: Request, resp: Response) -> None:
        """Show the form with the inputs of an ended session."""
        _send_form(self, req, resp, _entered(req))

    def on_post(self, req: Request, resp: Response) -> None:
        """Change the inputs as the pressed button says, or create the field."""
        form = _entered(req)
        edited = _edited(form)
        if edited is not None:
            _send_form(self, req, resp, edited, pressed=form.text("action"))
            return
        form = _with_pasted(form)
        organization_id = visit(req).organization.id
        try:
            draft = _parse_draft(form)
            with claimed_form(req, self.core, "/fields"):
                created = self.core.fields.by(author(req)).create_field(organization_id, draft)
        except (InvalidDocument, InvalidField) as invalid:
            _send_form(self, req, resp, form, FieldErrors.of_violations(invalid.violations, form))
            return
        except KeyTaken as taken:
            explained = self.core.content.explain_taken_key(organization_id, taken)
            _send_form(self, req, resp, form, FieldErrors.of_taken_key(explained))
            return
        path = visit(req).path(f"/fields/{created.id}")
        self.pages.redirect(
            req, resp, path, Flash("The field ", created.name, " was created.", path)
        )


class FieldEditing(ChangingPage):
    """`/console/o/{organization_id}/fields/{field_id}/edit`."""

    def on_get(self, req: Request, resp: Response, field_id: FieldId) -> None:
        """Show a form with the stored field."""
        field = self._get(req, field_id)
        _send_form(self, req, resp, _form_of(field), field=field)

    def on_continue(self, req: Request, resp: Response, field_id: FieldId) -> None:
        """Show the form with the inputs of an ended session."""
        _send_form(self, req, resp, _entered(req), field=self._get(req, field_id))

    def on_post(self, req: Request, resp: Response, field_id: FieldId) -> None:
        """Change the inputs as the pressed button says, or the field in the version of the form."""
        field = self._get(req, field_id)
        form = _entered(req)
        edited = _edited(form)
        if edited is not None:
            _send_form(self, req, resp, edited, field=field, pressed=form.text("action"))
            return
        form = _with_pasted(form)
        try:
            changed = self.core.fields.by(author(req)).update_field(
                visit(req).organization.id,
                field.id,
                _parse_changes(form, field),
                Precondition(match=frozenset({form.text("version")})),
            )
        except (InvalidDocument, InvalidField) as invalid:
            errors = FieldErrors.of_violations(invalid.violations, form)
            _send_form(self, req, resp, form, errors, field=field)
            return
        except VersionConflict:
            changed = self._get(req, field_id)
            differences = _differences(_form_of(changed), form)
            if differences:  # There are none if the same form was submitted twice.
                form = form.with_texts(version=[changed.version_tag])
                _send_form(self, req, resp, form, field=changed, conflict=differences)
                return
        path = visit(req).path(f"/fields/{changed.id}")
        self.pages.redirect(
            req, resp, path, Flash("The field ", changed.name, " was changed.", path)
        )

    def _get(self, req: Request, field_id: FieldId) -> RecipientField:
        """Return the field. Raises: FieldNotFound; OperationForbidden if it is not manual."""
        field = self.core.fields.get_field(visit(req).organization.id, field_id)
        field.require_changeable(by=ADMINISTRATOR)
        return field


def _send_form(
    page: Page,
    req: Request,
    resp: Response,
    form: Form,
    errors: FieldErrors | None = None,
    *,
    field: RecipientField | None = None,
    conflict: Sequence[tuple[str, str, str]] = (),
    pressed: str = "",
) -> None:
    """Send the form of a new field, or of the field to edit."""
    errors = errors or FieldErrors()
    decision = page.core.fields.decide(Operation.UPDATE, ADMINISTRATOR.origin())
    page.pages.send(
        req,
        resp,
        "fields/form.html",
        status=HTTPStatus.CONFLICT if conflict else errors.status,
        form=_within_limit(form),
        errors=errors,
        field=field,
        conflict=conflict,
        data_types=DATA_TYPES,
        pressed=pressed,
        reason=decision.reason if isinstance(decision, Denied) else "",
    )


def _position(violation: Violation) -> tuple[int, int]:
    """Return a number for the input's position in the form."""
    (member, index), members = _input_of(violation), list(LABELS)
    position = members.index(member) if member in members else -1
    return position, -1 if index is None else index


def _input_of(violation: Violation) -> tuple[str, int | None]:
    """Return the member, and the index of the allowed value if it is one."""
    member, index, *_ = (*violation.path, None, None)
    return "" if member is None else str(member), index if isinstance(index, int) else None


def _error(violation: Violation, values: tuple[str, ...]) -> FormError:
    """Return the error that reports the violation. `values` are the allowed ones in the form."""
    member, index = _input_of(violation)
    if index is None:
        label = LABELS.get(member, member)
        return FormError(member, label, violation.message, violation.suggestion)
    message = violation.message
    if violation.rule is Rule.DUPLICATE_ITEM:
        message = _describe_duplicate(values, index)
    anchor, label = f"allowed_value-{index + 1}", f"Value {index + 1}"
    return FormError(anchor, label, message, violation.suggestion)


def _entered(req: Request) -> Form:
    """Return the form that the administrator has sent, with the name and the key trimmed."""
    form = visit(req).form
    return form.with_texts(name=[form.text("name").strip()], key=[form.text("key").strip()])


def _form_of(field: RecipientField) -> Form:
    """Return the form with which the editing of the stored field begins."""
    values = () if field.allowed_values is None else field.allowed_values.values
    texts = {name: _with_line_feeds(getattr(field, name) or "") for name in NULLABLE_TEXTS}
    return _EMPTY.with_texts(
        name=[field.name],
        allowed_value=map(str, values),
        insertable=["yes"] if field.insertable else [],
        **{name: [text] for name, text in texts.items()},
        version=[field.version_tag],
    )


def _parse_draft(form: Form) -> FieldDraft:
    """Return the draft of a new field. Raises: InvalidDocument."""
    key = {"key": form.text("key")} if form.text("key") else {}
    return parse_draft({**_members(form, form.text("data_type")), **key})


def _parse_changes(form: Form, field: RecipientField) -> FieldChanges:
    """Return the changes to the stored field. Raises: InvalidDocument.

    A code with other line breaks than line feeds keeps them unless it was changed.
    """
    members, shown_texts = _members(form, field.data_type.value), _form_of(field)
    for name in NULLABLE_TEXTS:
        if form.text(name) == shown_texts.text(name):
            members[name] = getattr(field, name)
    return parse_replacement(members, None)


def _members(form: Form, data_type: str) -> dict[str, object]:
    is_number = data_type == DataType.NUMBER.value
    values = [
        parse_value(text, DataType.NUMBER) if is_number else text
        for text in form.texts("allowed_value")
    ]
    return {
        "name": form.text("name"),
        "data_type": data_type,
        "allowed_values": values or None,
        "insertable": form.text("insertable") == "yes",
        **{name: form.text(name) or None for name in NULLABLE_TEXTS},
    }


def _differences(stored: Form, entered: Form) -> list[tuple[str, str, str]]:
    """Return the label, the stored and the entered value of each member that differs."""
    pairs = [
        (label, _shown(stored, member), _shown(entered, member))
        for member, label in LABELS.items()
        if member in WRITABLE_MEMBERS
    ]
    return [pair for pair in pairs if pair[1] != pair[2]]


def _shown(form: Form, member: str) -> str:
    match member:
        case "allowed_values":
            return shown(form.texts("allowed_value"))
        case "insertable":
            return shown(form.text("insertable") == "yes")
    return shown(form.text(member))


def _edited(form: Form) -> Form | None:
    """Return the form after the pressed button of the list or of a suggestion, or None to save.

    These buttons store nothing. They work without a script.
    """
    action, _, argument = form.text("action").partition(":")
    values = list(form.texts("allowed_value"))
    position = int(argument) - 1 if is_id(argument) else -1
    known = 0 <= position < len(values)
    match action:
        case "use-key":
            return _without_blank_values(form.with_texts(key=[argument]))
        case "add":
            values = [*values, ""]
        case "paste":
            pass
        case "add-pasted":
            return _with_pasted(form)
        case "remove" if known:
            del values[position]
        case "up" | "down" if known:
            other = position - 1 if action == "up" else position + 1
            if 0 <= other < len(values):
                values[position], values[other] = values[other], values[position]
        case _:
            return None
    return form.with_texts(allowed_value=values)


def _with_pasted(form: Form) -> Form:
    """Return the form with the pasted values in the list, and without blank values."""
    pasted = form.text("pasted").split("\n")
    values = [*form.texts("allowed_value"), *pasted]
    return _without_blank_values(form.with_texts(allowed_value=values, pasted=[]))


def _without_blank_values(form: Form) -> Form:
    values = form.texts("allowed_value")
    return form.with_texts(allowed_value=[each.strip() for each in values if each.strip()])


def _within_limit(form: Form) -> Form:
    """Return the form with the values that are too many for the list as pasted ones.

    With an input for each value, the form could not be submitted again.
    """
    values = form.texts("allowed_value")
    if len(values) <= MAX_ALLOWED_VALUES:
        return form
    rest = [*values[MAX_ALLOWED_VALUES:], *form.text("pasted").split("\n")]
    pasted = "\n".join(rest).strip("\n")
    return form.with_texts(allowed_value=values[:MAX_ALLOWED_VALUES], pasted=[pasted])


def _with_line_feeds(text: str) -> str:
    """Return the text as a text area shows and sends it."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _describe_duplicate(values: tuple[str, ...], index: int) -> str:
    equal = [number for number, value in enumerate(values[:index], 1) if value == values[index]]
    first = f" Value {equal[0]} is the same." if equal else " An earlier value is the same."
    return f"List each value once.{first}"


def shown(value: object) -> str:
    """Return the value of a member as a text."""
    match value:
        case bool():
            return "Yes" if value else "No"
        case tuple():
            return ", ".join(value) or "Any value"
        case _:
            return str(value) or "None"
