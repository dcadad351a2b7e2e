"""Mutants of the bodies of plain functions and methods, which mutmut creates.

mutmut starts pytest again for each mutant, which takes most of a second. Here, pytest collects the
tests once, and tests each mutant in a fork of that process.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click
import pytest
from attrs import define, field
from forks import status_of
from mutmut.__main__ import create_file_mutants
from mutmut.mutation.data import SourceFileMutationData
from mutmut.mutation.trampoline import set_mutant_under_test
from mutmut.state import state
from mutmut.utils.file_utils import (
    copy_also_copy_files,
    copy_src_dir,
    setup_source_paths,
    walk_source_files,
)
from mutmut.utils.format_utils import mangled_name_from_mutant_name
from mutmut.workers.isolation import run_in_fork_with_result
from samples import sampled

NONE, KILLED, SURVIVED, ENDLESS = "no test", "killed", "survived", "endless"

MAX_TESTS = 1_200
"""Maximum number of tests per function; tests that reach few other functions come first."""


def outcomes(
    area_of: Mapping[Path, str], sizes: Mapping[str, int], tests: Sequence[str], *, workers: int
) -> list[tuple[Path, str, str]]:
    """Return the file, the name and the result of each tested mutant of these files.

    `sizes` has the size of the sample for the areas that are not tested completely.
    """
    set_mutant_under_test("mutant_generation")
    copy_src_dir()
    copy_also_copy_files()
    setup_source_paths()
    for path in walk_source_files():
        made = create_file_mutants(path)
        if made.error:
            raise made.error
    set_mutant_under_test("")
    mutants = [(path, mutant) for path in area_of for mutant in _mutants_of(path)]
    chosen = sampled(mutants, lambda mutant: area_of[mutant[0]], sizes)
    trials = Trials([mutant for _, mutant in chosen], workers)
    os.chdir("mutants")
    arguments = ["--rootdir=.", "-q", "-s", "-p", "no:cacheprovider", *tests]
    if pytest.main(arguments, plugins=[trials]):
        raise SystemExit("The tests can't be run without any mutant.")
    return [(path, mutant, trials.outcomes[mutant]) for path, mutant in chosen]


def _mutants_of(path: Path) -> list[str]:
    data = SourceFileMutationData(path=path)
    data.load()
    return list(data.exit_code_by_key)


@define(eq=False)  # pytest puts plugins into sets
class Trials:
    """A plugin that runs each mutant's tests in place of all tests, `workers` mutants at once."""

    mutants: Sequence[str]
    workers: int
    outcomes: dict[str, str] = field(factory=dict)
    _failed: bool = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record that a test has failed."""
        self._failed = self._failed or report.failed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Find the tests of each function, and then test the mutants.

        Raises: Session.Interrupted if a module of tests can't be imported.
        """
        if session.testsfailed:
            raise session.Interrupted("Some tests can't be imported.")
        session.config.pluginmanager.unregister(name="terminalreporter")
        tests = self._tests(session.items)

        def tried(mutant: str) -> str:
            function = mangled_name_from_mutant_name(mutant)
            return self._try(mutant, tests.get(function, ()), session.items)

        with ThreadPoolExecutor(self.workers) as pool:  # A thread waits for each process.
            results = zip(self.mutants, pool.map(tried, self.mutants), strict=True)
            for done, (mutant, outcome) in enumerate(results, start=1):
                self.outcomes[mutant] = outcome
                click.echo(f"\r{done}/{len(self.mutants)}", nl=False)
        return True

    def _tests(self, items: Sequence[pytest.Item]) -> Mapping[str, Sequence[int]]:
        """Return the indexes in `items` of the tests of each function, the most specific first.

        Tests that fail without a mutant are left out, for example if they read other files.
        """

        def reached() -> dict[str, list[tuple[int, int]]]:
            set_mutant_under_test("stats")
            tests: dict[str, list[tuple[int, int]]] = {}
            for i, _ in enumerate(self._run(items)):
                if self._failed:
                    click.echo(f"Left out, because it fails without a mutant: {items[i].nodeid}")
                    self._failed = False
                    state()._stats.clear()
                for function in state()._stats:
                    tests.setdefault(function, []).append((len(state()._stats), i))
                state()._stats.clear()
            return tests

        found = run_in_fork_with_result(reached)
        return {name: [i for _, i in sorted(tests)[:MAX_TESTS]] for name, tests in found.items()}

    def _try(self, mutant: str, tests: Sequence[int], items: Sequence[pytest.Item]) -> str:
        if not tests:
            return NONE

        def passes() -> bool:
            set_mutant_under_test(mutant)
            return not any(self._failed for _ in self._run([items[i] for i in tests]))

        status = status_of(passes)
        return SURVIVED if status == 0 else KILLED if status > 0 else ENDLESS

    def _run(self, items: Sequence[pytest.Item]) -> Iterator[None]:
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            yield
