"""Change the code in thousands of ways, each of which a test must detect.

docs/internals/mutation.md describes the run. mutmut derives the names of modules from paths, so
the run uses a copy in `build/mutation`, in which the folders are in a package `recipient_fields`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import pytest
from attrs import frozen
from mutmut.mutation.diff_apply import get_diff_for_mutant
from remainder import Trial, mutants, tried
from samples import sampled

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "mutation"
PACKAGE = Path("recipient_fields")
SOURCES = ("domain", "application", "adapters", "entrypoints")
PAGES = ("CHANGELOG.md", "README.md")
"""The files outside of folders that tests read."""

AUTHENTICATION = (
    "domain/accounts/api_keys.py",
    "application/accounts/key_validation.py",
    "entrypoints/http/request_guard.py",
)
SQLSTATES = ("adapters/postgres/errors.py",)
AREAS: Mapping[str, tuple[str, ...]] = {
    "authentication": AUTHENTICATION,
    "sqlstates": SQLSTATES,
    "domain": (
        "domain/*.py",
        *(f"domain/{room}/*.py" for room in ("accounts", "fields", "recipients")),
    ),
    "documents": ("application/documents/conversion.py", "application/*/*documents.py"),
    "application": ("application/*.py", "application/*/*.py"),
    "conditions": (
        "domain/conditions/*.py",
        "domain/esp/conditions.py",
        "domain/esp/comparisons.py",
    ),
    "content": ("domain/content/*.py", "domain/esp/content/*.py"),
    "conversion": ("domain/esp/conversion/*.py", "domain/integrations/conversion.py"),
    "integrations": ("domain/integrations/*.py",),
    "esp": ("domain/esp/*.py", "domain/esp/*/*.py"),
    "storage": (
        *(f"adapters/{folder}/*.py" for folder in ("memory", "relational", "sqlite")),
        *(f"adapters/{name}.py" for name in ("storage_errors", "row_mapping", "url_options")),
    ),
}
"""The mutated files. A file belongs to the first area that matches it."""
SAMPLES = {"documents": 250, "esp": 250, "storage": 250}
"""The number of mutants of functions to test, in areas where all of them would take too long."""
FUNCTIONS_PER_OTHER = 5
"""The number of mutants of functions in a sample per mutant of other code."""

HTTP_TESTS = (
    *(f"tests/http/{topic}" for topic in ("content", "esp", "fields", "recipients")),
    *(
        f"tests/http/test_{topic}.py"
        for topic in (
            *("authentication", "authors", "conditions", "errors", "isolation", "json", "logs"),
            *("media_types", "methods", "order_of_checks", "paths", "permissions", "preferences"),
        )
    ),
)
DOCUMENT_TESTS = (
    "tests/adapters/client/test_contract.py",
    "tests/openapi/test_document.py",
    *(f"tests/cli/fields/test_{topic}.py" for topic in ("files", "plans")),
    *("tests/cli/esp", "tests/cli/test_content.py", "tests/cli/test_convert.py"),
    *("tests/console/esp", "tests/console/accounts"),
)
# fmt: off
STORAGE_TESTS = tuple(f"tests/adapters/test_{topic}.py" for topic in (
    "row_mapping", "url_options", "memory", "sqlite_url", "sqlite_file", "sqlite_backup",
    "sqlite_transfer", "sqlite", "transfer",
))
# fmt: on
SQLSTATE_TESTS = ("tests/adapters/postgres/test_errors.py",)
TESTS = (
    "tests/domain",
    "tests/application",
    *SQLSTATE_TESTS,
    *HTTP_TESTS,
    *DOCUMENT_TESTS,
    *STORAGE_TESTS,
)

TABLE_HEAD = """
| Area | Functions | Killed | Score | Other code | Killed | Score | Total |
|---|--:|--:|--:|--:|--:|--:|--:|
""".strip()


@frozen
class Result:
    """The result for one mutant."""

    area: str
    in_function: bool
    killed: bool
    place: str
    change: str


def main() -> None:
    """Run, print the score and the survivors, and fail if the score is too low.

    An interrupted run fails. It reports functions if all of them were tested, and the part of the
    remainder that was tested.
    """
    options = _options()
    _arrange(options.areas)
    os.chdir(WORK)
    sys.path.insert(0, str(WORK))
    results: list[Result] = []
    try:
        results.extend(chain(_of_functions(options), _of_the_remainder(options)))
    except KeyboardInterrupt:
        _report(results, options.areas)
        sys.exit("The run was interrupted, so this is not the score of all mutants.")
    _report(results, options.areas)
    if _score(results) < options.least:
        sys.exit(f"Fewer than {options.least} % of the mutants were killed.")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("areas", nargs="*", metavar="AREA", help=f"of {', '.join(AREAS)}")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes at once")
    parser.add_argument("--sample", type=int, help="mutants of functions per area, at most")
    parser.add_argument("--least", type=float, default=90, help="score to reach, in percent")
    options = parser.parse_args()
    options.areas = options.areas or list(AREAS)
    if unknown := set(options.areas) - set(AREAS):
        parser.error(f"no such area: {', '.join(sorted(unknown))}")
    options.sizes = SAMPLES if options.sample is None else dict.fromkeys(AREAS, options.sample)
    return options


def _files(area: str) -> list[Path]:
    """Return the files of an area, by their paths in the run."""
    claimed: set[Path] = set()
    for each, patterns in AREAS.items():
        found = {PACKAGE / path.relative_to(ROOT) for p in patterns for path in ROOT.glob(p)}
        if each == area:
            return sorted(found - claimed)
        claimed |= found
    raise KeyError(area)


def _arrange(areas: list[str]) -> None:
    shutil.rmtree(WORK, ignore_errors=True)
    targets = {
        **{folder: PACKAGE / folder for folder in SOURCES},
        "tests/contract": PACKAGE / "testing",
        "tests": Path("tests"),
        "docs/examples": Path("docs/examples"),
    }
    for folder, target in targets.items():
        shutil.copytree(ROOT / folder, WORK / target, ignore=shutil.ignore_patterns("__pycache__"))
    # Without it, the installed package would be found instead of this one.
    shutil.copy(ROOT / "entrypoints/library/__init__.py", WORK / PACKAGE)
    shutil.copy(ROOT / "tests/mutation/quick.py", WORK / "conftest.py")
    for page in PAGES:
        shutil.copy(ROOT / page, WORK)
    files = [str(path) for area in areas for path in _files(area)]
    settings = {
        "source_paths": [str(PACKAGE)],
        "only_mutate": files,
        "also_copy": ["conftest.py", "docs", *PAGES],
    }
    section = "\n".join(f"{name} = {json.dumps(value)}" for name, value in settings.items())
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (WORK / "pyproject.toml").write_text(
        f"{project}\n[tool.mutmut]\n{section}\n",
        encoding="utf-8",
    )


def _of_functions(options: argparse.Namespace) -> Iterator[Result]:
    functions = import_module("functions")  # mutmut reads its configuration when it is imported
    area_of = {path: area for area in options.areas for path in _files(area)}
    with ProcessPoolExecutor(1, get_context("fork")) as another:
        outcomes = another.submit(
            functions.outcomes, area_of, options.sizes, TESTS, workers=options.workers
        ).result()
    for path, name, outcome in outcomes:
        killed = outcome in {functions.KILLED, functions.ENDLESS}
        change = "" if killed else f"{outcome}\n{_difference(name, path)}"
        yield Result(area_of[path], True, killed, f"{path}: {name.split('.')[-1]}", change)


def _difference(name: str, path: Path) -> str:
    lines = get_diff_for_mutant(name, path=path).splitlines()[3:]
    return "\n".join(line for line in lines if line.startswith(("-", "+")))


def _of_the_remainder(options: argparse.Namespace) -> Iterator[Result]:
    _import_what_is_never_mutated()
    area_of = {path: area for area in options.areas for path in _files(area)}
    made = (mutant for path in area_of for mutant in mutants(path))
    sizes = {area: size // FUNCTIONS_PER_OTHER for area, size in options.sizes.items()}
    chosen = sampled(made, lambda mutant: area_of[mutant.path], sizes)
    trials = [Trial(mutant, _tests_of(mutant.path)) for mutant in chosen]
    for done, (mutant, survived) in enumerate(tried(trials, workers=options.workers), start=1):
        click.echo(f"\r{done}/{len(trials)}", nl=False)
        change = f"-{mutant.before}\n+{mutant.after}"
        place = f"{mutant.path}:{mutant.line}"
        yield Result(area_of[mutant.path], False, not survived, place, change)
    click.echo()


def _import_what_is_never_mutated() -> None:
    """Import modules once, so that each fork of this process starts faster."""
    with TemporaryDirectory(dir=WORK) as empty:
        pytest.main(["--rootdir=.", "-qq", "-p", "no:cacheprovider", empty])
    for name in ("falcon", "psycopg", "psycopg_pool", "structlog", "waitress"):
        import_module(name)


def _tests_of(path: Path) -> tuple[tuple[str, ...], ...]:
    """Return the tests that should detect a mutant of the file, the most specific first."""
    sets: tuple[tuple[str, ...], ...]
    match path.parts[1:-1]:
        case ("domain", "esp" | "integrations" as topic, *_):
            sets = (f"tests/domain/{topic}",), ("tests/domain/integrations", "tests/application")
        case ("domain", "conditions" | "content" as topic):
            sets = (f"tests/domain/{topic}",), ("tests/domain/esp", "tests/application")
        case ("domain", *_):
            within = ("tests/domain", "--ignore=tests/domain/esp")
            sets = within, ("tests/application", "tests/domain/esp")
        case ("application", *_):
            sets = ("tests/application",), (*HTTP_TESTS, *DOCUMENT_TESTS)
        case ("adapters", "postgres"):
            sets = (SQLSTATE_TESTS,)
        case ("adapters", *_):
            sets = (STORAGE_TESTS,)
        case _:
            sets = (HTTP_TESTS,)
    own = Path("tests", *path.parts[1:-1], f"test_{path.name}")
    return ((str(own),), *sets) if own.exists() else sets


def _report(results: Sequence[Result], areas: Sequence[str]) -> None:
    surviving = [result for result in results if not result.killed]
    survivors = "\n\n".join(f"{result.place}\n{result.change}" for result in surviving)
    (WORK / "survivors.txt").write_text(f"{survivors}\n", encoding="utf-8")
    click.echo(f"\n{survivors}\n\n{TABLE_HEAD}")
    for area in (*areas, "all"):
        click.echo(_row(area, [result for result in results if area in {result.area, "all"}]))


def _row(area: str, results: Sequence[Result]) -> str:
    """Return the area's row in the table of docs/internals/mutation.md."""
    cells = [area if area == "all" else f"`{area}`"]
    for part in (True, False):
        own = [result for result in results if result.in_function is part]
        killed = sum(result.killed for result in own)
        cells += [f"{len(own):,}", f"{killed:,}", _percent(own)]
    return f"| {' | '.join([*cells, _percent(results)])} |"


def _percent(results: Sequence[Result]) -> str:
    return f"{_score(results):.1f} %" if results else "-"


def _score(results: Sequence[Result]) -> float:
    return 100 * sum(result.killed for result in results) / len(results)


if __name__ == "__main__":
    main()
