"""Storage URLs of SQLite."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from recipient_fields.adapters.sqlite.storage import open_storage, parse_url, without_creation
from recipient_fields.domain import InvalidStorageUrl, StorageNotFound


def test_a_missing_file_is_created_by_default(tmp_path):
    with closing(open_storage(f"sqlite:{tmp_path / 'fields.db'}")) as storage:
        storage.check()
    assert (tmp_path / "fields.db").is_file()


def test_a_missing_file_is_not_created_with_the_option(tmp_path):
    with pytest.raises(StorageNotFound):
        open_storage(f"sqlite:{tmp_path / 'fields.db'}?create=false")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "path", "create"),
    [
        ("sqlite:fields.db", "fields.db", True),
        ("sqlite:/data/fields.db", "/data/fields.db", True),
        ("sqlite:///data/fields.db", "/data/fields.db", True),
        ("sqlite:fields.db?", "fields.db", True),
        ("sqlite:fields.db?create=true", "fields.db", True),
        ("sqlite:fields.db?create=false", "fields.db", False),
        ("sqlite:what?.db?", "what?.db", True),
        ("sqlite:what?.db?create=false", "what?.db", False),
        ("sqlite:100%20.db", "100%20.db", True),
        ("sqlite:sqlite:", "sqlite:", True),
    ],
)
def test_a_url_is_a_path_and_options(url, path, create):
    assert parse_url(url) == (Path(path), create)


@pytest.mark.parametrize(
    "url",
    [
        *("sqlite:", "sqlite:?create=false", "sqlite::memory:", "sqlite://fields.db"),
        *("sqlite:what?.db", "sqlite:fields.db?mode=ro", "sqlite:fields.db?create"),
        *("sqlite:fields.db?create=", "sqlite:fields.db?create=no"),
        "sqlite:fields.db?create=false&create=false",
    ],
)
def test_a_wrong_url_is_rejected_and_creates_no_file(url, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidStorageUrl):
        open_storage(url)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("sqlite:fields.db", "sqlite:fields.db?create=false"),
        ("sqlite:fields.db?", "sqlite:fields.db?create=false"),
        ("sqlite:what?.db?", "sqlite:what?.db?create=false"),
        ("sqlite:fields.db?create=true", "sqlite:fields.db?create=true"),
        ("sqlite:what?.db", "sqlite:what?.db"),
    ],
)
def test_options_in_a_url_take_precedence_over_no_creation(url, expected):
    assert without_creation(url) == expected
