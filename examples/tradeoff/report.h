// How the results are shown: as rows while they come, as the tutorial's table, as JSON.
// Must not know: how anything was measured.
#pragma once

#include <string>
#include <vector>

#include "experiment.h"

void print_heading(const Setup& setup);
void print_pair(const Pair& pair, const Setup& setup);
void print_legend(const Setup& setup);

// Self CPU against Self device for these pairs, cold and warm, and what follows from it.
void print_profiles(const std::vector<Pair>& pairs);

// At which sizes compiling pays.
void print_conclusion(const std::vector<Pair>& pairs);

// A list of objects, one for each size and mode.
std::string to_json(const std::vector<Pair>& pairs, const Setup& setup);
