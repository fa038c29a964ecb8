// They are compared as those of drivers are.
#include "unit/run/gpu_programs.cpp"
