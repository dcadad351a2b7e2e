"""What is refused before the application sees it, in the shape of the application's errors."""

from __future__ import annotations

import pytest

from .service import Service

POST = b"POST /api/v1/recipient_fields HTTP/1.1\r\nHost: localhost\r\n"


@pytest.mark.parametrize(
    ("request_", "status", "code"),
    [
        (b"GET /healthz HTTP/1.1\r\nX: " + b"a" * 17_000 + b"\r\n\r\n", 431, "headers_too_large"),
        (POST + b"Content-Length: 99999999\r\n\r\n", 413, "payload_too_large"),
        (POST + b"Content-Length: 12345678901234567890\r\n\r\n", 413, "payload_too_large"),
        (POST + b"Content-Length: ten\r\n\r\n", 400, "malformed_request"),
        (POST + b"Content-Length: -1\r\n\r\n", 400, "malformed_request"),
        (POST + b"Content-Length: +1\r\n\r\n{", 400, "malformed_request"),
        (POST + b"Content-Length: 1, 1\r\n\r\n{", 400, "malformed_request"),
        (POST + b"Transfer-Encoding: gzip\r\n\r\n", 501, "not_implemented"),
        (POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n", 501, "not_implemented"),
        (POST + b"Transfer-Encoding: chunked\r\n\r\nten\r\n", 400, "malformed_request"),
        (b"Recipient fields, please.\r\n\r\n", 400, "malformed_request"),
        (b"GET /healthz HTTP/1.1\r\nHost : localhost\r\n\r\n", 400, "malformed_request"),
    ],
    ids=lambda value: ascii(value)[-40:],
)
def test_http_that_can_not_be_trusted_is_answered_in_our_shape_and_hung_up_on(
    service: Service, request_: bytes, status: int, code: str
) -> None:
    answer = service.anyone.refused(request_)

    assert (answer.status, answer.code) == (status, code)
    assert answer.headers["Connection"] == "close"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "Server" not in answer.headers
    assert service.anyone("GET", "/healthz").status == 200
