// What was typed and what the model sent, in order; and which of it a source cannot hold, found by looking for its letters there.
import fs from 'node:fs';
import path from 'node:path';

export const letters = (s) => s.normalize('NFC').replace(/[^\p{L}\p{N}]/gu, '');

const NAMES = { Edit: 'Update', MultiEdit: 'Update', WebFetch: 'Fetch', Grep: 'Search', Glob: 'Search' };
const jsonLines = (text) => text.split('\n').filter((l) => l !== '').flatMap((l) => {
	try {
		return [JSON.parse(l)];
	} catch {
		return [];
	}
});
const blocks = (content) => typeof content === 'string' ? [{ type: 'text', text: content }] : content ?? [];
const flat = (content) => blocks(content).map((b) => b.text ?? b.thinking ?? '').join('\n');

function requests(dir) {
	return fs.readdirSync(dir).filter((f) => f.endsWith('.json')).sort().map((f) => ({ id: path.basename(f, '.json'),
		text: fs.readFileSync(path.join(dir, f), 'utf8') })).map((r) => ({ ...r, body: JSON.parse(r.text) }));
}

// What tools answered, as the model was told; of those that it was not told of yet, as the transcript says.
function results(all, transcript) {
	const found = new Map();
	for (const messages of [transcript.map((r) => r.message ?? {}), ...all.map((r) => r.body.messages)])
		for (const message of messages)
			for (const b of blocks(message.content))
				if (b.type === 'tool_result')
					found.set(b.tool_use_id, { content: flat(b.content).replace(/\s*<system-reminder>.*<\/system-reminder>\s*/gsu, ''),
						failed: b.is_error === true });
	return found;
}

function toolItem(e, result, diedAt) {
	const item = { role: 'tool', tool: e.part.tool, input: e.whole ? e.part.input : undefined, sent: e.whole ? undefined : e.said, id: e.id,
		content: result?.content };
	item.status = !e.whole ? (e.at < diedAt ? 'interrupted' : 'streaming') : result === undefined ? 'running' :
		result.content.startsWith('[Tool call interrupted') ? 'lost' : result.failed ? 'failed' : 'complete';
	return item;
}

function modelItem(e, found, diedAt) {
	if (e.part.tool !== undefined)
		return toolItem(e, found.get(e.id), diedAt);
	return { role: 'assistant', kind: e.part.thinking === undefined ? undefined : 'thinking', content: e.said,
		status: e.whole ? 'complete' : e.at < diedAt ? 'interrupted' : 'streaming' };
}

/*
 * typed: [{at, content, queued, withdrawn}], logText: the mock model's, requestsDir: what it was asked. A queued message counts from when the
 * model was told.
 */
export function items(typed, logText, requestsDir, transcript, diedAt) {
	const all = requests(requestsDir), log = jsonLines(logText), found = results(all, jsonLines(transcript));
	const began = new Map(log.filter((e) => e.event === 'request').map((e) => [e.request, e.at]));
	const list = [];

	for (const t of typed) {
		const needle = JSON.stringify(t.content.slice(0, 60)).slice(1, -1);
		const told = t.queued ? all.find((r) => r.text.includes(needle)) : undefined;
		const status = t.withdrawn ? 'withdrawn' : t.queued && told === undefined ? 'queued' : 'complete';
		list.push({ at: told === undefined ? t.at : began.get(told.id), item: { role: 'user', content: t.content, status } });
		if (status === 'queued')
			list.at(-1).at = Infinity;
	}
	for (const e of log) {
		if (e.event === 'part')
			list.push({ at: began.get(e.request) + 1, item: { ...modelItem(e, found, diedAt), sidechain: e.aside } });
		// some versions ask again before they say it
		if (e.event === 'error' && e.error.times === undefined && list.at(-1).item.content !== e.error.message)
			list.push({ at: e.at, item: { role: 'assistant', kind: 'api-error', content: e.error.message, status: 'failed' } });
	}
	// what the model sent stands where its request began: a part that was cut off is logged late
	for (let i = 0; i < list.length; i++)
		list[i].seq = i;
	list.sort((a, b) => a.at - b.at || a.seq - b.seq);
	return list.map((x) => JSON.parse(JSON.stringify(x.item)));
}

// How much of a text stands in a source: 'whole', 'part', 'none'. Line by line: wrapping and marks of markdown do not matter.
function presence(text, source) {
	const lines = text.split('\n').filter((l) => !/^\s*```/.test(l)).flatMap((l) => l.split('|')).map(letters).filter((l) => l !== '');
	const there = lines.filter((l) => source.includes(l)).length;
	if (there === lines.length)
		return 'whole';
	// a long line may be there up to where the source ends
	return there > 0 || lines.some((l) => l.length > 30 && source.includes(l.slice(0, 30))) ? 'part' : 'none';
}

function firstOfInput(item) {
	const i = item.input ?? {};
	const value = i.command ?? i.file_path ?? i.url ?? i.description ?? i.pattern ?? '';
	return i.file_path === undefined ? String(value).split('\n')[0] : path.basename(value);
}

// The row that a call has on the screen, from row `from` on; -1: none.
function callRow(item, rows, from) {
	const name = item.tool === 'Agent' || item.tool === 'Task' ? '(?:Agent|Task)' : NAMES[item.tool] ?? item.tool;
	const head = new RegExp(`^(?:(?:[●⏺] | {2})\\x1b?${name}|tool(?: error)?: ${name} )\\(`, 'u');
	const wanted = letters(firstOfInput(item)).slice(0, 12);
	return rows.findIndex((row, i) => i >= from && head.test(row) && letters(row).includes(wanted));
}

function markScreen(list, screen) {
	const rows = screen.split('\n'), all = letters(screen);
	let from = 0;

	for (const item of list) {
		let how;
		if (item.role === 'tool') {
			const row = callRow(item, rows, from);
			how = row < 0 || item.input === undefined && !item.tool ? 'none' : 'whole';
			from = row < 0 ? from : row + 1;
		} else {
			how = item.sidechain ? 'none' : presence(item.content, all);
		}
		mark(item, 'screen', how);
	}
}

function mark(item, source, how) {
	if (how === 'none')
		(item.unseen ??= []).push(source);
	else if (how === 'part')
		(item.cut ??= []).push(source);
}

function markTranscript(list, text) {
	const records = jsonLines(text), all = records.map((r) => r.type === 'assistant' || r.type === 'user' ? letters(flat(r.message?.content)) :
		letters(r.content === undefined ? JSON.stringify(r.attachment?.prompt ?? '') : flat(r.content))).join('\n');
	const ids = new Set(records.flatMap((r) => blocks(r.message?.content)).filter((b) => b.type === 'tool_use').map((b) => b.id));

	for (const item of list) {
		if (item.role === 'tool')
			mark(item, 'transcript', ids.has(item.id) ? 'whole' : 'none');
		else
			mark(item, 'transcript', item.sidechain || !all.includes(letters(item.content)) ? 'none' : 'whole');
	}
}

export function markUnseen(list, screen, transcript) {
	markScreen(list, screen);
	markTranscript(list, transcript);
}

// An item a line.
export function truthText(truth) {
	const { items: list, ...facts } = truth;
	return `${JSON.stringify(facts).slice(0, -1)},\n"items":[\n${list.map((x) => JSON.stringify(x)).join(',\n')}\n]}\n`;
}
