// Kernels of the questions that no table answers (questions.cpp).
#include "prelude.cuh"
