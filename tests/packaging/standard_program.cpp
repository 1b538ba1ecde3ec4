// The yardstick of front_end_test.cpp: a user's program that includes the standard library only.
#include <iostream>
#include <vector>

int main() {
  const std::vector<double> losses = {1, 2, 3};
  for (double loss : losses) std::cout << loss << '\n';
}
