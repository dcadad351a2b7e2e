"""`recipient-fields convert`."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
from attrs import evolve, frozen

from recipient_fields.application import Target
from recipient_fields.application.content.conversions import (
    merge_used,
    render_conversion,
    render_used_fields,
)
from recipient_fields.application.documents.violations import render_violation
from recipient_fields.application.wording import counted, other_places
from recipient_fields.domain import IntegrationId, InvalidInput, Rule, Violation
from recipient_fields.domain.content import Surface
from recipient_fields.domain.esp import PORTABLE, Bare, Esp, recognize_dialects
from recipient_fields.domain.integrations import (
    Conversion,
    ConversionOptions,
    ConvertedTag,
    FieldCodes,
    Outcome,
    convert,
)
from recipient_fields.domain.suggestions import closest_match, did_you_mean

from ..service.selection import installed_profiles
from .commands import Command
from .options import flag, json_option_with, option, path_option
from .output import (
    OutputFiles,
    Progress,
    complete_outputs,
    is_json,
    note,
    one_line,
    print_bytes,
    print_json,
    unwritable,
)
from .repository.files import (
    STANDARD_INPUT,
    SUFFIXES,
    Unreadable,
    judge_files,
    note_left_out,
    read_marked_text,
    split_files,
    walk,
)
from .repository.options import include_option
from .targets import open_for_organization, optional_organization_option
from .typed_options import IDENTIFIER, EspName, OneOf
from .violations import (
    FINDINGS,
    note_violations,
    note_warnings,
    reporting_violations,
    with_dashes,
)

if TYPE_CHECKING:
    from .fields.files import FileViolation

_INPUT = "<stdin>"
_WRITE_NAMES = " Use --write-names FILE for those that they have."
_SHOWN_NAMES = 10
_SHOWN = 60
"""The characters of a tag in a line of the report."""
_TITLES = {
    Outcome.CONVERTED: "converted",
    Outcome.CAVEAT: "with a caveat",
    Outcome.DROPPED: "dropped",
    Outcome.BY_HAND: "by hand",
    Outcome.CONSEQUENCE: "in blocks by hand",
}


@frozen
class _Template:
    """A template: its file, or the hyphen of standard input, and its place in the results."""

    file: str
    target: Path

    @property
    def name(self) -> str:
        return _INPUT if self.file == STANDARD_INPUT else self.file

    def read(self) -> tuple[bytes, str]:
        """Return the byte order mark, if there is one, and the text. Raises: InvalidInput."""
        try:
            return read_marked_text(self.file)
        except Unreadable as error:
            raise InvalidInput([Violation(Rule.INVALID_CHARACTERS, error.message)]) from None


@frozen
class _TextFile:
    """A file of names or values. It is read once, because it can be a pipe."""

    name: str
    content: bytes

    @classmethod
    def read(cls, name: str | None) -> _TextFile | None:
        return None if name is None else cls(name, Path(name).read_bytes())

    def at_line(self, violation: FileViolation) -> click.ClickException:
        """Return the error of a violation, with its line in this file."""
        place = f"{violation.place.line}:{violation.place.column}"
        return click.ClickException(f"{one_line(self.name)}:{place}: {one_line(violation.message)}")


class Language(EspName):
    """The name of an ESP whose profile is installed, the id of an integration, or `portable`.

    `portable` is not the language of a source.
    """

    name = "language"

    def __init__(self, *, is_source: bool = False) -> None:
        self._is_source = is_source

    def convert(  # type: ignore[override]
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> Target | str:
        """Return the name or the id. Another text is a usage error."""
        if value.isdecimal():
            return IntegrationId(IDENTIFIER.convert(value, param, ctx))
        is_portable = value == PORTABLE and not self._is_source
        return value if is_portable else super().convert(value, param, ctx)


@click.command("convert", cls=Command)
@option(
    "--from",
    "source",
    type=Language(is_source=True),
    metavar="ESP",
    help="The ESP of the templates, as `esp list` calls it, or the id of an integration of"
    " --organization. Required.",
)
@option(
    "--to",
    "target",
    required=True,
    type=Language(),
    metavar="ESP",
    help="The ESP to write for, the id of an integration of --organization, or `portable`, for"
    " content that each ESP's code is written from.",
)
@optional_organization_option
@option(
    "--out",
    type=click.Path(file_okay=False),
    metavar="FOLDER",
    help="Write the results to this folder, with the names and the tree of the templates.",
)
@include_option
@option(
    "--surface",
    type=OneOf(Surface),
    help="Where an email shows the templates. By default, a text with an HTML tag is html.",
)
@path_option(
    "--names",
    exists=True,
    text="A YAML file with the keys of the names at the source, such as `TIER: loyalty_tier`."
    " A variable of AMPscript that it names is this field, if its value would stay by hand.",
)
@path_option(
    "--write-names",
    text="Write the names that were used to this file, to be corrected for --names.",
)
@path_option(
    "--values",
    exists=True,
    text="A YAML file with a text, or one tag of the other ESP, for each value that it lacks, such"
    " as `sender.name: Acme`.",
)
@path_option(
    "--write-fields",
    text="Write a document of the fields that the templates use, for `plan` and `apply`.",
)
@flag(
    "--with-values",
    text="In the document of fields, allow only the values that the templates compare with.",
)
@option(
    "--sent-by",
    metavar="WAY",
    help="How the other ESP sends the message, if the templates have event data, such as"
    " `canvas_entry_properties` for Braze. By default, the usual way.",
)
@option(
    "--sent-by-source",
    metavar="WAY",
    help="How the ESP of the templates sends them, if they read event data in several ways.",
)
@option(
    "--bare",
    type=OneOf(Bare),
    help="How to read a name that can be a field or event data. By default, it stays by hand.",
)
@flag(
    "--exact",
    text="Leave a test of a value by hand if no code is right for each type that it can have. By"
    " default, the test is converted with a caveat.",
)
@flag("--strict", text="Write nothing if a tag is by hand or has a caveat.")
@json_option_with("Print the results and all tags as JSON.")
@click.argument(
    "templates", nargs=-1, type=click.Path(exists=True, allow_dash=True), metavar="[TEMPLATE]..."
)
def convert_command(
    source: Target | None,
    target: Target | str,
    organization: str | None,
    out: str | None,
    include: tuple[str, ...],
    surface: Surface | None,
    names: str | None,
    write_names: str | None,
    values: str | None,
    write_fields: str | None,
    sent_by: str | None,
    sent_by_source: str | None,
    bare: Bare | None,
    templates: tuple[str, ...],
    *,
    with_values: bool,
    exact: bool,
    strict: bool,
) -> None:
    """Convert templates of one ESP for another one, or to portable content.

    TEMPLATE is a UTF-8 file, or a folder, whose `*.html`, `*.htm`, `*.txt` and `*.mjml` files are
    converted; by default standard input. The result is printed, or written to --out, which a folder
    and several templates require. The report is on standard error. Tags that are by hand stay as
    they are, and blocks are marked with `[BY HAND: line N]` and `[END BY HAND]`. The exit status
    is 3 if there are any, and otherwise 0. It is 1 if a template can't be converted: this one is
    reported, and the others are converted.

    Text that neither ESP reads, such as code of a third one, has a warning. It changes no status.

    Between Braze, Customer.io and OneSignal, filters, variables and loops that content lacks are
    copied. Comments without tags stay if the other ESP has the same, except those of Handlebars.

    With --organization, the names are those of its fields at both integrations. Otherwise the
    command reads no storage.
    """
    found, left_out = _find_templates(templates or (STANDARD_INPUT,), out, include)
    is_alone = len(templates) <= 1 and not any(Path(each).is_dir() for each in templates)
    if out is None and not is_json() and not is_alone:
        raise click.UsageError("Add --out FOLDER for a folder, or for several templates.")
    if source is None:
        raise _propose(found)
    files_of_texts = {"names": _TextFile.read(names), "values": _TextFile.read(values)}
    naming_lines = partial(_naming_lines, files_of_texts)
    with reporting_violations("Nothing was converted.", as_json=is_json()), naming_lines():
        options = ConversionOptions(
            names=_parse_texts(files_of_texts["names"]),
            values=_parse_texts(files_of_texts["values"]),
            surface=surface,
            exact=exact,
            sent_by=sent_by,
            sent_by_source=sent_by_source,
            bare=bare,
        )
        codes = _read_codes(organization, {source, target})
    profiles = installed_profiles()
    convert_template = partial(
        convert, read=source, write=target, options=options, codes=codes, profiles=profiles
    )
    conversions: list[tuple[_Template, bytes, Conversion]] = []
    failed: list[Mapping[str, object]] = []
    progress = Progress()
    for number, template in enumerate(found, start=1):
        try:
            mark, text = template.read()
            with naming_lines():
                conversions.append((template, mark, convert_template(text)))
        except InvalidInput as invalid:
            note_violations(invalid, file=None if template.name == _INPUT else template.name)
            violations = [render_violation(each) for each in invalid.violations]
            failed.append({"name": template.name, "violations": violations})
        progress.note(f"{number:,} of {counted(len(found), 'template')}")
    if is_json():
        documents = (render_conversion(each, name=e.name) for e, _, each in conversions)
        print_json([*documents, *failed])
    else:
        for template, _, each in conversions:
            _report(template, each, alone=is_alone)
    note_left_out(left_out)
    if not conversions:
        raise click.ClickException("Nothing was converted.")
    results = [converted for _, _, converted in conversions]
    if names is not None:
        _report_unused_names(names, results)
    outcomes = {tag.outcome for each in results for tag in each.tags}
    if strict and (failed or outcomes & {Outcome.BY_HAND, Outcome.CAVEAT}):
        raise click.ClickException("Nothing was written, because of --strict.")
    with complete_outputs(Path(each.file) for each in found if each.name != _INPUT) as files:
        if out is not None:
            _write_folder(files, Path(out), conversions)
        integration = _describe_source(source, codes)
        _write_documents(
            files, integration, results, write_names, write_fields, with_values=with_values
        )
    if out is None and not is_json():
        ((_, mark, converted),) = conversions
        print_bytes(mark + converted.content.encode())
    if failed:
        raise click.ClickException(f"Not converted: {len(failed)} of {len(found):,} templates.")
    if Outcome.BY_HAND in outcomes:
        click.get_current_context().exit(FINDINGS)


def _find_templates(
    names: Sequence[str], out: str | None, include: Sequence[str]
) -> tuple[Sequence[_Template], Sequence[str]]:
    """Return the templates of the arguments, and the other files in folders."""
    # Unlike `resolve`, this raises nothing for a link in a circle.
    results = None if out is None else Path(os.path.realpath(out))
    paths = [*names] if out is None else [*names, out]
    listed = [each for name in names for each in _list_templates(name, results, include, paths)]
    found = [template for template, has_content in listed if has_content]
    ((target, count),) = Counter(each.target for each in found).most_common(1)
    if count > 1:
        name = one_line(str(target))
        raise click.UsageError(f"Two templates have the name {name}. Convert them in two calls.")
    return found, split_files((each.file, has_content) for each, has_content in listed)[1]


def _list_templates(
    name: str, results: Path | None, include: Sequence[str], paths: Sequence[str]
) -> Iterator[tuple[_Template, bool]]:
    """Yield the files of an argument, with their places in the results, and which have content.

    What an earlier call has written below a folder of templates is none of them, and neither is
    what folders like `.git` contain.
    """
    path = Path(name)
    if name == STANDARD_INPUT:
        yield _Template(name, Path("stdin.html")), True
    elif path.is_dir():
        is_below = results is not None and path.resolve() in results.parents
        files = (
            str(path / each)
            for each in sorted(walk(name))
            if not any(part.startswith(".") for part in Path(each).parts[:-1])
            and (not is_below or results not in Path(os.path.realpath(path / each)).parents)
        )
        found = [
            (_Template(file, Path(os.path.relpath(file, name))), has_content)
            for file, has_content in judge_files(files, name, include, paths)
        ]
        if not any(has_content for _, has_content in found):
            raise click.UsageError(
                f"There are no templates in {one_line(name)}: {', '.join(SUFFIXES)}. Add"
                " --include PATTERN for files with other names."
            )
        yield from found
    else:
        yield _Template(name, Path(path.name)), True


def _read_codes(organization: str | None, targets: Collection[Target | str]) -> FieldCodes | None:
    """Return the names and codes of the fields of the organization, if there is one."""
    if organization is not None:
        with open_for_organization(organization) as (core, chosen):
            return core.content.read_codes(chosen.id)
    if any(isinstance(each, int) for each in targets):
        raise click.UsageError("The id of an integration requires --organization.")
    return None


def _propose(templates: Sequence[_Template]) -> click.UsageError:
    """Return the error that --from is missing, with the ESPs whose templates these can be."""
    profiles, found = installed_profiles(), dict[str, None]()
    for each in templates:
        with suppress(InvalidInput):
            found.update(dict.fromkeys(recognize_dialects(each.read()[1], profiles)))
    likely = ", ".join(f"--from {each}" for each in found)
    hint = f" The templates can be those of {likely}." if likely else ""
    return click.UsageError(f"Missing option '--from'.{hint}")


def _parse_texts(file: _TextFile | None) -> Mapping[str, str]:
    if file is None:
        return {}
    # Imported here because most conversions read no such file.
    from .fields.files import InvalidFile, parse_texts

    try:
        return parse_texts(file.content)
    except InvalidFile as error:
        raise file.at_line(error.violations[0]) from None


@contextmanager
def _naming_lines(files: Mapping[str, _TextFile | None]) -> Iterator[None]:
    """Report a violation of an option that is in a file with its line. Other ones are raised."""
    try:
        yield
    except InvalidInput as invalid:
        option, *path = invalid.violations[0].path or ("",)
        file = files.get(str(option))
        if file is None:
            raise
        from .fields.files import locate_violation

        violation = evolve(invalid.violations[0], path=tuple(path))
        raise file.at_line(locate_violation(file.content, violation)) from None


def _report_unused_names(file: str, conversions: Sequence[Conversion]) -> None:
    """Warn of the names in the file that no template has, such as misspelled ones."""
    first, *others = conversions
    in_none = set(first.unused_names).intersection(*(each.unused_names for each in others))
    unused = [name for name in first.unused_names if name in in_none]
    known = {name for each in conversions for name in each.names}
    for name in unused[:_SHOWN_NAMES]:
        advice = did_you_mean(closest_match(name, known)) or _WRITE_NAMES
        note(one_line(f"Warning: {file}: No template has the name `{name}`.{advice}"))
    if len(unused) > _SHOWN_NAMES:
        note(f"    {counted(len(unused) - _SHOWN_NAMES, 'more name')} in this file are unused.")


def _report(template: _Template, conversion: Conversion, *, alone: bool) -> None:
    """Print one line for the template, and one for each tag or caveat."""
    name = one_line(template.name)
    prefix = "" if alone else f"{name}:"
    for tag in _tags_with(conversion, Outcome.BY_HAND):
        note(f"{prefix}{_describe(tag, 'By hand', ' '.join(tag.reasons))}")
    caveats: dict[str, list[ConvertedTag]] = {}
    for tag in _tags_with(conversion, Outcome.CAVEAT):
        for reason in tag.reasons:
            caveats.setdefault(reason, []).append(tag)
    for reason, (first, *others) in caveats.items():
        note(f"{prefix}{_describe(first, 'Caveat', reason)}")
        if others:
            note(f"    {other_places([each.position for each in others])}")
    for tag in _tags_with(conversion, Outcome.DROPPED):
        note(f"{prefix}{_describe(tag, 'Dropped')}")
    note_warnings(conversion.warnings)
    counted_tags = (
        f"{count:,} {_TITLES[outcome]}" for outcome, count in conversion.counts.items() if count
    )
    note(f"{name}: {', '.join(counted_tags) or 'no tags'}")


def _tags_with(conversion: Conversion, outcome: Outcome) -> Iterator[ConvertedTag]:
    return (tag for tag in conversion.tags if tag.outcome is outcome)


def _describe(tag: ConvertedTag, kind: str, reason: str = "") -> str:
    """Return a line about a tag, as compilers write it."""
    shown = one_line(tag.text if len(tag.text) <= _SHOWN else f"{tag.text[:_SHOWN]}…")
    place = f"{tag.position.line}:{tag.position.column}"
    return f"{place}: {kind}: {shown} {with_dashes(reason)}".rstrip()


def _write_folder(
    files: OutputFiles, folder: Path, conversions: Sequence[tuple[_Template, bytes, Conversion]]
) -> None:
    for template, mark, converted in conversions:
        path = folder / template.target
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(str(path), error.strerror) from error
        files.open(str(path)).write(mark + converted.content.encode())


def _describe_source(source: Target, codes: FieldCodes | None) -> Mapping[str, str]:
    """Return the integration of the source, as a document of fields names it."""
    if codes is not None:
        target = codes.names.resolve_target(source)
        if not isinstance(target, str):
            integration = codes.names.integrations[target]
            return {"name": integration.name, "esp": str(integration.esp)}
    profile = installed_profiles()[Esp(str(source))]
    return {"name": profile.title, "esp": str(profile.esp)}


def _write_documents(
    files: OutputFiles,
    integration: Mapping[str, str],
    conversions: Sequence[Conversion],
    names: str | None,
    fields: str | None,
    *,
    with_values: bool,
) -> None:
    """Write the names that were used, and the document of the fields."""
    if names is None and fields is None:
        return
    # Imported here because most conversions write no such file.
    from .fields.files import render_yaml

    if names is not None:
        used = {name: key for each in conversions for name, key in each.names.items()}
        files.open(names).write(render_yaml(used).encode())
    if fields is not None:
        document = render_used_fields(conversions, integration, with_values=with_values)
        comments = [] if with_values else [*_comments(conversions)]
        files.open(fields).write("".join((*comments, render_yaml(document))).encode())


def _comments(conversions: Sequence[Conversion]) -> Iterator[str]:
    """Yield comments with the values that the templates compare with."""
    for each in merge_used(conversions):
        if each.values:
            values = ", ".join(one_line(str(value)) for value in each.values)
            yield f"# {each.key} is compared with: {values}\n"
