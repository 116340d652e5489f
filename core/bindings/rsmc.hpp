#pragma once

#include <nanobind/nanobind.h>

namespace dekker::rsmc {

void bind_explorer(nanobind::module_& module);

}  // namespace dekker::rsmc
