"""``torntail init``: writes a backend that runs and is not finished, its registration, and a CI file.

The skeleton stores real files, starts under the kit, keeps a good part of the contract and breaks the rest in the
open, with the clause ids standing where the code is missing: the first run shows red lines to mend. Nothing that exists
is overwritten.
"""

from __future__ import annotations

import keyword
import re
from pathlib import Path

import click
import jinja2

from conformance import __version__
from conformance.configuration import read_configuration
from conformance.drivers.errors import UsageError

_FILES = {
    "{module}.py": "backend.py.jinja",
    "pyproject.toml": "pyproject.toml.jinja",
    ".github/workflows/conformance.yml": "ci.yml.jinja",
}


@click.command("init", short_help="Write a backend to start from.")
@click.argument("directory", default=".", type=click.Path(file_okay=False, path_type=Path))
@click.option("--name", default="mine", show_default=True, help="The backend's name, as reports will call it.")
def command(directory: Path, name: str) -> None:
    """Write a backend skeleton, its registration and a CI file into DIRECTORY.

    The skeleton starts and breaks some clauses, so that there is something to mend. No file is overwritten; where a
    pyproject.toml is there already, the lines to add are printed instead.
    """
    module = _module_name(name)
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("conformance.cli", "templates"),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        autoescape=False,
    )
    texts = {
        directory / path.format(module=module): environment.get_template(template).render(
            name=name, module=module, version=__version__
        )
        for path, template in _FILES.items()
    }
    project = directory / "pyproject.toml"
    to_add = texts.pop(project) if project.exists() else ""
    if to_add:
        # A broken file is told now, before anything is written beside it.
        read_configuration(directory)
    _refuse_to_overwrite(tuple(texts))
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        click.echo(f"wrote {path}")
    if to_add:
        click.echo(f"\n{project} is left as it is; add to it:\n\n{_fragment(to_add)}")
    where = "" if directory == Path(".") else f"cd {directory} && "
    click.echo(f"\nNext:\n  {where}torntail run {module}.py:backend --profile smoke")


def _module_name(name: str) -> str:
    module = name.replace("-", "_").replace(".", "_")
    if not re.fullmatch(r"[A-Za-z0-9._-]+", name) or not module.isidentifier() or keyword.iskeyword(module):
        raise UsageError(f"name={name!r}: expected letters, digits, '-', '_' and '.', beginning with a letter")
    if module in {"conformance", "reference_backend", "strategies"}:
        raise UsageError(f"name={name!r} would hide the kit's own package of that name; choose another")
    return module


def _refuse_to_overwrite(paths: tuple[Path, ...]) -> None:
    there = [str(path) for path in paths if path.exists()]
    if there:
        raise UsageError(f"already there and left alone, nothing was written: {', '.join(there)}")


def _fragment(text: str) -> str:
    """The tables of the template that concern Torntail, without the project's own."""
    return text[text.index("[project.entry-points") :].rstrip()
