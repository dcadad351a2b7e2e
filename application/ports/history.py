"""The port of the history of fields."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from attrs import frozen

from recipient_fields.domain import (
    Catalog,
    FieldPage,
    FieldQuery,
    HistoryPage,
    HistoryQuery,
    HistorySize,
    OrganizationId,
)

__all__ = ["HistoryRepository", "PublishedHistoryPage"]


@frozen
class PublishedHistoryPage:
    """A page of an organization's history as JSON.

    `records` contains the JSON object of each record by its sequence, in the order of the page.
    `next` is that of the HistoryPage.
    """

    records: Mapping[int, str]
    next: int | None


class HistoryRepository(Protocol):
    """The histories of all organizations: one record for each change of a field.

    For each organization, the records of other organizations do not exist. Only `prune`,
    `prune_to_size` and the deletion of the organization remove records. Pruning removes the oldest
    ones first, so the records that are left have consecutive numbers up to the last one.

    The sequence numbers of an organization's records are 1, 2, 3 and so on, without gaps, in the
    order of the commits. The records of one transaction have consecutive numbers in the order of
    `AppliedChanges.recorded`. A reader that continues after the last number that it has seen
    therefore reads no record twice, and misses none unless `select` raises BeforeHistory. A storage
    must assign the numbers while it locks the organization's catalog until the commit. The numbers
    of a database sequence would not be enough: a transaction could take a number, and commit after
    another one with a greater number.

    The records of one transaction have the same `occurred_at`: that of `CatalogChanges.recorded_at`
    for the argument `at` of the change, or 1 ms after the previous transaction of the organization
    if that is later.
    """

    def select(self, organization_id: OrganizationId, query: HistoryQuery, /) -> HistoryPage:
        """Return the page of records that the query selects.

        It is equal to `query.select` with all records of the organization and the number of removed
        ones.
        Raises: OrganizationNotFound if the organization does not exist; BeforeHistory as
        `HistoryQuery.require_recorded` does.
        """

    def publish(
        self, organization_id: OrganizationId, query: HistoryQuery, /
    ) -> PublishedHistoryPage:
        """Return the page as JSON: equal to `published_page(self.select(organization_id, query))`.

        It is a separate method because a storage can pass the stored documents through, without
        the cost of objects.
        Raises: the errors of `select`.
        """

    def catalog_at(self, organization_id: OrganizationId, at: datetime, /) -> Catalog:
        """Return the catalog as it was at this time, after all changes that occurred until then.

        It contains the fields that `undo` returns for the later records. Its revision is the
        `occurred_at` of the last record until then, in milliseconds since 1970. One transaction
        reads the fields and the records.
        Raises: OrganizationNotFound if the organization does not exist; BeforeHistory if it has no
        record that occurred until then.
        """

    def select_at(
        self, organization_id: OrganizationId, at: datetime, query: FieldQuery, /
    ) -> FieldPage:
        """Return the page of fields that the query selects, as they were at this time.

        It is equal to `query.select(self.catalog_at(organization_id, at))`. It is a separate method
        because a storage can read the large members of the fields on the page only.
        Raises: the errors of `catalog_at`.
        """

    def prune(self, organization_id: OrganizationId, before: datetime, /) -> int:
        """Delete the records that occurred before this time, and return their number.

        A storage may use several transactions, with the oldest records first.
        Raises: OrganizationNotFound if the organization does not exist.
        """

    def size(self, organization_id: OrganizationId, /) -> HistorySize:
        """Return the size of the history.

        A storage maintains it with each change, so that this does not read the records. It may
        count records that another version has stored, once.
        Raises: OrganizationNotFound if the organization does not exist.
        """

    def prune_to_size(self, organization_id: OrganizationId, max_bytes: int, /) -> int:
        """Delete the oldest records until the history has at most `max_bytes`.

        Return their number. A storage may use several transactions. It deletes no more records than
        necessary, except that it may treat the records of one transaction of a change as one unit;
        also if several processes call this at the same time.
        Raises: OrganizationNotFound if the organization does not exist.
        """
