from __future__ import annotations

from pathlib import Path

import pytest

from dekker.cat.compiler import compile_model
from dekker.cat.files import LIBRARY
from dekker.cat.interpreter import evaluate
from dekker.cat.model import Model
from dekker.cat.relational import Check, Fixpoint, Op, RelationalProgram, Step
from dekker.errors import DekkerError, ModelError, ParseError
from dekker.source import Source

SIZE = 3
PO = [0b110, 0b100, 0]
RF = [0b010, 0, 0b001]
VALUES: dict[str, int | list[int]] = {
    "po": PO,
    "rf": RF,
    "co": [0b100, 0, 0],
    "W": 0b101,
    "R": 0b010,
    "M": 0b111,
    "F": 0,
}


def compiled(text: str) -> Model:
    return compile_model(Source("m.cat", text))


def program(text: str) -> RelationalProgram:
    return compiled(text).program


def codes(steps: tuple[Step, ...]) -> list[str]:
    return [step.code if isinstance(step, Op) else "fixpoint" for step in steps]


def equal(left: str, right: str, before: str = "") -> bool:
    """Whether two relations are the same in the small example execution."""
    model = compiled(f"{before}\nempty ({left}) \\ ({right})\nempty ({right}) \\ ({left})")
    return evaluate(model.program, SIZE, VALUES) == [True, True]


def failure(text: str) -> DekkerError:
    with pytest.raises(DekkerError) as caught:
        compiled(text)
    return caught.value


# Programs


def test_a_small_model() -> None:
    model = compile_model(Source("dir/tiny.cat", '"A tiny model"\nacyclic po | rf as tiny\nflag ~empty po as long'))
    assert (model.name, model.title, model.checks) == ("tiny", "A tiny model", ("tiny", "long"))
    assert model.uses == {"po", "rf"}
    assert codes(model.program.steps) == ["union"]
    assert [(check.kind, check.negated, check.flag) for check in model.program.checks] == [
        ("acyclic", False, False),
        ("empty", True, True),
    ]


def test_only_what_reaches_a_check_is_computed() -> None:
    model = compiled("let unused = (addr;rf)+ let used = po;rf acyclic used")
    assert codes(model.program.steps) == ["seq"]
    assert model.uses == {"po", "rf"}


def test_equal_expressions_are_computed_once() -> None:
    shared = program("let f(x) = (x;rf)+ acyclic f(po) | co irreflexive f(po) acyclic co | (po;rf)+")
    assert sorted(codes(shared.steps)) == ["plus", "seq", "union"]
    assert shared.checks[0].slot == shared.checks[2].slot


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("po | 0", []),
        ("po & 0", ["empty-rel"]),
        ("po ; id", []),
        ("po | po", []),
        ("po \\ 0", []),
        ("~~po", []),
        ("(po^-1)^-1", []),
        ("(po+)*", ["star"]),
        ("(po?)+*", ["star"]),
        ("[_];po", []),
        ("po & (_ * _)", []),
        ("[W];po;[R]", ["cross", "inter"]),
        ("po & (W * R)", ["cross", "inter"]),
        ("po & (W * M) & (_ * R)", ["set-inter", "cross", "inter"]),
        ("po & ~rf", ["diff"]),
        ("domain(0) * W", ["empty-rel"]),
        ("[W];[R]", ["set-inter", "identity"]),
        ("id & (W * R)", ["set-inter", "identity"]),
    ],
)
def test_trivial_parts_are_folded(text: str, expected: list[str]) -> None:
    assert codes(program(f"acyclic {text}").steps) == expected


def test_slots_are_written_once_and_before_they_are_read() -> None:
    def visit(steps: tuple[Step, ...], known: set[int]) -> None:
        for step in steps:
            if isinstance(step, Op):
                assert set(step.args) <= known
                assert step.dst not in known
                known.add(step.dst)
            else:
                known.update(step.variables)
                visit(step.body, known)
                assert set(step.results) <= known

    for path in sorted((LIBRARY.parents[1] / "models").glob("*.cat")):
        compiled_file = compile_model(Source(str(path), path.read_text(encoding="utf-8"))).program
        known = {item.slot for item in compiled_file.inputs}
        visit(compiled_file.steps, known)
        assert {check.slot for check in compiled_file.checks} <= known
        assert len(known) == len(compiled_file.kinds)


def test_recursion_becomes_a_fixpoint() -> None:
    fix = program("let rec a = po | (a;b) and b = rf | a and unused = a;a acyclic a")
    (step,) = (step for step in fix.steps if isinstance(step, Fixpoint))
    assert len(step.variables) == 2
    assert codes(step.body) == ["union", "seq", "union"] or sorted(codes(step.body)) == ["seq", "union", "union"]


def test_what_does_not_change_stays_outside_the_fixpoint() -> None:
    fix = program("let rec a = (po;po;rf) | (a;a) acyclic a")
    assert codes(fix.steps) == ["seq", "seq", "fixpoint"]


def test_fixpoints_nest() -> None:
    nested = program("let closure(r) = let rec c = r | (c;c) in c let rec a = po | closure(a;rf) acyclic a")
    (outer,) = (step for step in nested.steps if isinstance(step, Fixpoint))
    assert "fixpoint" in codes(outer.body)


@pytest.mark.parametrize(
    ("left", "right", "before"),
    [
        ("a", "po+", "let rec a = po | (a;a)"),
        ("a", "(po;rf)+ | po;(rf;po)*", "let rec a = po | (b;po) and b = a;rf let a = a | b"),
        ("a", "0", "let rec a = a"),
        ("a", "0", "let rec a = b and b = a"),
        ("[S]", "[range(po+) | R]", "let rec S = R | range([S];po) | range(po)"),
        ("c", "(po+;rf)+", "let closure(r) = let rec c = r | (c;c) in c let c = closure(closure(po);rf)"),
        ("a", "po", "let rec a = po & f(0) | po and f(x) = a | x"),
        ("g(po)", "po;po+", "let rec a = po | (a;a) and g(x) = x;a"),
        ("[W];po;[R]", "po & (W * R)", ""),
        ("[W];[M]", "[W]", ""),
        ("po;[W];rf", "(po & (_ * W));rf", ""),
        ("~(po | rf)", "~po & ~rf", ""),
        ("po \\ rf \\ co", "po & ~(rf | co)", ""),
        ("(po;rf)^-1", "rf^-1;po^-1", ""),
        ("po?", "po | id", ""),
        ("po*", "po+ | id", ""),
        ("[domain(rf)];rf", "rf", ""),
        ("rf;[range(rf)]", "rf", ""),
        ("toid(W)", "[W]", ""),
        ("inverse(rf)", "rf^-1", ""),
        ("fencerel(M)", "po;po", ""),
        ("noid(po*)", "po+", ""),
        ("swap(po, rf)", "rf;po", "let swap(a, b) = b;a"),
        ("compose po rf", "po;rf", "let compose a b = a;b"),
        ("twice (fun r -> r;po) rf", "rf;po;po", "let twice f = fun x -> f (f x)"),
        ("a;b", "po;rf", "let (a, b) = (po, rf)"),
        ("f(rf)", "po;rf", "let r = po let f(x) = r;x let r = 0"),
        ("let x = po in let y = rf in x;y", "po;rf", ""),
        ("a", "rf", "let a = po let b = a and a = rf"),
        ("b", "po", "let a = po let b = a and a = rf"),
        ('if "mixed" then po else rf', "rf", ""),
        ('if not "mixed" && ("a" || not "b") then po else rf', "po", ""),
        ("try nothing with rf", "rf", ""),
        ("try po with rf", "po", ""),
        ("try po;W with rf", "rf", ""),
        ("match 'b with 'a -> po || 'b -> rf || _ -> co end", "rf", ""),
        ("match 'c with 'a -> po || _ -> co end", "co", ""),
        ("po", "po & _ * _", ""),
    ],
)
def test_meaning(left: str, right: str, before: str) -> None:
    assert equal(left, right, before)


def test_checks_on_sets() -> None:
    assert evaluate(program("empty W & R ~empty W empty 0 ~empty {}"), SIZE, VALUES) == [True, True, True, False]


def test_flags_mark_when_their_test_holds_and_undefined_unless_when_it_does_not() -> None:
    text = "flag ~empty po as race undefined_unless empty po as other assert ~empty po as third"
    checks = [(check.kind, check.negated, check.flag) for check in program(text).checks]
    assert checks == [("empty", True, True), ("empty", True, True), ("empty", False, True)]


def test_a_test_on_a_recursive_definition_is_a_check() -> None:
    assert compiled("let rec a = po | (a;a) when acyclic a as ok").checks == ("ok",)


def test_unnamed_checks_are_called_by_what_they_say() -> None:
    assert compiled("acyclic po |\n  rf ~empty co").checks == ("acyclic po | rf", "not empty co")
    assert len(compiled("acyclic " + " | ".join(["po"] * 100)).checks[0]) == 50


def test_procedures_are_inlined() -> None:
    text = """
    procedure inside(a, b) = let rest = a \\ b empty rest as left-over end
    call inside(po, po+)
    call inside(po, rf) as named
    procedure always _ = acyclic po end
    call always ()
    """
    model = compiled(text)
    assert model.checks == ("left-over", "named", "acyclic po")
    assert evaluate(model.program, SIZE, VALUES) == [True, False, True]


def test_forall_runs_over_collections() -> None:
    relations = "forall r in {po, rf} do acyclic r as each end forall r in {} do acyclic r end"
    assert compiled(relations).checks == ("each", "each")
    clauses = "match k with 'a -> acyclic po as a || _ -> acyclic rf as other end"
    tags = f"enum Kinds = 'a || 'b forall k in Kinds do {clauses} end"
    assert compiled(tags).checks == ("a", "other")


def test_statements_under_variants() -> None:
    assert compiled('if "mixed" acyclic po as mixed else acyclic rf as plain end').checks == ("plain",)
    assert compiled('if not "mixed" then acyclic po as plain end').checks == ("plain",)


def test_coherence_is_the_engines_business() -> None:
    text = """
    include "cross.cat"
    let orders = map (fun s -> linearisations(s, co0)) (classes-loc(W))
    with co from generate_cos(co0)
    with mo from generate_orders(W, co0)
    acyclic po | co | mo
    """
    assert compiled(text).uses == {"po", "co"}


def test_coherence_can_be_asked_to_contain_a_relation() -> None:
    model = compiled("with co from generate_cos(po-loc & (W * W))\nacyclic po as p")
    assert model.checks == ("co contains po-loc & (W * W)", "p")
    with pytest.raises(ModelError, match="generate_cos"):
        compiled("with co from cross(co0)\nacyclic po as p")


def test_a_misspelt_check_is_not_part_of_the_title() -> None:
    with pytest.raises(ParseError, match="a statement"):
        compiled('"My model"\nacylic po\n')


def test_common_names_need_no_include_and_can_be_redefined() -> None:
    assert compiled("acyclic rfe | coe | fre | po-loc | com").uses == {"rf", "co", "fr", "ext", "po", "loc"}
    assert compiled("let rfe = po acyclic rfe").uses == {"po"}
    assert compiled("let po = rf acyclic po").uses == {"rf"}


@pytest.mark.parametrize(
    ("title", "expected"),
    [("C RC11", {"ATOMIC"}), ('"C++11"', {"ATOMIC"}), ("X86 TSO", {"AMO", "rmw"}), ("AArch64", {"A"}), ("", {"A"})],
)
def test_atomic_accesses_depend_on_the_architecture(title: str, expected: set[str]) -> None:
    assert compiled(f"{title} empty [A]").uses == expected


# Files


def test_every_library_file_compiles() -> None:
    for path in sorted(LIBRARY.glob("*.cat")):
        compiled(f'let rs = [W]\ninclude "{path.name}"')  # which RC11 asks for


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("cos.cat", "co coe coi fr fre fri ca invrf"),
        ("filters.cat", "RR(po) RW(po) RM(po) WR(po) WW(po) WM(po) MR(po) MW(po) MM(po) AM(po) MA(po) noid(po) atom"),
        ("x86fences.cat", "mfence lfence sfence"),
        ("ppcfences.cat", "sync lwsync eieio isync ctrlisync"),
        ("powerfences.cat", "sync lwsync eieio isync"),
        ("armfences.cat", "dmb dsb dmb.st dsb.st isb ctrlisb"),
        ("aarch64fences.cat", "dmb.sy isb [dmb.full] [dmb.ld] [dmb.st] [dsb.full]"),
        ("fences.cat", "sync mfence dmb isb fence.rw.rw"),
        ("riscv-defs.cat", "ppo r1 r13 fence rsw po-loc-no-w [AQ] [RL] [RCsc]"),
        ("c11_base.cat", "mo sb asw rs sw hb dr ur [cacq] [crel]"),
        ("stdlib.cat", "co0 ctrlcfence(ISB) singlestep(po) [emptyset] [DMB] lxsx amo"),
    ],
)
def test_library_files_define_what_published_models_expect(name: str, names: str) -> None:
    compiled(f'include "{name}"\n' + "\n".join(f"acyclic {item}" for item in names.split()))


def test_include_of_a_neighbour(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "parts.cat").write_text('include "more.cat" let mine = other | rf', encoding="utf-8")
    (tmp_path / "sub" / "more.cat").write_text("let other = po", encoding="utf-8")
    (tmp_path / "cos.cat").write_text("let local = addr", encoding="utf-8")
    text = 'include "sub/parts.cat" include "cos.cat" include "sub/parts.cat" acyclic mine | local'
    model = compile_model(Source(str(tmp_path / "main.cat"), text))
    assert model.uses == {"po", "rf", "addr"}


def test_missing_include() -> None:
    error = failure('let a = po\ninclude "nowhere.cat"')
    assert str(error.diagnostic.span) == "m.cat:2:9"
    assert error.diagnostic.message == "there is no file 'nowhere.cat' to include"
    assert "cos.cat" in (error.diagnostic.hint or "")


@pytest.mark.parametrize("name", ["", ".", "/", "a\x00b", "x" * 5000])
def test_strange_names_of_includes(name: str) -> None:
    assert "there is no file" in failure(f'include "{name}"').diagnostic.message


def test_include_cycles(tmp_path: Path) -> None:
    (tmp_path / "a.cat").write_text('include "b.cat"', encoding="utf-8")
    (tmp_path / "b.cat").write_text('let x = po\ninclude "a.cat"', encoding="utf-8")
    source = Source(str(tmp_path / "a.cat"), (tmp_path / "a.cat").read_text(encoding="utf-8"))
    with pytest.raises(ModelError) as caught:
        compile_model(source)
    assert caught.value.diagnostic.message == "a file includes itself: a.cat includes b.cat includes a.cat"
    assert caught.value.diagnostic.span is not None
    assert caught.value.diagnostic.span.line == 2


def test_errors_in_included_files_point_into_them(tmp_path: Path) -> None:
    (tmp_path / "part.cat").write_text("let a =\n  po | W", encoding="utf-8")
    (tmp_path / "binary.cat").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ModelError) as caught:
        compile_model(Source(str(tmp_path / "main.cat"), 'include "part.cat"'))
    assert str(caught.value.diagnostic.span).endswith("part.cat:2:8")
    with pytest.raises(ModelError, match="not a text file"):
        compile_model(Source(str(tmp_path / "main.cat"), 'include "binary.cat"'))


# Errors


@pytest.mark.parametrize(
    ("text", "column", "message", "hint"),
    [
        ("acyclic po | W", 14, "expected a relation, found a set", "[S] is the identity relation on a set S"),
        ("acyclic [W & po]", 14, "expected a set, found a relation", "domain(r) and range(r) are sets"),
        ("acyclic po;W", 12, "expected a relation, found a set", None),
        ("acyclic W;po", 9, "expected a relation, found a set", None),
        ("acyclic W", 9, "expected a relation, found a set", None),
        ("acyclic [po]", 10, "expected a set, found a relation", None),
        ("acyclic W * po", 13, "expected a set, found a relation", None),
        ("acyclic W+", 9, "expected a relation, found a set", None),
        ("acyclic domain(W)", 16, "expected a relation, found a set", None),
        ("acyclic fencerel", 9, "expected a relation, found a function", "apply it, as in fencerel(…)"),
        ("acyclic fencerel(po)", 9, "expected a set, found a relation, inside fencerel", None),
        ("acyclic total", 9, "expected a relation, found a procedure", "procedures are run by a statement"),
        ("acyclic (po, rf)", 10, "expected a relation, found a tuple of 2", None),
        ("acyclic 'a", 9, "expected a relation, found a tag", None),
        ("acyclic {po, rf}", 9, "expected a relation, found a collection in braces", "a union of sets"),
        ("acyclic po [W]", 9, "expected a function, found a relation", "write ; between relations"),
        ("acyclic nodetour(po, rf)", 18, "expected a tuple of 3, found a tuple of 2", None),
        ("let (a, b) = po", 14, "expected a tuple of 2, found a relation", None),
        ("acyclic po-lok", 9, "unknown name po-lok", "did you mean po-loc"),
        ("acyclic whatever", 9, "unknown name whatever", "known without definition are the relations po, rf"),
        ("acyclic MFENC", 9, "unknown name MFENC", "MFENCE"),
        ("acyclic generate_cos(po)", 9, "expected a relation, found an enumeration of orders", "with co from"),
        ("with S from linearisations(SC, po)", 1, "cannot enumerate S", None),
        ("acyclic po ++ rf", 9, "++ adds one element", "a union is written with |"),
        ("acyclic match W with {} -> 0 || e ++ es -> 0 end", 9, "a match that takes a set apart", None),
        ("acyclic match po with 'a -> po end", 15, "expected a tag, found a relation", None),
        ("acyclic match 'b with 'a -> po end", 9, "no clause for 'b", None),
        ("acyclic if po = rf then po else rf", 12, "a condition on sets or relations cannot be decided", None),
        ("call fencerel(W)", 6, "expected a procedure, found a function", None),
        ("forall e in W do acyclic po end", 13, "expected a collection in braces, found a set", None),
        ("let rec r = ~r acyclic r", 13, "r stands under a complement or to the right of \\", None),
        ("let rec r = po \\ (rf;r) acyclic r", 13, "r stands under a complement", None),
        ("let rec r = po & ~(r;r) acyclic r", 13, "r stands under a complement", None),
        ("let rec a = po;(rf \\ b) and b = a acyclic a", 17, "b stands under a complement", "may only grow"),
        ("let rec r = po | [r]", 19, "expected a set, found a relation", None),
        ("let rec (a, b) = po", 9, "a recursive definition needs one name", None),
        ("let rec a = po and a = rf", 9, "a is defined twice in one let rec", None),
        ("let rec a = (po, a)", 14, "expected a set or a relation, found a tuple of 2", None),
        ("let rec f(x) = f(x) acyclic f(po)", 16, "f calls itself without end", None),
    ],
)
def test_errors_say_where_what_and_why(text: str, column: int, message: str, hint: str | None) -> None:
    diagnostic = failure(text).diagnostic
    assert diagnostic.message.startswith(message)
    assert diagnostic.span is not None
    assert diagnostic.span.column == column
    if hint is not None:
        assert hint in (diagnostic.hint or "")


def test_double_negation_is_monotone() -> None:
    assert equal("r", "po+", "let rec r = ~(~(po | (r;r)))")
    assert equal("r", "po", "let rec r = po \\ ~(po | r)")


def test_models_that_would_take_forever_are_refused() -> None:
    doubling = "let f0 x = (x, 'leaf) " + " ".join(
        f"let f{i} x = (f{i - 1} (x, 'a), f{i - 1} (x, 'b))" for i in range(1, 30)
    )
    assert "too large" in failure(f"{doubling} acyclic f29 po").diagnostic.message


def test_a_chain_of_definitions_may_be_long() -> None:
    text = "let r0 = po " + " ".join(f"let r{i} = r{i - 1};rf" for i in range(1, 3000)) + " acyclic r2999"
    assert len(program(text).steps) == 2999


def test_check_is_what_the_program_says() -> None:
    assert program("acyclic po as a").checks == (Check("acyclic", 0, "a", negated=False, flag=False),)
