#include <stddef.h>

#include "tools/cli.h"

int main(int argc, char **argv)
{
	/* In the order in which the overview shows them. */
	static const struct bf_command *const commands[] = {
		NULL,
	};

	return bf_cli_main(commands, argc, argv);
}
