/*
 * Preloaded into perftest: gettimeofday() runs sixteen times as fast. Each of its programs asks for the time for 0.2 s,
 * doing nothing else, to learn the processor's frequency; what it then prints as MB/s is wrong, and nobody reads it.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <sys/time.h>
#include <time.h>

#define FASTER 16u

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	struct timespec now;
	uint64_t us;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &now);
	us = ((uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000) * FASTER;
	tv->tv_sec = (time_t)(us / 1000000);
	tv->tv_usec = (suseconds_t)(us % 1000000);
	return 0;
}
