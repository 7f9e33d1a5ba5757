/* What lies at which address, so that the page can say what an access meant. */
#include <errno.h>

#include "tools/pictures/page_internal.h"
#include "traces/life/names.h"

int bf_page_names(struct bf_json *j, struct bf_trace *t, const struct bf_page_job *job)
{
	const struct bf_name *name;
	struct bf_names *names;
	int rc = bf_names_read(t, &names, job->err);

	bf_json_open(j, "places", '[');
	for (uint32_t i = 0; names && (name = bf_names_at(names, i)) != NULL; i++) {
		bf_json_open(j, NULL, '[');
		bf_json_hex(j, NULL, name->va);
		bf_json_u64(j, NULL, name->bytes);
		bf_json_u64(j, NULL, name->entry);
		bf_json_text(j, NULL, name->element ? name->element : "");
		bf_json_text(j, NULL, name->what);
		bf_json_u64(j, NULL, name->pe);
		bf_json_bool(j, NULL, name->region);
		bf_json_close(j, ']');
	}
	bf_json_close(j, ']');
	bf_names_free(names);
	return rc;
}
