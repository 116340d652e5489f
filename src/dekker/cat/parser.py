"""From the text of a `.cat` file to `syntax.File`.

Operators, loosest first: `|`, `++`, `;`, `\\`, `&`, `*` (product of sets), prefix `~`, postfix `+ * ? ^-1 ^+ ^*`, and
tightest the application of a function. `\\` groups to the left; `*` does not chain; for the others grouping makes no
difference. `*` is a product where an operand follows, else a closure.
"""

from __future__ import annotations

from collections.abc import Callable

from dekker.cat import syntax
from dekker.cat.lexer import INVERSE, OPTION, PLUS, STAR, Token, tokenize
from dekker.errors import ParseError
from dekker.records import dataclass
from dekker.source import Source, Span

MAX_DEPTH = 40


def parse(source: Source) -> syntax.File:
    parser = _Parser(source, tokenize(source))
    title = parser.title()
    statements = parser.statements()
    if parser.here.kind != "end":
        raise parser.unexpected("a statement", _STATEMENT_HINT)
    return syntax.File(title, statements)


_BINARY = {operator: level for level, operator in enumerate(("|", "++", ";", "\\", "&", "*"))}
_PRODUCT = _BINARY["*"]
_POSTFIX = frozenset((PLUS, STAR, OPTION, INVERSE))
_ARGUMENT_SYMBOLS = frozenset(("(", "[", "{", "_", "0"))
_OPTIONS = frozenset(("withco", "withoutco", "withinit", "withoutinit", "withsc", "withoutsc"))
_TESTS = frozenset(("acyclic", "irreflexive", "empty"))
_ROLES = frozenset(("flag", "undefined_unless", "assert"))
_STATEMENT_HINT = "a statement starts with let, include, acyclic, irreflexive, empty, flag, show, procedure, call, …"


@dataclass
class _Parser:
    source: Source
    tokens: list[Token]
    position: int = 0
    depth: int = 0

    # Tokens

    @property
    def here(self) -> Token:
        return self.tokens[self.position]

    @property
    def following(self) -> Token:
        return self.tokens[min(self.position + 1, len(self.tokens) - 1)]

    def advance(self) -> Token:
        token = self.here
        if token.kind != "end":
            self.position += 1
        return token

    def at(self, *texts: str) -> bool:
        return self.here.kind in ("symbol", "keyword") and self.here.text in texts

    def accept(self, *texts: str) -> bool:
        if self.at(*texts):
            self.position += 1
            return True
        return False

    def expect(self, text: str) -> Token:
        if not self.at(text):
            raise self.unexpected(f"`{text}`")
        return self.advance()

    def expect_kind(self, kind: str, what: str) -> Token:
        if self.here.kind != kind:
            raise self.unexpected(what)
        return self.advance()

    def span_from(self, start: int) -> Span:
        end = self.tokens[self.position - 1].end if self.position else start
        return Span(self.source, start, max(start, end))

    def unexpected(self, expected: str, hint: str | None = None) -> ParseError:
        token = self.here
        found = "the end of the file" if token.kind == "end" else f"`{self.source.text[token.start : token.end]}`"
        return ParseError(f"expected {expected}, found {found}", Span(self.source, token.start, token.end), hint)

    def enter(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            span = Span(self.source, self.here.start, self.here.end)
            raise ParseError(f"brackets are nested more than {MAX_DEPTH} deep", span, "name the inner parts with let")

    def leave(self) -> None:
        self.depth -= 1

    # Statements

    def title(self) -> str:
        """A name on the first line (an architecture, perhaps with a model's name behind it), then a string; both can
        be missing."""
        words = []
        line = self.source.position(self.here.start)[0]
        while self.here.kind == "name" and self.source.position(self.here.start)[0] == line:
            words.append(self.advance().text)
        if self.here.kind == "string":
            words.append(self.advance().text)
        while self.accept(*_OPTIONS):
            pass
        return " ".join(" ".join(words).split())

    def statements(self) -> tuple[syntax.Statement, ...]:
        self.enter()
        result = []
        while (statement := self.statement()) is not None:
            result.append(statement)
        self.leave()
        return tuple(result)

    def statement(self) -> syntax.Statement | None:
        """The statement that starts here, if one does."""
        if self.at("~") and self.following.text in _TESTS:
            return self.check()
        read = _STATEMENTS.get(self.here.text) if self.here.kind == "keyword" else None
        return None if read is None else read(self)

    def let(self) -> syntax.Let:
        group = self.let_group()
        self.accept("in")
        return group

    def let_group(self) -> syntax.Let:
        start = self.expect("let").start
        recursive = self.accept("rec")
        bindings = [self.binding()]
        while self.accept("and"):
            bindings.append(self.binding())
        when = None
        if self.accept("when"):
            when = self.check()
        return syntax.Let(tuple(bindings), recursive, self.span_from(start), when)

    def binding(self) -> syntax.Binding:
        start = self.here.start
        pattern = self.pattern_list() if self.here.kind != "name" or self.following.text == "," else self.pattern()
        parameters = []
        while not self.at("="):
            parameters.append(self.pattern())
        span = self.span_from(start)
        self.expect("=")
        value = self.expression()
        for parameter in reversed(parameters):
            value = syntax.Function(parameter, value, span)
        return syntax.Binding(pattern, value, span)

    def pattern_list(self) -> syntax.Pattern:
        """`a, b` without brackets, or a single pattern."""
        start = self.here.start
        items = [self.pattern()]
        while self.accept(","):
            items.append(self.pattern())
        return items[0] if len(items) == 1 else syntax.TuplePattern(tuple(items), self.span_from(start))

    def pattern(self) -> syntax.Pattern:
        start = self.here.start
        if self.accept("("):
            self.enter()
            items = [] if self.at(")") else [self.pattern()]
            while self.accept(","):
                items.append(self.pattern())
            self.expect(")")
            self.leave()
            return items[0] if len(items) == 1 else syntax.TuplePattern(tuple(items), self.span_from(start))
        if self.accept("_"):
            return syntax.NamePattern("_", self.span_from(start))
        name = self.expect_kind("name", "a name").text
        return syntax.NamePattern(name, self.span_from(start))

    def check(self) -> syntax.Check:
        start = self.here.start
        role = self.advance().text if self.at(*_ROLES) else "check"
        negated = self.accept("~")
        if not self.at(*_TESTS):
            raise self.unexpected("`acyclic`, `irreflexive` or `empty`")
        kind = self.advance().text
        relation = self.expression()
        name = self.optional_name()
        return syntax.Check(kind, negated, role, relation, name, self.span_from(start))

    def optional_name(self) -> str | None:
        if not self.accept("as"):
            return None
        if self.here.kind not in ("name", "string", "keyword"):
            raise self.unexpected("a name")
        return self.advance().text

    def include(self) -> syntax.Include:
        self.expect("include")
        start = self.here.start
        path = self.expect_kind("string", 'the name of a file in quotes, as in include "cos.cat"').text
        return syntax.Include(path, self.span_from(start))

    def procedure(self) -> syntax.Procedure:
        start = self.expect("procedure").start
        self.accept("rec")
        name = self.expect_kind("name", "the name of the procedure").text
        parameter = self.pattern()
        span = self.span_from(start)
        self.expect("=")
        body = self.statements()
        self.expect("end")
        return syntax.Procedure(name, parameter, body, span)

    def call(self) -> syntax.Call:
        start = self.expect("call").start
        token = self.expect_kind("name", "the name of a procedure")
        procedure = syntax.Name(token.text, Span(self.source, token.start, token.end))
        argument = self.atom()
        name = self.optional_name()
        return syntax.Call(procedure, argument, name, self.span_from(start))

    def forall(self) -> syntax.Forall:
        start = self.expect("forall").start
        variable = self.expect_kind("name", "a name").text
        self.expect("in")
        collection = self.expression()
        span = self.span_from(start)
        self.expect("do")
        body = self.statements()
        self.expect("end")
        return syntax.Forall(variable, collection, body, span)

    def with_from(self) -> syntax.With:
        start = self.expect("with").start
        name = self.expect_kind("name", "a name").text
        self.expect("from")
        orders = self.expression()
        return syntax.With(name, orders, self.span_from(start))

    def show(self) -> syntax.Ignored:
        start = self.advance().start
        self.expression()
        self.optional_name()
        return syntax.Ignored(self.span_from(start))

    def debug(self) -> syntax.Ignored:
        start = self.advance().start
        self.expression()
        return syntax.Ignored(self.span_from(start))

    def enum(self) -> syntax.Enum:
        start = self.expect("enum").start
        name = self.expect_kind("name", "a name").text
        self.expect("=")
        self.accept("||")
        tags = [self.expect_kind("tag", "a tag such as 'acquire").text]
        while self.accept("||"):
            tags.append(self.expect_kind("tag", "a tag such as 'acquire").text)
        return syntax.Enum(name, tuple(tags), self.span_from(start))

    def instructions(self) -> syntax.Ignored:
        start = self.advance().start
        self.expect_kind("name", "the kind of instruction")
        self.expect("[")
        if not self.at("]"):
            self.expression()
        self.expect("]")
        return syntax.Ignored(self.span_from(start))

    def if_statement(self) -> syntax.IfStatement:
        """`if "variant" … else … end`, each part also as `begin … end`."""
        start = self.expect("if").start
        condition = self.condition()
        span = self.span_from(start)
        self.accept("then")
        then, closed = self.block()
        otherwise: tuple[syntax.Statement, ...] = ()
        if self.accept("else"):
            otherwise, closed = self.block()
        if not closed or self.at("end"):
            self.expect("end")
        return syntax.IfStatement(condition, then, otherwise, span)

    def block(self) -> tuple[tuple[syntax.Statement, ...], bool]:
        if not self.accept("begin"):
            return self.statements(), False
        body = self.statements()
        self.expect("end")
        return body, True

    def match_statement(self) -> syntax.MatchStatement:
        start = self.expect("match").start
        subject = self.expression()
        self.expect("with")
        self.accept("||")
        clauses = []
        while True:
            tag = self.clause_tag()
            self.expect("->")
            clauses.append((tag, self.statements()))
            if not self.accept("||"):
                break
        self.expect("end")
        return syntax.MatchStatement(subject, tuple(clauses), self.span_from(start))

    def clause_tag(self) -> str | None:
        return None if self.accept("_") else self.expect_kind("tag", "a tag or `_`").text

    # Expressions

    def expression(self) -> syntax.Expr:
        """Any expression; a tuple needs no brackets."""
        self.enter()
        start = self.here.start
        first = self.alternative()
        if not self.at(","):
            self.leave()
            return first
        items = [first]
        while self.accept(","):
            items.append(self.alternative())
        self.leave()
        return syntax.Tuple(tuple(items), self.span_from(start))

    def alternative(self) -> syntax.Expr:
        read = _EXPRESSIONS.get(self.here.text) if self.here.kind == "keyword" else None
        return self.binary(0) if read is None else read(self)

    def binary(self, level: int) -> syntax.Expr:
        """Operators at least as tight as `level`."""
        start = self.here.start
        left = self.prefix()
        while self.here.kind == "symbol" and _BINARY.get(self.here.text, -1) >= level:
            operator = self.here.text
            tighter = _BINARY[operator] + 1
            operands = [left]
            while self.accept(operator):
                operands.append(self.binary(tighter))
            left = syntax.Chain(operator, tuple(operands), self.span_from(start))
            if operator == "*" and len(operands) > 2:
                raise ParseError("a product has two operands", left.span, "(A * B) & (C * D) relates A∩C to B∩D")
        return left

    def prefix(self) -> syntax.Expr:
        start = self.here.start
        count = 0
        while self.accept("~"):
            count += 1
        operand = self.postfix()
        if not count:
            return operand
        complement = syntax.Complement(operand, self.span_from(start))
        return complement if count % 2 else syntax.Complement(complement, complement.span)

    def postfix(self) -> syntax.Expr:
        start = self.here.start
        operand = self.application()
        operators = []
        while self.here.kind == "symbol" and self.here.text in _POSTFIX and not self.at_product():
            operators.append(self.advance().text)
        return syntax.Postfix(operand, tuple(operators), self.span_from(start)) if operators else operand

    def at_product(self) -> bool:
        token, after = self.here, self.following
        if token.text != STAR or token.end - token.start > 1:
            return False
        if after.kind == "symbol" and after.text == "~":
            return self.tokens[self.position + 2].text not in _TESTS
        return _starts_argument(after)

    def application(self) -> syntax.Expr:
        start = self.here.start
        function = self.atom()
        arguments = 0
        while _starts_argument(self.here):
            arguments += 1
            if arguments > MAX_DEPTH:
                raise self.unexpected("an operator", f"no function takes more than {MAX_DEPTH} arguments")
            function = syntax.Apply(function, self.atom(), self.span_from(start))
        return function

    def atom(self) -> syntax.Expr:
        token = self.here
        if token.kind == "name":
            self.advance()
            return syntax.Name(token.text, self.span_from(token.start))
        if token.kind == "tag":
            self.advance()
            return syntax.Tag(token.text, self.span_from(token.start))
        read = _ATOMS.get(token.text) if token.kind in ("symbol", "keyword") else None
        if read is None:
            raise self.unexpected("a set or a relation")
        return read(self)

    def zero(self) -> syntax.Expr:
        start = self.advance().start
        return syntax.Empty(self.span_from(start))

    def underscore(self) -> syntax.Expr:
        start = self.advance().start
        return syntax.Universe(self.span_from(start))

    def parentheses(self) -> syntax.Expr:
        start = self.expect("(").start
        if self.accept(")"):
            return syntax.Tuple((), self.span_from(start))
        inner = self.expression()
        self.expect(")")
        return inner

    def begin_end(self) -> syntax.Expr:
        self.expect("begin")
        inner = self.expression()
        self.expect("end")
        return inner

    def identity(self) -> syntax.Expr:
        start = self.expect("[").start
        inner = self.expression()
        self.expect("]")
        return syntax.Identity(inner, self.span_from(start))

    def braces(self) -> syntax.Expr:
        start = self.expect("{").start
        if self.accept("}"):
            return syntax.Empty(self.span_from(start))
        inner = self.expression()
        self.expect("}")
        items = inner.items if isinstance(inner, syntax.Tuple) else (inner,)
        return syntax.Collection(items, self.span_from(start))

    def let_in(self) -> syntax.Expr:
        start = self.here.start
        groups = []
        while self.at("let"):
            groups.append(self.let_group())
            self.expect("in")
        return syntax.LetIn(tuple(groups), self.expression(), self.span_from(start))

    def function(self) -> syntax.Expr:
        start = self.expect("fun").start
        parameter = self.pattern()
        self.expect("->")
        body = self.expression()
        return syntax.Function(parameter, body, self.span_from(start))

    def try_with(self) -> syntax.Expr:
        start = self.expect("try").start
        body = self.expression()
        self.expect("with")
        otherwise = self.expression()
        return syntax.Try(body, otherwise, self.span_from(start))

    def if_expression(self) -> syntax.Expr:
        start = self.expect("if").start
        condition = self.condition()
        self.expect("then")
        then = self.expression()
        self.expect("else")
        otherwise = self.expression()
        return syntax.If(condition, then, otherwise, self.span_from(start))

    def match_expression(self) -> syntax.Expr:
        start = self.expect("match").start
        subject = self.expression()
        self.expect("with")
        self.accept("||")
        clauses: list[tuple[str | None, syntax.Expr]] = []
        over_elements = False
        while True:
            if self.at_element_clause():
                over_elements = True
                self.element_pattern()
                tag = None
            else:
                tag = self.clause_tag()
            self.expect("->")
            clauses.append((tag, self.expression()))
            if not self.accept("||"):
                break
        self.expect("end")
        span = self.span_from(start)
        return syntax.MatchElements(span) if over_elements else syntax.Match(subject, tuple(clauses), span)

    def at_element_clause(self) -> bool:
        return self.at("{") or self.here.kind == "name" or (self.at("_") and self.following.text in ("++", "|"))

    def element_pattern(self) -> None:
        if self.accept("{"):
            self.expect("}")
            return
        self.pattern()
        if self.accept("|"):
            self.pattern()
        self.expect("++")
        self.pattern()

    # Conditions

    def condition(self) -> syntax.Condition:
        return self.logic("||", lambda: self.logic("&&", self.basic_condition))

    def logic(self, operator: str, operand: Callable[[], syntax.Condition]) -> syntax.Condition:
        start = self.here.start
        operands = [operand()]
        while self.accept(operator):
            operands.append(operand())
        return operands[0] if len(operands) == 1 else syntax.Logic(operator, tuple(operands), self.span_from(start))

    def basic_condition(self) -> syntax.Condition:
        start = self.here.start
        self.enter()
        if self.here.kind == "string":
            result: syntax.Condition = syntax.Variant(self.advance().text, self.span_from(start))
        elif self.accept("not"):
            result = syntax.Logic("not", (self.basic_condition(),), self.span_from(start))
        elif self.at("(") and self.brackets_a_condition():
            self.advance()
            result = self.condition()
            self.expect(")")
        else:
            result = self.comparison()
        self.leave()
        return result

    def brackets_a_condition(self) -> bool:
        position = self.position
        while self.tokens[position].text in ("(", "not") and self.tokens[position].kind in ("symbol", "keyword"):
            position += 1
        return self.tokens[position].kind == "string"

    def comparison(self) -> syntax.Condition:
        start = self.here.start
        self.expression()
        if not self.accept("=", "subset", "in"):
            raise self.unexpected("`=`, `subset` or `in`")
        self.expression()
        return syntax.Comparison(self.span_from(start))


def _starts_argument(token: Token) -> bool:
    return (
        token.kind in ("name", "tag")
        or (token.kind == "symbol" and token.text in _ARGUMENT_SYMBOLS)
        or (token.kind == "keyword" and token.text == "begin")
    )


_STATEMENTS: dict[str, Callable[[_Parser], syntax.Statement]] = {
    "let": _Parser.let,
    "include": _Parser.include,
    "procedure": _Parser.procedure,
    "call": _Parser.call,
    "forall": _Parser.forall,
    "with": _Parser.with_from,
    "show": _Parser.show,
    "unshow": _Parser.show,
    "debug": _Parser.debug,
    "enum": _Parser.enum,
    "instructions": _Parser.instructions,
    "default": _Parser.instructions,
    "if": _Parser.if_statement,
    "match": _Parser.match_statement,
    **dict.fromkeys((*_TESTS, *_ROLES), _Parser.check),
}

_EXPRESSIONS: dict[str, Callable[[_Parser], syntax.Expr]] = {
    "let": _Parser.let_in,
    "fun": _Parser.function,
    "try": _Parser.try_with,
    "if": _Parser.if_expression,
    "match": _Parser.match_expression,
}

_ATOMS: dict[str, Callable[[_Parser], syntax.Expr]] = {
    "(": _Parser.parentheses,
    "[": _Parser.identity,
    "{": _Parser.braces,
    "_": _Parser.underscore,
    "0": _Parser.zero,
    "begin": _Parser.begin_end,
}
