#include <inttypes.h>

#include "sim/clock.h"
#include "tools/cli/cli.h"

#define REDRAW_MS 100 /* often enough to look alive, seldom enough to cost nothing */

static uint64_t now_ms(void)
{
	return bf_monotonic_ns() / 1000000;
}

void bf_progress_begin(struct bf_progress *p, const struct bf_args *a, const char *what)
{
	*p = (struct bf_progress){ .on = bf_cli_redraws() && !bf_arg_json(a), .what = what };
	if (p->on)
		p->begun_ms = p->last_ms = now_ms();
}

#define LEFT_MAX 48
#define TELL_MS 2000 /* before that, the speed says little */

/* ", about 2 min 10 s left" if all goes on as it went; "" when that cannot be said yet. */
static const char *time_left(uint64_t ms, uint64_t done, uint64_t total, char text[LEFT_MAX])
{
	const uint64_t s =
	    done && done < total ? (uint64_t)((double)ms / (double)done * (double)(total - done) / 1e3) : 0;

	if (ms < TELL_MS || !done || done >= total)
		*text = '\0';
	else if (s >= 3600)
		snprintf(text, LEFT_MAX, ", about %" PRIu64 " h %" PRIu64 " min left", s / 3600, s / 60 % 60);
	else if (s >= 60)
		snprintf(text, LEFT_MAX, ", about %" PRIu64 " min %" PRIu64 " s left", s / 60, s % 60);
	else
		snprintf(text, LEFT_MAX, ", about %" PRIu64 " s left", s);
	return text;
}

void bf_progress_update(struct bf_progress *p, uint64_t done, uint64_t total)
{
	if (!p->on)
		return;
	char left[LEFT_MAX];
	uint64_t now = now_ms();
	if (now - p->last_ms < REDRAW_MS)
		return;
	p->last_ms = now;
	if (total)
		fprintf(stderr, "\r\033[K%s: %" PRIu64 " of %" PRIu64 "%s", p->what, done, total,
			time_left(now - p->begun_ms, done, total, left));
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
