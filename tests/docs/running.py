"""Execution of the blocks of a page, one after the other."""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path
from time import monotonic, sleep

from ..support.command_line import STORAGE_LINE
from ..support.network import free_port
from ..support.node import NODE
from .blocks import Block

SECONDS = 60.0
"""How long a block may take."""

_END = b"\x1e"
_ADDRESS = re.compile(r"127\.0\.0\.1:([1-9][0-9]*)")
_BASH = """
set -euo pipefail
while IFS= read -r block; do source "$block" </dev/null; printf '\\x1e'; done
"""
_PYTHON = """
import os, sys
paths, sys.stdin = sys.stdin, open(os.devnull)
namespace = {"__name__": "__main__"}
for path in paths:
    with open(path.rstrip(chr(10))) as source:
        code = compile(source.read(), source.name, "exec", dont_inherit=True)
    exec(code, namespace)
    print(chr(0x1e), end="", flush=True)
"""
_NODE = """
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
for await (const path of createInterface({ input: process.stdin })) {
  await import(pathToFileURL(path));
  process.stdout.write("\\x1e");
}
"""
_INTERPRETERS = {
    "sh": ("bash", "-c", _BASH),
    "python": (sys.executable, "-W", "error", "-c", _PYTHON),
    "js": (str(NODE), "--input-type=module", "--eval", _NODE),
}
_SUFFIXES = {"js": ".mjs"}
"""The suffix of the file, if the interpreter requires one."""


class BlockFailed(AssertionError):
    """A block ended with an error, or did not end."""


def run_blocks(
    blocks: Iterable[Block], folder: Path, environment: Mapping[str, str]
) -> Iterator[tuple[Block, str]]:
    """Run the blocks of a page and return the output of each.

    Each port of 127.0.0.1 on the page is replaced by a free one. A block that ends with `&` is
    complete when the started process accepts connections.
    """
    ports: dict[str, int] = {}
    with ExitStack() as stack:
        sessions: dict[str, _Session] = {}
        for block in blocks:
            if not block.runs:
                continue
            if block.language not in sessions:
                session = _session(_INTERPRETERS[block.language], folder, environment)
                sessions[block.language] = stack.enter_context(session)
            text = with_free_ports(block.text, ports)
            # The pages omit it, as `docs/cli.md` says.
            output = STORAGE_LINE.sub("", sessions[block.language].run(text, block))
            if text.rstrip().endswith("&"):
                _wait_for_responses(text, block)
            yield block, output if block.shows is None else _with_written_ports(output, ports)


def with_free_ports(text: str, ports: dict[str, int]) -> str:
    """Replace each port in the text by a free one, and store both in `ports`."""

    def free(address: re.Match[str]) -> str:
        return f"127.0.0.1:{ports.setdefault(address[1], free_port())}"

    return _ADDRESS.sub(free, text)


def _with_written_ports(text: str, ports: Mapping[str, int]) -> str:
    for written, free in ports.items():
        text = text.replace(f"127.0.0.1:{free}", f"127.0.0.1:{written}")
    return text


class _Session:
    """An interpreter that runs one block after the other."""

    def __init__(self, process: subprocess.Popen[bytes], blocks: Path) -> None:
        self._process = process
        self._blocks = blocks
        self._numbers = count(1)

    def run(self, text: str, block: Block) -> str:
        assert self._process.stdin is not None
        name = f"{Path(block.page).stem}-{next(self._numbers)}{_SUFFIXES.get(block.language, '')}"
        path = self._blocks / name
        path.write_text(text, "utf-8")
        self._process.stdin.write(f"{path}\n".encode())
        self._process.stdin.flush()
        return self._output(block).decode("utf-8")

    def _output(self, block: Block) -> bytes:
        assert self._process.stdout is not None
        output, deadline = b"", monotonic() + SECONDS
        while not output.endswith(_END):
            ready, _, _ = select.select([self._process.stdout], (), (), deadline - monotonic())
            got = os.read(self._process.stdout.fileno(), 65_536) if ready else b""
            if not got:
                ended = "failed" if ready else f"did not end within {SECONDS:.0f} seconds"
                raise BlockFailed(f"{block} {ended}:\n{output.decode('utf-8', 'replace')}")
            output += got
        return output.removesuffix(_END)


@contextmanager
def _session(
    command: tuple[str, ...], folder: Path, environment: Mapping[str, str]
) -> Iterator[_Session]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("RECIPIENT_FIELDS_")}
    if shutil.which(command[0], path=path) is None:
        raise BlockFailed(f"The program `{command[0]}` is missing: install it, or correct PATH.")
    blocks = folder.with_name(f"{folder.name}-blocks")
    blocks.mkdir(exist_ok=True)
    with subprocess.Popen(
        command,
        cwd=folder,
        env={**inherited, "PATH": path, "PYTHONUNBUFFERED": "1", **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        try:
            yield _Session(process, blocks)
        finally:
            with suppress(ProcessLookupError):  # End all processes that the page has started.
                os.killpg(process.pid, signal.SIGTERM)


def _wait_for_responses(text: str, block: Block) -> None:
    deadline = monotonic() + SECONDS
    for port in _ADDRESS.findall(text):
        while monotonic() < deadline:
            with suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
                break
            sleep(0.05)
        else:
            raise BlockFailed(f"{block}: nothing responds at 127.0.0.1:{port}.")
