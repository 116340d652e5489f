#include <stdexcept>

#include "allocations.hpp"
#include "dekker/compiled_model.hpp"
#include "dekker/evaluator.hpp"
#include "harness.hpp"
#include "naive.hpp"

using namespace dekker;

namespace {

constexpr Kind set = Kind::set;
constexpr Kind rel = Kind::relation;

Step op(Slot destination, std::string_view name, std::vector<Slot> arguments) {
  return Operation{opcode_named(name), destination, std::move(arguments)};
}

Check check(std::string_view kind, Slot slot, bool negated = false, bool is_flag = false) {
  return {check_kind_named(kind), slot, negated, is_flag};
}

ModelProgram valid_program() {
  return {{rel, set, rel}, {{0, "r", rel}, {1, "S", set}}, {op(2, "identity", {1})}, {check("acyclic", 0)}};
}

void expect_invalid(const ModelProgram& program, std::string_view message) {
  CHECK_THROWS(std::invalid_argument, message, CompiledModel{program});
}

// let rec x = (r | x;y);r* and y = r | y;x, which are both r+. The closure r* is a nested fixpoint, and a step of the
// body is used after the fixpoint.
ModelProgram closure_program() {
  const Fixpoint inner{{6}, {op(7, "seq", {6, 0}), op(8, "union", {4, 7})}, {8}};
  const Fixpoint outer{
      {1, 2},
      {op(9, "inverse", {0}), op(3, "seq", {1, 2}), op(4, "union", {0, 3}), inner, op(10, "seq", {2, 1}),
       op(11, "union", {0, 10})},
      {6, 11}};
  return {std::vector<Kind>(16, rel),
          {{0, "r", rel}},
          {outer, op(12, "plus", {0}), op(13, "diff", {1, 12}), op(14, "diff", {12, 2}), op(5, "union", {13, 14}),
           op(15, "inverse", {9})},
          {check("empty", 13), check("empty", 5), check("irreflexive", 1, true, true), check("acyclic", 15)}};
}

}  // namespace

TEST(fixpoints_make_the_transitive_closure) {
  const CompiledModel model(closure_program());
  Evaluator evaluator(model);
  std::mt19937 random(3);
  for (const std::size_t n : naive::sizes)
    for (const double degree : {0.5, 1.5}) {
      const Relation r = naive::random_relation(n, degree, random);
      evaluator.reset(n);
      evaluator.input_relation(0) = r;
      const bool is_cyclic = !is_acyclic(r);
      CHECK((evaluator.check_all() == std::vector<bool>{true, true, is_cyclic, !is_cyclic}));
      CHECK(evaluator.is_allowed() == !is_cyclic);
      CHECK(evaluator.input_relation(0) == r);
    }
}

TEST(steps_run_once_and_only_if_a_check_needs_them) {
  ModelProgram program = closure_program();
  program.kinds.push_back(rel);
  program.steps.push_back(op(16, "star", {0}));
  const CompiledModel model(program);
  std::size_t n_steps = 0;
  for (const auto* stages : {&model.stages(), &model.flag_stages()})
    for (const Stage& stage : *stages) n_steps += stage.steps.size();
  CHECK(n_steps == closure_program().steps.size());
  CHECK(model.stages().size() == 3);
  CHECK(model.flag_stages().size() == 1);
}

TEST(no_allocation_in_the_steady_state) {
  const CompiledModel model(closure_program());
  Evaluator evaluator(model);
  std::mt19937 random(5);
  const Relation large = naive::random_relation(130, 1.5, random);
  const Relation small = naive::random_relation(20, 1.5, random);
  const auto evaluate = [&](const Relation& r) {
    evaluator.reset(r.n_events());
    evaluator.input_relation(0) = r;
    evaluator.is_allowed();
    evaluator.check_all();
  };
  evaluate(large);
  const std::size_t before = allocation_count();
  for (int i = 0; i < 10; ++i) {
    evaluate(small);
    evaluate(large);
  }
  CHECK(allocation_count() == before);
}

TEST(set_operations_and_constants) {
  // Each difference must be empty; S and T are the inputs.
  const ModelProgram program{
      {set, set, set, set, set, set, set, set, rel, set, set, set, set, set, rel, rel, rel, rel, set, rel},
      {{0, "S", set}, {1, "T", set}},
      {op(2, "set-union", {0, 1}), op(3, "set-compl", {0}), op(4, "set-compl", {1}), op(5, "set-inter", {3, 4}),
       op(6, "set-compl", {5}), op(7, "set-diff", {2, 6}), op(8, "cross", {0, 1}), op(9, "domain", {8}),
       op(10, "set-diff", {9, 0}), op(11, "range", {8}), op(12, "set-diff", {11, 1}), op(13, "full-set", {}),
       op(14, "identity", {13}), op(15, "id", {}), op(16, "diff", {15, 14}), op(17, "full-rel", {}),
       op(18, "empty-set", {}), op(19, "compl", {17})},
      {check("empty", 7), check("empty", 10), check("empty", 12), check("empty", 16), check("empty", 18),
       check("empty", 19), check("empty", 13, true), check("irreflexive", 17, true)}};
  const CompiledModel model(program);
  Evaluator evaluator(model);
  std::mt19937 random(9);
  for (const std::size_t n : naive::sizes) {
    evaluator.reset(n);
    evaluator.input_set(0) = naive::random_set(n, random);
    evaluator.input_set(1) = naive::random_set(n, random);
    CHECK((evaluator.check_all() == std::vector<bool>{true, true, true, true, true, true, n > 0, n > 0}));
  }
}

TEST(a_fixpoint_over_sets) {
  // let rec reached = S | range([reached]; r)
  const ModelProgram program{
      {rel, set, set, rel, rel, set, set, rel, rel, set, set},
      {{0, "r", rel}, {1, "S", set}},
      {Fixpoint{{2},
                {op(3, "identity", {2}), op(4, "seq", {3, 0}), op(5, "range", {4}), op(6, "set-union", {1, 5})},
                {6}},
       op(7, "identity", {1}), op(8, "seq", {7, 0}), op(9, "range", {8}), op(10, "set-diff", {9, 2})},
      {check("empty", 10), check("empty", 2)}};
  const CompiledModel model(program);
  Evaluator evaluator(model);
  evaluator.reset(100);
  for (std::size_t e = 0; e + 1 < 100; ++e) evaluator.input_relation(0).insert(e, e + 1);
  evaluator.input_set(1).insert(0);
  CHECK((evaluator.check_all() == std::vector<bool>{true, false}));
}

TEST(inputs_start_empty) {
  const CompiledModel model({{rel}, {{0, "r", rel}}, {}, {check("empty", 0)}});
  Evaluator evaluator(model);
  for (const std::size_t n : {4u, 4u, 70u}) {
    evaluator.reset(n);
    CHECK(evaluator.is_allowed());
    evaluator.input_relation(0).insert(0, 1);
    CHECK(!evaluator.is_allowed());
  }
}

TEST(a_definition_that_is_not_monotone_is_reported) {
  const CompiledModel model({{rel, rel}, {}, {Fixpoint{{0}, {op(1, "compl", {0})}, {1}}}, {check("empty", 0)}});
  Evaluator evaluator(model);
  evaluator.reset(3);
  CHECK_THROWS(std::runtime_error, "not monotone", evaluator.is_allowed());
}

TEST(invalid_programs_are_rejected) {
  const auto with_step = [](Step step) {
    ModelProgram program = valid_program();
    program.kinds.push_back(rel);
    program.steps.push_back(std::move(step));
    return program;
  };
  CompiledModel{valid_program()};
  expect_invalid(with_step(op(3, "seq", {0})), "step 1 (seq): takes 2 arguments, not 1");
  expect_invalid(with_step(op(3, "seq", {0, 1})), "step 1 (seq): slot 1 is a set, but a relation is needed");
  expect_invalid(with_step(op(3, "seq", {0, 9})), "step 1 (seq): slot 9 does not exist; there are 4 slots");
  expect_invalid(with_step(op(3, "seq", {0, 3})), "step 1 (seq): slot 3 is used before its definition");
  expect_invalid(with_step(op(2, "opt", {0})), "step 1 (opt): slot 2 is already defined");
  expect_invalid(with_step(op(3, "domain", {0})), "step 1 (domain): slot 3 is a relation, but a set is needed");
  expect_invalid(with_step(Fixpoint{{3}, {}, {}}), "step 1 (fixpoint): has 1 variables but 0 results");
  expect_invalid(with_step(Fixpoint{{3}, {}, {1}}), "step 1 (fixpoint): slot 1 is a set");
  expect_invalid(with_step(Fixpoint{{3}, {op(0, "id", {})}, {3}}), "step 1.0 (id): slot 0 is already defined");
}

TEST(invalid_inputs_and_checks_are_rejected) {
  ModelProgram program = valid_program();
  program.inputs.push_back({2, "r", rel});
  expect_invalid(program, "input 'r': the name is used twice");
  program = valid_program();
  program.inputs[0].kind = set;
  expect_invalid(program, "input 'r': slot 0 is a relation");
  program = valid_program();
  program.checks[0].slot = 1;
  expect_invalid(program, "check 0: slot 1 is a set");
  program = valid_program();
  program.checks[0].slot = 3;
  expect_invalid(program, "check 0: slot 3 does not exist");
}

TEST(decoding) {
  const std::int64_t seq = static_cast<std::int64_t>(Opcode::compose);
  const auto decode = [](std::vector<std::int64_t> code) { return decode_steps(code); };
  const auto steps = decode({fixpoint_marker, 1, 5, 1, 6, 1, seq, 6, 2, 5, 0, seq, 7, 2, 6, 6});
  CHECK(steps.size() == 2);
  const auto& fixpoint = std::get<Fixpoint>(steps[0]);
  CHECK(fixpoint.variables == std::vector<Slot>{5} && fixpoint.results == std::vector<Slot>{6});
  CHECK((std::get<Operation>(fixpoint.body.at(0)).arguments == std::vector<Slot>{5, 0}));
  CHECK(std::get<Operation>(steps[1]).destination == 7);
  CHECK_THROWS(std::invalid_argument, "end too early", decode({seq, 7, 2, 6}));
  CHECK_THROWS(std::invalid_argument, "end too early", decode({seq}));
  CHECK_THROWS(std::invalid_argument, "no operation has the number 99", decode({99}));
  CHECK_THROWS(std::invalid_argument, "slot -4 does not exist", decode({seq, -4, 0}));
}

TEST(unknown_names) {
  CHECK_THROWS(std::invalid_argument, "unknown operation 'sequ'; known are union", opcode_named("sequ"));
  CHECK_THROWS(std::invalid_argument, "unknown kind 'relation'; known are set rel", kind_named("relation"));
  CHECK_THROWS(std::invalid_argument, "unknown check 'total'; known are acyclic", check_kind_named("total"));
}
