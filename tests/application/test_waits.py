"""Who is told of a wait."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from recipient_fields.application import about_to_wait, when_about_to_wait


def test_the_thread_that_asked_for_it_is_told_of_its_own_waits_only() -> None:
    told: list[str] = []

    def wait(name: str) -> None:
        when_about_to_wait(lambda: told.append(name))
        about_to_wait()

    about_to_wait()
    for name in ("first", "second"):
        with ThreadPoolExecutor(1) as pool:
            pool.submit(wait, name).result()
        about_to_wait()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(about_to_wait).result()
    assert told == ["first", "second"]
