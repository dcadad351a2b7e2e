"""`recipient-fields check`: the documents and the content of a repository."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Unpack

import click

from .commands import Command
from .repository.checking import ContentOptions, FieldSource, FileChecker
from .repository.commands import (
    ReportOptions,
    check_files,
    report_findings,
    report_options,
    strictness,
)
from .repository.configuration import CONFIGURATION, Configuration, Configurations
from .repository.files import SET_MEMBER, is_folder, judge_files, list_files, split_files
from .repository.findings import Finding
from .repository.options import paths_argument


@click.command("check", cls=Command)
@paths_argument
@report_options
@click.pass_context
def check_repository(
    ctx: click.Context, paths: Sequence[str], **report: Unpack[ReportOptions]
) -> None:
    """Check the documents of fields and the content that `recipient-fields.toml` names.

    Without PATH, the command checks what the files with this name say: the nearest one at or above
    the current folder, and those below. With PATH, it checks only these files and folders, or
    everything that a configuration names if PATH is this file, its snapshot or one of its
    documents.

    The exit status is 3 if there are errors. Notes are errors with --strict only.
    """
    checker = FileChecker(FieldSource(), ContentOptions(strict=strictness(report)))
    configurations = _find_configurations(checker.configurations)
    if not configurations:
        raise click.ClickException(f"There is no {CONFIGURATION} here, above or below. Write one.")
    named = [file for each in paths for file in (list_files(each) if is_folder(each) else [each])]
    whole = [each for each in configurations if not paths or _is_source(each, named)]
    judged = [pair for each in whole for pair in _files_of(each, checker)]
    for path in named:
        nearest = checker.configurations.find(path)
        if nearest is not None and nearest.has_content(path):
            file, include = os.path.normpath(path), nearest.settings.include
            judged += judge_files([file], nearest.folder, include, [path])
    files, left_out = split_files(judged)
    documents = dict.fromkeys(document for each in whole for document in each.documents)
    findings = [finding for each in documents for finding in _check_document(each)]
    findings += check_files(checker, files)
    checked = [*documents, *files]
    report_findings(ctx, checker, findings, checked, left_out, report, SET_MEMBER)


def _find_configurations(configurations: Configurations) -> list[Configuration]:
    """Return the nearest configuration at or above the current folder, and those below."""
    below = [each for each in list_files(".") if Path(each).name == CONFIGURATION]
    found = (configurations.find(each) for each in (CONFIGURATION, *below))
    return list({each.folder: each for each in found if each is not None}.values())


def _is_source(configuration: Configuration, paths: Iterable[str]) -> bool:
    """Return whether one of the paths can change the findings in all files."""
    names = (configuration.name, configuration.snapshot, *configuration.documents)
    sources = {os.path.realpath(each) for each in names if each is not None}
    return any(os.path.realpath(path) in sources for path in paths)


def _files_of(configuration: Configuration, checker: FileChecker) -> Iterator[tuple[str, bool]]:
    """Yield the files to which the configuration applies, and whether each has content.

    Those without content are left out unless it names their folders: a whole repository has many.
    """
    content = configuration.settings.content
    for file, has_content in checker.find_files([*map(configuration.path, content)]):
        nearest = checker.configurations.find(file)
        is_its_own = nearest is not None and nearest.folder == configuration.folder
        if is_its_own and (has_content or content != (".",)):
            yield file, has_content


def _check_document(path: str) -> Iterator[Finding]:
    """Yield what is wrong in a document of fields."""
    # Imported here because only documents need PyYAML.
    from .fields.files import InvalidFile, parse_file

    try:
        parse_file(Path(path).read_bytes())
    except OSError as error:
        message = f"Can't read the file: {error.strerror}."
        yield Finding(file=path, code="unreadable", message=message)
    except InvalidFile as invalid:
        for each in invalid.violations:
            yield Finding(
                file=path,
                line=each.place.line,
                column=each.place.column,
                code="invalid_document",
                message=each.message,
            )
