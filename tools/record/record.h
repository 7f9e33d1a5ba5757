/* How `belfry record` tells the library inside the program what to do. */
#ifndef BELFRY_TOOLS_RECORD_RECORD_H
#define BELFRY_TOOLS_RECORD_RECORD_H

#define BF_RECORD_ENV_FILE "BELFRY_RECORD" /* where the capture goes; "%p" in it becomes the process id */

#endif
