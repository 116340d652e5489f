r"""The printable form of programs: `parse_program(Source(name, print_program(p)))` equals `p` for every valid `p`.

    program "MP+lwsync+addr"
    architecture PPC

    object x[8]
    object y[8] = { [0].4 = 1 }

    function P0() {
      store.4 [r2] = r1
      fence lwsync
      r3 = load.4 [r4 add.64 8] acquire
      branch (r3 and.32 1) eq.32 0 -> LC00
      r5 = sext.32 r3
    LC00:
      r6, ok = cmpxchg.4 weak [&y] r3 -> 2 acq_rel/relaxed
    }

    thread P0 runs P0 with r1 = 1, r2 = &x, r4 = &y

    exists 0:r3:32 = 1 /\ [x].4 = 1

Grammar. `X*` is any number of X, `X,*` any number with commas between them, `X,+` at least one, `[X]` at most one;
words in small letters are written as they are.

    PROGRAM    = program NAME architecture NAME ITEM*
    ITEM       = object NAME "[" NUMBER "]" [align NUMBER] [as SHAPE] ["=" "{" CELL,* "}"]
                                                                                          size and alignment in bytes
               | function NAME "(" NAME,* ")" "{" LINE* "}"
               | thread NAME runs NAME [with REGISTER,+]
               | (exists | ~exists | forall) FORMULA
               | filter FORMULA
               | observe OBSERVABLE,+
               | ignore (assertions | memory-safety),+
               | forbid leaks
               | given NAME,+                                                             one value of the environment
    CELL       = "[" NUMBER "]" SIZE "=" CONSTANT                                         offset and size in bytes
    SHAPE      = "{" (NUMBER SIZE NAME [SHAPE]),* "}"                                     fields by offset: names only
               | "[" NUMBER "," NUMBER ["," SHAPE] "]"                                    elements and their size
    REGISTER   = NAME "=" CONSTANT
    CONSTANT   = NUMBER | ADDRESS
    ADDRESS    = "&" NAME [OFFSET]                                                        &x, &x+8, &x-8

    LINE       = NAME ":" | INSTRUCTION                                                   one instruction per line
    INSTRUCTION
               = NAME "=" EXPRESSION
               | NAME "=" loadSIZE [signed] [exclusive] [loose] PLACE [ORDER]
               | storeSIZE PLACE "=" EXPRESSION [ORDER]
               | NAME "=" store-conditionalSIZE PLACE "=" EXPRESSION [ORDER]
               | [NAME "="] rmw.OPERATORSIZE PLACE "," EXPRESSION [ORDER]
               | NAME ["," NAME] "=" cmpxchgSIZE [weak] PLACE EXPRESSION "->" EXPRESSION [ORDER "/" ORDER]
               | fence NAME
               | jump NAME
               | branch [loose] EXPRESSION "->" NAME
               | [NAME "="] (call | spawn) OPERAND "(" EXPRESSION,* ")"
               | return [EXPRESSION]
               | [NAME "="] join EXPRESSION
               | assume [loose] EXPRESSION
               | await EXPRESSION "->" NAME                                               waits, going back to the label
               | assert [loose] EXPRESSION "," STRING
               | refuse STRING
               | print STRING "(" EXPRESSION,* ")"                                        directives as in C's printf
               | NAME "=" choose NUMBER ".." NUMBER [partial] [pointer]
               | NAME "=" allocate EXPRESSION [align NUMBER] [zeroed] [stack] [permanent]
               | NAME "=" measure EXPRESSION
               | free EXPRESSION
               | NAME "=" recycle EXPRESSION                                              0, or a freed object of a size
               | renew EXPRESSION "," EXPRESSION [zeroed]                                 uses a freed object again
               | atomic-begin | atomic-end
               | exit [everything [EXPRESSION]]
    PLACE      = "[" EXPRESSION "]"
    SIZE       = "." NUMBER                                                               bytes, as in load.4
    ORDER      = plain | relaxed | consume | acquire_pc | acquire | release | acq_rel | seq_cst
                                                                                          none is plain
    EXPRESSION = OPERAND
               | UNARY OPERAND                                                            sext.32 r1
               | OPERAND BINARY OPERAND                                                   r1 add.32 r2
               | OPERAND "?" OPERAND ":" OPERAND
    OPERAND    = NAME | CONSTANT | "(" EXPRESSION ")"
    UNARY, BINARY = operator "." width in bits                                            see `ir.arithmetic`

    FORMULA    = TEST | TEST ("/\" TEST)* | TEST ("\/" TEST)*                             no mixture without brackets
    TEST       = OBSERVABLE "=" (OBSERVABLE | CONSTANT)
               | "~" TEST | "(" FORMULA ")" | true | false
               | all "(" FORMULA,* ")" | any "(" FORMULA,* ")"      conjunction, disjunction of any number of formulas
    OBSERVABLE = NUMBER ":" NAME [":" NUMBER] [as NAME]                 thread, register, width (64 if it is missing)
               | "[" NAME [OFFSET] "]" SIZE [as NAME]

    NAME       = word (letters, digits and _%$@#, in parts joined by dots, not starting with a digit or #) that means
                 nothing above | STRING
    STRING     = between double quotes, with \" \\ \n \t and \u{hexadecimal}
    NUMBER     = decimal or 0x…, -2⁶³ to 2⁶⁴-1; OFFSET = NUMBER with a sign

Comments run from `//` to the end of the line. Line breaks matter only between instructions. Brackets nest at most
`MAX_NESTING` deep, and so must the expressions and formulas of a valid program.
"""

from __future__ import annotations

from dekker.ir.text.parser import parse_program
from dekker.ir.text.printer import print_expression, print_formula, print_instruction, print_program

__all__ = [
    "parse_program",
    "print_expression",
    "print_formula",
    "print_instruction",
    "print_program",
]
