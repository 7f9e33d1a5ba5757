#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/clock.h"
#include "tools/cli/cli.h"

#define REDRAW_MS 100 /* often enough to look alive, seldom enough to cost nothing */

static uint64_t now_ms(void)
{
	return bf_monotonic_ns() / 1000000;
}

bool bf_cli_redraws(void)
{
	const char *term = getenv("TERM");

	return isatty(STDERR_FILENO) == 1 && (!term || strcmp(term, "dumb") != 0);
}

void bf_progress_begin(struct bf_progress *p, const struct bf_args *a, const char *what)
{
	*p = (struct bf_progress){ .on = bf_cli_redraws() && !bf_arg_json(a), .what = what };
	if (p->on)
		p->last_ms = now_ms();
}

void bf_progress_update(struct bf_progress *p, uint64_t done, uint64_t total)
{
	if (!p->on)
		return;
	uint64_t now = now_ms();
	if (now - p->last_ms < REDRAW_MS)
		return;
	p->last_ms = now;
	if (total)
		fprintf(stderr, "\r\033[K%s: %" PRIu64 " of %" PRIu64, p->what, done, total);
	else
		fprintf(stderr, "\r\033[K%s: %" PRIu64, p->what, done);
	fflush(stderr);
}

void bf_progress_end(struct bf_progress *p)
{
	if (!p->on)
		return;
	fputs("\r\033[K", stderr);
	fflush(stderr);
	p->on = false;
}
