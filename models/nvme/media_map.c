/* The error map: its text form and what it does to commands. media.h describes both. */
#include "models/nvme/media.h"

#include <errno.h>
#include <stdlib.h>

#include "models/nvme/prm.h"
#include "sim/grow.h"
#include "sim/rules_internal.h"
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

static int parse_kind(const struct bf_rule_text *p, struct bf_rule_word w, struct rule *r)
{
	struct bf_rule_word rest = w;

	if (bf_word_take(&rest, "slow=")) {
		r->kind = SLOW;
		return bf_rules_time(p, rest, &r->delay_ps);
	}
	if (bf_word_take(&rest, "read-error"))
		r->kind = READ_ERROR;
	else if (bf_word_take(&rest, "write-error"))
		r->kind = WRITE_ERROR;
	else
		rest.len = 1;
	if (rest.len)
		return bf_rules_fail(p, w.at, "'%.*s' is not a kind of error (read-error, write-error, slow=TIME)",
				     (int)(w.len < 40 ? w.len : 40), w.at);
	return 0;
}

static int parse_blocks(const struct bf_rule_text *p, struct bf_rule_word w, struct rule *r)
{
	const char *start = w.at;

	if (!bf_word_number(&w, &r->first))
		return bf_rules_fail(p, start, "expected a block number or a range of them");
	r->last = r->first;
	if (w.len && bf_word_take(&w, "-") && !bf_word_number(&w, &r->last))
		return bf_rules_fail(p, w.at, "expected the last block's number");
	if (w.len)
		return bf_rules_fail(p, w.at, "expected the end of the range");
	if (r->last < r->first)
		return bf_rules_fail(p, start, "range ends before it begins");
	return 0;
}

static int parse_option(const struct bf_rule_text *p, struct bf_rule_word w, struct rule *r)
{
	const char *start = w.at;
	uint64_t n;

	if (bf_word_take(&w, "count=")) {
		if (!bf_word_number(&w, &r->left) || w.len || !r->left)
			return bf_rules_fail(p, w.at, "expected a number above 0");
		return 0;
	}
	if (!bf_word_take(&w, "ns="))
		return bf_rules_fail(p, start, "expected count=N or ns=N");
	if (!bf_word_number(&w, &n) || w.len || !n || n >= BF_NVME_NSID_ALL)
		return bf_rules_fail(p, w.at, "expected a namespace's number");
	r->nsid = (uint32_t)n;
	return 0;
}

static int parse_rule(struct bf_rule_text *p, struct bf_rule_word kind, struct rule *r)
{
	struct bf_rule_word w;
	int rc;

	*r = (struct rule){ .left = UINT64_MAX };
	rc = parse_kind(p, kind, r);
	if (!rc)
		rc = parse_blocks(p, bf_rules_word(p), r);
	while (!rc && (w = bf_rules_word(p)).len)
		rc = parse_option(p, w, r);
	return rc;
}

static struct rule *new_rule(struct bf_nvme_error_map *map)
{
	if (BF_GROW(map->rules, map->cap, map->count + 1))
		return NULL;
	return &map->rules[map->count++];
}

static int parse_all(struct bf_rule_text *p, struct bf_nvme_error_map *map)
{
	do {
		struct bf_rule_word kind = bf_rules_word(p);
		struct rule *r = kind.len ? new_rule(map) : NULL;
		int rc = 0;

		if (kind.len)
			rc = r ? parse_rule(p, kind, r) : bf_fail(p->err, -ENOMEM, "no memory for an error map");
		if (rc)
			return rc;
	} while (bf_rules_next(p));
	return 0;
}

int bf_nvme_error_map_parse(const char *text, struct bf_error *err, struct bf_nvme_error_map **out)
{
	struct bf_nvme_error_map *map = calloc(1, sizeof(*map));
	struct bf_rule_text p = { .what = "error map", .text = text ? text : "", .err = err };
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
