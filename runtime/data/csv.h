// Tables of numbers in text files.
// Owns: the reading of comma-separated files with a header line (RFC 4180: "quoted, cells", CRLF or
// LF) and the sentence for each mistake in them. Must not know: batches.
#pragma once

#include <string>

#include <ingot/runtime/data/dataset.h>

namespace ingot::data {

// The column named `target_column` becomes y [rows], i64 if all its cells are integers, else f32;
// the others, in order, x f32 [rows, columns]. Throws FileError, one sentence with path, line and
// column, when the file or the column is missing, a line has more or fewer cells than the header,
// or a cell is not a finite number. Empty lines are skipped.
Dataset csv(const std::string& file, const std::string& target_column, Loc loc = Loc::here());

}  // namespace ingot::data
