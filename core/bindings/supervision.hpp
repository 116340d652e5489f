#pragma once

#include <nanobind/nanobind.h>

namespace dekker {

void bind_supervision(nanobind::module_& module);

}  // namespace dekker
