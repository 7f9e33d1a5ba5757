/*
 * Options with NVSHMEM's names: one table says what there is, what it may be and where it goes; then reading, then
 * writing.
 */
#include "drivers/ibgda/env.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sim/compiler.h"

#define QP_DEPTH_MIN 128
#define QP_DEPTH_MAX 32768
#define WARP 32
#define VALUE_MAX 1024u

enum kind { BOOL, INT, POWER, DEPTH, WORD, PREFIX, LIST, MAPPING };

static const char *const map_words[] = { "cta", "sm", "warp", "dct", NULL };
static const char *const rc_map_words[] = { "cta", "sm", "warp", NULL };
static const char *const memtype_words[] = { "gpumem", "hostmem", NULL };
static const char *const handler_words[] = { "auto", "gpu", "cpu", "cpu_host_memory", NULL };

/* How the values of bf_ibgda_env_options[i] are read. Same order. */
static const struct reading {
	enum kind kind;
	size_t offset;
	int32_t def, min, max;
	const char *const *words;
} readings[] = {
#define AT(field) offsetof(struct bf_ibgda_env, field)
	{ BOOL, AT(ib_enable_ibgda), 0, 0, 1, NULL },
	{ BOOL, AT(ibgda_enable_multi_port), 0, 0, 1, NULL },
	{ BOOL, AT(enable_nic_pe_mapping), 0, 0, 1, NULL },
	{ BOOL, AT(disable_ib_native_atomics), 0, 0, 1, NULL },
	{ BOOL, AT(ib_enable_relaxed_ordering), 1, 0, 1, NULL },
	{ INT, AT(ib_gid_index), -1, -1, 255, NULL },
	{ INT, AT(ib_traffic_class), 0, 0, 255, NULL },
	{ INT, AT(ib_sl), 0, 0, 7, NULL },
	{ INT, AT(ibgda_num_dct), 2, 1, 1024, NULL },
	{ INT, AT(ibgda_num_dci), 1, INT_MIN, 65536, NULL },
	{ INT, AT(ibgda_num_shared_dci), 1, 1, 65536, NULL },
	{ INT, AT(ibgda_num_rc_per_pe), 2, 0, 1024, NULL },
	{ POWER, AT(ibgda_num_requests_in_batch), 32, 1, QP_DEPTH_MAX, NULL },
	{ POWER, AT(ibgda_num_fetch_slots_per_dci), 1024, WARP, 1 << 20, NULL },
	{ POWER, AT(ibgda_num_fetch_slots_per_rc), 1024, WARP, 1 << 20, NULL },
	{ DEPTH, AT(qp_depth), 1024, 1, 1 << 20, NULL },
	{ INT, AT(srq_depth), 16384, 1, 1 << 20, NULL },
	{ WORD, AT(ibgda_dci_map_by), BF_IBGDA_MAP_BY_CTA, 0, 0, map_words },
	{ WORD, AT(ibgda_rc_map_by), BF_IBGDA_MAP_BY_CTA, 0, 0, rc_map_words },
	{ WORD, AT(ibgda_force_nic_buf_memtype), BF_IBGDA_MEMTYPE_GPU, 0, BF_IBGDA_MEMTYPE_AUTO, memtype_words },
	{ WORD, AT(ibgda_nic_handler), BF_IBGDA_HANDLER_AUTO, 0, 0, handler_words },
	{ PREFIX, AT(hca_prefix), 0, 0, 0, NULL },
	{ LIST, AT(hca_list), 0, 0, 0, NULL },
	{ MAPPING, AT(hca_pe_mapping), 0, 0, 0, NULL },
#undef AT
};

const struct bf_ibgda_env_option bf_ibgda_env_options[] = {
	{ "IB_ENABLE_IBGDA", "yes or no", "no", "start this transport" },
	{ "IBGDA_ENABLE_MULTI_PORT", "yes or no", "no", "several NICs or ports for each PE" },
	{ "ENABLE_NIC_PE_MAPPING", "yes or no", "no", "deal NICs out to PEs in turn, or as the next lists say" },
	{ "DISABLE_IB_NATIVE_ATOMICS", "yes or no", "no", "do without the NIC's atomics; IBGDA cannot" },
	{ "IB_ENABLE_RELAXED_ORDERING", "yes or no", "yes", "let the NIC's writes pass each other on PCIe" },
	{ "IB_GID_INDEX", "-1 to 255", "-1", "source address of RoCE; -1: found by itself" },
	{ "IB_TRAFFIC_CLASS", "0 to 255", "0", "traffic class of RoCE" },
	{ "IB_SL", "0 to 7", "0", "service level" },
	{ "IBGDA_NUM_DCT", "1 or more", "2", "DC targets of each PE" },
	{ "IBGDA_NUM_DCI", "a number; 0 or less: automatic", "1", "DC initiators of each PE" },
	{ "IBGDA_NUM_SHARED_DCI", "1 to IBGDA_NUM_DCI", "1", "initiators of them that all threads share" },
	{ "IBGDA_NUM_RC_PER_PE", "0 or more", "2", "reliable connections to each other PE" },
	{ "IBGDA_NUM_REQUESTS_IN_BATCH", "1 or more", "32", "requests for one doorbell" },
	{ "IBGDA_NUM_FETCH_SLOTS_PER_DCI", "32 or more", "1024", "results that an initiator may wait for" },
	{ "IBGDA_NUM_FETCH_SLOTS_PER_RC", "32 or more", "1024", "results that a connection may wait for" },
	{ "QP_DEPTH", "1 or more", "1024", "blocks in a send ring; brought into 128 to 32768" },
	{ "SRQ_DEPTH", "1 or more", "16384", "receives in a target's shared queue" },
	{ "IBGDA_DCI_MAP_BY", "cta, sm, warp, dct", "cta", "what picks an initiator" },
	{ "IBGDA_RC_MAP_BY", "cta, sm, warp", "cta", "what picks a connection" },
	{ "IBGDA_FORCE_NIC_BUF_MEMTYPE", "gpumem, hostmem", "gpumem", "where rings lie; other words: found out" },
	{ "IBGDA_NIC_HANDLER", "auto, gpu, cpu, cpu_host_memory", "auto", "who rings doorbells" },
	{ "HCA_PREFIX", "a name's beginning", "^smi", "use only NICs named so; ^: only others" },
	{ "HCA_LIST", "name[:port],...", "", "NICs to use; ^ in front: not to use" },
	{ "HCA_PE_MAPPING", "name:port:count,...", "", "which NIC serves how many PEs in a row" },
	{ NULL, NULL, NULL, NULL },
};

#define OPTIONS BF_ARRAY_LEN(readings)
BF_STATIC_ASSERT(BF_ARRAY_LEN(bf_ibgda_env_options) == OPTIONS + 1, "both tables list the same options");

/* Options of NVSHMEM's host side and of other transports, as they stand in job scripts beside ours. */
static const char *const dropped[] = {
	"BOOTSTRAP",
	"BOOTSTRAP_UID_SOCK_IFNAME",
	"CUMEM_GRANULARITY",
	"DEBUG",
	"DEBUG_SUBSYS",
	"DISABLE_CUDA_VMM",
	"DISABLE_DATA_DIRECT",
	"DISABLE_GDRCOPY",
	"DISABLE_P2P",
	"DISABLE_LOCAL_ONLY_PROXY",
	"GPUNETIO_ENABLE_GDAKI",
	"IB_ADDR_FAMILY",
	"IB_ADDR_RANGE",
	"IB_DISABLE_DMABUF",
	"IB_NUM_RC_PER_DEVICE",
	"IB_ROCE_VERSION_NUM",
	"INFO",
	"LIBFABRIC_MAX_NIC_PER_PE",
	"LIBFABRIC_PROVIDER",
	"MAX_TEAMS",
	"REMOTE_TRANSPORT",
	"SYMMETRIC_SIZE",
	"VERSION",
};

static int32_t *number_at(struct bf_ibgda_env *env, const struct reading *r)
{
	return (int32_t *)(void *)((char *)env + r->offset);
}

void bf_ibgda_env_init(struct bf_ibgda_env *env)
{
	*env = (struct bf_ibgda_env){ .hca_prefix = "^smi" };
	for (size_t i = 0; i < OPTIONS; i++)
		if (readings[i].kind < PREFIX)
			*number_at(env, &readings[i]) = readings[i].def;
}

/* ---- reading ---- */

struct pair {
	const char *name; /* without "NVSHMEM_" */
	size_t name_len;
	char value[VALUE_MAX];
	unsigned line;
	struct bf_error *err;
};

static int bad(const struct pair *p, const char *wants)
{
	return bf_fail(p->err, -EINVAL, "line %u: %.*s=%.60s: must be %s", p->line, (int)p->name_len, p->name, p->value,
		       wants);
}

static int read_bool(const struct pair *p, int32_t *out)
{
	static const char *const words[] = { "0", "1", "no", "yes", "off", "on", "false", "true", "n", "y" };

	for (size_t i = 0; i < BF_ARRAY_LEN(words); i++) {
		if (strcasecmp(p->value, words[i]))
			continue;
		*out = (int32_t)(i & 1);
		return 0;
	}
	return bad(p, "yes or no");
}

static int read_int(const struct pair *p, const struct reading *r, int32_t *out)
{
	char *end;
	char wants[48];
	long v;

	errno = 0;
	v = strtol(p->value, &end, 0);
	if (end == p->value || *end || errno || v < r->min || v > r->max) {
		snprintf(wants, sizeof(wants), "a number from %d to %d", r->min, r->max);
		return bad(p, wants);
	}
	*out = (int32_t)v;
	return 0;
}

static int32_t power_from(int32_t v)
{
	int32_t n = 1;

	while (n < v)
		n <<= 1;
	return n;
}

static int read_number(const struct pair *p, const struct reading *r, int32_t *out)
{
	int rc = read_int(p, r, out);

	if (rc || r->kind == INT)
		return rc;
	*out = power_from(*out);
	if (r->kind == DEPTH)
		*out = *out < QP_DEPTH_MIN ? QP_DEPTH_MIN : *out > QP_DEPTH_MAX ? QP_DEPTH_MAX : *out;
	return 0;
}

static int read_word(const struct pair *p, const struct reading *r, const char *values, int32_t *out)
{
	for (int32_t i = 0; r->words[i]; i++) {
		if (strcasecmp(p->value, r->words[i]))
			continue;
		*out = i;
		return 0;
	}
	if (!r->max)
		return bad(p, values);
	*out = r->max; /* any other word */
	return 0;
}

static int read_prefix(const struct pair *p, char out[24])
{
	const size_t len = strlen(p->value);

	if (!len || len >= 24)
		return bad(p, "1 to 23 characters");
	memset(out, 0, 24);
	memcpy(out, p->value, len);
	return 0;
}

/* A number of at most `max` behind a colon; `at` moves behind it. */
static int read_part(const char **at, uint32_t max, uint32_t *out)
{
	uint64_t v = 0;
	const char *p = *at;

	if (*p++ != ':' || !isdigit((unsigned char)*p))
		return -EINVAL;
	while (isdigit((unsigned char)*p) && v <= max)
		v = v * 10 + (uint64_t)(*p++ - '0');
	if (v > max)
		return -EINVAL;
	*at = p;
	*out = (uint32_t)v;
	return 0;
}

static int read_hca(const char **at, bool mapping, struct bf_ibgda_hca *out)
{
	const size_t len = strcspn(*at, ":,");
	int rc = 0;

	*out = (struct bf_ibgda_hca){ .port = 0 };
	if (!len || len >= sizeof(out->name))
		return -EINVAL;
	memcpy(out->name, *at, len);
	*at += len;
	if (mapping || **at == ':')
		rc = read_part(at, 255, &out->port);
	if (!rc && mapping)
		rc = read_part(at, 4096, &out->count);
	if (rc || (mapping && (!out->port || !out->count)) || (**at && **at != ','))
		return -EINVAL;
	*at += **at == ',';
	return 0;
}

static int read_hcas(const struct pair *p, bool mapping, struct bf_ibgda_hcas *out)
{
	struct bf_ibgda_hcas list = { .count = 0 };
	const char *at = p->value;

	if (!mapping && *at == '^') {
		list.exclude = true;
		at++;
	}
	while (*at) {
		if (list.count == BF_IBGDA_HCAS_MAX)
			return bad(p, "a list of at most 32 NICs");
		if (read_hca(&at, mapping, &list.entry[list.count++]))
			return bad(p, mapping ? "name:port:count,... with ports and counts from 1 on"
					      : "name,... or name:port,..., all with ^ in front or none");
	}
	*out = list;
	return 0;
}

static int read_value(struct bf_ibgda_env *env, const struct pair *p, size_t option)
{
	const struct reading *r = &readings[option];
	void *at = (char *)env + r->offset;

	switch (r->kind) {
	case BOOL:
		return read_bool(p, at);
	case WORD:
		return read_word(p, r, bf_ibgda_env_options[option].values, at);
	case PREFIX:
		return read_prefix(p, at);
	case LIST:
	case MAPPING:
		return read_hcas(p, r->kind == MAPPING, at);
	case INT:
	case POWER:
	case DEPTH:
	default:
		return read_number(p, r, at);
	}
}

static bool named(const struct pair *p, const char *name)
{
	return strlen(name) == p->name_len && !memcmp(name, p->name, p->name_len);
}

static int read_pair(struct bf_ibgda_env *env, const struct pair *p)
{
	int rc;

	for (size_t i = 0; i < OPTIONS; i++) {
		if (!named(p, bf_ibgda_env_options[i].name))
			continue;
		rc = read_value(env, p, i);
		if (!rc)
			env->set |= 1ull << i;
		return rc;
	}
	for (size_t i = 0; i < BF_ARRAY_LEN(dropped); i++)
		if (named(p, dropped[i]))
			return 0;
	return bf_fail(p->err, -EINVAL, "line %u: '%.*s' is not an option of this transport", p->line,
		       (int)(p->name_len < 40 ? p->name_len : 40), p->name);
}

/* Takes one word of the text apart. */
static int read_text(struct bf_ibgda_env *env, const char *word, size_t len, struct pair *p)
{
	static const char prefix[] = "NVSHMEM_";
	const char *equals = memchr(word, '=', len);
	size_t value_len;

	if (!equals && len == 6 && !memcmp(word, "export", 6))
		return 0;
	if (!equals)
		return bf_fail(p->err, -EINVAL, "line %u: '%.*s': must be NAME=VALUE", p->line,
			       (int)(len < 40 ? len : 40), word);
	p->name = word;
	p->name_len = (size_t)(equals - word);
	if (p->name_len > strlen(prefix) && !memcmp(word, prefix, strlen(prefix))) {
		p->name += strlen(prefix);
		p->name_len -= strlen(prefix);
	}
	value_len = len - (size_t)(equals + 1 - word);
	if (value_len >= sizeof(p->value) || memchr(equals, '\0', value_len + 1))
		return bf_fail(p->err, -EINVAL, "line %u: the value of %.*s is too long or no text", p->line,
			       (int)(p->name_len < 40 ? p->name_len : 40), p->name);
	memcpy(p->value, equals + 1, value_len);
	p->value[value_len] = '\0';
	return read_pair(env, p);
}

int bf_ibgda_env_parse(struct bf_ibgda_env *env, const char *text, size_t len, struct bf_error *err)
{
	struct pair p = { .line = 1, .err = err };
	size_t at = 0;
	int rc;

	while (at < len) {
		const size_t from = at;

		if (isspace((unsigned char)text[at])) {
			p.line += text[at++] == '\n';
			continue;
		}
		if (text[at] == '#') {
			while (at < len && text[at] != '\n')
				at++;
			continue;
		}
		while (at < len && !isspace((unsigned char)text[at]))
			at++;
		rc = read_text(env, text + from, at - from, &p);
		if (rc)
			return rc;
	}
	return 0;
}

/* ---- writing ---- */

struct out {
	char *buf;
	size_t cap, used;
};

static void BF_PRINTF(2, 3) put(struct out *o, const char *fmt, ...)
{
	const size_t left = o->used < o->cap ? o->cap - o->used : 0;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(left ? o->buf + o->used : NULL, left, fmt, ap);
	va_end(ap);
	o->used += n > 0 ? (size_t)n : 0;
}

static void put_hcas(struct out *o, const struct bf_ibgda_hcas *l)
{
	put(o, "%s", l->exclude ? "^" : "");
	for (uint32_t i = 0; i < l->count; i++) {
		put(o, "%s%s", i ? "," : "", l->entry[i].name);
		if (l->entry[i].port)
			put(o, ":%u", l->entry[i].port);
		if (l->entry[i].count)
			put(o, ":%u", l->entry[i].count);
	}
}

static void put_value(struct out *o, const struct bf_ibgda_env *env, const struct reading *r)
{
	const void *at = (const char *)env + r->offset;

	switch (r->kind) {
	case WORD:
		put(o, "%s", r->max && *(const int32_t *)at == r->max ? "auto" : r->words[*(const int32_t *)at]);
		break;
	case PREFIX:
		put(o, "%s", (const char *)at);
		break;
	case LIST:
	case MAPPING:
		put_hcas(o, at);
		break;
	case BOOL:
	case INT:
	case POWER:
	case DEPTH:
	default:
		put(o, "%d", *(const int32_t *)at);
		break;
	}
}

size_t bf_ibgda_env_print(const struct bf_ibgda_env *env, char *buf, size_t cap)
{
	struct out o = { .buf = buf, .cap = cap };

	if (cap)
		buf[0] = '\0';
	for (size_t i = 0; i < OPTIONS; i++) {
		if (!(env->set >> i & 1))
			continue;
		put(&o, "%s=", bf_ibgda_env_options[i].name);
		put_value(&o, env, &readings[i]);
		put(&o, "\n");
	}
	return o.used;
}
