#include <algorithm>
#include <stdexcept>
#include <string>

#include "dekker/model_program.hpp"
#include "dekker/text.hpp"

namespace dekker {

namespace {

std::string_view described(Kind kind) { return kind == Kind::set ? "a set" : "a relation"; }

class Validator {
 public:
  explicit Validator(const ModelProgram& program) : program_(program), defined_(program.kinds.size(), false) {}

  void run() {
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) input(i);
    steps(program_.steps, "step ");
    for (std::size_t i = 0; i < program_.checks.size(); ++i) check(i);
  }

 private:
  void input(std::size_t index) {
    const Input& input = program_.inputs[index];
    place_ = text("input '", input.name, "'");
    const auto earlier = std::span(program_.inputs).first(index);
    if (std::ranges::find(earlier, input.name, &Input::name) != earlier.end()) fail("the name is used twice");
    define(input.slot, input.kind);
  }

  // `prefix` leads to the steps inside nested fixpoints: "step 4.1." for those in the second step of the fifth.
  void steps(const std::vector<Step>& steps, const std::string& prefix) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const std::string number = text(prefix, i);
      if (const auto* operation = std::get_if<Operation>(&steps[i]))
        this->operation(*operation, number);
      else
        fixpoint(std::get<Fixpoint>(steps[i]), number);
    }
  }

  void operation(const Operation& operation, const std::string& number) {
    const Signature& expected = signature(operation.code);
    place_ = text(number, " (", expected.name, ")");
    if (operation.arguments.size() != expected.arguments.size())
      fail("takes ", expected.arguments.size(), " arguments, not ", operation.arguments.size());
    for (std::size_t i = 0; i < operation.arguments.size(); ++i) use(operation.arguments[i], expected.arguments[i]);
    define(operation.destination, expected.result);
  }

  void fixpoint(const Fixpoint& fixpoint, const std::string& number) {
    const std::string place = number + " (fixpoint)";
    place_ = place;
    if (fixpoint.variables.size() != fixpoint.results.size())
      fail("has ", fixpoint.variables.size(), " variables but ", fixpoint.results.size(), " results");
    for (const Slot variable : fixpoint.variables) define(variable, kind_of(variable));
    steps(fixpoint.body, number + ".");
    place_ = place;
    for (std::size_t i = 0; i < fixpoint.results.size(); ++i) use(fixpoint.results[i], kind_of(fixpoint.variables[i]));
  }

  void check(std::size_t index) {
    const Check& check = program_.checks[index];
    place_ = text("check ", index);
    use(check.slot, check.kind == CheckKind::empty ? kind_of(check.slot) : Kind::relation);
  }

  void define(Slot slot, Kind kind) {
    require_kind(slot, kind);
    if (defined_[slot]) fail("slot ", slot, " is already defined");
    defined_[slot] = true;
  }

  void use(Slot slot, Kind kind) {
    require_kind(slot, kind);
    if (!defined_[slot]) fail("slot ", slot, " is used before its definition");
  }

  void require_kind(Slot slot, Kind kind) {
    if (kind_of(slot) != kind)
      fail("slot ", slot, " is ", described(kind_of(slot)), ", but ", described(kind), " is needed");
  }

  Kind kind_of(Slot slot) const {
    if (slot >= program_.kinds.size())
      fail("slot ", slot, " does not exist; there are ", program_.kinds.size(), " slots");
    return program_.kinds[slot];
  }

  template <class... Parts>
  [[noreturn]] void fail(const Parts&... reason) const {
    throw std::invalid_argument(text(place_, ": ", reason...));
  }

  const ModelProgram& program_;
  std::vector<bool> defined_;
  std::string place_;
};

}  // namespace

void validate(const ModelProgram& program) { Validator(program).run(); }

}  // namespace dekker
