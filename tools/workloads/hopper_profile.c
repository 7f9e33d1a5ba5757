#include "tools/workloads/hopper_profile.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/spell.h"
#include "traces/container/json_line.h"
#include "traces/container/text.h"

static int set_field(struct bf_hopper_profile *p, const char *name, size_t len, uint64_t value, struct bf_error *err)
{
	for (size_t i = 0; i < bf_hopper_fields_count; i++) {
		const struct bf_hopper_field *f = &bf_hopper_fields[i];
		const uint32_t v = (uint32_t)value;

		if (strlen(f->name) != len || memcmp(f->name, name, len) != 0)
			continue;
		if (value < f->min || value > f->max)
			return bf_fail(err, -EINVAL, "%s: %" PRIu64 " is not between %" PRIu32 " and %" PRIu32, f->name,
				       value, f->min, f->max);
		memcpy((char *)p + f->offset, &v, sizeof(v));
		return 0;
	}
	return bf_fail(err, -EINVAL, "a Hopper profile has no field \"%.*s\"", (int)len, name);
}

const char *bf_hopper_profile_name(const void *own, uint32_t i)
{
	const struct bf_hopper_profile *const *p = bf_hopper_profiles();

	(void)own;
	while (*p && i-- > 0)
		p++;
	return *p ? (*p)->name : NULL;
}

static int from_base(const char *name, size_t len, struct bf_hopper_profile *out, struct bf_error *err)
{
	char text[BF_HOPPER_PROFILE_NAME];
	const struct bf_hopper_profile *base;

	snprintf(text, sizeof(text), "%.*s", (int)len, name);
	base = bf_hopper_profile_find(text);
	if (!base) {
		struct bf_spell s = { .word = name, .len = len };
		char hint[64];

		for (uint32_t i = 0; bf_hopper_profile_name(NULL, i); i++)
			bf_spell_try(&s, bf_hopper_profile_name(NULL, i));
		return bf_fail(err, -EINVAL,
			       "profile \"%s\" is not known%s there are h200, patent and files named *.json", text,
			       s.best ? bf_spell_hint(&s, hint, sizeof(hint)) : ";");
	}
	*out = *base;
	return 0;
}

/* ---- a file: a flat JSON object ---- */

static int text_of(struct bf_json_line *l, const char *member, char *out, size_t cap)
{
	const struct bf_json_member *m = bf_json_line_find(l, member);
	int64_t len = 0;

	*out = '\0';
	if (m)
		len = bf_json_line_text(l, m, member, out, cap);
	if (len == -E2BIG)
		return bf_json_line_fail(l, m, member, "is too long");
	return len < 0 ? (int)len : 0;
}

/* Texts other than "profile" and "base" are remarks. */
static int fields_of(struct bf_json_line *l, const char *base, struct bf_hopper_profile *out)
{
	bool says = *base;
	int rc = *base ? from_base(base, strlen(base), out, l->err) : 0;

	for (unsigned i = 0; !rc && i < l->count; i++) {
		const struct bf_json_member *m = &l->members[i];
		char name[64];
		uint64_t value;

		if (m->token == BF_JSON_STRING)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)m->name_len, m->name);
		rc = bf_json_line_integer(l, m, name, BF_JSON_DECIMAL, UINT32_MAX, &value);
		if (!rc)
			rc = set_field(out, m->name, m->name_len, value, l->err);
		says = true;
	}
	if (!rc && !says)
		rc = bf_fail(l->err, -EINVAL, "a profile names its base or a field, and this has neither");
	return rc;
}

static int from_text(const char *text, size_t len, const char *path, char name[BF_HOPPER_PROFILE_NAME],
		     struct bf_hopper_profile *out, struct bf_error *err)
{
	struct bf_json_line l = { .start = text, .p = text, .end = text + len, .number = 1, .err = err };
	char base[BF_HOPPER_PROFILE_NAME];
	int rc = bf_json_line_scan(&l);

	*out = bf_hopper_h200;
	if (!rc)
		rc = text_of(&l, "profile", name, BF_HOPPER_PROFILE_NAME);
	if (!rc && !*name)
		snprintf(name, BF_HOPPER_PROFILE_NAME, "%s", path);
	if (!rc)
		rc = text_of(&l, "base", base, sizeof(base));
	return rc ? rc : fields_of(&l, base, out);
}

static int from_file(const char *path, char name[BF_HOPPER_PROFILE_NAME], struct bf_hopper_profile *out,
		     struct bf_error *err)
{
	FILE *f = fopen(path, "rb");
	struct bf_error why = { 0 };
	char *text = NULL;
	size_t len;
	int rc;

	if (!f)
		return bf_fail(err, -errno, "cannot read \"%s\": %s", path, strerror(errno));
	rc = bf_text_whole(f, path, &text, &len, err);
	fclose(f);
	if (!rc) {
		rc = from_text(text, len, path, name, out, &why);
		if (rc)
			bf_fail(err, rc, "%s: %s", path, why.text);
	}
	free(text);
	return rc;
}

int bf_hopper_profile_parse(const char *text, char name[BF_HOPPER_PROFILE_NAME], struct bf_hopper_profile *out,
			    struct bf_error *err)
{
	const size_t whole = strlen(text);
	size_t len = strcspn(text, ",");
	int rc;

	if (whole > 5 && strcmp(text + whole - 5, ".json") == 0) {
		rc = from_file(text, name, out, err);
	} else {
		rc = from_base(text, len, out, err);
		snprintf(name, BF_HOPPER_PROFILE_NAME, "%.*s", (int)len, text);
		for (const char *at = text + len; !rc && *at; at += strcspn(at, ",")) {
			const char *equals;
			char *end = NULL;
			uint64_t value = 0;

			at++;
			equals = memchr(at, '=', strcspn(at, ","));
			if (equals && isdigit((unsigned char)equals[1]))
				value = strtoull(equals + 1, &end, 10);
			if (!end || (*end && *end != ','))
				rc = bf_fail(err, -EINVAL, "\"%.*s\" is not FIELD=N", (int)strcspn(at, ","), at);
			else
				rc = set_field(out, at, (size_t)(equals - at), value, err);
		}
	}
	out->name = name;
	return rc ? rc : bf_hopper_profile_check(out, err);
}
