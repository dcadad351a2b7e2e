"""Sync runs update the fields of an integration to what its ESP reports, and nothing else."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from recipient_fields.domain import (
    ADMINISTRATOR,
    API,
    MAX_ALLOWED_VALUES,
    MAX_KEY_LENGTH,
    AllowedValues,
    DataType,
    FieldDraft,
    FieldId,
    FieldKey,
    FieldName,
    IntegrationId,
    InvalidInput,
    OrganizationId,
    clean_line,
    sync_channel,
)
from recipient_fields.domain.esp import BUILT_IN, Esp, derive_codes
from recipient_fields.domain.integrations import (
    EspField,
    IntegrationDraft,
    RefusedField,
    SyncOvertaken,
    SyncRun,
)

from ..esp.strategies import FRAGMENTS, ORDINARY_NAMES

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)
ORGANIZATION = OrganizationId(1)
SEVEN, EIGHT = IntegrationId(7), IntegrationId(8)
SAMPLED = {Esp("klaviyo"), Esp("customerio"), Esp("onesignal")}
DUPLICATE = "The ESP reports this field twice."
NO_KEY = (
    "No key can be derived from this name. Rename the field in the ESP: use letters a-z and digits"
    " 0-9, with or without accents, and do not begin with sys_."
)
EVERY_ESP = pytest.mark.parametrize("esp", BUILT_IN.esps)


def make_integration(esp="hubspot", integration_id=SEVEN):
    return IntegrationDraft(esp=esp, name="Main", created_at=NOON).with_id(
        integration_id, ORGANIZATION
    )


def reported(name, /, data_type=DataType.TEXT, **members):
    return EspField(name=name, data_type=data_type, **members)


class Account:
    """An organization's catalog, and the sync runs of one of its integrations."""

    def __init__(self, esp="hubspot", *catalog):
        self.integration = make_integration(esp)
        self.catalog = catalog
        self.ids = count(1_000)

    def plan(self, *report, at=NOON):
        fields = [reported(each) if isinstance(each, str) else each for each in report]
        run = SyncRun.from_report(self.integration, fields, at=at)
        return run.plan(self.integration, self.catalog)

    def sync(self, *report, at=NOON):
        plan = self.plan(*report, at=at)
        updated = {field.id: field for field in plan.updated}
        kept = [field for field in self.catalog if field not in plan.removed]
        created = [each.with_id(FieldId(next(self.ids)), ORGANIZATION) for each in plan.created]
        self.catalog = (*(updated.get(field.id, field) for field in kept), *created)
        self.integration = plan.integration
        return plan

    @property
    def fields(self):
        """The fields of the integration."""
        return [field for field in self.catalog if sync_channel(SEVEN).owns(field.origin)]

    @property
    def others(self):
        return [field for field in self.catalog if not sync_channel(SEVEN).owns(field.origin)]

    @property
    def keys(self):
        """The keys of the integration's fields, by ESP field name."""
        return {field.origin.esp_field_name: field.key for field in self.fields}


def synced(esp, *report):
    """Return an account with the fields of one report."""
    account = Account(esp)
    account.sync(*report)
    return account


def make_other_field(key, by=API, field_id=1):
    """Make a field of another origin or of another integration."""
    members = {} if by.integration_id is None else {"esp_field_name": key}
    draft = FieldDraft(name=key, key=key, data_type=DataType.TEXT, **members)
    return draft.define(by=by, at=NOON).with_id(FieldId(field_id), ORGANIZATION)


def changes(plan):
    return plan.created, plan.updated, plan.removed


def refusals(plan):
    return {each.name: each.reason for each in plan.refused}


class TestANewField:
    def test_is_created_as_reported(self):
        account = Account()
        plan = account.sync(
            reported(
                "plan_months", DataType.NUMBER, label=" Plan (months) ", allowed_values=[12, 24.0]
            )
        )
        assert (plan.unchanged, plan.refused, plan.removed) == (0, (), ())
        (field,) = plan.created
        assert field == FieldDraft(
            name=FieldName("Plan (months)"),
            key=FieldKey("plan_months"),
            data_type=DataType.NUMBER,
            allowed_values=AllowedValues(DataType.NUMBER, [12, 24]),
            custom_insertion_code="{{ contact.plan_months }}",
            custom_value_expression="contact.plan_months",
            esp_field_name="plan_months",
        ).define(by=sync_channel(SEVEN), at=NOON)
        assert field.insertable

    @pytest.mark.parametrize("label", [None, "", " ", "\u3000\t"])
    def test_has_the_esp_field_name_as_its_name_if_it_has_no_label(self, label):
        (field,) = Account().sync(reported("city", label=label)).created
        assert field.name == "city"

    @EVERY_ESP
    def test_has_the_codes_of_its_dialect(self, esp):
        name = "first_name" if esp in {Esp("hubspot"), Esp("sfmc")} else "CITY"
        (field,) = Account(esp).sync(name).created
        codes = derive_codes(esp, name)
        assert field.custom_insertion_code == codes.insertion_code
        assert field.custom_value_expression == codes.value_expression

    def test_has_the_time_of_the_run(self):
        account = Account()
        (field,) = account.sync("city", at=LATER).created
        assert field.created_at == LATER
        assert account.integration.last_synced_at == LATER


NO_VALUES = {"allowed_values": None}
BOOLEAN, NUMBER = {"data_type": DataType.BOOLEAN}, {"data_type": DataType.NUMBER}
SILVER_AND_GOLD = AllowedValues(DataType.TEXT, ["silver", "gold"])
ONLY_1 = AllowedValues(DataType.NUMBER, [1])


class TestAStoredField:
    @pytest.fixture
    def account(self):
        account = Account("braze", make_other_field("town"))
        account.sync("city", reported("tier", allowed_values=["gold", "silver"]))
        return account

    @pytest.mark.parametrize(
        ("change", "expected"),
        [
            ({"label": "Tier"}, {"name": "Tier"}),
            (NO_VALUES, NO_VALUES),
            ({"allowed_values": ["silver", "gold"]}, {"allowed_values": SILVER_AND_GOLD}),
            (NO_VALUES | BOOLEAN, NO_VALUES | BOOLEAN),
            (NUMBER | {"allowed_values": [1]}, NUMBER | {"allowed_values": ONLY_1}),
            (
                {"standard": True},
                {"custom_insertion_code": "{{${tier}}}", "custom_value_expression": "${tier}"},
            ),
        ],
        ids=str,
    )
    def test_is_updated_if_the_report_differs(self, account, change, expected):
        _, before = account.fields
        tier = evolve(reported("tier", allowed_values=["gold", "silver"]), **change)
        plan = account.sync(tier, "city", at=LATER)
        assert changes(plan) == ((), (evolve(before, **expected, version=2, updated_at=LATER),), ())
        assert plan.unchanged == 1

    def test_does_not_change_if_the_report_is_the_same(self, account):
        before = account.catalog
        gold_and_silver = reported("tier", label=" tier ", allowed_values=("gold", "silver"))
        plan = account.sync(gold_and_silver, "city", at=LATER)
        assert (changes(plan), plan.unchanged, plan.refused) == (((), (), ()), 2, ())
        assert account.catalog == before
        assert account.integration.last_synced_at == LATER

    def test_is_removed_if_it_is_not_reported(self, account):
        _, tier = account.fields
        plan = account.sync("city")
        assert (changes(plan), plan.unchanged) == (((), (), (tier,)), 1)

    def test_keeps_its_key_if_its_label_changes(self, account):
        account.sync(reported("city", label="Town"), reported("tier", label="Class"))
        assert account.keys == {"city": "city", "tier": "tier"}

    def test_gets_a_later_time_even_if_the_clock_has_not_advanced(self, account):
        (field,) = account.sync(reported("city", label="C"), at=NOON).updated
        assert field.updated_at > NOON

    def test_does_not_change_if_a_run_that_began_later_has_finished(self, account):
        before = account.catalog
        with pytest.raises(SyncOvertaken):
            account.sync(at=NOON - timedelta(milliseconds=1))
        assert account.catalog == before
        assert account.integration.last_synced_at == NOON


@EVERY_ESP
def test_a_field_that_is_not_listed_stays_only_if_the_esp_lists_fields_in_use_only(esp):
    account = Account(esp)
    name = "city" if esp == Esp("hubspot") else "CITY"
    account.sync(name)
    plan = account.sync()
    assert bool(plan.removed) is (esp not in SAMPLED)
    assert len(account.fields) == (esp in SAMPLED)
    assert plan.unchanged == 0


@pytest.mark.parametrize("other", [API, ADMINISTRATOR, sync_channel(EIGHT)])
def test_a_sync_does_not_change_fields_of_another_origin(other):
    field = make_other_field("city", other)
    account = Account("hubspot", field)
    (created,) = account.sync("city").created
    assert created.key == "city_7"
    account.sync(reported("city", label="Town"))
    account.sync()
    assert account.catalog == (field,)


class TestTheKeyOfANewField:
    @pytest.mark.parametrize(
        ("esp", "name", "key"),
        [
            ("sfmc", "Größe (cm)", "grosse_cm"),
            ("mailchimp", "MMERGE5", "mmerge5"),
            ("iterable", "1st order", "f_1st_order"),
            ("iterable", "address.city", "address_city"),
            ("klaviyo", "$source", "source_7"),
            ("hubspot", "id", "id_7"),
            ("hubspot", "endfor", "endfor_7"),
            (Esp("hubspot"), "n" * 100, "n" * MAX_KEY_LENGTH),
            # These names are similar to those below.
            ("klaviyo", "№", "no"),
            ("klaviyo", "sys", "sys"),
        ],
    )
    def test_is_derived_from_its_name_and_has_the_integration_id_if_reserved(self, esp, name, key):
        account = Account(esp)
        account.sync(name)
        assert account.keys == {name: key}

    @pytest.mark.parametrize(
        "name", ["日本", "Цена 5", "Størrelse", "!", "sys_admin", "$sys_1", "_"]
    )
    def test_can_not_be_derived_from_some_names(self, name):
        account = Account("klaviyo")
        plan = account.sync(name)
        assert refusals(plan) == {name: NO_KEY}
        assert changes(plan) == ((), (), ())

    @pytest.mark.parametrize(
        ("name", "stored_key"),
        [("Größe", "gro_e"), ("Tier 日本", "tier"), ("Størrelse", "st_rrelse")],
    )
    def test_does_not_change_if_an_earlier_version_derived_it_differently(self, name, stored_key):
        stored = make_other_field(stored_key, sync_channel(SEVEN))
        stored = evolve(stored, origin=evolve(stored.origin, esp_field_name=name))
        account = Account("klaviyo", stored)

        plan = account.sync(reported(name, label="New label"))
        again = account.sync(reported(name, label="New label"))

        assert (plan.created, plan.removed, plan.refused) == ((), (), ())
        assert [(field.id, field.key, field.name) for field in account.catalog] == [
            (stored.id, stored_key, "New label")
        ]
        assert (changes(again), again.refused) == (((), (), ()), ())

    def test_does_not_occupy_a_variable_if_it_can_not_be_derived(self):
        account = Account("sfmc")
        plan = account.sync("Gr\u00f8e", "Gr\u00f1e")
        assert refusals(plan) == {"Gr\u00f8e": NO_KEY}
        assert account.keys == {"Gr\u00f1e": "grne"}

    def test_has_the_integration_id_permanently_if_it_was_taken(self):
        account = Account("hubspot", make_other_field("city"))
        account.sync("city")
        account.catalog = tuple(account.fields)
        assert changes(account.sync("city")) == ((), (), ())
        assert account.keys == {"city": "city_7"}

    def test_is_truncated_to_make_room_for_the_integration_id(self):
        taken = "n" * MAX_KEY_LENGTH
        account = Account("hubspot", make_other_field(taken))
        account.sync("n" * 100)
        assert list(account.keys.values()) == ["n" * 61 + "_7"]

    def test_has_no_double_underscore_after_truncation(self):
        taken = "n" * 60 + "_ab"
        account = Account("hubspot", make_other_field(taken))
        account.sync(taken)
        assert account.keys == {taken: "n" * 60 + "_7"}

    @given(st.permutations(["First name", "first-name", "FIRST NAME", "first_name"]))
    def test_belongs_to_the_name_that_is_the_key_in_any_order(self, names):
        account = synced("klaviyo", *names)
        assert account.keys == {
            "first_name": "first_name",
            "FIRST NAME": "first_name_7",
            "First name": "first_name_7_2",
            "first-name": "first_name_7_3",
        }

    @given(st.permutations(["City 1", "CITY", "city", "city_7"]))
    def test_with_a_suffix_belongs_to_the_name_that_is_this_key(self, names):
        account = synced("klaviyo", *names)
        assert account.keys == {
            "city": "city",
            "city_7": "city_7",
            "CITY": "city_7_2",
            "City 1": "city_1",
        }

    def test_belongs_to_the_standard_field_of_two_with_the_same_name(self):
        account = synced("klaviyo", "email", reported("email", standard=True))
        keys = {field.custom_value_expression: field.key for field in account.fields}
        assert keys == {"email": "email", "person|lookup:'email'": "email_7"}

    def test_does_not_depend_on_the_order_of_later_reports(self):
        account = synced("klaviyo", "First name", "first-name")
        before = account.catalog
        account.sync("FIRST NAME", "first-name", "First name")
        assert account.catalog[:2] == before
        assert account.keys["FIRST NAME"] == "first_name_7_2"

    def test_has_a_number_if_other_fields_have_the_keys_with_the_integration_id(self):
        taken = ["city", "city_7", "city_7_3", "sys"]
        others = [make_other_field(key, API, i) for i, key in enumerate(taken, start=1)]
        account = Account("klaviyo", *others)
        plan = account.sync("city", "City", "sys", "SYS")
        assert plan.refused == ()
        assert account.keys == {
            "city": "city_7_2",
            "City": "city_7_4",
            "sys": "f_sys_7",
            "SYS": "f_sys_7_2",
        }

    def test_has_the_next_number_for_each_of_many_similar_names(self):
        account = Account("klaviyo")
        plan = account.sync(*("city" + "!" * n for n in range(200)))
        assert [each.key for each in plan.created][-1] == "city_7_199"

    def test_can_be_that_of_a_removed_field(self):
        account = synced("iterable", "first name", "first-name")
        account.sync("First name", "first-name")
        assert account.keys == {"First name": "first_name", "first-name": "first_name_7"}

    def test_can_not_be_that_of_a_stored_field_that_is_rejected(self):
        account = synced("iterable", "first name")
        account.sync(RefusedField("first name", "No such type."), "first-name")
        assert account.keys == {"first name": "first_name", "first-name": "first_name_7"}

    def test_is_valid_with_the_largest_integration_id(self):
        account = Account("hubspot", make_other_field("n" * MAX_KEY_LENGTH))
        account.integration = make_integration(integration_id=IntegrationId(2**53 - 1))
        (field,) = account.plan("n" * 100).created
        assert field.key == "n" * 46 + "_9007199254740991"


class TestADefaultAtTheEsp:
    def test_is_a_caveat_whether_the_field_changes_or_not(self):
        account = Account("mailchimp")
        with_default = reported("NAME", default="friend")
        first, second = account.sync(with_default, "CITY"), account.sync(with_default, "CITY")
        (caveat,) = first.caveats
        assert caveat.name == "NAME"
        assert caveat.message.startswith('Mailchimp has its own default, "friend", which')
        assert (len(first.created), second.unchanged, second.caveats) == (2, 2, (caveat,))
        assert account.sync("NAME", "CITY").caveats == ()

    def test_of_a_field_that_is_not_stored_is_no_caveat(self):
        refused = reported("IF", default="a")
        clashing = [reported(name, default="a") for name in ("First Name", "First_Name")]
        assert Account("mailchimp").plan(refused).caveats == ()
        plan = Account("sfmc").plan(*clashing)
        assert [each.name for each in plan.refused] == ["First_Name"]
        assert [each.name for each in plan.caveats] == ["First Name"]

    def test_belongs_to_the_first_of_two_reports_of_a_field(self):
        plan = Account("hubspot").plan("city", reported("city", default="Rome"))
        assert plan.caveats == ()

    def test_that_is_empty_is_no_caveat(self):
        assert Account("hubspot").plan(reported("city", default="")).caveats == ()

    def test_does_not_change_the_digest(self):
        account = Account("hubspot")
        plans = account.plan("city"), account.plan(reported("city", default="Rome"))
        assert plans[0].digest == plans[1].digest

    @pytest.mark.parametrize("default", ["a\nb\0", "\ud800", "x" * 5_000])
    def test_is_shown_on_one_short_line(self, default):
        (caveat,) = Account("hubspot").plan(reported("city", default=default)).caveats
        assert len(caveat.message.encode()) < 250
        assert "\n" not in caveat.message


HOSTILE = {
    "empty": "",
    "white space": " \t",
    "outer white space": " city",
    "null": "ci\0ty",
    "lone surrogate": "ci\ud800ty",
    "lines": "ci\nty",
    "10,000 characters": "c" * 10_000,
    "combining marks": "c" + "\u0301" * 10_000,
    "code": "city }} {{ evil",
    "256 characters": "c" * 256,
}


class TestARefusal:
    @pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
    @EVERY_ESP
    def test_is_reported_for_an_unsafe_name(self, esp, name):
        if esp in {Esp("sfmc"), Esp("mailchimp"), Esp("activecampaign")}:
            name = name.replace("}} {{", "%% |* %")
        account = Account(esp)
        plan = account.sync(name)
        assert account.fields == []
        (refused,) = plan.refused
        refused.name.encode()
        assert "\0" not in refused.name
        assert refused.reason.strip()
        refused.reason.encode()

    def test_has_a_reason_without_the_path_of_the_name(self):
        (reason,) = refusals(Account().plan(reported("city }}"))).values()
        assert reason[0].isupper()
        assert not reason.startswith("name")

    def test_can_be_part_of_the_report(self):
        account = Account()
        refused = RefusedField("birthday", "A day without a year is no date.")
        assert account.sync("city", refused).refused == (refused,)
        assert account.keys == {"city": "city"}

    def test_does_not_change_a_stored_field(self):
        account = synced("hubspot", "city", "age")
        before = account.catalog
        plan = account.sync(RefusedField("city", "It has changed its type."), "age")
        assert changes(plan) == ((), (), ())
        assert account.catalog == before

    def test_is_reported_for_a_duplicate_field(self):
        account = Account()
        plan = account.sync(reported("city", label="One"), reported("city", label="Other"))
        assert [field.name for field in account.fields] == ["One"]
        assert refusals(plan) == {"city": DUPLICATE}

    def test_ends_when_the_field_is_corrected(self):
        account = Account()
        wrong = RefusedField("city", "It has changed its type.")
        assert account.sync(wrong).refused
        assert len(account.sync("city").created) == 1
        account.sync(wrong)
        assert account.sync("city").unchanged == 1


WITHOUT_VALUES = "It is synced without allowed values."
NOT_NFC = "Write each accented letter as one character, as in Unicode NFC."


class TestADetail:
    """A field is synced without a label or choices that a recipient field can't have."""

    @pytest.mark.parametrize(
        ("data_type", "choices", "reasons"),
        [
            ("text", ["a", "b "], 'Choice 2, "b ": Remove the white space at the ends.'),
            ("text", [" ", "b"], 'Choice 1, " ": This must not be empty or only white space.'),
            ("text", ["", "a", "a"], 'Choice 3, "a": Each value may be listed once.'),
            ("text", ["a", 1, None], "Choice 2: It is not a text. Choice 3: It is not a text."),
            ("text", ["\ud800"], 'Choice 1, "": Remove line breaks and control characters.'),
            ("text", ["Caf\u00e9", "Cafe\u0301"], f'Choice 2, "Cafe\u0301": {NOT_NFC}'),
            ("text", ["Cafe\u0301", "Caf\u00e9"], f'Choice 1, "Cafe\u0301": {NOT_NFC}'),
            (
                *("text", [str(number) for number in range(MAX_ALLOWED_VALUES + 1)]),
                "It has 1,001 choices. List at most 1,000 values.",
            ),
            (
                *("boolean", [True, False]),
                "It has 2 choices. A boolean field has no allowed values. Remove them.",
            ),
            ("date", ["1.2.26"], 'Choice 1, "1.2.26": Write a date like 2026-11-20.'),
            ("number", [1, float("nan")], "Choice 2: A number must be finite."),
        ],
        ids=lambda value: str(value)[:40],
    )
    def test_that_is_an_impossible_choice_is_a_caveat(self, data_type, choices, reasons):
        plan = Account().sync(reported("city", DataType(data_type), allowed_values=choices))
        assert [each.allowed_values for each in plan.created] == [None]
        (caveat, *others) = plan.caveats
        assert (caveat.name, caveat.message) == ("city", f"{WITHOUT_VALUES} {reasons}")
        assert [each.message for each in others] == [EMPTY] * ("" in choices)

    def test_that_is_a_text_instead_of_choices_is_a_caveat(self):
        plan = Account().sync(reported("city", allowed_values="Rome"))
        assert [each.allowed_values for each in plan.created] == [None]
        assert [each.message for each in plan.caveats] == [
            f"{WITHOUT_VALUES} Its choices are not a list."
        ]

    def test_that_is_an_empty_choice_is_no_allowed_value(self):
        plan = Account().sync(reported("city", allowed_values=["", "Rome", ""]))
        (field,) = plan.created
        assert field.allowed_values == AllowedValues(DataType.TEXT, ["Rome"])
        assert [each.message for each in plan.caveats] == [EMPTY]
        (field,) = Account().sync(reported("city", allowed_values=[""])).created
        assert field.allowed_values is None

    def test_that_is_missing_is_no_caveat(self):
        plan = Account().sync(reported("city", allowed_values=[]), reported("age"))
        assert [each.allowed_values for each in plan.created] == [None, None]
        assert plan.caveats == ()

    def test_with_many_mistakes_has_a_short_caveat(self):
        choices = [f"{number:0200} " for number in range(MAX_ALLOWED_VALUES)]
        (caveat,) = Account().sync(reported("city", allowed_values=choices)).caveats
        assert caveat.message.endswith("There are 995 more invalid choices.")
        assert len(caveat.message) < 700

    @pytest.mark.parametrize(
        ("label", "name", "reason"),
        [
            ("Preferred\tshop", "Preferred shop", "Remove line breaks and control characters."),
            ("a\nb\0\ud800", "a b", "Remove line breaks and control characters."),
            ("\0", "city", "Remove line breaks and control characters."),
            ("l" * 256, "l" * 255, "This must have at most 255 characters."),
        ],
        ids=lambda value: str(value)[:20],
    )
    def test_that_is_an_impossible_label_is_a_caveat(self, label, name, reason):
        plan = Account().sync(reported("city", label=label))
        assert [each.name for each in plan.created] == [name]
        assert [each.message for each in plan.caveats] == [
            f'Its label is stored as "{name[:60]}". {reason}'
        ]

    def test_that_is_corrected_is_no_caveat_any_more(self):
        account = Account()
        wrong = reported("city", label="Home\ttown", allowed_values=["Rome "])
        assert len(account.sync(wrong).caveats) == 2
        assert account.sync(wrong).unchanged == 1
        plan = account.sync(reported("city", label="Home town", allowed_values=["Rome"]))
        assert plan.caveats == ()
        assert [each.allowed_values for each in plan.updated] == [
            AllowedValues(DataType.TEXT, ["Rome"])
        ]

    def test_can_be_a_caveat_of_its_source(self):
        plan = Account().sync(reported("city", caveats=["Its label is left out."]))
        assert [each.message for each in plan.caveats] == ["Its label is left out."]


EMPTY = "Choice 1 is empty: it means that no value is set."


class TestSalesforceVariables:
    """`First Name` and `first_name` are both `@first_name` in AMPscript."""

    @given(st.permutations(["First Name", "first_name", "First-Name", "City"]))
    def test_belong_to_the_new_name_that_is_the_key_in_any_order(self, names):
        account = Account("sfmc")
        plan = account.sync(*names)
        assert account.keys == {"first_name": "first_name", "City": "city"}
        reason = "The field first_name already has the variable @first_name."
        assert refusals(plan) == {"First Name": reason, "First-Name": reason}

    def test_belong_to_the_stored_name_in_any_order(self):
        account = synced("sfmc", "First Name")
        before = account.catalog
        plan = account.sync("first_name", "First Name")
        assert account.catalog == before
        assert list(refusals(plan)) == ["first_name"]
        assert plan.unchanged == 1

    def test_are_free_for_another_name_after_the_stored_one_is_removed(self):
        account = synced("sfmc", "First Name")
        account.sync("first_name")
        assert account.keys == {"first_name": "first_name"}

    def test_are_not_free_while_the_stored_name_is_rejected(self):
        account = synced("sfmc", "First Name")
        before = account.catalog
        for refused in (
            RefusedField("First Name", "No such type."),
            RefusedField("First Name", "It has changed its type."),
        ):
            plan = account.sync("first_name", refused)
            assert account.catalog == before
            assert set(refusals(plan)) == {"First Name", "first_name"}


class TestAStandardAndACustomFieldOfOneName:
    """A standard field and a custom field of Braze can have the same name."""

    STANDARD, CUSTOM = reported("email", standard=True), reported("email")

    @pytest.fixture
    def account(self):
        return synced("braze", self.STANDARD, self.CUSTOM)

    def test_are_two_fields(self, account):
        assert {field.key: field.custom_value_expression for field in account.fields} == {
            "email": "${email}",
            "email_7": "custom_attribute.${email}",
        }

    def test_are_distinguished_in_any_order(self, account):
        before = account.catalog
        assert account.sync(self.CUSTOM, self.STANDARD).unchanged == 2
        assert account.catalog == before

    @pytest.mark.parametrize("gone", [0, 1])
    def test_are_removed_separately(self, account, gone):
        before = account.fields
        plan = account.sync((self.CUSTOM, self.STANDARD)[gone])
        assert plan.removed == (before[gone],)
        assert plan.unchanged == 1

    @pytest.mark.parametrize("gone", [0, 1])
    def test_are_removed_separately_even_if_the_other_is_reported_twice(self, account, gone):
        before = account.fields
        plan = account.sync(*[(self.CUSTOM, self.STANDARD)[gone]] * 2)
        assert plan.removed == (before[gone],)
        assert refusals(plan) == {"email": DUPLICATE}

    def test_a_single_stored_one_becomes_the_other(self):
        account = synced("braze", self.CUSTOM)
        plan = account.sync(self.STANDARD)
        assert [field.custom_value_expression for field in plan.updated] == ["${email}"]
        assert account.keys == {"email": "email"}

    def test_a_stored_one_that_is_refused_does_not_become_the_other(self):
        account = synced("braze", self.STANDARD)
        before = account.catalog
        account.sync(RefusedField("email", "It has changed its type."), self.CUSTOM)
        assert account.catalog[:1] == before
        assert account.sync(self.STANDARD, self.CUSTOM).unchanged == 2
        assert account.catalog[:1] == before


def test_a_run_can_be_planned_again_with_another_catalog():
    integration = make_integration()
    run = SyncRun.from_report(integration, iter([reported("city")]), at=NOON)
    (first,) = run.plan(integration, ()).created
    (second,) = run.plan(integration, (make_other_field("city"),)).created
    (third,) = run.plan(integration, ()).created
    assert (first.key, second.key, third) == ("city", "city_7", first)


def test_characters_that_can_not_be_displayed_are_replaced_in_the_name_of_a_refused_field():
    assert RefusedField("a\0\ud800b", "Why.").name == "a\ufffd\ufffdb"


@given(st.text(st.characters(codec=None)) | st.text())
def test_other_characters_of_the_name_of_a_refused_field_do_not_change(text):
    name = RefusedField(text, "Why.").name
    assert len(name) == len(text)
    assert all(
        new == old or (new == "\ufffd" and (old == "\0" or "\ud800" <= old <= "\udfff"))
        for new, old in zip(name, text, strict=True)
    )
    assert "\0" not in name.encode().decode()


COLLIDING = st.sampled_from(
    [
        *("City", "CITY", "city", "city_", "first_name", "First Name", "First-Name", "email"),
        *("id", "ID", "sys_x", "x" * 70, "x" * 71, "city_7", "CITY_7", "日本", "size", "IF"),
    ]
)
FIRST_NAMES = st.sampled_from(["First Name", "first_name", "First-Name"])
ANY_NAME = COLLIDING | st.lists(FRAGMENTS, max_size=4).map("".join) | st.sampled_from([*HOSTILE])
ALLOWED = st.none() | st.lists(
    st.sampled_from(["a", "b", "", "\ud800", " ", 1, 1.0, True, None, "2026-11-20"]), max_size=3
)


@st.composite
def reports(draw, esp, names=None):
    if names is None:
        names = draw(st.sampled_from([COLLIDING, COLLIDING | ORDINARY_NAMES[esp] | ANY_NAME]))
    field = st.builds(
        EspField,
        name=names,
        data_type=st.sampled_from(DataType),
        label=st.none() | st.sampled_from(["", " ", "City", "a\0", "l" * 256]),
        allowed_values=ALLOWED,
        standard=st.booleans(),
    )
    refusal = st.builds(RefusedField, names, st.just("The ESP says so."))
    return draw(st.lists(field | field | field | refusal, max_size=8))


@st.composite
def sync_histories(draw):
    """Draw an account with fields of other origins, and several consecutive reports of its ESP."""
    esp = draw(st.sampled_from(BUILT_IN.esps))
    origins = (API, ADMINISTRATOR, sync_channel(EIGHT))
    keys = st.sampled_from(["city", "city_7", "first_name", "id_7", "x" * 63, "email"])
    others = [
        make_other_field(key, draw(st.sampled_from(origins)), field_id)
        for field_id, key in enumerate(draw(st.lists(keys, unique=True)), start=1)
    ]
    return Account(esp, *others), draw(st.lists(reports(esp), min_size=1, max_size=4))


def expected_values(field):
    """Return the choices as allowed values, without empty ones, or None if one can't be one."""
    choices = [choice for choice in field.allowed_values or () if choice != ""]
    with suppress(InvalidInput):
        return AllowedValues(field.data_type, choices)
    return None


def expected_shapes(esp, report):
    """Return the expected values of each field: those of its first valid report."""
    shapes: dict[tuple[str, str], tuple[object, ...]] = {}
    for each in report:
        if isinstance(each, RefusedField):
            continue
        try:
            codes = derive_codes(esp, each.name, data_type=each.data_type, standard=each.standard)
            shape = (
                FieldName(clean_line(each.label or "") or each.name),
                each.data_type,
                expected_values(each),
                codes.insertion_code,
            )
        except InvalidInput:
            continue
        shapes.setdefault((each.name, codes.value_expression), shape)
    return shapes


def identity(field):
    return field.origin.esp_field_name, field.custom_value_expression


def shape(field):
    return field.name, field.data_type, field.allowed_values, field.custom_insertion_code


@given(sync_histories())
def test_a_run_stores_the_reported_fields_and_changes_no_others(account_and_history):
    account, history = account_and_history
    others = account.others
    for report in history:
        before = {identity(field): field for field in account.fields}
        plan = account.sync(*report)
        expected = expected_shapes(account.integration.esp, report)
        stored = {identity(field): field for field in account.fields}
        refused = {each.name for each in plan.refused}
        sampled = account.integration.esp in SAMPLED

        assert len(stored) == len(account.fields)
        for which, field in stored.items():
            if which in expected:
                assert shape(field) == expected[which]
            else:
                assert sampled or which[0] in refused
                assert field == before[which]
        assert {name for name, _ in expected.keys() - stored.keys()} <= refused
        assert account.others == others

        for esp_name in refused - {name for name, _ in expected}:
            kept = {w: f for w, f in before.items() if w[0] == esp_name}
            assert kept.items() <= stored.items()
        if sampled:
            assert plan.removed == ()

        keys = [field.key for field in account.catalog]
        assert len(set(keys)) == len(keys)
        assert [FieldKey(key) for key in keys] == keys


@given(sync_histories())
def test_a_second_run_changes_nothing(account_and_history):
    account, history = account_and_history
    for report in history:
        first = account.sync(*report, at=LATER)
        before = account.catalog
        again = account.sync(*report, at=LATER)
        assert changes(again) == ((), (), ())
        assert again.unchanged == first.unchanged + len(first.created) + len(first.updated)
        assert set(again.refused) == set(first.refused)
        assert account.catalog == before


@given(sync_histories(), st.randoms(use_true_random=False))
def test_a_field_keeps_its_key_for_any_order_of_the_report(account_and_history, random):
    account, history = account_and_history
    for report in history:
        # If several items report the same field, the order matters. Keep one of them.
        once = list({each.name: each for each in report}.values())
        account.sync(*once)
        before = account.catalog
        random.shuffle(once)
        assert changes(account.sync(*once)) == ((), (), ())
        assert account.catalog == before


@given(st.lists(reports(Esp("sfmc"), FIRST_NAMES), min_size=1, max_size=4))
def test_no_two_fields_have_the_same_salesforce_variable(history):
    account = Account("sfmc")
    for report in history:
        account.sync(*report)
        variables = [field.custom_value_expression.lower() for field in account.fields]
        assert len(set(variables)) == len(variables)


@given(sync_histories())
def test_a_plan_contains_every_reported_field_exactly_once(account_and_history):
    account, history = account_and_history
    for report in history:
        plan = account.sync(*report)
        count = len(plan.created) + len(plan.updated) + plan.unchanged + len(plan.refused)
        assert count == len(report)


def test_the_dialects_that_list_only_fields_in_use_are_the_documented_ones():
    assert {each.esp for each in BUILT_IN if each.names.lists_fields_in_use_only} == SAMPLED
