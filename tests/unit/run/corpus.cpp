// The loop programs of the emitters' tests, run here by drivers.
#include "unit/emit/corpus.cpp"
