// A file that appears whole or not at all: written beside its place as *.tmp, then renamed. What is
// no file (/dev/stdout, a pipe) is written to directly.
// Owns: OutFile; gzip where the name ends in ".gz". Every failure is a FileError that names the
// file and the system's reason. Must not know: what is written.
#pragma once

#include <string>
#include <string_view>

namespace ingot::profiler {

class OutFile {
 public:
  // `who` opens the error sentence: "export_chrome_trace".
  OutFile(std::string who, std::string path);
  ~OutFile();  // without commit(): removes what was written
  OutFile(const OutFile&) = delete;
  OutFile& operator=(const OutFile&) = delete;

  void write(std::string_view text);
  void commit();

 private:
  void flush();
  [[noreturn]] void fail(const std::string& reason);

  std::string who_, path_, target_, temporary_, buffer_;
  int descriptor_ = -1;
  void* gzip_ = nullptr;  // gzFile
};

}  // namespace ingot::profiler
