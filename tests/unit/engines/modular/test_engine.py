"""Loops, growth, visibility, forbidden states, versions: what the random programs do not have."""

from __future__ import annotations

import pytest
from tests.unit.engines.modular.lang_texts import OneThread, check

from dekker.errors import InputError, UnsupportedError
from dekker.result import Verdict

SAFE, UNSAFE, UNKNOWN = Verdict.SAFE, Verdict.UNSAFE, Verdict.UNKNOWN

FIG15 = """
var x = 1; var y = 0;
process P with r1 = 1 {
  r0 := 1;
  while(r0) {
    read: r0 := x;
    write: y := r1
  }
}
"""

GROWING = {
    "nested": "process P { r := 1; while(r) { i := 2; while(i) { read: r := x; write: y := 1; i := i - 1 } } }",
    "nested writes": "process P { r := 1; while(r) { read: r := x; i := 2; while(i) { write: y := i; i := i - 1 } } }",
    "two threads": """
        process P { r := 1; while(r) { read: r := x; write: y := 1 } }
        process Q { r := 1; while(r) { read: r := x; write: y := 2 } }""",
    "through ifs": """
        process P { while(1) { read: r := x; if(r) { write: y := 1 } else { write: z := 1 } } }
        process Q { while(1) { read: r := x; write: x := 1 - r } }""",
    "one branch": "process P { while(1) { read: r := x; if(r) { write: y := 1 } else { barrier } } }",
    "an array": "process P { i := 0; r := 1; while(r) { read: r := x; write: a[i] := r; i := (i + 1) % 4 } }",
    "values": "process P { i := 0; r := 1; while(r) { read: r := x; write: y := i; i := (i + 1) % 9 } }",
    "a choice": "process P { r := 1; while(r) { i := choose(0, 3); read: r := x; write: a[i] := 1 } }",
    "many": "class P(many) { i := 0; r := 1; while(r) { read: r := x; write: y := i; i := (i + 1) % 3 } }",
}


class TestGrowth:
    @pytest.mark.parametrize("model", ["ibm370", "tso", "pso"])
    def test_fig15_is_unknown_and_names_the_loop(self, model: str) -> None:
        result = check(FIG15, model)
        assert result.verdict is UNKNOWN
        (unbounded,) = result.unbounded
        assert unbounded.thread_class == "P"
        assert unbounded.loop is not None
        assert unbounded.loop.text == "while(r0)"

    def test_fig15_is_finite_under_sc(self) -> None:
        assert check(FIG15, "sc").verdict is SAFE

    @pytest.mark.parametrize("model", ["ibm370", "tso", "pso"])
    @pytest.mark.parametrize("name", GROWING)
    def test_variants_end_soon(self, name: str, model: str) -> None:
        result = check("var x = 1; var y = 0; var z = 0; var a[0..3] = 0;" + GROWING[name], model)
        assert result.verdict is UNKNOWN
        assert result.stopped_by is None
        assert all(item.loop is not None and item.loop.text.startswith("while(") for item in result.unbounded)
        assert {item.thread_class for item in result.unbounded} <= {"P", "Q"}
        assert result.n_states < 15_000

    def test_a_few_writes_are_followed_although_there_is_no_bound(self) -> None:
        """Q sees the writes of three rounds, all of which were on their way at once."""
        text = """
        var x = 1; var y = 0;
        process P { n := 0; r := 1; while(r) { read: r := x; n := (n + 1) % 3; write: y := n } here: }
        process Q { write: x := 0 }
        forbidden P@here && y = 0 && x = 0 && P:n = 0;
        """
        assert check(text).verdict is UNSAFE

    def test_with_any_number_of_threads(self) -> None:
        result = check(FIG15.replace("process P", "class P(many)"))
        assert (result.verdict, bool(result.unbounded)) == (UNKNOWN, True)

    def test_a_bad_state_elsewhere_is_still_found(self) -> None:
        text = FIG15 + "process Q { read: a := y; read: b := y; here: } forbidden Q@here && Q:a = 1 && Q:b = 1;"
        assert check(text).verdict is UNSAFE
        assert check(text.replace("Q:b = 1", "Q:b = 0")).verdict is UNKNOWN

    def test_many_writes_are_not_many_rounds(self) -> None:
        """A long straight line passes more writes than a loop that is recognised."""
        writes = "; ".join(f"write: x := {number}" for number in range(12))
        result = check(f"var x = 0; var y = 0; process P {{ {writes}; read: r := y }} process Q {{ read: r := x }}")
        assert (result.verdict, result.unbounded) == (SAFE, ())

    def test_counted_rounds_are_bounded(self) -> None:
        text = "var x = 0; var y = 0; process P { i := 9; while(i) { read: r := y; write: x := 1; i := i - 1 } }"
        assert check(text).verdict is SAFE


class TestLoops:
    def test_a_loop_that_writes_for_ever_is_exact(self) -> None:
        """x alternates between 1 and 0 for ever; y follows x, so who reads y = 1 before x sees any x."""
        text = """
        var x = 0; var y = 0;
        process P { r := 0; while(1) { r := 1 - r; write: x := r; write: y := r } }
        process Q { read: a := y; read: b := x; here: }
        forbidden Q@here && Q:a = %d && Q:b = %d;
        """
        for a, b in ((0, 0), (0, 1), (1, 0), (1, 1)):
            assert [check(text % (a, b), model).verdict for model in ("sc", "ibm370", "tso")] == [UNSAFE] * 3
        assert check(text % (2, 0)).verdict is SAFE

    def test_order_is_kept_in_a_loop_that_writes_for_ever(self) -> None:
        """y is written behind x, and never back: y = 1 is not seen before x = 1."""
        text = """
        var x = 0; var y = 0;
        process P { while(1) { write: x := 1; write: y := 1 } }
        process Q { read: a := y; read: b := x; here: }
        forbidden Q@here && Q:a = 1 && Q:b = 0;
        """
        assert [check(text, model).verdict for model in ("sc", "ibm370", "tso")] == [SAFE] * 3

    def test_pso_gives_up_on_several_variables_only(self) -> None:
        several = "var x = 0; var y = 0; process P { while(1) { write: x := 1; write: y := 1 } }"
        result = check(several, "pso")
        assert (result.verdict, result.unbounded[0].thread_class) == (UNKNOWN, "P")
        assert result.unbounded[0].loop is not None
        assert check("var x = 0; process P { while(1) { write: x := 1 } }", "pso").verdict is SAFE

    def test_a_silent_loop_ends_the_thread(self) -> None:
        text = "var x = 0; process P { write: x := 1; while(1) { r := 1 - r } } process Q { read: s := x; here: } %s"
        assert check(text % "forbidden Q@here && Q:s = 1;").verdict is UNSAFE
        assert check(text % "forbidden final x = 1;").verdict is SAFE

    def test_a_loop_that_is_never_the_same_is_unknown(self) -> None:
        result = check("process P { while(1) { r := r + 1 } }")
        assert result.verdict is UNKNOWN
        assert "every round is still different" in result.unbounded[0].why

    def test_an_endless_round_waits_for_what_was_passed(self) -> None:
        thread = OneThread("var x = 0; process P { while(1) { write: x := 1 } }")
        assert set(thread.machine.captures[0].endless.values()) == {frozenset((0,))}
        assert thread.passed() == ("x=1", "x=1")
        for _ in range(3):
            thread.take("TakeEffect x=1")
            assert (thread.passed(), thread.candidates()) == (("x=1",), ("TakeEffect x=1",))

    def test_an_endless_round_overtakes_what_it_need_not_wait_for(self) -> None:
        """The loop is first seen with nothing passed; when x has yet to take effect, y does not wait for it."""
        text = """
        var x = 0; var y = 0; var z = 1;
        process P {
          read: c := z;
          write: x := 1;
          if(c) barrier;
          r := 1;
          while(1) { r := 1 - r; if(r) { write: y := 1 } }
        }
        process Z { write: z := 0 }
        process Q { read: a := y; read: b := x; here: }
        forbidden Q@here && Q:a = 1 && Q:b = 0;
        """
        assert [check(text, model).verdict for model in ("sc", "ibm370", "tso", "pso")] == [SAFE, SAFE, SAFE, UNSAFE]

    def test_what_comes_before_an_endless_round_is_passed(self) -> None:
        """The second write to x stands in front of the loop that writes y, and need not wait for the first y."""
        text = """
        var x = 0; var y = 0;
        process P { write: y := 1; write: x := 1; write: y := 2; write: x := 2; while(1) { write: y := 3 } }
        process Q { read: a := %s; read: b := %s; here: }
        forbidden Q@here && Q:a = %d && Q:b = 0;
        """
        for text_now in (text % ("x", "y", 2), text % ("y", "x", 3)):
            found = [check(text_now, model).verdict for model in ("sc", "ibm370", "tso", "pso")]
            assert found == [SAFE, SAFE, SAFE, UNSAFE]


class TestVisibility:
    def test_a_label_is_not_run_past(self) -> None:
        text = "process P { one: r := 1; two: r := 2; three: } forbidden P@%s && P:r = %d;"
        reached = {
            (label, r) for label in ("one", "two", "three") for r in (0, 1, 2) if check(text % (label, r)).findings
        }
        assert reached == {("one", 0), ("two", 1), ("three", 2)}

    def test_every_value_of_a_register_is_seen(self) -> None:
        text = "var x = 5; process P { r := 1; r := 2; read: r := x; r := r + 1 } forbidden P:r = %d;"
        assert [value for value in range(9) if check(text % value).findings] == [0, 1, 2, 5, 6]

    def test_labels_of_one_place_are_different(self) -> None:
        text = "process P { one: two: skip; three: } forbidden %s;"
        assert check(text % "P@one && P@two").verdict is SAFE
        for label in ("one", "two", "three"):
            assert check(text % f"P@{label}").verdict is UNSAFE

    def test_a_label_in_front_of_a_loop_is_left(self) -> None:
        text = "process P { i := 2; here: while(i) { i := i - 1 } } forbidden P@here && P:i = %d;"
        assert [value for value in (0, 1, 2) if check(text % value).findings] == [2]

    def test_to_be_nowhere_is_seen(self) -> None:
        text = "process P { here: r := 1; there: } forbidden not(P@here) && not(P@there) && P:r = %d;"
        assert [value for value in (0, 1) if check(text % value).findings] == [0, 1]

    def test_writes_are_pending_at_a_label(self) -> None:
        text = "var x = 0; process P { write: x := 1; here: } forbidden P@here && x = 0;"
        assert [check(text, model).verdict for model in ("sc", "tso")] == [SAFE, UNSAFE]


class TestForbidden:
    def test_members_are_different_threads(self) -> None:
        text = "var x = 0; class c(2) { here: } forbidden c@here && c#2@here;"
        assert check(text).verdict is UNSAFE
        assert check("class c(2) { here: r := 1 } forbidden c@here && c:r = 1;").verdict is SAFE

    def test_indices_are_guarded(self) -> None:
        text = "var x = 5; var a[1..2] = 0; process P { skip } forbidden %s;"
        assert check(text % "x < 3 && a[x] = 0").verdict is SAFE
        with pytest.raises(InputError, match="out of range in this forbidden state"):
            check(text % "a[x] = 0")

    def test_numbers_have_a_sign(self) -> None:
        text = "var x = -2; process P { read: r := x; here: } forbidden P@here && P:r < 0 && x < -1 && P:r * 2 = -4;"
        assert check(text).verdict is UNSAFE

    def test_more_concrete_threads_where_the_state_needs_them(self) -> None:
        text = "class c(many) { here: } forbidden c@here && c#2@here && c#3@here;"
        result = check(text)
        assert (result.verdict, result.concrete, result.instance) == (UNSAFE, 3, (("c", 3),))
        with pytest.raises(UnsupportedError, match="speaks of 5 threads"):
            check("class c(many) { here: } forbidden c@here && c#2@here && c#3@here && c#4@here && c#5@here;")


class TestErrorsOfPrograms:
    def test_assertions(self) -> None:
        result = check("var x = 1; process P { read: r := x; assert(r = 0) }")
        assert (result.verdict, result.findings[0].kind) == (UNSAFE, "assertion")
        assert "assert(r = 0)" in result.findings[0].message

    def test_an_index_out_of_range(self) -> None:
        result = check("var x = 3; var a[0..2] = 0; process P { read: r := x; write: a[r] := 1 }")
        assert (result.verdict, result.findings[0].kind) == (UNSAFE, "assertion")
        assert "0..2" in result.findings[0].message

    def test_an_assumption_stops_the_thread(self) -> None:
        text = "var x = 0; process P { read: r := x; assume(r); write: x := 2 } forbidden x = 2;"
        assert check(text).verdict is SAFE


VERSIONED = """
var top = 0 versioned 4;
class c(many) {
  read: h := top;
  %s
}
"""


class TestVersions:
    def test_a_version_that_lies_behind_never_returns(self) -> None:
        """Q changes top to 1 and back while P waits. Without versions P takes it for the same."""
        text = """
        var top = 0%s;
        var x = 0;
        process P {
          read: h := top;
          read: b := x;
          if(b = 0) {
            while(b != 2) { read: b := x }
            seen := h;
            CMPXCHG(top = seen ? top := h : seen := top);
            if(seen = h) { won: skip }
          }
        }
        process Q {
          write: x := 1;
          read: g := top; n := g + %d; s := g;
          CMPXCHG(top = s ? top := n : s := top);
          read: g := top; n := g + %d; s := g;
          CMPXCHG(top = s ? top := n : s := top);
          write: x := 2
        }
        forbidden P@won;
        """
        assert check(text % ("", 1, -1)).verdict is UNSAFE
        assert check(text % (" versioned 4", 5, 3)).verdict is SAFE
        assert (
            check(
                (text % (" versioned 4", 5, 3))
                .replace("process", "class")
                .replace("P {", "P(many) {")
                .replace("Q {", "Q(1) {")
            ).verdict
            is SAFE
        )

    @pytest.mark.parametrize(
        ("code", "message"),
        [
            ("v := h / 4", "is used as a number"),
            ("write: top := h", "is written without a comparison"),
            ("if(h) skip", "was not read from it"),
            ("write: top := 1", "is written without a comparison"),
            ("if(h = 3) skip", "was not read from it"),
            ("n := h + 4; if(n = h) skip", "was not read from it"),
            ("n := h + 4; CMPXCHG(top = n ? top := h : n := top)", "was not read from it"),
            ("n := 1 - h", "is added to or subtracted from"),
            ("read: g := top; n := g + h", "is added to or subtracted from"),
        ],
    )
    def test_what_could_see_more_is_refused(self, code: str, message: str) -> None:
        with pytest.raises(UnsupportedError, match=message):
            check(VERSIONED % code)

    def test_forbidden_states_do_not_speak_of_versions(self) -> None:
        text = "var top = 1 versioned 4; process P { read: h := top; here: } forbidden %s;"
        for term in ("top = 1", "P@here && P:h = 1", "top / 4 = 1", "top % 3 = 1"):
            with pytest.raises(UnsupportedError, match="speaks of a version"):
                check(text % term)
        assert check(text % "P@here && top % 4 = 1 && P:h % 4 = 1").verdict is UNSAFE

    def test_it_goes_to_no_other_variable(self) -> None:
        with pytest.raises(UnsupportedError, match="goes to another variable"):
            check("var top = 0 versioned 4; var x = 0; process P { read: h := top; write: x := h }")

    def test_it_agrees_with_counting(self) -> None:
        """With few threads the version stays small, and the plain program reaches the same."""
        code = """
        class c(3) {
          read: h := top;
          new := h - h % 4 + 4 + not(h % 4);
          seen := h;
          CMPXCHG(top = seen ? top := new : seen := top);
          won := seen = h;
          done: skip
        }
        forbidden c@done && c#2@done && c#3@done && top % 4 = WHAT && c:won + c#2:won + c#3:won = SUM;
        """
        for what in (0, 1):
            for total in (0, 1, 2, 3):
                text = code.replace("WHAT", str(what)).replace("SUM", str(total))
                versioned = check("var top = 0 versioned 4;" + text).verdict
                counted = check("var top = 4;" + text).verdict
                assert versioned is counted, (what, total)
