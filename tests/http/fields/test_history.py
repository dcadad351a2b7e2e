"""The history of the fields, restorations, and lists as they were."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from attrs import evolve

from recipient_fields.application import Core
from recipient_fields.domain import OrganizationId, format_instant
from recipient_fields.entrypoints.http.app import create_app
from recipient_fields.testing.field_changes import delete_field

from ...support.catalog_storage import UnrecordedStorage
from ..api import FIELDS, HISTORY, Api, ApiResponse, compact, falcon_transport
from ..conftest import CHANNELS, Harness

RECORD = ["sequence", "occurred_at", "operation", "actor", "request_id", "field_id", "key"]
STATES = ["before", "after"]
LATER = "9999-01-01T00:00:00Z"


def records(response: ApiResponse) -> list[dict[str, Any]]:
    """Return the records. The document has no other member."""
    assert response.status == 200
    (only,) = response.json.items()
    assert only[0] == "recipient_field_changes"
    return list(only[1])


def sequences(response: ApiResponse) -> list[int]:
    return [record["sequence"] for record in records(response)]


def next_page(response: ApiResponse) -> str | None:
    link = response.headers.get("link")
    return None if link is None else link.removeprefix("<").removesuffix('>; rel="next"')


@pytest.fixture
def changed(api: Api, harness: Harness, bakery: OrganizationId) -> Api:
    """Create, change and delete fields: six records, of two API-managed fields and a manual one."""
    api.post({"name": "City", "data_type": "text"})
    harness.add_field(bakery, CHANNELS["manual"])
    api.patch("city", {"name": "Town"})
    api.delete("city")
    api.put("city", {"name": "City", "data_type": "number"})
    api.patch("city", {"insertable": False})
    return api


class TestRecords:
    def test_a_record_has_the_author_and_the_field_before_and_after(self, harness, bakery):
        issued = harness.issue_key(bakery)
        api = harness.client().with_key(issued.plain.reveal())
        created = api.post({"name": "City", "data_type": "text"}, x_request_id="r-1").field
        updated = api.patch("city", {"name": "Town"}, x_request_id="r-2").field

        response = api.send("GET", HISTORY)

        assert response.content == compact(response.json)
        first, second = records(response)
        assert list(first) == [*RECORD, *STATES]
        author = {"channel": "api", "id": issued.api_key.id, "name": issued.plain.display}
        assert first == {
            "sequence": 1,
            "occurred_at": created["created_at"],
            "operation": "created",
            "actor": author,
            "request_id": "r-1",
            "field_id": created["id"],
            "key": "city",
            "before": None,
            "after": created,
        }
        assert (second["operation"], second["request_id"]) == ("updated", "r-2")
        assert (second["before"], second["after"]) == (created, updated)
        assert issued.plain.reveal() not in response.content.decode()

    def test_an_api_key_as_the_request_id_is_not_recorded(self, api):
        api.post({"name": "City", "data_type": "text"}, x_request_id=api.key)
        assert api.key is not None
        assert api.key not in api.send("GET", HISTORY).content.decode()

    def test_a_request_that_changes_nothing_has_no_record(self, api, city, reader):
        api.patch("city", {"name": "City"})
        api.post({"name": "City", "data_type": "text"})
        reader.delete("city")
        api.patch("city", {"name": ""})
        assert sequences(api.send("GET", HISTORY)) == [1]

    def test_changes_of_every_channel_are_listed(self, api, harness, bakery):
        for name, channel in CHANNELS.items():
            harness.add_field(bakery, channel, f"{name}_shop")
        actors = [record["actor"] for record in records(api.send("GET", HISTORY))]
        assert actors == [
            {"channel": "api", "id": None, "name": None},
            {"channel": "manual", "id": None, "name": None},
            {"channel": "integration", "id": 7, "name": None},
        ]


class TestPages:
    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            ("?after=0", [1, 2, 3, 4, 5, 6]),
            ("?after=9007199254740991", []),
            ("?after=4", [5, 6]),
            ("?key=city", [1, 3, 4, 5, 6]),
            ("?source=manual", [2]),
            ("?source=api&source=manual&after=1", [2, 3, 4, 5, 6]),
            ("?operation=updated,deleted", [3, 4, 6]),
            ("?operation=created&operation=restored&key=city", [1, 5]),
            ("?operation=updated&limit=2", [3, 6]),
        ],
    )
    def test_parameters_select_the_records(self, changed, query, expected):
        response = changed.send("GET", HISTORY + query)
        assert sequences(response) == expected
        assert "link" not in response.headers

    @pytest.mark.parametrize("path", [HISTORY, f"{FIELDS}/city/changes"])
    def test_links_lead_through_all_records(self, changed, path):
        found: list[int] = []
        page: str | None = f"{path}?limit=2&source=api"
        while page is not None and len(found) <= 5:  # A wrong link could lead back.
            response = changed.send("GET", page)
            found += sequences(response)
            page = next_page(response)
        assert found == [1, 3, 4, 5, 6]

    @pytest.mark.parametrize(
        "query",
        [
            *(f"after={value}" for value in ("", "-1", "01", "1.0", "a", "9007199254740992")),
            *(f"limit={value}" for value in ("0", "1001", "a")),
            *("key=", "key=No", "source=other", "operation=update", "operation=", "cursor=a"),
            *("after=1&after=2", "q=a", "sort=id", "as_of=2026-11-20T09:15:00Z"),
        ],
    )
    def test_invalid_parameters_are_rejected(self, api, query):
        response = api.send("GET", f"{HISTORY}?{query}")
        assert response.status_and_code == (400, "invalid_parameter")

    def test_a_page_has_the_digest_of_its_body_as_entity_tag(self, changed):
        first = changed.send("GET", f"{HISTORY}?limit=5")
        known = changed.send("GET", f"{HISTORY}?limit=5", if_none_match=first.etag)
        assert (known.status, known.etag) == (304, first.etag)
        assert next_page(known) == next_page(first)
        assert changed.send("GET", f"{HISTORY}?limit=6").etag != first.etag
        changed.delete("city")
        assert changed.send("GET", HISTORY, if_none_match=first.etag).status == 200


class TestChangesOfAField:
    def test_by_id_only_the_records_of_this_field_are_listed(self, changed):
        ids = [record["field_id"] for record in records(changed.send("GET", HISTORY))]
        old, new = ids[0], ids[-1]
        assert sequences(changed.send("GET", f"{FIELDS}/{old}/changes")) == [1, 3, 4]
        assert sequences(changed.send("GET", f"{FIELDS}/{new}/changes")) == [5, 6]
        assert sequences(changed.send("GET", f"{FIELDS}/{new}/changes?after=5")) == [6]

    def test_a_field_without_matching_records_has_an_empty_page(self, changed):
        assert sequences(changed.send("GET", f"{FIELDS}/city/changes?operation=restored")) == []

    @pytest.mark.parametrize("query", ["key=city", "after=-1"])
    def test_the_key_and_invalid_parameters_are_rejected(self, changed, query):
        response = changed.send("GET", f"{FIELDS}/city/changes?{query}")
        assert response.status_and_code == (400, "invalid_parameter")

    @pytest.mark.parametrize("reference", ["missing", "999", "01", "No"])
    def test_a_field_that_never_existed_is_not_found(self, changed, reference):
        response = changed.send("GET", f"{FIELDS}/{reference}/changes")
        assert response.status_code_and_reason == (404, "not_found", None)


class TestRestoration:
    def test_a_deleted_field_is_restored_with_its_id(self, api, city):
        etag = api.get("city").etag
        api.delete("city")

        response = api.send("POST", f"{FIELDS}/{city['id']}/restore")

        assert response.status == 200
        assert response.field == {**city, "updated_at": response.field["updated_at"]}
        assert response.field["updated_at"] > city["updated_at"]
        assert response.etag == api.get("city").etag != etag
        assert records(api.send("GET", HISTORY))[-1]["after"] == response.field

    @pytest.mark.parametrize("reference", ["city", "999", "01", "No"])
    def test_only_the_id_of_a_deleted_field_is_found(self, api, city, reference):
        api.delete("city")
        response = api.send("POST", f"{FIELDS}/{reference}/restore")
        assert response.status_and_code == (404, "not_found")
        message = {
            "999": "No deleted field has this id. Find the id with `GET ",
        }.get(reference, "A deleted field is restored by its id")
        assert response.error["message"].startswith(message)

    def test_the_message_for_a_key_leads_to_the_id(self, api, city):
        api.delete("city")
        message = api.send("POST", f"{FIELDS}/city/restore").error["message"]
        path = message.partition("`GET ")[2].partition("`")[0]
        deleted = records(api.send("GET", path.replace("KEY", "city")))
        assert [each["before"]["id"] for each in deleted] == [city["id"]]
        assert records(api.send("GET", path.replace("KEY", "never"))) == []

    def test_a_field_of_another_origin_is_not_restored(self, api, harness, bakery, foreign):
        delete_field(
            harness.storage.fields,
            bakery,
            foreign.id,
            lambda _: None,
            author=harness.service.author,
            at=harness.clock(),
        )
        response = api.send("POST", f"{FIELDS}/{foreign.id}/restore")
        assert response.status_code_and_reason == (403, "forbidden", "field_not_api_managed")
        assert api.list().fields == []

    def test_a_read_only_key_can_not_restore(self, api, reader, city):
        api.delete("city")
        response = reader.send("POST", f"{FIELDS}/{city['id']}/restore")
        assert response.status_code_and_reason == (403, "forbidden", "insufficient_scope")
        assert api.list().fields == []

    def test_a_taken_key_is_a_conflict_with_the_existing_field(self, api, city):
        not_deleted = api.send("POST", f"{FIELDS}/{city['id']}/restore")
        api.delete("city")
        other = api.post({"name": "City", "data_type": "date"}).field
        taken = api.send("POST", f"{FIELDS}/{city['id']}/restore")
        for response, existing in ((not_deleted, city), (taken, other)):
            assert response.status_and_code == (409, "key_already_exists")
            detail = response.error["details"][0]
            assert (detail["existing_id"], detail["existing_key"]) == (existing["id"], "city")
        assert api.list().fields == [other]

    def test_the_limit_applies(self, harness):
        limited = Harness(harness.storage, harness.clock, limit=1)
        api = limited.client_with_key(limited.organization("Small"))
        city = api.post({"name": "City", "data_type": "text"}).field
        api.delete("city")
        api.post({"name": "Zip", "data_type": "text"})
        response = api.send("POST", f"{FIELDS}/{city['id']}/restore")
        assert response.status_and_code == (409, "field_limit_reached")

    @pytest.mark.parametrize(
        ("body", "headers"),
        [
            ("{}", {}),
            ("not JSON", {"content_type": "text/plain"}),
            ('{"recipient_field": {"name": "Other"}}', {"content_type": None}),
        ],
    )
    def test_a_body_is_ignored(self, api, city, body, headers):
        api.delete("city")
        response = api.send("POST", f"{FIELDS}/{city['id']}/restore", body, **headers)
        assert response.status == 200
        assert response.field["name"] == "City"


class TestListsAsOf:
    def test_the_list_is_that_of_the_time(self, changed):
        times = [record["occurred_at"] for record in records(changed.send("GET", HISTORY))]
        listed = [changed.send("GET", f"{FIELDS}?as_of={at}") for at in times]
        assert [response.keys for response in listed] == [
            ["city"], ["city", "shop"], ["city", "shop"], ["shop"], ["shop", "city"],
            ["shop", "city"],
        ]  # fmt: skip
        assert len({response.etag for response in listed}) == 6
        assert listed[0].fields[0]["name"] == "City"
        assert listed[2].fields[0]["name"] == "Town"
        assert listed[-1].fields == changed.list().fields
        assert [response.headers["total-count"] for response in listed] == list("122122")

    def test_a_later_time_is_the_current_list_and_is_never_stale(
        self, changed, harness, bakery, clock
    ):
        path = f"{FIELDS}?as_of={LATER}"
        first = changed.send("GET", path)
        assert changed.send("GET", path, if_none_match=first.etag).status == 304
        changed.delete("city")
        again = changed.send("GET", path, if_none_match=first.etag)
        assert (again.status, again.keys) == (200, ["shop"])
        clock.advance(days=2)
        harness.service.prune_history(bakery, older_than=timedelta(days=1))
        assert changed.send("GET", path).status_code_and_reason == (
            404, "not_found", "before_history",
        )  # fmt: skip

    def test_it_combines_with_the_other_parameters(self, changed):
        at = records(changed.send("GET", HISTORY))[1]["occurred_at"]
        assert changed.send("GET", f"{FIELDS}?as_of={at}&source=manual").keys == ["shop"]
        first = changed.send("GET", f"{FIELDS}?as_of={at}&sort=-key&limit=1")
        assert (first.keys, first.headers["total-count"]) == (["shop"], "2")
        page = next_page(first)
        assert page is not None
        assert changed.send("GET", page).keys == ["city"]

    def test_a_cursor_belongs_to_its_time(self, changed):
        times = [record["occurred_at"] for record in records(changed.send("GET", HISTORY))]
        page = next_page(changed.send("GET", f"{FIELDS}?as_of={times[1]}&limit=1"))
        assert page is not None
        encoded = times[1].replace(":", "%3A")
        assert changed.send("GET", page.replace(encoded, times[2])).status == 400
        assert changed.send("GET", page.replace(f"as_of={encoded}&", "")).status == 400
        same = times[1].replace("Z", "%2B00:00")
        assert changed.send("GET", page.replace(encoded, same)).status == 200

    def test_a_time_before_the_history_is_not_found(self, api, clock):
        now = format_instant(clock())
        before = format_instant(clock() - timedelta(milliseconds=1))
        for at, has_history in ((LATER, False), (now, False), (before, True)):
            if has_history:
                api.post({"name": "City", "data_type": "text"})
            response = api.send("GET", f"{FIELDS}?as_of={at}")
            assert response.status_code_and_reason == (404, "not_found", "before_history")
        assert api.send("GET", f"{FIELDS}?as_of={now}").keys == ["city"]

    @pytest.mark.parametrize(
        "at",
        [
            *("", "now", "2026-11-20", "2026-11-20T09:15:00", "2026-11-20T09:15:00.1234Z"),
            *("2026-02-30T00:00:00Z", "2026-11-20T09:15:00+01:00"),
            *("0001-01-01T00:00:00%2B01:00", "9999-12-31T23:59:59-01:00"),
            "2026-11-20T09:15:00Z&as_of=2026-11-20T09:15:00Z",
        ],
    )
    def test_an_invalid_time_is_rejected(self, changed, at):
        response = changed.send("GET", f"{FIELDS}?as_of={at}")
        assert response.status_and_code == (400, "invalid_parameter")

    @pytest.mark.parametrize("path", [f"{FIELDS}/city", HISTORY])
    def test_only_the_list_has_the_parameter(self, changed, path):
        assert changed.send("GET", f"{path}?as_of={LATER}").status == 400


class TestOrganizations:
    def test_no_response_contains_anything_of_another_organization(self, changed, brewery, harness):
        before = changed.send("GET", HISTORY).content
        deleted = records(changed.send("GET", HISTORY))[0]["field_id"]
        assert records(brewery.send("GET", HISTORY)) == []
        for method, end in (("GET", "changes"), ("POST", "restore")):
            response = brewery.send(method, f"{FIELDS}/{deleted}/{end}")
            assert response.status_and_code == (404, "not_found")
        response = brewery.send("GET", f"{FIELDS}?as_of={LATER}")
        assert response.status_code_and_reason == (404, "not_found", "before_history")

        beer = brewery.post({"name": "City", "data_type": "text"}).field

        assert [record["after"] for record in records(brewery.send("GET", HISTORY))] == [beer]
        assert sequences(brewery.send("GET", HISTORY)) == [1]
        assert brewery.send("GET", f"{FIELDS}?as_of={LATER}").fields == [beer]
        assert changed.send("GET", HISTORY).content == before


class TestAStorageWithoutAHistory:
    """The service says that it has no history, and serves everything else."""

    @pytest.fixture
    def unrecorded(self, harness: Harness, api: Api) -> Api:
        core = Core.over(UnrecordedStorage(harness.storage), clock=harness.clock)
        return evolve(api, transport=falcon_transport(create_app(core)))

    @pytest.mark.parametrize(
        ("method", "path"),
        [
            ("GET", HISTORY),
            ("HEAD", HISTORY),
            ("GET", f"{FIELDS}/city/changes"),
            ("GET", f"{FIELDS}?as_of={LATER}"),
            ("POST", f"{FIELDS}/1/restore"),
        ],
    )
    def test_a_request_for_the_history_is_not_implemented(self, unrecorded, method, path):
        unrecorded.post({"name": "City", "data_type": "text"})
        response = unrecorded.send(method, path)
        assert response.status == 501
        if method != "HEAD":
            assert response.error["code"] == "not_implemented"
            assert response.error["message"] == "This service has no history of fields."

    def test_fields_are_created_changed_and_deleted(self, unrecorded):
        created = unrecorded.post({"name": "City", "data_type": "text"}).field
        assert unrecorded.patch("city", {"name": "Town"}).field["name"] == "Town"
        assert [field["id"] for field in unrecorded.list().fields] == [created["id"]]
        assert unrecorded.delete("city").status == 204
        assert unrecorded.list().fields == []
