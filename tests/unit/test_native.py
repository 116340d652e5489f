"""The native relations and evaluator against plain Python sets of pairs."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dekker.cat.relational import Check, Fixpoint, Input, Op, RelationalProgram, Step
from dekker.native import NativeModel, Relation

Events = frozenset[int]
Pairs = frozenset[tuple[int, int]]

SIZES = (0, 1, 2, 5, 63, 64, 65, 130)


def bits(events: Events) -> int:
    return sum(1 << e for e in events)


def rows(n: int, pairs: Pairs) -> list[int]:
    return [bits(frozenset(j for i, j in pairs if i == row)) for row in range(n)]


def events_of(number: int) -> Events:
    return frozenset(j for j in range(number.bit_length()) if number >> j & 1)


def pairs_of(relation: Relation) -> Pairs:
    return frozenset((i, j) for i, row in enumerate(relation.rows()) for j in events_of(row))


def native(n: int, pairs: Pairs) -> Relation:
    return Relation.from_rows(rows(n, pairs))


def full(n: int) -> Pairs:
    return frozenset((i, j) for i in range(n) for j in range(n))


def diagonal(n: int) -> Pairs:
    return frozenset((i, i) for i in range(n))


def compose(first: Pairs, second: Pairs) -> Pairs:
    successors: dict[int, set[int]] = {}
    for i, j in second:
        successors.setdefault(i, set()).add(j)
    return frozenset((i, k) for i, j in first for k in successors.get(j, ()))


def plus(pairs: Pairs) -> Pairs:
    closure = pairs
    while not (longer := compose(closure, pairs)) <= closure:
        closure |= longer
    return closure


def is_irreflexive(pairs: Pairs) -> bool:
    return all(i != j for i, j in pairs)


NAIVE: dict[str, Callable[..., Any]] = {
    "union": lambda _, a, b: a | b,
    "inter": lambda _, a, b: a & b,
    "diff": lambda _, a, b: a - b,
    "seq": lambda _, a, b: compose(a, b),
    "inverse": lambda _, a: frozenset((j, i) for i, j in a),
    "plus": lambda _, a: plus(a),
    "star": lambda n, a: plus(a) | diagonal(n),
    "opt": lambda n, a: a | diagonal(n),
    "compl": lambda n, a: full(n) - a,
    "set-union": lambda _, s, t: s | t,
    "set-inter": lambda _, s, t: s & t,
    "set-diff": lambda _, s, t: s - t,
    "set-compl": lambda n, s: frozenset(range(n)) - s,
    "identity": lambda _, s: frozenset((e, e) for e in s),
    "cross": lambda _, s, t: frozenset((i, j) for i in s for j in t),
    "domain": lambda _, a: frozenset(i for i, _j in a),
    "range": lambda _, a: frozenset(j for _i, j in a),
    "empty-rel": lambda _: frozenset(),
    "empty-set": lambda _: frozenset(),
    "full-rel": full,
    "full-set": lambda n: frozenset(range(n)),
    "id": diagonal,
}

RELATIONS_FROM: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("union", "inter", "diff", "seq"), ("rel", "rel")),
    **dict.fromkeys(("inverse", "plus", "star", "opt", "compl"), ("rel",)),
    "identity": ("set",),
    "cross": ("set", "set"),
    **dict.fromkeys(("empty-rel", "full-rel", "id"), ()),
}
SETS_FROM: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("set-union", "set-inter", "set-diff"), ("set", "set")),
    "set-compl": ("set",),
    **dict.fromkeys(("domain", "range"), ("rel",)),
    **dict.fromkeys(("empty-set", "full-set"), ()),
}


def run_naively(steps: tuple[Step, ...], n: int, slots: dict[int, Any]) -> None:
    for step in steps:
        if isinstance(step, Op):
            slots[step.dst] = NAIVE[step.code](n, *(slots[a] for a in step.args))
            continue
        slots.update(dict.fromkeys(step.variables, frozenset()))
        while True:
            run_naively(step.body, n, slots)
            results = [slots[r] for r in step.results]
            if results == [slots[v] for v in step.variables]:
                break
            slots.update(zip(step.variables, results, strict=True))


def check_naively(program: RelationalProgram, n: int, inputs: dict[str, Any]) -> list[bool]:
    slots = {i.slot: inputs[i.name] for i in program.inputs}
    run_naively(program.steps, n, slots)
    holds: dict[str, Callable[[Any], bool]] = {
        "empty": lambda value: not value,
        "irreflexive": is_irreflexive,
        "acyclic": lambda value: is_irreflexive(plus(value)),
    }
    return [holds[c.kind](slots[c.slot]) != c.negated for c in program.checks]


def encoded(program: RelationalProgram, n: int, inputs: dict[str, Any]) -> dict[str, int | list[int]]:
    return {i.name: bits(inputs[i.name]) if i.kind == "set" else rows(n, inputs[i.name]) for i in program.inputs}


@st.composite
def sets(draw: st.DrawFn, n: int) -> Events:
    return draw(st.frozensets(st.integers(0, n - 1))) if n else frozenset()


@st.composite
def relations(draw: st.DrawFn, n: int) -> Pairs:
    event = st.integers(0, max(0, n - 1))
    return draw(st.frozensets(st.tuples(event, event), max_size=2 * n))


@st.composite
def sized_pairs_of_relations(draw: st.DrawFn) -> tuple[int, Pairs, Pairs]:
    n = draw(st.sampled_from(SIZES))
    return n, draw(relations(n)), draw(relations(n))


class ProgramBuilder:
    """Draws random valid steps over the slots defined so far."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.inputs = (Input(0, "R", "rel"), Input(1, "Q", "rel"), Input(2, "S", "set"))
        self.kinds = [i.kind for i in self.inputs]

    def new_slot(self, kind: str) -> int:
        self.kinds.append(kind)
        return len(self.kinds) - 1

    def slot(self, kind: str) -> int:
        return self.draw(st.sampled_from([s for s, k in enumerate(self.kinds) if k == kind]))

    def op(self, table: dict[str, tuple[str, ...]], result: str) -> Op:
        code = self.draw(st.sampled_from(sorted(table)))
        return self.op_on(code, tuple(self.slot(kind) for kind in table[code]), result)

    def op_on(self, code: str, args: tuple[int, ...], result: str = "rel") -> Op:
        return Op(self.new_slot(result), code, args)

    def any_op(self) -> Op:
        return self.op(RELATIONS_FROM, "rel") if self.draw(st.booleans()) else self.op(SETS_FROM, "set")

    def monotone_fixpoint(self, depth: int) -> Fixpoint:
        """Each result is a union with an earlier relation, so that something happens; no complement or difference."""
        variables = tuple(self.new_slot("rel") for _ in range(self.draw(st.integers(1, 2))))
        monotone = {c: a for c, a in RELATIONS_FROM.items() if c not in ("compl", "diff")}
        body: list[Step] = [self.op(monotone, "rel") for _ in range(self.draw(st.integers(0, 3)))]
        if depth > 0 and self.draw(st.booleans()):
            body.append(self.monotone_fixpoint(depth - 1))
        results = []
        for variable in variables:
            product = self.op_on("seq", (variable, self.slot("rel")))
            result = self.op_on("union", (self.slot("rel"), product.dst))
            body += [product, result]
            results.append(result.dst)
        return Fixpoint(variables, tuple(body), tuple(results))

    def check(self, index: int) -> Check:
        kind = self.draw(st.sampled_from(["acyclic", "irreflexive", "empty", "empty-set"]))
        slot = self.slot("set" if kind == "empty-set" else "rel")
        return Check(
            kind.removesuffix("-set"), slot, f"check{index}", self.draw(st.booleans()), self.draw(st.booleans())
        )


@st.composite
def programs(draw: st.DrawFn) -> RelationalProgram:
    builder = ProgramBuilder(draw)
    steps: list[Step] = [
        builder.monotone_fixpoint(1) if draw(st.integers(0, 3)) == 0 else builder.any_op()
        for _ in range(draw(st.integers(0, 8)))
    ]
    checks = tuple(builder.check(i) for i in range(draw(st.integers(1, 4))))
    return RelationalProgram(tuple(builder.kinds), builder.inputs, tuple(steps), checks)


@st.composite
def executions(draw: st.DrawFn) -> tuple[int, dict[str, Any]]:
    n = draw(st.sampled_from([0, 1, 3, 6, 66]))
    return n, {"R": draw(relations(n)), "Q": draw(relations(n)), "S": draw(sets(n))}


@given(sized_pairs_of_relations())
def test_binary_operations(sample: tuple[int, Pairs, Pairs]) -> None:
    n, a, b = sample
    left, right = native(n, a), native(n, b)
    assert pairs_of(left | right) == a | b
    assert pairs_of(left & right) == a & b
    assert pairs_of(left - right) == a - b
    assert pairs_of(left.compose(right)) == compose(a, b)
    assert (left == right) == (a == b)


@given(sized_pairs_of_relations())
def test_unary_operations(sample: tuple[int, Pairs, Pairs]) -> None:
    n, a, _ = sample
    relation = native(n, a)
    for name in ("inverse", "plus", "star", "opt"):
        assert pairs_of(getattr(relation, name)()) == NAIVE[name](n, a), name
    assert pairs_of(~relation) == full(n) - a
    assert events_of(relation.domain()) == NAIVE["domain"](n, a)
    assert events_of(relation.range()) == NAIVE["range"](n, a)


@given(sized_pairs_of_relations())
def test_properties(sample: tuple[int, Pairs, Pairs]) -> None:
    n, a, _ = sample
    relation = native(n, a)
    assert relation.n_events == n
    assert relation.is_empty() == (not a)
    assert relation.is_irreflexive() == is_irreflexive(a)
    assert relation.is_acyclic() == is_irreflexive(plus(a))


@given(st.sampled_from(SIZES), st.data())
def test_relations_from_sets(n: int, data: st.DataObject) -> None:
    s, t = data.draw(sets(n)), data.draw(sets(n))
    assert pairs_of(Relation.identity(n, bits(s))) == NAIVE["identity"](n, s)
    assert pairs_of(Relation.cross(n, bits(s), bits(t))) == NAIVE["cross"](n, s, t)


@pytest.mark.parametrize("n", SIZES)
def test_rows_survive_the_round_trip(n: int) -> None:
    every_other = [bits(frozenset(range(i % 2, n, 2))) for i in range(n)]
    assert Relation.from_rows(every_other).rows() == every_other
    assert Relation(n).rows() == [0] * n


@given(programs(), st.lists(executions(), min_size=1, max_size=3))
def test_models(program: RelationalProgram, samples: list[tuple[int, dict[str, Any]]]) -> None:
    model = NativeModel(program)
    for n, inputs in samples:
        expected = check_naively(program, n, inputs)
        values = encoded(program, n, inputs)
        assert model.check(n, values) == expected
        assert model.is_allowed(n, values) == all(r or c.flag for r, c in zip(expected, program.checks, strict=True))


def acyclicity_of_input() -> RelationalProgram:
    return RelationalProgram(("rel",), (Input(0, "R", "rel"),), (), (Check("acyclic", 0, "sc", False, False),))


def test_a_model_may_be_used_by_several_threads() -> None:
    n = 130
    model = NativeModel(acyclicity_of_input())
    chain = {"R": rows(n, frozenset((i, i + 1) for i in range(n - 1)))}
    cycle = {"R": rows(n, frozenset((i, (i + 1) % n) for i in range(n)))}
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda k: model.is_allowed(n, cycle if k % 2 else chain), range(200)))
    assert answers == [True, False] * 100


def test_inputs_the_model_does_not_use_are_ignored() -> None:
    assert NativeModel(acyclicity_of_input()).check(2, {"R": [2, 0], "unused": 7}) == [True]


@pytest.mark.parametrize(
    ("n", "inputs", "message"),
    [
        (2, {}, "no value for the input 'R'; given are none"),
        (2, {"S": 0}, "no value for the input 'R'; given are S"),
        (2, {"R": 3}, "input 'R' is a relation: a list of rows is needed"),
        (2, {"R": [1]}, "input 'R' has 1 rows for 2 events"),
        (2, {"R": [1, 4]}, "input 'R', row 1, is not a set of events below 2"),
        (2, {"R": [-1, 0]}, "input 'R', row 0, is not a set of events below 2"),
        (64, {"R": [1 << 64] * 64}, "input 'R', row 0, is not a set of events below 64"),
        (65, {"R": [0] * 64 + [1 << 65]}, "input 'R', row 64, is not a set of events below 65"),
        (65, {"R": [0] * 64 + [-1]}, "input 'R', row 64, is not a set of events below 65"),
    ],
)
def test_wrong_inputs(n: int, inputs: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NativeModel(acyclicity_of_input()).check(n, inputs)


def test_a_set_is_one_number() -> None:
    model = NativeModel(
        RelationalProgram(("set",), (Input(0, "S", "set"),), (), (Check("empty", 0, "none", True, False),))
    )
    assert model.check(70, {"S": 1 << 69}) == [True]
    with pytest.raises(ValueError, match="input 'S' is a set: one int is needed"):
        model.check(1, {"S": [1]})


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ((Op(2, "sequence", (0, 0)),), "unknown operation 'sequence'; known are union inter"),
        ((Op(2, "seq", (0,)),), r"step 0 \(seq\): takes 2 arguments, not 1"),
        ((Op(2, "seq", (0, 1)),), r"step 0 \(seq\): slot 1 is a set, but a relation is needed"),
        ((Op(2, "opt", (2,)),), r"step 0 \(opt\): slot 2 is used before its definition"),
        ((Op(7, "opt", (0,)),), r"step 0 \(opt\): slot 7 does not exist"),
        ((Op(-1, "opt", (0,)),), "slot -1 does not exist"),
        ((Op(2, "opt", (0,)), Op(2, "plus", (0,))), r"step 1 \(plus\): slot 2 is already defined"),
        ((Fixpoint((2,), (), ()),), r"step 0 \(fixpoint\): has 1 variables but 0 results"),
        ((Fixpoint((2,), (Op(3, "seq", (2, 1)),), (3,)),), r"step 0\.0 \(seq\): slot 1 is a set"),
    ],
)
def test_malformed_programs(steps: tuple[Step, ...], message: str) -> None:
    inputs = (Input(0, "R", "rel"), Input(1, "S", "set"))
    with pytest.raises(ValueError, match=message):
        NativeModel(RelationalProgram(("rel", "set", "rel", "rel"), inputs, steps, ()))


def test_unknown_kinds_and_checks() -> None:
    with pytest.raises(ValueError, match="unknown kind 'relation'; known are set rel"):
        NativeModel(RelationalProgram(("relation",), (), (), ()))
    with pytest.raises(ValueError, match="unknown check 'total'; known are acyclic irreflexive empty"):
        NativeModel(
            RelationalProgram(("rel",), (Input(0, "R", "rel"),), (), (Check("total", 0, "total", False, False),))
        )


def test_a_recursive_definition_that_is_not_monotone() -> None:
    flip = Fixpoint((0,), (Op(1, "compl", (0,)),), (1,))
    model = NativeModel(RelationalProgram(("rel", "rel"), (), (flip,), (Check("empty", 0, "flip", False, False),)))
    with pytest.raises(RuntimeError, match="not monotone"):
        model.check(3, {})


def test_relations_of_different_sizes_do_not_mix() -> None:
    with pytest.raises(ValueError, match="the relations are over 2 and 3 events"):
        Relation(2) | Relation(3)
    with pytest.raises(ValueError, match="row 0, is not a set of events below 1"):
        Relation.from_rows([2])
