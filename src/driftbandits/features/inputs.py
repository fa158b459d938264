"""Turn every accepted shape of contexts and actions into plain dictionaries.

Data frames are recognised by their methods, so none of their packages is imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .errors import FeatureError, Rejected, short
from .values import as_text, flattened, is_nested

ID = "id"


def as_mapping(what: str, row: Any) -> dict[str, Any]:
    """A row as a dictionary of names and values.

    A row is a dictionary, a list of dictionaries, a row of a data frame, a named tuple, or None
    if there are no values.
    """
    if type(row) is dict:
        return row
    if row is None:
        return {}
    if isinstance(row, (list, tuple)) and (is_nested(row) or len(row) == 0):
        try:
            return flattened(row)
        except Rejected as rule:
            raise FeatureError(f"{what} {rule}, got {short(row)}") from None
    if hasattr(row, "_asdict"):
        return dict(row._asdict())
    if hasattr(row, "keys") and not hasattr(row, "columns"):
        # Not dict(row): rows of some data frames iterate over their values.
        return {name: row[name] for name in list(row.keys())}
    raise FeatureError(f"{what} must be a dictionary of names and values, got {short(row)}")


def named_actions(actions: Any) -> dict[Any, dict[str, Any]]:
    """Actions as a dictionary from ids to features, in the order given.

    Actions are a dictionary from ids to features, a list, or a data frame. An entry of a list is
    an id, ``{"id": …, "features": …}``, or ``{"id": …}`` with the features as further keys. A data
    frame has one row per action, and the ids in a column ``id`` or, for pandas, in the index.

    >>> named_actions(["a", {"id": "b", "features": {"length": 3}}, {"id": "c", "length": 5}])
    {'a': {}, 'b': {'length': 3}, 'c': {'length': 5}}
    """
    if isinstance(actions, Mapping):
        named = {_id(id): as_mapping(f"action {id!r}", row) for id, row in actions.items()}
    else:
        named = {}
        for id, features in action_list(actions):
            if id in named:
                raise FeatureError(f"actions must have ids of their own, got {id!r} twice")
            named[id] = features
    if not named:
        raise FeatureError("actions must have at least one action, got none")
    return named


def action_list(actions: Any) -> list[tuple[Any, dict[str, Any]]]:
    """Ids and features of a list or a data frame of actions. Ids may repeat."""
    if actions is None or isinstance(actions, str):
        raise FeatureError(
            "actions must be a dictionary from ids to features, a list or a data frame, "
            f"got {short(actions)}"
        )
    if hasattr(actions, "rename_axis") and ID not in actions.columns:
        actions = actions.rename_axis(index=ID).reset_index()
    return [_id_and_features(entry) for entry in records("actions", actions)]


def records(what: str, table: Any) -> list[Any]:
    """The rows of a data frame or a list."""
    if hasattr(table, "to_dicts"):  # polars
        return list(table.to_dicts())
    if hasattr(table, "to_pylist"):  # pyarrow
        return list(table.to_pylist())
    if hasattr(table, "columns") and hasattr(table, "to_dict"):  # pandas
        return list(table.to_dict("records"))
    if isinstance(table, (str, Mapping)) or not isinstance(table, Iterable):
        raise FeatureError(f"{what} must be a list or a data frame, got {short(table)}")
    return list(table)


def id_text(id: Any) -> str:
    """The id of an action as a text: 17 and "17" are the same action."""
    try:
        return as_text(id)
    except Rejected as rule:
        raise FeatureError(f"the id of an action {rule}, got {short(id)}") from None


def id_texts(what: str, ids: Iterable[Any]) -> set[str]:
    """Several ids as texts. Refuses a single text, which would be read as a list of letters."""
    if isinstance(ids, str):
        raise FeatureError(f"{what} must be a list of ids, got {short(ids)}")
    return {id_text(id) for id in ids}


def _id(id: Any) -> Any:
    """``id`` itself, after a check that it is a valid id."""
    if type(id) is not str:
        id_text(id)
    return id


def _id_and_features(entry: Any) -> tuple[Any, dict[str, Any]]:
    if not isinstance(entry, Mapping):
        return _id(entry), {}
    if ID not in entry:
        raise FeatureError(f"an action in a list must have the key 'id', got {short(dict(entry))}")
    id = _id(entry[ID])
    if entry.keys() <= {ID, "features"}:
        return id, as_mapping(f"action {id!r}", entry.get("features"))
    return id, {name: value for name, value in entry.items() if name != ID}
