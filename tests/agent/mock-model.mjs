#!/usr/bin/env node
// A stand-in for the model behind the real Claude Code: answers the Messages API (streaming, as its documentation describes it) from a
// scenario, on loopback only, and keeps every request so that a test can say byte for byte what the agent was told.
//
//   node mock-model.mjs serve --scenario FILE --requests DIR --port-file FILE [--port PORT] [--log FILE]
//       FILE: {"answers": [{"when": REGEXP, "content": [PART...], "pace": MS}...], "otherwise": TEXT}
//       The first answer whose REGEXP matches the newest user message is given (no "when": always; the results of tools count as a
//       message that reads "tool_result"). PART is {"text": TEXT, "stop_at": N}, {"thinking": TEXT, ...} or {"tool": NAME,
//       "input": {...}, ...}; with stop_at the stream goes silent after N characters and stays open.
//       An answer may hold "turns": [[PART...]...] instead of "content": its REGEXP is asked about what the person said last, and the
//       turns are given one after another as tools answer. "error": {"status": 529, "type": "overloaded_error", "message": TEXT,
//       "times": N} refuses the first N requests; "silent": true never answers. "aside": true is only copied to the log.
//       DIR receives NNNN.json, the body of each conversation request as it came.
//       The log gets a JSON line for each thing that happened: {"at": MS, "event": "request"|"part"|"stall"|"end"|"error", "request": NNNN, ...};
//       of a part what was really sent of it, "whole" or not.
//   node mock-model.mjs count --requests DIR --prompt FILE
//       One line a conversation: "SESSION exact=N inside=N requests=N": in how many text blocks of user messages of its last request
//       the bytes of FILE stand alone, and in how many they stand at all.
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

const blocks = (message) => typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : message.content ?? [];
const users = (body) => (body.messages ?? []).filter((m) => m.role === 'user');
const pause = (ms) => new Promise((go) => setTimeout(go, ms));

// Claude Code adds blocks of its own to what the user says; 2.1.330 one behind the result of its search for tools.
const isReminder = (text) => text.startsWith('<system-reminder>') || text === 'Tool loaded.';

function newestMessage(body) {
	const message = users(body).at(-1);
	if (message === undefined)
		return '';
	if (blocks(message).some((b) => b.type === 'tool_result'))
		return 'tool_result';
	return blocks(message).filter((b) => b.type === 'text' && !isReminder(b.text)).map((b) => b.text).join('\n');
}

// What the person said last, and how many answers it has got already.
function lastSaid(body) {
	let turn = 0;
	for (const message of [...(body.messages ?? [])].reverse()) {
		if (message.role === 'assistant')
			turn++;
		const said = message.role === 'user' ? blocks(message).filter((b) => b.type === 'text' && !isReminder(b.text)) : [];
		if (said.length > 0)
			return { text: said.at(-1).text, turn };
	}
	return { text: '', turn };
}

function answerTo(scenario, body) {
	const newest = newestMessage(body);
	const { text, turn } = lastSaid(body);
	const matches = (a, what) => a.when === undefined || new RegExp(a.when, 'u').test(what);
	const answer = scenario.answers.find((a) => a.turns === undefined ? matches(a, newest) : turn < a.turns.length && matches(a, text));
	if (answer === undefined)
		return { content: [{ text: scenario.otherwise ?? 'I see.' }] };
	return answer.turns === undefined ? answer : { ...answer, content: answer.turns[turn] };
}

let ids = 0;
const newId = (prefix) => `${prefix}_mock${process.pid}x${++ids}`;

class Stream {
	constructor(response, model) {
		this.response = response;
		this.model = model;
		this.closed = new Promise((go) => response.on('close', go));
		this.open = true;
		this.closed.then(() => { this.open = false; });
		response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', 'request-id': newId('req') });
	}

	send(type, fields = {}) {
		if (this.open)
			this.response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`);
	}

	begin() {
		const usage = { input_tokens: 1000, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
		this.send('message_start', { message: { id: newId('msg'), type: 'message', role: 'assistant', model: this.model, content: [],
			stop_reason: null, stop_sequence: null, usage } });
	}

	async pieces(text, size, pace, emit) {
		const letters = Array.from(text);
		for (let i = 0; i < letters.length && this.open; i += size) {
			emit(letters.slice(i, i + size).join(''));
			await pause(pace);
		}
	}

	// Answers what was sent of it: {id, said, whole}.
	async part(index, part, pace, stalled) {
		const id = part.tool === undefined ? undefined : newId('toolu');
		const [start, whole, delta] = part.tool !== undefined ?
			[{ type: 'tool_use', id, name: part.tool, input: {} }, JSON.stringify(part.input ?? {}),
				(s) => ({ type: 'input_json_delta', partial_json: s })] :
			part.thinking !== undefined ?
				[{ type: 'thinking', thinking: '', signature: '' }, part.thinking, (s) => ({ type: 'thinking_delta', thinking: s })] :
				[{ type: 'text', text: '' }, part.text, (s) => ({ type: 'text_delta', text: s })];
		const wanted = part.stop_at === undefined ? whole : Array.from(whole).slice(0, part.stop_at).join('');
		let said = '';
		this.send('content_block_start', { index, content_block: start });
		await this.pieces(wanted, 30, pace, (piece) => {
			said += piece;
			this.send('content_block_delta', { index, delta: delta(piece) });
		});
		if (part.stop_at !== undefined) {
			stalled();
			await this.closed;
		}
		if (part.thinking !== undefined)
			this.send('content_block_delta', { index, delta: { type: 'signature_delta', signature: 'bW9jaw==' } });
		this.send('content_block_stop', { index });
		return { id, said, whole: part.stop_at === undefined && said === whole && this.open };
	}

	end(stopReason) {
		this.send('message_delta', { delta: { stop_reason: stopReason, stop_sequence: null }, usage: { output_tokens: 40 } });
		this.send('message_stop');
		if (this.open)
			this.response.end();
	}
}

function sendJson(response, status, value) {
	response.writeHead(status, { 'content-type': 'application/json', 'request-id': newId('req') });
	response.end(JSON.stringify(value));
}

async function reply(response, body, parts, pace, log = () => {}) {
	const stopReason = parts.some((p) => p.tool !== undefined) ? 'tool_use' : 'end_turn';
	if (!body.stream) {
		const content = parts.map((p) => p.tool === undefined ? { type: 'text', text: p.text ?? '' } :
			{ type: 'tool_use', id: newId('toolu'), name: p.tool, input: p.input ?? {} });
		for (const [i, part] of parts.entries())
			log('part', { part, id: content[i].id, said: part.text ?? '', whole: true });
		sendJson(response, 200, { id: newId('msg'), type: 'message', role: 'assistant', model: body.model, content, stop_reason: stopReason,
			stop_sequence: null, usage: { input_tokens: 1000, output_tokens: 40 } });
		return;
	}
	const stream = new Stream(response, body.model);
	stream.begin();
	for (const [index, part] of parts.entries()) {
		const sent = await stream.part(index, part, pace, () => log('stall'));
		log('part', { part, ...sent });
		if (!sent.whole)
			break;
	}
	stream.end(stopReason);
}

// The program's housekeeping gets a short answer and is no part of the conversation: requests without tools (titles, probes), guesses at
// what the person may say next, summaries. undefined: part of the conversation.
function housekeeping(body) {
	const newest = blocks(users(body).at(-1) ?? {}).filter((b) => b.type === 'text').map((b) => b.text).join('\n');
	if (newest.includes('[SUGGESTION MODE'))
		return '';
	if (/create a detailed summary/i.test(newest))
		return '<analysis>\nLooked through it.\n</analysis>\n\n<summary>\n1. Primary request:\n   SUMMARY of what was said before.\n</summary>';
	if (body.tools?.length > 0 && body.max_tokens !== 1)
		return undefined;
	return JSON.stringify(body.system ?? '').includes('title') || body.output_config !== undefined ? '{"title":"A test"}' : 'ok';
}

function serve(o) {
	const scenario = JSON.parse(fs.readFileSync(o.scenario, 'utf8'));
	const refused = new Map();
	let kept = 0;

	async function messages(response, raw) {
		const body = JSON.parse(raw.toString('utf8'));
		const chore = housekeeping(body);
		if (chore !== undefined) {
			await reply(response, body, [{ text: chore }], 0);
			return;
		}
		const request = String(++kept).padStart(4, '0');
		fs.writeFileSync(path.join(o.requests, `${request}.json`), raw);
		const answer = answerTo(scenario, body);
		const log = (event, fields) => o.log !== undefined &&
			fs.appendFileSync(o.log, `${JSON.stringify({ at: Date.now(), event, request, aside: answer.aside, ...fields })}\n`);
		log('request');
		if (answer.error !== undefined && (refused.get(answer.when) ?? 0) < (answer.error.times ?? Infinity)) {
			refused.set(answer.when, (refused.get(answer.when) ?? 0) + 1);
			sendJson(response, answer.error.status, { type: 'error', error: { type: answer.error.type, message: answer.error.message } });
			log('error', { error: answer.error });
			return;
		}
		if (answer.silent)
			await new Promise((go) => response.on('close', go));
		else
			await reply(response, body, answer.content, answer.pace ?? 2, log);
		log('end');
	}

	const server = http.createServer((request, response) => {
		const chunks = [];
		request.on('data', (chunk) => chunks.push(chunk));
		request.on('end', () => {
			const where = request.url.split('?')[0];
			if (request.method === 'POST' && where === '/v1/messages')
				messages(response, Buffer.concat(chunks)).catch((e) => sendJson(response, 400, { type: 'error',
					error: { type: 'invalid_request_error', message: String(e) } }));
			else if (request.method === 'POST' && where === '/v1/messages/count_tokens')
				sendJson(response, 200, { input_tokens: 1000 });
			else if (request.method === 'HEAD' || where === '/')
				sendJson(response, 200, {});
			else
				sendJson(response, 404, { type: 'error', error: { type: 'not_found_error', message: where } });
		});
	});
	fs.mkdirSync(o.requests, { recursive: true });
	server.listen(Number(o.port ?? 0), '127.0.0.1', () => {
		// the reader of the port file must never see half of it
		fs.writeFileSync(`${o['port-file']}.new`, String(server.address().port));
		fs.renameSync(`${o['port-file']}.new`, o['port-file']);
	});
}

// metadata.user_id names the session of the program; a recovered agent that does not resume has a new one.
function sessionOf(body) {
	const id = String(body.metadata?.user_id ?? 'unknown');
	return id.match(/[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}(?=[^0-9a-f-]*$)/)?.[0] ?? id;
}

function count(o) {
	const prompt = fs.readFileSync(o.prompt);
	const sessions = new Map();
	for (const file of fs.readdirSync(o.requests).filter((f) => f.endsWith('.json')).sort()) {
		const body = JSON.parse(fs.readFileSync(path.join(o.requests, file), 'utf8'));
		const texts = users(body).flatMap(blocks).filter((b) => b.type === 'text').map((b) => Buffer.from(b.text, 'utf8'));
		const name = sessionOf(body);
		sessions.set(name, { exact: texts.filter((t) => t.equals(prompt)).length, inside: texts.filter((t) => t.includes(prompt)).length,
			requests: (sessions.get(name)?.requests ?? 0) + 1 });
	}
	for (const [name, s] of sessions)
		console.log(`${name} exact=${s.exact} inside=${s.inside} requests=${s.requests}`);
}

const commands = { serve, count };
const [command, ...rest] = process.argv.slice(2);
if (commands[command] === undefined) {
	console.error('usage: mock-model.mjs serve|count OPTIONS (see the head of this file)');
	process.exit(2);
}
commands[command](options(rest));
