"""The undocumented members of Waitress that docs/internals/server.md lists."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from textwrap import dedent
from typing import Any

from waitress.buffers import OverflowableBuffer
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.receiver import FixedStreamReceiver
from waitress.server import TcpWSGIServer
from waitress.task import ErrorTask, ThreadedTaskDispatcher, WSGITask
from waitress.trigger import trigger

from recipient_fields.entrypoints.server import (
    connections,
    dispatcher,
    framing,
    listener,
    server,
)

PAGE = Path(__file__).parents[2] / "docs" / "internals" / "server.md"

# fmt: off
MEMBERS: dict[type, tuple[str, ...]] = {
    ErrorTask: (
        "channel", "content_length", "execute", "request", "response_headers", "status",
        "write",
    ),
    FixedStreamReceiver: (
        "completed", "received",
    ),
    HTTPChannel: (
        "_fileno", "_flush_exception", "_flush_some_if_lockable", "addr",
        "close_when_flushed", "connected", "error_task_class", "handle_close",
        "handle_error", "handle_read", "handle_write", "last_activity", "outbuf_lock",
        "parser_class", "readable", "request", "requests", "send", "server", "service", "socket",
        "task_class", "total_outbufs_len", "will_close", "writable", "write_soon",
    ),
    HTTPRequestParser: (
        "adj", "body_rcv", "command", "completed", "connection_close", "content_length",
        "error", "expect_continue", "header_plus", "headers", "headers_finished",
        "parse_header", "path", "query", "received", "request_uri", "url_scheme", "version",
    ),
    OverflowableBuffer: (
        "append", "getfile",
    ),
    TcpWSGIServer: (
        "accept", "active_channels", "add_task", "adj", "channel_class", "del_channel",
        "handle_accept", "logger", "pull_trigger", "readable", "run", "set_socket_options",
        "socket", "task_dispatcher", "trigger",
    ),
    ThreadedTaskDispatcher: (
        "active_count", "add_task", "lock", "queue", "queue_cv", "set_thread_count",
        "shutdown", "threads",
    ),
    WSGITask: (
        "build_response_header", "channel", "has_body", "request", "set_close_on_finish",
    ),
    trigger: (
        "close", "pull_trigger",
    ),
}
# fmt: on

IMPORTS = (
    "waitress.adjustments.Adjustments",
    "waitress.buffers.OverflowableBuffer",
    "waitress.channel.HTTPChannel",
    "waitress.parser.HTTPRequestParser",
    "waitress.receiver.FixedStreamReceiver",
    "waitress.server.TcpWSGIServer",
    "waitress.task.ErrorTask",
    "waitress.task.Task",
    "waitress.task.ThreadedTaskDispatcher",
    "waitress.task.WSGITask",
    "waitress.wasyncore.loop",
    "waitress.wasyncore.readwrite",
)

MODULES = (connections, dispatcher, framing, listener, server)

SUBCLASSES: dict[str, tuple[type, ...]] = {
    "_ResponseTask": (WSGITask,),
    "ApplicationTask": (WSGITask,),
    "RejectionTask": (ErrorTask,),
    "Connection": (HTTPChannel,),
    "Dispatcher": (ThreadedTaskDispatcher,),
    "FramedRequest": (HTTPRequestParser,),
    "Listener": (TcpWSGIServer,),
}
"""Our classes that derive from those of Waitress."""

VARIABLES: dict[str, type] = {
    "connection": HTTPChannel,
    "each": HTTPChannel,
    "idle": HTTPChannel,
    "polled": HTTPChannel,
    "self._idle[0]": HTTPChannel,
    "self.channel": HTTPChannel,
    "task": HTTPChannel,
    "request": HTTPRequestParser,
    "self.request": HTTPRequestParser,
    "self.body_rcv": FixedStreamReceiver,
    "self._buffer": OverflowableBuffer,
    "self.server": TcpWSGIServer,
    "self.channel.server": TcpWSGIServer,
    "self._listener": TcpWSGIServer,
    "self.task_dispatcher": ThreadedTaskDispatcher,
    "self.server.task_dispatcher": ThreadedTaskDispatcher,
    "self._listener.task_dispatcher": ThreadedTaskDispatcher,
    "self.trigger": trigger,
    "self._trigger": trigger,
}
"""The expressions of our code whose values are Waitress' objects."""


@cache
def members_of(cls: type) -> frozenset[str]:
    """Return the names of the attributes that Waitress sets in the class and its instances."""
    names: set[str] = set()
    for base in cls.__mro__:
        if not base.__module__.startswith("waitress."):
            continue
        names |= set(vars(base))
        for node in ast.walk(ast.parse(dedent(inspect.getsource(base)))):
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.ctx, ast.Store)
                and ast.unparse(node.value) == "self"
            ):
                names.add(node.attr)
    return frozenset(name for name in names if not name.startswith("__"))


def used_in(module: Any) -> Iterator[tuple[type, str]]:
    """Yield the members of Waitress' classes that the module reads, sets, calls or overrides."""
    for definition in ast.parse(Path(module.__file__).read_text()).body:
        bases = SUBCLASSES.get(getattr(definition, "name", ""), ())
        for base in bases:
            for node in getattr(definition, "body", ()):
                name = getattr(node, "name", None) or getattr(
                    getattr(node, "target", None), "id", None
                )
                if name in members_of(base):
                    yield base, name
        for node in ast.walk(definition):
            if isinstance(node, ast.Attribute):
                variable = ast.unparse(node.value)
                receivers = (VARIABLES[variable],) if variable in VARIABLES else ()
                for receiver in bases if variable in {"self", "super()"} else receivers:
                    if node.attr in members_of(receiver):
                        yield receiver, node.attr


def imported_by(module: Any) -> Iterator[str]:
    """Yield the names that the module imports from Waitress."""
    for node in ast.walk(ast.parse(Path(module.__file__).read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("waitress"):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_the_server_imports_these_names_from_waitress_and_no_others() -> None:
    assert tuple(sorted({name for each in MODULES for name in imported_by(each)})) == IMPORTS


def test_the_server_depends_on_these_members_of_waitress_and_no_others() -> None:
    used: dict[type, set[str]] = {}
    for module in MODULES:
        for cls, name in used_in(module):
            used.setdefault(cls, set()).add(name)

    assert {cls: tuple(sorted(names)) for cls, names in used.items()} == MEMBERS


def test_waitress_has_the_members_on_which_the_server_depends() -> None:
    missing = [
        f"{cls.__name__}.{name}"
        for cls, names in MEMBERS.items()
        for name in names
        if name not in members_of(cls)
    ]

    assert missing == [], "Waitress has changed: adapt entrypoints/server and the list above."


def test_the_page_about_the_server_lists_these_members() -> None:
    page = PAGE.read_text()

    assert [n for names in MEMBERS.values() for n in names if f"`{n}`" not in page] == []
    assert [cls.__name__ for cls in MEMBERS if f"`{cls.__name__}`" not in page] == []
