"""Checks of lists of recipients, without a command or a page."""

from __future__ import annotations

import io
from typing import Any

import pytest
from attrs import field, frozen

from recipient_fields.adapters.memory import MemoryStorage
from recipient_fields.application import Core
from recipient_fields.application.ports.recipients import FileOptions, UnreadableFile
from recipient_fields.application.recipients.lists import CheckReport, ListOptions, RecipientList
from recipient_fields.domain import AllowedValues, DataType, FieldDraft, OrganizationId
from recipient_fields.entrypoints.service.selection import open_recipients

TIERS = AllowedValues(DataType.TEXT, ["gold", "silver"])
DETECTED = FileOptions()


@frozen
class Checked:
    """The report of a check, and the contents of its outputs."""

    report: CheckReport
    valid: bytes
    rejects: bytes

    @property
    def numbers(self) -> tuple[int, int]:
        """The numbers of valid and of invalid rows."""
        return self.report.valid, self.report.invalid

    @property
    def lines(self) -> list[str]:
        """The findings, one line each."""
        return [
            f"{each.line}: {each.key}: {each.message}"
            if each.key
            else f"{each.line}: {each.message}"
            for each in self.report.findings
        ]


@frozen
class Lists:
    """Checks against the fields of one organization."""

    core: Core = field(factory=lambda: Core.over(MemoryStorage()))
    organization_id: OrganizationId = field(init=False)

    @organization_id.default
    def _create_organization(self) -> OrganizationId:
        return self.core.administration.create_organization("Acme").id

    def add_fields(self) -> None:
        """Create a field of each type, and one with allowed values."""
        self._add("Tier", DataType.TEXT, TIERS)
        self._add("Comment", DataType.TEXT)
        self._add("Shoe size", DataType.NUMBER)
        self._add("Born", DataType.DATE)
        self._add("Seen", DataType.DATETIME)
        self._add("Vip", DataType.BOOLEAN)

    def _add(self, name: str, data_type: DataType, allowed: AllowedValues | None = None) -> None:
        draft = FieldDraft(name=name, data_type=data_type, allowed_values=allowed)
        self.core.fields.create_field(self.organization_id, draft)

    def check(
        self,
        content: str | bytes,
        name: str = "list.csv",
        file_options: FileOptions = DETECTED,
        **options: Any,
    ) -> Checked:
        """Check a file with this content."""
        binary = io.BytesIO(content if isinstance(content, bytes) else content.encode())
        names = self.core.content.read_codes(self.organization_id).names
        valid, rejects = io.BytesIO(), io.BytesIO()
        with open_recipients(binary, name, file_options) as reader:
            recipients = RecipientList.of(reader, names, ListOptions(**options))
            with (
                recipients.reader.open_writer(valid, rejects=False) as valid_rows,
                recipients.reader.open_writer(rejects, rejects=True) as invalid_rows,
            ):
                report = recipients.check(valid=valid_rows, rejects=invalid_rows)
        return Checked(report, valid.getvalue(), rejects.getvalue())

    def refusal(self, content: str | bytes, *arguments: Any, **options: Any) -> str:
        """Return the reason for which a file with this content can't be read."""
        with pytest.raises(UnreadableFile) as refused:
            self.check(content, *arguments, **options)
        return str(refused.value)
