"""The beginnings of responses that a test server continues slowly."""

from __future__ import annotations

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
SLOW_RESPONSES = {
    "status line": b"",
    "a header": HEAD + b"X-Slow: ",
    "the body": HEAD + b"Content-Length: 1000\r\n\r\n",
    "a body of no length": HEAD + b"Connection: close\r\n\r\n",
    "the size of a chunk": HEAD + b"Transfer-Encoding: chunked\r\n\r\n",
    "a trailer": HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX-Slow: ",
    "a failure": b"HTTP/1.1 500 Oops\r\nContent-Length: 1000\r\n\r\n",
}
