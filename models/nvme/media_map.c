/* The error map: its text form and what it does to commands. media.h describes both. */
#include "models/nvme/media.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/nvme/prm.h"
#include "sim/sim.h"

enum rule_kind { READ_ERROR, WRITE_ERROR, SLOW };

struct rule {
	uint64_t first, last; /* blocks */
	uint64_t left;        /* commands */
	uint64_t delay_ps;
	uint32_t nsid; /* 0: all */
	enum rule_kind kind;
};

struct bf_nvme_error_map {
	uint32_t count, cap;
	struct rule *rules;
};

/* The text being parsed, and a word of it. */
struct parser {
	const char *text, *at;
	struct bf_error *err;
};

struct word {
	const char *at;
	size_t len;
};

static int BF_PRINTF(3, 4) parse_error(const struct parser *p, const char *where, const char *fmt, ...)
{
	unsigned int line = 1, column = 1;
	char reason[160];
	va_list args;

	for (const char *c = p->text; c < where; c++) {
		column = *c == '\n' ? 1 : column + 1;
		line += *c == '\n';
	}
	va_start(args, fmt);
	vsnprintf(reason, sizeof(reason), fmt, args);
	va_end(args);
	return bf_fail(p->err, -EINVAL, "error map: line %u, column %u: %s", line, column, reason);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static bool ends_rule(char c)
{
	return c == '\0' || c == '\n' || c == ';' || c == '#';
}

/* The next word of the current rule; length 0 at its end. */
static struct word next_word(struct parser *p)
{
	struct word w;

	while (is_blank(*p->at))
		p->at++;
	for (w.at = p->at; !is_blank(*p->at) && !ends_rule(*p->at); p->at++)
		;
	w.len = (size_t)(p->at - w.at);
	return w;
}

/* Takes `prefix` off the word. */
static bool take(struct word *w, const char *prefix)
{
	const size_t n = strlen(prefix);

	if (w->len < n || memcmp(w->at, prefix, n) != 0)
		return false;
	w->at += n;
	w->len -= n;
	return true;
}

/* Takes a number off the word. */
static bool take_number(struct word *w, uint64_t *value)
{
	const unsigned int base = w->len > 2 && (take(w, "0x") || take(w, "0X")) ? 16 : 10;
	const char *start = w->at;
	int digit;

	for (*value = 0; w->len; w->at++, w->len--) {
		digit = bf_hex_digit(*w->at);
		if (digit < 0 || digit >= (int)base)
			break;
		if (__builtin_mul_overflow(*value, base, value) ||
		    __builtin_add_overflow(*value, (uint64_t)digit, value))
			return false;
	}
	return w->at != start;
}

static int parse_time(const struct parser *p, struct word w, uint64_t *ps)
{
	static const struct {
		const char *name;
		uint64_t ps;
	} units[] = { { "ps", BF_PS }, { "ns", BF_NS }, { "us", BF_US }, { "ms", BF_MS }, { "s", BF_S } };
	const char *start = w.at;
	uint64_t n;

	if (!take_number(&w, &n))
		return parse_error(p, start, "expected a time such as 20us");
	for (size_t i = 0; i < BF_ARRAY_LEN(units); i++) {
		if (strlen(units[i].name) != w.len || memcmp(units[i].name, w.at, w.len) != 0)
			continue;
		if (__builtin_mul_overflow(n, units[i].ps, ps))
			return parse_error(p, start, "time is out of range");
		return 0;
	}
	return parse_error(p, w.at, "expected a unit: ps, ns, us, ms or s");
}

static int parse_kind(const struct parser *p, struct word w, struct rule *r)
{
	struct word rest = w;

	if (take(&rest, "slow=")) {
		r->kind = SLOW;
		return parse_time(p, rest, &r->delay_ps);
	}
	if (take(&rest, "read-error"))
		r->kind = READ_ERROR;
	else if (take(&rest, "write-error"))
		r->kind = WRITE_ERROR;
	else
		rest.len = 1;
	if (rest.len)
		return parse_error(p, w.at, "'%.*s' is no kind of error (read-error, write-error, slow=TIME)",
				   (int)(w.len < 40 ? w.len : 40), w.at);
	return 0;
}

static int parse_blocks(const struct parser *p, struct word w, struct rule *r)
{
	const char *start = w.at;

	if (!take_number(&w, &r->first))
		return parse_error(p, start, "expected a block number or a range of them");
	r->last = r->first;
	if (w.len && take(&w, "-") && !take_number(&w, &r->last))
		return parse_error(p, w.at, "expected the last block's number");
	if (w.len)
		return parse_error(p, w.at, "expected the end of the range");
	if (r->last < r->first)
		return parse_error(p, start, "range ends before it begins");
	return 0;
}

static int parse_option(const struct parser *p, struct word w, struct rule *r)
{
	const char *start = w.at;
	uint64_t n;

	if (take(&w, "count=")) {
		if (!take_number(&w, &r->left) || w.len || !r->left)
			return parse_error(p, w.at, "expected a number above 0");
		return 0;
	}
	if (!take(&w, "ns="))
		return parse_error(p, start, "expected count=N or ns=N");
	if (!take_number(&w, &n) || w.len || !n || n >= BF_NVME_NSID_ALL)
		return parse_error(p, w.at, "expected a namespace's number");
	r->nsid = (uint32_t)n;
	return 0;
}

static int parse_rule(struct parser *p, struct word kind, struct rule *r)
{
	struct word w;
	int rc;

	*r = (struct rule){ .left = UINT64_MAX };
	rc = parse_kind(p, kind, r);
	if (!rc)
		rc = parse_blocks(p, next_word(p), r);
	while (!rc && (w = next_word(p)).len)
		rc = parse_option(p, w, r);
	return rc;
}

static struct rule *new_rule(struct bf_nvme_error_map *map)
{
	if (map->count == map->cap) {
		uint32_t cap = map->cap ? map->cap * 2 : 8;
		struct rule *more = realloc(map->rules, cap * sizeof(*more));

		if (!more)
			return NULL;
		map->rules = more;
		map->cap = cap;
	}
	return &map->rules[map->count++];
}

static int parse_all(struct parser *p, struct bf_nvme_error_map *map)
{
	do {
		struct word kind = next_word(p);
		struct rule *r = kind.len ? new_rule(map) : NULL;
		int rc = 0;

		if (kind.len)
			rc = r ? parse_rule(p, kind, r) : bf_fail(p->err, -ENOMEM, "no memory for an error map");
		if (rc)
			return rc;
		if (*p->at == '#')
			while (*p->at && *p->at != '\n')
				p->at++;
	} while (*p->at++);
	return 0;
}

int bf_nvme_error_map_parse(const char *text, struct bf_error *err, struct bf_nvme_error_map **out)
{
	struct bf_nvme_error_map *map = calloc(1, sizeof(*map));
	struct parser p = { .text = text ? text : "", .err = err };
	int rc;

	*out = NULL;
	if (!map)
		return bf_fail(err, -ENOMEM, "no memory for an error map");
	p.at = p.text;
	rc = parse_all(&p, map);
	if (rc) {
		bf_nvme_error_map_destroy(map);
		return rc;
	}
	*out = map;
	return 0;
}

void bf_nvme_error_map_destroy(struct bf_nvme_error_map *map)
{
	if (map)
		free(map->rules);
	free(map);
}

bool bf_nvme_error_map_empty(const struct bf_nvme_error_map *map)
{
	return !map->count;
}

uint32_t bf_nvme_error_map_check(struct bf_nvme_error_map *map, uint32_t nsid, uint64_t slba, uint64_t blocks,
				 bool write, uint64_t *lba, uint64_t *delay_ps)
{
	const enum rule_kind error = write ? WRITE_ERROR : READ_ERROR;
	const uint64_t last = slba + (blocks - 1);
	struct rule *hit = NULL;

	for (uint32_t i = 0; blocks && i < map->count; i++) {
		struct rule *r = &map->rules[i];

		if (!r->left || (r->nsid && r->nsid != nsid) || r->first > last || r->last < slba)
			continue;
		if (r->kind == SLOW)
			*delay_ps += r->delay_ps;
		else if (r->kind == error && !hit)
			hit = r;
		else
			continue;
		if (r->left != UINT64_MAX)
			r->left--;
	}
	if (!hit)
		return 0;
	*lba = hit->first > slba ? hit->first : slba;
	return write ? BF_NVME_SC_WRITE_FAULT : BF_NVME_SC_UNRECOVERED_READ;
}
