"""Processes that test one mutant each."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path


def status_of(call: Callable[[], bool]) -> int:
    """Make the call in a fork without output, and return 0 if the result is true.

    The result is negative if a signal has ended the fork. Files that the fork leaves in the folder
    for temporary files are deleted.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        process = os.fork()
        if process == 0:
            status = 1
            try:
                _isolate(Path(folder))
                status = 0 if call() else 1
            finally:  # An exception must not continue in the fork what this process does.
                os._exit(status)
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def _isolate(folder: Path) -> None:
    # With Python's handler, the fork would continue after an interrupt.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    folder.chmod(0o755)  # tests/conftest.py requires a folder that other users can reach.
    tempfile.tempdir = str(folder)
