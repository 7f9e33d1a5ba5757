#include "traces/life/label.h"

#include <stdio.h>
#include <string.h>

static size_t put_field(const struct bf_rec_field *f, const void *fixed, char *out, size_t room)
{
	const uint64_t value = bf_field_u64(f, fixed);
	const char *name;
	size_t len;
	int n;

	if (f->kind == BF_FIELD_TEXT)
		n = snprintf(out, room, "%.*s", (int)strnlen((const char *)fixed + f->offset, f->size),
			     (const char *)fixed + f->offset);
	else if (f->kind == BF_FIELD_ENUM && (name = bf_field_enum_name(f, value, &len)))
		n = snprintf(out, room, "%.*s", (int)len, name);
	else if (f->kind == BF_FIELD_HEX)
		n = snprintf(out, room, "0x%llx", (unsigned long long)value);
	else
		n = snprintf(out, room, "%llu", (unsigned long long)value);
	return n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
}

void bf_label_make(const char *label, const struct bf_rec_schema *type, const void *fixed, char *out, size_t cap)
{
	const char *c = label;
	size_t used = 0;

	while (*c && used + 1 < cap) {
		char word[32];
		size_t len = 0;
		const struct bf_rec_field *f;

		if (*c != '$') {
			out[used++] = *c++;
			continue;
		}
		for (c++; len + 1 < sizeof(word) && (*c == '_' || (*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9'));
		     c++)
			word[len++] = *c;
		word[len] = '\0';
		f = bf_schema_field(type, word);
		if (f)
			used += put_field(f, fixed, out + used, cap - used);
	}
	out[used] = '\0';
}
