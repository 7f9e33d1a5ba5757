/* Any text either gives an error with a line, or options whose text reads as the same options. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/ibgda/env.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bf_ibgda_env env, again;
	struct bf_error err = { 0 };
	char *text;
	size_t len;

	bf_ibgda_env_init(&env);
	bf_ibgda_env_init(&again);
	if (bf_ibgda_env_parse(&env, (const char *)data, size, &err)) {
		if (err.code != -EINVAL || !strstr(err.text, "line "))
			abort();
		return 0;
	}
	len = bf_ibgda_env_print(&env, NULL, 0);
	text = malloc(len + 1);
	bf_ibgda_env_print(&env, text, len + 1);
	if (strlen(text) != len || bf_ibgda_env_parse(&again, text, len, &err) || memcmp(&env, &again, sizeof(env)))
		abort();
	free(text);
	return 0;
}
