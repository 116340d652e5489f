// Small models for the explorer, written with a builder of relational programs.
#pragma once

#include "rsmc_programs.hpp"

namespace rsmc_tests {

// Sequential consistency: po | com is acyclic. The flag "overwritten": another thread writes what was read.
Model sc();

// A store may be delayed past later loads; updates and fences order.
Model tso();

// One order of communication, fences, dependencies, and program order per location.
Model relaxed();

// As `relaxed`, but writes reach other threads one by one: a read must only not miss what it can know of.
Model causal();

// As `relaxed`, but a load may take the value of an own store before others see it.
Model forwarding();

std::vector<Model> all_models();
std::vector<Model> weak_models();  // those that commit out of program order

}  // namespace rsmc_tests
