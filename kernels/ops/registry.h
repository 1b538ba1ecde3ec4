// The list of all ops. Owns: all_ops(), find_op().
// Whatever needs "every op" (kernel tables, the conformance suite, docs) derives it from here.
#pragma once

#include <string_view>
#include <vector>

#include <ingot/kernels/ops/elementwise.h>
#include <ingot/kernels/ops/structured/composites.h>
#include <ingot/kernels/ops/structured/data.h>
#include <ingot/kernels/ops/structured/indexing.h>
#include <ingot/kernels/ops/structured/products.h>
#include <ingot/kernels/ops/structured/random.h>
#include <ingot/kernels/ops/structured/reductions.h>
#include <ingot/kernels/ops/structured/views.h>

namespace ingot {

// Every built-in op: elementwise rows, their gradient rows, structured rows.
const std::vector<const OpInfo*>& all_ops();

// The op of this name, nullptr if there is none.
const OpInfo* find_op(std::string_view op_name);

}  // namespace ingot
