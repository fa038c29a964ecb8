// The loop programs of the emitters' tests, run here in Metal's language.
#include "unit/emit/corpus.cpp"
