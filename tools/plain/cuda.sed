# Writes a CUDA source file as C++ for tools/plain/cuda.h, line for line: launches, and dynamic shared memory.
#	sed -E -f cuda.sed kernel.cu >kernel.cc
s/([A-Za-z_][A-Za-z0-9_:]*(<[^<>;]*>)?)[[:space:]]*<<<([^;]*)>>>[[:space:]]*\(/belfry_grid((\1), \3)(/g
s/extern[[:space:]]+(volatile[[:space:]]+)?__shared__[[:space:]]+((__align__|alignas)[[:space:]]*\([^)]*\)[[:space:]]*)?(volatile[[:space:]]+)?([A-Za-z_][A-Za-z0-9_: ]*(<[^<>;]*>)?)[[:space:]]+([A-Za-z_][A-Za-z0-9_]*)[[:space:]]*\[[[:space:]]*\][[:space:]]*;/belfry_dynamic(\1\4\5, \7);/g
