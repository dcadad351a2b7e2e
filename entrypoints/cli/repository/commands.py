"""The commands that read the files of a repository."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TypedDict, Unpack

import click

from recipient_fields.application import system_clock
from recipient_fields.application.esp.snapshots import FieldSnapshot, render_snapshot
from recipient_fields.application.wording import counted
from recipient_fields.domain.content import Strict
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations.text_checks import FieldUse
from recipient_fields.domain.suggestions import closest_match, did_you_mean

from ..code_options import chosen_strictness, strict_options
from ..commands import Command
from ..options import F, flag, json_option, option, path_option, repeatable, selects_service
from ..output import (
    Progress,
    complete_outputs,
    is_json,
    note,
    one_line,
    print_json,
    print_line,
    print_table,
)
from ..targets import open_target, optional_target_options, target_options
from ..violations import FINDINGS
from .checking import ContentOptions, FieldSource, FileChecker
from .files import ADD_OPTION, STANDARD_INPUT, SUFFIXES, Unreadable, note_left_out, split_files
from .findings import Baseline, Finding, print_findings
from .options import file_options, literal_option, paths_argument, snapshot_option


class ReportOptions(TypedDict):
    """How a check reports its findings."""

    allow_mistakes: bool
    strict: bool
    baseline: str | None
    write_baseline: str | None
    output_format: str


def report_options(command: F) -> F:
    """Add the options of `ReportOptions`."""
    baseline = path_option(
        "--baseline", text="Count the findings in this file, and do not report them."
    )
    write_baseline = path_option(
        "--write-baseline",
        text="Write the findings to this file, in place of earlier ones of the same files, and exit"
        " with 0.",
    )
    output_format = option(
        "--format",
        "output_format",
        type=click.Choice(["text", "github"]),
        default="text",
        help="With github, also print each finding as a workflow command of GitHub Actions.",
    )
    return strict_options(baseline(write_baseline(output_format(json_option(command)))))


@click.command(cls=Command)
@paths_argument
@optional_target_options
@snapshot_option
@file_options
@literal_option
@report_options
@click.pass_context
def check(
    ctx: click.Context,
    paths: Sequence[str],
    organization: str | None,
    url: str | None,
    snapshot: str | None,
    esp: Esp | None,
    native: Sequence[tuple[str, Esp]],
    include: Sequence[str],
    literals: Sequence[str],
    **report: Unpack[ReportOptions],
) -> None:
    """Check files and folders with content, or with code of an ESP.

    Without PATH, the command reads standard input. In folders, it reads the files that Git tracks,
    or all outside of a repository: `*.html`, `*.htm`, `*.txt` and `*.mjml`. They contain portable
    content, unless --esp, --native or the nearest `recipient-fields.toml` says otherwise.

    The exit status is 3 if there are errors. Notes are errors with --strict only.
    """
    options = ContentOptions(
        esp=esp, native=native, include=include, literals=literals, strict=strictness(report)
    )
    checker = FileChecker(_source(organization, url, snapshot), options)
    files, left_out = split_files(checker.find_files(paths or [STANDARD_INPUT]))
    report_findings(ctx, checker, check_files(checker, files), files, left_out, report)


def check_files(checker: FileChecker, files: Iterable[str]) -> Iterator[Finding]:
    """Yield what is wrong in the files."""
    progress = Progress()
    for count, file in enumerate(files, start=1):
        yield from checker.check(file)
        progress.note(f"Checked {counted(count, 'file')} so far.")


def report_findings(
    ctx: click.Context,
    checker: FileChecker,
    findings: Iterable[Finding],
    files: Sequence[str],
    left_out: Sequence[str],
    options: ReportOptions,
    advice: str = ADD_OPTION,
) -> None:
    """Print the findings that are not in a baseline, and exit with 3 if there is an error."""
    found = list(findings)
    target = options["write_baseline"]
    if target is not None:
        baseline = Baseline.read(target) if os.access(target, os.F_OK) else Baseline(target)
        baseline.write(found, files)
        note(one_line(f"Wrote {counted(len(found), 'finding')} to {target}."))
        return
    new = checker.without_known(found, options["baseline"])
    errors = sum(each.is_error for each in new)
    known = len(found) - len(new)
    event = sorted(checker.event)
    if is_json():
        counts = {"files": len(files), "left_out": left_out, "known": known}
        print_json({**counts, "findings": [*map(Finding.render, new)], "event": event})
    else:
        print_findings(new, for_github=options["output_format"] == "github")
    notes = counted(len(new) - errors, "note")
    if event:
        note(one_line(f"Event data: {', '.join(event)}."))
    rest = f" {counted(known, 'finding')} of the baseline left out." if known else ""
    note(f"Checked {counted(len(files), 'file')}: {counted(errors, 'error')}, {notes}.{rest}")
    note_left_out(left_out, advice)
    if not files:
        note(
            f"In folders, {', '.join(SUFFIXES)} files are read. In a repository, Git must track"
            " them: `git add` new ones."
        )
    ctx.exit(FINDINGS if errors else 0)


def strictness(report: ReportOptions) -> Strict:
    """Return which warnings the options reject."""
    return chosen_strictness(allow_mistakes=report["allow_mistakes"], strict=report["strict"])


def _source(organization: str | None, url: str | None, snapshot: str | None) -> FieldSource:
    """Return the source that the options select, or none."""
    if snapshot is not None:
        return FieldSource(snapshot=snapshot)
    if selects_service(click.get_current_context()):
        return FieldSource(url=url)
    return FieldSource(organization)


@click.command(cls=Command)
@paths_argument
@optional_target_options
@snapshot_option
@file_options
@repeatable("--key", "keys", metavar="KEY", text="List the uses of this field only.")
@flag("--unused", text="List the fields that no file uses.")
@json_option
@click.pass_context
def uses(
    ctx: click.Context,
    paths: Sequence[str],
    organization: str | None,
    url: str | None,
    snapshot: str | None,
    esp: Esp | None,
    native: Sequence[tuple[str, Esp]],
    include: Sequence[str],
    keys: Sequence[str],
    *,
    unused: bool,
) -> None:
    """List the files and lines that use each field.

    The files are those that `content check` reads at each PATH. A file that can't be read is
    reported, and the exit status is 3 then.
    """
    options = ContentOptions(esp=esp, native=native, include=include)
    checker = FileChecker(_source(organization, url, snapshot), options)
    found: dict[str, list[tuple[str, FieldUse]]] = {}
    is_complete = True
    files, left_out = split_files(checker.find_files(paths or [STANDARD_INPUT]))
    for file in files:
        try:
            for use in checker.find_uses(file):
                found.setdefault(use.key, []).append((file, use))
        except Unreadable as error:
            note(one_line(f"{file}: {error}"))
            is_complete = False
    known = _shown_keys(checker, paths or [STANDARD_INPUT])
    for key in keys:
        if key not in known | found.keys():
            hint = did_you_mean(closest_match(key, known))
            raise click.ClickException(one_line(f"There is no field with the key {key}.{hint}"))
    chosen = {*keys} or known | found.keys()
    listed = sorted(chosen - found.keys() if unused else chosen & found.keys())
    selected = {key: found.get(key, []) for key in listed}
    if is_json():
        print_json({"fields": [_render_uses(checker, *each) for each in selected.items()]})
    elif unused:
        for key in selected:
            print_line(key)
    else:
        print_table(("KEY", "FILE", "LINES"), list(_rows(selected)))
    note_left_out(left_out)
    ctx.exit(0 if is_complete else FINDINGS)


def _shown_keys(checker: FileChecker, paths: Iterable[str]) -> set[str]:
    """Return the keys of the fields, without those for which another field stands."""
    return {
        str(field.key)
        for names in map(checker.names_for, paths)
        for field in names.fields
        if names.definition_of(field) is None
    }


def _rows(found: Mapping[str, Sequence[tuple[str, FieldUse]]]) -> Iterator[tuple[str, str, str]]:
    for key, places in found.items():
        for file, group in groupby(places, key=itemgetter(0)):
            lines = dict.fromkeys(use.position.line for _, use in group)
            yield key, file, ", ".join(map(str, lines))


def _render_uses(
    checker: FileChecker, key: str, places: Iterable[tuple[str, FieldUse]]
) -> dict[str, object]:
    rendered = [
        {
            "file": file,
            "line": use.position.line,
            "column": use.position.column,
            "esp": None if use.esp_name is None else checker.esp_of(file),
            "esp_field_name": use.esp_name,
        }
        for file, use in places
    ]
    return {"key": key, "uses": rendered}


@click.command(cls=Command)
@target_options
@path_option("--out", required=True, text="The file, such as recipient-fields.lock.json.")
def snapshot(organization: str | None, url: str | None, out: str) -> None:
    """Write the fields of all sources and their names at each integration to a file.

    Commit the file: with it, `check` and `content check` need no storage and no network.
    """
    taken_at = system_clock()
    with open_target(organization, url) as target:
        names = target.read_names()
    with complete_outputs() as outputs:
        outputs.open(out).write(render_snapshot(FieldSnapshot(taken_at, names)))
    fields = counted(len(names.fields), "field")
    integrations = counted(len(names.integrations), "integration")
    note(one_line(f"Wrote {fields} and {integrations} to {out}."))
