#!/bin/bash
# An agent typed into bash comes back inside that shell, whatever somebody left half typed there.
KIND=bash CASES=${CASES:-'half search menu paste vi-normal function venv typing'}
# shellcheck source=tests/shell/matrix.sh
. "$(dirname "$0")/../shell/matrix.sh"
