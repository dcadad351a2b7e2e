"""Schemathesis: responses to generated requests conform to the document."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests

from recipient_fields.adapters.postgres import migrate

from ..support.postgres import new_database
from .live import Live, bearer, live_service

pytestmark = pytest.mark.slow

CONFIGURATION = Path(__file__).parent / "schemathesis.toml"
HOOKS = Path(__file__).parent / "schemathesis_hooks.py"
REQUESTS = int(os.environ.get("RECIPIENT_FIELDS_GENERATED_REQUESTS", "1"))
"""Minimum number per storage. Each round starts a new service. `make test-long` sends 100,000."""
EXAMPLES = int(os.environ.get("RECIPIENT_FIELDS_GENERATED_EXAMPLES", "15"))
"""Maximum per operation and phase. With 15, a round has about 1,200 requests."""
STORAGES = ("memory", "sqlite", "postgresql")
PHASES = dict.fromkeys(("examples", "coverage", "fuzzing", "stateful"), "success")

_log = logging.getLogger(__name__)


@pytest.mark.parametrize("storage", STORAGES)
def test_every_response_conforms_to_the_document(storage: str, server_url: str, tmp_path: Path):
    sent = seed = 0
    while sent < REQUESTS:
        seed += 1
        directory = tmp_path / str(seed)
        directory.mkdir()
        with (
            _new_storage(storage, server_url, directory) as url,
            live_service(url) as live,
        ):
            others = _fields(live, live.globex)

            report = _generate(live, directory, seed)

            assert _fields(live, live.globex) == others
        sent += report["test_cases"]["generated"]
        assert {name: phase["status"] for name, phase in report["phases"].items()} == PHASES
        _log.info("%s, seed %d: %d requests by now", storage, seed, sent)


@contextmanager
def _new_storage(kind: str, server_url: str, directory: Path) -> Iterator[str]:
    """Return the URL of an empty storage."""
    if kind == "postgresql":
        with new_database(server_url) as url:
            migrate(url)
            yield url
    else:
        yield {"memory": "memory:", "sqlite": f"sqlite:{directory / 'fields.db'}"}[kind]


def _generate(live: Live, directory: Path, seed: int) -> dict[str, Any]:
    keys = directory / "keys.json"
    keys.write_text(
        json.dumps(
            {
                "auth": [
                    {
                        "name": name,
                        "fixedHeaders": [{"name": "Authorization", "value": f"Bearer {key}"}],
                    }
                    for name, key in (("acme", live.acme), ("globex", live.globex))
                ]
            }
        )
    )
    report = directory / "report.json"
    run = subprocess.run(
        [
            *(Path(sys.executable).parent / "schemathesis", "--config-file", CONFIGURATION),
            *("run", f"{live.url}/openapi.json", "--checks", "all", "--continue-on-failure"),
            *("--seed", str(seed), "--max-examples", str(EXAMPLES)),
            *("--report-json-path", report, "--no-color"),
        ],
        cwd=directory,
        env={
            **os.environ,
            "RECIPIENT_FIELDS_TEST_KEYS": str(keys),
            "SCHEMATHESIS_HOOKS": str(HOOKS),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    document: dict[str, Any] = json.loads(report.read_text("utf-8"))
    assert (document["failures"], document["errors"]) == ([], [])
    assert document["complete"]
    return document


def _fields(live: Live, key: str) -> list[dict[str, Any]]:
    response = requests.get(live.fields, headers=bearer(key), timeout=10)
    fields: list[dict[str, Any]] = response.json()["recipient_fields"]
    return fields
