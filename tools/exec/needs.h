/* The libraries of a machine that programs under `belfry exec` are made of: a row each, for `belfry doctor`. */
#ifndef BELFRY_TOOLS_EXEC_NEEDS_H
#define BELFRY_TOOLS_EXEC_NEEDS_H

struct bf_exec_need {
	const char *name, *library; /* what it is called, and the file that the dynamic linker looks for */
	const char *use, *get;      /* what for, and how to get it */
};

/* Ends with a NULL name. */
extern const struct bf_exec_need bf_exec_needs[];

#endif
