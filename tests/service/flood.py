"""A program that floods a service: clients that repeat one request as fast as they can.

Its arguments are a file with the request as bytes, the host, the port, the number of clients and
the seconds. It is a program of its own, so that its clients do not delay those that measure. It
prints the number of responses of each status as JSON. A request that contains `NUMBER` is a
different one each time.
"""

from __future__ import annotations

import json
import socket
import sys
import time
from collections import Counter
from itertools import count
from pathlib import Path
from threading import Thread

_BUFFER = 256 * 1024


def _status(address: tuple[str, int], request: bytes) -> str:
    """Send the request on a new connection, read the whole response and return its status."""
    try:
        with socket.create_connection(address, timeout=30) as connection:
            connection.sendall(request)
            status = connection.recv(_BUFFER)[9:12].decode()
            while connection.recv(_BUFFER):
                pass
    except OSError as error:
        return type(error).__name__
    return status or "closed"


def main() -> None:
    file, host, port, clients, seconds = sys.argv[1:]
    request, address = Path(file).read_bytes(), (host, int(port))
    statuses: Counter[str] = Counter()
    numbers, end = count(), time.monotonic() + float(seconds)

    def repeat() -> None:
        while time.monotonic() < end:
            one = request.replace(b"NUMBER", f"{next(numbers):06}".encode())
            statuses[_status(address, one)] += 1

    threads = [Thread(target=repeat) for _ in range(int(clients))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps(statuses))  # noqa: T201 (the result of the program)


if __name__ == "__main__":
    main()
