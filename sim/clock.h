/* The wall clock, for what runs beside simulated time and for figures about the program itself. */
#ifndef BELFRY_SIM_CLOCK_H
#define BELFRY_SIM_CLOCK_H

#include <stdint.h>

/* Nanoseconds of CLOCK_MONOTONIC. Any thread, async-signal-safe. */
uint64_t bf_monotonic_ns(void);

#endif
