#include "tools/life_out.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

static bool number(const char *text, char end, uint64_t max, uint64_t *out, const char **rest)
{
	char *stop;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*out = strtoull(text, &stop, text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10);
	*rest = stop + 1;
	return errno == 0 && *stop == end && *out <= max;
}

bool bf_life_parse(const char *text, uint32_t *qpn, uint16_t *index)
{
	uint64_t a, b;

	if (!number(text, ':', 0xffffff, &a, &text) || !number(text, '\0', 0xffff, &b, &text))
		return false;
	*qpn = (uint32_t)a;
	*index = (uint16_t)b;
	return true;
}

void bf_life_json(struct bf_json *j, const struct bf_life *l, uint32_t qpn, uint16_t index)
{
	size_t n;
	const struct bf_life_step *s = bf_life_steps(l, &n);

	bf_json_open(j, "life", '{');
	bf_json_hex(j, "qpn", qpn);
	bf_json_u64(j, "index", index);
	bf_json_open(j, "steps", '[');
	for (size_t i = 0; i < n; i++) {
		bf_json_open(j, NULL, '{');
		bf_json_u64(j, "time_ps", s[i].time_ps);
		bf_json_text(j, "who", bf_life_place_name(s[i].place));
		bf_json_text(j, "device", s[i].device);
		bf_json_text(j, "what", s[i].what);
		bf_json_bool(j, "detail", s[i].detail);
		bf_json_text(j, "text", s[i].text);
		bf_json_close(j, '}');
	}
	bf_json_close(j, ']');
	bf_json_close(j, '}');
}

int bf_life_out(const struct bf_args *args, const struct bf_life *l, uint32_t qpn, uint16_t index, const char *error)
{
	size_t n;

	bf_life_steps(l, &n);
	if (bf_arg_json(args)) {
		struct bf_json j;

		bf_json_begin(&j, stdout);
		bf_json_open(&j, NULL, '{');
		bf_life_json(&j, l, qpn, index);
		if (error)
			bf_json_text(&j, "error", error);
		bf_json_close(&j, '}');
		bf_json_end(&j);
	} else {
		printf("The life of entry %u of QP 0x%" PRIx32 ":\n\n", index, qpn);
		bf_life_print(l, stdout);
	}
	return n ? BF_EXIT_GOOD : BF_EXIT_FAILED;
}
