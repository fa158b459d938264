"""The report's sections, as HTML: headings, captions, controls, and places for the pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape

from ..simulation.results import Result
from .bound import bounded
from .changes import change_points
from .coverage import KINDS, has_coverage, level
from .detections import has_detections, rates_in_words
from .estimates import has_plane, has_random_path
from .regret import has_regret
from .report_settings import command, settings, versions
from .report_tables import coverage_shares, detection_rates, final_regrets
from .style import title

Part = Callable[[str, Result], str]

# Parts that show data; they are marked if the data is a stand-in.
_DRAWN = ("regret", "final", "estimates", "detections", "coverage")


def entry(key: str, result: Result) -> str:
    """An experiment's lines in the table of contents."""
    inner = "".join(
        f'<li><a href="#{key}-{name}">{heading}</a></li>' for name, heading, _ in _parts(result)
    )
    return f'<li><a href="#{key}">{escape(title(result))}</a><ul>{inner}</ul></li>'


def section(key: str, result: Result) -> str:
    """All about one experiment; ``key`` names its elements."""
    mark = ' <span class="mark">stand-in data</span>' if result.config.get("standin") else ""
    marks = dict.fromkeys(_DRAWN, mark)
    parts = "".join(
        f'<section id="{key}-{name}" aria-labelledby="{key}-{name}-heading">'
        f'<h3 id="{key}-{name}-heading">{heading}{marks.get(name, "")}</h3>'
        f"{content(key, result)}</section>"
        for name, heading, content in _parts(result)
    )
    about = result.config.get("description")
    description = f"<p>{escape(str(about))}</p>" if about else ""
    return (
        f'<section class="experiment" id="{key}" aria-labelledby="{key}-heading">'
        f'<h2 id="{key}-heading">{escape(title(result))}</h2>'
        f'<p class="facts">{_facts(result)}</p>{description}{parts}</section>'
    )


def unread(damaged: Mapping[str, str]) -> str:
    """A list of the results that are missing from the page, and why."""
    if not damaged:
        return ""
    items = "".join(
        f"<li><strong>{escape(name)}</strong>: {escape(why)}</li>" for name, why in damaged.items()
    )
    return (
        '<section class="warning" aria-labelledby="damaged-heading">'
        f'<h2 id="damaged-heading">Results that cannot be read</h2><ul>{items}</ul></section>'
    )


def _parts(result: Result) -> list[tuple[str, str, Part]]:
    """Name, heading and content of each part for which the result has data."""
    regret, repeat = has_regret(result), bool(result.config.get("command"))
    parts: list[tuple[bool, str, str, Part]] = [
        (regret, "regret", "Regret", _regret),
        (regret, "final", "Final regret", _final),
        (has_plane(result), "estimates", "Estimates", _estimates),
        (has_detections(result), "detections", "Detections", _detections),
        (has_coverage(result), "coverage", "Coverage", _coverage),
        (True, "settings", "Settings", lambda _, shown: settings(shown)),
        (True, "versions", "Versions", lambda _, shown: versions(shown)),
        (repeat, "repeat", "How to repeat it", lambda _, shown: command(shown)),
    ]
    return [(name, heading, content) for applies, name, heading, content in parts if applies]


def _facts(result: Result) -> str:
    changes = change_points(result)
    rounds = ", ".join(f"{change:,}" for change in changes)
    moves = f"The parameter jumps at round{'s' * (len(changes) > 1)} {rounds}." if changes else ""
    quiet = not has_detections(result) and has_regret(result)
    silence = "No policy reported a change." if quiet else ""
    policies = f"{len(result.policies)} polic{'y' if len(result.policies) == 1 else 'ies'}"
    runs = f"{result.replications:,} run{'s' * (result.replications != 1)}"
    return f"{policies}, {runs} of {result.horizon:,} rounds each. {moves} {silence}".strip()


def _figure(key: str, name: str, label: str, caption: str, controls: str = "") -> str:
    words = f"<figcaption>{caption}</figcaption>" if caption else ""
    return (
        f'<figure aria-label="{escape(label)}">{controls}'
        f'<div class="plot {name}" id="{key}-{name}-plot"></div>{words}</figure>'
    )


def _regret(key: str, result: Result) -> str:
    sentences = ["Mean over runs; bands reach from the 5% to the 95% quantile."]
    if change_points(result):
        sentences.append("Red lines mark the changes.")
    if change_points(result) and has_detections(result):
        sentences.append("Lines with a percentage: mean detection, by that share of the runs.")
    if bounded(result):
        sentences.append("Click the paper’s regret bounds in the legend to show them.")
    caption = " ".join(sentences)
    controls = (
        '<p class="controls"><label><input type="checkbox" class="logarithmic"> '
        "logarithmic scale</label></p>"
    )
    return _figure(key, "regret", f"{title(result)}: regret by round", caption, controls)


def _final(key: str, result: Result) -> str:
    options = "".join(
        f'<option value="{i}">{escape(policy)}</option>' for i, policy in enumerate(result.policies)
    )
    return (
        f'<p class="controls"><label for="{key}-reference">Difference to</label> '
        f'<select id="{key}-reference" class="reference">{options}</select></p>'
        f"{final_regrets(result)}"
    )


def _estimates(key: str, result: Result) -> str:
    last = max(len(result.estimate_rounds) - 1, 0)
    whose = "the first run" if has_random_path(result) else "the mean over runs"
    caption = f"The true parameter (star) and the estimates, {whose}, with their last steps."
    controls = (
        '<p class="controls player"><button type="button" class="play">Play</button>'
        f'<input type="range" class="step" min="0" max="{last}" value="0" aria-label="Round">'
        '<output class="round"></output></p>'
    )
    return _figure(key, "estimates", f"{title(result)}: estimates", caption, controls)


def _detections(key: str, result: Result) -> str:
    caption = " ".join(
        f"{escape(policy)}: {rates_in_words(result, policy)}." for policy in result.detecting
    )
    figure = _figure(key, "detections", f"{title(result)}: detections by round", caption)
    return figure + detection_rates(result)


def _coverage(key: str, result: Result) -> str:
    figures = "".join(
        _figure(key, kind, f"{title(result)}: coverage {words}", "")
        for kind, words in KINDS.items()
    )
    promised = level(result)
    line = f" The dashed line is the promised 1 − δ = {promised:.4g}." if promised else ""
    return (
        "<p>Share of runs whose confidence set holds the parameter, with binomial 95% intervals: "
        f"at a round, and at all rounds up to it.{line}</p>"
        f'<div class="pair">{figures}</div>{coverage_shares(result)}'
    )
