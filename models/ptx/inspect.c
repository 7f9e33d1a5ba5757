#include "models/ptx/machine_internal.h"

/* What would be refused, without a device. */
int bf_ptx_each_refused(const struct bf_ptx_program *p, bf_ptx_refused_fn *told, void *arg, struct bf_error *err)
{
	const struct bf_ptx_code_opts opts = { .program = p, .port = &bf_ptx_machine_port };
	struct bf_ptx_code *code;
	int rc = bf_ptx_code_create(&opts, &code, err);

	if (rc)
		return rc;
	for (uint32_t i = 0; i < p->func_count; i++) {
		const struct bf_ptx_stmt *stmt;
		const char *why;
		uint32_t at = 0;

		while (bf_ptx_code_refusal(code, p->funcs[i], &at, &stmt, &why))
			told(arg, p->funcs[i], stmt, why);
	}
	bf_ptx_code_destroy(code);
	return 0;
}
