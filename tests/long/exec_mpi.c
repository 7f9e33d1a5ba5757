/* What MPI programs do, for exec_ucx.sh: ping-pong and windows of messages of growing sizes, collective operations and
 * one-sided access, with each byte that arrives compared. Prints latency and bandwidth by size. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	LARGEST = 1 << 20,
	WINDOW = 16,
	TAG = 7,
};

struct run {
	int rank;
	int ranks;
	unsigned char *out;
	unsigned char *in; /* WINDOW messages of LARGEST bytes */
	long long wrong;   /* bytes */
};

/* No two messages of a run look the same: what is old or of another sender is found. */
static unsigned char pattern(int sender, int round, int size, int i)
{
	return (unsigned char)(sender * 101 + round * 31 + size * 7 + i + (i >> 8) * 13);
}

static void fill(unsigned char *at, int sender, int round, int size)
{
	for (int i = 0; i < size; i++)
		at[i] = pattern(sender, round, size, i);
}

static void compare(struct run *run, const unsigned char *at, int sender, int round, int size)
{
	for (int i = 0; i < size; i++)
		run->wrong += at[i] != pattern(sender, round, size, i);
}

static void ping_pong(struct run *run, int size, int rounds)
{
	double busy = 0;

	for (int round = 0; round < rounds; round++) {
		double start;

		fill(run->out, run->rank, round, size);
		memset(run->in, 0xee, (size_t)size);
		start = MPI_Wtime();
		if (run->rank == 0) {
			MPI_Send(run->out, size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
			MPI_Recv(run->in, size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		} else {
			MPI_Recv(run->in, size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			MPI_Send(run->out, size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
		}
		busy += MPI_Wtime() - start;
		compare(run, run->in, !run->rank, round, size);
	}
	if (run->rank == 0)
		printf("latency %7d bytes %10.2f us\n", size, busy * 1e6 / rounds / 2);
}

/* Rank 0 sends WINDOW messages at a time, rank 1 answers each window. */
static void windows(struct run *run, int size, int rounds)
{
	MPI_Request requests[WINDOW];
	double busy = 0;

	for (int round = 0; round < rounds; round++) {
		double start;

		fill(run->out, run->rank, round, size);
		memset(run->in, 0xee, (size_t)size * WINDOW);
		MPI_Barrier(MPI_COMM_WORLD);
		start = MPI_Wtime();
		for (int i = 0; i < WINDOW; i++) {
			unsigned char *in = run->in + (size_t)size * (size_t)i;

			if (run->rank == 0)
				MPI_Isend(run->out, size, MPI_BYTE, 1, TAG + i, MPI_COMM_WORLD, &requests[i]);
			else
				MPI_Irecv(in, size, MPI_BYTE, 0, TAG + i, MPI_COMM_WORLD, &requests[i]);
		}
		MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
		if (run->rank == 0)
			MPI_Recv(NULL, 0, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		else
			MPI_Send(NULL, 0, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
		busy += MPI_Wtime() - start;
		for (int i = 0; i < WINDOW && run->rank == 1; i++)
			compare(run, run->in + (size_t)size * (size_t)i, 0, round, size);
	}
	if (run->rank == 0)
		printf("bandwidth %7d bytes %10.2f MB/s\n", size, (double)size * WINDOW * rounds / busy / 1e6);
}

static void collectives(struct run *run)
{
	int per = 1 << 12;
	long long mine = run->rank + 1;
	long long sum = 0;

	MPI_Allreduce(&mine, &sum, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
	run->wrong += sum != (long long)run->ranks * (run->ranks + 1) / 2;
	for (int to = 0; to < run->ranks; to++)
		fill(run->out + to * per, run->rank, to, per);
	MPI_Alltoall(run->out, per, MPI_BYTE, run->in, per, MPI_BYTE, MPI_COMM_WORLD);
	for (int from = 0; from < run->ranks; from++)
		compare(run, run->in + from * per, from, run->rank, per);
	memset(run->in, 0, (size_t)per);
	if (run->rank == 0)
		fill(run->in, 0, 3, per);
	MPI_Bcast(run->in, per, MPI_BYTE, 0, MPI_COMM_WORLD);
	compare(run, run->in, 0, 3, per);
}

/* A ring: each rank puts into the next one's window and gets from the one before. */
static void one_sided(struct run *run, int size)
{
	int next = (run->rank + 1) % run->ranks;
	int before = (run->rank + run->ranks - 1) % run->ranks;
	unsigned char *window;
	MPI_Win win;

	MPI_Win_allocate(2 * size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window, &win);
	fill(window, run->rank, 5, size);
	fill(run->out, run->rank, 6, size);
	MPI_Win_fence(0, win);
	MPI_Put(run->out, size, MPI_BYTE, next, size, size, MPI_BYTE, win);
	MPI_Get(run->in, size, MPI_BYTE, before, 0, size, MPI_BYTE, win);
	MPI_Win_fence(0, win);
	compare(run, window + size, before, 6, size);
	compare(run, run->in, before, 5, size);
	MPI_Win_free(&win);
}

static unsigned long long after(int op, unsigned long long number, unsigned long long operand)
{
	switch (op) {
	case 0:
		return number + operand;
	case 1:
		return number & operand;
	case 2:
		return number | operand;
	case 3:
		return number ^ operand;
	default:
		return operand;
	}
}

/* Each rank in its turn does one operation on a number that rank 0 has; all know what was there before. */
static void atomics(struct run *run, MPI_Datatype type, int size)
{
	static const MPI_Op ops[] = { MPI_SUM, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_REPLACE };
	unsigned long long number = 0x10203040;
	unsigned char *window;
	MPI_Win win;

	MPI_Win_allocate(size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window, &win);
	memcpy(window, &number, (size_t)size); /* the low bytes come first on every machine that Belfry runs on */
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < 6 * run->ranks; i++) {
		unsigned long long operand = 0x01010101u * (unsigned)(i + 1);
		unsigned long long old = 0;

		if (i % run->ranks == run->rank) {
			MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
			if (i % 6 == 5)
				MPI_Compare_and_swap(&operand, &number, &old, type, 0, 0, win);
			else
				MPI_Fetch_and_op(&operand, &old, type, 0, 0, ops[i % 6], win);
			MPI_Win_unlock(0, win);
			run->wrong += old != number;
		}
		number = after(i % 6, number, operand);
		if (size == 4)
			number &= 0xffffffffu;
		MPI_Barrier(MPI_COMM_WORLD);
	}
	run->wrong += run->rank == 0 && memcmp(window, &number, (size_t)size);
	MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
	struct run run = { 0 };
	int rounds = argc > 1 ? atoi(argv[1]) : 10;
	long long wrong = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &run.ranks);
	run.out = malloc(LARGEST);
	run.in = malloc((size_t)LARGEST * WINDOW);
	if (!run.out || !run.in)
		MPI_Abort(MPI_COMM_WORLD, 2);
	if (run.ranks == 2) {
		for (int size = 1; size <= LARGEST; size *= 16)
			ping_pong(&run, size, rounds);
		for (int size = 32; size <= LARGEST; size *= 32)
			windows(&run, size, rounds);
	}
	collectives(&run);
	one_sided(&run, 4096);
	atomics(&run, MPI_UINT32_T, 4);
	atomics(&run, MPI_UINT64_T, 8);
	MPI_Reduce(&run.wrong, &wrong, 1, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
	if (run.rank == 0)
		printf("%d ranks: %lld bytes are wrong\n", run.ranks, wrong);
	free(run.out);
	free(run.in);
	MPI_Finalize();
	return wrong != 0;
}
