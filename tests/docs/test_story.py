"""The page *From Mailchimp to Braze* has the same output if both ESPs respond instead of its files.

`test_pages.py` runs the page itself.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from attrs import evolve
from cryptography.fernet import Fernet

from ..support.http_server import ReceivedRequest, StubResponse, stub_server
from .blocks import ROOT, blocks_of
from .printed import assert_shown
from .running import run_blocks

PAGE = "docs/from-mailchimp-to-braze.md"


@pytest.mark.slow
def test_the_page_can_be_followed_with_two_accounts(tmp_path: Path) -> None:
    folder = tmp_path / "page"
    folder.mkdir()

    def fields(file: str) -> list[dict[str, str]]:
        """Return the fields in the page's file, which is written later than the connection."""
        path = folder / file
        return json.loads(path.read_text("utf-8"))["fields"] if path.exists() else []

    def respond(request: ReceivedRequest) -> StubResponse:
        if request.path == "/3.0/lists/acme/merge-fields":
            found = [
                {"merge_id": number, "tag": each["name"], "name": each["label"], "type": "text"}
                for number, each in enumerate(fields("mailchimp.json"), start=1)
            ]
            return StubResponse.json({"merge_fields": found, "total_items": len(found)})
        if request.path == "/3.0/":
            return StubResponse.json({"account_id": "a1", "account_name": "Acme"})
        found = [{"name": each["name"], "data_type": "String"} for each in fields("braze.json")]
        return StubResponse.json({"attributes": found, "message": "success"})

    first, *others = blocks_of(PAGE, (ROOT / PAGE).read_text("utf-8"))
    with stub_server(respond) as server:
        connect = "recipient-fields integrations connect --organization Acme --set url=$ESPS"
        connected = (
            f"echo key-us1 | {connect} 1 --set list_id=acme >> connected.txt 2>&1\n"
            f"echo key-of-braze | {connect} 2 >> connected.txt 2>&1\n"
        )
        blocks = [evolve(first, text=first.text + connected)]
        replaced = 0
        for each in others:
            text, count = re.subn(r" --from \w+\.json", "", each.text)
            blocks.append(evolve(each, text=text))
            replaced += count
        assert replaced == 3
        environment = {
            "ESPS": server.url,
            "RECIPIENT_FIELDS_SECRETS_KEY": Fernet.generate_key().decode(),
            "RECIPIENT_FIELDS_ESP_HOSTS": server.url.removeprefix("http://"),
        }
        for block, output in run_blocks(blocks, folder, environment):
            if block.shows is None:
                assert output == ""
            else:
                assert_shown(output, block.shows)
