/* Any text either gives an error with a place, or a plan whose description parses to the same plan. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/fault.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bf_fault_plan *plan = NULL, *again = NULL;
	struct bf_error err = { 0 };
	char *text = malloc(size + 1), *first, *second;
	size_t len;

	memcpy(text, data, size);
	text[size] = '\0';
	if (bf_fault_plan_parse(text, 1, &err, &plan)) {
		if (err.code != -EINVAL || !strstr(err.text, "line "))
			abort();
		free(text);
		return 0;
	}
	len = bf_fault_plan_describe(plan, NULL, 0);
	first = malloc(len + 1);
	second = malloc(len + 1);
	bf_fault_plan_describe(plan, first, len + 1);
	if (bf_fault_plan_parse(first, 1, &err, &again) || bf_fault_plan_describe(again, second, len + 1) != len ||
	    strcmp(first, second))
		abort();
	bf_fault_plan_destroy(plan);
	bf_fault_plan_destroy(again);
	free(first);
	free(second);
	free(text);
	return 0;
}
