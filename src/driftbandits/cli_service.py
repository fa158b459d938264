"""The commands of the decision service: serve, init, check and key.

They import everything except click when they run, so that other commands work without the service.
"""

from __future__ import annotations

import logging
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from .service.settings import Settings

_FILE = click.Path(dir_okay=False, path_type=Path)
_EXISTING = click.Path(exists=True, dir_okay=False, path_type=Path)
_WRONG_INPUT = 2
CONTEXT: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class _WrongSettings(click.ClickException):
    exit_code = _WRONG_INPUT


@contextmanager
def _service() -> Iterator[None]:
    """Print errors in one line instead of a traceback."""
    try:
        from .service.errors import JournalError, ServiceError
        from .service.settings import SettingsError
    except ModuleNotFoundError as error:
        raise click.ClickException(
            f"the service needs {error.name}; "
            "install the extra: pip install 'driftbandits[service]'"
        ) from None
    try:
        yield
    except SettingsError as error:
        raise _WrongSettings(str(error)) from None
    except ServiceError as error:
        raise _WrongSettings(error.detail) from None
    except JournalError as error:
        raise click.ClickException(f"journal: {error}") from None
    except OSError as error:
        raise click.ClickException(str(error)) from None


@click.command(context_settings=CONTEXT)
@click.argument("config", type=_EXISTING, required=False)
@click.option(
    "--listen", metavar="HOST:PORT", help="Address to listen on, instead of the one in CONFIG."
)
@click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the journal, instead of the one in CONFIG.",
)
def serve(config: Path | None, listen: str | None, data: Path | None) -> None:
    """Run the decision service with the settings in CONFIG.

    Without CONFIG it runs a demo policy for this machine only, and prints commands to try in
    another terminal. On SIGTERM or Ctrl-C it finishes the running requests and ends.

    \b
    Examples:
      driftbandits serve
      driftbandits serve service.toml --listen 127.0.0.1:9000 --data /var/lib/driftbandits
    """
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    with _service():
        from .service.running import start

        settings = _settings(config, listen, data)
        server, address = start(settings)
        server.run(ready=lambda: _greet(settings, str(address), to_try=config is None))


def serve_alone() -> None:
    """Run `driftbandits serve` without loading the other commands."""
    serve(sys.argv[2:], prog_name="driftbandits serve")


def _settings(config: Path | None, listen: str | None, data: Path | None) -> Settings:
    from .service.settings import SettingsError, demo, parse_address, read_settings

    settings = demo() if config is None else read_settings(config)
    if listen is not None:
        settings = settings._replace(listen=parse_address("--listen", listen))
    if data is not None:
        settings = settings._replace(storage=settings.storage._replace(folder=data))
    try:
        settings.check()
    except ValueError as error:
        raise SettingsError(str(error)) from None
    return settings


def _greet(settings: Settings, address: str, *, to_try: bool) -> None:
    click.echo(f"serving on http://{address}, journal in {settings.storage.folder}")
    if not to_try:
        return
    event = f"try-{secrets.token_hex(3)}"
    json = "-H 'Content-Type: application/json'"
    offered = '[{"id": "tea", "features": {"hot": 1}}, {"id": "ice", "features": {"hot": 0}}]'
    asked = f'{{"event_id": "{event}", "context": {{"weather": "sunny"}}, "actions": {offered}}}'
    root = f"http://{address}/v1"
    click.echo(
        "\ntry it from another terminal: decide, reward, look\n\n"
        f"curl {root}/policies/demo/decisions {json} -d '{asked}'\n"
        f"curl {root}/decisions/{event}/reward {json} -d '{{\"reward\": 1}}'\n"
        f"curl {root}/policies/demo/diagnostics\n"
    )


@click.command()
@click.argument("file", type=_FILE, default=Path("driftbandits.toml"))
@click.option("--force", is_flag=True, help="Replace an existing file.")
def init(file: Path, force: bool) -> None:
    """Write example settings with comments to FILE (driftbandits.toml).

    \b
    Examples:
      driftbandits init
      driftbandits init service.toml
    """
    with _service():
        from .service.settings import EXAMPLE, SettingsError

        if file.exists() and not force:
            raise SettingsError(f"{file} already exists; --force replaces it")
        file.write_text(EXAMPLE, encoding="utf-8")
    click.echo(f"written: {file}\nnext: driftbandits check {file}; driftbandits serve {file}")


@click.command()
@click.argument("file", type=_EXISTING, default=Path("driftbandits.toml"))
def check(file: Path) -> None:
    """Check the settings of a service in FILE (driftbandits.toml) without starting it.

    \b
    Examples:
      driftbandits check
      driftbandits check service.toml
    """
    with _service():
        from .service.settings import read_settings

        settings = read_settings(file)
    click.echo(
        f"{file}: correct. Listens on {settings.listen}, journal in {settings.storage.folder}"
    )
    for name, policy in settings.policies.items():
        click.echo(f"policy {name}: {policy.learner}, {policy.mode}, waits {policy.wait:g} s")
    for key in settings.keys:
        click.echo(f"key {key.name}: {key.role}" + (f" of {key.policy}" if key.policy else ""))


@click.command()
@click.option(
    "--name", default="website", show_default=True, help="Name of the key in the settings."
)
@click.option(
    "--role", type=click.Choice(["reader", "writer", "admin"]), default="writer", show_default=True
)
@click.option("--policy", help="Policy for calls of the Personalizer API with this key.")
@click.option("--existing", is_flag=True, help="Ask for a key that you already have.")
def key(name: str, role: str, policy: str | None, existing: bool) -> None:
    """Make a key, and print it with its lines for the settings. The key itself is not stored.

    \b
    Examples:
      driftbandits key --name website --role writer
      driftbandits key --name old-client --policy news --existing
    """
    with _service():
        from .service.http.keys import hashed, new_key

        made = click.prompt("key", hide_input=True) if existing else new_key()
        try:
            digest = hashed(made)
        except ValueError as error:
            raise _WrongSettings(str(error)) from None
    if not existing:
        click.echo(f"key, shown only now: {made}", err=True)
    lines = ["[[keys]]", f'name = "{name}"', f'role = "{role}"', f'hash = "{digest}"']
    click.echo("\n".join(lines + ([f'policy = "{policy}"'] if policy else [])))


SERVICE_COMMANDS = (serve, init, check, key)
