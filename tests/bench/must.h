/* What a bench cannot go on without. */
#ifndef BELFRY_TESTS_BENCH_MUST_H
#define BELFRY_TESTS_BENCH_MUST_H

#include <stdio.h>
#include <stdlib.h>

#define MUST(x)                                                                                                        \
	do {                                                                                                           \
		if (!(x)) {                                                                                            \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x);                                        \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

#endif
