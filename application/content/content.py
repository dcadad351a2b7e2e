"""The use cases of content and conditions that refer to the fields of an organization."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from attrs import field, frozen

from recipient_fields.domain import (
    Catalog,
    FieldNotFound,
    FieldReference,
    IntegrationId,
    KeyTaken,
    OrganizationId,
    RecipientField,
)
from recipient_fields.domain.conditions import Condition, InvalidCondition, check_condition
from recipient_fields.domain.content import (
    Content,
    InvalidContent,
    Strict,
    check_content,
    preview_content,
)
from recipient_fields.domain.esp import (
    DIALECTS,
    ConditionCode,
    Esp,
    ExportedContent,
    Integration,
    IntegrationNotFound,
    IntegrationRequired,
    NotExpressible,
    compile_condition,
    export_content,
    exportable_fields,
)
from recipient_fields.domain.esp.names import EspNames, FieldCode, FieldCodes

from ..arguments import require_ids
from ..ports.fields import FieldRepository
from ..ports.integrations import IntegrationRepository

__all__ = [
    "ConditionSupport",
    "ContentService",
    "IntegrationExport",
    "ListedCodes",
    "Target",
    "TargetFields",
]

_MAX_SHOWN_NAMES = 10
"""The ESP names in a message."""
Target: TypeAlias = Esp | str | IntegrationId
"""The ESP that code is for, also as text such as "braze", or the id of an integration."""


@frozen
class TargetFields:
    """The ESP of a target, its integration if there is one, and the fields that code can use.

    `others` are the fields of other integrations, which the code can't use.
    """

    esp: Esp
    integration_id: IntegrationId | None
    fields: tuple[RecipientField, ...]
    others: tuple[RecipientField, ...]


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
class ConditionSupport:
    """The code of an ESP for a condition, or the reason for which there is none."""

    esp: Esp
    code: ConditionCode | None = None
    refusal: str | None = None


@frozen(kw_only=True)
class IntegrationExport:
    """The content for one integration, or the error for which there is none."""

    integration_id: IntegrationId
    exported: ExportedContent | None = None
    error: InvalidContent | IntegrationNotFound | None = None


@frozen(kw_only=True)
class ContentService:
    """The use cases of content and conditions. They store nothing.

    Every method raises OrganizationNotFound if the organization does not exist, IntegrationNotFound
    if it has no such integration, and IntegrationRequired if the target is an ESP with which it has
    several integrations. `integrations` is None if the storage has none.
    """

    _fields: FieldRepository = field(alias="fields")
    _integrations: IntegrationRepository | None = field(alias="integrations")

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
        catalog, integrations = self._read_catalog(organization_id)
        field = catalog.get(reference)
        return ListedCodes(
            field=field,
            codes=FieldCodes(EspNames(catalog.fields, integrations)).list_codes(field),
            integrations=integrations,
            version_tag=catalog.version_tag,
        )

    def explain_taken_key(self, organization_id: OrganizationId, taken: KeyTaken) -> KeyTaken:
        """Return the error with the ESP names of the synced field that has the key of a new one.

        Other errors stay as they are. The use case that raises the error does not call this,
        because it reads the whole catalog.
        """
        if not taken.is_synced:
            return taken
        try:
            listed = self.list_codes(organization_id, taken.existing_id)
        except FieldNotFound:  # It has been deleted since.
            return taken
        message = f"{taken} {_describe_names(listed)}"
        return KeyTaken(taken.key, taken.existing_id, message, is_synced=True)

    def find_fields(self, organization_id: OrganizationId, target: Target) -> TargetFields:
        """Return the fields that code for the target can use.

        These are the API-managed and manual fields, and the synced fields of one integration.
        """
        fields = self._fields_for(organization_id)
        return _target_fields(fields, *self._find_integration(organization_id, target))

    def check_condition(
        self, organization_id: OrganizationId, condition: Condition, target: Target | None = None
    ) -> None:
        """Check the condition against the fields that code for the target can use.

        Without a target, it can use all fields of the organization.
        Raises: InvalidCondition if the condition does not fit the fields.
        """
        if target is None:
            check_condition(condition, self._fields_for(organization_id))
        else:
            self._find_fields_for(condition, organization_id, target)

    def compile_condition(
        self,
        organization_id: OrganizationId,
        condition: Condition,
        target: Target,
        *,
        then: str,
        otherwise: str = "",
        strict: Strict = False,
    ) -> tuple[Esp, ConditionCode]:
        """Return the ESP, and its code for `then` if the condition holds and `otherwise` if not.

        Raises: InvalidCondition if the condition does not fit the fields; NotExpressible if the ESP
        can't express it, or if the code has warnings that `strict` rejects.
        """
        available = self._find_fields_for(condition, organization_id, target)
        code = compile_condition(
            condition, available.fields, available.esp, then=then, otherwise=otherwise
        )
        rejected = [each.message for each in code.warnings if each.code.kind.is_rejected(strict)]
        if rejected:
            raise NotExpressible(" ".join(rejected))
        return available.esp, code

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

        Without a target, an ESP has no code if it can't use the fields, or if the organization has
        several integrations with it.
        Raises: InvalidCondition if the condition does not fit the fields that code for the target,
        or without a target any code, can use.
        """
        if target is not None:
            available = self._find_fields_for(condition, organization_id, target)
            return (_find_support(condition, available, then, otherwise),)
        fields = self._fields_for(organization_id)
        check_condition(condition, fields)
        integrations = self.list_integrations(organization_id)
        return tuple(
            _support_of_esp(condition, fields, integrations, esp, then, otherwise) for esp in Esp
        )

    def check_content(self, organization_id: OrganizationId, content: Content) -> None:
        """Check the content against all fields of the organization, without an ESP.

        Raises: InvalidContent if a field is unknown, or if a condition does not fit the fields.
        """
        check_content(content, self._fields_for(organization_id))

    def export_content(
        self,
        organization_id: OrganizationId,
        content: Content,
        target: Target,
        *,
        strict: Strict = False,
    ) -> ExportedContent:
        """Return the content with the codes of the ESP instead of references and blocks.

        Raises: InvalidContent if the content can't be exported, or if there are warnings that
        `strict` rejects.
        """
        fields = self._fields_for(organization_id)
        esp, integration_id = self._find_integration(organization_id, target)
        return export_content(content, fields, esp, integration_id=integration_id, strict=strict)

    def export_for_integrations(
        self,
        organization_id: OrganizationId,
        content: Content,
        integration_ids: Iterable[IntegrationId],
        *,
        strict: Strict = False,
    ) -> Iterator[IntegrationExport]:
        """Read the catalog, and return an iterator that exports the content for each integration.

        An export that fails does not end the iteration. Its error is IntegrationNotFound, or the
        InvalidContent that `export_content` raises.
        """
        catalog, integrations = self._read_catalog(organization_id)
        esps = {each.id: each.esp for each in integrations}

        def export(integration_id: IntegrationId) -> IntegrationExport:
            if integration_id not in esps:
                return IntegrationExport(integration_id=integration_id, error=IntegrationNotFound())
            try:
                exported = export_content(
                    content,
                    catalog.fields,
                    esps[integration_id],
                    integration_id=integration_id,
                    strict=strict,
                )
            except InvalidContent as error:
                return IntegrationExport(integration_id=integration_id, error=error)
            return IntegrationExport(integration_id=integration_id, exported=exported)

        return map(export, integration_ids)

    def preview_content(
        self, organization_id: OrganizationId, content: Content, values: Mapping[str, object]
    ) -> str:
        """Return the content for a recipient with these values, by the keys of the fields.

        Raises: InvalidContent if the content does not fit the fields; InvalidRecipient if a value
        has another type than its field.
        """
        return preview_content(content, self._fields_for(organization_id), values)

    def _find_fields_for(
        self, condition: Condition, organization_id: OrganizationId, target: Target
    ) -> TargetFields:
        """Return the fields that code for the target can use. The condition must fit them."""
        available = self.find_fields(organization_id, target)
        check_condition(condition, available.fields, available.others)
        return available

    def _read_catalog(
        self, organization_id: OrganizationId
    ) -> tuple[Catalog, tuple[Integration, ...]]:
        require_ids(organization_id=organization_id)
        if self._integrations is None:
            return self._fields.all(organization_id), ()
        return self._integrations.read_catalog(organization_id)

    def _fields_for(self, organization_id: OrganizationId) -> tuple[RecipientField, ...]:
        require_ids(organization_id=organization_id)
        return tuple(self._fields.all(organization_id).fields)

    def _find_integration(
        self, organization_id: OrganizationId, target: Target
    ) -> tuple[Esp, IntegrationId | None]:
        """Return the ESP, and the id of the integration whose fields the code can use, if any."""
        if isinstance(target, str):
            target = Esp(target)
        if isinstance(target, Esp):
            return target, _only_integration(self.list_integrations(organization_id), target)
        if self._integrations is None:
            raise IntegrationNotFound
        return self._integrations.get(organization_id, target).esp, target


def _describe_names(listed: ListedCodes) -> str:
    """Return a sentence with the ESP names of a field at its organization's integrations."""
    names = {code.integration_id: code.esp_name for code in listed.codes}
    shown = []
    for integration in listed.integrations[:_MAX_SHOWN_NAMES]:
        name = names[integration.id]
        shown.append(f"{'none' if name is None else name.name} at {integration.name}")
    more = len(listed.integrations) - len(shown)
    if more:
        shown.append(f"and {more} more")
    return f"Its names there: {', '.join(shown)}."


def _target_fields(
    fields: tuple[RecipientField, ...], esp: Esp, integration_id: IntegrationId | None
) -> TargetFields:
    usable = exportable_fields(fields, integration_id)
    keys = {field.key for field in usable}
    others = tuple(field for field in fields if field.key not in keys)
    return TargetFields(esp, integration_id, usable, others)


def _only_integration(integrations: Iterable[Integration], esp: Esp) -> IntegrationId | None:
    """Return the integration with the ESP, or None. Raises: IntegrationRequired if several."""
    candidates = [each.id for each in integrations if each.esp is esp]
    if len(candidates) > 1:
        raise IntegrationRequired(DIALECTS[esp].title)
    return candidates[0] if candidates else None


def _support_of_esp(
    condition: Condition,
    fields: tuple[RecipientField, ...],
    integrations: Iterable[Integration],
    esp: Esp,
    then: str,
    otherwise: str,
) -> ConditionSupport:
    try:
        available = _target_fields(fields, esp, _only_integration(integrations, esp))
        check_condition(condition, available.fields, available.others)
    except (InvalidCondition, IntegrationRequired) as error:
        return ConditionSupport(esp=esp, refusal=str(error))
    return _find_support(condition, available, then, otherwise)


def _find_support(
    condition: Condition, available: TargetFields, then: str, otherwise: str
) -> ConditionSupport:
    try:
        code = compile_condition(
            condition, available.fields, available.esp, then=then, otherwise=otherwise
        )
    except NotExpressible as error:
        return ConditionSupport(esp=available.esp, refusal=str(error))
    return ConditionSupport(esp=available.esp, code=code)
