"""Cases for storage URLs that can't be opened."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Collection
from contextlib import closing
from typing import ClassVar

import pytest

from recipient_fields.application import Storage
from recipient_fields.domain import StorageUnavailable


class StorageUrlContract:
    """Tests that the rejection of a URL has a message of one line without the password.

    The command line prints the message, and the log can contain its causes.
    """

    password: ClassVar[str] = "correct-horse-battery"  # noqa: S105 (it opens nothing)
    """The password to put into the URLs that can contain one."""

    @pytest.fixture
    def open_storage(self) -> Callable[[str], Storage]:
        """Return the function of the entry point, which opens the storage of a URL."""
        raise NotImplementedError(f"{type(self).__name__} needs a fixture `open_storage`")

    @pytest.fixture
    def unopenable_urls(self) -> Collection[str]:
        """Return URLs of the storage's scheme that can't be opened, each for a different reason."""
        raise NotImplementedError(f"{type(self).__name__} needs a fixture `unopenable_urls`")

    def test_a_url_that_can_not_be_opened_is_rejected(
        self, open_storage: Callable[[str], Storage], unopenable_urls: Collection[str]
    ) -> None:
        assert unopenable_urls
        for url in unopenable_urls:
            rejected = self._rejection(open_storage, url)
            assert str(rejected).strip(), url
            assert len(str(rejected).splitlines()) == 1, url

    def test_a_rejected_url_does_not_show_its_password(
        self, open_storage: Callable[[str], Storage], unopenable_urls: Collection[str]
    ) -> None:
        for url in unopenable_urls:
            rejected = self._rejection(open_storage, url)
            shown = "".join(traceback.format_exception(rejected))
            assert self.password not in shown, "the message or a cause contains the password"

    def _rejection(self, open_storage: Callable[[str], Storage], url: str) -> StorageUnavailable:
        """Return the error of opening the storage, or of its first check if it opens later."""
        with pytest.raises(StorageUnavailable) as rejected, closing(open_storage(url)) as storage:
            storage.check()
        return rejected.value
