#!/bin/bash
# Records in a Redis server behind TLS, which asks for our certificate, too. Where hiredis has no TLS, rediss:// is refused.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
mkdir -p "$XDG_CONFIG_HOME/gt-recover"
state() {	# ADDRESS
	printf '[recovery]\nstate = "%s"\n' "$1" >"$XDG_CONFIG_HOME/gt-recover/gt.toml"
}

state rediss://127.0.0.1:1/0
gt run list
if [[ $ERR == *'has no TLS'* ]]; then
	is "$RC" 2 'a gt-recover without TLS refuses rediss://'
	like "$ERR" 'stunnel, or ssh -L' '  and names the alternatives'
	skip 'hiredis has no TLS here' 10
	done_testing
fi
is "$RC" 75 'where nothing listens the answer is: try again'
for program in redis-server redis-cli openssl; do
	command -v $program >/dev/null || { skip "$program is not installed" 11 && done_testing; }
done

# Two authorities; the first signs for 127.0.0.1 and localhost and for us.
C=$W/certificates
mkdir -m 700 "$C"
for ca in ca other; do
	openssl req -x509 -newkey rsa:2048 -nodes -keyout "$C/$ca.key" -out "$C/$ca.pem" -days 2 -subj "/CN=$ca" 2>/dev/null
done
sign() {	# NAME EXTENSION
	openssl req -newkey rsa:2048 -nodes -keyout "$C/$1.key" -out "$C/$1.csr" -subj "/CN=$1" 2>/dev/null
	openssl x509 -req -in "$C/$1.csr" -CA "$C/ca.pem" -CAkey "$C/ca.key" -CAcreateserial -days 2 -out "$C/$1.pem" \
		-extfile <(printf '%s\n' "$2") 2>/dev/null
}
sign server 'subjectAltName=IP:127.0.0.1,DNS:localhost'
sign client 'extendedKeyUsage=clientAuth'

answers() {
	[ "$(redis-cli -s "$C/sock" ping 2>/dev/null)" = PONG ]
}
start_redis() {
	local try
	for try in 1 2 3 4 5; do
		port=$((20000 + RANDOM % 12000))
		redis-server --port 0 --tls-port $port --bind 127.0.0.1 --unixsocket "$C/sock" --dir "$C" --appendonly yes --appendfsync always --save '' \
			--tls-cert-file "$C/server.pem" --tls-key-file "$C/server.key" --tls-ca-cert-file "$C/ca.pem" \
			--daemonize no >"$C/log" 2>&1 </dev/null &
		PIDS=($!)
		disown $!
		until_ 10 answers && return
		kill -9 "${PIDS[0]}" 2>/dev/null
		note "try $try: $(tail -n 1 "$C/log")"
	done
	return 1
}
start_redis || { skip "this redis-server has no TLS: $(tail -n 1 "$C/log")" 11 && done_testing; }
mine="cert_file=$C/client.pem&key_file=$C/client.key"

state "rediss://127.0.0.1:$port/2?ca_file=$C/ca.pem&$mine"
printf '{"run_id":"r1","session_id":"s1","prompt":"test","execution_mode":"sync"}' >"$W/in"
gt_in "$W/in" run create
is "$RC" 0 'a run is recorded through TLS'
like "$(redis-cli -s "$C/sock" -n 2 get run:r1)" '^\{.*"s1"' '  and is in the server'
# more than a record of TLS holds
head -c 300000 /dev/zero | tr '\0' x | sed 's/.*/{"run_id":"r2","session_id":"s1","prompt":"&","execution_mode":"sync"}/' >"$W/in"
gt_in "$W/in" run create
is "$RC" 0 '300 kB go through it'
gt run list --json
is "$(printf '%s' "$OUT" | grep -o 'x*' | awk 'length > n { n = length } END { print n }')" 300000 '  and come back'

state "rediss://localhost:$port/2?ca_file=$C/ca.pem&$mine"
gt run list
is "$RC" 0 'a host by its name'
state "rediss://127.0.0.1:$port/2?ca_file=$C/other.pem&$mine"
gt run list
is "$RC" 1 'a certificate that another authority signed is refused'
like "$ERR" 'certificate of the Redis store .* is not valid' '  with its reason'
state "rediss://127.0.0.1:$port/2?ca_file=$C/ca.pem"
gt run list
is "$RC" 75 'without our certificate a server that wants one lets nobody in'

sign server 'subjectAltName=DNS:elsewhere'
kill -9 "${PIDS[0]}"
until_ 10 _gone "${PIDS[0]}"
start_redis
state "rediss://127.0.0.1:$port/2?ca_file=$C/ca.pem&$mine"
gt run list
is "$RC" 1 'a certificate for another host is refused'
like "$ERR" 'is not valid: .*mismatch' '  with its reason'
done_testing
