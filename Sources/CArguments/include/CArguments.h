/// A program that is linked with this ends with one line and exit code 71 if its arguments cannot be read; there is nothing to call.
