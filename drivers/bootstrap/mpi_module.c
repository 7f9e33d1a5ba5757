/* libbelfry-mpi.so: collective calls by MPI. */
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "drivers/bootstrap/mpi.h"

struct mpi {
	struct bf_boot boot;
	struct bf_error *err;
	MPI_Comm comm;
	MPI_Request *requests; /* [ranks] */
	int tag;               /* of the exchange in progress */
};

static struct mpi *mpi_of(struct bf_boot *b)
{
	return BF_CONTAINER_OF(b, struct mpi, boot);
}

static int check(struct mpi *m, const char *call, int code)
{
	char text[MPI_MAX_ERROR_STRING];
	int len = 0;

	if (code == MPI_SUCCESS)
		return 0;
	if (MPI_Error_string(code, text, &len) != MPI_SUCCESS)
		len = 0;
	return bf_fail(m->err, -ECONNRESET, "rank %u: %s: %.*s", m->boot.pe, call, len, text);
}

static int too_long(struct mpi *m, size_t bytes)
{
	return bytes <= BF_BOOT_BYTES_MAX
		   ? 0
		   : bf_fail(m->err, -EINVAL, "rank %u: no room for messages of %zu bytes", m->boot.pe, bytes);
}

static int mpi_allgather(struct bf_boot *b, const void *in, void *out, size_t bytes)
{
	struct mpi *m = mpi_of(b);
	const int rc = too_long(m, bytes);

	return rc ? rc
		  : check(m, "MPI_Allgather",
			  MPI_Allgather(in, (int)bytes, MPI_BYTE, out, (int)bytes, MPI_BYTE, m->comm));
}

static int mpi_alltoall(struct bf_boot *b, const void *in, void *out, size_t bytes)
{
	struct mpi *m = mpi_of(b);
	const int rc = too_long(m, bytes);

	return rc ? rc
		  : check(m, "MPI_Alltoall",
			  MPI_Alltoall(in, (int)bytes, MPI_BYTE, out, (int)bytes, MPI_BYTE, m->comm));
}

static int mpi_barrier(struct bf_boot *b)
{
	struct mpi *m = mpi_of(b);

	return check(m, "MPI_Barrier", MPI_Barrier(m->comm));
}

/* A message says how long it is before it is received, so one from each is all it takes. */
static int receive(struct mpi *m, struct bf_boot_buf *in)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < m->boot.npes; i++) {
		const uint32_t from = (m->boot.pe + m->boot.npes - i) % m->boot.npes;
		MPI_Message message;
		MPI_Status status;
		int bytes = 0;

		rc = check(m, "MPI_Mprobe", MPI_Mprobe((int)from, m->tag, m->comm, &message, &status));
		if (!rc)
			rc = check(m, "MPI_Get_count", MPI_Get_count(&status, MPI_BYTE, &bytes));
		if (!rc && bf_boot_buf_reserve(&in[from], (size_t)bytes))
			rc = bf_fail(m->err, -ENOMEM, "no memory for %d bytes of rank %u", bytes, from);
		if (!rc)
			rc = check(m, "MPI_Mrecv", MPI_Mrecv(in[from].data, bytes, MPI_BYTE, &message, &status));
	}
	return rc;
}

static int mpi_exchange(struct bf_boot *b, const struct bf_boot_part *out, struct bf_boot_buf *in)
{
	struct mpi *m = mpi_of(b);
	int rc = 0, waited;

	for (uint32_t i = 0; !rc && i < b->npes; i++)
		rc = too_long(m, out[i].bytes);
	if (rc)
		return rc;
	m->tag = (m->tag + 1) & 0x7fff; /* MPI promises tags up to 32767 */
	for (uint32_t i = 0; i < b->npes; i++)
		m->requests[i] = MPI_REQUEST_NULL;
	for (uint32_t i = 0; !rc && i < b->npes; i++) {
		const uint32_t to = (b->pe + i) % b->npes;

		rc = check(
		    m, "MPI_Isend",
		    MPI_Isend(out[to].data, (int)out[to].bytes, MPI_BYTE, (int)to, m->tag, m->comm, &m->requests[to]));
	}
	if (!rc)
		rc = receive(m, in);
	if (rc)
		return rc;
	waited = MPI_Waitall((int)b->npes, m->requests, MPI_STATUSES_IGNORE);
	return check(m, "MPI_Waitall", waited);
}

static void mpi_abort(struct bf_boot *b)
{
	struct mpi *m = mpi_of(b);

	fprintf(stderr, "belfry: rank %u gives up: %s\n", b->pe,
		m->err && m->err->text[0] ? m->err->text : "no reason");
	fflush(stdout);
	MPI_Abort(m->comm, 1);
}

static void mpi_close(struct bf_boot *b)
{
	struct mpi *m = mpi_of(b);

	MPI_Comm_free(&m->comm);
	MPI_Finalize();
	free(m->requests);
	free(m);
}

static int start(struct mpi *m)
{
	int done = 0, rank = 0, ranks = 0;

	MPI_Finalized(&done);
	if (done)
		return bf_fail(m->err, -EALREADY, "MPI has been ended in this process");
	MPI_Initialized(&done);
	if (!done && MPI_Init(NULL, NULL) != MPI_SUCCESS)
		return bf_fail(m->err, -ENOTSUP, "MPI does not start");
	/* A world of our own: nothing that the program does with MPI itself can meet our messages. */
	if (MPI_Comm_dup(MPI_COMM_WORLD, &m->comm) != MPI_SUCCESS)
		return bf_fail(m->err, -EIO, "MPI_Comm_dup fails");
	MPI_Comm_set_errhandler(m->comm, MPI_ERRORS_RETURN);
	MPI_Comm_rank(m->comm, &rank);
	MPI_Comm_size(m->comm, &ranks);
	m->boot.pe = (uint32_t)rank;
	m->boot.npes = (uint32_t)ranks;
	m->requests = calloc((size_t)ranks, sizeof(MPI_Request));
	return m->requests ? 0 : bf_fail(m->err, -ENOMEM, "no memory for %d processes", ranks);
}

static int mpi_open(struct bf_error *err, struct bf_boot **out)
{
	struct mpi *m = calloc(1, sizeof(*m));
	int rc;

	*out = NULL;
	if (!m)
		return bf_fail(err, -ENOMEM, "no memory for a handle");
	m->err = err;
	m->boot = (struct bf_boot){ .allgather = mpi_allgather,
				    .alltoall = mpi_alltoall,
				    .barrier = mpi_barrier,
				    .exchange = mpi_exchange,
				    .abort = mpi_abort,
				    .close = mpi_close };
	rc = start(m);
	if (rc) {
		free(m);
		return rc;
	}
	*out = &m->boot;
	return 0;
}

extern const struct bf_mpi_api bf_mpi_api;
const struct bf_mpi_api bf_mpi_api = { BF_MPI_API, mpi_open };
