#include "tools/cli/hex.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "sim/bytes.h"

#define SEPARATORS " \t\r\n,:;\"'[]"

/* One group of `n` digits. A word that was printed with 0x%x has lost its leading zeros. */
static int append_group(const char *digits, size_t n, bool word, uint8_t *out, size_t cap, size_t *len,
			struct bf_error *err)
{
	size_t pad = word && n < 8 ? 8 - n : 0;

	if ((n + pad) % 2)
		return bf_fail(err, -EINVAL, "'%.*s' has an odd number of hex digits", (int)(n < 40 ? n : 40), digits);
	if (*len + (n + pad) / 2 > cap)
		return bf_fail(err, -E2BIG, "more than %zu bytes", cap);
	for (size_t i = 0; i < n + pad; i++) {
		int digit = i < pad ? 0 : bf_hex_digit(digits[i - pad]);

		if (digit < 0)
			return bf_fail(err, -EINVAL, "'%c' in '%.*s' is not a hex digit", digits[i - pad],
				       (int)(n < 40 ? n : 40), digits);
		if (i % 2)
			out[(*len)++] |= (uint8_t)digit;
		else
			out[*len] = (uint8_t)(digit << 4);
	}
	return 0;
}

int bf_hex_append(const char *text, uint8_t *out, size_t cap, size_t *len, struct bf_error *err)
{
	int rc = 0;

	text += strspn(text, SEPARATORS);
	while (*text && !rc) {
		size_t n = strcspn(text, SEPARATORS);
		bool word = n > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
		size_t prefix = word ? 2 : 0;

		if (n - prefix == 2)
			word = false; /* 0xd2 is a byte */
		rc = append_group(text + prefix, n - prefix, word, out, cap, len, err);
		text += n;
		text += strspn(text, SEPARATORS);
	}
	return rc;
}
