"""The OpenAPI 3.1 description, made from the routes of the server."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from ..._version import __version__
from .routing import JSON, Query, Route, problem_answer
from .shapes import ProblemDocument

_ABOUT = "Decisions are durable before they are answered. Each reward is learned exactly once."
_REFUSED = {
    400: "The request cannot be read.",
    401: "The key is missing or unknown.",
    403: "The role of the key is too low.",
    404: "The path names something that does not exist.",
    409: "The request contradicts an earlier one.",
    413: "The body is too long.",
    422: "A value breaks a rule.",
    507: "The copy cannot be written; the journal has not changed.",
    503: "Too busy or shutting down; try again after the time in Retry-After.",
}
_NAMES = {
    "policy": "Name of a policy.",
    "event_id": "Name of a decision.",
    "action": "Name of an action.",
    "file": "Name of a file.",
}


def description(routes: Sequence[Route]) -> dict[str, Any]:
    """The description of the routes."""
    kinds = [kind for route in routes for kind in (route.takes, route.gives) if kind is not None]
    kinds.append(ProblemDocument)
    shapes, schemas = msgspec.json.schema_components(
        kinds, ref_template="#/components/schemas/{name}"
    )
    by_kind = {_label(kind): shape for kind, shape in zip(kinds, shapes, strict=True)}
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, by_kind)
    return {
        "openapi": "3.1.0",
        "info": {"title": "driftbandits", "version": __version__, "description": _ABOUT},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _label(kind: Any) -> str:
    return str(kind)


def _operation(route: Route, shapes: dict[str, Any]) -> dict[str, Any]:
    operation = {
        "operationId": route.endpoint.__name__,
        "summary": route.about,
        "parameters": [*_names(route.path), *map(_query, route.queries)],
        "responses": _responses(route, shapes),
    }
    if route.takes is not None:
        content = {JSON.decode(): {"schema": shapes[_label(route.takes)]}}
        operation["requestBody"] = {"required": True, "content": content}
    if route.role is not None:
        operation["security"] = [{"key": []}]
        operation["description"] = f"Needs the role {route.role} if the server has keys."
    return operation


def _names(path: str) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": _NAMES[name],
            "schema": {"type": "string", "minLength": 1},
        }
        for name in re.findall(r"{(\w+)}", path)
    ]


def _query(query: Query) -> dict[str, Any]:
    schema = {
        "type": "integer",
        "minimum": query.least,
        "maximum": query.most,
        "default": query.default,
    }
    return {"name": query.name, "in": "query", "description": query.about, "schema": schema}


def _responses(route: Route, shapes: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": "Done."}
    if route.gives is not None:
        answer["content"] = {route.media.decode(): {"schema": shapes[_label(route.gives)]}}
    elif route.status != 204:
        media = route.media.decode().partition(";")[0]
        answer["content"] = {media: {"schema": {"type": "string"}}}
    refused = {status: _refused(route, status, shapes) for status in _possible(route)}
    return {str(route.status): answer} | {str(status): refused[status] for status in refused}


def _possible(route: Route) -> list[int]:
    """Status codes of the refusals that a route can give."""
    codes = set(route.refusals)
    if route.role is not None:
        codes |= {401, 403, 503}
    if route.takes is not None:
        codes |= {400, 413, 422}
    if "{" in route.path:
        codes |= {400, 404, 422}
    return sorted(codes | ({422} if route.queries else set()) | {403})


def _refused(route: Route, status: int, shapes: dict[str, Any]) -> dict[str, Any]:
    refused: dict[str, Any] = {"description": _REFUSED[status]}
    if route.refusal is problem_answer:
        schema = shapes[_label(ProblemDocument)]
        refused["content"] = {"application/problem+json": {"schema": schema}}
    else:
        refused["content"] = {JSON.decode(): {"schema": {"type": "object"}}}
    return refused
