#!/bin/sh
# Every wrong step is found and named, and a few seeds of the correct code are not; tests/long has the measurement.
exec "$BELFRY_SOURCE_DIR/tests/long/missing_fence.sh" 5
