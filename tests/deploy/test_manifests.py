"""The files in `docs/deploy` for systemd, containers, Kubernetes, Prometheus and Grafana."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from .files import DEPLOY, REPOSITORY

KUBERNETES = DEPLOY / "kubernetes"
METRIC = re.compile(r"\b(?:recipient_fields|process)_[a-z_]+")


def run(*command: str | Path) -> str:
    """Run a command, which must succeed, and return its output."""
    ran = subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY, timeout=60)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


def tool(name: str) -> Path:
    """Return the path of a command of this Python environment."""
    return Path(sys.executable).with_name(name)


def documents(file: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(file.read_text("utf-8")))


@pytest.mark.parametrize("file", sorted(KUBERNETES.iterdir()), ids=lambda file: file.name)
def test_the_manifests_fit_the_schemas_of_kubernetes(file: Path) -> None:
    run(tool("kubernetes-validate"), "--strict", file)


def test_compose_yaml_fits_the_specification() -> None:
    schema = ("--builtin-schema", "vendor.compose-spec")

    run(tool("check-jsonschema"), *schema, DEPLOY / "compose.yaml")


def test_the_service_of_compose_is_not_the_owner_of_the_tables() -> None:
    (compose,) = documents(DEPLOY / "compose.yaml")
    urls = {
        name: service["environment"].get("RECIPIENT_FIELDS_STORAGE", "")
        for name, service in compose["services"].items()
    }

    assert urls["migrate"].startswith("postgresql://recipient_fields_owner:${OWNER_PASSWORD}@")
    assert urls["service"].startswith("postgresql://recipient_fields_service:${SERVICE_PASSWORD}@")
    assert "./roles.sql:" in str(compose["services"]["database"]["volumes"])


@pytest.mark.parametrize("file", sorted(DEPLOY.glob("*.service")), ids=lambda file: file.name)
def test_systemd_accepts_the_unit(file: Path, tmp_path: Path) -> None:
    unit = file.read_text("utf-8")
    copy = tmp_path / file.name
    copy.write_text(unit.replace("/opt/recipient-fields/bin/", f"{Path(sys.executable).parent}/"))

    assert run("systemd-analyze", "verify", copy) == ""


def test_systemd_starts_the_service_again_however_often_it_has_failed() -> None:
    """Otherwise, it gives up after five failures in 10 s, while PostgreSQL is down."""
    unit = (DEPLOY / "recipient-fields@.service").read_text("utf-8")

    assert {"StartLimitIntervalSec=0", "Restart=always"} <= {*unit.splitlines()}


def test_the_unit_restricts_what_the_process_may_do() -> None:
    """The threshold is ten times the figure that `systemd-analyze security` prints."""
    unit = DEPLOY / "recipient-fields@.service"

    run("systemd-analyze", "security", "--offline=true", "--threshold=20", unit)


def test_prometheus_accepts_the_rules() -> None:
    run("promtool", "check", "rules", DEPLOY / "prometheus-rules.yaml")


def test_each_fault_causes_its_alert() -> None:
    run("promtool", "test", "rules", Path(__file__).with_name("alerts.yaml"))


def expressions() -> list[str]:
    """Return the queries of the dashboard and the rules."""
    dashboard = json.loads((DEPLOY / "grafana-dashboard.json").read_text("utf-8"))
    (rules,) = documents(DEPLOY / "prometheus-rules.yaml")
    return [
        *(target["expr"] for panel in dashboard["panels"] for target in panel["targets"]),
        *(rule["expr"] for group in rules["groups"] for rule in group["rules"]),
    ]


def test_prometheus_accepts_the_queries_of_the_dashboard(tmp_path: Path) -> None:
    """Grafana replaces its variables. promtool then checks the queries as recording rules."""
    queries = [text.replace("$__rate_interval", "5m") for text in expressions()]
    rules = [{"record": f"query:{number}", "expr": text} for number, text in enumerate(queries)]
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))

    run("promtool", "check", "rules", file)


def test_dashboard_and_rules_use_documented_metrics_only() -> None:
    documented = set(
        METRIC.findall((REPOSITORY / "docs" / "operating" / "monitoring.md").read_text("utf-8"))
    )
    used = {name for text in expressions() for name in METRIC.findall(text)}

    assert {name.removesuffix("_bucket") for name in used} <= documented


def test_the_service_has_time_to_drain() -> None:
    """It needs up to 20 s, and in Kubernetes it begins after the hook."""
    unit = (DEPLOY / "recipient-fields@.service").read_text("utf-8")
    (compose,) = documents(DEPLOY / "compose.yaml")
    (deployment, *_) = documents(KUBERNETES / "service.yaml")
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    hook = int(container["lifecycle"]["preStop"]["exec"]["command"][1])

    assert int(re.findall(r"TimeoutStopSec=(\d+)", unit)[0]) > 20
    assert int(compose["services"]["service"]["stop_grace_period"].removesuffix("s")) > 20
    assert pod["terminationGracePeriodSeconds"] - hook > 20
