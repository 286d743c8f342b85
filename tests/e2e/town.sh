# shellcheck shell=bash
# shellcheck disable=SC2034	# what is set here is read by the tests
# A small Gas Town, sourced after lib.sh (and sqlite.sh for the SQLite form), as gt and bd of 2026-04 lay one out:
#
#   make_town dolt                            # or: make_town sqlite (bd <= 0.50.3). Sets TOWN, and SOCKET to the server that gt would use
#   add_bead gastown gt-abc hooked gastown/polecats/toast 'Mend the lexer' 'What is to be done.'    # ID STATUS ASSIGNEE TITLE [TEXT [TYPE [LABEL]]]
#   set_bead gastown gt-abc closed            # a new status
#   start_polecat gastown toast --scenario "$DATA/idle.scenario"     # as gt starts one; then agent_pid toast, kill_agent toast, … work
#   start_polecat gastown toast --keep        # with remain-on-exit on, as after gt-recover arm
#   gt list --town "$TOWN" --json             # gt is lib.sh's word for gt-recover; the town's own gt is a program in PATH
#   town_calls bd 'list .*--status=hooked'    # how often the town's gt or bd was called so
#
# Rigs: gastown (prefix gt; its .beads is redirected to mayor/rig/.beads) and sea-shanty (prefix sea-sh). Polecats: toast and nux
# (<rig>/polecats/<name>/<rig>), furiosa (the older <rig>/polecats/<name>) in gastown, bullet-farmer in sea-shanty. Sessions: gt-toast,
# gt-nux, gt-furiosa, sea-sh-bullet-farmer. Databases: town (prefix hq), gastown, sea-shanty. In the Dolt form each rig has a beads.db that
# was left over, in which a bead PREFIX-stale is hooked to every polecat.
#
# gt and bd (fake_town.pl) write each call down, one JSON object a line with argv, cwd, stdin and env, in $TOWN_CALLS/gt and $TOWN_CALLS/bd.
# Files that tell them how to behave, below $TOWN_FAKE: bd-answer (array, the default; object; envelope; plain: "No issues found." for
# nothing; dead: no Dolt server; garbage; hang), gt-answer (fail), env (lines KEY=VALUE that a polecat's session gets besides), beacon (when it
# exists, agents are started with the first prompt of gt; otherwise they sit idle).
TOWN_RIGS=(gastown sea-shanty)

_encode() {	# KEY VALUE...: one JSON object; a value that begins with [ or { is JSON already
	perl -MJSON::PP -CA -e 'my %o = @ARGV; /^[\[{]/ and $_ = JSON::PP->new->decode($_) for values %o;
		print JSON::PP->new->utf8->canonical->encode(\%o), "\n"' -- "$@"
}

make_town() {	# sqlite|dolt
	local rig
	TOWN_FORM=$1 TOWN=$W/town TOWN_FAKE=$W/town-fake TOWN_CALLS=$W/town-calls
	mkdir -p "$TOWN"/{mayor,settings,logs,daemon,deacon,.beads,.runtime/heartbeats,.runtime/pids} "$TOWN_FAKE"/{db,agents} "$TOWN_CALLS"
	_encode type town version 2 name town owner dev@example.com created_at 2026-04-01T08:00:00Z >"$TOWN/mayor/town.json"
	_encode type town-settings version 1 default_agent claude >"$TOWN/settings/config.json"
	cat >"$TOWN/mayor/rigs.json" <<-'JSON'
		{"version":1,"rigs":{
		 "gastown":{"git_url":"https://git.example.com/gastown.git","beads":{"repo":"local","prefix":"gt"}},
		 "sea-shanty":{"git_url":"https://git.example.com/sea-shanty.git","beads":{"repo":"local","prefix":"sea-sh"}}}}
	JSON
	cat >"$TOWN/.beads/routes.jsonl" <<-'JSON'
		# which prefix lives where
		{"prefix":"hq-","path":"."}

		{"prefix":"gt-","path":"gastown/mayor/rig"}
		{"prefix":"sea-sh-","path":"sea-shanty"}
	JSON
	: >"$TOWN/.events.jsonl"
	SOCKET=$(basename "$TOWN")-$(printf %s "$(realpath "$TOWN")" | sha256sum | cut -c 1-6)
	for rig in "${TOWN_RIGS[@]}"; do
		_make_rig "$rig"
	done
	_make_polecat gastown toast gastown/polecats/toast/gastown
	_make_polecat gastown nux gastown/polecats/nux/gastown
	_make_polecat gastown furiosa gastown/polecats/furiosa
	_make_polecat sea-shanty bullet-farmer sea-shanty/polecats/bullet-farmer/sea-shanty
	for rig in town "${TOWN_RIGS[@]}"; do
		_make_database "$rig"
	done
	for rig in gt bd; do
		cp -- "$ROOT/tests/e2e/fake_town.pl" "$W/bin/$rig" && chmod 755 "$W/bin/$rig"
	done
	# what the two programs have to know of this test, wherever they are called from
	printf '%s\n' "$TOWN" "$TOWN_FAKE" "$TOWN_CALLS" "$SOCKET" >"$W/bin/.fake-town"
	tm start-server \; set-option -s exit-empty off \; set-option -g default-shell /bin/bash \; set-option -g history-limit 50000 2>/dev/null
}

_make_rig() {	# RIG
	local prefix
	prefix=$(town_prefix "$1")
	mkdir -p "$TOWN/$1"/{.beads,settings,.runtime/locks,witness,refinery,polecats/.claude,crew}
	printf '{"type":"rig","name":"%s","git_url":"https://git.example.com/%s.git","default_branch":"main","beads":{"prefix":"%s"}}\n' \
		"$1" "$1" "$prefix" >"$TOWN/$1/config.json"
	echo '{"editorMode":"normal"}' >"$TOWN/$1/polecats/.claude/settings.json"
	if [ "$1" = gastown ]; then
		mkdir -p "$TOWN/$1/mayor/rig/.beads"
		echo mayor/rig/.beads >"$TOWN/$1/.beads/redirect"
	fi
}

_make_polecat() {	# RIG NAME WORKTREE
	local dir=$TOWN/$3
	mkdir -p "$dir/.runtime" "$dir/.beads"
	if [ "$1" = gastown ]; then
		realpath --relative-to="$dir" "$TOWN/gastown/mayor/rig/.beads" >"$dir/.beads/redirect"
	else
		realpath --relative-to="$dir" "$TOWN/$1/.beads" >"$dir/.beads/redirect"
	fi
	printf '.runtime/\n.beads/\n' >"$dir/.gitignore"
	git -C "$dir" init -q -b "polecat/$2/work@mq3x" && git -C "$dir" add .gitignore &&
		git -C "$dir" -c user.name="$2" -c user.email=dev@example.com commit -q -m 'Begin' || return 1
}

town_prefix() {	# RIG|town: of its beads and sessions
	case $1 in
	town) echo hq ;;
	gastown) echo gt ;;
	*) echo sea-sh ;;
	esac
}

town_session() {	# RIG NAME
	printf '%s-%s' "$(town_prefix "$1")" "$2"
}

town_worktree() {	# RIG NAME
	local dir=$TOWN/$1/polecats/$2
	[ ! -d "$dir/$1" ] || dir=$dir/$1
	printf %s "$dir"
}

# ---- beads ----

_beads_dir() {	# town|RIG
	case $1 in
	town) printf %s "$TOWN/.beads" ;;
	gastown) printf %s "$TOWN/gastown/mayor/rig/.beads" ;;
	*) printf %s "$TOWN/$1/.beads" ;;
	esac
}

_make_database() {	# town|RIG
	local dir name=$1
	dir=$(_beads_dir "$1")
	printf 'issue-prefix: %s\n' "$(town_prefix "$1")" >"$dir/config.yaml"
	if [ "$TOWN_FORM" = sqlite ]; then
		_encode database beads.db jsonl_export issues.jsonl backend sqlite >"$dir/metadata.json"
		_make_sqlite "$dir/beads.db"
		return
	fi
	[ "$1" != town ] || name=hq
	_encode backend dolt dolt_mode server dolt_server_host 127.0.0.1 dolt_server_port 3307 dolt_server_user root dolt_database "$name" \
		>"$dir/metadata.json"
	: >"$TOWN_FAKE/db/$name"
	[ "$1" != town ] || return 0
	_make_sqlite "$dir/beads.db"
	sql "$dir/beads.db" "INSERT INTO issues (id, title, status, assignee, created_at, updated_at) VALUES
		('$(town_prefix "$1")-stale', 'Left over', 'hooked', '$1/polecats/toast', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z')"
}

_make_sqlite() {	# FILE: the schema of bd 0.50.3, as far as its readers care
	sql "$1" "PRAGMA journal_mode=WAL;
		CREATE TABLE issues (id TEXT PRIMARY KEY, content_hash TEXT, title TEXT NOT NULL CHECK (length(title) <= 500),
			description TEXT NOT NULL DEFAULT '', design TEXT NOT NULL DEFAULT '', acceptance_criteria TEXT NOT NULL DEFAULT '',
			notes TEXT NOT NULL DEFAULT '', status TEXT NOT NULL DEFAULT 'open', priority INTEGER NOT NULL DEFAULT 2,
			issue_type TEXT NOT NULL DEFAULT 'task', assignee TEXT, estimated_minutes INTEGER, created_at DATETIME, created_by TEXT,
			owner TEXT, updated_at DATETIME, closed_at DATETIME, closed_by_session TEXT, external_ref TEXT, spec_id TEXT,
			compaction_level INTEGER, compacted_at DATETIME, compacted_at_commit TEXT, original_size INTEGER, deleted_at DATETIME,
			deleted_by TEXT, delete_reason TEXT, original_type TEXT, sender TEXT, ephemeral INTEGER DEFAULT 0, wisp_type TEXT,
			pinned INTEGER DEFAULT 0, is_template INTEGER DEFAULT 0, crystallizes INTEGER DEFAULT 0, mol_type TEXT, work_type TEXT,
			quality_score REAL, source_system TEXT, metadata TEXT NOT NULL DEFAULT '{}', event_kind TEXT, actor TEXT, target TEXT,
			payload TEXT, source_repo TEXT, close_reason TEXT, await_type TEXT, await_id TEXT, timeout_ns INTEGER, waiters TEXT,
			hook_bead TEXT, role_bead TEXT, agent_state TEXT, last_activity DATETIME, role_type TEXT, rig TEXT, due_at DATETIME,
			defer_until DATETIME);
		CREATE TABLE dependencies (issue_id TEXT, depends_on_id TEXT, type TEXT NOT NULL DEFAULT 'blocks', created_at DATETIME,
			created_by TEXT, metadata TEXT, thread_id TEXT, PRIMARY KEY (issue_id, depends_on_id, type));
		CREATE TABLE labels (issue_id TEXT, label TEXT, PRIMARY KEY (issue_id, label));
		CREATE TABLE comments (id INTEGER PRIMARY KEY, issue_id TEXT, author TEXT, text TEXT, created_at DATETIME);
		CREATE TABLE events (id INTEGER PRIMARY KEY, issue_id TEXT, event_type TEXT, actor TEXT, old_value TEXT, new_value TEXT,
			comment TEXT, created_at DATETIME);
		CREATE TABLE config (key TEXT PRIMARY KEY, value TEXT); CREATE TABLE metadata (key TEXT PRIMARY KEY, value TEXT);" >/dev/null
}

_quoted() {	# TEXT: as an SQL string
	printf "'%s'" "${1//\'/\'\'}"
}

add_bead() {	# town|RIG ID STATUS ASSIGNEE TITLE [TEXT [TYPE [LABEL]]]
	local name=$1 now
	[ "$1" != town ] || name=hq
	now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
	if [ "$TOWN_FORM" = sqlite ]; then
		sql "$(_beads_dir "$1")/beads.db" "INSERT INTO issues (id, status, assignee, title, description, issue_type, created_at, updated_at)
			VALUES ($(_quoted "$2"), $(_quoted "$3"), $(_quoted "$4"), $(_quoted "$5"), $(_quoted "${6-}"), $(_quoted "${7-task}"),
			'$now', '$now')"
		[ -z "${8-}" ] || sql "$(_beads_dir "$1")/beads.db" "INSERT INTO labels VALUES ($(_quoted "$2"), $(_quoted "$8"))"
	else
		_encode id "$2" status "$3" assignee "$4" title "$5" description "${6-}" issue_type "${7-task}" priority 2 labels \
			"[$([ -z "${8-}" ] || printf '"%s"' "$8")]" created_at "$now" updated_at "$now" >>"$TOWN_FAKE/db/$name"
	fi
}

set_bead() {	# town|RIG ID STATUS
	local name=$1
	[ "$1" != town ] || name=hq
	if [ "$TOWN_FORM" = sqlite ]; then
		sql "$(_beads_dir "$1")/beads.db" "UPDATE issues SET status = $(_quoted "$3") WHERE id = $(_quoted "$2")"
	else
		_encode id "$2" status "$3" >>"$TOWN_FAKE/db/$name"	# of several lines of one bead the later ones win, field by field
	fi
}

agent_bead() {	# RIG NAME AGENT_STATE: as gt writes it now, a task with the state in its text
	local id
	id=$(town_prefix "$1")-$1-polecat-$2
	[ "$(town_prefix "$1")" != "$1" ] || id=$1-polecat-$2
	add_bead "$1" "$id" open '' "$id" "$(printf '%s\n\nrole_type: polecat\nrig: %s\nagent_state: %s\nhook_bead: null\ncleanup_status: clean\n' \
		"$id" "$1" "$3")" task gt:agent
}

# ---- polecats ----

# start_polecat RIG NAME [--keep|--no-wait] [agent flag]...: by the town's own gt. The session is known to lib.sh by the polecat's name.
start_polecat() {
	local rig=$1 name=$2 session dir keep=0 wait=1 flags=()
	shift 2
	while [ $# -gt 0 ]; do
		case $1 in
		--keep) keep=1 ;;
		--no-wait) wait=0 ;;
		*) flags+=("$1") ;;
		esac
		shift
	done
	session=$(town_session "$rig" "$name") dir=$(agent_dir "$name")
	mkdir -p "$dir"
	ln -sfn "$(town_worktree "$rig" "$name")" "$dir/cwd"
	printf '%s\n' "$dir" >"$TOWN_FAKE/agents/$session"
	{ printf '%s\n' "${flags[*]-}" && cat "$dir/plan" 2>/dev/null; } >"$dir/plan.new"
	mv -- "$dir/plan.new" "$dir/plan"
	(cd "$TOWN" && env gt session start "$rig/$name") >"$dir/started" 2>&1 || { note "$(cat "$dir/started")" && return 1; }
	know_polecat "$rig" "$name" || return 1
	[ $keep = 0 ] || tm set-option -p -t "$(agent_pane "$name")" remain-on-exit on
	[ $wait = 0 ] || until_ 10 _event "$name" '^(ready|exit)' || { note "polecat $name did not come up" && return 1; }
}

# After somebody else started the session: lib.sh's functions mean its pane again.
know_polecat() {	# RIG NAME
	tm display-message -p -t "=$(town_session "$1" "$2"):" '#{pane_id}' >"$(agent_dir "$2")/pane.new" 2>/dev/null &&
		[ -s "$(agent_dir "$2")/pane.new" ] && tr -d '\n' <"$(agent_dir "$2")/pane.new" >"$(agent_dir "$2")/pane"
}

town_session_gone() {	# RIG NAME
	! tm has-session -t "=$(town_session "$1" "$2")" 2>/dev/null
}

heartbeat() {	# RIG NAME STATE [SECONDS AGO]: as a gt command in that session leaves it
	_encode timestamp "$(date -u -d "-${4-0} seconds" +%Y-%m-%dT%H:%M:%S.%NZ)" state "$3" context 'gt done' bead '' \
		>"$TOWN/.runtime/heartbeats/$(town_session "$1" "$2").json"
}

# A line of the town's log of events, now: town_event TYPE RIG/polecats/NAME [JSON of the payload]
town_event() {
	_encode ts "$(date -u +%Y-%m-%dT%H:%M:%SZ)" source gt type "$1" actor "$2" payload "${3-"{}"}" visibility feed >>"$TOWN/.events.jsonl"
}

# ---- what the town's programs were asked ----

town_calls() {	# gt|bd [EXTENDED-REGEXP of its words, a blank between two]: how many
	perl -MJSON::PP -e 'my ($file, $re) = @ARGV; my $n = 0; open my $f, "<", $file or print(0), exit;
		while (<$f>) { my $v = decode_json($_); $n++ if join(" ", @{$v->{argv}}) =~ /$re/ } print $n' "$TOWN_CALLS/$1" "${2-.}"
}

town_call() {	# gt|bd EXTENDED-REGEXP PATH-OF-PERL: a value of the last such call, as in: town_call gt 'mail send' '{stdin}'
	perl -MJSON::PP -e 'my ($file, $re, $path) = @ARGV; my $last; open my $f, "<", $file or exit;
		while (<$f>) { my $v = decode_json($_); $last = $v if join(" ", @{$v->{argv}}) =~ /$re/ }
		while (defined $last && $path =~ /\{([^}]*)\}|\[(-?\d+)\]/g) { $last = defined $1 ? $last->{$1} : $last->[$2] }
		binmode STDOUT, ":utf8"; print $last // "(none)"' "$TOWN_CALLS/$1" "$2" "$3"
}
