/* libmlx5 gives a spin lock back after each look at a completion queue, and after each ring. */
#include <errno.h>
#include <pthread.h>

#include "tools/exec/exec_internal.h"
#include "tools/exec/real_internal.h"

int pthread_spin_unlock(pthread_spinlock_t *lock)
{
	const int rc = BF_CALL_REAL(pthread_spin_unlock)(lock);
	struct bf_engine *e = bf_exec_maybe_running();

	if (BF_LIKELY(e != NULL)) {
		const int keep = errno;

		bf_engine_glance(e);
		errno = keep;
	}
	return rc;
}
