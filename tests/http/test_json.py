"""Bodies that are not acceptable JSON get 4xx, and nothing is stored."""

from __future__ import annotations

import json

import pytest

from recipient_fields.application.documents.strict_json import parse_json
from recipient_fields.entrypoints.http.fields.resources import BatchCollection
from recipient_fields.entrypoints.http.resource import Resource

from .api import BATCHES, FIELDS, MEGABYTE, enveloped
from .hostile_bodies import HOSTILE, HOSTILE_BATCHES, lines_of_python

STORAGES = ("memory",)  # These requests do not reach the storage.

CITY = {"name": "City", "data_type": "text"}
CITY_PATH = f"{FIELDS}/city"
VALID = enveloped(CITY).encode()


def with_value(value: str) -> bytes:
    """Return a valid document with this text in the place of one allowed value."""
    members = f'"name": "City", "data_type": "number", "allowed_values": [{value}]'
    return ('{"recipient_field": {' + members + "}}").encode()


BROKEN = {
    "nothing": b"",
    "white space": b" \n",
    "half": VALID[:-1],
    "two documents": VALID + VALID,
    "a trailing comma": b'{"recipient_field": {"name": "City",}}',
    "single quotes": b"{'recipient_field': {}}",
    "a comment": VALID + b" // end",
    "a form": b"name=City&data_type=text",
    "a byte order mark": b"\xef\xbb\xbf" + VALID,
    "UTF-16": VALID.decode().encode("utf-16"),
    "UTF-16 without a mark": VALID.decode().encode("utf-16-le"),
    "UTF-32": VALID.decode().encode("utf-32"),
    "Latin-1": '{"recipient_field": {"name": "Größe", "data_type": "text"}}'.encode("latin-1"),
    "an overlong sequence": VALID.replace(b"City", b"\xc0\xaf"),
    "a surrogate as bytes": VALID.replace(b"City", b"\xed\xa0\x80"),
    "beyond Unicode": VALID.replace(b"City", b"\xf4\x90\x80\x80"),
    "a raw control character": VALID.replace(b"City", b"Ci\nty"),
    "a raw null character": VALID.replace(b"City", b"Ci\0ty"),
    "an unknown escape": VALID.replace(b"City", rb"\x41"),
    "half an escape": VALID.replace(b"City", rb"\u12"),
    "a member twice": b'{"recipient_field": {"name": "A", "name": "B", "data_type": "text"}}',
    "the envelope twice": b'{"recipient_field": {}, ' + VALID[1:],
    "an unknown member twice": b'{"a": 1, "a": 1, ' + VALID[1:],
    "a member twice in two forms": rb'{"a": 1, "\u0061": 1, ' + VALID[1:],
    "a member twice deep inside": with_value('[{"a": 1, "a": 1}]'),
    "NaN": with_value("NaN"),
    "Infinity": with_value("Infinity"),
    "-Infinity": with_value("-Infinity"),
    "1e999": with_value("1e999"),
    "-1e999": with_value("-1e999"),
    "1e309": with_value("1e309"),
    "an integer beyond a double": with_value("1" + "0" * 309),
    "an integer of 5,000 digits": with_value("9" * 5_000),
    "a negative integer of 5,000 digits": with_value("-" + "9" * 5_000),
    "a huge exponent": with_value("1e" + "9" * 5_000),
    "a leading zero": with_value("01"),
    "a plus sign": with_value("+1"),
    "a hexadecimal number": with_value("0x10"),
    "a number without its end": with_value("1."),
    "33 levels": b"[" * 33 + b"]" * 33,
    "33 levels of objects": b'{"a":' * 33 + b"1" + b"}" * 33,
    "100,000 levels": b"[" * 100_000 + b"]" * 100_000,
    "100,000 levels without an end": b"[" * 100_000,
    "100,000 levels of objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "deep after a quoted bracket": b'["]]]]\\"]", ' + b"[" * 32 + b"]" * 33,
    "a string without an end": b"[" * 33 + b'"' + b'\\"' * 500_000,
    "many quotes": b"[" * 33 + b'"' * 500_001,
}


@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN.keys())
def test_a_body_that_is_not_json_is_rejected(api, city, body):
    before = api.state()
    for method, path in (("POST", FIELDS), ("PATCH", CITY_PATH), ("PUT", CITY_PATH)):
        response = api.send(method, path, body, content_type="application/json")
        assert response.status_and_code == (400, "invalid_json")
    assert api.state() == before


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 32 + b"]" * 32,
        b'{"recipient_field":' * 32 + b"1" + b"}" * 32,
        b'["' + b"[" * 100 + b'"]',
        b'["\\"' + b"[" * 100 + b'"]',
        b"[" + b"[]," * 1_000 + b"[]]",
    ],
    ids=["32 levels", "of objects", "quoted brackets", "after a quoted quote", "side by side"],
)
def test_a_body_nested_32_levels_deep_is_read(api, body):
    assert api.send("POST", FIELDS, body).status == 422


@pytest.mark.parametrize("number", ["1e308", "-1E+308", "1" + "0" * 308, "1e-999", "0.1e1", "-0"])
def test_numbers_in_the_range_of_a_double_are_read(api, number):
    assert api.send("POST", FIELDS, with_value(number)).status in {201, 422}


def test_white_space_around_the_document_is_ignored(api):
    assert api.send("POST", FIELDS, b"\r\n\t " + VALID + b" \n").status == 201


def test_the_name_of_a_member_can_have_escapes(api):
    body = VALID.replace(b'"name"', rb'"\u006e\u0061\u006d\u0065"')
    assert api.send("POST", FIELDS, body).field["name"] == "City"


def test_a_body_of_one_mebibyte_is_read(api):
    body = VALID + b" " * (MEGABYTE - len(VALID))
    assert api.send("POST", FIELDS, body).status == 201


@pytest.mark.parametrize("method", ["POST", "PATCH", "PUT", "GET", "DELETE"])
def test_a_body_of_one_byte_more_is_rejected(api, city, method):
    before = api.state()
    body = VALID + b" " * (MEGABYTE + 1 - len(VALID))
    path = FIELDS if method == "POST" else f"{FIELDS}/city"
    assert api.send(method, path, body).status_and_code == (413, "payload_too_large")
    assert api.state() == before


def test_a_megabyte_of_members_is_rejected_with_a_response_of_moderate_size(api):
    members = {f"m{n}": n for n in range(50_000)}
    response = api.post(members)
    assert response.status_and_code == (422, "validation_failed")
    assert len(response.content) < MEGABYTE


def test_a_megabyte_of_combining_marks_is_rejected(api):
    marks = "\u0315\u0300" * 100_000
    body = json.dumps(
        {"recipient_field": {**CITY, "name": marks, "allowed_values": [marks]}}, ensure_ascii=False
    )
    assert api.send("POST", FIELDS, body).violations == [
        "/recipient_field/allowed_values/0: too_long",
        "/recipient_field/name: too_long",
    ]


MAX_TRACED_LINES = 420_000
"""Maximum lines of Python per request. A line takes about 0.1 µs, and more if it calls C."""


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_megabyte_of_anything_is_handled_in_few_steps(api, name):
    body = HOSTILE[name]()
    assert 0.9 * MEGABYTE < len(body) <= MEGABYTE

    def send() -> None:
        response = api.send("POST", FIELDS, body, content_type="application/json")
        assert response.status in {201, 400, 422}

    assert lines_of_python(send) < MAX_TRACED_LINES


MAX_TRACED_LINES_OF_A_BATCH = 4_900_000
"""As many as a batch that creates 999 fields, each with 75 allowed values."""


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE_BATCHES)
def test_no_batch_takes_more_steps_than_the_largest_valid_one(api, city, name):
    body = HOSTILE_BATCHES[name]()

    def send() -> None:
        assert api.send("POST", BATCHES, body).status in {404, 422}

    assert lines_of_python(send) < MAX_TRACED_LINES_OF_A_BATCH


def test_a_batch_has_at_most_100_000_names_and_values(api):
    most = api.apply(*[0] * (BatchCollection.max_body_values - 3))
    assert most.error["details"][0]["pointer"] == "/operations"
    more = api.apply(*[0] * (BatchCollection.max_body_values - 2))
    assert more.violations == [": too_many_items"]
    assert "more than 100,000 names and values" in more.messages[1]


def of_size(unit: bytes, count: int, size: int) -> bytes:
    """Return a body with that many names and values, most of them in units of `count`."""
    units, zeros = divmod(size - 9, count)
    values = b", ".join([unit] * units + [b"0"] * zeros)
    members = b'"name": "City", "data_type": "text", "other": [' + values + b"]"
    return b'{"recipient_field": {' + members + b"}} "


@pytest.mark.parametrize(
    ("unit", "count"),
    [
        (b"-1.5e+3", 1),
        (b"null", 1),
        (b'""', 1),
        (rb'",:[]{}\\\", \u0022 x"', 1),
        (b"[ ]", 1),
        (b"[[[]]]", 3),
        (b'{"a" : 0}', 3),
        (b'{"a": "b", "c": [true]}', 6),
    ],
)
def test_a_body_has_at_most_10_000_names_and_values(api, unit, count):
    most = api.send("POST", FIELDS, of_size(unit, count, Resource.max_body_values))
    assert most.violations == ["/recipient_field/other: unknown_field"]

    more = api.send("POST", FIELDS, of_size(unit, count, Resource.max_body_values + 1))
    assert more.violations == [": too_many_items"]
    assert more.error["details"][0]["message"] == (
        "The body has more than 10,000 names and values. Send fewer."
    )


@pytest.mark.parametrize("method", ["POST", "PATCH", "PUT"])
def test_9_000_allowed_values_are_reported_as_too_many(api, city, method):
    path = FIELDS if method == "POST" else CITY_PATH
    response = api.send(method, path, enveloped({**CITY, "allowed_values": ["a"] * 9_000}))
    assert response.violations == ["/recipient_field/allowed_values: too_many_items"]


@pytest.mark.parametrize("method", ["POST", "PATCH", "PUT"])
def test_every_method_rejects_more_than_10_000_values(api, city, method):
    before = api.state()
    path = FIELDS if method == "POST" else CITY_PATH
    response = api.send(method, path, enveloped({**CITY, "allowed_values": ["a"] * 100_000}))
    assert response.violations == [": too_many_items"]
    assert api.state() == before


def test_a_document_that_is_not_a_body_has_no_limit():
    """Reports of sync runs, which administrators read from files, are larger than bodies."""
    assert parse_json(b"[" + b"0," * 20_000 + b"0]") == [0] * 20_001
