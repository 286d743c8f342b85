#!/bin/bash
# An agent typed into dash comes back inside that shell, whatever somebody left half typed there.
KIND=dash CASES=${CASES:-'half continued stopped nvm'}
# shellcheck source=tests/shell/matrix.sh
. "$(dirname "$0")/../shell/matrix.sh"
