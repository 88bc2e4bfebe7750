"""The exit statuses of the command besides 0, which `wire --help` explains."""

FAILED, MISUSED, INTERRUPTED, NO_READER = 1, 2, 130, 141
