#include "sim/wild.h"

#include <errno.h>

#include "sim/agent_internal.h"
#include "sim/sim_internal.h"

/* An access that much above 0 is one through a pointer that is 0. */
#define NULL_BYTES 65536u

static void outside(struct bf_agent *a, const void *p, uint32_t len)
{
	const struct bf_region *r = a->view->space ? bf_space_overrun(a->view->space, p) : NULL;

	if (r)
		bf_fail(&a->sim->error, -EFAULT,
			"agent '%s': access to %u bytes, %llu beyond the end of %s (%llu bytes)", a->name, len,
			(unsigned long long)((const uint8_t *)p - (r->bytes + r->size)), r->name,
			(unsigned long long)r->size);
	else if ((uintptr_t)p < NULL_BYTES)
		bf_fail(
		    &a->sim->error, -EFAULT,
		    "agent '%s': access to %u bytes at 0x%llx: it comes from a pointer that is 0 and was never set, or "
		    "was read beyond a table's end",
		    a->name, len, (unsigned long long)(uintptr_t)p);
	else
		bf_fail(&a->sim->error, -EFAULT, "agent '%s': access to %u bytes that lie in no region of space '%s'",
			a->name, len, a->view->space ? a->view->space->name : "");
}

void bf_wild_access(struct bf_agent *a, const struct bf_region *r, const void *p, uint32_t len, bool mmio)
{
	if (r)
		bf_fail(&a->sim->error, -EFAULT, "agent '%s': %u bytes at %s+0x%llx %s", a->name, len, r->name,
			(unsigned long long)(bf_va(r, p) - r->va),
			(r->kind == BF_MEM_MMIO) == mmio ? "run past its end"
			: mmio                           ? "are memory, not device registers"
							 : "are device registers, not memory");
	else
		outside(a, p, len);
	bf_sim_stop(a->sim);
}

_Noreturn void bf_wild_instruction(struct bf_agent *a, const void *p, bool divides)
{
	struct bf_space *space = a->view->space;

	if (divides) {
		bf_fail(&a->sim->error, -EFAULT, "agent '%s': a division by zero", a->name);
		bf_sim_stop(a->sim);
	} else {
		bf_wild_access(a, space ? bf_space_find_host(space, p) : NULL, p, 1, false);
	}
	for (;;)
		bf_agent_sleep(a, "nothing: its instruction could not be executed");
}

bool bf_wild_interrupt(void)
{
	struct bf_sim *sim = (struct bf_sim *)(uintptr_t)bf_sim_here();

	if (!sim)
		return false;
	if (!sim->error.code)
		sim->error.code = -EINTR;
	sim->stopped = true;
	return true;
}
