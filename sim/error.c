#include "sim/error.h"

#include <stdarg.h>
#include <stdio.h>

#undef bf_fail /* what an analyzer is told */

int bf_fail(struct bf_error *err, int code, const char *fmt, ...)
{
	char text[sizeof(err->text)];
	va_list args;

	if (!err)
		return code;
	/* By way of a copy: callers add to an earlier text by passing it as an argument. */
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	snprintf(err->text, sizeof(err->text), "%s", text);
	err->code = code;
	return code;
}
