// What leaves the machine: neutral paths, and of a transcript only what matters to its readers.
import os from 'node:os';

// As long as the temporary directory that it stands for, so that no row changes its length.
export const NEUTRAL = '/home/dev/crash-lab';

const slug = (path) => path.replace(/[^a-zA-Z0-9]/g, '-');

export function neutral(text, root) {
	if (root.length !== NEUTRAL.length)
		throw new Error(`${root} is not as long as ${NEUTRAL}`);
	return text.replaceAll(root, NEUTRAL).replaceAll(slug(root), slug(NEUTRAL));
}

export function refuseLeaks(name, text, foreign) {
	for (const word of [...foreign, os.hostname(), os.release(), 'sk-ant-api'])
		if (word.length > 3 && text.includes(word))
			throw new Error(`${name} holds ${word}`);
}

// Long strings and lists are cut, and what is nested deeper than anybody looks.
function shorten(value, most, depth = 0) {
	if (typeof value === 'string')
		return value.length > most ? `${value.slice(0, most > 100 ? 200 : 0)}…` : value;
	if (Array.isArray(value))
		return value.slice(0, most > 100 ? 3 : 1).map((v) => shorten(v, most, depth + 1));
	if (value !== null && typeof value === 'object')
		return depth > 3 ? {} : Object.fromEntries(Object.entries(value).map(([k, v]) => [k, shorten(v, most, depth + 1)]));
	return value;
}

const SAID = ['user', 'assistant', 'progress', 'queue-operation'];
// Attachments that belong to the conversation; the others are the program's own words to its model.
const TOLD = /^(queued_command|hook|file|task|todo|plan|edited|directory|bash)/;

function shortenLine(line) {
	let record;
	try {
		record = JSON.parse(line);
	} catch {
		return line;	// torn, as a crash leaves it
	}
	if (SAID.includes(record.type) || record.attachment?.type === 'queued_command') {
		if (record.toolUseResult?.originalFile?.length > 2000)
			record.toolUseResult.originalFile = shorten(record.toolUseResult.originalFile, 240);
		if (record.message?.usage !== undefined)
			record.message.usage = { input_tokens: record.message.usage.input_tokens, output_tokens: record.message.usage.output_tokens };
		return JSON.stringify(record);
	}
	if (record.type === 'system' || record.type === 'last-prompt' || TOLD.test(record.attachment?.type))
		return JSON.stringify(shorten(record, 240));
	if (record.attachment !== undefined) {
		record.attachment = { type: record.attachment.type };
		delete record.rendered;
	}
	return JSON.stringify(shorten(record, 64));
}

export function shortTranscript(text) {
	// notes of each request (2.1.330) and of each file's state, in nobody's line of parents: one is enough
	const notes = [/^{"type":"api-request/, /^{"type":"file-history-snapshot"/];
	const lines = text.split('\n'), first = notes.map((note) => lines.findIndex((line) => note.test(line)));
	return lines.filter((line, i) => first.includes(i) || !notes.some((note) => note.test(line)))
		.map((line) => line === '' ? line : shortenLine(line)).join('\n');
}
