"""All files and pages use the ports of the unit: one for requests, and one range for probes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .files import DEPLOY, REPOSITORY

SERVICE = "8080"
ADMIN = "9400"
"""The port of the first process. The second one has the next port."""

DOCS = REPOSITORY / "docs"
WRITTEN = {
    "deploy/recipient-fields@.service": (
        r"--listen 127\.0\.0\.1:(\d+)",
        r"admin-listen \S+?:(\d+)",
    ),
    "deploy/nginx.conf": (r"server 127\.0\.0\.1:(\d+)", None),
    "deploy/haproxy.cfg": (r"10\.0\.0\.1\d:(\d+)", r"check port (\d+)"),
    "deploy/Containerfile": (
        r"_LISTEN=0\.0\.0\.0:(80\d+)|EXPOSE (\d+)",
        r"(?::|EXPOSE \d+ )(9\d{3})",
    ),
    "deploy/compose.yaml": (r"127\.0\.0\.1:\d+:(\d+)", None),
    "deploy/kubernetes/service.yaml": (
        r"name: http, containerPort: (\d+)",
        r'admin, containerPort: (\d+)|prometheus\.io/port: "(\d+)"',
    ),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_file_uses_the_ports_of_the_unit(name: str) -> None:
    text = (REPOSITORY / "docs" / name).read_text("utf-8").replace("%i", "0")

    for pattern, port in zip(WRITTEN[name], (SERVICE, ADMIN), strict=True):
        if pattern is not None:
            found = {group for match in re.finditer(pattern, text) for group in match.groups()}
            assert found - {None} == {port}


@pytest.mark.parametrize(
    "path",
    [DOCS / "installing.md", *(DOCS / "operating").glob("*.md"), *DEPLOY.glob("*.*")],
    ids=lambda path: path.name,
)
def test_only_prometheus_uses_its_own_port(path: Path) -> None:
    lines = path.read_text("utf-8").splitlines()

    others = [line for line in lines if re.search(r"\b909\d\b", line)]
    assert [line for line in others if "rometheus" not in line] == []


def test_prometheus_reads_the_metrics_of_both_processes() -> None:
    text = (DOCS / "operating" / "production-checklist.md").read_text("utf-8")

    (targets,) = re.findall(r"targets: \[([^]]*)\]", text)
    assert targets == f'"127.0.0.1:{ADMIN}", "127.0.0.1:{int(ADMIN) + 1}"'
