# shellcheck shell=bash
# shellcheck disable=SC2034	# what is set here is read by those who source it
# Sourced by tests/agent/others*.t and tests/golden/agents/record.sh: the other real agents, each of pinned versions from its npm package,
# without an account: their models are tests/agent/mock-others.mjs on loopback. Their homes are those of people who have used them before, so
# that nothing is asked at the start. Everything by name (codex gemini opencode copilot qwen auggie cline pi), or by name and version where
# another one than the usual is wanted: codex@0.98.0.

OTHERS_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
OTHERS_MODEL=$OTHERS_DIR/mock-others.mjs
OTHERS=(codex gemini opencode copilot qwen auggie cline pi)
# Others of them, whose start or session files differ: codex without its background server and with records of another make, gemini with one JSON
# file, opencode with a file a message and deaf to its standard input, qwen and pi for a newer node, which npm brings, too.
OTHERS_MORE=(codex@0.98.0 gemini@0.34.0 opencode@1.1.65 qwen@0.24.4 pi@0.87.1)
# Those that nobody without an account, or npm, can run here, and why.
OTHERS_NOT=('amp ends at its login without an account' 'droid ends at its login without an account'
	'cursor-agent is another program at npm' 'goose is another program at npm' 'aider is another program at npm'
	'crush is a script at npm that downloads its program'
	'pi 1.5.2 depends on a package that npm does not have')
# a key of nobody
OTHERS_KEY=mock-key-of-nobody

# The usual ones are the newest that accept node 20.
others_package() {	# NAME[@VERSION]: PACKAGE VERSION
	local package usual
	case ${1%@*} in
	codex) package=@openai/codex usual=0.169.0 ;;
	gemini) package=@google/gemini-cli usual=0.61.0 ;;
	opencode) package=opencode-ai usual=1.18.33 ;;
	copilot) package=@github/copilot usual=1.0.102 ;;
	qwen) package=@qwen-code/qwen-code usual=0.15.10 ;;
	auggie) package=@augmentcode/auggie usual=0.36.0 ;;
	cline) package=cline usual=3.0.65 ;;
	pi) package=@earendil-works/pi-coding-agent usual=0.74.2 ;;
	*) return 1 ;;
	esac
	[[ $1 != *@* ]] || usual=${1#*@}
	printf '%s %s' "$package" "$usual"
}

# Those of them that node 20 does not run have a node of their own, from npm, too.
others_node() {		# NAME[@VERSION]: version, nothing for the one that is installed
	case $1 in
	qwen@0.2* | pi@0.8*) printf '22.19.0' ;;
	esac
}

# The program itself: below the npm shims of four of them stands a native one, which leaves its screen when it is killed.
others_program() {	# DIRECTORY NAME[@VERSION]
	local m=$1/node_modules file
	case ${2%@*} in
	codex) file=(@openai/codex-linux-*/vendor/*/bin/codex "@openai/codex/vendor/$(uname -m)-*-linux-*/codex/codex") ;;
	copilot) file=(@github/copilot-linux-*/copilot) ;;
	opencode) file=(opencode-linux-*/bin/opencode) ;;
	cline) file=(@cline/cli-linux-*/bin/cline) ;;
	gemini) file=(@google/gemini-cli/bundle/gemini.js @google/gemini-cli/dist/index.js) ;;
	qwen) file=(@qwen-code/qwen-code/cli-entry.js @qwen-code/qwen-code/cli.js) ;;
	auggie) file=(@augmentcode/auggie/augment.mjs) ;;
	pi) file=(@earendil-works/pi-coding-agent/dist/cli.js) ;;
	esac
	# packages for glibc and musl, with and without AVX2: the one that runs is ours
	# shellcheck disable=SC2068	# patterns
	for file in $(cd "$m" 2>/dev/null && printf '%s\n' ${file[@]}); do
		[ -x "$m/$file" ] && HOME=$1 timeout 60 "$m/$file" --version >/dev/null 2>&1 </dev/null && printf '%s' "$m/$file" && return
	done
	return 1
}

# _install CACHE HOME DIR PACKAGE VERSION: into DIR below CACHE, when it is not there. Prints the reason and returns 1 on failure.
_install() {
	local new said
	[ ! -d "$1/$3/node_modules" ] || return 0
	command -v node >/dev/null || { printf 'node is not installed' && return 1; }
	command -v npm >/dev/null || { printf 'npm is not installed' && return 1; }
	mkdir -p "$1" || return 1
	new=$(mktemp -d "$1/new.XXXXXX") || { printf 'no room for the package in %s' "$1" && return 1; }
	# no install script runs
	if ! said=$(cd "$new" && HOME=$2 timeout 300 npm install --ignore-scripts --no-audit --no-fund --no-update-notifier \
		--loglevel=error --prefix "$new" "$4@$5" 2>&1 </dev/null); then
		rm -rf -- "$new"
		printf 'npm cannot install %s %s: %s' "$4" "$5" "$(printf '%s' "$said" | grep -Ev '^npm (warn|WARN|error code|ERR! code)' | head -n 1)"
		return 1
	fi
	# somebody else may have been faster
	mv -T -- "$new" "$1/$3" 2>/dev/null || rm -rf -- "$new"
}

# others_install CACHE HOME NAME[@VERSION]: prints the path of the program; installs it below CACHE when it is not there yet, npm's own settings
# being in HOME. On failure prints the reason instead and returns 1.
others_install() {
	local dir package version node program
	read -r package version <<<"$(others_package "$3")"
	dir=$1/${3%@*}-$version
	[ -s "$dir/program" ] && [ -x "$(cat "$dir/program")" ] && cat "$dir/program" && return
	_install "$1" "$2" "${dir##*/}" "$package" "$version" || return
	node=$(others_node "$3")
	if [ -n "$node" ]; then
		_install "$1" "$2" "node-$node" "node-linux-$(node -p process.arch)" "$node" || return
		node=$(compgen -G "$1/node-$node/node_modules/node-linux-*/bin/node")
	fi
	if program=$(PATH=${node:+${node%/*}:}$PATH others_program "$dir" "$3"); then
		if [ -n "$node" ]; then
			mkdir -p "$dir/with-node" && printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$node" "$program" >"$dir/with-node/${3%@*}" &&
				chmod +x "$dir/with-node/${3%@*}" || return 1
			program=$dir/with-node/${3%@*}
		fi
		printf '%s' "$program" >"$dir/program.new" && mv -- "$dir/program.new" "$dir/program" && cat "$dir/program" && return
	fi
	printf 'the package of %s %s holds no program that runs on this machine' "$package" "$version"
	return 1
}

# others_home NAME HOME CWD PORT: its settings
others_home() {
	local cwd url=http://127.0.0.1:$4/$1/v1
	cwd=$(realpath "$3") || return 1
	case $1 in
	codex)
		mkdir -p "$2/.codex"
		cat >"$2/.codex/config.toml" <<-EOF
			model = "mock-model"
			model_provider = "mock"
			check_for_update_on_startup = false
			[model_providers.mock]
			name = "mock"
			base_url = "$url"
			env_key = "MOCK_KEY"
			wire_api = "responses"
			[projects."$cwd"]
			trust_level = "trusted"
		EOF
		;;
	gemini)
		mkdir -p "$2/.gemini"
		printf '{"security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}}, "general": %s}\n' \
			'{"enableAutoUpdate": false, "enableAutoUpdateNotification": false}' >"$2/.gemini/settings.json"
		;;
	opencode)
		mkdir -p "$2/.config/opencode"
		cat >"$2/.config/opencode/opencode.json" <<-EOF
			{"provider": {"mock": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "$url", "apiKey": "$OTHERS_KEY"},
			 "models": {"mock-model": {"limit": {"context": 200000, "output": 8000}}}}},
			 "model": "mock/mock-model", "small_model": "mock/mock-model", "enabled_providers": ["mock"], "permission": {"*": "allow"}, "autoupdate": false}
		EOF
		;;
	copilot)
		mkdir -p "$2/.copilot"
		printf '{"trustedFolders": ["%s"], "banner": "never"}\n' "$cwd" >"$2/.copilot/config.json"
		;;
	qwen)
		# it would install a newer version of itself beside npm, for everybody
		mkdir -p "$2/.qwen"
		printf '{"general": {"enableAutoUpdate": false}}\n' >"$2/.qwen/settings.json"
		;;
	auggie)
		mkdir -p "$2/.augment"
		printf '{"sessionCount": 1, "onboardingVersion": "1.0.0"}\n' >"$2/.augment/.auggie.json"
		;;
	cline)
		mkdir -p "$2/.cline/data/settings"
		# advertisements on its first screen, which Enter would open in a browser
		printf '{"shown": {"cline-cli-cline-pass-intro": true, "cline-cli-desktop-launch": true, "cline-cli-zen": true}}\n' >"$2/.cline/data/settings/cli-notices.json"
		cat >"$2/.cline/data/settings/providers.json" <<-EOF
			{"version": 1, "lastUsedProvider": "openai-compatible", "modes": {}, "providers": {"openai-compatible": {"tokenSource": "manual",
			 "updatedAt": "2026-01-01T00:00:00.000Z", "settings": {"provider": "openai-compatible", "apiKey": "$OTHERS_KEY", "model": "mock-model",
			 "baseUrl": "$url"}}}}
		EOF
		;;
	pi)
		mkdir -p "$2/.pi/agent"
		cat >"$2/.pi/agent/models.json" <<-EOF
			{"providers": {"mock": {"baseUrl": "$url", "api": "openai-completions", "apiKey": "$OTHERS_KEY",
			 "models": [{"id": "mock-model", "contextWindow": 200000, "maxTokens": 8000}]}}}
		EOF
		;;
	esac
}

# others_env NAME HOME PORT: sets OTHERS_ENV, KEY=VALUE words for tmux -e or env
others_env() {
	local url=http://127.0.0.1:$3/$1
	OTHERS_ENV=("HOME=$2" "XDG_CONFIG_HOME=$2/.config" "XDG_DATA_HOME=$2/.local/share" "XDG_STATE_HOME=$2/.local/state" "XDG_CACHE_HOME=$2/.cache"
		DO_NOT_TRACK=1 NO_UPDATE_NOTIFIER=1)
	case $1 in
	codex) OTHERS_ENV+=("MOCK_KEY=$OTHERS_KEY") ;;
	gemini) OTHERS_ENV+=("GEMINI_API_KEY=$OTHERS_KEY" "GOOGLE_GEMINI_BASE_URL=$url" GEMINI_TELEMETRY_ENABLED=false) ;;
	opencode) OTHERS_ENV+=(OPENCODE_DISABLE_AUTOUPDATE=1 OPENCODE_DISABLE_MODELS_FETCH=1 OPENCODE_DISABLE_DEFAULT_PLUGINS=1) ;;
	copilot)
		OTHERS_ENV+=(COPILOT_OFFLINE=true "COPILOT_PROVIDER_BASE_URL=$url/v1" "COPILOT_PROVIDER_API_KEY=$OTHERS_KEY" COPILOT_MODEL=mock-model
			COPILOT_AUTO_UPDATE=false)
		;;
	qwen) OTHERS_ENV+=("OPENAI_API_KEY=$OTHERS_KEY" "OPENAI_BASE_URL=$url/v1" OPENAI_MODEL=mock-model) ;;
	auggie)
		OTHERS_ENV+=("AUGMENT_SESSION_AUTH={\"accessToken\":\"$OTHERS_KEY\",\"tenantURL\":\"$url/\",\"scopes\":[\"email\"]}" AUGMENT_DISABLE_AUTO_UPDATE=1)
		;;
	cline) OTHERS_ENV+=(CLINE_NO_AUTO_UPDATE=1) ;;
	pi) OTHERS_ENV+=(PI_OFFLINE=1 PI_SKIP_VERSION_CHECK=1) ;;
	esac
}

# Its command as a person would type it, in a sandbox.
others_command() {	# NAME[@VERSION]
	case $1 in
	codex@0.98.0) printf 'codex --dangerously-bypass-approvals-and-sandbox' ;;
	codex) printf 'codex --no-daemon --dangerously-bypass-approvals-and-sandbox' ;;
	gemini@0.34.0) printf 'gemini --yolo' ;;
	gemini) printf 'gemini --skip-trust --yolo' ;;
	opencode*) printf 'opencode' ;;
	copilot) printf 'copilot --yolo' ;;
	qwen*) printf 'qwen --auth-type openai --yolo' ;;
	auggie) printf 'auggie --allow-indexing' ;;
	cline) printf 'cline' ;;
	pi*) printf 'pi --provider mock --model mock-model' ;;
	esac
}

# What its screen shows when it waits for a first prompt.
others_ready() {	# NAME: an extended regular expression
	case $1 in
	codex) printf '\\? for shortcuts' ;;
	gemini | qwen) printf 'Type your message' ;;
	opencode) printf 'ctrl\\+p commands' ;;
	copilot) printf '/ commands' ;;
	auggie) printf '\\? to show shortcuts' ;;
	cline) printf 'What can I do for you' ;;
	pi) printf '\\(auto\\) ' ;;
	esac
}

# Its own records, one path a line: patterns below HOME.
others_records() {	# NAME HOME
	local pattern
	case $1 in
	codex) pattern='.codex/sessions/*/*/*/rollout-*.jsonl' ;;
	gemini) pattern='.gemini/tmp/*/chats/session-*.json*' ;;
	opencode)
		pattern='.local/share/opencode/opencode.db'
		# 1.1
		compgen -G "$2/.local/share/opencode/storage/part/*/*.json"
		;;
	copilot) pattern='.copilot/session-state/*/events.jsonl' ;;
	qwen) pattern='.qwen/projects/*/chats/*.jsonl' ;;
	auggie) pattern='.augment/sessions/*.json' ;;
	cline) pattern='.cline/data/sessions/*/*.json' ;;
	pi) pattern='.pi/agent/sessions/*/*.jsonl' ;;
	esac
	compgen -G "$2/$pattern"
}
