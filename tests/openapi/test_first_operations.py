"""The examples at the beginning of `/docs` run as they are, in each language."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html import unescape

import httpx2
import pytest

from recipient_fields.entrypoints.http.openapi.reference_page import FIELDS, FIRST_OPERATIONS

from ..support.node import NODE
from .live import live_service

STATUSES = {"GET": 200, "POST": 201, "PATCH": 200, "PUT": 200, "DELETE": 204}
COMMANDS = {
    "curl": ("bash", "-c"),
    "Python": (sys.executable, "-W", "error", "-c"),
    "JavaScript": (str(NODE), "--input-type=module", "--eval"),
}


@pytest.mark.parametrize("language", COMMANDS)
def test_the_examples_run_in_the_order_of_the_page(language):
    with live_service("memory:") as live:
        page = httpx2.get(f"{live.url}/docs").text
        programs = re.findall(
            rf"<figcaption>{language}</figcaption>\n<pre[^>]*>(.*?)</pre>", page, re.S
        )
        statuses = [
            _status(
                subprocess.run(
                    [*COMMANDS[language], unescape(program)],
                    env={**os.environ, "URL": live.url, "API_KEY": live.acme},
                    capture_output=True,
                    text=True,
                    check=True,
                ).stdout
            )
            for program in programs
        ]

    assert statuses == [STATUSES[request.method] for request in FIRST_OPERATIONS]


def test_the_page_shows_the_six_operations_on_fields_first(contract):
    paths = contract["paths"]
    operations = [
        (method.upper(), path)
        for path in (FIELDS, f"{FIELDS}/{{id_or_key}}")
        for method in paths[path]
        if method != "parameters"
    ]

    shown = [
        (request.method, request.path.replace("shoe_size", "{id_or_key}"))
        for request in FIRST_OPERATIONS
    ]
    assert sorted(shown) == sorted(operations)
    assert len(shown) == 6


def _status(output: str) -> int:
    found = re.match(r"(?:HTTP/1.1 )?(\d{3}) ", output)
    assert found, output
    return int(found[1])
