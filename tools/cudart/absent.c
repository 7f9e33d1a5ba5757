/* What of the runtime API is not there: programs link and load, and hear of it when they call. */
#include "tools/cudart/runtime.h"

#include "tools/cudart/absent.inc"
