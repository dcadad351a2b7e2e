"""The codes of all fields of an organization, at its integrations and at other ESPs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from attrs import evolve

from ..content.resolution import OWN_EMAIL
from ..esp.esps import Esp
from ..esp.field_codes import FieldCode, derived_code, has_own_code, own_code, with_codes
from ..esp.names import NameFrom, NameState, Target
from ..esp.preludes import Preludes
from ..fields.field import RecipientField
from ..fields.protocol import Field
from .esp_names import EspNames
from .integration import Integration
from .proposals import NameProposals

__all__ = ["FieldCodes"]


class FieldCodes:
    """The codes of the fields of one organization, at its integrations and at other ESPs.

    Content, conditions, lists and all pages and commands that show codes use these.
    """

    def __init__(self, names: EspNames) -> None:
        self._names = names
        self._proposals = NameProposals(names)
        self._preludes: dict[Target, Preludes] = {}

    @property
    def names(self) -> EspNames:
        """The names from which the codes are derived."""
        return self._names

    @classmethod
    def of(
        cls, fields: Iterable[RecipientField], integrations: Iterable[Integration] = ()
    ) -> FieldCodes:
        """Return the codes of all fields and integrations of an organization."""
        return cls(EspNames(fields, integrations))

    def find(self, key: str, target: Target) -> FieldCode | None:
        """Return the code at the target of the field with this key, or None if there is none."""
        field = self.names.by_key.get(key)
        return None if field is None else self.get(field, target)

    def get_own_email(self, target: Target) -> FieldCode:
        """Return the code of the ESP's own field for the address of the recipient."""
        field = OWN_EMAIL
        name = self.names.derive_name(field, target)
        code = FieldCode(
            field=field,
            profile=self.names.get_profile(target),
            integration_id=None if isinstance(target, Esp) else target,
            name_from=name.name_from,
            esp_name=name,
        )
        return derived_code(code, name)

    def list_codes(self, field: RecipientField) -> tuple[FieldCode, ...]:
        """Return the code at each integration, and then at each ESP without an integration."""
        integrations = sorted(self.names.integrations)
        connected = {self.names.get_profile(each).esp for each in integrations}
        targets: list[Target] = [*integrations, *(esp for esp in Esp if esp not in connected)]
        return tuple(self.get(field, target) for target in targets)

    def get(self, field: RecipientField, target: Target) -> FieldCode:
        """Return the code of the field at the target, the first of these.

        The code that is derived from a name that was set; the field's own code, if its integration
        is the target, or if it is an API or manual field whose code is not in another dialect; the
        code of its counterpart; the code that is derived from its ESP name.
        """
        name = self.names.find(field, target)
        code = FieldCode(
            field=field,
            profile=self.names.get_profile(target),
            integration_id=None if isinstance(target, Esp) else target,
            name_from=None if name is None else name.name_from,
            esp_name=name,
        )
        is_set = name is not None and name.name_from is NameFrom.INTEGRATION
        if not is_set and field.origin.integration_id is None and has_own_code(code.profile, field):
            return own_code(code, self._find_preludes(field, target))
        if name is None:
            reason = self._proposals.explain_absence(field, target)
            return evolve(
                code,
                insertion_refusal=reason,
                expression_refusal=reason,
                proposal=self._proposals.find(field, target),
            )
        if name.state is not NameState.FOUND:
            similar = self.names.find_similar(field, target)
            proposal = self._proposals.find(field, target) if similar else None
            code = evolve(code, similar_names=similar, proposal=proposal)
        if is_set:
            return derived_code(code, name)
        source = field if field.origin.integration_id == target else name.counterpart
        if source is None or not (source.custom_insertion_code and source.custom_value_expression):
            return derived_code(code, name)
        codes = source.custom_insertion_code, source.custom_value_expression
        return with_codes(code, codes, self._find_preludes(source, target))

    def _find_preludes(self, field: Field, target: Target) -> Mapping[str, str]:
        """Return the preludes that the stored codes of the field require at the target."""
        if self.names.get_profile(target).insertion.prelude is None:
            return {}
        if target not in self._preludes:
            self._preludes[target] = Preludes(
                self.names.get_profile(target), partial(self.names.synced_fields, target)
            )
        return self._preludes[target].of(field)
