// The device that a flag names.
// Owns: finding out whether it is there before work for it is done. Must not know: the examples.
#pragma once

#include <stdexcept>
#include <string>

#include <ingot/ingot.h>

namespace examples {

// Throws std::invalid_argument for text that names no device, std::runtime_error for a GPU that is
// not there.
inline ingot::Device device_of(const std::string& text) {
  ingot::Device device;
  try {
    device = ingot::Device(text);
  } catch (const ingot::Error&) {
    throw std::invalid_argument("--device takes cpu, cuda or cuda:N, got \"" + text + "\"");
  }
  if (device.is_cpu()) return device;
  if (!ingot::cuda::is_available()) throw std::runtime_error(ingot::cuda::unavailable_reason());
  if (device.index() >= ingot::cuda::device_count()) {
    throw std::runtime_error("there is no " + device.str() + "; the number of GPUs is " +
                             std::to_string(ingot::cuda::device_count()));
  }
  return device;
}

}  // namespace examples
