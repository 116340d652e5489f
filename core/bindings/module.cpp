// The Python face of the core. Sets of events and rows of relations are Python integers: bit j stands for event j.
#include <nanobind/nanobind.h>
#include <nanobind/operators.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "dekker/compiled_model.hpp"
#include "dekker/evaluator.hpp"
#include "dekker/relation.hpp"
#include "dekker/text.hpp"
#include "model_arguments.hpp"
#include "rsmc.hpp"
#include "states.hpp"
#include "supervision.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace dekker;
using namespace dekker::bindings;

namespace {

using Rows = std::vector<nb::int_>;
using Value = std::variant<nb::int_, Rows>;

// Returns false if the number is negative or has bits beyond the last word.
bool read_words(std::span<Word> words, const nb::int_& number) {
  if (words.size() == 1) {
    words[0] = PyLong_AsUnsignedLongLong(number.ptr());
    if (PyErr_Occurred() == nullptr) return true;
    PyErr_Clear();
    return false;
  }
  const nb::int_ shift(word_bits);
  nb::object rest = number;
  for (Word& word : words) {
    word = PyLong_AsUnsignedLongLongMask(rest.ptr());
    rest = rest >> shift;
  }
  return rest.equal(nb::int_(0));
}

void read_events(std::span<Word> words, const nb::int_& number, std::size_t n_events, const std::string& place) {
  const bool fits = read_words(words, number);
  if (fits && (words.empty() || (words.back() & ~last_word_mask(n_events)) == 0)) return;
  throw std::invalid_argument(text(place, " is not a set of events below ", n_events));
}

nb::int_ written_events(std::span<const Word> words) {
  if (words.size() == 1) return nb::int_(words[0]);
  const nb::int_ shift(word_bits);
  nb::object number = nb::int_(0);
  for (std::size_t i = words.size(); i-- > 0;) number = (number << shift) | nb::int_(words[i]);
  return nb::borrow<nb::int_>(number);
}

EventSet read_set(std::size_t n_events, const nb::int_& number) {
  EventSet set(n_events);
  read_events(set.words(), number, n_events, "the argument");
  return set;
}

void read_rows(Relation& relation, const Rows& rows, const std::string& place) {
  if (rows.size() != relation.n_events())
    throw std::invalid_argument(text(place, " has ", rows.size(), " rows for ", relation.n_events(), " events"));
  for (std::size_t i = 0; i < rows.size(); ++i)
    read_events(relation.row(i), rows[i], rows.size(), place + ", row " + std::to_string(i) + ",");
}

Relation relation_from_rows(const Rows& rows) {
  Relation relation(rows.size());
  read_rows(relation, rows, "the relation");
  return relation;
}

Rows rows_of(const Relation& relation) {
  Rows rows;
  rows.reserve(relation.n_events());
  for (std::size_t i = 0; i < relation.n_events(); ++i) rows.push_back(written_events(relation.row(i)));
  return rows;
}

template <void (*operation)(Relation&, const Relation&)>
Relation unary(const Relation& relation) {
  Relation out(relation.n_events());
  operation(out, relation);
  return out;
}

template <void (*operation)(Relation&, const Relation&, const Relation&)>
Relation binary(const Relation& left, const Relation& right) {
  if (left.n_events() != right.n_events())
    throw std::invalid_argument(text("the relations are over ", left.n_events(), " and ", right.n_events(), " events"));
  Relation out(left.n_events());
  operation(out, left, right);
  return out;
}

template <void (*projection)(EventSet&, const Relation&)>
nb::int_ projected(const Relation& relation) {
  EventSet out(relation.n_events());
  projection(out, relation);
  return written_events(out.words());
}

Relation made_identity(std::size_t n_events, const nb::int_& events) {
  Relation out(n_events);
  identity_on(out, read_set(n_events, events));
  return out;
}

Relation made_cross(std::size_t n_events, const nb::int_& from, const nb::int_& to) {
  Relation out(n_events);
  cross(out, read_set(n_events, from), read_set(n_events, to));
  return out;
}

// A model with the evaluators that are not in use at the moment; the interpreter lock guards their list.
class Model {
 public:
  Model(const Kinds& kinds, const Inputs& inputs, const Code& steps, const Checks& checks)
      : compiled_(program_from(kinds, inputs, steps, checks)) {}

  // The evaluators refer to the compiled model.
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  std::vector<bool> check(std::size_t n_events, const std::vector<Value>& values) {
    return evaluate<std::vector<bool>>(n_events, values, [](Evaluator& evaluator) { return evaluator.check_all(); });
  }

  bool is_allowed(std::size_t n_events, const std::vector<Value>& values) {
    return evaluate<bool>(n_events, values, [](Evaluator& evaluator) { return evaluator.is_allowed(); });
  }

 private:
  template <class Answer, class Ask>
  Answer evaluate(std::size_t n_events, const std::vector<Value>& values, Ask ask) {
    std::unique_ptr<Evaluator> evaluator = idle_evaluator();
    load(*evaluator, n_events, values);
    Answer answer = [&] {
      const nb::gil_scoped_release unlocked;
      return ask(*evaluator);
    }();
    idle_.push_back(std::move(evaluator));
    return answer;
  }

  std::unique_ptr<Evaluator> idle_evaluator() {
    if (idle_.empty()) return std::make_unique<Evaluator>(compiled_);
    std::unique_ptr<Evaluator> evaluator = std::move(idle_.back());
    idle_.pop_back();
    return evaluator;
  }

  void load(Evaluator& evaluator, std::size_t n_events, const std::vector<Value>& values) const {
    const auto& inputs = compiled_.inputs();
    if (values.size() != inputs.size())
      throw std::invalid_argument(text("the model has ", inputs.size(), " inputs, not ", values.size()));
    evaluator.reset(n_events);
    for (std::size_t i = 0; i < inputs.size(); ++i) load_input(evaluator, i, inputs[i], values[i]);
  }

  static void load_input(Evaluator& evaluator, std::size_t index, const Input& input, const Value& value) {
    const std::string place = "input '" + input.name + "'";
    if (input.kind == Kind::set) {
      if (!std::holds_alternative<nb::int_>(value)) throw std::invalid_argument(place + " is a set: one int is needed");
      read_events(evaluator.input_set(index).words(), std::get<nb::int_>(value), evaluator.n_events(), place);
    } else {
      if (!std::holds_alternative<Rows>(value))
        throw std::invalid_argument(place + " is a relation: a list of rows is needed");
      read_rows(evaluator.input_relation(index), std::get<Rows>(value), place);
    }
  }

  CompiledModel compiled_;
  std::vector<std::unique_ptr<Evaluator>> idle_;
};

void bind_relation(nb::module_& module) {
  nb::class_<Relation>(module, "Relation")
      .def(nb::init<std::size_t>(), "n_events"_a)
      .def_static("from_rows", &relation_from_rows, "rows"_a)
      .def_static("identity", &made_identity, "n_events"_a, "events"_a)
      .def_static("cross", &made_cross, "n_events"_a, "source"_a, "target"_a)
      .def_prop_ro("n_events", &Relation::n_events)
      .def("rows", &rows_of)
      .def("__or__", &binary<unite<Relation>>, nb::is_operator())
      .def("__and__", &binary<intersect<Relation>>, nb::is_operator())
      .def("__sub__", &binary<subtract<Relation>>, nb::is_operator())
      .def("__invert__", &unary<complement>)
      .def("__eq__", [](const Relation& left, const Relation& right) { return left == right; }, nb::is_operator())
      .def("compose", &binary<compose>, "other"_a)
      .def("inverse", &unary<invert>)
      .def("plus", &unary<transitive_closure>)
      .def("star", &unary<reflexive_transitive_closure>)
      .def("opt", &unary<reflexive_closure>)
      .def("domain", &projected<domain>)
      .def("range", &projected<range>)
      .def("is_empty", &is_empty<Relation>)
      .def("is_irreflexive", &is_irreflexive)
      .def("is_acyclic", [](const Relation& relation) { return is_acyclic(relation); });
}

void bind_model(nb::module_& module) {
  module.attr("FIXPOINT") = fixpoint_marker;
  module.def("opcode", [](const std::string& name) { return static_cast<int>(opcode_named(name)); }, "name"_a);
  nb::class_<ModelProgram>(module, "ModelProgram")
      .def("__init__", [](ModelProgram* self, const Kinds& kinds, const Inputs& inputs, const Code& steps,
                          const Checks& checks) {
             auto program = program_from(kinds, inputs, steps, checks);
             validate(program);
             new (self) ModelProgram(std::move(program));
           }, "kinds"_a, "inputs"_a, "steps"_a, "checks"_a);
  nb::class_<Model>(module, "Model")
      .def(nb::init<const Kinds&, const Inputs&, const Code&, const Checks&>(), "kinds"_a, "inputs"_a, "steps"_a,
           "checks"_a)
      .def("check", &Model::check, "n_events"_a, "values"_a)
      .def("is_allowed", &Model::is_allowed, "n_events"_a, "values"_a);
}

}  // namespace

NB_MODULE(_core, module) {
  bind_relation(module);
  bind_model(module);
  rsmc::bind_explorer(module);
  states::bind_search(module);
  bind_supervision(module);
}
