"""The tests for every implementation of RecipientFields: the service itself, and its clients."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, TypeAlias

import pytest
from attrs import evolve

from recipient_fields.application import HistoryStorage, RecipientFields, published
from recipient_fields.domain import (
    ADMINISTRATOR,
    ANY_VERSION,
    API,
    MAX_HISTORY_PAGE,
    MILLISECOND,
    UNCONDITIONAL,
    AllowedValues,
    Author,
    Batch,
    BatchOperation,
    BatchRejected,
    BeforeHistory,
    CatalogChanged,
    Channel,
    CreateField,
    DataType,
    DeleteField,
    FieldChanges,
    FieldDraft,
    FieldId,
    FieldIdentity,
    FieldKey,
    FieldLimitReached,
    FieldName,
    FieldNotFound,
    FieldQuery,
    FieldReference,
    HistoryPage,
    HistoryQuery,
    HistoryRecord,
    HistoryRemoved,
    InvalidField,
    KeyRepeated,
    KeyTaken,
    Operation,
    OperationForbidden,
    OrganizationId,
    OrganizationNotFound,
    Position,
    Precondition,
    RecipientField,
    RecipientFieldsError,
    ReplaceField,
    SortKey,
    Source,
    UpdateField,
    VersionConflict,
    decide,
)

from .concurrency import race
from .examples import (
    ACCEPTED_VALUES,
    INSERTION_CODES,
    LATER,
    LINES,
    MIXED_DEFINITIONS,
    NEVER_ASSIGNED,
    NOW,
    SYNC,
    a_definition,
    renaming,
)
from .field_changes import add_field, delete_field, update_field
from .queries import FILTERS, TEXTS

OTHERS: pytest.MarkDecorator = pytest.mark.parametrize(
    "other", [ADMINISTRATOR, SYNC], ids=lambda other: other.phrase
)

Call: TypeAlias = Callable[[RecipientFields, OrganizationId], object]
Change: TypeAlias = Callable[
    [RecipientFields, OrganizationId, FieldReference, Precondition], object
]
WrongValues: TypeAlias = tuple[DataType, list[object], list[tuple[str, tuple[object, ...]]]]

_CITY = FieldKey("city")

OF_AN_ORGANIZATION: dict[str, Call] = {
    "list": lambda service, ours: service.list_fields(ours),
    "publish": lambda service, ours: service.publish_fields(ours),
    "find": lambda service, ours: service.find_fields(ours, FieldQuery(limit=1)),
    "create": lambda service, ours: service.create_field(ours, a_draft()),
    "list changes": lambda service, ours: service.list_changes(ours, HistoryQuery(limit=1)),
    "list as of": lambda service, ours: service.list_fields_as_of(ours, LATER),
    "replace or create": lambda service, ours: service.replace_or_create_field(ours, a_draft()),
    "apply batch": lambda service, ours: service.apply_batch(
        ours, Batch((CreateField(a_draft()),))
    ),
    "apply batch minimally": lambda service, ours: service.apply_batch_minimally(
        ours, Batch((CreateField(a_draft()),))
    ),
    "apply an empty batch": lambda service, ours: service.apply_batch(ours, Batch(())),
}
"""Calls that require an organization."""

OF_A_FIELD: dict[str, Change] = {
    "update": lambda service, ours, field, expected: service.update_field(
        ours, field, FieldChanges(name="Town"), expected
    ),
    "delete": lambda service, ours, field, expected: service.delete_field(ours, field, expected),
}
"""Calls that require an API-managed field in the expected version."""

READS_OF_CITY: dict[str, Call] = {
    "get": lambda service, ours: service.get_field(ours, _CITY),
    "list": lambda service, ours: service.list_fields(ours).fields[0],
    "find": lambda service, ours: service.find_fields(ours, FieldQuery(limit=1)).fields[0],
}
"""Calls that return the field `city`."""

CHANGES: dict[str, dict[str, Any]] = {
    "name": {"name": "Town"},
    "allowed values": {"allowed_values": ["b", "a"]},
    "any values": {"allowed_values": None},
    "insertable": {"insertable": False},
    "insertion code": {"custom_insertion_code": "{{ town }}"},
    "no insertion code": {"custom_insertion_code": None},
    "value expression": {"custom_value_expression": "town"},
    "no value expression": {"custom_value_expression": None},
}

HISTORY_QUERIES: dict[str, dict[str, Any]] = {
    "all": {},
    "a page": {"limit": 2},
    "the page after a record": {"limit": 2, "after": 3},
    "after no record": {"after": 0},
    "after a negative number": {"after": -5},
    "after the last record": {"after": 2**53 - 1},
    "newest first": {"descending": True, "limit": 2, "after": 5},
    "a key": {"keys": ["city"]},
    "keys": {"keys": ["city", "size", "unknown"], "limit": 3},
    "no key": {"keys": []},
    "an impossible key": {"keys": ["not a key"]},
    "too many keys for a URL": {"keys": [*(f"{'k' * 55}_{n:03}" for n in range(100)), "city"]},
    "a source": {"sources": ["manual"]},
    "sources": {"sources": ["api", "integration"], "limit": 2},
    "no source": {"sources": []},
    "operations": {"operations": ["updated", "deleted"]},
    "no operation": {"operations": []},
    "ids": {"field_ids": [1, 2]},
    "all filters": {"keys": ["city"], "sources": ["api"], "operations": ["created"], "limit": 1},
}
"""Members of HistoryQuery for a history with six records."""

FAILING_OPERATIONS: dict[str, tuple[BatchOperation, type[RecipientFieldsError]]] = {
    "a taken key": (CreateField(FieldDraft(name="City", data_type="text")), KeyTaken),
    "a key that an earlier operation takes": (
        CreateField(FieldDraft(name="First", data_type="text")),
        KeyRepeated,
    ),
    "values of another type": (
        ReplaceField(
            FieldKey("town"),
            FieldChanges(name="Town", allowed_values=["a"], repeated={"data_type": "number"}),
        ),
        InvalidField,
    ),
    "an infinite value": (
        UpdateField(_CITY, FieldChanges(allowed_values=[float("inf")])),
        InvalidField,
    ),
    "another data type": (
        ReplaceField(_CITY, FieldDraft(name="City", data_type="number").changes()),
        InvalidField,
    ),
    "an unknown key": (UpdateField(FieldKey("town"), FieldChanges(name="Town")), FieldNotFound),
    "an unknown id": (DeleteField(FieldId(2**53 - 1)), FieldNotFound),
    "an impossible id": (DeleteField(FieldId(-1)), FieldNotFound),
    "an old version": (DeleteField(_CITY, expected_version="1-0"), VersionConflict),
    "a version of a free key": (
        ReplaceField(
            FieldKey("town"),
            FieldDraft(name="Town", data_type="text").changes(),
            expected_version="1-0",
        ),
        VersionConflict,
    ),
    "a field of another origin": (DeleteField(FieldKey("by_hand")), OperationForbidden),
}
"""Operations that fail after the creation of `first`, and their errors."""

WRONG_VALUES: dict[str, WrongValues] = {
    "of another type": (DataType.NUMBER, ["1", 2, True], [("type", (0,)), ("type", (2,))]),
    "listed twice": (DataType.NUMBER, [1, 2, 1.0], [("duplicate_item", (2,))]),
    "too large": (DataType.NUMBER, [1, 2**53, -1e300], [("out_of_range", (i,)) for i in (1, 2)]),
    "too large for a double": (DataType.NUMBER, [-(10**400)], [("out_of_range", (0,))]),
    "infinite": (DataType.NUMBER, [float("inf")], [("out_of_range", (0,))]),
    "malformed": (DataType.DATE, ["2026-02-30"], [("format", (0,))]),
    "unstorable": (DataType.TEXT, ["\ud800"], [("invalid_characters", (0,))]),
    "no scalars": (DataType.TEXT, [{"a": 1}, None], [("type", (0,)), ("type", (1,))]),
    "no values": (DataType.TEXT, [], [("empty", ())]),
    "too many": (DataType.NUMBER, list(range(1_001)), [("too_many_items", ())]),
    "of a boolean": (DataType.BOOLEAN, ["x"], [("not_applicable", ())]),
}
"""Allowed values that are invalid for a data type, and the rule and path of each violation."""


def a_draft(key: str = "city", **members: Any) -> FieldDraft:
    """Return a draft of a field with this key; `members` are those of FieldDraft."""
    return FieldDraft(**{"name": "City", "key": key, "data_type": DataType.TEXT, **members})


def only(*versions: str) -> Precondition:
    """Return the precondition that the field has one of these versions."""
    return Precondition(match=frozenset(versions))


def violations(invalid: InvalidField) -> list[tuple[str, tuple[object, ...]]]:
    """Return the rule and the path of each violation."""
    return [(violation.rule.value, violation.path) for violation in invalid.violations]


class RecipientFieldsContract:
    """Tests of RecipientFields through the API channel."""

    limit: ClassVar[int] = 12
    """Maximum number of API-managed fields per organization in these cases."""

    @pytest.fixture
    def storage(self) -> Iterator[HistoryStorage]:
        """Return the storage that the service uses. It may contain rows of other cases."""
        raise NotImplementedError(f"{type(self).__name__} needs a fixture `storage`")

    @pytest.fixture
    def service(self, storage: HistoryStorage) -> Iterator[RecipientFields]:
        """Return the service to test, which uses that storage and `limit` as its field limit."""
        raise NotImplementedError(f"{type(self).__name__} needs a fixture `service`")

    @pytest.fixture
    def ours(self, storage: HistoryStorage) -> OrganizationId:
        """Return a new organization."""
        return storage.organizations.add("Ours", NOW).id

    @pytest.fixture
    def theirs(self, storage: HistoryStorage) -> OrganizationId:
        """Return another new organization."""
        return storage.organizations.add("Theirs", NOW).id

    @pytest.fixture
    def city(self, service: RecipientFields, ours: OrganizationId) -> RecipientField:
        """Return a field with a value for every member."""
        return service.create_field(
            ours,
            a_draft(
                allowed_values=AllowedValues(DataType.TEXT, ["a", "b"]),
                custom_insertion_code="{{ city }}",
                custom_value_expression="city",
            ),
        )

    # Identifiers

    @pytest.mark.parametrize("call", OF_AN_ORGANIZATION.values(), ids=OF_AN_ORGANIZATION)
    def test_an_organization_in_place_of_its_id_is_a_type_error(
        self, service: RecipientFields, storage: HistoryStorage, call: Call
    ) -> None:
        organization: Any = storage.organizations.add("Ours", NOW)
        with pytest.raises(TypeError, match=r"organization\.id"):
            call(service, organization)

    @pytest.mark.parametrize("change", OF_A_FIELD.values(), ids=OF_A_FIELD)
    def test_a_field_in_place_of_its_id_or_key_is_a_type_error(
        self, service: RecipientFields, ours: OrganizationId, city: Any, change: Change
    ) -> None:
        with pytest.raises(TypeError, match=r"field\.id or field\.key"):
            service.get_field(ours, city)
        with pytest.raises(TypeError, match=r"field\.id or field\.key"):
            change(service, ours, city, UNCONDITIONAL)
        assert service.list_fields(ours).fields == (city,)

    # Creation and reads

    @pytest.mark.parametrize("name", LINES.values(), ids=LINES)
    def test_a_created_field_is_read_unchanged(
        self, service: RecipientFields, ours: OrganizationId, name: str
    ) -> None:
        field = service.create_field(ours, a_draft(name=name, insertable=False))
        assert (field.name, field.key, field.insertable) == (FieldName(name), "city", False)
        assert (field.organization_id, field.origin) == (ours, API.origin())
        assert field.created_at == field.updated_at
        self._assert_read(service, field)

    @pytest.mark.parametrize("text", INSERTION_CODES.values(), ids=INSERTION_CODES)
    def test_insertion_codes_are_stored_unchanged(
        self, service: RecipientFields, ours: OrganizationId, text: str
    ) -> None:
        draft = a_draft(custom_insertion_code=text, custom_value_expression=text)
        field = service.create_field(ours, draft)
        assert (field.custom_insertion_code, field.custom_value_expression) == (text, text)
        self._assert_read(service, field)

    @pytest.mark.parametrize("values", ACCEPTED_VALUES.values(), ids=ACCEPTED_VALUES)
    def test_allowed_values_keep_their_order_and_types(
        self, service: RecipientFields, ours: OrganizationId, values: AllowedValues
    ) -> None:
        draft = a_draft(data_type=values.data_type, allowed_values=values)
        field = service.create_field(ours, draft)
        assert field.allowed_values == values
        assert [type(v) for v in field.allowed_values.values] == [type(v) for v in values.values]
        self._assert_read(service, field)

    def _assert_read(self, service: RecipientFields, field: RecipientField) -> None:
        ours = field.organization_id
        assert service.get_field(ours, field.id) == field
        assert service.get_field(ours, field.key) == field
        assert service.list_fields(ours).fields == (field,)
        assert service.find_fields(ours, FieldQuery(limit=1)).fields == (field,)
        assert service.get_field(ours, field.id).version_tag == field.version_tag

    @OTHERS
    def test_fields_of_every_origin_are_read(
        self,
        service: RecipientFields,
        storage: HistoryStorage,
        ours: OrganizationId,
        other: Channel,
    ) -> None:
        added = add_field(storage.fields, ours, a_definition(by=other))
        (read,) = service.list_fields(ours).fields
        assert evolve(read, version=added.version) == added
        assert service.get_field(ours, added.key) == read
        assert read.version_tag == added.version_tag

    def test_the_key_of_a_field_is_derived_from_its_name(
        self, service: RecipientFields, ours: OrganizationId
    ) -> None:
        draft = FieldDraft(name="Größe (cm)", data_type=DataType.NUMBER)
        assert service.create_field(ours, draft).key == "grosse_cm"

    @pytest.mark.parametrize("holder", [API, ADMINISTRATOR, SYNC], ids=lambda holder: holder.phrase)
    def test_key_taken_contains_the_id_of_the_existing_field(
        self,
        service: RecipientFields,
        storage: HistoryStorage,
        ours: OrganizationId,
        holder: Channel,
    ) -> None:
        existing = add_field(storage.fields, ours, a_definition(by=holder))
        before = service.list_fields(ours)
        with pytest.raises(KeyTaken) as taken:
            service.create_field(ours, a_draft())
        assert (taken.value.key, taken.value.existing_id) == (_CITY, existing.id)
        assert isinstance(taken.value.key, FieldKey)
        assert service.list_fields(ours) == before

    def test_field_limit_reached_contains_the_limit(
        self, service: RecipientFields, storage: HistoryStorage, ours: OrganizationId
    ) -> None:
        add_field(storage.fields, ours, a_definition("by_hand", by=ADMINISTRATOR))
        for n in range(self.limit):
            service.create_field(ours, a_draft(f"k{n}"))
        with pytest.raises(FieldLimitReached) as reached:
            service.create_field(ours, a_draft())
        assert reached.value.limit == self.limit
        with pytest.raises(FieldLimitReached):
            service.replace_or_create_field(ours, a_draft())

    @pytest.mark.parametrize(
        ("member", "value", "rule"),
        [
            ("allowed_values", AllowedValues(DataType.DATE, ["2026-11-20"]), "type"),
            ("esp_field_name", "CITY", "not_applicable"),
        ],
        ids=["values of another type", "an ESP name"],
    )
    def test_a_draft_with_a_member_that_does_not_fit_is_rejected(
        self, service: RecipientFields, ours: OrganizationId, member: str, value: Any, rule: str
    ) -> None:
        with pytest.raises(InvalidField) as invalid:
            service.create_field(ours, a_draft(**{member: value}))
        assert violations(invalid.value) == [(rule, (member,))]
        assert service.list_fields(ours).fields == ()

    # Changes

    @pytest.mark.parametrize("members", CHANGES.values(), ids=CHANGES)
    def test_a_change_keeps_the_members_that_it_does_not_name(
        self,
        service: RecipientFields,
        ours: OrganizationId,
        city: RecipientField,
        members: dict[str, Any],
    ) -> None:
        before = service.list_fields(ours)
        changed = service.update_field(ours, city.key, FieldChanges(**members))
        values = members.get("allowed_values")
        expected = {**members}
        if values is not None:
            expected["allowed_values"] = AllowedValues(DataType.TEXT, values)
        assert changed == evolve(
            city, **expected, updated_at=changed.updated_at, version=changed.version
        )
        assert changed.updated_at > city.updated_at
        assert changed.version_tag != city.version_tag
        assert service.get_field(ours, city.id) == changed
        assert service.list_fields(ours).revision > before.revision

    def test_an_empty_change_changes_nothing(
        self, service: RecipientFields, ours: OrganizationId, city: RecipientField
    ) -> None:
        before = service.list_fields(ours)
        for changes in (FieldChanges(), FieldChanges(name="City", allowed_values=("a", "b"))):
            assert service.update_field(ours, city.id, changes) == city
        assert service.replace_or_create_field(ours, _draft_of(city)) == (
            city,
            False,
        )
        assert service.list_fields(ours) == before

    @pytest.mark.parametrize("wrong", WRONG_VALUES.values(), ids=WRONG_VALUES)
    def test_invalid_allowed_values_are_reported(
        self, service: RecipientFields, ours: OrganizationId, wrong: WrongValues
    ) -> None:
        data_type, values, expected = wrong
        service.create_field(ours, a_draft(data_type=data_type))
        before = service.list_fields(ours)
        expected_violations = {(rule, ("allowed_values", *path)) for rule, path in expected}
        with pytest.raises(InvalidField) as invalid:
            service.update_field(ours, _CITY, FieldChanges(allowed_values=values))
        assert set(violations(invalid.value)) == expected_violations
        assert service.list_fields(ours) == before

    def test_changes_can_state_the_data_type_but_not_change_it(
        self, service: RecipientFields, ours: OrganizationId, city: RecipientField
    ) -> None:
        same = FieldChanges(repeated={"data_type": "text"})
        other = FieldChanges(name="Town", repeated={"data_type": "date"})
        assert service.update_field(ours, city.id, same) == city
        with pytest.raises(InvalidField) as invalid:
            service.update_field(ours, city.id, other)
        assert violations(invalid.value) == [("immutable", ("data_type",))]
        assert service.get_field(ours, city.id) == city

    @OTHERS
    @pytest.mark.parametrize("operation", [Operation.UPDATE, Operation.DELETE])
    def test_changing_a_field_of_another_channel_is_forbidden_with_the_reason(
        self,
        service: RecipientFields,
        storage: HistoryStorage,
        ours: OrganizationId,
        other: Channel,
        operation: Operation,
    ) -> None:
        field = add_field(storage.fields, ours, a_definition(by=other))
        before = service.list_fields(ours)
        with pytest.raises(OperationForbidden) as forbidden:
            OF_A_FIELD[operation.value](service, ours, field.id, only("1-0"))
        denied = decide(API, operation, field.origin)
        assert str(forbidden.value) == getattr(denied, "reason", None)
        with pytest.raises(OperationForbidden):
            service.replace_or_create_field(ours, a_draft(field.key))
        assert service.list_fields(ours) == before

    # Versions

    @pytest.mark.parametrize("call", OF_A_FIELD.values(), ids=OF_A_FIELD)
    @pytest.mark.parametrize("read", READS_OF_CITY.values(), ids=READS_OF_CITY)
    def test_a_field_has_the_tag_of_its_version(
        self,
        service: RecipientFields,
        ours: OrganizationId,
        city: RecipientField,
        call: Change,
        read: Call,
    ) -> None:
        known: Any = read(service, ours)
        changed = service.update_field(ours, city.id, FieldChanges(insertable=False))
        for precondition in (only(known.version_tag), only(), only('a "quoted" tag')):
            with pytest.raises(VersionConflict) as conflict:
                call(service, ours, city.id, precondition)
            assert conflict.value.current == changed.version_tag
        assert service.get_field(ours, city.id) == changed
        call(service, ours, city.id, only(known.version_tag, changed.version_tag))

    @pytest.mark.parametrize("call", OF_A_FIELD.values(), ids=OF_A_FIELD)
    @pytest.mark.parametrize(
        "precondition",
        [
            Precondition(match=ANY_VERSION),
            Precondition(none_match=frozenset({"1-0"})),
            Precondition(none_match=frozenset()),
            Precondition(match=ANY_VERSION, none_match=frozenset({"1-0", "2-0"})),
        ],
    )
    def test_a_change_succeeds_if_the_version_matches(
        self,
        service: RecipientFields,
        ours: OrganizationId,
        city: RecipientField,
        call: Change,
        precondition: Precondition,
    ) -> None:
        before = service.list_fields(ours)
        call(service, ours, city.id, precondition)
        assert service.list_fields(ours).revision > before.revision

    @pytest.mark.parametrize("call", OF_A_FIELD.values(), ids=OF_A_FIELD)
    def test_a_change_can_exclude_versions(
        self, service: RecipientFields, ours: OrganizationId, city: RecipientField, call: Change
    ) -> None:
        known = frozenset({city.version_tag, "1-0"})
        for precondition in (Precondition(none_match=known), Precondition(none_match=ANY_VERSION)):
            with pytest.raises(VersionConflict) as conflict:
                call(service, ours, city.id, precondition)
            assert conflict.value.current == city.version_tag

    # Replacement or creation

    def test_a_field_is_created_if_its_key_is_free_and_replaced_otherwise(
        self, service: RecipientFields, ours: OrganizationId
    ) -> None:
        draft = a_draft(allowed_values=["a"], custom_insertion_code="c")
        field, created = service.replace_or_create_field(
            ours, draft, Precondition(none_match=ANY_VERSION)
        )
        assert created
        assert (field.key, field.custom_insertion_code) == ("city", "c")
        again, created = service.replace_or_create_field(
            ours, a_draft(name="Town"), only(field.version_tag)
        )
        assert not created
        assert (again.id, again.name, again.allowed_values) == (field.id, "Town", None)
        assert again.custom_insertion_code is None
        assert service.list_fields(ours).fields == (again,)

    def test_preconditions_distinguish_creation_from_replacement(
        self, service: RecipientFields, ours: OrganizationId, city: RecipientField
    ) -> None:
        with pytest.raises(VersionConflict) as conflict:
            service.replace_or_create_field(ours, a_draft(), Precondition(none_match=ANY_VERSION))
        assert conflict.value.current == city.version_tag
        with pytest.raises(VersionConflict) as conflict:
            service.replace_or_create_field(ours, a_draft("town"), Precondition(match=ANY_VERSION))
        assert conflict.value.current is None

    def test_another_data_type_is_compared_with_the_stored_one(
        self, service: RecipientFields, ours: OrganizationId, city: RecipientField
    ) -> None:
        with pytest.raises(InvalidField) as invalid:
            service.replace_or_create_field(ours, a_draft(data_type="number", allowed_values=[1]))
        assert set(violations(invalid.value)) == {
            ("immutable", ("data_type",)),
            ("type", ("allowed_values", 0)),
        }
        assert service.list_fields(ours).fields == (city,)

    # Deletion

    def test_a_deleted_field_is_not_found_and_its_key_is_free(
        self, service: RecipientFields, ours: OrganizationId, city: RecipientField
    ) -> None:
        before = service.list_fields(ours)
        service.delete_field(ours, city.key)
        assert service.list_fields(ours).fields == ()
        assert service.list_fields(ours).revision > before.revision
        for reference in (city.id, city.key):
            self._assert_not_found(service, ours, reference)
        assert service.create_field(ours, a_draft()).id > city.id

    # Batches

    def test_a_batch_returns_the_field_of_each_operation(
        self, service: RecipientFields, ours: OrganizationId, city: RecipientField
    ) -> None:
        before = service.list_fields(ours)
        results = service.apply_batch(
            ours,
            Batch(
                (
                    CreateField(a_draft("size", data_type=DataType.NUMBER, allowed_values=(1, 2))),
                    UpdateField(city.id, FieldChanges(name="Town"), city.version_tag),
                    ReplaceField(
                        FieldKey("shop"), a_draft(name="Shop", insertable=False).changes()
                    ),
                    CreateField(a_draft("gone")),
                    DeleteField(FieldKey("gone")),
                ),
                before.version_tag,
            ),
        )
        size, town, shop, *gone = results
        assert gone == [None, None]
        assert size is not None
        assert size.allowed_values == AllowedValues(DataType.NUMBER, [1, 2])
        assert town is not None
        assert town == evolve(
            city, name=FieldName("Town"), updated_at=town.updated_at, version=town.version
        )
        assert shop is not None
        assert not shop.insertable
        assert service.list_fields(ours).fields == (town, size, shop)

    def test_a_minimal_batch_returns_the_id_and_the_key_of_each_field(
        self, service: RecipientFields, ours: OrganizationId, city: RecipientField
    ) -> None:
        results = service.apply_batch_minimally(
            ours,
            Batch(
                (
                    CreateField(a_draft("size")),
                    UpdateField(city.id, FieldChanges(name="Town")),
                    CreateField(a_draft("gone")),
                    DeleteField(FieldKey("gone")),
                )
            ),
        )
        fields = {field.key: field for field in service.list_fields(ours).fields}
        size = fields[FieldKey("size")]
        assert results == (
            FieldIdentity(size.id, size.key),
            FieldIdentity(city.id, city.key),
            None,
            None,
        )
        assert fields[city.key].name == "Town"
        assert service.apply_batch_minimally(ours, Batch(())) == ()

    @pytest.mark.parametrize(
        ("operation", "error"), FAILING_OPERATIONS.values(), ids=FAILING_OPERATIONS
    )
    def test_a_batch_with_a_failed_operation_changes_nothing(
        self,
        service: RecipientFields,
        storage: HistoryStorage,
        ours: OrganizationId,
        city: RecipientField,
        operation: BatchOperation,
        error: type[RecipientFieldsError],
    ) -> None:
        add_field(storage.fields, ours, a_definition("by_hand", by=ADMINISTRATOR))
        before = service.list_fields(ours)
        with pytest.raises(BatchRejected) as rejected:
            service.apply_batch(ours, Batch((CreateField(a_draft("first")), operation)))
        assert {n: type(each) for n, each in rejected.value.failures.items()} == {1: error}
        assert service.list_fields(ours) == before
        assert city in before.fields

    def test_a_batch_reports_the_errors_of_all_operations(
        self, service: RecipientFields, ours: OrganizationId, city: RecipientField
    ) -> None:
        for n in range(self.limit - 1):
            service.create_field(ours, a_draft(f"k{n}"))
        with pytest.raises(BatchRejected) as rejected:
            service.apply_batch(
                ours,
                Batch(
                    (
                        CreateField(a_draft()),
                        CreateField(a_draft("one_too_many")),
                        ReplaceField(
                            _CITY, a_draft(data_type="number", allowed_values=[1]).changes()
                        ),
                    )
                ),
            )
        taken, reached, invalid = rejected.value.failures.values()
        assert isinstance(taken, KeyTaken)
        assert (taken.key, taken.existing_id) == (_CITY, city.id)
        assert isinstance(reached, FieldLimitReached)
        assert reached.limit == self.limit
        assert isinstance(invalid, InvalidField)
        assert sorted(violations(invalid)) == [
            ("immutable", ("data_type",)),
            ("type", ("allowed_values", 0)),
        ]

    @pytest.mark.parametrize("operations", [(), (DeleteField(_CITY),)], ids=["no", "one"])
    def test_a_batch_changes_nothing_if_the_catalog_has_changed(
        self,
        service: RecipientFields,
        storage: HistoryStorage,
        ours: OrganizationId,
        city: RecipientField,
        operations: tuple[BatchOperation, ...],
    ) -> None:
        seen = service.list_fields(ours)
        add_field(storage.fields, ours, a_definition("by_hand", by=ADMINISTRATOR))
        before = service.list_fields(ours)
        with pytest.raises(CatalogChanged) as changed:
            service.apply_batch(ours, Batch(operations, seen.version_tag))
        assert changed.value.current == before.version_tag
        assert service.list_fields(ours) == before
        assert city in service.list_fields(ours).fields
        service.apply_batch(ours, Batch(operations, changed.value.current))

    def test_a_field_in_place_of_its_id_is_a_type_error_in_a_batch(
        self, service: RecipientFields, ours: OrganizationId, city: Any
    ) -> None:
        with pytest.raises(TypeError, match=r"field\.id or field\.key"):
            service.apply_batch(ours, Batch((DeleteField(city),)))

    # History

    def test_changes_are_recorded_in_order(
        self, service: RecipientFields, ours: OrganizationId, city: RecipientField
    ) -> None:
        changed = service.update_field(ours, city.id, FieldChanges(name="Town"))
        service.update_field(ours, city.id, FieldChanges(name="Town"))
        service.delete_field(ours, city.id)
        restored = service.restore_field(ours, city.id)

        page = service.list_changes(ours, HistoryQuery())

        assert page.next is None
        assert [(record.operation.value, *_states(record)) for record in page.records] == [
            ("created", None, _unversioned(city)),
            ("updated", _unversioned(city), _unversioned(changed)),
            ("deleted", _unversioned(changed), None),
            ("restored", None, _unversioned(restored)),
        ]
        assert [record.sequence for record in page.records] == [1, 2, 3, 4]
        assert {record.author.channel for record in page.records} == {API}

    def test_authors_of_every_channel_are_read(
        self, service: RecipientFields, storage: HistoryStorage, ours: OrganizationId
    ) -> None:
        authors = (
            Author(API, id="ci-4f1c", name="CI", request_id="r-1"),
            Author(ADMINISTRATOR, id=3, name="dana@example.com"),
            Author(ADMINISTRATOR, name="operator"),
            Author(SYNC, name="Main list", request_id="r-2"),
        )
        for n, author in enumerate(authors):
            add_field(storage.fields, ours, a_definition(f"k{n}", by=author.channel), author=author)
        page = service.list_changes(ours, HistoryQuery())
        assert tuple(record.author for record in page.records) == authors

    @pytest.fixture
    def history(self, storage: HistoryStorage, ours: OrganizationId) -> OrganizationId:
        """Return an organization with six records of three fields, two of them with one key."""
        city = add_field(storage.fields, ours, a_definition())
        add_field(storage.fields, ours, a_definition("size", by=ADMINISTRATOR))
        update_field(storage.fields, ours, city.id, renaming("Town"))
        delete_field(storage.fields, ours, city.id, at=NOW)
        again = add_field(storage.fields, ours, a_definition())
        update_field(storage.fields, ours, again.id, renaming("Town"))
        return ours

    @pytest.mark.parametrize("members", HISTORY_QUERIES.values(), ids=HISTORY_QUERIES)
    def test_a_query_of_the_history_returns_the_matching_records(
        self,
        service: RecipientFields,
        storage: HistoryStorage,
        history: OrganizationId,
        members: dict[str, Any],
    ) -> None:
        query = HistoryQuery(**members)
        records = _records(storage, history)
        assert _page(service.list_changes(history, query)) == query.select(records)
        for reference in (records[0].field_id, records[1].field_id, _CITY):
            page = service.list_field_changes(history, reference, query)
            assert _page(page) == query.of_field(reference).select(records)

    def test_following_the_history_returns_every_record_once(
        self, service: RecipientFields, storage: HistoryStorage, history: OrganizationId
    ) -> None:
        followed: list[HistoryRecord] = []
        query = HistoryQuery(limit=2)
        for n in range(5):
            page = service.list_changes(history, query)
            followed += _page(page).records
            if followed:
                query = evolve(query, after=followed[-1].sequence)
            service.create_field(history, a_draft(f"k{n}"))
        rest = service.list_changes(history, evolve(query, limit=100))
        assert (*followed, *_page(rest).records) == _records(storage, history)

    def test_a_field_without_a_record_has_no_changes(
        self, service: RecipientFields, storage: HistoryStorage, history: OrganizationId
    ) -> None:
        storage.history.prune(history, datetime(9999, 1, 1, tzinfo=UTC))
        assert service.list_field_changes(history, _CITY, HistoryQuery()).records == ()
        assert service.list_changes(history, HistoryQuery()).records == ()

    def test_the_history_of_an_unknown_field_is_not_found(
        self,
        service: RecipientFields,
        storage: HistoryStorage,
        history: OrganizationId,
        theirs: Any,
    ) -> None:
        other = add_field(storage.fields, theirs, a_definition("town"))
        for organization, reference in (
            (history, FieldId(2**53 - 1)),
            (history, other.id),
            (history, other.key),
            (OrganizationId(history + 1_000), _CITY),
        ):
            with pytest.raises(FieldNotFound):
                service.list_field_changes(organization, reference, HistoryQuery())

    def test_the_list_as_of_a_record_is_the_list_that_was_read_then(
        self, service: RecipientFields, ours: OrganizationId
    ) -> None:
        changes: tuple[Callable[[], object], ...] = (
            lambda: service.create_field(ours, a_draft()),
            lambda: service.create_field(ours, a_draft("zip")),
            lambda: service.update_field(ours, _CITY, FieldChanges(name="Town")),
            lambda: service.delete_field(ours, _CITY),
        )
        lists = []
        for change in changes:
            change()
            lists.append(service.list_fields(ours).fields)

        records = service.list_changes(ours, HistoryQuery()).records
        catalogs = [service.list_fields_as_of(ours, record.occurred_at) for record in records]

        assert [catalog.fields for catalog in catalogs] == lists
        assert len({catalog.version_tag for catalog in catalogs}) == len(lists)
        later = records[-1].occurred_at + timedelta(days=1)
        assert service.list_fields_as_of(ours, later) == catalogs[-1]

    def test_a_time_before_the_history_has_no_list(
        self, service: RecipientFields, ours: OrganizationId
    ) -> None:
        with pytest.raises(BeforeHistory):
            service.list_fields_as_of(ours, LATER)
        service.create_field(ours, a_draft())
        first = service.list_changes(ours, HistoryQuery()).records[0]
        with pytest.raises(BeforeHistory):
            service.list_fields_as_of(ours, first.occurred_at - MILLISECOND)

    def test_a_reader_is_told_that_records_were_removed(
        self,
        service: RecipientFields,
        storage: HistoryStorage,
        ours: OrganizationId,
        city: RecipientField,
    ) -> None:
        service.update_field(ours, city.id, FieldChanges(name="Town"))
        assert len(service.list_changes(ours, HistoryQuery(after=0)).records) == 2
        storage.history.prune_to_size(ours, storage.history.size(ours).bytes - 1)
        reads: tuple[Callable[[HistoryQuery], HistoryPage], ...] = (
            lambda query: service.list_changes(ours, query),
            lambda query: service.list_field_changes(ours, city.id, query),
        )
        for read in reads:
            with pytest.raises(BeforeHistory, match=r"^The records up to 1 were removed from the"):
                read(HistoryQuery(after=0))
            assert [each.sequence for each in read(HistoryQuery(after=1)).records] == [2]
            assert [each.sequence for each in read(HistoryQuery()).records] == [2]

    # Restoration

    def test_a_field_whose_deletion_was_removed_is_not_restored(
        self,
        service: RecipientFields,
        storage: HistoryStorage,
        ours: OrganizationId,
        city: RecipientField,
    ) -> None:
        service.delete_field(ours, city.id)
        storage.history.prune_to_size(ours, 0)
        with pytest.raises(HistoryRemoved):
            service.restore_field(ours, city.id)

    def test_a_restored_field_has_its_id_and_its_members(
        self, service: RecipientFields, ours: OrganizationId, city: RecipientField
    ) -> None:
        service.delete_field(ours, city.id)
        restored = service.restore_field(ours, city.id)
        assert restored == evolve(city, updated_at=restored.updated_at, version=restored.version)
        assert restored.updated_at > city.updated_at
        self._assert_read(service, restored)

    def test_a_field_is_not_restored_if_a_field_has_its_key(
        self, service: RecipientFields, ours: OrganizationId, city: RecipientField
    ) -> None:
        with pytest.raises(KeyTaken) as taken:
            service.restore_field(ours, city.id)
        assert (taken.value.key, taken.value.existing_id) == (_CITY, city.id)
        assert str(taken.value) == f"Field {city.id} is not deleted."
        service.delete_field(ours, city.id)
        other = service.create_field(ours, a_draft())
        before = service.list_fields(ours)
        with pytest.raises(KeyTaken) as taken:
            service.restore_field(ours, city.id)
        assert (taken.value.key, taken.value.existing_id) == (_CITY, other.id)
        assert str(taken.value).startswith(f"Field {other.id} has the key of field {city.id}. ")
        assert service.list_fields(ours) == before

    def test_a_field_is_not_restored_beyond_the_limit(
        self, service: RecipientFields, ours: OrganizationId, city: RecipientField
    ) -> None:
        service.delete_field(ours, city.id)
        for n in range(self.limit):
            service.create_field(ours, a_draft(f"k{n}"))
        with pytest.raises(FieldLimitReached) as reached:
            service.restore_field(ours, city.id)
        assert reached.value.limit == self.limit

    @OTHERS
    def test_a_field_of_another_channel_is_not_restored(
        self,
        service: RecipientFields,
        storage: HistoryStorage,
        ours: OrganizationId,
        other: Channel,
    ) -> None:
        field = add_field(storage.fields, ours, a_definition(by=other))
        delete_field(storage.fields, ours, field.id, at=NOW)
        with pytest.raises(OperationForbidden):
            service.restore_field(ours, field.id)
        assert service.list_fields(ours).fields == ()

    def test_a_field_without_a_record_of_its_deletion_is_not_restored(
        self,
        service: RecipientFields,
        storage: HistoryStorage,
        ours: OrganizationId,
        theirs: OrganizationId,
        city: RecipientField,
    ) -> None:
        service.delete_field(ours, city.id)
        for organization, reference in (
            (ours, FieldId(2**53 - 1)),
            (theirs, city.id),
            (OrganizationId(ours + 1_000), city.id),
        ):
            with pytest.raises(FieldNotFound):
                service.restore_field(organization, reference)
        storage.history.prune(ours, datetime(9999, 1, 1, tzinfo=UTC))
        with pytest.raises(HistoryRemoved):
            service.restore_field(ours, city.id)

    # Lists

    def test_fields_are_ordered_by_id(self, service: RecipientFields, ours: OrganizationId) -> None:
        fields = tuple(service.create_field(ours, a_draft(key)) for key in ("zip", "city", "age"))
        catalog = service.list_fields(ours)
        assert catalog.fields == fields
        assert catalog.organization_id == ours
        assert service.find_fields(ours, FieldQuery()).version_tag == catalog.version_tag

    def test_an_empty_catalog_has_a_revision(
        self, service: RecipientFields, ours: OrganizationId
    ) -> None:
        catalog = service.list_fields(ours)
        assert catalog.fields == ()
        assert service.list_fields(ours) == catalog
        assert service.create_field(ours, a_draft()) in service.list_fields(ours).fields
        assert service.list_fields(ours).revision > catalog.revision

    def test_a_published_catalog_equals_the_list(
        self, service: RecipientFields, mixed_fields: OrganizationId
    ) -> None:
        assert service.publish_fields(mixed_fields) == published(service.list_fields(mixed_fields))

    @pytest.fixture
    def mixed_fields(self, storage: HistoryStorage, ours: OrganizationId) -> OrganizationId:
        """Return an organization with fields of every kind, some with equal names."""
        for definition in MIXED_DEFINITIONS:
            add_field(storage.fields, ours, definition)
        return ours

    @pytest.mark.parametrize("members", FILTERS.values(), ids=FILTERS)
    def test_a_filter_returns_the_matching_fields(
        self, service: RecipientFields, mixed_fields: OrganizationId, members: dict[str, Any]
    ) -> None:
        self._assert_found(service, mixed_fields, FieldQuery(**members))

    @pytest.mark.parametrize("text", TEXTS)
    def test_a_text_is_found_in_name_key_and_esp_name_in_any_case(
        self, service: RecipientFields, mixed_fields: OrganizationId, text: str
    ) -> None:
        page = service.find_fields(mixed_fields, FieldQuery(text=text))
        assert {str(field.key) for field in page.fields} == TEXTS[text]
        assert page.total == len(page.fields)

    @pytest.mark.parametrize(
        "members",
        [
            {"sources": frozenset[Source]()},
            {"keys": frozenset[FieldKey]()},
            {"integration_ids": frozenset({0, -1, 2**70})},
            {"text": ""},
            {"text": "a" * 101},
            {"text": "\0"},
            {"text": "\ud800"},
            {"limit": 1_001},
            {"limit": 10**6, "after": Position(2**40, FieldId(1)), "descending": True},
            {"keys": frozenset(FieldKey(f"{'k' * 55}_{n:03}") for n in range(1_000))},
        ],
        ids=lambda members: ",".join(members),
    )
    def test_unusual_queries_have_results(
        self, service: RecipientFields, mixed_fields: OrganizationId, members: dict[str, Any]
    ) -> None:
        self._assert_found(service, mixed_fields, FieldQuery(**members))

    @pytest.mark.parametrize(
        ("sort", "limit", "descending"),
        [
            (sort, limit, (place + index) % 2 == 1)
            for place, sort in enumerate(SortKey)
            for index, limit in enumerate([1, 3, len(MIXED_DEFINITIONS)])
        ],
    )
    def test_consecutive_pages_contain_every_field_once(
        self,
        service: RecipientFields,
        mixed_fields: OrganizationId,
        sort: SortKey,
        limit: int,
        *,
        descending: bool,
    ) -> None:
        query = FieldQuery(sort=sort, descending=descending, limit=limit)
        found: list[RecipientField] = []
        while True:
            page = self._assert_found(service, mixed_fields, query)
            found += page.fields
            if page.next is None:
                break
            query = evolve(query, after=page.next)
        whole = service.find_fields(mixed_fields, FieldQuery(sort=sort, descending=descending))
        assert tuple(found) == whole.fields
        assert len(found) == len(MIXED_DEFINITIONS)

    def test_a_page_can_begin_after_any_position(
        self, service: RecipientFields, mixed_fields: OrganizationId
    ) -> None:
        after = Position("b", FieldId(1))
        self._assert_found(
            service, mixed_fields, FieldQuery(sort=SortKey.NAME, limit=2, after=after)
        )

    def _assert_found(
        self, service: RecipientFields, ours: OrganizationId, query: FieldQuery
    ) -> Any:
        page = service.find_fields(ours, query)
        assert page == query.select(service.list_fields(ours))
        return page

    # Absence and isolation

    @pytest.mark.parametrize("call", OF_AN_ORGANIZATION.values(), ids=OF_AN_ORGANIZATION)
    def test_every_call_requires_an_organization(
        self, service: RecipientFields, ours: OrganizationId, call: Call
    ) -> None:
        with pytest.raises(OrganizationNotFound):
            call(service, OrganizationId(ours + 1_000))

    def test_an_unknown_organization_has_no_field(
        self, service: RecipientFields, ours: OrganizationId, city: RecipientField
    ) -> None:
        for reference in (city.id, city.key):
            self._assert_not_found(service, OrganizationId(ours + 1_000), reference)

    def test_ids_that_are_never_assigned_are_not_found(
        self, service: RecipientFields, ours: OrganizationId
    ) -> None:
        for never_assigned in NEVER_ASSIGNED:
            self._assert_not_found(service, ours, FieldId(never_assigned))

    def test_organizations_can_use_the_same_keys_and_share_nothing_else(
        self, service: RecipientFields, ours: OrganizationId, theirs: OrganizationId
    ) -> None:
        our_city = service.create_field(ours, a_draft(name="Ours"))
        their_city = service.create_field(theirs, a_draft(name="Theirs"))
        their_age = service.create_field(theirs, a_draft("age"))
        for reference in (their_city.id, their_age.id, their_age.key):
            self._assert_not_found(service, ours, reference)
        assert service.get_field(ours, _CITY) == our_city
        service.delete_field(ours, _CITY)
        assert service.list_fields(theirs).fields == (their_city, their_age)
        assert service.list_fields(ours).fields == ()

    def _assert_not_found(
        self, service: RecipientFields, organization: OrganizationId, reference: FieldReference
    ) -> None:
        with pytest.raises(FieldNotFound):
            service.get_field(organization, reference)
        for call in OF_A_FIELD.values():
            with pytest.raises(FieldNotFound):
                call(service, organization, reference, only("1-0"))

    # Concurrency

    def test_exactly_one_concurrent_creation_of_a_key_succeeds(
        self, service: RecipientFields, ours: OrganizationId
    ) -> None:
        outcomes = race(*[lambda: service.create_field(ours, a_draft()) for _ in range(8)])
        (field,) = service.list_fields(ours).fields
        assert _kinds(outcomes) == {RecipientField: 1, KeyTaken: 7}
        assert field in outcomes

    def test_exactly_one_concurrent_change_of_a_version_succeeds(
        self, service: RecipientFields, ours: OrganizationId, city: RecipientField
    ) -> None:
        def renamed(n: int) -> Callable[[], object]:
            changes = FieldChanges(name=f"City {n}")
            return lambda: service.update_field(ours, _CITY, changes, only(city.version_tag))

        outcomes = race(*map(renamed, range(8)))
        assert _kinds(outcomes) == {RecipientField: 1, VersionConflict: 7}
        assert service.get_field(ours, _CITY) in outcomes

    def test_exactly_one_concurrent_call_creates_the_field_and_the_others_replace_it(
        self, service: RecipientFields, ours: OrganizationId
    ) -> None:
        def put() -> tuple[RecipientField, bool]:
            return service.replace_or_create_field(ours, a_draft())

        outcomes = race(*[put] * 8)
        assert sorted(created for _, created in outcomes) == [False] * 7 + [True]
        assert {field for field, _ in outcomes} == set(service.list_fields(ours).fields)


def _draft_of(field: RecipientField) -> FieldDraft:
    return FieldDraft(
        name=field.name,
        key=field.key,
        data_type=field.data_type.value,
        allowed_values=None if field.allowed_values is None else field.allowed_values.values,
        insertable=field.insertable,
        custom_insertion_code=field.custom_insertion_code,
        custom_value_expression=field.custom_value_expression,
    )


def _unversioned(field: RecipientField | None) -> RecipientField | None:
    """Return the field with the version 0, which the fields of clients have."""
    return None if field is None else evolve(field, version=0)


def _states(record: HistoryRecord) -> tuple[RecipientField | None, RecipientField | None]:
    return _unversioned(record.before), _unversioned(record.after)


def _page(page: HistoryPage) -> HistoryPage:
    """Return the page with fields without versions."""
    return HistoryPage(tuple(map(_without_versions, page.records)), page.next)


def _without_versions(record: HistoryRecord) -> HistoryRecord:
    before, after = _states(record)
    return evolve(record, before=before, after=after)


def _records(storage: HistoryStorage, organization_id: OrganizationId) -> tuple[HistoryRecord, ...]:
    """Return the whole history with fields without versions."""
    page = storage.history.select(organization_id, HistoryQuery(limit=MAX_HISTORY_PAGE))
    return _page(page).records


def _kinds(outcomes: Iterable[object]) -> dict[type, int]:
    kinds = [type(outcome) for outcome in outcomes]
    return {kind: kinds.count(kind) for kind in kinds}
