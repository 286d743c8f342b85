#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "prompt/prompt.h"
#include "prompt/prompt_private.h"

/*
 * Texts with the counts of three tokenizers: @anthropic-ai/tokenizer 0.0.4 (claude),
 * gpt-tokenizer 4.0.0 (cl100k_base, o200k_base). The estimate was not fitted to these.
 */
static const struct rule_sample {
	const char *kind;
	size_t claude, cl100k, o200k;
	const char *text;
} samples[] = {
	{ "english prose", 96, 96, 96,
	    "The build was green yesterday, so something that we merged this morning must have broken the "
	    "parser. I looked at"
	    " the three commits that touch it: the first only renames a variable, the second moves the table "
	    "of markers into "
	    "a file of its own, and the third changes how continuation lines are joined. My guess is the "
	    "third one, because t"
	    "he failing test prints a paragraph that is cut in the middle of a word. Let me write a smaller "
	    "test before I cha"
	    "nge anything." },
	{ "German", 146, 133, 103,
	    "Gestern lief der Bau noch durch, also muss etwas, das wir heute Morgen zusammengeführt haben, "
	    "den Zerleger besc"
	    "hädigt haben. Ich habe mir die drei Änderungen angesehen: Die erste benennt nur eine Variable "
	    "um, die zweite v"
	    "erschiebt die Tabelle der Markierungen in eine eigene Datei, und die dritte ändert, wie "
	    "Fortsetzungszeilen zusa"
	    "mmengefügt werden. Vermutlich liegt es an der dritten, denn die fehlgeschlagene Prüfung gibt "
	    "einen Absatz aus,"
	    " der mitten in einem Wort abgeschnitten ist." },
	{ "Spanish", 90, 81, 71,
	    "Ayer la compilación funcionaba, así que algo de lo que integramos esta mañana tiene que haber "
	    "estropeado el a"
	    "nalizador. He mirado los tres cambios: el primero solo cambia el nombre de una variable, el "
	    "segundo mueve la tab"
	    "la de marcas a un archivo propio y el tercero modifica la manera de unir las líneas que "
	    "continúan." },
	{ "Chinese", 127, 145, 102,
	    "昨天构建还是成功的，所以今天早上合并的某个改动一定破坏了解析器。我看了涉及"
	    "它的三个提交：第一个只是重命名了一个变量，第二个把标记表移到单独的文件里，"
	    "第三个改变了续行的连接方式。我猜是第三个，因为失败的测试打印出一个在单词中"
	    "间被截断的段落。在修改任何东西之前，我先写一个更小的测试。" },
	{ "Japanese", 160, 168, 129,
	    "昨日はビルドが通っていたので、今朝マージした変更のどれかがパーサーを壊した"
	    "はずです。関係する三つのコミットを確認しました。最初のものは変数の名前を変"
	    "えただけで、二つ目はマーカーの表を別のファイルに移し、三つ目は継続行のつな"
	    "ぎ方を変えています。失敗したテストは単語の途中で切れた段落を出力するので、"
	    "おそらく三つ目が原因です。" },
	{ "Korean", 203, 185, 118,
	    "어제는 빌드가 성공했으니 오늘 아침에 병합한 변경 가운데 하나가 파서를 망가뜨린"
	    " 것이 틀림없습니다. 관련된 커밋 세 개를 살펴보았습니다. 첫 번째는 변수 이름만 "
	    "바꾸고, 두 번째는 표시 표를 별도의 파일로 옮기며, 세 번째는 이어지는 줄을 합치"
	    "는 방법을 바꿉니다. 실패한 시험이 단어 중간에서 잘린 문단을 출력하므로 아마 세 "
	    "번째가 원인일 것입니다." },
	{ "Russian", 178, 160, 98,
	    "Вчера сборка проходила, значит, что-то из того, что мы влили се"
	    "годня утром, сломало разборщик. Я посмотрел три изменения: пе"
	    "рвое только переименовывает переменную, второе переносит та"
	    "блицу меток в отдельный файл, а третье меняет то, как соединяю"
	    "тся строки продолжения. Скорее всего, виновато третье, потому"
	    " что упавший тест печатает абзац, обрезанный посреди слова." },
	{ "Arabic", 210, 154, 70,
	    "كان البناء ناجحا أمس، لذلك لا بد أن شيئا مما دمجناه هذا الصباح"
	    " قد أفسد المحلل. نظرت في التغييرات الثلاثة التي تمسه: الأول يغ"
	    "ير اسم متغير فقط، والثاني ينقل جدول العلامات إلى ملف مستقل، و"
	    "الثالث يغير طريقة وصل الأسطر المتتابعة." },
	{ "C", 170, 144, 144,
	    "static int\nread_row(struct reader *r, const char *p, size_t n, struct err *e)\n{\n\tstruct row "
	    "*row;\n\n"
	    "\tif (n == 0 || p[n - 1] != '\\n')\n\t\treturn err_set(e, GT_FAIL, \"row\", \"line %zu has no "
	    "end\", r->line);\n"
	    "\tr->v = vec_room(r->v, r->n, &r->cap, sizeof *r->v);\n\trow = &r->v[r->n++];\n\tfor (size_t i "
	    "= 0; i < n; i++)\n"
	    "\t\trow->hash = row->hash * 31 + (unsigned char)p[i];\n\treturn 0;\n}\n" },
	{ "Python", 133, 118, 119,
	    "import json\nfrom pathlib import Path\n\n\nclass Inventory:\n    \"\"\"Counts what is in the "
	    "boxes.\"\"\"\n\n"
	    "    def __init__(self, path: Path) -> None:\n        self.path = path\n        self.items = "
	    "{}\n\n"
	    "    def load(self):\n        for line in "
	    "self.path.read_text(encoding=\"utf-8\").split(\"\\n\"):\n"
	    "            if not line.strip():\n                continue\n            record = "
	    "json.loads(line)\n"
	    "            self.items[record[\"name\"]] = self.items.get(record[\"name\"], 0) + "
	    "record.get(\"count\", 1)\n"
	    "        return len(self.items)\n" },
	{ "JSON", 142, 145, 145,
	    "{\n  \"name\": \"inventory\",\n  \"version\": \"2.14.0\",\n  \"private\": true,\n  \"boxes\": "
	    "[\n"
	    "    { \"id\": 1041, \"label\": \"screws\", \"weight_kg\": 12.75, \"open\": false },\n"
	    "    { \"id\": 1042, \"label\": \"washers\", \"weight_kg\": 3.5, \"open\": true },\n"
	    "    { \"id\": 1043, \"label\": null, \"weight_kg\": 0, \"open\": true }\n  ],\n"
	    "  \"updated_at\": \"2026-03-14T09:26:53.589Z\"\n}\n" },
	{ "JSON in one line", 112, 109, 110,
	    "{\"type\":\"assistant\",\"uuid\":\"5d0c1f6e-8a3b-4c7d-9e21-0b6f4a7c8d93\",\"timestamp\":\"2026-"
	    "03-14T09:26:53.58"
	    "9Z\",\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"name\":\"Bash\","
	    "\"input\":{\"comm"
	    "and\":\"make -j2 test\",\"description\":\"Run the "
	    "tests\"}}],\"usage\":{\"input_tokens\":18234,\"output_tokens\""
	    ":127}}}\n" },
	{ "log", 132, 141, 141,
	    "2026-03-14 09:26:53,589 INFO  [worker-7] store.commit: 42 changes in 0.018 s\n"
	    "2026-03-14 09:26:54,001 WARN  [worker-3] net.client: 10.20.30.41:5432 timed out after 3000 ms, "
	    "try 2 of 5\n"
	    "2026-03-14 09:26:57,120 ERROR [worker-3] net.client: connection refused (errno 111)\n"
	    "2026-03-14 09:26:57,121 INFO  [main] shutdown: waiting for 8 workers\n" },
	{ "diff", 163, 145, 145,
	    "diff --git a/src/rows.c b/src/rows.c\nindex 3f2a91c..b70e4d5 100644\n--- a/src/rows.c\n+++ "
	    "b/src/rows.c\n"
	    "@@ -41,7 +41,9 @@ rows_join(struct rows *r)\n \tfor (size_t i = 1; i < r->n; i++) {\n"
	    "-\t\tif (r->v[i].indent == 2)\n+\t\tif (r->v[i].indent == 2 && !r->v[i].code) {\n"
	    " \t\t\tjoin(&r->v[i - 1], &r->v[i]);\n+\t\t}\n \t}\n" },
	{ "base64", 150, 153, 146,
	    "iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAYAAACqaXHeAAAC8klEQVR42u2bT0gUURzHP7O7rrmr\n"
	    "ZhpqoRhCBhGRREFQEESHDh06eOjSoUOXDl06dOnSoUOHDh06dOjQoUOHDh3q0KFDRdGhQxER\n"
	    "UUQYQWRm5p91d2dmX4d5b33OzuzM7M6uM/v2wbC7M++9+X3f7/f3fu/93ghijjnmmGP+Z1KA\n" },
	{ "hex", 122, 117, 119,
	    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\n"
	    "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752\n"
	    "fd61a03af4f77d870fc21e05e7e80678095c92d808cfb3b5c279ee04c74aca13\n" },
	{ "markdown table", 70, 66, 66,
	    "| setting | default | meaning |\n|---------|---------|---------|\n"
	    "| `max_lines` | 10000 | lines of the conversation that are kept |\n"
	    "| `max_tokens` | 120000 | the whole prompt, as it is estimated |\n"
	    "| `scope` | task | since the work began, or all |\n" },
	{ "box drawing", 95, 94, 92,
	    "┌──────────────┬────────┬──────────┐\n"
	    "│ name         │  count │ state    │\n"
	    "├──────────────┼────────┼──────────┤\n"
	    "│ screws       │   1041 │ ok       │\n│ washers      │     87 │ missing  │\n"
	    "│ brackets     │      0 │ ordered  │\n"
	    "└──────────────┴────────┴──────────┘\n" },
	{ "terminal", 126, 143, 143,
	    "total 96\ndrwxr-xr-x  7 dev dev  4096 Mar 14 09:26 .\ndrwxr-xr-x 31 dev dev 12288 Mar 13 22:01 "
	    "..\n"
	    "-rw-r--r--  1 dev dev   842 Mar 10 11:47 Makefile\n-rw-r--r--  1 dev dev 15290 Mar 14 09:20 "
	    "notes.md\n"
	    "drwxr-xr-x  2 dev dev  4096 Mar 12 18:33 scripts\n-rwxr-xr-x  1 dev dev 61384 Mar 14 09:25 "
	    "inventory\n" },
	{ "minified JS", 111, 88, 90,
	    "var t=e=>{let n=0,r=[];for(;n<e.length;){const "
	    "o=e.charCodeAt(n++);if(o>127){r.push(o&63|128);continue}r.push(o)"
	    "}return r};function a(e,t){return "
	    "e&&t?Object.assign({},e,{children:t.map((e=>e.id)).filter(Boolean)}):null}expo"
	    "rt{t as encode,a as merge};\n" },
	{ "paths", 96, 73, 75,
	    "/home/dev/inventory/src/base/buf.c\n/home/dev/inventory/src/base/utf8.c\n"
	    "/home/dev/inventory/tests/golden/rows/wrapped-120/want.json\n/usr/lib/python3/dist-packages/"
	    "yaml/constructor.py\n"
	    "C:\\Users\\dev\\AppData\\Local\\Temp\\build-1f3a\\CMakeCache.txt\n" },
	{ "agent's screen", 199, 183, 176,
	    "❯ fix the failing test in tests/unit/test_rows.c\n\n● I'll run the test first to see how it "
	    "fails.\n\n"
	    "● Bash(make test_rows && build/test_rows)\n  ⎿  [  ERROR   ] --- 0x3 != 0x4\n"
	    "     [   LINE   ] --- tests/unit/test_rows.c:88: error: Failure!\n     … +14 lines (ctrl+o to "
	    "expand)\n\n"
	    "● Update(src/rows.c)\n  ⎿  Added 2 lines, removed 1 line\n      43 -\t\tif (r->v[i].indent == "
	    "2)\n"
	    "      43 +\t\tif (r->v[i].indent == 2 && !r->v[i].code) {\n\n✻ Baked for 38s\n\n"
	    "─────────────────────────────────────"
	    "───────────────────────\n❯ \n"
	    "─────────────────────────────────────"
	    "───────────────────────\n" },
	{ "emoji", 45, 47, 40,
	    "🚀 deployed to production\n✅ 128 tests passed\n❌ 2 tests failed 😢\n🔧 fixing them now "
	    "👩‍💻\n"
	    "🎉🎉🎉 done\n" },
	{ "numbers", 59, 76, 76,
	    "3.14159, 2.71828, 1.41421, 1.61803\n1024 2048 4096 8192 16384 32768 "
	    "65536\n17;4411;902;33018;5;780112\n"
	    "0.0001 -273.15 6.02214076e23\n" },
	{ "indentation", 27, 28, 28,
	    "if a:\n                if b:\n                                if c:\n"
	    "                                                return d\n                else:\n"
	    "                                return e\nelse:\n                return f\n" },
};

#define SAMPLES (sizeof samples / sizeof samples[0])

static size_t
greatest(const struct rule_sample *s)
{
	size_t most = s->claude > s->cl100k ? s->claude : s->cl100k;

	return most > s->o200k ? most : s->o200k;
}

/* Never under the greatest of the counts by more than 3 of 100, nor over it by more than half. */
static void
test_samples(void **state)
{
	(void)state;
	for (size_t i = 0; i < SAMPLES; i++) {
		const struct rule_sample *s = &samples[i];
		size_t got = prompt_token_count(s->text, strlen(s->text)), most = greatest(s);

		if (got * 100 < most * 97 || got * 100 > most * 150)
			fail_msg(
			    "%s: %zu, counted %zu %zu %zu", s->kind, got, s->claude, s->cl100k, s->o200k);
	}
}

static size_t
off(size_t got, size_t count)
{
	return (got > count ? got - count : count - got) * 100 / count;
}

/* The mean error is within a fifth, and less than half of that of 4 bytes a token. */
static void
test_mean(void **state)
{
	size_t ours = 0, bytes = 0;

	(void)state;
	for (size_t i = 0; i < SAMPLES; i++) {
		size_t n = strlen(samples[i].text), most = greatest(&samples[i]);

		ours += off(prompt_token_count(samples[i].text, n), most);
		bytes += off(prompt_tokens_of_size(n), most);
	}
	assert_true(ours / SAMPLES <= 20);
	assert_true(ours * 2 < bytes);
}

/* Lines add up, wherever a text is taken apart. */
static void
test_lines_add_up(void **state)
{
	(void)state;
	for (size_t i = 0; i < SAMPLES; i++) {
		const char *p = samples[i].text, *q;
		size_t sum = 0, all = prompt_token_cost(p, strlen(p));

		for (; (q = strchr(p, '\n')) != NULL; p = q + 1) {
			sum += prompt_token_cost(p, (size_t)(q - p) + 1);
			assert_int_equal(sum + prompt_token_cost(q + 1, strlen(q + 1)), all);
		}
	}
}

/*
 * Runs are cheap, but never cheaper than a token for TOKEN_BYTES_MOST bytes; bytes that are no
 * text cost, too.
 */
static void
test_least(void **state)
{
	static const char *const units[] = {
		" ", "\t", "\n", "a", "A", "aB", "0", "-", "a ", " \n", "  x", "the word ",
		"\xe2\x94\x80", "\xe2\x80\xa6", "\xe2\x96\x88", "\xe6\xbc\xa2", "\xf0\x9f\x9a\x80",
		"\xff", "\xe6\xbc", "        a", "abcdefgh ", "Abcdefgh", "\x1b[0m", "\x01",
	};
	struct buf b = BUF_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
		buf_reset(&b);
		for (size_t k = 0; k < 3000; k++) {
			buf_str(&b, units[i]);
			if (prompt_token_cost(b.data, b.len) * TOKEN_BYTES_MOST +
				TOKEN_BYTES_MOST * TOKEN_COST <
			    b.len * TOKEN_COST)
				fail_msg("unit %zu: %zu for %zu bytes", i, prompt_token_cost(b.data, b.len),
				    b.len);
			k += k / 4;
		}
	}
	assert_int_equal(prompt_token_cost("", 0), 0);
	assert_int_equal(prompt_token_count("", 0), 0);
	assert_int_equal(prompt_token_count("a", 1), 2);
	buf_release(&b);
}

static void
test_of_size(void **state)
{
	(void)state;
	assert_int_equal(prompt_tokens_of_size(0), 0);
	assert_int_equal(prompt_tokens_of_size(1), 1);
	assert_int_equal(prompt_tokens_of_size(4), 1);
	assert_int_equal(prompt_tokens_of_size(480000), 120000);
	assert_int_equal(prompt_tokens_of_size((size_t)-1), (size_t)-1 / 4 + 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples), cmocka_unit_test(test_mean),
		cmocka_unit_test(test_lines_add_up), cmocka_unit_test(test_least),
		cmocka_unit_test(test_of_size),
	};

	return cmocka_run_group_tests_name("tokens", tests, NULL, NULL);
}
