/* For programs that a script runs: what is wrong first ends them. */
#ifndef BELFRY_TESTS_TOOLS_NEED_H
#define BELFRY_TESTS_TOOLS_NEED_H

#include <stdio.h>
#include <stdlib.h>

#define NEED(good, what)                                                                                               \
	do {                                                                                                           \
		if (!(good)) {                                                                                         \
			printf("FAILED line %d: %s\n", __LINE__, what);                                                \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

#endif
