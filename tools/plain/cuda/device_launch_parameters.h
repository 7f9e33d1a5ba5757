/* CUDA by source: tools/plain/cuda.h has it all. */
#include "tools/plain/cuda.h"
