/* Which rules do not count, and why. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "traces/rules/engine_internal.h"
#include "traces/rules/rules.h"

#define ID_MAX 48u

struct suppression {
	struct suppression *next;
	char id[ID_MAX]; /* upper case */
	bool prefix;     /* it ended with '*' */
	char reason[];
};

struct bf_suppressions {
	struct suppression *first;
};

int bf_suppressions_create(struct bf_suppressions **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void bf_suppressions_destroy(struct bf_suppressions *s)
{
	while (s && s->first) {
		struct suppression *next = s->first->next;

		free(s->first);
		s->first = next;
	}
	free(s);
}

static bool matches(const struct suppression *x, const char *id)
{
	return x->prefix ? strncasecmp(x->id, id, strlen(x->id)) == 0 : strcasecmp(x->id, id) == 0;
}

static bool names_a_rule(const struct suppression *x)
{
	const struct bf_rule_about *rule;

	for (uint32_t i = 0; (rule = bf_rule_at(i)) != NULL; i++)
		if (matches(x, rule->id))
			return true;
	return false;
}

static int suppress(struct bf_suppressions *s, const char *id, size_t id_len, const char *reason, size_t reason_len,
		    struct bf_error *err)
{
	const bool prefix = id_len > 0 && id[id_len - 1] == '*';
	struct suppression *x;

	if (!id_len || id_len >= ID_MAX)
		return bf_fail(err, -EINVAL, "a suppression begins with the id of a rule");
	while (reason_len && isspace((unsigned char)reason[reason_len - 1]))
		reason_len--;
	if (!reason_len)
		return bf_fail(err, -EINVAL, "%.*s is suppressed without a reason", (int)id_len, id);
	x = calloc(1, sizeof(*x) + reason_len + 1);
	if (!x)
		return bf_fail(err, -ENOMEM, "no memory for suppressions");
	memcpy(x->id, id, id_len - prefix);
	memcpy(x->reason, reason, reason_len);
	x->prefix = prefix;
	if (!names_a_rule(x)) {
		free(x);
		return bf_rules_no_such(id, id_len, -EINVAL, err);
	}
	x->next = s->first;
	s->first = x;
	return 0;
}

int bf_suppress(struct bf_suppressions *s, const char *id, const char *reason, struct bf_error *err)
{
	return suppress(s, id, strlen(id), reason, strlen(reason), err);
}

int bf_suppress_text(struct bf_suppressions *s, const char *text, const char *what, struct bf_error *err)
{
	unsigned line = 1;

	for (; *text; line++) {
		const size_t len = strcspn(text, "\n");
		size_t used = strnlen(text, len), id_len;
		const char *at = text, *hash = memchr(text, '#', used);
		struct bf_error why = { 0 };
		int rc;

		if (hash)
			used = (size_t)(hash - text);
		while (used && isspace((unsigned char)*at)) {
			at++;
			used--;
		}
		id_len = strcspn(at, " \t\r\n");
		id_len = id_len < used ? id_len : used;
		used -= id_len;
		if (id_len) {
			const char *reason = at + id_len;

			while (used && isspace((unsigned char)*reason)) {
				reason++;
				used--;
			}
			rc = suppress(s, at, id_len, reason, used, &why);
			if (rc)
				return bf_fail(err, rc, "%s, line %u: %s", what, line, why.text);
		}
		text += len + (text[len] == '\n');
	}
	return 0;
}

const char *bf_suppressed(const struct bf_suppressions *s, const char *id)
{
	for (const struct suppression *x = s->first; x; x = x->next)
		if (matches(x, id))
			return x->reason;
	return NULL;
}
