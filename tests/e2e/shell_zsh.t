#!/bin/bash
# An agent typed into zsh comes back inside that shell, whatever somebody left half typed there.
KIND=zsh CASES=${CASES:-'half search menu paste vi-normal function suspended'}
# shellcheck source=tests/shell/matrix.sh
. "$(dirname "$0")/../shell/matrix.sh"
