"""The workflow for continuous integration in `docs/fields-as-code.md`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from recipient_fields.adapters.memory import MemoryStorage
from recipient_fields.application import Core
from recipient_fields.domain import Access, FieldKey

from ..adapters.client.live_server import application, live_server
from .blocks import ROOT, blocks_of

PAGE = "docs/fields-as-code.md"


@pytest.fixture(scope="module")
def steps() -> dict[str, Any]:
    """Return the last step of each job of the workflow, which runs the command."""
    blocks = blocks_of(PAGE, (ROOT / PAGE).read_text("utf-8"))
    [workflow] = [yaml.safe_load(block.text) for block in blocks if block.language == "yaml"]
    assert workflow["env"].keys() == {"RECIPIENT_FIELDS_URL"}
    return {name: job["steps"][-1] for name, job in workflow["jobs"].items()}


def test_the_workflow_plans_a_pull_request_and_applies_after_the_merge(steps, tmp_path):
    document = "fields:\n  city: {name: City, data_type: text}\n"
    (tmp_path / "recipient-fields.yaml").write_text(document)
    core = Core.over(MemoryStorage())
    acme = core.administration.create_organization("Acme").id
    secrets = {
        f"${{{{ secrets.{name} }}}}": core.administration.issue_key(
            acme, name="CI", access=access
        ).plain.reveal()
        for name, access in (
            ("READ_ONLY_API_KEY", Access.READ_ONLY),
            ("API_KEY", Access.READ_WRITE),
        )
    }

    def run(job: str) -> str:
        variables = {name: secrets[value] for name, value in steps[job]["env"].items()}
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            ["bash", "-e", "-c", steps[job]["run"]],
            env={**os.environ, "PATH": path, "RECIPIENT_FIELDS_URL": url, **variables},
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout

    with live_server(application(core.storage)) as url:
        assert "1 to create" in run("plan")
        assert core.fields.list_fields(acme).fields == ()
        assert "1 to create" in run("apply")
        assert core.fields.get_field(acme, FieldKey("city")).name == "City"
        assert "1 unchanged" in run("plan")
        assert "1 unchanged" in run("apply")
