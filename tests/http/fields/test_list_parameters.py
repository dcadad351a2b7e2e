"""Filters, order and pages of the list."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64encode
from urllib.parse import quote

import pytest

from recipient_fields.domain import (
    DataType,
    FieldQuery,
    IntegrationId,
    OrganizationId,
    SortKey,
)
from recipient_fields.domain.integrations import SetName
from recipient_fields.entrypoints.http.fields.list_parameters import LIST_PARAMETERS, checksum

from ...support.integrations import add_integration
from ..api import FIELDS, Api, ApiResponse
from ..conftest import CHANNELS, Harness

BAD_REQUEST = (400, "invalid_parameter")


@pytest.fixture
def five_fields(harness: Harness, bakery: OrganizationId) -> None:
    """Create five fields of all origins, some with equal names."""
    harness.add_field(bakery, CHANNELS["api"], "city", name="b")
    harness.add_field(bakery, CHANNELS["manual"], "size", name="Größe", data_type=DataType.NUMBER)
    harness.add_field(bakery, CHANNELS["integration"], "first", name="a", esp_field_name="FNAME")
    harness.add_field(bakery, CHANNELS["api"], "zip", name="b", insertable=False)
    harness.add_field(bakery, CHANNELS["api"], "town", name="A", data_type=DataType.DATE)


def get_list(api: Api, query: str, **headers: str) -> ApiResponse:
    return api.send("GET", f"{FIELDS}?{query}", **headers)


def next_of(response: ApiResponse) -> str | None:
    """Return the query string of the next page."""
    link = response.headers.get("link")
    if link is None:
        return None
    match = re.fullmatch(rf'<{FIELDS}\?(.+)>; rel="next"', link)
    assert match is not None
    return match[1]


def cursor_of(response: ApiResponse) -> str:
    """Return the parameter of the next page."""
    match = re.search("cursor=[^&]+", next_of(response) or "")
    assert match is not None
    return match[0]


@pytest.fixture
def counterparts(harness: Harness, bakery: OrganizationId, five_fields: None) -> None:
    """Sync the counterpart of `city` at two integrations, and fields of their own."""
    add_integration(harness.core, bakery, "braze", "Emails", "city", "shoe size")
    add_integration(harness.core, bakery, "klaviyo", "Emails", "Street", "city")


ALL_KEYS = ["city", "size", "first", "zip", "town", "city_1", "shoe_size", "city_2", "street"]
WITHOUT_COUNTERPARTS = ["city", "size", "first", "zip", "town", "shoe_size", "street"]


@pytest.mark.usefixtures("counterparts")
class TestCounterparts:
    def test_are_a_part_of_the_list_unless_they_are_left_out(self, api):
        assert get_list(api, "").keys == ALL_KEYS
        assert get_list(api, "counterparts=TRUE").keys == ALL_KEYS
        response = get_list(api, "counterparts=false")
        assert (response.keys, response.headers["total-count"]) == (WITHOUT_COUNTERPARTS, "7")

    def test_are_left_out_of_what_other_filters_select(self, api):
        assert get_list(api, "counterparts=False&q=CITY").keys == ["city"]
        assert get_list(api, "counterparts=false&source=integration&sort=-key").keys == [
            "street",
            "shoe_size",
            "first",
        ]

    def test_are_left_out_of_each_page(self, api):
        query = "counterparts=false&limit=3"
        keys: list[str] = []
        while query and len(keys) <= len(WITHOUT_COUNTERPARTS):
            response = get_list(api, query)
            keys += response.keys
            query = next_of(response) or ""
        assert keys == WITHOUT_COUNTERPARTS

    def test_a_cursor_is_valid_only_with_the_same_counterparts(self, api):
        cursor = cursor_of(get_list(api, "counterparts=false&limit=3"))
        assert get_list(api, f"{cursor}&limit=3").status_and_code == BAD_REQUEST
        assert get_list(api, f"{cursor}&counterparts=false").status == 200

    def test_a_name_that_is_set_changes_the_list_and_its_version(self, api, harness, bakery):
        before = get_list(api, "counterparts=false")
        names = {"town": SetName("shoe size")}
        harness.core.integrations.set_names(bakery, IntegrationId(1), names)
        after = get_list(api, "counterparts=false", If_None_Match=before.headers["etag"])
        assert after.status == 200
        assert after.keys == [key for key in WITHOUT_COUNTERPARTS if key != "shoe_size"]
        unchanged = get_list(api, "counterparts=false", If_None_Match=after.headers["etag"])
        assert unchanged.status == 304


@pytest.fixture
def cursor(api: Api, five_fields: None) -> str:
    """Return the parameter of the second page of two fields."""
    return cursor_of(get_list(api, "limit=2"))


@pytest.mark.usefixtures("five_fields")
class TestFilters:
    @pytest.mark.parametrize(
        ("query", "keys"),
        {
            "source=api": ["city", "zip", "town"],
            "source=manual,integration": ["size", "first"],
            "data_type=number": ["size"],
            "data_type=number,date": ["size", "town"],
            "key=zip,city,no_such_key": ["city", "zip"],
            "integration_id=7": ["first"],
            "integration_id=8": [],
            "source=manual&source=integration": ["size", "first"],
            "source=manual&insertable=true&source=integration": ["size", "first"],
            "source=manual,integration&source=manual": ["size", "first"],
            "source=manual%2Cintegration": ["size", "first"],
            "data_type=number&data_type=date": ["size", "town"],
            "key=zip&key=city,no_such_key&key=size": ["city", "size", "zip"],
            "integration_id=8&integration_id=7": ["first"],
            "&".join(["key=town", *(f"key=k_{n}" for n in range(200))]): ["town"],
            "insertable=false": ["zip"],
            "insertable=False": ["zip"],
            "insertable=FALSE&source=api": ["zip"],
            "insertable=True&source=api": ["city", "town"],
            "insertable=true&source=api": ["city", "town"],
            "q=GR%C3%96SSE": ["size"],
            "q=fname": ["first"],
            "q=%25": [],
            "": ["city", "size", "first", "zip", "town"],
        }.items(),
    )
    def test_each_filter_selects_the_matching_fields(self, api, query, keys):
        response = get_list(api, query)
        assert response.keys == keys
        assert response.headers["total-count"] == str(len(keys))

    @pytest.mark.parametrize(
        ("query", "keys"),
        {
            "sort=key": ["city", "first", "size", "town", "zip"],
            "sort=-key": ["zip", "town", "size", "first", "city"],
            "sort=name": ["town", "size", "first", "city", "zip"],
            "sort=-name": ["city", "zip", "first", "size", "town"],
            "sort=id": ["city", "size", "first", "zip", "town"],
            "sort=-id": ["town", "zip", "first", "size", "city"],
        }.items(),
    )
    def test_the_order_is_by_code_points_then_by_id(self, api, query, keys):
        assert get_list(api, query).keys == keys

    def test_the_order_by_updated_at_follows_changes(self, api, harness):
        harness.clock.advance(seconds=1)
        api.patch("city", {"name": "c"})
        assert get_list(api, "sort=-updated_at").keys[0] == "city"
        assert (
            get_list(api, "sort=-created_at").keys[0] == "city"
        )  # They were all created in the same millisecond.

    @pytest.mark.parametrize(
        ("name", "query"),
        [
            *(("source", query) for query in (
                "source", "source=", "source=apl", "source=api,", "source=API",
                "source=api&source=", "source=api&source=apl",
            )),
            *(("q", query) for query in (
                "q=", f"q={'x' * 101}", "q=%00", "q=%ff", "q=%", "q=%zz", "q=%u1234",
                "q=100%&limit=1", "q=a&q=b", "limit=1&limit=2&q=a&q=b",
            )),
            *(("insertable", f"insertable={value}") for value in (
                "", "1", "yes", "true&insertable=true",
            )),
            *(("counterparts", f"counterparts={value}") for value in (
                "", "0", "no", "false&counterparts=false", "false&as_of=2026-11-20T09:15:00.123Z",
            )),
            *(("limit", f"limit={value}") for value in (
                "", "0", "1001", "-1", "01", "1&limit=2",
            )),
            *(("sort", f"sort={value}") for value in ("", "--id", "id,key", "age", "id&sort=id")),
            *(("key", f"key={value}") for value in ("Not-One", "null")),
            *(("integration_id", f"integration_id={value}") for value in ("0", "x")),
            *(("cursor", f"cursor={value}") for value in ("", "x", "%F0%9F%98%80", "a&cursor=a")),
            ("data_type", "data_type=txt"),
            *(("page", query) for query in ("page=2", "page=2&per_page=10&limit=1")),
            ("per_page", "page=2&per_page=10"),
            ("source[]", "source[]=api"),
            ("Source", "Source=api"),
            ("größe", "gr%C3%B6%C3%9Fe=1"),
            ("pretty", "pretty"),
            *(("", query) for query in ("=1", "limit=1&", "limit=1&&sort=id")),
        ],
    )  # fmt: skip
    def test_unknown_malformed_or_repeated_parameters_are_rejected_by_name(self, api, name, query):
        response = get_list(api, query)
        assert response.status_and_code == BAD_REQUEST
        assert name == "" or f"`{name}`" in response.error["message"]

    @pytest.mark.parametrize(
        "name",
        ["x" * 33, "a%0Ab", "a%E2%80%AEb", "%1b[31m", "rfk_0123456789ABCDEFGHIJKLMNOPQRSTUV0AuoEA"],
    )
    def test_a_name_that_is_long_or_not_printable_is_not_repeated(self, api, name):
        message = get_list(api, f"{name}=1").error["message"]
        assert message.startswith("Unknown query parameter `…`.")
        assert message.isprintable()

    def test_no_message_repeats_a_value(self, api):
        for name in LIST_PARAMETERS:
            for query in (
                f"{name}=vvv%00",
                f"{name}=VVV{101 * 'v'},",
                f"{name}=%ffvvv",
                f"a={name}&b=VVV",
            ):
                response = get_list(api, query)
                assert response.status_and_code == BAD_REQUEST
                assert "vvv" not in response.error["message"].lower()

    @pytest.mark.parametrize("method", ["POST", "OPTIONS"])
    def test_other_methods_of_the_list_accept_no_parameters(self, api, method):
        response = api.send(method, f"{FIELDS}?limit=1", "{}")
        assert response.status_and_code == BAD_REQUEST
        assert "`limit`" in response.error["message"]


@pytest.mark.usefixtures("five_fields")
class TestPages:
    @pytest.mark.parametrize("limit", [2, 5])
    @pytest.mark.parametrize("sort", ["id", "-key", "name", "-name", "updated_at"])
    def test_the_links_lead_to_every_field_once(self, api, limit, sort):
        whole = get_list(api, f"sort={sort}")
        keys: list[str] = []
        query: str | None = f"sort={sort}&limit={limit}"
        while query is not None and len(keys) <= 5:
            page = get_list(api, query)
            assert page.headers["total-count"] == "5"
            assert 1 <= len(page.keys) <= limit
            keys += page.keys
            query = next_of(page)
        assert keys == whole.keys

    def test_a_link_keeps_the_filters(self, api):
        query = next_of(get_list(api, "source=api&q=C&sort=name&limit=1&insertable=true"))
        assert query is None  # Only `city` is left.
        query = next_of(get_list(api, f"source=api&q={quote('t')}&limit=1"))
        assert query is not None
        assert get_list(api, query).keys == ["town"]

    @pytest.mark.parametrize("form", ["source=api,manual", "source=api&source=manual"])
    @pytest.mark.parametrize("other", ["source=manual,api", "source=manual&source=api,manual"])
    def test_values_separated_by_commas_and_repeated_parameters_are_equivalent(
        self, api, form, other
    ):
        query = next_of(get_list(api, f"{form}&limit=1"))
        assert query is not None
        pages: list[str] = []
        while query is not None and len(pages) <= 3:
            page = get_list(api, query)
            pages += page.keys
            query = next_of(page)
        assert pages == ["size", "zip", "town"]
        cursor = cursor_of(get_list(api, f"{form}&limit=1"))
        assert get_list(api, f"{other}&{cursor}").keys == ["size"]

    def test_a_cursor_contains_its_limit_and_a_request_can_override_it(self, api, cursor):
        assert get_list(api, cursor).keys == ["first", "zip"]
        assert get_list(api, f"{cursor}&limit=1").keys == ["first"]

    @pytest.mark.parametrize("other", ["source=api", "sort=key", "sort=-id", "q=a", "key=city"])
    def test_a_cursor_of_another_query_is_rejected(self, api, cursor, other):
        response = get_list(api, f"{cursor}&{other}")
        assert response.status_and_code == BAD_REQUEST
        assert "it belongs to other filters or another order" in response.error["message"]

    def test_a_cursor_of_another_organization_is_rejected(self, brewery, cursor):
        assert get_list(brewery, cursor).status_and_code == BAD_REQUEST

    def test_a_modified_cursor_is_rejected(self, api, cursor):
        for place in range(len("cursor="), len(cursor)):
            swapped = "A" if cursor[place] != "A" else "B"
            response = get_list(api, cursor[:place] + swapped + cursor[place + 1 :])
            assert response.status_and_code == BAD_REQUEST or response.keys == ["first", "zip"]

    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            ("datatype=text", "Unknown query parameter `datatype`. Did you mean `data_type`?"),
            ("Source=api", "Unknown query parameter `Source`. Did you mean `source`?"),
            (
                "xyzzy=text",
                "Unknown query parameter `xyzzy`. This request has the parameters `source`",
            ),
            ("limit=1&limit=1", "Repeated query parameter `limit`. Send each at most once."),
            ("data_type=int", "Invalid value for `data_type`: use `text`, `number`, `boolean`, `d"),
            ("sort=age", "`created_at` or `updated_at`, with `-` before it for descending order"),
            ("insertable=1", "Invalid value for `insertable`: use `true` or `false`."),
            ("limit=1001", "Invalid value for `limit`: use a number from 1 to 1000."),
            ("q=100%", "Invalid value for `q`: percent-encode it as UTF-8."),
        ],
    )
    def test_a_rejection_says_which_values_are_accepted(self, api, query, expected):
        assert expected in get_list(api, query).error["message"]

    @pytest.mark.parametrize("junk", ["!{}", "{}!", "{}=", "{}%20", "%20{}", "{}%0A"])
    def test_a_cursor_with_additional_characters_is_rejected(self, api, cursor, junk):
        value = junk.format(cursor.removeprefix("cursor="))
        response = get_list(api, f"limit=2&cursor={value}")
        assert response.status_and_code == BAD_REQUEST
        assert "Invalid value for `cursor`: it is damaged." in response.error["message"]

    def test_a_cursor_is_valid_after_the_deletion_of_its_field(self, api):
        query = next_of(get_list(api, "source=api&limit=1"))
        assert query is not None
        api.delete("city")
        page = get_list(api, query)
        assert page.keys == ["zip"]
        assert page.headers["total-count"] == "2"


@pytest.mark.usefixtures("five_fields")
class TestCaching:
    @pytest.mark.parametrize("query", ["", "source=api", "limit=2", "sort=-name&limit=1"])
    def test_an_unchanged_page_gets_304(self, api, query):
        tag = get_list(api, query).etag
        assert get_list(api, query, if_none_match=tag).status == 304
        api.patch("town", {"name": "B"})
        assert get_list(api, query, if_none_match=tag).status == 200

    def test_head_has_the_headers_of_get(self, api):
        get = get_list(api, "limit=2&source=api")
        head = api.send("HEAD", f"{FIELDS}?limit=2&source=api")
        for name in ("etag", "link", "total-count", "content-length"):
            assert head.headers[name] == get.headers[name]


@pytest.mark.parametrize(
    ("sort", "place"),
    [
        ("id", [0, 1, 1]),
        ("id", [-2, 1, 1]),
        ("id", [1001, 1, 1]),
        ("id", [2, 2**70, 1]),
        ("id", [2, 1, 2**70]),
        ("id", [2, "1", 1]),
        ("id", [True, 1, 1]),
        ("name", [2, "a\0", 1]),
        ("name", [2, 1, 1]),
        ("created_at", [2, 2**53 - 1, 1]),
    ],
)
def test_a_forged_cursor_is_rejected(api, bakery, sort, place):
    query = FieldQuery(sort=SortKey(sort))
    token = json.dumps([*place, checksum(place, query, bakery)])
    cursor = urlsafe_b64encode(token.encode()).decode().rstrip("=")
    assert get_list(api, f"sort={sort}&cursor={cursor}").status_and_code == BAD_REQUEST
