# shellcheck shell=bash
# shellcheck disable=SC2034	# what is set here is read by those who source it
# Sourced by tests/agent/*.t and scripts/demo: the real Claude Code, of one pinned version or the newest, from its npm package, without an
# account: its model is tests/agent/mock-model.mjs on loopback.

CLAUDE_PIN=2.1.197
AGENT_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
MODEL=$AGENT_DIR/mock-model.mjs
# a key of nobody, in the shape of a real one
MODEL_KEY=sk-ant-fake-0123456789-abcdefghijklmnopqrstuvwxyz

# Where packages are kept between runs. Must be asked before HOME is changed.
claude_cache() {
	printf '%s' "${GT_RECOVER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gt-recover}"
}

# Debian 12's npm (9) brings the program for glibc and the one for musl; the one that runs is ours.
_claude_program() {	# DIRECTORY
	local program
	for program in "$1"/node_modules/@anthropic-ai/claude-code-linux-*/claude; do
		[ -x "$program" ] && "$program" --version >/dev/null 2>&1 </dev/null && printf '%s' "$program" && return
	done
	return 1
}

# claude_newest HOME: prints the number of the newest version.
claude_newest() {
	command -v npm >/dev/null && HOME=$1 timeout 60 npm view @anthropic-ai/claude-code version 2>/dev/null </dev/null
}

# claude_install CACHE HOME [VERSION]: prints the path of the program; installs it below CACHE when it is not there yet, npm's own settings
# being in HOME. On failure prints the reason instead and returns 1.
claude_install() {
	local version=${3:-$CLAUDE_PIN}
	local dir=$1/claude-code-$version home=$2 new said
	_claude_program "$dir" && return
	command -v node >/dev/null || { printf 'node is not installed' && return 1; }
	command -v npm >/dev/null || { printf 'npm is not installed' && return 1; }
	mkdir -p "$1" || return 1
	new=$(mktemp -d "$1/new.XXXXXX") || { printf 'no room for the package in %s' "$1" && return 1; }
	# no install script runs: the package is a finished program
	if ! said=$(cd "$new" && HOME=$home timeout 300 npm install --ignore-scripts --no-audit --no-fund --no-update-notifier \
		--loglevel=error --prefix "$new" "@anthropic-ai/claude-code@$version" 2>&1 </dev/null); then
		rm -rf -- "$new"
		printf 'npm cannot install Claude Code %s: %s' "$version" "$(printf '%s' "$said" | grep -v '^npm warn' | head -n 1)"
		return 1
	fi
	# somebody else may have been faster
	mv -T -- "$new" "$dir" 2>/dev/null || rm -rf -- "$new"
	_claude_program "$dir" || { printf 'the package holds no program for this machine' && return 1; }
}

# claude_home HOME CWD: settings of somebody who has used it before, so that nothing is asked at the start.
claude_home() {
	local cwd
	cwd=$(realpath "$2") || return 1
	mkdir -p "$1/.claude"
	cat >"$1/.claude.json" <<-EOF
		{"hasCompletedOnboarding": true, "theme": "dark", "fullscreenUpsellSeenCount": 3,
		 "customApiKeyResponses": {"approved": ["${MODEL_KEY: -20}"], "rejected": []},
		 "projects": {"$cwd": {"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}}}
	EOF
	printf '{"skipDangerousModePermissionPrompt": true}\n' >"$1/.claude/settings.json"
}

# claude_env HOME PORT: sets CLAUDE_ENV, KEY=VALUE words for tmux -e or env. Root may skip permissions only in what says it is a sandbox.
claude_env() {
	CLAUDE_ENV=("HOME=$1" "ANTHROPIC_API_KEY=$MODEL_KEY" "ANTHROPIC_BASE_URL=http://127.0.0.1:$2"
		CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 CLAUDE_CODE_NO_FLICKER=0 DISABLE_TELEMETRY=1
		DISABLE_AUTOUPDATER=1 DISABLE_ERROR_REPORTING=1 IS_SANDBOX=1)
}
