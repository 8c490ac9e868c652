/// A program linked with this library ends with one line and exit code 71 if it cannot read its arguments; there is nothing to call.
