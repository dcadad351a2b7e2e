"""The size of a history in memory."""

from __future__ import annotations

from collections.abc import Sequence

from recipient_fields.domain import HistoryRecord, HistorySize, OldRecord

from ..shared_values import shared_record


class HistoryCounter:
    """Counts the bytes that the records of a history would have in a database.

    It counts new records when the size is needed, because the documents of a record take as long as
    a change in memory. Callers hold the lock.
    """

    def __init__(self) -> None:
        self._counted: dict[int, int] = {}
        """The size of each record by ascending sequence."""
        self._values: dict[str, tuple[int, int]] = {}
        """The size of each shared value by digest, and the last record that uses it."""
        self._total = 0
        self._inherited = 0

    def size(self, history: Sequence[HistoryRecord]) -> HistorySize:
        """Return the size of the history."""
        last = next(reversed(self._counted), 0)
        for record in history[_index_after(history, last) :]:
            shared = shared_record(record)
            self._counted[record.sequence] = shared.bytes
            self._total += shared.bytes
            for digest, value in shared.values.items():
                size = len(value.encode())
                if digest not in self._values:
                    self._total += size
                self._values[digest] = size, record.sequence
        return HistorySize(self._total, self._inherited)

    def inherit(self, history: Sequence[HistoryRecord]) -> None:
        """Count a history that another storage has recorded."""
        self._inherited = self.size(history).bytes

    def oldest(self, history: Sequence[HistoryRecord]) -> list[OldRecord]:
        """Return all records, with the bytes that their removal frees."""
        self.size(history)
        freed = {**self._counted}
        for size, sequence in self._values.values():
            freed[sequence] += size
        return [OldRecord(r.sequence, r.occurred_at, freed[r.sequence]) for r in history]

    def remove(self, records: Sequence[OldRecord]) -> None:
        """Subtract these records, which are the oldest ones."""
        for record in records:
            del self._counted[record.sequence]
            self._total -= record.bytes
        first = records[-1].sequence + 1 if records else 0
        self._values = {d: value for d, value in self._values.items() if value[1] >= first}


def _index_after(history: Sequence[HistoryRecord], sequence: int) -> int:
    """Return the index of the first record after this sequence. Sequences have no gaps."""
    return max(0, sequence + 1 - history[0].sequence) if history else 0
