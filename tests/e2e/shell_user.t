#!/bin/bash
# An agent that a user other than root typed into zsh comes back inside that shell.
KIND=zsh CASES=${CASES:-half} WITH=user
# shellcheck source=tests/shell/matrix.sh
. "$(dirname "$0")/../shell/matrix.sh"
