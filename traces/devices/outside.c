/* A program without devices of its own. In a file of its own, and weak: the program's table stands in its place. */
#include <stddef.h>

#include "traces/device.h"

__attribute__((weak)) const struct bf_device *const bf_devices_outside[] = { NULL };
