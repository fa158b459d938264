"""Encoding follows its definition, and depends only on the input and the declaration."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import features_reference
from driftbandits.core.arrays import Array
from driftbandits.features import Features, SlotTable
from features_draws import IDS, Case, cases


def fresh(features: Features) -> Features:
    """The same declaration in a new object that has encoded nothing."""
    return Features.from_dict(features.to_dict())


def encoded(case: Case, context: int = 0, actions: int = 0) -> Array:
    return fresh(case.features).encode(
        case.contexts[context], case.actions[actions], slots=case.slots
    )


@given(cases())
def test_vectors_equal_the_definition(case: Case) -> None:
    slots = {} if case.slots is None else dict(case.slots.slots)
    for context, actions in zip(case.contexts, case.actions, strict=True):
        vectors = case.features.encode(context, actions, slots=case.slots)
        expected = features_reference.encode(case.features.to_dict(), context, actions, slots)
        assert vectors.shape == (len(actions), case.features.dim)
        assert vectors.dtype == np.float64
        assert vectors.flags.c_contiguous
        assert vectors.flags.writeable
        for vector, definition in zip(vectors, expected, strict=True):
            assert list(definition) == list(case.features.names)
            assert vector.tolist() == list(definition.values())
            assert not np.signbit(vector[vector == 0]).any()


@given(cases())
def test_no_vector_is_longer_than_the_bound(case: Case) -> None:
    norms = np.linalg.norm(encoded(case), axis=1)
    assert norms.max() <= case.features.bound


@given(cases(contexts=3, sets=3), st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2))))
def test_earlier_calls_change_nothing(case: Case, calls: list[tuple[int, int]]) -> None:
    for context, actions in calls:
        vectors = case.features.encode(
            case.contexts[context], case.actions[actions], slots=case.slots
        )
        assert vectors.tobytes() == encoded(case, context, actions).tobytes()
        vectors[:] = np.nan  # callers may change the answer


@given(cases(), st.data())
def test_a_changed_dictionary_is_a_new_one(case: Case, data: st.DataObject) -> None:
    """Values, and lists inside them, change in place between two calls with the same objects."""
    now, later = (copy.deepcopy(row) for row in case.contexts)
    actions = copy.deepcopy(case.actions[0])
    case.features.encode(now, actions, slots=case.slots)
    overwrite(now, later)
    for id in actions:
        overwrite(actions[id], data.draw(st.sampled_from(list(case.actions[1].values()))))
    vectors = case.features.encode(now, actions, slots=case.slots)
    again = fresh(case.features).encode(now, actions, slots=case.slots)
    assert vectors.tobytes() == again.tobytes()


def test_a_list_that_has_changed_inside_is_a_new_one() -> None:
    features = Features.from_dict(
        {"action": {"tags": {"kind": "tags", "values": ["new", "free"], "other": False}}}
    )
    tags = ["new"]
    actions = {"a": {"tags": tags}, "b": {"tags": ["free"]}}
    before = features.encode({}, actions)
    tags[0] = "free"
    after = features.encode({}, actions)
    assert (before[0] != before[1]).any()
    assert (after[0] == after[1]).all()


def overwrite(row: dict[str, Any], new: dict[str, Any]) -> None:
    """Make ``row`` equal to ``new`` without replacing it or the lists in it."""
    for name in list(row):
        if name not in new:
            del row[name]
    for name, value in new.items():
        if isinstance(row.get(name), list) and isinstance(value, list):
            row[name][:] = value
        else:
            row[name] = copy.deepcopy(value)


@given(cases(), st.randoms(use_true_random=False))
def test_the_order_of_names_changes_nothing(case: Case, random: Any) -> None:
    def shuffled(row: dict[str, Any]) -> dict[str, Any]:
        return dict(random.sample(list(row.items()), len(row)))

    declared = case.features.to_dict()
    declared["context"], declared["action"] = (
        shuffled(declared["context"]),
        shuffled(declared["action"]),
    )
    actions = {id: shuffled(row) for id, row in case.actions[0].items()}
    features = Features.from_dict(declared)
    assert features.digest == case.features.digest
    vectors = features.encode(shuffled(case.contexts[0]), actions, slots=case.slots)
    assert vectors.tobytes() == encoded(case).tobytes()


@given(cases(), st.permutations(IDS))
def test_rows_follow_the_order_of_actions(case: Case, order: list[str]) -> None:
    actions = case.actions[0]
    features = case.features
    before = features.encode(case.contexts[0], actions, slots=case.slots)
    rows = dict(zip(actions, before, strict=True))
    turned = {id: actions[id] for id in order if id in actions}
    after = features.encode(case.contexts[0], turned, slots=case.slots)
    assert after.tobytes() == np.array([rows[id] for id in turned]).tobytes()


@given(cases())
def test_every_shape_of_input_means_the_same(case: Case) -> None:
    features, context, actions = case.features, case.contexts[0], case.actions[0]
    shapes: list[Any] = [
        [{"id": id, "features": row} for id, row in actions.items()],
        [{"id": id, "features": [row]} for id, row in actions.items()],
        [{"features": row, "id": id} for id, row in actions.items()],
        {id: {**row, "id": id} for id, row in actions.items()},
    ]
    expected = encoded(case).tobytes()
    for shape in shapes:
        assert features.encode([context], shape, slots=case.slots).tobytes() == expected
        assert fresh(features).encode(context, shape, slots=case.slots).tobytes() == expected


@given(cases())
def test_pairs_equal_one_vector_at_a_time(case: Case) -> None:
    pairs = [
        (row, *item) for row in case.contexts for acts in case.actions for item in acts.items()
    ]
    vectors = case.features.encode_pairs(
        [row for row, _, _ in pairs],
        [{"id": id, "features": features} for _, id, features in pairs],
        slots=case.slots,
    )
    for vector, (row, id, features) in zip(vectors, pairs, strict=True):
        one = fresh(case.features).encode(row, {id: features}, slots=case.slots)
        assert vector.tobytes() == one[0].tobytes()


@given(cases(), st.integers(7, 12))
def test_more_room_adds_zeros_at_the_end(case: Case, room: int) -> None:
    if case.slots is None:
        return
    wide = case.features.with_slots(room)
    vectors = wide.encode(case.contexts[0], case.actions[0], slots=case.slots.widened(room))
    narrow = encoded(case)
    assert vectors[:, : case.features.dim].tobytes() == narrow.tobytes()
    assert not vectors[:, case.features.dim :].any()
    assert wide.names[: case.features.dim] == case.features.names


@given(cases())
def test_only_an_action_s_own_slot_is_used(case: Case) -> None:
    if case.slots is None:
        return
    shared = case.features.slot_coordinates(0).start
    for id, vector in zip(case.actions[0], encoded(case), strict=True):
        own = case.features.slot_coordinates(case.slots.slot(id))
        others = np.delete(vector, own)[shared:]
        assert vector[own.start] > 0
        assert not others.any()


def test_another_table_of_slots_is_another_vector() -> None:
    features = Features.from_dict({"per_action": {"slots": 3}})
    first = SlotTable(room=3, slots={"a": 0, "b": 1})
    second = SlotTable(room=3, slots={"a": 2, "b": 1})
    for table in (first, second, first):
        vectors = features.encode({}, ["a", "b"], slots=table)
        assert [int(vector[1:].argmax()) for vector in vectors] == [table.slots["a"], 1]


@given(cases())
def test_copies_encode_alike(case: Case) -> None:
    expected = encoded(case).tobytes()
    for twin in (copy.deepcopy(case.features), pickle.loads(pickle.dumps(case.features))):
        assert twin == case.features
        vectors = twin.encode(case.contexts[0], case.actions[0], slots=case.slots)
        assert vectors.tobytes() == expected
