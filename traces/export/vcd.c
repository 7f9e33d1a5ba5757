/* The changes go to a temporary file first: the declarations, which stand before them, are known only at the end. */
#include "traces/export/vcd.h"

#include <errno.h>
#include <string.h>

#include "traces/export/waves_internal.h"

struct vcd {
	struct bf_waves waves; /* first: it gets this pointer */
	FILE *changes;
	uint64_t now_ps;
	bool any;
};

/* Identifiers are printable characters from '!' to '~', the first one least significant. */
static void put_id(FILE *out, uint32_t signal)
{
	for (uint32_t n = signal;; n = n / 94 - 1) {
		putc('!' + (int)(n % 94), out);
		if (n < 94)
			return;
	}
}

static void put_value(FILE *out, const struct bf_wave_signal *s, uint32_t number, uint64_t value)
{
	if (s->bits == 1) {
		putc('0' + (int)(value & 1), out);
	} else {
		int bit = 63;

		while (bit > 0 && !(value >> bit & 1))
			bit--;
		putc('b', out);
		for (; bit >= 0; bit--)
			putc('0' + (int)(value >> bit & 1), out);
		putc(' ', out);
	}
	put_id(out, number);
	putc('\n', out);
}

static int change(struct bf_waves *w, uint32_t signal, uint64_t time_ps, uint64_t value)
{
	struct vcd *v = (struct vcd *)w;

	if (!v->any || time_ps != v->now_ps)
		fprintf(v->changes, "#%llu\n", (unsigned long long)time_ps);
	v->any = true;
	v->now_ps = time_ps;
	put_value(v->changes, &w->signals[signal], signal, value);
	return 0;
}

/* ---- the declarations ---- */

static bool has_signals(const struct bf_waves *w, uint32_t track)
{
	for (uint32_t i = 0; i < w->nsignals; i++) {
		for (uint32_t at = w->signals[i].track; at; at = w->scopes[at].parent) {
			if (at == track)
				return true;
		}
	}
	return false;
}

static void put_scope(const struct bf_waves *w, FILE *out, uint32_t track)
{
	fprintf(out, "$scope module %s $end\n", w->scopes[track].name);
	for (uint32_t i = 0; i < w->nsignals; i++) {
		if (w->signals[i].track != track)
			continue;
		fprintf(out, "$var reg %u ", w->signals[i].bits);
		put_id(out, i);
		fprintf(out, " %s $end\n", w->signals[i].name);
	}
	for (uint32_t child = 1; child < w->nscopes; child++) {
		if (w->scopes[child].parent == track && has_signals(w, child))
			put_scope(w, out, child);
	}
	fputs("$upscope $end\n", out);
}

static int put_all(struct vcd *v, FILE *out)
{
	const struct bf_waves *w = &v->waves;
	char buf[65536];
	size_t n;

	fputs("$comment values of a Belfry trace $end\n$timescale 1 ps $end\n", out);
	for (uint32_t track = 1; track < w->nscopes; track++) {
		if (!w->scopes[track].parent && has_signals(w, track))
			put_scope(w, out, track);
	}
	fputs("$enddefinitions $end\n$dumpvars\n", out);
	for (uint32_t i = 0; i < w->nsignals; i++) {
		fputs(w->signals[i].bits == 1 ? "x" : "bx ", out);
		put_id(out, i);
		putc('\n', out);
	}
	fputs("$end\n", out);
	if (fflush(v->changes) || ferror(v->changes)) /* which rewind() would forget */
		return bf_fail(w->err, -EIO, "cannot write the waveforms aside: %s", strerror(errno));
	rewind(v->changes);
	while ((n = fread(buf, 1, sizeof(buf), v->changes)) > 0)
		fwrite(buf, 1, n, out);
	if (ferror(v->changes) || fflush(out) || ferror(out))
		return bf_fail(w->err, -EIO, "cannot write the waveforms: %s", strerror(errno));
	return 0;
}

int bf_vcd_export(struct bf_trace *t, FILE *out, struct bf_vcd_result *result, struct bf_error *err)
{
	struct vcd v = { .changes = tmpfile() };
	int rc, written = 0;

	if (!v.changes)
		return bf_fail(err, -errno, "no temporary file for the waveforms: %s", strerror(errno));
	bf_waves_init(&v.waves, change, err);
	rc = bf_timeline_read(t, NULL, &v.waves.out, err);
	if (!rc || rc == -EBADMSG)
		written = put_all(&v, out);
	if (result)
		*result = (struct bf_vcd_result){ .signals = v.waves.nsignals, .changes = v.waves.nchanges };
	fclose(v.changes);
	bf_waves_fini(&v.waves);
	return written ? written : rc;
}
