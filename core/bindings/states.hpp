#pragma once

#include <nanobind/nanobind.h>

namespace dekker::states {

void bind_search(nanobind::module_& module);

}  // namespace dekker::states
