/* Any text either gives an error with a place, or a topology whose description parses to the same topology. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "models/fabric/topology.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bf_error err = { 0 };
	struct bf_topology t, again;
	char *text = malloc(size + 1), first[1024], second[1024];
	size_t len;

	memcpy(text, data, size);
	text[size] = '\0';
	if (bf_topology_parse(text, &t, &err)) {
		if (err.code != -EINVAL || !strstr(err.text, "line 1, column "))
			abort();
		free(text);
		return 0;
	}
	len = bf_topology_describe(&t, first, sizeof(first));
	if (len >= sizeof(first) || bf_topology_parse(first, &again, &err) ||
	    bf_topology_describe(&again, second, sizeof(second)) != len || strcmp(first, second))
		abort();
	if (t.kind != BF_TOPOLOGY_SWITCH && (!bf_topology_hosts(&t) || t.xon > t.xoff || t.kmin > t.kmax))
		abort();
	free(text);
	return 0;
}
