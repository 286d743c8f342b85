# shellcheck shell=bash
# Sourced after lib.sh by tests that look into a database, or make one: the program sqlite3 is not everywhere, its library is.
#   sql FILE SQL		prints the rows, columns apart by |
#   sql_record FILE SQL	changes records of a store as the program would: their checksums and tallies follow

sql() {
	if [ ! -x "$W/sql" ]; then
		cat >"$W/sql.c" <<-'C'
			#include <sqlite3.h>
			#include <stdio.h>

			static int
			row(void *arg, int n, char **value, char **name)
			{
				(void)arg;
				(void)name;
				for (int i = 0; i < n; i++)
					printf("%s%s", i > 0 ? "|" : "", value[i] != NULL ? value[i] : "");
				putchar('\n');
				return 0;
			}

			int
			main(int argc, char **argv)
			{
				char *why = NULL;
				sqlite3 *db;

				if (argc != 3 || sqlite3_open(argv[1], &db) != SQLITE_OK)
					return 2;
				sqlite3_busy_timeout(db, 5000);
				if (sqlite3_exec(db, argv[2], row, NULL, &why) == SQLITE_OK)
					return 0;
				fprintf(stderr, "%s: %s\n", argv[1], why);
				return 1;
			}
		C
		cc -o "$W/sql" "$W/sql.c" -lsqlite3 || return 1
	fi
	"$W/sql" "$1" "$2"
}

sql_record() {
	if [ ! -x "$W/sql_record" ]; then
		cat >"$W/sql_record.c" <<-'C'
			#include <stdio.h>

			#include "base/err.h"
			#include "store/store_private.h"

			int
			main(int argc, char **argv)
			{
				struct err e = ERR_INIT;
				sqlite3 *db;

				if (argc != 3 || sqlite3_open(argv[1], &db) != SQLITE_OK)
					return 2;
				sqlite3_busy_timeout(db, 5000);
				if (sqlite_add_functions(db, &e) == 0 && db_exec(db, "BEGIN", &e) == 0 && db_exec(db, argv[2], &e) == 0 &&
				    db_exec(db, "UPDATE record SET sum = record_sum(key, version, tag, value)", &e) == 0 &&
				    db_exec(db, sqlite_retally, &e) == 0 && db_exec(db, "COMMIT", &e) == 0)
					return 0;
				fprintf(stderr, "%s: %s\n", argv[1], e.msg);
				return 1;
			}
		C
		# shellcheck disable=SC2046	# flags
		cc -std=c11 -D_GNU_SOURCE -I"$ROOT/src" -o "$W/sql_record" "$W/sql_record.c" "$ROOT/build/libgtrecover.a" \
			$(pkg-config --cflags --libs libpcre2-8 sqlite3 jansson inih hiredis zlib) || return 1
	fi
	"$W/sql_record" "$1" "$2"
}
