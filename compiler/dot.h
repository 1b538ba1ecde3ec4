// A plan as a Graphviz graph: ops as boxes, the ops of one kernel in one cluster.
// Owns: the text. Must not know: entries, frames.
#pragma once

#include <string>

#include <ingot/compiler/plan.h>

namespace ingot::compiler {

// The statements of one plan, a cluster labelled "segment N"; N keeps the names of plans apart.
std::string to_dot(const Plan& plan, int number);

// "digraph" around the statements of any number of plans.
std::string dot_graph(const std::string& name, const std::string& statements);

}  // namespace ingot::compiler
