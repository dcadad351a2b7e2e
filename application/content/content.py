"""The use cases of content and conditions that refer to the fields of an organization."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import date
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from attrs import field, frozen

from recipient_fields.domain import (
    Catalog,
    CheckedRecipient,
    DataType,
    FieldReference,
    IntegrationId,
    KeyTaken,
    OrganizationId,
    RecipientField,
    RecipientFieldsError,
    RecipientSchema,
    RecipientTexts,
    Violation,
)
from recipient_fields.domain.arguments import require_ids, require_reference
from recipient_fields.domain.conditions import (
    Condition,
    InvalidCondition,
    InvalidRecipient,
    check_condition,
    condition_keys,
)
from recipient_fields.domain.conditions.tree import require_condition
from recipient_fields.domain.content import (
    DEFAULT_STRICT,
    Content,
    InvalidContent,
    PreviewedContent,
    Strict,
    Surface,
    find_examples,
    preview_content,
)
from recipient_fields.domain.esp import (
    BUILT_IN,
    PORTABLE,
    CheckedContent,
    CodeWarning,
    ConditionCode,
    ContentExporter,
    Esp,
    ExportedContent,
    ExportOptions,
    FieldCode,
    MissingProfile,
    NotExpressible,
    Profile,
    Profiles,
    check_condition_for,
    check_content,
    compile_condition,
    field_warnings,
)
from recipient_fields.domain.integrations import (
    EspNames,
    FieldCodes,
    Integration,
    IntegrationNotFound,
    IntegrationRequired,
    NamesQuery,
)
from recipient_fields.domain.integrations.selection import CatalogRequired, SelectedNames

from ..clock import Clock, system_clock
from ..ports.fields import FieldRepository
from ..ports.integrations import IntegrationRepository

if TYPE_CHECKING:
    from recipient_fields.domain.integrations import Conversion, ConversionOptions

__all__ = [
    "ConditionSupport",
    "ContentService",
    "ContentTrial",
    "FieldSample",
    "IntegrationExport",
    "ListedCodes",
    "MergeTags",
    "SampledPreview",
    "Target",
]

T = TypeVar("T")

_MAX_SHOWN_NAMES = 10
"""The ESP names in a message."""
_SAMPLES: Mapping[DataType, str] = {
    DataType.NUMBER: "3",
    DataType.BOOLEAN: "true",
    DataType.DATE: "2026-11-20",
    DataType.DATETIME: "2026-11-20T09:15:00Z",
}
"""The sample values of fields without allowed values. Those of text fields are their names."""
Target: TypeAlias = Esp | str | IntegrationId
"""The ESP that code is for, also as text such as "braze", or the id of an integration."""


@frozen(kw_only=True)
class ListedCodes:
    """The codes of a field at each integration, and then at each ESP without an integration.

    `integrations` are those of the organization, and `version_tag` is that of its catalog.
    """

    field: RecipientField
    codes: tuple[FieldCode, ...]
    integrations: tuple[Integration, ...]
    version_tag: str


@frozen(kw_only=True)
class MergeTags:
    """What an editor can insert into content for one target.

    `codes` are those of the insertable fields as a person sees them, without counterparts. The
    links are those of the `profile`, and `version_tag` is that of the catalog.
    """

    codes: tuple[FieldCode, ...]
    profile: Profile
    version_tag: str


@frozen(kw_only=True)
class ConditionSupport:
    """The code of an ESP for a condition, or the reason for which there is none.

    Without a code and a reason, the organization is not connected with the ESP.
    """

    esp: Esp
    code: ConditionCode | None = None
    refusal: str | None = None


@frozen
class IntegrationExport:
    """The content for one integration, or the error for which there is none."""

    integration_id: IntegrationId
    outcome: ExportedContent | InvalidContent | IntegrationNotFound | MissingProfile


@frozen
class FieldSample:
    """A field, and a value that a recipient can have, as text."""

    field: RecipientField
    text: str

    @classmethod
    def of(cls, field: RecipientField) -> FieldSample:
        """Return the first allowed value of the field, or an example."""
        if field.allowed_values is not None:
            return cls(field, str(field.allowed_values.values[0]))
        return cls(field, _SAMPLES.get(field.data_type, str(field.name)))


@frozen(kw_only=True)
class SampledPreview:
    """What a recipient with sample values reads.

    `samples` are the values of the fields in the content, in the order of their first use.
    `violations` are those of the values. If one has another type than its field, the content is
    None.
    """

    samples: tuple[FieldSample, ...]
    violations: tuple[Violation, ...]
    content: str | None


class ContentTrial:
    """The exports of one content and their previews, with the fields of one catalog."""

    def __init__(
        self, content: Content, codes: FieldCodes, options: ExportOptions, today: date
    ) -> None:
        self._exporter = ContentExporter(content, options, codes.names.profiles)
        self._codes, self._by_key = codes, codes.names.by_key
        self._content, self._today = content, today

    def export(self, target: Target) -> ExportedContent:
        """Return the content for the target. Raises: as `ContentService.export_content` does."""
        return self._exporter.export(self._codes, target)

    def samples(
        self, exported: ExportedContent, texts: Mapping[str, str]
    ) -> tuple[FieldSample, ...]:
        """Return values for the fields of an export: these texts, by their keys, or examples."""
        fields = [self._by_key[key] for key in exported.keys]
        return tuple(
            FieldSample(each, texts[each.key]) if each.key in texts else FieldSample.of(each)
            for each in fields
        )

    def examples(self, exported: ExportedContent) -> list[Mapping[str, str]]:
        """Return values for the fields of an export as texts, by their keys.

        The first ones are those of `samples`. Each of the others shows a branch of the content that
        those before it do not show.
        """
        samples = self.samples(exported, {})
        found = find_examples(
            self._content,
            self._by_key.values(),
            self._check(samples).values,
            resolved=exported.resolved,
        )
        return [
            {each.field.key: _text(example.get(each.field.key)) for each in samples}
            for example in found
        ]

    def _check(self, samples: Iterable[FieldSample]) -> CheckedRecipient:
        texts = {str(sample.field.key): sample.text for sample in samples}
        return RecipientTexts(RecipientSchema(self._by_key)).check(texts)

    def preview(
        self,
        exported: ExportedContent,
        texts: Mapping[str, str],
        event: Mapping[str, object] | None = None,
    ) -> SampledPreview:
        """Return the preview of an export with these values as texts, by the keys of fields.

        Other fields in the content have sample values. `event` is the event data, by name.
        Raises: InvalidContent if the preview is too long.
        """
        samples = self.samples(exported, texts)
        checked = self._check(samples)
        violations, content = checked.violations, None
        if len(checked.unlisted) == len(violations):
            try:
                content = preview_content(
                    self._content,
                    self._by_key.values(),
                    {**checked.values, **checked.unlisted},
                    event=event,
                    surface=exported.surface,
                    resolved=exported.resolved,
                    today=self._today,
                ).content
            except InvalidRecipient as invalid:
                violations = invalid.violations
        return SampledPreview(samples=samples, violations=tuple(violations), content=content)


@frozen(kw_only=True)
class ContentService:
    """The use cases of content and conditions. They store nothing.

    Every method raises OrganizationNotFound if the organization does not exist, IntegrationNotFound
    if it has no such integration, and IntegrationRequired if the target is an ESP with which it has
    several integrations, or MissingProfile if the ESP of the integration has no profile.
    `integrations` is None if the storage has none.
    """

    _fields: FieldRepository = field(alias="fields")
    _integrations: IntegrationRepository | None = field(alias="integrations")
    _clock: Clock = field(default=system_clock, alias="clock")
    profiles: Profiles = BUILT_IN

    def list_integrations(self, organization_id: OrganizationId) -> tuple[Integration, ...]:
        """Return the integrations that can be targets, by ascending id.

        If the storage has no integrations, there are none, even if the organization does not exist.
        """
        require_ids(organization_id=organization_id)
        return () if self._integrations is None else self._integrations.all(organization_id)

    def list_codes(self, organization_id: OrganizationId, reference: FieldReference) -> ListedCodes:
        """Return the codes of the field with this id or key.

        Raises: FieldNotFound if the organization has no such field.
        """
        require_reference(reference)
        query = NamesQuery.of_field(reference, self.profiles)

        def list_codes(catalog: Catalog, codes: FieldCodes) -> ListedCodes:
            field = catalog.get(reference)
            return ListedCodes(
                field=field,
                codes=codes.list_codes(field),
                integrations=tuple(codes.names.integrations.values()),
                version_tag=catalog.version_tag,
            )

        return self._with_codes(organization_id, query, list_codes)

    def list_merge_tags(self, organization_id: OrganizationId, target: Target) -> MergeTags:
        """Return what an editor can insert into content for the target."""
        catalog, integrations = self._read_catalog(organization_id)
        codes = FieldCodes.of(catalog.fields, integrations, self.profiles)
        target = codes.names.resolve_target(target)
        return MergeTags(
            codes=tuple(
                codes.get(field, target)
                for field in catalog.fields
                if field.insertable and codes.names.definition_of(field) is None
            ),
            profile=codes.names.get_profile(target),
            version_tag=catalog.version_tag,
        )

    def explain_taken_key(self, organization_id: OrganizationId, taken: KeyTaken) -> KeyTaken:
        """Return the error with the ESP names of the synced field that has the key of a new one.

        Other errors stay as they are, and so does this one if the names can't be read, for example
        because the field has been deleted since. The use case that raises the error does not call
        this, because it can read the whole catalog.
        """
        if not taken.is_synced:
            return taken
        try:
            listed = self.list_codes(organization_id, taken.existing_id)
        except RecipientFieldsError:
            return taken
        message = f"{taken} {_describe_names(listed)}"
        return KeyTaken(taken.key, taken.existing_id, message, is_synced=True)

    def find_warnings(self, field: RecipientField) -> tuple[CodeWarning, ...]:
        """Return the warnings about the field's own codes, which need no catalog."""
        return field_warnings(field, self.profiles)

    def read_codes(self, organization_id: OrganizationId) -> FieldCodes:
        """Return the names and codes of all fields of the organization at its integrations."""
        catalog, integrations = self._read_catalog(organization_id)
        return FieldCodes.of(catalog.fields, integrations, self.profiles)

    def read_names(self, organization_id: OrganizationId) -> tuple[EspNames, str]:
        """Return the ESP names of the organization's fields, and the version tag of its catalog."""
        catalog, integrations = self._read_catalog(organization_id)
        return EspNames(catalog.fields, integrations, self.profiles), catalog.version_tag

    def check_condition(
        self, organization_id: OrganizationId, condition: Condition, target: Target | None = None
    ) -> None:
        """Check the condition against the fields of the organization.

        With a target, a key that no field has can mean a field of this integration.
        Raises: InvalidCondition if the condition does not fit the fields.
        """
        if target is None:
            require_ids(organization_id=organization_id)
            check_condition(condition, self._fields.all(organization_id).fields)
        else:
            require_condition(condition)
            self._with_codes(
                organization_id,
                self._query(condition_keys(condition), target),
                lambda _, codes: check_condition_for(condition, codes, target),
            )

    def compile_condition(
        self,
        organization_id: OrganizationId,
        condition: Condition,
        target: Target,
        *,
        then: str,
        otherwise: str = "",
        strict: Strict = DEFAULT_STRICT,
    ) -> tuple[Esp, ConditionCode]:
        """Return the ESP, and its code for `then` if the condition holds and `otherwise` if not.

        Raises: InvalidCondition if the condition does not fit the fields; NotExpressible if the ESP
        can't express it, or if the code has mistakes, unless `strict` permits them.
        """
        require_condition(condition)

        def compile_for(_: Catalog, codes: FieldCodes) -> tuple[Esp, ConditionCode]:
            code = compile_condition(
                condition, codes, target, then=then, otherwise=otherwise, strict=strict
            )
            return codes.names.get_profile(codes.names.resolve_target(target)).esp, code

        query = self._query(condition_keys(condition), target)
        return self._with_codes(organization_id, query, compile_for)

    def explain_condition(
        self,
        organization_id: OrganizationId,
        condition: Condition,
        target: Target | None = None,
        *,
        then: str,
        otherwise: str = "",
    ) -> tuple[ConditionSupport, ...]:
        """Return the code of the target, or of each ESP, or the reason for which there is none.

        Without a target, an ESP has no code if the organization has no integration with it, or
        several.
        Raises: InvalidCondition if the condition does not fit the fields.
        """
        codes = self.read_codes(organization_id)
        if target is not None:
            target = codes.names.resolve_target(target)
            check_condition_for(condition, codes, target)
            return (find_support(condition, codes, target, then=then, otherwise=otherwise),)
        check_condition(condition, codes.names.fields)
        connected = {each.esp for each in codes.names.integrations.values()}
        return tuple(
            find_support(condition, codes, esp, then=then, otherwise=otherwise)
            if esp in connected
            else ConditionSupport(esp=esp)
            for esp in self.profiles.esps
        )

    def check_content(
        self,
        organization_id: OrganizationId,
        content: Content,
        *,
        strict: Strict = DEFAULT_STRICT,
        literals: Collection[str] = (),
    ) -> CheckedContent:
        """Check the content against all fields of the organization, without an ESP.

        Raises: InvalidContent if a field is unknown, if a condition does not fit the fields, or if
        the content has mistakes, such as code of an ESP, unless `strict` permits them. The message
        about a key that no field has says for which integrations it works.
        """
        names, _ = self.read_names(organization_id)
        return check_content(
            content,
            names.fields,
            explain_key=names.explain_key,
            strict=strict,
            literals=literals,
            profiles=self.profiles,
        )

    def export_content(
        self,
        organization_id: OrganizationId,
        content: Content,
        target: Target,
        options: ExportOptions = ExportOptions(),  # noqa: B008 (it is immutable)
    ) -> ExportedContent:
        """Return the content with the codes of the ESP instead of references and blocks.

        Raises: InvalidContent if the content can't be exported, or if it has mistakes, unless the
        options permit them.
        """
        exporter = ContentExporter(content, options, self.profiles)
        return self._with_codes(
            organization_id,
            self._query(content.keys(), target),
            lambda _, codes: exporter.export(codes, target),
        )

    def export_for_integrations(
        self,
        organization_id: OrganizationId,
        content: Content,
        integration_ids: Iterable[IntegrationId],
        options: ExportOptions = ExportOptions(),  # noqa: B008 (it is immutable)
    ) -> Iterator[IntegrationExport]:
        """Read the catalog, and return an iterator that exports the content for each integration.

        An export that fails does not end the iteration. Its error is IntegrationNotFound,
        MissingProfile, or the InvalidContent that `export_content` raises.
        Raises: InvalidContent if the content has violations.
        """
        if content.violations:
            raise InvalidContent(content.violations)
        trial = self.try_content(organization_id, content, options)

        def export(integration_id: IntegrationId) -> IntegrationExport:
            try:
                return IntegrationExport(integration_id, trial.export(integration_id))
            except (InvalidContent, IntegrationNotFound, MissingProfile) as error:
                return IntegrationExport(integration_id, error)

        return map(export, integration_ids)

    def try_content(
        self,
        organization_id: OrganizationId,
        content: Content,
        options: ExportOptions = ExportOptions(),  # noqa: B008 (it is immutable)
    ) -> ContentTrial:
        """Read the catalog for exports of the content, and for their previews."""
        return ContentTrial(
            content, self.read_codes(organization_id), options, self._clock().date()
        )

    def convert_content(
        self,
        organization_id: OrganizationId,
        text: str,
        read: Target,
        write: Target | Literal["portable"] = PORTABLE,
        options: ConversionOptions | None = None,
    ) -> Conversion:
        """Return a template with the names of the fields at both targets, or as content.

        Raises: InvalidContent as `convert` does.
        """
        # Imported here because most processes convert no templates.
        from recipient_fields.domain.integrations import ConversionOptions, convert

        return convert(
            text,
            read=read,
            write=write,
            options=options or ConversionOptions(),
            codes=self.read_codes(organization_id),
        )

    def preview_content(
        self,
        organization_id: OrganizationId,
        content: Content,
        values: Mapping[str, object],
        *,
        event: Mapping[str, object] | None = None,
        surface: Surface | str | None = None,
    ) -> PreviewedContent:
        """Return the content for a recipient with these values, by the keys of the fields.

        `event` is the event data, by name. Without a `surface`, content with an HTML tag is `html`,
        and other content `text`. In HTML, the values are escaped.
        Raises: InvalidContent if the content does not fit the fields; InvalidRecipient, with all
        violations, if a value has no field, or another type than its field.
        """
        names, _ = self.read_names(organization_id)
        return preview_content(
            content,
            names.fields,
            values,
            event=event,
            surface=surface,
            definitions=names.definitions,
            today=self._clock().date(),
        )

    def _query(self, keys: Iterable[str], target: Target) -> NamesQuery:
        """Return the query for the fields with these keys, at the target."""
        if isinstance(target, str):
            target = self.profiles.parse_name(target)
        return NamesQuery(keys=keys, targets=[target], profiles=self.profiles)

    def _with_codes(
        self,
        organization_id: OrganizationId,
        query: NamesQuery,
        use: Callable[[Catalog, FieldCodes], T],
    ) -> T:
        """Return the result of `use` with what the query selects, or with the whole catalog.

        It reads the whole catalog if the result depends on it, for example for a suggestion.
        """
        require_ids(organization_id=organization_id)
        if self._integrations is not None:
            with suppress(CatalogRequired):
                catalog, integrations = self._integrations.select(organization_id, query)
                names = SelectedNames(query, catalog.fields, integrations)
                return use(catalog, FieldCodes(names))
        catalog, integrations = self._read_catalog(organization_id)
        return use(catalog, FieldCodes.of(catalog.fields, integrations, self.profiles))

    def _read_catalog(
        self, organization_id: OrganizationId
    ) -> tuple[Catalog, tuple[Integration, ...]]:
        require_ids(organization_id=organization_id)
        if self._integrations is None:
            return self._fields.all(organization_id), ()
        return self._integrations.read_catalog(organization_id)


def _text(value: object) -> str:
    """Return a value of a recipient as a person enters it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _describe_names(listed: ListedCodes) -> str:
    """Return a sentence with the ESP names of a field at its organization's integrations."""
    names = {code.integration_id: code.esp_name for code in listed.codes}
    shown = []
    for integration in listed.integrations[:_MAX_SHOWN_NAMES]:
        name = names.get(integration.id)
        shown.append(f"{'none' if name is None else name.name} at {integration.name}")
    more = len(listed.integrations) - len(shown)
    if more:
        shown.append(f"and {more} more")
    return f"Its names there: {', '.join(shown)}."


def find_support(
    condition: Condition,
    codes: FieldCodes,
    target: Esp | IntegrationId,
    *,
    then: str,
    otherwise: str,
    strict: Strict = DEFAULT_STRICT,
) -> ConditionSupport:
    """Return the code of the condition at the target, or the reason for which there is none."""
    esp = codes.names.get_profile(target).esp
    try:
        code = compile_condition(
            condition, codes, target, then=then, otherwise=otherwise, strict=strict
        )
    except (InvalidCondition, IntegrationRequired, NotExpressible) as error:
        return ConditionSupport(esp=esp, refusal=str(error))
    return ConditionSupport(esp=esp, code=code)
