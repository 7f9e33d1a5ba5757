/* The changes go to a temporary file first: the declarations, which stand before them, are known only at the end. */
#include "traces/export/vcd.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct scope {
	uint32_t parent;
	char name[64];
};

struct signal {
	uint32_t track, bits;
	uint64_t last;
	bool known;
	char name[64];
};

struct vcd {
	struct bf_timeline_out out;
	struct bf_error *err;
	FILE *changes;
	struct scope *scopes; /* by number of their track, from 1 */
	struct signal *signals;
	uint32_t nscopes, nsignals;
	uint64_t now_ps, nchanges;
	bool any;
};

/* Names are words: what separates the parts of an actor's name stays readable. */
void bf_vcd_name(const char *name, char *out, size_t cap)
{
	size_t i = 0;

	for (; name[i] && i + 1 < cap; i++)
		out[i] = isalnum((unsigned char)name[i]) ? name[i] : '_';
	out[i] = '\0';
}

/* Identifiers are printable characters from '!' to '~', the first one least significant. */
static void put_id(FILE *out, uint32_t signal)
{
	for (uint32_t n = signal;; n = n / 94 - 1) {
		putc('!' + (int)(n % 94), out);
		if (n < 94)
			return;
	}
}

static void put_value(FILE *out, const struct signal *s, uint32_t number, uint64_t value)
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

static int add_track(struct bf_timeline_out *o, uint32_t track, uint32_t parent, const char *kind, const char *name)
{
	struct vcd *v = (struct vcd *)o;
	struct scope *more = realloc(v->scopes, (track + 1) * sizeof(*more));

	(void)kind;
	if (!more)
		return bf_fail(v->err, -ENOMEM, "out of memory for the waveforms");
	v->scopes = more;
	v->nscopes = track + 1;
	v->scopes[track].parent = parent;
	bf_vcd_name(name, v->scopes[track].name, sizeof(v->scopes[track].name));
	return 0;
}

static int add_item(struct bf_timeline_out *o, const struct bf_timeline_item *item)
{
	(void)o;
	(void)item;
	return 0;
}

static int add_signal(struct bf_timeline_out *o, uint32_t signal, uint32_t track, const char *name, uint32_t bits)
{
	struct vcd *v = (struct vcd *)o;
	struct signal *more = realloc(v->signals, signal * sizeof(*more));

	if (!more)
		return bf_fail(v->err, -ENOMEM, "out of memory for the waveforms");
	v->signals = more;
	v->nsignals = signal;
	v->signals[signal - 1] = (struct signal){ .track = track, .bits = bits };
	bf_vcd_name(name, v->signals[signal - 1].name, sizeof(v->signals[signal - 1].name));
	return 0;
}

static int add_value(struct bf_timeline_out *o, uint32_t signal, uint64_t time_ps, uint64_t value)
{
	struct vcd *v = (struct vcd *)o;
	struct signal *s = &v->signals[signal - 1];

	if (s->known && s->last == value)
		return 0;
	s->known = true;
	s->last = value;
	if (!v->any || time_ps != v->now_ps)
		fprintf(v->changes, "#%llu\n", (unsigned long long)time_ps);
	v->any = true;
	v->now_ps = time_ps;
	put_value(v->changes, s, signal - 1, value);
	v->nchanges++;
	return 0;
}

/* ---- the declarations ---- */

static bool has_signals(const struct vcd *v, uint32_t track)
{
	for (uint32_t i = 0; i < v->nsignals; i++) {
		for (uint32_t at = v->signals[i].track; at; at = v->scopes[at].parent) {
			if (at == track)
				return true;
		}
	}
	return false;
}

static void put_scope(const struct vcd *v, FILE *out, uint32_t track)
{
	fprintf(out, "$scope module %s $end\n", v->scopes[track].name);
	for (uint32_t i = 0; i < v->nsignals; i++) {
		if (v->signals[i].track != track)
			continue;
		fprintf(out, "$var reg %u ", v->signals[i].bits);
		put_id(out, i);
		fprintf(out, " %s $end\n", v->signals[i].name);
	}
	for (uint32_t child = 1; child < v->nscopes; child++) {
		if (v->scopes[child].parent == track && has_signals(v, child))
			put_scope(v, out, child);
	}
	fputs("$upscope $end\n", out);
}

static int put_all(struct vcd *v, FILE *out)
{
	char buf[65536];
	size_t n;

	fputs("$comment values of a Belfry trace $end\n$timescale 1 ps $end\n", out);
	for (uint32_t track = 1; track < v->nscopes; track++) {
		if (!v->scopes[track].parent && has_signals(v, track))
			put_scope(v, out, track);
	}
	fputs("$enddefinitions $end\n$dumpvars\n", out);
	for (uint32_t i = 0; i < v->nsignals; i++) {
		fputs(v->signals[i].bits == 1 ? "x" : "bx ", out);
		put_id(out, i);
		putc('\n', out);
	}
	fputs("$end\n", out);
	rewind(v->changes);
	while ((n = fread(buf, 1, sizeof(buf), v->changes)) > 0)
		fwrite(buf, 1, n, out);
	if (ferror(v->changes) || fflush(out) || ferror(out))
		return bf_fail(v->err, -EIO, "cannot write the waveforms: %s", strerror(errno));
	return 0;
}

int bf_vcd_export(struct bf_trace *t, FILE *out, struct bf_vcd_result *result, struct bf_error *err)
{
	struct vcd v = {
		.out = { .track = add_track, .item = add_item, .signal = add_signal, .value = add_value },
		.err = err,
		.changes = tmpfile(),
	};
	int rc, written = 0;

	if (!v.changes)
		return bf_fail(err, -errno, "no temporary file for the waveforms: %s", strerror(errno));
	rc = bf_timeline_read(t, NULL, &v.out, err);
	if (!rc || rc == -EBADMSG)
		written = put_all(&v, out);
	if (result)
		*result = (struct bf_vcd_result){ .signals = v.nsignals, .changes = v.nchanges };
	fclose(v.changes);
	free(v.scopes);
	free(v.signals);
	return written ? written : rc;
}
