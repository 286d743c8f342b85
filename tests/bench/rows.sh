# shellcheck shell=bash
# Sourced by the benches, behind a directory W of their own: pairs of commands, measured in turn, as rows of a table.
cc -O2 -o "$W/measure" "$(dirname "${BASH_SOURCE[0]}")/measure.c" || exit 1

ms() {		# MICROSECONDS
	printf '%d.%d' $(($1 / 1000)) $(($1 % 1000 / 100))
}
ratio() {	# A B
	[ "$2" -gt 0 ] && printf '%d.%02d' $(($1 / $2)) $(($1 * 100 / $2 % 100)) || printf -- -
}
head_row() {	# WHAT
	printf '%-46s %9s %9s %8s %9s %9s\n' "$1" 'wall ms' 'cpu ms' 'peak MB' 'x wall' 'x cpu'
}
row() {		# NAME WALL CPU RSS [BASE_WALL BASE_CPU]
	printf '%-46s %9s %9s %8s %9s %9s\n' "$1" "$(ms "$2")" "$(ms "$3")" "$(($4 / 1024)).$(($4 % 1024 * 10 / 1024))" \
		"${5:+$(ratio "$2" "$5")}" "${6:+$(ratio "$3" "$6")}"
}
# RUNS INPUT BYTES BASE-NAME BASE-COMMAND... -- NAME COMMAND...: two rows; with BYTES also how many of them a second
compare() {
	local runs=$1 input=$2 bytes=$3 base_name=$4 base=() base_took took name
	shift 4
	while [ "$1" != -- ]; do
		base+=("$1")
		shift
	done
	name=$2
	shift 2
	"$W/measure" "$runs" "$input" "${base[@]}" -- "$@" >"$W/took" || exit 1
	{ read -ra base_took && read -ra took; } <"$W/took"
	row "$base_name" "${base_took[@]}"
	row "$name" "${took[@]}" "${base_took[0]}" "${base_took[1]}"
	[ "$bytes" = 0 ] || printf '%-46s %9s MB/s\n' '' $((bytes / took[0]))
}
