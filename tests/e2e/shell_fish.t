#!/bin/bash
# An agent typed into fish comes back inside that shell, whatever somebody left half typed there.
KIND=fish CASES=${CASES:-'half search menu paste vi-normal function suggest'}
# shellcheck source=tests/shell/matrix.sh
. "$(dirname "$0")/../shell/matrix.sh"
