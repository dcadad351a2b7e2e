"""The check of a list in the console of a running service: 10 MiB, as the command checks it."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import psutil
import pytest

from recipient_fields.application import Core
from recipient_fields.domain import DataType, OrganizationId
from recipient_fields.entrypoints.console import MAX_FILE_SIZE

from ..console.browser import Response
from ..support.command_line import Script
from ..support.fields import add_field
from .conftest import Start
from .console import RecordingBrowser, browse, invite, logged_secrets, set_password
from .test_console import peak_memory

pytestmark = pytest.mark.slow

_log = logging.getLogger(__name__)

HEADER = b"tier,points,since,comment\n"
INVALID_EACH = 50
MAX_GROWTH = 90 * 1024 * 1024
"""For the form, the list in it, and the rejects. 63 MiB were measured."""
SECRET = "Customer-of-Acme"


def list_of_10_mib() -> bytes:
    """Return a list in which every fiftieth recipient is invalid."""
    lines = [HEADER]
    size = len(HEADER)
    for number in range(MAX_FILE_SIZE):
        tier = b"golf" if number % INVALID_EACH == 0 else b"gold"
        line = b"%s,%d.5,2026-11-20,%s %d\n" % (tier, number, SECRET.encode(), number)
        size += len(line)
        if size > MAX_FILE_SIZE:
            break
        lines.append(line)
    return b"".join(lines)


def test_a_list_of_10_mib_has_the_report_and_the_rejects_of_the_command(
    start: Start,
    core: Core,
    acme: OrganizationId,
    script: Script,
    tmp_path: Path,
) -> None:
    add_field(core, acme, "Tier", allowed_values=["gold", "silver"])
    add_field(core, acme, "Points", data_type=DataType.NUMBER)
    add_field(core, acme, "Since", data_type=DataType.DATE)
    add_field(core, acme, "Comment")
    content = list_of_10_mib()
    path, rejects = tmp_path / "list.csv", tmp_path / "bad.csv"
    path.write_bytes(content)
    command = ("recipients", "check", str(path), "--organization", acme, "--rejects", str(rejects))
    run = script(*command)
    service = start("--console", "--log-level", "debug")
    browser = browse(service.url)
    set_password(browser, invite(core, acme, "dana@lists.example"))
    process = psutil.Process(service.process_id)
    resident = process.memory_info().rss

    page = upload(browser, acme, content, "check")
    growth_of_check = peak_memory(process.pid) - resident
    download = upload(browser, acme, content, "rejects")

    growth = peak_memory(process.pid) - resident
    _log.info(
        "%.0f MiB before, %.0f MiB more for the check, %.0f MiB more for both",
        *(resident / 1024**2, growth_of_check / 1024**2, growth / 1024**2),
    )
    assert page.status == 200
    assert run.err.strip() in page.text
    in_words = {row.replace("unknown_value", "Not an allowed value") for row in table(run.out)}
    assert in_words <= set(re.findall(r"tier Not an allowed value [\d,]+", page.text))
    finding = run.out.splitlines()[0].partition(": tier: ")[2]
    assert finding.startswith('"golf" \N{MULTIPLICATION SIGN} ')
    assert finding in page.text
    assert download.headers["content-disposition"] == 'attachment; filename="rejects.csv"'
    assert download.html == rejects.read_text()
    assert growth < MAX_GROWTH
    service.kill()
    assert SECRET not in service.stderr
    assert logged_secrets(service.stderr, browser) == []


def upload(
    browser: RecordingBrowser, organization_id: OrganizationId, content: bytes, action: str
) -> Response:
    return browser.upload(
        browser.get(f"/console/o/{organization_id}/fields/check"),
        "",
        content,
        press=("action", action),
        name="list",
        file_name="list.csv",
    )


def table(out: str) -> set[str]:
    """Return the rows of the table in the report of the command."""
    _, _, rows = out.partition("VIOLATIONS\n")
    found = {" ".join(row.split()) for row in rows.splitlines()}
    assert found
    return found
