"""Which loops become awaits: for each condition at the head of the pass, loops that fulfil it and loops that do not."""

from __future__ import annotations

import pytest
from hypothesis import given
from tests.strategies.ir_programs import programs

from dekker.frontends import parse_program as parse_source
from dekker.ir.passes import apply_passes
from dekker.ir.passes.waiting import wait_in_loops
from dekker.ir.program import Program
from dekker.ir.text import parse_program, print_instruction
from dekker.ir.validate import validate
from dekker.source import Source


def parse(body: str, observe: str = "[x].4") -> Program:
    text = f"""
    program p architecture none
    object x[8]
    object y[8]
    function P0() {{
    {body}
    }}
    thread P0 runs P0
    observe {observe}
    """
    program = parse_program(Source("t.ir", text))
    validate(program)
    return program


def changes(program: Program) -> list[str]:
    """The instructions that the pass replaces, as they are afterwards."""
    changed = apply_passes(program)
    return [
        print_instruction(after)
        for old, new in zip(program.functions, changed.functions, strict=True)
        for before, after in zip(old.body, new.body, strict=True)
        if before != after
    ]


CONVERTED = {
    "spin": (
        """L:
        r = load.4 [&x]
        branch r eq.32 0 -> L""",
        ["await r ne.32 0 -> L"],
    ),
    "any condition": (
        """L:
        r = load.4 [&x]
        branch r -> L""",
        ["await r eq.64 0 -> L"],
    ),
    "test at the head": (
        """L:
        r = load.4 [&x] acquire
        branch r -> E
        fence sync
        jump L
        E:
        store.4 [&y] = r""",
        ["await 0 -> L"],
    ),
    "exit with effects": (
        """L:
        r = load.4 [&x]
        branch r eq.32 0 -> N
        store.4 [&y] = 1
        jump E
        N:
        jump L
        E:""",
        ["await 0 -> L"],
    ),
    "exit in the middle": (
        """L:
        r = load.4 [&x]
        branch r -> E
        s = load.4 [&y]
        branch s eq.32 0 -> L
        E:""",
        ["await s ne.32 0 -> L"],
    ),
    "computed from what was read": (
        """L:
        r = load.4 [&x]
        a = r and.32 1
        b = a ? 1 : r
        branch b ult.32 3 -> L""",
        ["await b uge.32 3 -> L"],
    ),
    "two back edges": (
        """L:
        r = load.4 [&x]
        branch r eq.32 0 -> L
        s = load.4 [&y]
        branch s eq.32 0 -> L""",
        ["await r ne.32 0 -> L", "await s ne.32 0 -> L"],
    ),
    "nested": (
        """L:
        r = load.4 [&x]
        M:
        s = load.4 [&y]
        branch s -> M
        branch r -> L""",
        ["await s eq.64 0 -> M", "await r eq.64 0 -> L"],
    ),
    "inside a loop with effects": (
        """L:
        store.4 [&y] = 1
        M:
        r = load.4 [&x]
        branch r -> M
        branch q -> L""",
        ["await r eq.64 0 -> M"],
    ),
    "around a loop that counts": (
        """L:
        c = 0
        M:
        c = c add.32 1
        r = load.4 [&x]
        branch c ult.32 2 -> M
        branch r -> L""",
        ["await r eq.64 0 -> L"],
    ),
    "for ever": ("L:\njump L", ["await 0 -> L"]),
    "compare-exchange": (
        """L:
        r, ok = cmpxchg.4 [&x] 0 -> 1
        branch ok eq.32 0 -> L""",
        ["await ok ne.32 0 -> L"],
    ),
    "compare-exchange with its expectation restored": (
        """e = 0
        L:
        e, ok = cmpxchg.4 [&x] e -> 1
        branch ok -> E
        e = 0
        jump L
        E:""",
        ["await 0 -> L"],
    ),
    "the old value tells": (
        """L:
        r = cmpxchg.4 [&x] zext.32 q -> 1
        z = (q sub.32 r) eq.32 0
        branch z eq.1 0 -> L""",
        ["await z ne.1 0 -> L"],
    ),
    "the expected value is known": (
        """L:
        r = 0
        r = cmpxchg.4 [&x] r -> 1
        branch r ne.32 0 -> L""",
        ["await r eq.32 0 -> L"],
    ),
    "test and compare-exchange": (
        """L:
        r = load.4 [&x]
        branch r -> L
        r, ok = cmpxchg.4 [&x] 0 -> 1
        branch ok eq.32 0 -> L""",
        ["await r eq.64 0 -> L", "await ok ne.32 0 -> L"],
    ),
    "weak compare-exchange": (
        """L:
        r, ok = cmpxchg.4 weak [&x] 0 -> 1
        branch ok eq.32 0 -> L""",
        ["r, ok = cmpxchg.4 [&x] 0 -> 1", "await ok ne.32 0 -> L"],
    ),
    "store-conditional": (
        """L:
        r = load.4 exclusive [&x]
        s = store-conditional.4 [&x] = r add.32 1
        branch s -> L""",
        ["assume s eq.64 0"],
    ),
    "store-conditional with a test": (
        """L:
        r = load.4 exclusive [&x]
        branch r -> L
        s = store-conditional.4 [&x] = 1
        z = s eq.64 0
        branch z eq.64 0 -> L""",
        ["await r eq.64 0 -> L", "assume z ne.64 0"],
    ),
    "weak compare-exchange in front of a store-conditional": (
        """L:
        q = cmpxchg.4 weak [&y] 5 -> 5
        branch q eq.32 5 -> E
        r = load.4 exclusive [&x]
        s = store-conditional.4 [&x] = 1
        branch s -> L
        E:""",
        ["assume s eq.64 0"],
    ),
    "assertion": (
        """L:
        r = load.4 [&x]
        assert r ne.32 2, "seen"
        branch r -> L""",
        ["await r eq.64 0 -> L"],
    ),
    "effects behind a success": (
        """L:
        r, ok = cmpxchg.4 [&x] 0 -> 1
        branch ok eq.64 0 -> N
        held = 1
        store.4 [&y] = 1
        N:
        branch ok eq.64 0 -> L
        store.4 [&y] = held""",
        ["await ok ne.64 0 -> L"],
    ),
}

LEFT_ALONE = {
    "2: effects behind a failure": """L:
        r, ok = cmpxchg.4 [&x] 0 -> 1
        branch ok -> N
        store.4 [&y] = 1
        N:
        branch ok eq.64 0 -> L""",
    "4: carried from a failure": """L:
        r, ok = cmpxchg.4 [&x] 0 -> 1
        branch ok -> N
        failures = failures add.32 1
        N:
        branch ok eq.64 0 -> L
        store.4 [&y] = failures""",
    "1: jump into the body": """branch q -> M
        L:
        r = load.4 [&x]
        M:
        branch r -> L""",
    "1: into a body at the start of the function": """jump M
        L:
        r = load.4 [&x]
        M:
        s = load.4 [&y]
        branch s -> L""",
    "2: store": """L:
        store.4 [&y] = 1
        r = load.4 [&x]
        branch r -> L""",
    "2: exchange": """L:
        r = rmw.xchg.4 [&x], 1
        branch r -> L""",
    "2: choice": """L:
        r = choose 0..1
        branch r -> L""",
    "2: atomic section": """L:
        atomic-begin
        r = load.4 [&x]
        atomic-end
        branch r -> L""",
    "2: call": """L:
        call &P0()
        r = load.4 [&x]
        branch r -> L""",
    "3: success is ignored": """L:
        r, ok = cmpxchg.4 [&x] 0 -> 1
        s = load.4 [&y]
        branch s -> L""",
    "3: success goes on": """L:
        r, ok = cmpxchg.4 [&x] 0 -> 1
        branch ok -> L""",
    "3: another expected value": """L:
        r = cmpxchg.4 [&x] q -> 1
        branch r ne.32 0 -> L""",
    "3: too few bits compared": """L:
        r = cmpxchg.4 [&x] q -> 1
        branch r ne.64 q -> L""",
    "3: the expected value has changed since": """L:
        q = load.4 [&y]
        r = cmpxchg.4 [&x] q -> 1
        q = load.4 [&y]
        branch r ne.32 q -> L""",
    "3: store-conditional that succeeds": """L:
        r = load.4 exclusive [&x]
        s = store-conditional.4 [&x] = 1
        branch s eq.32 0 -> L""",
    "4: count": """L:
        c = c add.32 1
        r = load.4 [&x]
        branch r -> L""",
    "4: address from the round before": """L:
        r = load.4 [&x add.64 r]
        branch r -> L""",
    "4: expectation from the round before": """L:
        e, ok = cmpxchg.4 [&x] e -> 1
        branch ok eq.32 0 -> L""",
    "4: expectation restored to something else": """e = 0
        L:
        e, ok = cmpxchg.4 [&x] e -> 1
        branch ok -> E
        e = 2
        jump L
        E:""",
    "4: read behind the loop": """L:
        r = load.4 [&x]
        branch r -> E
        s = load.4 [&y]
        jump L
        E:
        store.4 [&y] = s""",
    "4: load-linked of an earlier round": """L:
        r = load.4 [&x]
        branch r -> E
        s = load.4 exclusive [&y]
        jump L
        E:
        s = store-conditional.4 [&y] = 1""",
    "store-conditional in some rounds": """L:
        r = load.4 exclusive [&x]
        branch r -> S
        s = store-conditional.4 [&x] = 1
        branch s eq.32 0 -> E
        S:
        jump L
        E:""",
    "weak compare-exchange that gives up": """L:
        r, ok = cmpxchg.4 weak [&x] 0 -> 1
        branch ok -> E
        branch r ne.32 1 -> E
        jump L
        E:""",
    "no loop": """branch r -> E
        jump E
        E:""",
}


@pytest.mark.parametrize(("body", "expected"), CONVERTED.values(), ids=CONVERTED)
def test_converted(body: str, expected: list[str]) -> None:
    assert changes(parse(body)) == expected


@pytest.mark.parametrize("body", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone(body: str) -> None:
    program = parse(body)
    assert wait_in_loops(program) is program


def test_a_compare_exchange_that_gives_up_is_converted_if_it_is_strong() -> None:
    body = LEFT_ALONE["weak compare-exchange that gives up"].replace("weak ", "")
    assert changes(parse(body)) == ["await 0 -> L"]


@pytest.mark.parametrize(
    ("observe", "expected"),
    [
        ("0:r", ["await s ne.32 0 -> L"]),
        ("0:s", []),
        ("[x].4\nexists 0:s = 1", []),
        ("[x].4\nfilter 0:s = 1", []),
    ],
)
def test_a_register_that_the_last_round_need_not_set_must_not_be_observed(observe: str, expected: list[str]) -> None:
    body, _ = CONVERTED["exit in the middle"]
    assert changes(parse(body, observe)) == expected


@given(programs())
def test_any_valid_program_stays_valid_and_needs_the_pass_once(program: Program) -> None:
    changed = apply_passes(program)
    assert wait_in_loops(changed) == changed


# --- through the front ends

LITMUS = {
    "x86 spin": (
        """X86 t
        {}
         P0 ;
         L: MOV EAX,[x] ;
         CMP EAX,$1 ;
         JNE L ;
        exists (true)""",
        ["await FLAGS.ZF ne.1 0 -> L"],
    ),
    "x86 cmpxchg": (
        """X86 t
        {}
         P0 ;
         L: MOV EAX,$0 ;
         MOV EBX,$1 ;
         LOCK CMPXCHG [x],EBX ;
         JNE L ;
        exists (true)""",
        ["await FLAGS.ZF ne.1 0 -> L"],
    ),
    "x86 cmpxchg that keeps what it read": (
        """X86 t
        {}
         P0 ;
         MOV EAX,$0 ;
         L: MOV EBX,$1 ;
         LOCK CMPXCHG [x],EBX ;
         JNE L ;
        exists (true)""",
        [],
    ),
    "x86 xchg": (
        """X86 t
        {}
         P0 ;
         L: MOV EAX,$1 ;
         XCHG [x],EAX ;
         CMP EAX,$0 ;
         JNE L ;
        exists (true)""",
        [],
    ),
    "power lock": (
        """PPC t
        { 0:r2=x; 0:r1=1; }
         P0 ;
         L: lwarx r3,r0,r2 ;
         cmpwi r3,0 ;
         bne- L ;
         stwcx. r1,r0,r2 ;
         bne- L ;
         isync ;
        exists (true)""",
        ["await CR0.eq ne.64 0 -> L", "assume CR0.eq ne.64 0"],
    ),
    "arm lock": (
        """ARM t
        { 0:R1=x; 0:R2=1; }
         P0 ;
         L: LDREX R0,[R1] ;
         CMP R0,#0 ;
         BNE L ;
         STREX R3,R2,[R1] ;
         CMP R3,#0 ;
         BNE L ;
        exists (true)""",
        ["await", "assume"],
    ),
    "aarch64 lock": (
        """AArch64 t
        { 0:X1=x; 0:X2=1; }
         P0 ;
         L: LDAXR W0,[X1] ;
         CBNZ W0,L ;
         STXR W3,W2,[X1] ;
         CBNZ W3,L ;
        exists (true)""",
        ["await X0 eq.32 0 -> L", "assume X3 eq.32 0"],
    ),
    "aarch64 compare-and-swap": (
        """AArch64 t
        { 0:X1=x; 0:X2=1; }
         P0 ;
         L: MOV W0,#0 ;
         CASA W0,W2,[X1] ;
         CBNZ W0,L ;
        exists (true)""",
        ["await X0 eq.32 0 -> L"],
    ),
    "risc-v lock": (
        """RISCV t
        { 0:x6=x; 0:x7=1; }
         P0 ;
         L: lr.w.aq x5,(x6) ;
         bnez x5,L ;
         sc.w x8,x7,(x6) ;
         bnez x8,L ;
        exists (true)""",
        ["await x5 eq.64 0 -> L", "assume x8 eq.64 0"],
    ),
    "risc-v swap": (
        """RISCV t
        { 0:x6=x; 0:x7=1; }
         P0 ;
         L: amoswap.w.aq x5,x7,(x6) ;
         bnez x5,L ;
        exists (true)""",
        [],
    ),
}

C_STATEMENTS = {
    "while (atomic_load(x) == 0);": ["await 0"],
    "do { r = atomic_load(x); } while (r == 0);": ["await r ne.32 0"],
    "do { r = *x; } while (r == 0);": ["await r ne.32 0"],
    "while (!atomic_compare_exchange_strong(x, &e, 1)) e = 0;": ["await 0"],
    "while (!atomic_compare_exchange_weak(x, &e, 1)) e = 0;": ["e, tmp", "await 0"],
    "while (!atomic_compare_exchange_strong(x, &e, 1));": [],
    "for (;;) { e = 0; if (atomic_load(x) == 0 && atomic_compare_exchange_weak(x, &e, 1)) break; }": [
        "e, tmp",
        "await 0",
    ],
    "for (;;) { if (atomic_load(x) == 1) continue; if (atomic_load(y) == 1) break; }": ["await 0"],
    "while (atomic_load(x) == 0) atomic_store(y, 1);": [],
    "while (atomic_exchange(x, 1) == 1);": [],
    "while (atomic_fetch_add(x, 0) == 1);": [],
    "while (atomic_load(x) == 0) e++;": [],
    "do { e = atomic_load(x); r = atomic_load(y); } while (e != atomic_load(x));": ["await"],
    "do { while ((e = atomic_load(x)) & 1); r = atomic_load(y); } while (e != atomic_load(x));": ["await 0", "await"],
    "again: if (atomic_load(x) == 0) goto again;": ["await 0"],
    "for (int i = 0; i < 2; i++) while (atomic_load(x) == 0);": ["await 0"],
}


def starts(found: list[str], expected: list[str]) -> bool:
    return len(found) == len(expected) and all(a.startswith(b) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize(("text", "expected"), LITMUS.values(), ids=LITMUS)
def test_litmus(text: str, expected: list[str]) -> None:
    found = changes(parse_source(Source("t.litmus", text)))
    assert starts(found, expected), found


@pytest.mark.parametrize(("statement", "expected"), C_STATEMENTS.items())
def test_c(statement: str, expected: list[str]) -> None:
    text = f"C t\n{{}}\nP0(atomic_int* x, atomic_int* y) {{ int r; int e = 0; {statement} }}\nexists (0:r=1)"
    found = changes(parse_source(Source("t.litmus", text)))
    assert starts(found, expected), found
