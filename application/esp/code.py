"""The use cases of code for ESPs, which refers to the fields of an organization."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from attrs import frozen

from recipient_fields.domain import IntegrationId, OrganizationId, RecipientField
from recipient_fields.domain.conditions import Condition, check_condition
from recipient_fields.domain.content import Content, check_content, preview_content
from recipient_fields.domain.esp import (
    DIALECTS,
    ConditionCode,
    Esp,
    ExportedContent,
    IntegrationRequired,
    NotExpressible,
    compile_condition,
    export_content,
    exportable_fields,
)

from ..identifiers import require_ids
from ..ports.fields import FieldRepository
from ..ports.integrations import IntegrationRepository

__all__ = ["EspCodeService", "Target", "TargetFields"]

Target: TypeAlias = Esp | IntegrationId
"""The ESP that code is for, or the id of one of the organization's integrations."""


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
class EspCodeService:
    """The use cases of code for ESPs. They store nothing.

    Every method raises OrganizationNotFound if the organization does not exist, IntegrationNotFound
    if it has no such integration, and IntegrationRequired if the target is an ESP with which it has
    several integrations.
    """

    fields: FieldRepository
    integrations: IntegrationRepository

    def find_fields(self, organization_id: OrganizationId, target: Target) -> TargetFields:
        """Return the fields that code for the target can use.

        These are the API-managed and manual fields, and the synced fields of one integration.
        """
        fields = self._fields(organization_id)
        esp, integration_id = self._find_integration(organization_id, target)
        usable = exportable_fields(fields, integration_id)
        others = tuple(
            field for field in fields if field.origin.integration_id not in {None, integration_id}
        )
        return TargetFields(esp, integration_id, usable, others)

    def check_condition(
        self, organization_id: OrganizationId, condition: Condition, target: Target | None = None
    ) -> None:
        """Check the condition against the fields that code for the target can use.

        Without a target, it can use all fields of the organization.
        Raises: InvalidCondition if the condition does not fit the fields.
        """
        if target is None:
            check_condition(condition, self._fields(organization_id))
        else:
            available = self.find_fields(organization_id, target)
            check_condition(condition, available.fields, available.others)

    def compile_condition(
        self,
        organization_id: OrganizationId,
        condition: Condition,
        target: Target,
        *,
        then: str,
        otherwise: str = "",
        strict: bool = False,
    ) -> tuple[Esp, ConditionCode]:
        """Return the ESP, and its code for `then` if the condition holds and `otherwise` if not.

        Raises: InvalidCondition if the condition does not fit the fields; NotExpressible if the ESP
        can't express it, or if `strict` is true and the code has a caveat.
        """
        available = self.find_fields(organization_id, target)
        check_condition(condition, available.fields, available.others)
        code = compile_condition(
            condition, available.fields, available.esp, then=then, otherwise=otherwise
        )
        if strict and code.caveats:
            raise NotExpressible(" ".join(code.caveats))
        return available.esp, code

    def check_content(self, organization_id: OrganizationId, content: Content) -> None:
        """Check the content against all fields of the organization, without an ESP.

        Raises: InvalidContent if a field is unknown, or if a condition does not fit the fields.
        """
        check_content(content, self._fields(organization_id))

    def export_content(
        self,
        organization_id: OrganizationId,
        content: Content,
        target: Target,
        *,
        strict: bool = False,
    ) -> ExportedContent:
        """Return the content with the codes of the ESP instead of references and blocks.

        Raises: InvalidContent if the content can't be exported, or if `strict` is true and there
        are warnings.
        """
        fields = self._fields(organization_id)
        esp, integration_id = self._find_integration(organization_id, target)
        return export_content(content, fields, esp, integration_id=integration_id, strict=strict)

    def preview_content(
        self, organization_id: OrganizationId, content: Content, values: Mapping[str, object]
    ) -> str:
        """Return the content for a recipient with these values, by the keys of the fields.

        Raises: InvalidContent if the content does not fit the fields; InvalidRecipient if a value
        has another type than its field.
        """
        return preview_content(content, self._fields(organization_id), values)

    def _fields(self, organization_id: OrganizationId) -> tuple[RecipientField, ...]:
        require_ids(organization_id=organization_id)
        return tuple(self.fields.all(organization_id).fields)

    def _find_integration(
        self, organization_id: OrganizationId, target: Target
    ) -> tuple[Esp, IntegrationId | None]:
        """Return the ESP, and the id of the integration whose fields the code can use, if any."""
        if not isinstance(target, Esp):
            return self.integrations.get(organization_id, target).esp, target
        integrations = self.integrations.all(organization_id)
        candidates = [each.id for each in integrations if each.esp is target]
        if len(candidates) > 1:
            raise IntegrationRequired(DIALECTS[target].title)
        return target, candidates[0] if candidates else None
