"""Sync runs: the fields of an integration become what its ESP reports, and nothing else changes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count

import pytest
from attrs import evolve
from hypothesis import given, settings
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
    sync_channel,
)
from recipient_fields.domain.esp import (
    DIALECTS,
    Esp,
    EspField,
    IntegrationDraft,
    RefusedField,
    SyncOvertaken,
    SyncRun,
    derive_snippet,
)

from .strategies import ORDINARY_NAMES, PIECES

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)
OURS = OrganizationId(1)
SEVEN, EIGHT = IntegrationId(7), IntegrationId(8)
SAMPLED = {Esp.KLAVIYO, Esp.CUSTOMER_IO}
TWICE = "The ESP reports this field twice."
KEYS_TAKEN = "Other fields have the keys that are derived from this name: first_name, first_name_7."
NO_KEY = (
    "No key can be derived from this name. Rename the field in the ESP: use letters a-z and digits"
    " 0-9, with or without accents, and do not begin with sys_."
)
EVERY_ESP = pytest.mark.parametrize("esp", Esp, ids=lambda esp: esp.value)


def an_integration(esp=Esp.HUBSPOT, integration_id=SEVEN):
    return IntegrationDraft(esp=esp, name="Main", created_at=NOON).with_id(integration_id, OURS)


def reported(name, /, data_type=DataType.TEXT, **members):
    return EspField(name=name, data_type=data_type, **members)


class Account:
    """An organization's catalog, and the runs of one of its integrations."""

    def __init__(self, esp=Esp.HUBSPOT, *catalog):
        self.integration = an_integration(esp)
        self.catalog = catalog
        self.ids = count(1_000)

    def plan(self, *report, at=NOON):
        report = [reported(each) if isinstance(each, str) else each for each in report]
        run = SyncRun.from_report(self.integration, report, at=at)
        return run.plan(self.integration, self.catalog)

    def sync(self, *report, at=NOON):
        plan = self.plan(*report, at=at)
        updated = {field.id: field for field in plan.updated}
        kept = [field for field in self.catalog if field not in plan.removed]
        created = [each.with_id(FieldId(next(self.ids)), OURS) for each in plan.created]
        self.catalog = (*(updated.get(field.id, field) for field in kept), *created)
        self.integration = plan.integration
        return plan

    @property
    def fields(self):
        """The integration's."""
        return [field for field in self.catalog if sync_channel(SEVEN).owns(field.origin)]

    @property
    def others(self):
        return [field for field in self.catalog if not sync_channel(SEVEN).owns(field.origin)]

    @property
    def keys(self):
        """The keys of the integration's fields by the ESP's name."""
        return {field.origin.esp_field_name: field.key for field in self.fields}


def another(key, by=API, field_id=1):
    """A field of another origin, or of another integration."""
    synced = {} if by.integration_id is None else {"esp_field_name": key}
    draft = FieldDraft(name=key, key=key, data_type=DataType.TEXT, **synced)
    return draft.define(by=by, at=NOON).with_id(FieldId(field_id), OURS)


def changes(plan):
    return plan.created, plan.updated, plan.removed


def refusals(plan):
    return {each.name: each.reason for each in plan.refused}


class TestAFieldThatIsNew:
    def test_is_created_as_the_esp_describes_it(self):
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
    def test_without_a_label_is_called_by_the_esp_s_name(self, label):
        (field,) = Account().sync(reported("city", label=label)).created
        assert field.name == "city"

    @EVERY_ESP
    def test_has_the_code_of_its_dialect(self, esp):
        name = "first_name" if esp in {Esp.HUBSPOT, Esp.SALESFORCE} else "CITY"
        (field,) = Account(esp).sync(name).created
        snippet = derive_snippet(esp, name)
        assert field.custom_insertion_code == snippet.insertion_code
        assert field.custom_value_expression == snippet.value_expression

    def test_is_dated_by_the_run(self):
        account = Account()
        (field,) = account.sync("city", at=LATER).created
        assert field.created_at == LATER
        assert account.integration.last_synced_at == LATER


class TestAFieldThatIsThere:
    @pytest.fixture
    def account(self):
        account = Account(Esp.BRAZE, another("town"))
        account.sync("city", reported("tier", allowed_values=["gold", "silver"]))
        return account

    @pytest.mark.parametrize(
        ("change", "expected"),
        [
            ({"label": "Tier"}, {"name": "Tier"}),
            ({"allowed_values": None}, {"allowed_values": None}),
            (
                {"allowed_values": ["silver", "gold"]},
                {"allowed_values": AllowedValues(DataType.TEXT, ["silver", "gold"])},
            ),
            (
                {"data_type": DataType.BOOLEAN, "allowed_values": None},
                {"data_type": DataType.BOOLEAN, "allowed_values": None},
            ),
            (
                {"data_type": DataType.NUMBER, "allowed_values": [1]},
                {
                    "data_type": DataType.NUMBER,
                    "allowed_values": AllowedValues(DataType.NUMBER, [1]),
                },
            ),
            (
                {"standard": True},
                {"custom_insertion_code": "{{${tier}}}", "custom_value_expression": "${tier}"},
            ),
        ],
        ids=str,
    )
    def test_is_updated_where_the_esp_describes_it_otherwise(self, account, change, expected):
        _, before = account.fields
        tier = evolve(reported("tier", allowed_values=["gold", "silver"]), **change)
        plan = account.sync(tier, "city", at=LATER)
        assert changes(plan) == (
            (),
            (evolve(before, **expected, version=2, updated_at=LATER),),
            (),
        )
        assert plan.unchanged == 1

    def test_stays_as_it_is_where_the_esp_describes_it_as_ever(self, account):
        before = account.catalog
        gold_and_silver = reported("tier", label=" tier ", allowed_values=("gold", "silver"))
        plan = account.sync(gold_and_silver, "city", at=LATER)
        assert (changes(plan), plan.unchanged, plan.refused) == (((), (), ()), 2, ())
        assert account.catalog == before
        assert account.integration.last_synced_at == LATER

    def test_is_removed_when_it_is_gone(self, account):
        _, tier = account.fields
        plan = account.sync("city")
        assert (changes(plan), plan.unchanged) == (((), (), (tier,)), 1)

    def test_keeps_its_key_when_it_is_called_otherwise(self, account):
        account.sync(reported("city", label="Town"), reported("tier", label="Class"))
        assert account.keys == {"city": "city", "tier": "tier"}

    def test_is_dated_forward_even_where_the_clock_stands_still(self, account):
        (field,) = account.sync(reported("city", label="C"), at=NOON).updated
        assert field.updated_at > NOON

    def test_stays_where_a_run_that_began_later_was_faster(self, account):
        before = account.catalog
        with pytest.raises(SyncOvertaken):
            account.sync(at=NOON - timedelta(milliseconds=1))
        assert account.catalog == before
        assert account.integration.last_synced_at == NOON


@EVERY_ESP
def test_only_where_the_listing_is_a_sample_what_is_not_listed_stays(esp):
    account = Account(esp)
    name = "city" if esp is Esp.HUBSPOT else "CITY"
    account.sync(name)
    plan = account.sync()
    assert bool(plan.removed) is (esp not in SAMPLED)
    assert len(account.fields) == (esp in SAMPLED)
    assert plan.unchanged == 0


def test_two_integrations_of_one_organization_keep_out_of_each_other_s_way():
    theirs = another("city", sync_channel(EIGHT))
    account = Account(Esp.HUBSPOT, theirs)
    account.sync("city")
    assert account.keys == {"city": "city_7"}
    account.sync()
    assert account.catalog == (theirs,)


@pytest.mark.parametrize("other", [API, ADMINISTRATOR, sync_channel(EIGHT)])
def test_fields_of_another_origin_are_neither_touched_nor_taken_for_ours(other):
    field = another("city", other)
    account = Account(Esp.HUBSPOT, field)
    (created,) = account.sync("city").created
    assert created.key == "city_7"
    account.sync(reported("city", label="Town"))
    account.sync()
    assert account.catalog == (field,)


class TestTheKeyOfANewField:
    @pytest.mark.parametrize(
        ("esp", "name", "key"),
        [
            (Esp.SALESFORCE, "Größe (cm)", "grosse_cm"),
            (Esp.MAILCHIMP, "MMERGE5", "mmerge5"),
            (Esp.ITERABLE, "1st order", "f_1st_order"),
            (Esp.ITERABLE, "address.city", "address_city"),
            (Esp.KLAVIYO, "$source", "source_7"),
            (Esp.HUBSPOT, "id", "id_7"),
            (Esp.HUBSPOT, "endfor", "endfor_7"),
            (Esp.HUBSPOT, "n" * 100, "n" * MAX_KEY_LENGTH),
        ],
    )
    def test_is_what_its_name_gives_and_with_our_id_where_that_is_reserved(self, esp, name, key):
        account = Account(esp)
        account.sync(name)
        assert account.keys == {name: key}

    @pytest.mark.parametrize(
        "name", ["日本", "Цена 5", "Størrelse", "!", "sys_admin", "$sys_1", "_"]
    )
    def test_is_refused_if_its_name_has_none(self, name):
        account = Account(Esp.KLAVIYO)
        plan = account.sync(name)
        assert refusals(plan) == {name: NO_KEY}
        assert changes(plan) == ((), (), ())

    @pytest.mark.parametrize(("name", "key"), [("№", "no"), ("sys", "sys")])
    def test_is_not_refused_if_its_name_only_looks_like_having_none(self, name, key):
        account = Account(Esp.KLAVIYO)
        account.sync(name)
        assert account.keys == {name: key}

    @pytest.mark.parametrize(
        ("name", "stored_key"),
        [("Größe", "gro_e"), ("Tier 日本", "tier"), ("Størrelse", "st_rrelse")],
    )
    def test_that_an_earlier_version_derived_in_another_way_stays(self, name, stored_key):
        stored = another(stored_key, sync_channel(SEVEN))
        stored = evolve(stored, origin=evolve(stored.origin, esp_field_name=name))
        account = Account(Esp.KLAVIYO, stored)

        plan = account.sync(reported(name, label="New label"))
        again = account.sync(reported(name, label="New label"))

        assert (plan.created, plan.removed, plan.refused) == ((), (), ())
        assert [(field.id, field.key, field.name) for field in account.catalog] == [
            (stored.id, stored_key, "New label")
        ]
        assert (changes(again), again.refused) == (((), (), ()), ())

    def test_can_not_be_derived_and_holds_no_variable_that_another_field_may_have(self):
        account = Account(Esp.SALESFORCE)
        plan = account.sync("Gr\u00f8e", "Gr\u00f1e")
        assert refusals(plan) == {"Gr\u00f8e": NO_KEY}
        assert account.keys == {"Gr\u00f1e": "grne"}

    def test_that_is_taken_has_our_id_at_its_end_for_good(self):
        account = Account(Esp.HUBSPOT, another("city"))
        account.sync("city")
        account.catalog = tuple(account.fields)
        assert changes(account.sync("city")) == ((), (), ())
        assert account.keys == {"city": "city_7"}

    def test_of_the_longest_kind_is_cut_for_our_id(self):
        taken = "n" * MAX_KEY_LENGTH
        account = Account(Esp.HUBSPOT, another(taken))
        account.sync("n" * 100)
        assert list(account.keys.values()) == ["n" * 61 + "_7"]

    def test_never_has_two_underscores_where_it_is_cut(self):
        taken = "n" * 60 + "_ab"
        account = Account(Esp.HUBSPOT, another(taken))
        account.sync(taken)
        assert account.keys == {taken: "n" * 60 + "_7"}

    def test_that_several_names_give_goes_to_the_first_of_them(self):
        account = Account(Esp.KLAVIYO)
        plan = account.sync("First name", "first-name", "FIRST NAME")
        assert account.keys == {"First name": "first_name", "first-name": "first_name_7"}
        assert refusals(plan) == {"FIRST NAME": KEYS_TAKEN}

    def test_stays_in_whatever_order_the_names_come_later(self):
        account = Account(Esp.KLAVIYO)
        account.sync("First name", "first-name")
        before = account.catalog
        plan = account.sync("FIRST NAME", "first-name", "First name")
        assert account.catalog == before
        assert refusals(plan) == {"FIRST NAME": KEYS_TAKEN}

    def test_can_be_that_of_a_field_which_is_gone_now(self):
        account = Account(Esp.ITERABLE)
        account.sync("first name", "first-name")
        account.sync("First name", "first-name")
        assert account.keys == {"First name": "first_name", "first-name": "first_name_7"}

    def test_can_not_be_that_of_a_field_which_stays_refused(self):
        account = Account(Esp.ITERABLE)
        account.sync("first name")
        account.sync(RefusedField("first name", "No such type."), "first-name")
        assert account.keys == {"first name": "first_name", "first-name": "first_name_7"}

    def test_with_the_largest_id_is_a_key_too(self):
        account = Account(Esp.HUBSPOT, another("n" * MAX_KEY_LENGTH))
        account.integration = an_integration(integration_id=IntegrationId(2**53 - 1))
        (field,) = account.plan("n" * 100).created
        assert field.key == "n" * 46 + "_9007199254740991"


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
    def test_meets_a_name_that_is_not_safe(self, esp, name):
        if esp in {Esp.SALESFORCE, Esp.MAILCHIMP, Esp.ACTIVECAMPAIGN}:
            name = name.replace("}} {{", "%% |* %")
        account = Account(esp)
        plan = account.sync(name)
        assert account.fields == []
        (refused,) = plan.refused
        refused.name.encode()
        assert "\0" not in refused.name
        assert refused.reason.strip()
        refused.reason.encode()

    @pytest.mark.parametrize(
        "wrong",
        [
            {"allowed_values": []},
            {"allowed_values": ["a", "a"]},
            {"allowed_values": ["a", 1]},
            {"allowed_values": "abc"},
            {"allowed_values": [f"{n}" for n in range(MAX_ALLOWED_VALUES + 1)]},
            {"allowed_values": [None]},
            {"allowed_values": ["\ud800"]},
            {"data_type": DataType.BOOLEAN, "allowed_values": [True, False]},
            {"data_type": DataType.DATE, "allowed_values": ["20.11.2026"]},
            {"data_type": DataType.NUMBER, "allowed_values": [float("nan")]},
            {"label": "l" * 256},
            {"label": "a\nb"},
            {"label": "a\0b"},
            {"label": "\ud800"},
        ],
        ids=lambda wrong: str(wrong)[:60],
    )
    def test_meets_what_no_recipient_field_can_be(self, wrong):
        account = Account()
        account.sync("city", "age")
        before = account.catalog
        plan = account.sync(evolve(reported("city"), **wrong), "age")
        assert account.catalog == before
        assert changes(plan) == ((), (), ())
        assert list(refusals(plan)) == ["city"]
        assert plan.unchanged == 1

    def test_speaks_of_the_name_that_stands_beside_it_without_repeating_that_it_is_one(self):
        (reason,) = refusals(Account().plan(reported("city }}"))).values()
        assert reason[0].isupper()
        assert not reason.startswith("name")
        (reason,) = refusals(Account().plan(reported("city", label="l" * 256))).values()
        assert reason.startswith("label: ")

    def test_names_all_that_is_wrong(self):
        wrong = reported("city", label="l" * 256, allowed_values=["a", "a"])
        (reason,) = refusals(Account().plan(wrong)).values()
        assert "label" in reason
        assert "allowed_values.1" in reason

    def test_can_come_from_whoever_reports(self):
        account = Account()
        refused = RefusedField("birthday", "A day without a year is no date.")
        assert account.sync("city", refused).refused == (refused,)
        assert account.keys == {"city": "city"}

    def test_of_a_stored_field_keeps_it(self):
        account = Account()
        account.sync("city", "age")
        before = account.catalog
        plan = account.sync(RefusedField("city", "It has changed its type."), "age")
        assert changes(plan) == ((), (), ())
        assert account.catalog == before

    def test_meets_a_field_that_is_reported_twice(self):
        account = Account()
        plan = account.sync(reported("city", label="One"), reported("city", label="Other"))
        assert [field.name for field in account.fields] == ["One"]
        assert refusals(plan) == {"city": TWICE}

    def test_can_be_mended(self):
        account = Account()
        wrong = reported("city", allowed_values=[])
        assert account.sync(wrong).refused
        assert len(account.sync("city").created) == 1
        account.sync(wrong)
        assert account.sync("city").unchanged == 1


class TestSalesforceVariables:
    """`First Name` and `first_name` are both `@first_name` in AMPscript."""

    def test_stand_for_the_first_of_several_new_names(self):
        account = Account(Esp.SALESFORCE)
        plan = account.sync("First Name", "first_name", "First-Name", "City")
        assert account.keys == {"First Name": "first_name", "City": "city"}
        reason = "The field First Name already has the variable @First_Name."
        assert refusals(plan) == {"first_name": reason, "First-Name": reason}

    def test_stand_for_the_stored_name_whatever_comes_first_later(self):
        account = Account(Esp.SALESFORCE)
        account.sync("First Name")
        before = account.catalog
        plan = account.sync("first_name", "First Name")
        assert account.catalog == before
        assert list(refusals(plan)) == ["first_name"]
        assert plan.unchanged == 1

    def test_are_free_for_another_name_when_the_stored_one_is_gone(self):
        account = Account(Esp.SALESFORCE)
        account.sync("First Name")
        account.sync("first_name")
        assert account.keys == {"first_name": "first_name"}

    def test_are_not_free_while_the_stored_name_stays_refused(self):
        account = Account(Esp.SALESFORCE)
        account.sync("First Name")
        before = account.catalog
        for refused in (
            RefusedField("First Name", "No such type."),
            reported("First Name", allowed_values=[]),
        ):
            plan = account.sync("first_name", refused)
            assert account.catalog == before
            assert set(refusals(plan)) == {"First Name", "first_name"}


class TestTwinsOfOneName:
    """Braze has standard fields beside custom ones, and they may have one name."""

    STANDARD, CUSTOM = reported("email", standard=True), reported("email")

    @pytest.fixture
    def account(self):
        account = Account(Esp.BRAZE)
        account.sync(self.STANDARD, self.CUSTOM)
        return account

    def test_are_two_fields(self, account):
        assert {field.key: field.custom_value_expression for field in account.fields} == {
            "email": "${email}",
            "email_7": "custom_attribute.${email}",
        }

    def test_are_told_apart_in_any_order(self, account):
        before = account.catalog
        assert account.sync(self.CUSTOM, self.STANDARD).unchanged == 2
        assert account.catalog == before

    @pytest.mark.parametrize("gone", [0, 1])
    def test_go_one_by_one(self, account, gone):
        before = account.fields
        plan = account.sync((self.CUSTOM, self.STANDARD)[gone])
        assert plan.removed == (before[gone],)
        assert plan.unchanged == 1

    @pytest.mark.parametrize("gone", [0, 1])
    def test_go_one_by_one_even_where_the_other_is_reported_twice(self, account, gone):
        before = account.fields
        plan = account.sync(*[(self.CUSTOM, self.STANDARD)[gone]] * 2)
        assert plan.removed == (before[gone],)
        assert refusals(plan) == {"email": TWICE}

    def test_one_that_alone_is_stored_becomes_the_other(self):
        account = Account(Esp.BRAZE)
        account.sync(self.CUSTOM)
        plan = account.sync(self.STANDARD)
        assert [field.custom_value_expression for field in plan.updated] == ["${email}"]
        assert account.keys == {"email": "email"}

    def test_a_stored_one_that_is_refused_does_not_become_the_other(self):
        account = Account(Esp.BRAZE)
        account.sync(self.STANDARD)
        before = account.catalog
        account.sync(evolve(self.STANDARD, allowed_values=[]), self.CUSTOM)
        assert account.catalog[:1] == before
        assert account.sync(self.STANDARD, self.CUSTOM).unchanged == 2
        assert account.catalog[:1] == before


def test_a_run_can_be_planned_again_upon_another_catalog():
    integration = an_integration()
    run = SyncRun.from_report(integration, iter([reported("city")]), at=NOON)
    (first,) = run.plan(integration, ()).created
    (second,) = run.plan(integration, (another("city"),)).created
    (third,) = run.plan(integration, ()).created
    assert (first.key, second.key, third) == ("city", "city_7", first)


def test_the_name_of_a_refused_field_has_a_sign_for_what_can_not_be_shown():
    assert RefusedField("a\0\ud800b", "Why.").name == "a\ufffd\ufffdb"


@given(st.text(st.characters(codec=None)) | st.text())
def test_the_name_of_a_refused_field_is_otherwise_kept(text):
    name = RefusedField(text, "Why.").name
    assert len(name) == len(text)
    assert all(
        kept == given or (kept == "\ufffd" and (given == "\0" or "\ud800" <= given <= "\udfff"))
        for kept, given in zip(name, text, strict=True)
    )
    assert "\0" not in name.encode().decode()


COLLIDING = st.sampled_from(
    [
        *("City", "CITY", "city", "city_", "first_name", "First Name", "First-Name", "email"),
        *("id", "ID", "sys_x", "x" * 70, "x" * 71, "city_7", "CITY_7", "日本", "size", "IF"),
    ]
)
FIRST_NAMES = st.sampled_from(["First Name", "first_name", "First-Name"])
ANY_NAME = COLLIDING | st.lists(PIECES, max_size=4).map("".join) | st.sampled_from([*HOSTILE])
ALLOWED = st.none() | st.lists(
    st.sampled_from(["a", "b", "\ud800", " ", 1, 1.0, True, None, "2026-11-20"]), max_size=3
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
def courses(draw):
    """An account with fields of other origins, and what its ESP reports at several times."""
    esp = draw(st.sampled_from(Esp))
    origins = (API, ADMINISTRATOR, sync_channel(EIGHT))
    keys = st.sampled_from(["city", "city_7", "first_name", "id_7", "x" * 63, "email"])
    others = [
        another(key, draw(st.sampled_from(origins)), field_id)
        for field_id, key in enumerate(draw(st.lists(keys, unique=True)), start=1)
    ]
    return Account(esp, *others), draw(st.lists(reports(esp), min_size=1, max_size=4))


def wanted(esp, report):
    """What each identity is to be like, as the first that reports it rightly says."""
    shapes = {}
    for each in report:
        if isinstance(each, RefusedField):
            continue
        try:
            snippet = derive_snippet(
                esp, each.name, data_type=each.data_type, standard=each.standard
            )
            label = (each.label or "").strip() or each.name
            values = each.allowed_values
            shape = (
                FieldName(label),
                each.data_type,
                None if values is None else AllowedValues(each.data_type, values),
                snippet.insertion_code,
            )
        except InvalidInput:
            continue
        shapes.setdefault((each.name, snippet.value_expression), shape)
    return shapes


def identity(field):
    return field.origin.esp_field_name, field.custom_value_expression


def shape(field):
    return field.name, field.data_type, field.allowed_values, field.custom_insertion_code


@settings(max_examples=300)
@given(courses())
def test_after_a_run_the_integration_has_what_was_reported_and_the_rest_is_as_it_was(course):
    account, course_of_reports = course
    others = account.others
    for report in course_of_reports:
        before = {identity(field): field for field in account.fields}
        plan = account.sync(*report)
        expected = wanted(account.integration.esp, report)
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


@settings(max_examples=300)
@given(courses())
def test_a_second_run_changes_nothing(course):
    account, course_of_reports = course
    for report in course_of_reports:
        first = account.sync(*report, at=LATER)
        before = account.catalog
        again = account.sync(*report, at=LATER)
        assert changes(again) == ((), (), ())
        assert again.unchanged == first.unchanged + len(first.created) + len(first.updated)
        assert set(again.refused) == set(first.refused)
        assert account.catalog == before


@settings(max_examples=300)
@given(courses(), st.randoms(use_true_random=False))
def test_a_field_keeps_its_key_in_whatever_order_it_is_reported(course, random):
    account, course_of_reports = course
    for report in course_of_reports:
        # Of two that tell of one field, the first counts.
        once = list({each.name: each for each in report}.values())
        account.sync(*once)
        before = account.catalog
        random.shuffle(once)
        assert changes(account.sync(*once)) == ((), (), ())
        assert account.catalog == before


@settings(max_examples=200)
@given(st.lists(reports(Esp.SALESFORCE, FIRST_NAMES), min_size=1, max_size=4))
def test_no_variable_of_salesforce_ever_stands_for_two_fields(course_of_reports):
    account = Account(Esp.SALESFORCE)
    for report in course_of_reports:
        account.sync(*report)
        variables = [field.custom_value_expression.lower() for field in account.fields]
        assert len(set(variables)) == len(variables)


@given(courses())
def test_whatever_is_reported_is_told_of_exactly_once(course):
    """Created, updated, unchanged or refused: the numbers add up."""
    account, course_of_reports = course
    for report in course_of_reports:
        plan = account.sync(*report)
        told = len(plan.created) + len(plan.updated) + plan.unchanged + len(plan.refused)
        assert told == len(report)


def test_the_dialects_that_list_samples_are_those_of_the_documentation():
    assert {esp for esp, dialect in DIALECTS.items() if dialect.lists_fields_in_use_only} == SAMPLED
