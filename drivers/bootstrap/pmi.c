/* PMI-1: lines in, a table of keys and values, lines out. */
#include "drivers/bootstrap/pmi.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/grow.h"
#include "sim/record.h"

#define BUCKETS 1024u
#define NONE UINT32_MAX
#define SPACE "belfry" /* the one name of the one space of keys */
#define WORDS_MAX 16u

struct pair {
	char *key, *value;
	uint32_t next; /* of the same bucket, NONE: the last */
};

struct rank {
	char line[BF_PMI_LINE_MAX]; /* what has come of a line */
	uint32_t len;
	bool waits, spawns, ended; /* at the barrier; within the lines of a spawn; nothing is read any more */
};

struct bf_pmi {
	struct bf_pmi_out out;
	uint32_t ranks, waiting;
	int abort_code;
	struct rank *rank;
	struct pair *pairs;
	uint32_t count, cap;
	size_t room; /* bytes of keys and values */
	uint32_t bucket[BUCKETS];
};

/* A line as words; they point into the line, whose blanks and equals signs have become ends. */
struct words {
	uint32_t count;
	struct {
		const char *name, *value;
	} word[WORDS_MAX];
};

struct bf_pmi *bf_pmi_new(uint32_t ranks, const struct bf_pmi_out *out)
{
	struct bf_pmi *pmi = calloc(1, sizeof(*pmi));

	if (!pmi)
		return NULL;
	pmi->out = *out;
	pmi->ranks = ranks;
	pmi->rank = calloc(ranks, sizeof(*pmi->rank));
	memset(pmi->bucket, 0xff, sizeof(pmi->bucket));
	if (!pmi->rank) {
		free(pmi);
		return NULL;
	}
	return pmi;
}

void bf_pmi_free(struct bf_pmi *pmi)
{
	if (!pmi)
		return;
	for (uint32_t i = 0; i < pmi->count; i++) {
		free(pmi->pairs[i].key);
		free(pmi->pairs[i].value);
	}
	free(pmi->pairs);
	free(pmi->rank);
	free(pmi);
}

int bf_pmi_abort_code(const struct bf_pmi *pmi)
{
	return pmi->abort_code;
}

uint32_t bf_pmi_waiting(const struct bf_pmi *pmi)
{
	return pmi->waiting;
}

void bf_pmi_gone(struct bf_pmi *pmi, uint32_t rank)
{
	struct rank *r = &pmi->rank[rank];

	if (r->waits)
		pmi->waiting--;
	r->waits = false;
	r->ended = true;
}

/* ---- lines ---- */

static void split(char *line, struct words *w)
{
	char *at = line;

	w->count = 0;
	while (w->count < WORDS_MAX) {
		char *end, *equals;

		at += strspn(at, " ");
		if (!*at)
			return;
		end = at + strcspn(at, " ");
		if (*end)
			*end++ = '\0';
		equals = strchr(at, '=');
		if (equals)
			*equals++ = '\0';
		w->word[w->count].name = at;
		w->word[w->count].value = equals ? equals : "";
		w->count++;
		at = end;
	}
}

/* The value of a word, NULL: the line has none of that name. */
static const char *find(const struct words *w, const char *name)
{
	for (uint32_t i = 0; i < w->count; i++)
		if (!strcmp(w->word[i].name, name))
			return w->word[i].value;
	return NULL;
}

BF_PRINTF(3, 4) static int reply(struct bf_pmi *pmi, uint32_t rank, const char *format, ...)
{
	char line[BF_PMI_REPLY_MAX];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(line, sizeof(line) - 1, format, args);
	va_end(args);
	if (len < 0 || (size_t)len >= sizeof(line) - 1)
		return -EMSGSIZE;
	line[len++] = '\n';
	return pmi->out.send(pmi->out.ctx, rank, line, (size_t)len);
}

/* ---- keys and values ---- */

static uint32_t bucket_of(const char *key)
{
	return (uint32_t)(bf_hash_bytes(key, strlen(key)) % BUCKETS);
}

static const struct pair *look_up(const struct bf_pmi *pmi, const char *key)
{
	for (uint32_t i = pmi->bucket[bucket_of(key)]; i != NONE; i = pmi->pairs[i].next)
		if (!strcmp(pmi->pairs[i].key, key))
			return &pmi->pairs[i];
	return NULL;
}

/* What is wrong with a pair, NULL: nothing. */
static const char *refusal(const struct bf_pmi *pmi, const char *key, const char *value)
{
	if (!key || !*key || !value)
		return "key_or_value_missing";
	if (strlen(key) >= BF_PMI_KEY_MAX)
		return "key_too_long";
	if (strlen(value) >= BF_PMI_VALUE_MAX)
		return "value_too_long";
	if (pmi->room + strlen(key) + strlen(value) > BF_PMI_ROOM_MAX)
		return "no_room_left";
	return look_up(pmi, key) ? "duplicate_key" : NULL;
}

static int put(struct bf_pmi *pmi, uint32_t rank, const struct words *w)
{
	const char *key = find(w, "key"), *value = find(w, "value"), *why = refusal(pmi, key, value);
	struct pair p;
	uint32_t *bucket;

	if (why)
		return reply(pmi, rank, "cmd=put_result rc=-1 msg=%s", why);
	if (BF_GROW(pmi->pairs, pmi->cap, pmi->count + 1))
		return -ENOMEM;
	bucket = &pmi->bucket[bucket_of(key)];
	p = (struct pair){ .key = strdup(key), .value = strdup(value), .next = *bucket };
	if (!p.key || !p.value) {
		free(p.key);
		free(p.value);
		return -ENOMEM;
	}
	pmi->pairs[pmi->count] = p;
	*bucket = pmi->count++;
	pmi->room += strlen(key) + strlen(value);
	return reply(pmi, rank, "cmd=put_result rc=0 msg=success");
}

static int get(struct bf_pmi *pmi, uint32_t rank, const struct words *w)
{
	const char *key = find(w, "key");
	const struct pair *p = key ? look_up(pmi, key) : NULL;

	if (p)
		return reply(pmi, rank, "cmd=get_result rc=0 msg=success value=%s", p->value);
	if (key && !strcmp(key, "PMI_process_mapping")) /* which ranks share a machine: all */
		return reply(pmi, rank, "cmd=get_result rc=0 msg=success value=(vector,(0,1,%" PRIu32 "))", pmi->ranks);
	return reply(pmi, rank, "cmd=get_result rc=-1 msg=key_not_found value=unknown");
}

/* ---- commands ---- */

static int init(struct bf_pmi *pmi, uint32_t rank, const struct words *w)
{
	const char *version = find(w, "pmi_version");

	return reply(pmi, rank, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=%d",
		     version && !strcmp(version, "1") ? 0 : -1);
}

static int get_maxes(struct bf_pmi *pmi, uint32_t rank, const struct words *w)
{
	(void)w;
	return reply(pmi, rank, "cmd=maxes rc=0 kvsname_max=%zu keylen_max=%u vallen_max=%u", sizeof(SPACE),
		     BF_PMI_KEY_MAX, BF_PMI_VALUE_MAX);
}

static int get_appnum(struct bf_pmi *pmi, uint32_t rank, const struct words *w)
{
	(void)w;
	return reply(pmi, rank, "cmd=appnum rc=0 appnum=0");
}

static int get_universe_size(struct bf_pmi *pmi, uint32_t rank, const struct words *w)
{
	(void)w;
	return reply(pmi, rank, "cmd=universe_size rc=0 size=%" PRIu32, pmi->ranks);
}

static int get_my_kvsname(struct bf_pmi *pmi, uint32_t rank, const struct words *w)
{
	(void)w;
	return reply(pmi, rank, "cmd=my_kvsname rc=0 kvsname=" SPACE);
}

static int barrier_in(struct bf_pmi *pmi, uint32_t rank, const struct words *w)
{
	int rc = 0;

	(void)w;
	if (!pmi->rank[rank].waits)
		pmi->waiting++;
	pmi->rank[rank].waits = true;
	if (pmi->waiting < pmi->ranks)
		return 0;
	pmi->waiting = 0;
	for (uint32_t i = 0; i < pmi->ranks; i++)
		pmi->rank[i].waits = false;
	for (uint32_t i = 0; !rc && i < pmi->ranks; i++)
		rc = reply(pmi, i, "cmd=barrier_out rc=0");
	return rc;
}

static int finalize(struct bf_pmi *pmi, uint32_t rank, const struct words *w)
{
	(void)w;
	return reply(pmi, rank, "cmd=finalize_ack rc=0");
}

static int end_all(struct bf_pmi *pmi, uint32_t rank, const struct words *w)
{
	const char *code = find(w, "exitcode");
	const long number = code ? strtol(code, NULL, 10) : 1;

	(void)rank;
	pmi->abort_code = number & 0xff ? (int)(number & 0xff) : 1;
	return -ECANCELED;
}

static int no_publish(struct bf_pmi *pmi, uint32_t rank, const struct words *w)
{
	const char *name = w->word[0].value;

	return reply(pmi, rank, "cmd=%.*s_result rc=-1 msg=not_supported", (int)strcspn(name, "_"), name);
}

static int run_line(struct bf_pmi *pmi, uint32_t rank, char *line, struct bf_error *err)
{
	static const struct {
		const char *name;
		int (*run)(struct bf_pmi *pmi, uint32_t rank, const struct words *w);
	} commands[] = {
		{ "init", init },
		{ "get_maxes", get_maxes },
		{ "get_appnum", get_appnum },
		{ "get_universe_size", get_universe_size },
		{ "get_my_kvsname", get_my_kvsname },
		{ "put", put },
		{ "get", get },
		{ "barrier_in", barrier_in },
		{ "finalize", finalize },
		{ "abort", end_all },
		{ "publish_name", no_publish },
		{ "unpublish_name", no_publish },
		{ "lookup_name", no_publish },
	};
	struct rank *r = &pmi->rank[rank];
	struct words w;

	if (r->spawns) { /* several lines, one reply */
		r->spawns = strcmp(line, "endcmd") != 0;
		return r->spawns ? 0 : reply(pmi, rank, "cmd=spawn_result rc=-1 msg=not_supported");
	}
	split(line, &w);
	if (w.count && !strcmp(w.word[0].name, "mcmd") && !strcmp(w.word[0].value, "spawn")) {
		r->spawns = true;
		return 0;
	}
	if (!w.count || strcmp(w.word[0].name, "cmd"))
		return bf_fail(err, -EPROTO, "a line that does not begin with cmd=");
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(w.word[0].value, commands[i].name))
			return commands[i].run(pmi, rank, &w);
	return bf_fail(err, -EPROTO, "no command \"%.40s\"", w.word[0].value);
}

/* The text for a failure that has none yet. */
static int failed(struct bf_pmi *pmi, uint32_t rank, int rc, struct bf_error *err)
{
	pmi->rank[rank].ended = true;
	if (rc == -EPROTO)
		return rc;
	return rc == -ECANCELED ? bf_fail(err, rc, "it asked for the end of all (exit code %d)", pmi->abort_code)
				: bf_fail(err, rc, "it cannot be answered: %s", strerror(-rc));
}

int bf_pmi_take(struct bf_pmi *pmi, uint32_t rank, const char *bytes, size_t len, struct bf_error *err)
{
	struct rank *r = &pmi->rank[rank];

	for (size_t i = 0; i < len && !r->ended; i++) {
		int rc;

		if (bytes[i] != '\n') {
			if (r->len == BF_PMI_LINE_MAX - 1)
				return failed(pmi, rank,
					      bf_fail(err, -EPROTO, "a line longer than %u bytes", BF_PMI_LINE_MAX),
					      err);
			r->line[r->len++] = bytes[i];
			continue;
		}
		r->line[r->len] = '\0';
		r->len = 0;
		rc = run_line(pmi, rank, r->line, err);
		if (rc)
			return failed(pmi, rank, rc, err);
	}
	return 0;
}
