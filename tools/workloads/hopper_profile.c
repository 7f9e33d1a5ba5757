#include "tools/workloads/hopper_profile.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/spell.h"

#define FILE_MAX (1u << 20)

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

/* ---- a flat JSON object ---- */

struct reader {
	const char *at, *end, *start;
	uint32_t said; /* members that say something */
	struct bf_error *err;
};

static int bad(const struct reader *r, const char *what)
{
	return bf_fail(r->err, -EINVAL, "at byte %td: %s", r->at - r->start, what);
}

static void skip_space(struct reader *r)
{
	while (r->at < r->end && isspace((unsigned char)*r->at))
		r->at++;
}

static bool take(struct reader *r, char c)
{
	skip_space(r);
	if (r->at == r->end || *r->at != c)
		return false;
	r->at++;
	return true;
}

/* A text without escapes: names need none. */
static int take_text(struct reader *r, const char **text, size_t *len)
{
	if (!take(r, '"'))
		return bad(r, "expected a text");
	*text = r->at;
	while (r->at < r->end && *r->at != '"' && *r->at != '\\' && *r->at != '\n')
		r->at++;
	*len = (size_t)(r->at - *text);
	return take(r, '"') ? 0 : bad(r, "a text that does not end, or has an escape");
}

static int take_number(struct reader *r, uint64_t *value)
{
	skip_space(r);
	if (r->at == r->end || !isdigit((unsigned char)*r->at))
		return bad(r, "expected a number without sign or fraction");
	for (*value = 0; r->at < r->end && isdigit((unsigned char)*r->at); r->at++) {
		if (*value > UINT32_MAX)
			return bad(r, "the number is too large");
		*value = *value * 10 + (uint64_t)(*r->at - '0');
	}
	return 0;
}

/* Members "profile" and "base" are texts; in the first pass only they count, in the second only the others. */
static int take_member(struct reader *r, bool second, char name[BF_HOPPER_PROFILE_NAME], struct bf_hopper_profile *out)
{
	const char *key, *text;
	size_t key_len, len;
	uint64_t value = 0;
	int rc = take_text(r, &key, &key_len);

	if (rc)
		return rc;
	if (!take(r, ':'))
		return bad(r, "expected a colon");
	skip_space(r);
	if (r->at < r->end && *r->at == '"') {
		rc = take_text(r, &text, &len);
		if (rc || second)
			return rc;
		if (key_len == 7 && memcmp(key, "profile", 7) == 0)
			snprintf(name, BF_HOPPER_PROFILE_NAME, "%.*s", (int)len, text);
		else if (key_len == 4 && memcmp(key, "base", 4) == 0 && ++r->said)
			rc = from_base(text, len, out, r->err);
		return rc; /* other texts are remarks */
	}
	r->said++;
	rc = take_number(r, &value);
	return rc || !second ? rc : set_field(out, key, key_len, value, r->err);
}

static int read_object(struct reader *r, bool second, char name[BF_HOPPER_PROFILE_NAME], struct bf_hopper_profile *out)
{
	int rc;

	r->at = r->start;
	if (!take(r, '{'))
		return bad(r, "expected an object");
	if (!take(r, '}')) {
		do {
			rc = take_member(r, second, name, out);
			if (rc)
				return rc;
		} while (take(r, ','));
		if (!take(r, '}'))
			return bad(r, "expected a comma or the object's end");
	}
	skip_space(r);
	if (!r->said)
		return bad(r, "a profile names its base or a field, and this has neither");
	return r->at == r->end ? 0 : bad(r, "something follows the object");
}

static int from_file(const char *path, char name[BF_HOPPER_PROFILE_NAME], struct bf_hopper_profile *out,
		     struct bf_error *err)
{
	FILE *f = fopen(path, "rb");
	char *text = f ? malloc(FILE_MAX) : NULL;
	struct reader r = { .start = text, .err = err };
	const size_t len = text ? fread(text, 1, FILE_MAX, f) : 0;
	struct bf_error why = { 0 };
	int rc;

	if (!f || !text || ferror(f)) {
		rc = bf_fail(err, f ? -ENOMEM : -errno, "cannot read \"%s\": %s", path, strerror(errno));
	} else {
		*out = bf_hopper_h200;
		snprintf(name, BF_HOPPER_PROFILE_NAME, "%s", path);
		r.end = text + len;
		r.err = &why;
		rc = len == FILE_MAX ? bad(&r, "too long for a profile") : read_object(&r, false, name, out);
		if (!rc)
			rc = read_object(&r, true, name, out);
		if (rc)
			bf_fail(err, rc, "%s: %s", path, why.text);
	}
	free(text);
	if (f)
		fclose(f);
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
				rc = bf_fail(err, -EINVAL, "\"%.*s\" is no FIELD=N", (int)strcspn(at, ","), at);
			else
				rc = set_field(out, at, (size_t)(equals - at), value, err);
		}
	}
	out->name = name;
	return rc ? rc : bf_hopper_profile_check(out, err);
}
