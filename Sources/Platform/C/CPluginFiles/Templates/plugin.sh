#!/bin/sh
# The plugin @NAME@ of a health hub: hub bridge plugin talks to the hub, program.sh reads and writes lines.
here=$(dirname "$(readlink -f "$0")")
exec hub bridge plugin --manifest "$here/manifest.json" "$@" -- /bin/sh "$here/program.sh"
