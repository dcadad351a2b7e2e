"""The log lines, metrics and rules in `docs/operating` exist."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from recipient_fields.domain import PlainKey
from recipient_fields.entrypoints.cli.service.serve import serve
from recipient_fields.entrypoints.http.heavy_requests import HeavyRequests
from recipient_fields.entrypoints.http.metrics import Metrics
from recipient_fields.entrypoints.http.responses import UnreadResponses

DOCS = Path(__file__).parent.parent / "docs"
DATA = (DOCS / "operating" / "data.md").read_text("utf-8")
MONITORING = (DOCS / "operating" / "monitoring.md").read_text("utf-8")
UNIT = DOCS / "deploy" / "recipient-fields@.service"
SUFFIXES = {"counter": "_total", "info": "_info"}
METRIC = re.compile(r"^\| `(recipient_fields_\w+)` \|([^|]*)\|", re.MULTILINE)


class ServerAndPool:
    """The attributes of a server and a pool that the metrics read."""

    connections = in_flight = shed = refused = pool_size = 0

    def pool_use(self) -> dict[str, int]:
        return {"open": 0}


@pytest.fixture(scope="module")
def rule() -> re.Pattern[str]:
    """Return the pattern of the rule for gitleaks."""
    (block,) = re.findall(r"```toml\n(.*?)```", DATA, re.DOTALL)
    (rule,) = tomllib.loads(block)["rules"]
    assert rule["keywords"] == ["rfk_"]
    return re.compile(rule["regex"])


@pytest.mark.parametrize(
    "text",
    ["{}", 'API_KEY="{}"', "Authorization: Bearer {}\n", "export K={};", "?key={}&x", "'{}'"],
)
def test_the_rule_for_gitleaks_finds_keys(rule: re.Pattern[str], text: str) -> None:
    for _ in range(100):
        key = PlainKey.generate().reveal()

        assert rule.findall(text.format(key)) == [key]


def test_the_rule_for_gitleaks_ignores_permitted_prefixes(rule: re.Pattern[str]) -> None:
    plain = PlainKey.generate()

    for text in (plain.display, plain.digest.hex(), f"x{plain.reveal()}", f"{plain.reveal()}x"):
        assert rule.search(text) is None


def test_each_process_of_the_example_for_systemd_serves_metrics_at_its_own_address() -> None:
    (command,) = re.findall(r"^ExecStart=\S+ serve (.*)$", UNIT.read_text("utf-8"), re.MULTILINE)

    parsed = [serve.make_context("serve", command.replace("%i", n).split()).params for n in "01"]
    assert [settings["listen"] for settings in parsed] == [("127.0.0.1", 8080)] * 2
    assert [settings["admin_listen"] for settings in parsed] == [
        *(("127.0.0.1", 9400), ("127.0.0.1", 9401))
    ]


def test_the_log_line_on_the_page_has_the_members_of_a_real_one() -> None:
    (line,) = re.findall(r"```json\n(.*?)```", MONITORING, re.DOTALL)

    shown = json.loads(line)
    assert list(shown)[:4] == ["timestamp", "level", "logger", "event"]
    assert shown["logger"] == "recipient_fields.requests"


def test_every_metric_is_on_the_page_with_its_labels() -> None:
    metrics = Metrics()
    metrics.watch_server(ServerAndPool())
    metrics.watch_pool(ServerAndPool())
    metrics.watch_readiness(lambda: None)
    metrics.watch_large_responses(HeavyRequests(), UnreadResponses())

    documented = {
        name: re.findall(r"`(\w+)`", labels) for name, labels in METRIC.findall(MONITORING)
    }
    collected = {
        f"{family.name}{SUFFIXES.get(family.type, '')}"
        for family in metrics.registry.collect()
        if family.name.startswith("recipient_fields_")
    }
    assert documented.keys() == collected
    assert set().union(*map(set, documented.values())) == {
        *("route", "method", "status", "result", "kind", "state", "version", "python"),
        *("organization", "key_id"),
    }
