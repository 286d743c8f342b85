#!/usr/bin/env node
// A stand-in for the models behind the other real agents, on loopback only: OpenAI's Responses (codex) and Chat Completions (opencode, copilot,
// qwen, cline, pi), Gemini's streamGenerateContent and Augment's chat-stream, from one scenario. It keeps every request of a conversation, so
// that a test can say how often an agent's model was told something.
//
//   node mock-others.mjs serve --scenario FILE --requests DIR --port-file FILE [--log FILE]
//       FILE: {"answers": [{"when": REGEXP, "content": [PART...], "pace": MS}...], "otherwise": TEXT}
//       The first answer whose REGEXP matches the newest user message is given; results of tools count as a message that reads "tool_result".
//       PART is {"text": TEXT, "stop_at": N}, {"shell": COMMAND}, a call of whatever tool the agent offers for commands, or
//       {"write": PATH, "content": TEXT}, of that for files; with stop_at the stream goes silent after N characters and stays open.
//       The base URL of an agent is http://127.0.0.1:PORT/WHO, so that many can be told apart.
//       DIR receives NNNN.json, {who, url, body}, of every request that belongs to a conversation (one that offers tools).
//       The log gets a JSON line for each thing that happened: {"at": MS, "who", "event": "request"|"part"|"stall"|"end"|"chore"|"unknown", ...};
//       of a part what was really sent of it, "whole" or not, a call's name, input and id.
//   node mock-others.mjs count --requests DIR --who WHO --prompt FILE
//       "newest=N inside=N exact=N blanks=N requests=N": N requests whose newest message holds the bytes of FILE; and in the last request that
//       holds them, how many texts of user messages do, are the very bytes, or are the same but for blanks. Blanks at its end do not count.
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import process from 'node:process';

function options(args) {
	const o = {};
	for (let i = 0; i < args.length; i += 2) {
		if (!args[i].startsWith('--') || args[i + 1] === undefined)
			throw new Error(`bad argument ${args[i]}`);
		o[args[i].slice(2)] = args[i + 1];
	}
	return o;
}

const pause = (ms) => new Promise((go) => setTimeout(go, ms));
const textsOf = (content) => typeof content === 'string' ? [content] : (content ?? []).map((b) => b.text).filter((t) => typeof t === 'string');
let ids = 0;
const newId = (prefix) => `${prefix}_mock${process.pid}x${++ids}`;

// The tools by which agents run commands, and the input that each wants.
const SHELLS = {
	exec_command: (cmd) => ({ cmd }),
	shell_command: (command) => ({ command }),
	shell: (command) => ({ command: ['bash', '-lc', command] }),
	run_shell_command: (command) => ({ command, description: 'Run it', is_background: false }),
	bash: (command) => ({ command, description: 'Run it' }),
	run_commands: (command) => ({ commands: [command] }),
	execute_command: (command) => ({ command, requires_approval: false }),
	'launch-process': (command) => ({ command, wait: true, max_wait_seconds: 600, cwd: '.' }),
};

// Those by which they write files.
const WRITERS = {
	write_file: (path, text) => ({ file_path: path, content: text }),
	write: (path, text) => ({ filePath: path, content: text }),
	create: (path, text) => ({ path, file_text: text }),
};

function toolCall(table, tools, ...words) {
	const name = Object.keys(table).find((n) => tools.includes(n));
	if (name === undefined)
		throw new Error(`none of ${Object.keys(table).join(' ')} among ${tools.join(' ')}`);
	return { name, input: table[name](...words) };
}

class Stream {
	constructor(response, type) {
		this.response = response;
		this.open = true;
		this.closed = new Promise((go) => response.on('close', go)).then(() => { this.open = false; });
		response.writeHead(200, { 'content-type': type, 'cache-control': 'no-cache' });
	}

	write(text) {
		if (this.open)
			this.response.write(text);
	}

	data(value) {
		this.write(`data: ${JSON.stringify(value)}\n\n`);
	}
}

// ---- an interface each: the messages [{user, result, texts}] and tools of a request, and how an answer is said ----

class Responses {
	static path = /\/responses$/;
	static type = 'text/event-stream';

	static messages(body) {
		return textMessages(body.input, (m) => m.type === 'function_call_output' || m.type === 'custom_tool_call_output');
	}

	static tools(body) {
		return (body.tools ?? []).map((t) => t.name ?? t.type);
	}

	constructor(stream) {
		this.stream = stream;
		this.id = newId('resp');
		this.event('created', { response: { id: this.id, object: 'response', status: 'in_progress', output: [] } });
	}

	event(type, fields) {
		this.stream.write(`event: response.${type}\n`);
		this.stream.data({ type: `response.${type}`, ...fields });
	}

	message(status, text) {
		const content = text === undefined ? [] : [{ type: 'output_text', text, annotations: [] }];
		return { type: 'message', id: this.item, status, role: 'assistant', content };
	}

	beginText() {
		this.item = newId('msg');
		this.event('output_item.added', { output_index: 0, item: this.message('in_progress') });
	}

	text(delta) {
		this.event('output_text.delta', { item_id: this.item, output_index: 0, content_index: 0, delta });
	}

	endText(text) {
		this.event('output_item.done', { output_index: 0, item: this.message('completed', text) });
	}

	call(id, name, input) {
		this.event('output_item.done', { output_index: 1, item: { type: 'function_call', id: newId('fc'), call_id: id, name,
			arguments: JSON.stringify(input), status: 'completed' } });
	}

	end() {
		this.event('completed', { response: { id: this.id, object: 'response', status: 'completed', output: [], usage: { input_tokens: 1000,
			input_tokens_details: { cached_tokens: 0 }, output_tokens: 40, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 1040 } } });
	}
}

class Chat {
	static path = /\/chat\/completions$/;
	static type = 'text/event-stream';

	static messages(body) {
		return textMessages(body.messages, (m) => m.role === 'tool');
	}

	static tools(body) {
		return (body.tools ?? []).map((t) => t.function?.name);
	}

	static whole(body, text) {
		return { id: newId('chat'), object: 'chat.completion', created: 1, model: body.model,
			choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
			usage: { prompt_tokens: 1000, completion_tokens: 40, total_tokens: 1040 } };
	}

	constructor(stream, body) {
		this.stream = stream;
		this.base = { id: newId('chat'), object: 'chat.completion.chunk', created: 1, model: body.model };
		this.calls = 0;
		this.chunk({ role: 'assistant', content: '' });
	}

	chunk(delta, reason = null) {
		this.stream.data({ ...this.base, choices: [{ index: 0, delta, finish_reason: reason }] });
	}

	beginText() {}

	text(content) {
		this.chunk({ content });
	}

	endText() {}

	call(id, name, input) {
		this.chunk({ tool_calls: [{ index: this.calls++, id, type: 'function', function: { name, arguments: JSON.stringify(input) } }] });
	}

	end() {
		this.chunk({}, this.calls > 0 ? 'tool_calls' : 'stop');
		this.stream.data({ ...this.base, choices: [], usage: { prompt_tokens: 1000, completion_tokens: 40, total_tokens: 1040 } });
		this.stream.write('data: [DONE]\n\n');
	}
}

class Gemini {
	static path = /:(?:streamGenerateContent|generateContent)$/;
	static type = 'text/event-stream';

	static messages(body) {
		return (body.contents ?? []).map((m) => ({ user: m.role === 'user', texts: textsOf(m.parts),
			result: (m.parts ?? []).some((p) => p.functionResponse !== undefined) }));
	}

	static tools(body) {
		return (body.tools ?? []).flatMap((t) => t.functionDeclarations ?? []).map((t) => t.name);
	}

	static whole(_body, text) {
		return { candidates: [{ index: 0, content: { role: 'model', parts: [{ text }] }, finishReason: 'STOP' }], usageMetadata: {} };
	}

	constructor(stream) {
		this.stream = stream;
	}

	parts(parts, finishReason) {
		this.stream.data({ candidates: [{ index: 0, content: { role: 'model', parts }, finishReason }], usageMetadata: { promptTokenCount: 1000,
			candidatesTokenCount: 40, totalTokenCount: 1040 } });
	}

	beginText() {}

	text(text) {
		this.parts([{ text }]);
	}

	endText() {}

	call(id, name, args) {
		this.parts([{ functionCall: { id, name, args } }]);
	}

	end() {
		this.parts([{ text: '' }], 'STOP');
	}
}

class Augment {
	static path = /\/chat-stream$/;
	static type = 'application/x-ndjson';

	static messages(body) {
		const node = (n) => n.text_node?.content;
		const exchange = (e, message, nodes) => ({ user: true, result: (nodes ?? []).some((n) => n.tool_result_node != null),
			texts: [...new Set([message, ...(nodes ?? []).map(node)])].filter((t) => typeof t === 'string' && t !== '') });
		const said = (body.chat_history ?? []).flatMap((e) => [exchange(e, e.request_message, e.request_nodes),
			{ user: false, result: false, texts: [e.response_text ?? ''] }]);
		return [...said, exchange(body, body.message, body.nodes)];
	}

	static tools(body) {
		return (body.tool_definitions ?? []).map((t) => t.name);
	}

	constructor(stream) {
		this.stream = stream;
		this.called = false;
	}

	line(text, nodes = [], more = {}) {
		this.stream.write(`${JSON.stringify({ text, nodes, unknown_blob_names: [], checkpoint_not_found: false, ...more })}\n`);
	}

	beginText() {}

	text(text) {
		this.line(text, [{ id: 1, type: 0, content: text }]);
	}

	endText() {}

	call(id, name, input) {
		this.called = true;
		this.line('', [{ id: 2, type: 5, content: '', tool_use: { tool_use_id: id, tool_name: name, input_json: JSON.stringify(input) } }]);
	}

	end() {
		this.line('', [], { stop_reason: this.called ? 3 : 1 });
	}
}

function textMessages(list, isResult) {
	return (typeof list === 'string' ? [{ role: 'user', content: list }] : list ?? []).map((m) =>
		({ user: m.role === 'user', result: isResult(m), texts: textsOf(m.content) }));
}

const APIS = [Responses, Chat, Gemini, Augment];
const apiOf = (url) => APIS.find((api) => api.path.test(url));

// What the person said last: agents put texts of their own beside it, and some send them as messages.
function newest(messages) {
	const last = messages.findLast((m) => m.user || m.result);
	return last === undefined ? '' : last.result ? 'tool_result' : last.texts.join('\n');
}

async function say(api, stream, body, answer, log) {
	const writer = new api(stream, body), pace = answer.pace ?? 2;

	for (const part of answer.content) {
		if (part.shell !== undefined || part.write !== undefined) {
			const { name, input } = part.shell !== undefined ? toolCall(SHELLS, api.tools(body), part.shell) :
				toolCall(WRITERS, api.tools(body), part.write, part.content), id = newId('call');
			writer.call(id, name, input);
			log('part', { part, tool: name, input, id, whole: stream.open });
			continue;
		}
		const letters = Array.from(part.text), wanted = letters.slice(0, part.stop_at ?? letters.length);
		let said = '';
		writer.beginText();
		for (let i = 0; i < wanted.length && stream.open; i += 30) {
			const piece = wanted.slice(i, i + 30).join('');
			writer.text(piece);
			said += piece;
			await pause(pace);
		}
		if (part.stop_at !== undefined) {
			log('part', { part, said, whole: false });
			log('stall');
			await stream.closed;
			return;
		}
		writer.endText(part.text);
		log('part', { part, said, whole: stream.open });
	}
	writer.end();
	if (stream.open)
		stream.response.end();
}

// Requests of an agent's own: titles, summaries and such come without tools, silently, or want one JSON object; qwen's notes for later come from a
// sub-agent that says what it is.
function isChore(api, body, streams) {
	return !streams || body.silent === true || api.tools(body).length === 0 ||
		/^.{0,80}memory extraction subagent/u.test(textsOf(body.messages?.[0]?.content)[0] ?? '');
}

// The smallest value that a JSON schema allows.
function instanceOf(schema) {
	if (schema?.enum !== undefined)
		return schema.enum[0];
	switch (String(schema?.type).toLowerCase()) {
	case 'object':
		return Object.fromEntries(Object.entries(schema.properties ?? {}).map(([k, v]) => [k, instanceOf(v)]));
	case 'array':
		return [];
	case 'number':
	case 'integer':
		return schema.minimum ?? 1;
	case 'boolean':
		return false;
	}
	return 'A test';
}

function choreText(body) {
	const schema = body.generationConfig?.responseJsonSchema ?? body.generationConfig?.responseSchema ?? body.response_format?.json_schema?.schema ??
		body.text?.format?.schema;
	return schema === undefined ? 'A test' : JSON.stringify(instanceOf(schema));
}

function serve(o) {
	const scenario = JSON.parse(fs.readFileSync(o.scenario, 'utf8'));
	let kept = 0;

	const note = (fields) => o.log !== undefined && fs.appendFileSync(o.log, `${JSON.stringify({ at: Date.now(), ...fields })}\n`);
	const send = (response, status, value) => {
		response.writeHead(status, { 'content-type': 'application/json' });
		response.end(JSON.stringify(value));
	};

	async function converse(api, who, url, response, raw) {
		const body = JSON.parse(raw.toString('utf8')), messages = api.messages(body);
		const streams = body.stream === true || url.includes(':stream') || api === Augment;
		if (isChore(api, body, streams)) {
			note({ who, event: 'chore' });
			if (streams)
				await say(api, new Stream(response, api.type), body, { content: [{ text: choreText(body) }] }, () => {});
			else
				send(response, 200, api.whole(body, choreText(body)));
			return;
		}
		const request = String(++kept).padStart(4, '0');
		fs.writeFileSync(path.join(o.requests, `${request}.json`), JSON.stringify({ who, url, body }));
		const log = (event, fields) => note({ who, event, request, ...fields });
		log('request');
		const said = newest(messages);
		const answer = scenario.answers.find((a) => a.when === undefined || new RegExp(a.when, 'u').test(said)) ??
			{ content: [{ text: scenario.otherwise ?? 'I see.' }] };
		await say(api, new Stream(response, api.type), body, answer, log);
		log('end');
	}

	function other(who, url, response) {
		if (/\/models$/.test(url))
			send(response, 200, { object: 'list', data: [{ id: 'mock-model', object: 'model', created: 1, owned_by: 'mock' }] });
		else if (/:countTokens$/.test(url))
			send(response, 200, { totalTokens: 1000 });
		else if (/\/get-models$/.test(url))
			send(response, 200, { default_model: 'mock-model', models: [{ name: 'mock-model', suggested_prefix_char_count: 1000,
				suggested_suffix_char_count: 1000 }], languages: [], feature_flags: {} });
		else if (/\/find-missing$/.test(url))
			send(response, 200, { unknown_memory_names: [], nonindexed_blob_names: [] });
		else {
			note({ who, event: 'unknown', url });
			send(response, 200, {});
		}
	}

	const server = http.createServer((request, response) => {
		const chunks = [];
		request.on('data', (chunk) => chunks.push(chunk));
		request.on('end', () => {
			const [, who, url] = /^\/([^/?]*)([^?]*)/.exec(request.url), api = apiOf(url);
			if (request.method !== 'POST' || api === undefined) {
				other(who, url, response);
				return;
			}
			converse(api, who, url, response, Buffer.concat(chunks)).catch((e) => {
				note({ who, event: 'unknown', url, error: String(e) });
				if (response.headersSent)
					response.destroy();
				else
					send(response, 400, { error: { type: 'invalid_request_error', message: String(e) } });
			});
		});
	});
	fs.mkdirSync(o.requests, { recursive: true });
	server.listen(0, '127.0.0.1', () => {
		// the reader of the port file must never see half of it
		fs.writeFileSync(`${o['port-file']}.new`, String(server.address().port));
		fs.renameSync(`${o['port-file']}.new`, o['port-file']);
	});
}

const blankless = (text) => text.replace(/\s+/gu, '');

function count(o) {
	// agents cut the end of what a person sends
	const prompt = fs.readFileSync(o.prompt, 'utf8').trimEnd(), bare = blankless(prompt);
	const holds = (text) => text.includes(prompt) || blankless(text).includes(bare);
	const found = { newest: 0, inside: 0, exact: 0, blanks: 0, requests: 0 };

	for (const file of fs.readdirSync(o.requests).filter((f) => f.endsWith('.json')).sort()) {
		const { who, url, body } = JSON.parse(fs.readFileSync(path.join(o.requests, file), 'utf8'));
		if (who !== o.who)
			continue;
		found.requests++;
		const messages = apiOf(url).messages(body), texts = messages.filter((m) => m.user).flatMap((m) => m.texts).filter(holds);
		if (texts.length === 0)
			continue;
		found.newest += holds(newest(messages));
		found.inside = texts.filter((t) => t.includes(prompt)).length;
		found.exact = texts.filter((t) => t.trimEnd() === prompt).length;
		found.blanks = texts.filter((t) => blankless(t) === bare).length;
	}
	console.log(Object.entries(found).map(([k, v]) => `${k}=${v}`).join(' '));
}

const commands = { serve, count };
const [command, ...rest] = process.argv.slice(2);
if (commands[command] === undefined) {
	console.error('usage: mock-others.mjs serve|count OPTIONS (see the head of this file)');
	process.exit(2);
}
commands[command](options(rest));
