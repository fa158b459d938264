"""``driftbandits log report``: all answers on one page."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from .cli_log_options import LEARN, PERIOD, POLICY, SHARE, SIMULATIONS, open_log, reading
from .cli_log_output import bar, part
from .cli_log_values import Terms, values
from .logs import CannotAnswer
from .logs.answers import Answers
from .logs.candidates import Candidate, is_fixed
from .logs.targets import stamp


@click.command()
@reading
@POLICY
@PERIOD
@LEARN
@SHARE
@SIMULATIONS
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("log-report.html"),
    show_default=True,
    help="File for the page. An interrupted command continues.",
)
def report(
    policies: tuple[str, ...],
    period: str,
    learn: str,
    share: float | None,
    simulations: int,
    out: Path,
    **options: Any,
) -> None:
    """One page with all answers: health, drift, memory, values, and unanswered questions."""
    names, terms = policies or ("uniform",), Terms(period, learn, share)
    for name in names:
        if not is_fixed(name):
            Candidate.parse(name)  # refuses a wrong name now, not after an hour
    log, refused = open_log(options), list[str]()

    def keep(name: str) -> Path | None:
        return part(out.parent, f"{out.name}.{name}")

    settings = f"report {[stamp(name) for name in names]} {terms} {simulations}"
    with Answers(keep("answers"), log, settings) as answers:

        def asked(words: str, question: Callable[[], Any]) -> Any:
            found, why = answers.ask(words, partial(_answer, question))
            if why is not None:
                refused.append(f"{words}: {why}")
            return found

        def barred(words: str, question: Callable[..., Any], **settings: Any) -> Any:
            def ask() -> Any:
                with bar(words) as progress:
                    return question(resume=keep(words), progress=progress, **settings)

            return asked(words, ask)

        health = barred("checking", log.check, period=period)
        drifting = barred("drift", log.drift, simulations=simulations)
        # If payoffs drift, the drift answer contains the memory answer.
        remembered = drifting.remembered if drifting is not None else None
        remembered = remembered or barred("memory", log.memory)
        found = list[Any]()
        # Fixed and learning policies apart: one kind may have values when the other has none.
        for kind in (tuple(n for n in names if is_fixed(n) is fixed) for fixed in (True, False)):
            if kind:
                question = partial(values, log, kind, terms, answers, keep)
                found += asked(f"values of {', '.join(kind)}", question) or []
        title = f"Log {options['file'].name}"
        from .figures.log_report import LogReport, write_log_report

        page = LogReport(title, health, drifting, remembered, found, refused)
        click.echo(f"report: {write_log_report(page, out)}")


def _answer(question: Callable[[], Any]) -> tuple[Any, str | None]:
    """An answer, or why there is none."""
    try:
        return question(), None
    except CannotAnswer as error:
        return None, str(error)
