/* Topologies as text: one table of options, read both ways. */
#include "models/fabric/topology.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sim/rules_internal.h"
#include "sim/sim.h"

#define K 1024ull
#define ANY_SWITCHES (1u << BF_TOPOLOGY_LEAF_SPINE | 1u << BF_TOPOLOGY_RAIL)

enum value_kind { COUNT, RATE, TIME, SIZE, FLAG };

struct option {
	const char *name;
	enum value_kind kind;
	uint32_t kinds; /* of topologies that have it */
	size_t offset;
	uint64_t min, max, fallback;
};

static const char *const kind_names[] = { "switch", "leaf-spine", "rail" };

#define AT(field) offsetof(struct bf_topology, field)
static const struct option options[] = {
	{ "leaves", COUNT, ANY_SWITCHES, AT(leaves), 1, 1024, 2 },
	{ "rails", COUNT, 1u << BF_TOPOLOGY_RAIL, AT(rails), 1, 16, 8 },
	{ "spines", COUNT, ANY_SWITCHES, AT(spines), 0, 256, 2 },
	{ "hosts-per-leaf", COUNT, ANY_SWITCHES, AT(hosts_per_leaf), 1, 4096, 32 },
	{ "host-link", RATE, ANY_SWITCHES, AT(host_gbps), 1, 1600, 400 },
	{ "uplink", RATE, ANY_SWITCHES, AT(up_gbps), 1, 1600, 400 },
	{ "latency", TIME, ANY_SWITCHES, AT(latency_ps), BF_NS, BF_MS, 300 * BF_NS },
	{ "buffer", SIZE, ANY_SWITCHES, AT(buffer), 64 * K, K *K *K, 32 * K *K },
	{ "queue", SIZE, ANY_SWITCHES, AT(queue), 8 * K, K *K *K, 0 },
	{ "pfc", FLAG, ANY_SWITCHES, AT(pfc), 0, 1, 1 },
	{ "xoff", SIZE, ANY_SWITCHES, AT(xoff), 8 * K, K *K *K, 256 * K },
	{ "xon", SIZE, ANY_SWITCHES, AT(xon), 0, K *K *K, 128 * K },
	{ "ecn", FLAG, ANY_SWITCHES, AT(ecn), 0, 1, 1 },
	{ "kmin", SIZE, ANY_SWITCHES, AT(kmin), 0, K *K *K, 100 * K },
	{ "kmax", SIZE, ANY_SWITCHES, AT(kmax), 0, K *K *K, 400 * K },
	{ "pmax", COUNT, ANY_SWITCHES, AT(pmax), 0, 100, 20 },
	{ "cc", FLAG, ANY_SWITCHES, AT(cc), 0, 1, 0 },
	{ "detect", TIME, ANY_SWITCHES, AT(detect_ps), BF_NS, BF_S, 50 * BF_US },
};

static uint64_t get(const struct bf_topology *t, const struct option *o)
{
	const char *at = (const char *)t + o->offset;

	return o->kind == FLAG ? *(const bool *)(const void *)at : *(const uint64_t *)(const void *)at;
}

static void set(struct bf_topology *t, const struct option *o, uint64_t value)
{
	char *at = (char *)t + o->offset;

	if (o->kind == FLAG)
		*(bool *)(void *)at = value != 0;
	else
		*(uint64_t *)(void *)at = value;
}

static int parse_size(const struct bf_rule_text *p, struct bf_rule_word w, uint64_t *value)
{
	const char *start = w.at;
	uint64_t unit = 1;

	if (!bf_word_number(&w, value))
		return bf_rules_fail(p, start, "expected a size such as 256K");
	if (bf_word_take(&w, "K"))
		unit = K;
	else if (bf_word_take(&w, "M"))
		unit = K * K;
	else if (bf_word_take(&w, "G"))
		unit = K * K * K;
	if (w.len)
		return bf_rules_fail(p, w.at, "a size ends in K, M or G or in its digits");
	if (__builtin_mul_overflow(*value, unit, value))
		return bf_rules_fail(p, start, "size is out of range");
	return 0;
}

static int parse_value(const struct bf_rule_text *p, const struct option *o, struct bf_rule_word w, uint64_t *value)
{
	const char *start = w.at;

	switch (o->kind) {
	case SIZE:
		return parse_size(p, w, value);
	case TIME:
		return bf_rules_time(p, w, value);
	case FLAG:
		*value = bf_word_is(w, "on");
		return *value || bf_word_is(w, "off") ? 0 : bf_rules_fail(p, start, "expected on or off");
	case RATE:
		if (!bf_word_number(&w, value) || !bf_word_is(w, "G"))
			return bf_rules_fail(p, start, "expected gigabits a second such as 400G");
		return 0;
	case COUNT:
		if (!bf_word_number(&w, value) || w.len)
			return bf_rules_fail(p, start, "expected a number");
		return 0;
	}
	return -EINVAL;
}

static int no_option(const struct bf_rule_text *p, const struct bf_topology *t, struct bf_rule_word name)
{
	const char *names[BF_ARRAY_LEN(options)];
	size_t count = 0;
	char what[32];

	for (const struct option *o = options; o < options + BF_ARRAY_LEN(options); o++)
		if (o->kinds >> t->kind & 1)
			names[count++] = o->name;
	snprintf(what, sizeof(what), "option of '%s'", kind_names[t->kind]);
	return bf_rules_unknown(p, name, what, names, count);
}

/* One NAME=VALUE; `given` has a bit for each option seen. */
static int parse_option(const struct bf_rule_text *p, struct bf_topology *t, struct bf_rule_word w, uint32_t *given)
{
	const char *equals = memchr(w.at, '=', w.len);
	struct bf_rule_word name = { w.at, equals ? (size_t)(equals - w.at) : w.len };
	const struct option *o = options;
	uint64_t value;
	int rc;

	while (o < options + BF_ARRAY_LEN(options) && !bf_word_is(name, o->name))
		o++;
	if (o == options + BF_ARRAY_LEN(options) || !(o->kinds >> t->kind & 1))
		return no_option(p, t, name);
	if (!equals)
		return bf_rules_fail(p, w.at + w.len, "option '%s' needs '=' and a value", o->name);
	if (*given >> (o - options) & 1)
		return bf_rules_fail(p, w.at, "option '%s' is given twice", o->name);
	*given |= 1u << (o - options);
	rc = parse_value(p, o, (struct bf_rule_word){ equals + 1, w.len - name.len - 1 }, &value);
	if (rc)
		return rc;
	if (value < o->min || value > o->max)
		return bf_rules_fail(p, equals + 1, "'%s' is out of range (%" PRIu64 " to %" PRIu64 ")", o->name,
				     o->min, o->max);
	set(t, o, value);
	return 0;
}

/* What options say together. NULL, or what is wrong. */
static const char *contradiction(const struct bf_topology *t)
{
	if (t->kind == BF_TOPOLOGY_SWITCH)
		return NULL;
	if (!t->spines && t->leaves > 1)
		return "without spines nothing joins the leaves: leaves must be 1";
	if (t->leaves * t->rails > 1024)
		return "more than 1024 leaves in all";
	if (t->xon > t->xoff)
		return "xon is above xoff";
	if (t->kmin > t->kmax)
		return "kmin is above kmax";
	if (t->queue > t->buffer)
		return "queue is larger than buffer";
	if (t->cc && !t->ecn)
		return "cc without ecn: nothing would be marked";
	if (t->detect_ps < t->latency_ps)
		return "detect is below latency";
	if (t->pfc && t->xoff > t->buffer)
		return "xoff is larger than buffer";
	return NULL;
}

static void set_defaults(struct bf_topology *t)
{
	for (size_t i = 0; i < BF_ARRAY_LEN(options); i++)
		set(t, &options[i], options[i].kinds >> t->kind & 1 ? options[i].fallback : 0);
	if (t->kind == BF_TOPOLOGY_LEAF_SPINE)
		t->rails = 1;
	if (t->kind == BF_TOPOLOGY_RAIL)
		t->leaves = 1;
}

int bf_topology_parse(const char *text, struct bf_topology *out, struct bf_error *err)
{
	struct bf_rule_text p = { .what = "topology", .text = text ? text : "", .at = text ? text : "", .err = err };
	struct bf_topology t = { 0 };
	uint32_t given = 0, kind = 0;
	struct bf_rule_word w = bf_rules_word(&p);
	const char *wrong, *start = w.at;
	int rc;

	*out = (struct bf_topology){ 0 };
	while (w.len && kind < BF_ARRAY_LEN(kind_names) && !bf_word_is(w, kind_names[kind]))
		kind++;
	if (kind == BF_ARRAY_LEN(kind_names))
		return bf_rules_fail(&p, w.at, "'%.*s' is not a topology: switch, leaf-spine or rail",
				     (int)(w.len < 40 ? w.len : 40), w.at);
	t.kind = (enum bf_topology_kind)kind;
	set_defaults(&t);
	while (w.len && (w = bf_rules_word(&p)).len) {
		rc = parse_option(&p, &t, w, &given);
		if (rc)
			return rc;
	}
	if (*p.at)
		return bf_rules_fail(&p, p.at, "a topology is one line");
	if (!t.queue)
		t.queue = t.buffer / 4;
	wrong = contradiction(&t);
	if (wrong)
		return bf_rules_fail(&p, start, "%s", wrong);
	*out = t;
	return 0;
}

struct text {
	char *buf;
	size_t cap, len;
};

static void BF_PRINTF(2, 3) add(struct text *out, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(out->len < out->cap ? out->buf + out->len : NULL, out->len < out->cap ? out->cap - out->len : 0,
		      fmt, args);
	va_end(args);
	out->len += n > 0 ? (size_t)n : 0;
}

size_t bf_topology_describe(const struct bf_topology *t, char *buf, size_t cap)
{
	struct text out = { buf, cap, 0 };

	add(&out, "%s", kind_names[t->kind]);
	for (const struct option *o = options; o < options + BF_ARRAY_LEN(options); o++) {
		if (!(o->kinds >> t->kind & 1))
			continue;
		if (o->kind == FLAG)
			add(&out, " %s=%s", o->name, get(t, o) ? "on" : "off");
		else
			add(&out, " %s=%" PRIu64 "%s", o->name, get(t, o),
			    o->kind == RATE   ? "G"
			    : o->kind == TIME ? "ps"
					      : "");
	}
	return out.len;
}

uint32_t bf_topology_hosts(const struct bf_topology *t)
{
	return t->kind == BF_TOPOLOGY_SWITCH ? UINT32_MAX : (uint32_t)(t->leaves * t->hosts_per_leaf);
}
