// What the sanitizers' run-time libraries ask a program for; nothing calls these in other builds.
extern "C" const char* __asan_default_options();
// Tests ask for more memory than there is: that is an error of ours, not the end of the program.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1"; }
