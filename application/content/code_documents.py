"""The documents of the codes of fields."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import field, frozen

from recipient_fields.domain import IntegrationId
from recipient_fields.domain.content import SystemValue
from recipient_fields.domain.esp import Esp, FieldCode, NameFrom, NameState, Profile

from ..documents.schemas import described, render_document
from .content import ListedCodes, MergeTags

__all__ = ["FieldCodeDocument"]

_SIMILAR_NAMES = described(
    "If the name is not certain: up to 10 names that the last sync found, and that differ from it"
    " only in case, spaces and punctuation."
)


@frozen(kw_only=True)
class FieldCodeDocument:
    """What a field is called at one integration or ESP, and its code there.

    Tolerate additional members.
    """

    esp: Esp
    integration_id: IntegrationId | None = field(
        metadata=described("null if the organization has no integration with the ESP.")
    )
    integration_name: str | None
    esp_field_name: str | None = field(
        metadata=described(
            "The name of the field there. null if it has none, or if the field's own code does not"
            " contain it."
        )
    )
    name_from: NameFrom | None = field(
        metadata=described("null if there is neither a name nor a code.")
    )
    state: NameState | None = field(
        metadata=described("null without a name, and for a name in the field's own code.")
    )
    similar_names: Sequence[str] = field(metadata=_SIMILAR_NAMES)
    insertion_code: str | None = field(
        metadata=described("The code that replaces the field in content.")
    )
    insertion_code_with_default: str | None = field(
        metadata=described(
            "The same with `DEFAULT` in the place of the text for recipients without a value. null"
            " if the code can't have a default."
        )
    )
    value_expression: str | None = field(
        metadata=described("The expression that conditions evaluate.")
    )
    prelude: str | None = field(
        metadata=described("Code that the content needs before the first use of these codes.")
    )
    refusal: str | None = field(
        metadata=described("Why a code is null, and what helps. null if neither is.")
    )


@frozen
class FieldCodeListDocument:
    """The response with the codes of a field."""

    codes: Sequence[FieldCodeDocument]


@frozen(kw_only=True)
class MergeTagDocument:
    """A field or a link that an editor can insert into content. Tolerate additional members."""

    key: str = field(metadata=described("The key of the field, or the name of the link."))
    name: str
    reference: str = field(
        metadata=described("What content has in its place: an export replaces it, at each ESP.")
    )
    state: NameState | None = field(
        metadata=described("null for links, without a name, and for the field's own code.")
    )
    insertion_code: str | None = field(
        metadata=described("What an export writes into HTML in the place of the reference.")
    )
    insertion_code_with_default: str | None = field(
        metadata=described(
            "The same with `DEFAULT` in the place of the text for recipients without a value. null"
            " if the code can't have a default."
        )
    )
    prelude: str | None = field(
        metadata=described("Code that the content needs before the first use of this code.")
    )
    refusal: str | None = field(
        metadata=described("Why there is no code, and what helps. null if there is one.")
    )


@frozen
class MergeTagListDocument:
    """The fields, by ascending id, and then the links."""

    merge_tags: Sequence[MergeTagDocument]


_LINKS = {
    SystemValue.UNSUBSCRIBE: "Unsubscribe",
    SystemValue.UNSUBSCRIBE_ALL: "Unsubscribe from all emails",
    SystemValue.PREFERENCES: "Email preferences",
    SystemValue.VIEW_IN_BROWSER: "View in browser",
}


def render_merge_tags(tags: MergeTags) -> dict[str, object]:
    """Return the document of what an editor can insert."""
    fields = [_field_tag(code) for code in tags.codes]
    links = [_link_tag(value, name, tags.profile) for value, name in _LINKS.items()]
    return render_document(MergeTagListDocument([*fields, *links]))


def _field_tag(code: FieldCode) -> MergeTagDocument:
    return MergeTagDocument(
        key=code.field.key,
        name=code.field.name,
        reference=f"{{{{recipient.{code.field.key}}}}}",
        state=None if code.esp_name is None else code.esp_name.state,
        insertion_code=code.html_code,
        insertion_code_with_default=code.html_code_with_default,
        prelude=_prelude(code),
        refusal=code.insertion_refusal,
    )


def _link_tag(value: SystemValue, name: str, profile: Profile) -> MergeTagDocument:
    code = profile.find_system_code(value)
    return MergeTagDocument(
        key=value.value,
        name=name,
        reference=str(value),
        state=None,
        insertion_code=None if isinstance(code, str) else code.code,
        insertion_code_with_default=None,
        prelude=None,
        refusal=code if isinstance(code, str) else None,
    )


def _prelude(code: FieldCode) -> str | None:
    return "".join(code.preludes.values()) or None


def render_codes(listed: ListedCodes) -> dict[str, object]:
    """Return the document of the codes: at each integration, then at each other ESP."""
    names: dict[IntegrationId | None, str] = {each.id: each.name for each in listed.integrations}
    documents = tuple(_document(code, names.get(code.integration_id)) for code in listed.codes)
    return render_document(FieldCodeListDocument(documents))


def render_names(codes: Iterable[FieldCode]) -> dict[str, object]:
    """Return the document of the names in the codes of one integration, in their order."""
    names = []
    for code in codes:
        document = render_document(_document(code, None))
        names.append({"key": code.field.key, **{name: document[name] for name in _ABOUT_NAMES}})
    return {"names": names}


_ABOUT_NAMES = ("esp_field_name", "name_from", "state", "similar_names", "refusal")
"""The members that say what a field is called."""


def _document(code: FieldCode, integration_name: str | None) -> FieldCodeDocument:
    name = code.esp_name
    return FieldCodeDocument(
        esp=code.esp,
        integration_id=code.integration_id,
        integration_name=integration_name,
        esp_field_name=None if name is None else name.name,
        name_from=code.name_from,
        state=None if name is None else name.state,
        similar_names=code.similar_names,
        insertion_code=code.insertion_code,
        insertion_code_with_default=code.insertion_code_with_default,
        value_expression=code.value_expression,
        prelude=_prelude(code),
        refusal=code.refusal,
    )
