/*
 * Following one entry through a record stream. What happens before the device has fetched the entry is kept aside until
 * a doorbell record covers it; from then on the queue pair, the counter and the packet sequence numbers tell which
 * records are its own.
 */
#include "traces/life.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

#include "traces/life_internal.h"

#define MAX_STEPS 4096u

/* ---- steps ---- */

struct bf_life_step bf_life_make(const struct bf_life_view *v, enum bf_life_place place, const char *what,
				 const char *fmt, ...)
{
	struct bf_life_step s = { .time_ps = v->time_ps, .place = place, .what = what };
	const char *dot = strchr(v->actor, '.');
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s.text, sizeof(s.text), fmt, ap);
	va_end(ap);
	if (place != BF_LIFE_SOFTWARE && place != BF_LIFE_CAPTURE)
		snprintf(s.device, sizeof(s.device), "%.*s", (int)(dot ? dot - v->actor : (int)strlen(v->actor)),
			 v->actor);
	return s;
}

void bf_life_push(struct bf_life *l, struct bf_life_step s)
{
	if (l->nsteps == MAX_STEPS)
		return;
	if (l->nsteps == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 32;
		struct bf_life_step *steps = realloc(l->steps, cap * sizeof(*steps));

		if (!steps) {
			l->status = -ENOMEM;
			return;
		}
		l->steps = steps;
		l->cap = cap;
	}
	if (s.place == BF_LIFE_REMOTE)
		s.far = true;
	if (strcmp(s.device, l->device) != 0)
		s.far = false; /* another device: its name says so */
	l->steps[l->nsteps++] = s;
}

void bf_life_detail(struct bf_life *l, struct bf_life_step s)
{
	s.detail = true;
	bf_life_push(l, s);
}

uint64_t bf_life_get(const struct bf_life_view *v, const char *name)
{
	const struct bf_rec_field *f = bf_schema_field(v->type, name);

	return f ? bf_field_u64(f, v->fixed) : 0;
}

/* The name of an ENUM field's value, or its number. */
const char *bf_life_get_name(const struct bf_life_view *v, const char *name, char *buf, size_t cap)
{
	const struct bf_rec_field *f = bf_schema_field(v->type, name);
	size_t len = 0;
	const char *text = f ? bf_field_enum_name(f, bf_field_u64(f, v->fixed), &len) : NULL;

	if (text)
		snprintf(buf, cap, "%.*s", (int)len, text);
	else
		snprintf(buf, cap, "%" PRIu64, bf_life_get(v, name));
	return buf;
}

const char *bf_life_get_text(const struct bf_life_view *v, const char *name, char *buf, size_t cap)
{
	const struct bf_rec_field *f = bf_schema_field(v->type, name);

	buf[0] = '\0';
	if (f && f->kind == BF_FIELD_TEXT) {
		const char *text = (const char *)v->fixed + f->offset;
		int n = (int)strnlen(text, f->size);
		bool cut = n + 1 >= f->size; /* the field had no room for more */

		while (cut && n > 0 && text[n - 1] == ' ')
			n--;
		snprintf(buf, cap, "%.*s%s", n, text, cut ? "..." : "");
	}
	return buf;
}

static bool belongs(const char *actor, const char *device)
{
	size_t n = strlen(device);

	return n == 0 || (strncmp(actor, device, n) == 0 && (actor[n] == '.' || actor[n] == '\0'));
}

bool bf_life_from_device(const struct bf_life *l, const char *actor)
{
	return belongs(actor, l->device);
}

bool bf_life_from_far(const struct bf_life *l, const char *actor)
{
	return belongs(actor, l->far_device);
}

bool bf_life_is_own(const struct bf_life *l, const struct bf_life_view *v)
{
	return bf_life_get(v, "qpn") == l->qpn && bf_life_from_device(l, v->actor);
}

bool bf_life_is_far(const struct bf_life *l, const struct bf_life_view *v)
{
	return l->has_remote && bf_life_get(v, "qpn") == l->remote_qpn && bf_life_from_far(l, v->actor) &&
	       !bf_life_is_own(l, v);
}

bool bf_life_is_mine(const struct bf_life *l, const struct bf_life_view *v)
{
	return bf_life_is_own(l, v) && (uint16_t)bf_life_get(v, "index") == l->index;
}

bool bf_life_psn_is_mine(const struct bf_life *l, uint32_t psn)
{
	uint32_t n = l->npsn ? l->npsn : 1;

	return l->stage >= BF_LIFE_STAGE_STARTED && ((psn - l->psn) & BF_LIFE_PSN_MASK) < n;
}

/* ---- records in ---- */

static void feed(struct bf_life *l, const struct bf_life_view *v)
{
	static const struct {
		const char *type;
		void (*on)(struct bf_life *l, const struct bf_life_view *v);
	} handlers[] = {
		{ "capture_qp", bf_life_on_capture_qp },
		{ "capture_doorbell", bf_life_on_capture_doorbell },
		{ "capture_wqe", bf_life_on_capture_wqe },
		{ "doorbell", bf_life_on_doorbell },
		{ "dbrec", bf_life_on_dbrec },
		{ "dc_wqe", bf_life_on_dc_wqe },
		{ "wqe_fetch", bf_life_on_fetch },
		{ "wqe_start", bf_life_on_start },
		{ "dc_connection", bf_life_on_dc_connection },
		{ "dc_context", bf_life_on_dc_context },
		{ "dc_cnak", bf_life_on_dc_cnak },
		{ "packet", bf_life_on_packet },
		{ "retransmit", bf_life_on_retransmit },
		{ "mkey_error", bf_life_on_mkey_error },
		{ "qp_error", bf_life_on_qp_error },
		{ "qp_state", bf_life_on_qp_state },
		{ "recv_wqe_fetch", bf_life_on_recv_fetch },
		{ "request_done", bf_life_on_request_done },
		{ "nak_sent", bf_life_on_nak_sent },
		{ "wqe_done", bf_life_on_done },
		{ "cqe", bf_life_on_cqe },
		{ "capture_cqe", bf_life_on_capture_cqe },
	};

	l->last_ps = v->time_ps;
	if (strncmp(v->type->name, "capture_", 8) == 0) {
		l->capture_ps = v->time_ps;
		l->capture_line = bf_life_get(v, "line");
	} else {
		l->ran = true;
	}
	for (size_t i = 0; i < BF_ARRAY_LEN(handlers); i++) {
		if (strcmp(v->type->name, handlers[i].type) == 0) {
			handlers[i].on(l, v);
			return;
		}
	}
}

static int declare_type(struct bf_sink *s, const struct bf_rec_schema *schema)
{
	struct bf_life *l = (struct bf_life *)s;

	if (schema->id < BF_LIFE_TYPES)
		l->types[schema->id] = schema;
	return 0;
}

static int declare_actor(struct bf_sink *s, uint32_t actor, const char *kind, const char *name)
{
	struct bf_life *l = (struct bf_life *)s;

	(void)kind;
	if (actor >= l->nactors) {
		size_t n = (size_t)actor + 16;
		char(*actors)[48] = realloc(l->actors, n * sizeof(*actors));

		if (!actors)
			return -ENOMEM;
		memset(actors + l->nactors, 0, (n - l->nactors) * sizeof(*actors));
		l->actors = actors;
		l->nactors = n;
	}
	snprintf(l->actors[actor], sizeof(*l->actors), "%s", name);
	return 0;
}

static int write_records(struct bf_sink *s, const void *records, size_t len)
{
	struct bf_life *l = (struct bf_life *)s;
	const uint8_t *p = records, *end = p + len;

	while (p < end) {
		const struct bf_rec_header *head = (const void *)p;
		const struct bf_rec_schema *type = head->type < BF_LIFE_TYPES ? l->types[head->type] : NULL;

		if (type) {
			struct bf_life_view v = {
				.time_ps = head->time_ps,
				.actor = head->actor < l->nactors ? l->actors[head->actor] : "-",
				.type = type,
				.fixed = p + sizeof(*head),
				.tail = p + sizeof(*head) + head->fixed,
				.tail_len = head->tail,
			};

			feed(l, &v);
		}
		p += bf_record_span(head);
	}
	return l->status;
}

int bf_life_read(struct bf_life *l, struct bf_trace *t)
{
	struct bf_trace_record rec;
	int rc, first = 0;

	while ((rc = bf_trace_next(t, &rec)) != 0) {
		if (rc < 0) {
			first = first ? first : rc;
			continue;
		}
		struct bf_life_view v = {
			.time_ps = rec.time_ps,
			.actor = bf_trace_actor_name(t, rec.actor),
			.type = rec.type,
			.fixed = rec.fixed,
			.tail = rec.tail,
			.tail_len = rec.tail_len,
		};

		feed(l, &v);
	}
	bf_life_finish(l);
	return l->status ? l->status : first;
}

bool bf_life_never_ran(const struct bf_life *l)
{
	return l->capture_line && !l->ran;
}

void bf_life_finish(struct bf_life *l)
{
	bf_life_on_end(l);
}

int bf_life_create(const char *device, uint32_t qpn, uint16_t index, struct bf_life **out)
{
	struct bf_life *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->sink =
	    (struct bf_sink){ .declare_type = declare_type, .declare_actor = declare_actor, .write = write_records };
	snprintf(l->device, sizeof(l->device), "%s", device ? device : "");
	l->qpn = qpn;
	l->index = index;
	*out = l;
	return 0;
}

void bf_life_free(struct bf_life *l)
{
	if (!l)
		return;
	free(l->steps);
	free(l->packets);
	free(l->actors);
	free(l);
}

struct bf_sink *bf_life_sink(struct bf_life *l)
{
	return &l->sink;
}

const struct bf_life_step *bf_life_steps(const struct bf_life *l, size_t *count)
{
	*count = l->nsteps;
	return l->steps;
}
