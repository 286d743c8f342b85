// What record.sh keeps of an agent that died: its screens, its session files, and the truth about both (README.md).
//
//   node record.mjs NAME STATE VERSION SIZE ALTERNATE WORLD OUT
// WORLD holds typed and log (a JSON line each of what was typed and of what the mock model sent), live.txt, screen.txt, screen.ansi and
// records (the paths of the session files, one a line).
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';

import { letters, truthText } from '../record/truth.mjs';

const [name, state, version, size, alternate, world, out] = process.argv.slice(2);
const read = (file) => fs.readFileSync(file, 'utf8');
const lines = (text) => text.split('\n').filter((l) => l !== '');

// ---- the truth ----

// typed before its answers: both have times, and a part that was cut off is logged at its end
function items() {
	const log = lines(read(path.join(world, 'log'))).map((l) => JSON.parse(l));
	const began = new Map(log.filter((e) => e.event === 'request').map((e) => [e.request, e.at]));
	const said = lines(read(path.join(world, 'typed'))).map((l) => JSON.parse(l))
		.map(({ at, content }) => ({ at, item: { role: 'user', content, status: 'complete' } }));
	const sent = log.filter((e) => e.event === 'part').map((e) => ({ at: began.get(e.request), item: e.part.shell === undefined ?
		{ role: 'assistant', content: e.said, status: e.whole ? 'complete' : 'streaming' } :
		{ role: 'tool', tool: e.tool, input: e.input, command: e.part.shell, content: e.part.gives, id: e.id,
			status: e.part.gives === undefined ? 'running' : 'complete' } }));
	// sort is stable
	return [...said, ...sent].sort((a, b) => a.at - b.at).map((x) => x.item);
}

// How much of an item a source holds: by its letters, line by line, since wrapping and marks of markdown do not matter.
function presence(item, source) {
	const text = item.role === 'tool' ? item.command.slice(0, 24) : item.content;
	const wanted = text.split('\n').filter((l) => !/^\s*```/.test(l)).map(letters).filter((l) => l !== '');
	const there = wanted.filter((l) => source.includes(l)).length;
	return there === wanted.length ? 'whole' : there > 0 || wanted.some((l) => l.length > 30 && source.includes(l.slice(0, 30))) ? 'part' : 'none';
}

function mark(list, kind, text) {
	const source = letters(text);
	for (const item of list) {
		const how = presence(item, source);
		if (how !== 'whole')
			(item[how === 'none' ? 'unseen' : 'cut'] ??= []).push(kind);
	}
}

// ---- what leaves the machine ----

const MOST = 600;	// of a string that is nothing of ours
let ours = [];

function shorten(value) {
	if (typeof value === 'string')
		return value.length > MOST && !ours.some((o) => value.includes(o)) ? `${value.slice(0, 200)}…` : value;
	if (Array.isArray(value))
		return value.map(shorten);
	return value === null || typeof value !== 'object' ? value : Object.fromEntries(Object.entries(value).map(([k, v]) => [k, shorten(v)]));
}

function shortJson(text) {
	try {
		return JSON.stringify(shorten(JSON.parse(text)), null, text.startsWith('{\n') ? 2 : 0);	// as it was laid out
	} catch {
		return text;	// torn, as a crash leaves it
	}
}

// The rows of a conversation, as statements that build a database of them.
function dump(file) {
	const db = path.join(world, 'copy.db');
	for (const end of ['', '-wal', '-shm'])
		if (fs.existsSync(file + end))
			fs.copyFileSync(file + end, db + end);
	return execFileSync('sqlite3', [db, '.dump session message part'], { encoding: 'utf8', maxBuffer: 64 << 20 });
}

// [[name in the recording, text]...]
function sessionFiles() {
	return lines(read(path.join(world, 'records'))).flatMap((file) => {
		const base = path.basename(file);
		if (base.endsWith('.db'))
			return [['session.sql', dump(file)]];
		if (base.endsWith('.jsonl'))
			return [['session.jsonl', read(file).split('\n').map((l) => l === '' ? l : shortJson(l)).join('\n')]];
		return [[base.includes('.messages.') ? 'session.messages.json' : 'session.json', `${shortJson(read(file))}\n`]];
	});
}

function sessionId(files) {
	const first = lines(read(path.join(world, 'records')))[0] ?? '', base = path.basename(first);
	const uuid = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/;
	switch (name) {
	case 'gemini':
		return JSON.parse(files[0][1].split('\n')[0]).sessionId;
	case 'opencode':
		return /'(ses_\w+)'/.exec(files[0][1])[1];
	case 'copilot':
		return path.basename(path.dirname(first));
	case 'cline':
		return path.basename(path.dirname(first));
	}
	return uuid.exec(base)?.[0] ?? null;
}

// The machine's own names, which must stand nowhere.
function refuseLeaks(what, text) {
	const foreign = [world, os.hostname(), os.release(), process.env.HOME === '/root' ? '/root/' : process.env.HOME];
	const program = fs.realpathSync(path.join('/tmp/home-of-agent/bin', name)).split('/node_modules/')[0];
	for (const word of [...foreign, program])
		if (word.length > 3 && text.includes(word))
			throw new Error(`${name}/${state}: ${what} holds ${word}`);
}

const list = items(), files = sessionFiles();
ours = list.map((i) => i.content ?? i.command).filter((t) => t !== '');
const kept = new Map([['live.txt', read(path.join(world, 'live.txt'))], ['screen.txt', read(path.join(world, 'screen.txt'))],
	['screen.ansi', read(path.join(world, 'screen.ansi'))], ...sessionFiles()]);
mark(list, 'screen', kept.get('screen.txt'));
mark(list, 'transcript', files.map((f) => f[1].replaceAll('\\n', '\n').replaceAll('\\"', '"')).join('\n'));
const END = { idle: 'killed idle', draft: 'killed with a draft', tool: 'killed while a command ran', stream: 'killed while text streamed' };
const draft = state === 'draft' ? JSON.parse(read(new URL('scenarios.json', import.meta.url))).draft : null;
kept.set('truth.json', truthText({ agent: name, version, size, alternate: alternate === '1', draft, end: END[state.replace(/^.*-/, '')], session: sessionId(files), items: list }));
for (const [file, text] of kept)
	refuseLeaks(file, text);
fs.rmSync(out, { recursive: true, force: true });
fs.mkdirSync(out, { recursive: true });
for (const [file, text] of kept)
	fs.writeFileSync(path.join(out, file), text);
