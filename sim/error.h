/*
 * Error texts.
 *
 * Library functions return 0 or a negative errno value; what failed, with the offset or index that is wrong, is in the
 * context's struct bf_error. Callers own the struct; a zeroed struct is "no error". Not shared between threads.
 */
#ifndef BELFRY_SIM_ERROR_H
#define BELFRY_SIM_ERROR_H

#include "sim/compiler.h"

BF_API_BEGIN

struct bf_error {
	int code;       /* negative errno of the last failure, 0 if none */
	char text[256]; /* one line, no newline; truncated, never overflown */
};

/*
 * Formats the text, stores the code and returns it (so that `return bf_fail(...)` reads well). `err` may be NULL; its
 * own text may be among the arguments.
 */
int bf_fail(struct bf_error *err, int code, const char *fmt, ...) BF_PRINTF(3, 4);

#ifdef __clang_analyzer__
/* An analyzer that reads one file alone learns here that what comes back is `code`. */
#define bf_fail(err, code, ...) ((bf_fail)(err, code, __VA_ARGS__), (code))
#endif

BF_API_END

#endif
