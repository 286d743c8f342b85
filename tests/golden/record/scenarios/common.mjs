export const ALL = ['1.0.128', '2.0.76', '2.1.37', '2.1.197', '2.1.330'];

export const hello = { when: 'are you there', turns: [[{ text: 'Yes, I am here and everything is quiet.' }]] };
export const greet = [{ say: 'Good morning, are you there?' }, { idle: true }];
export const kill = { kill: 'SIGKILL' };
export const paragraphs = (word, n) => Array.from({ length: n }, (_, i) =>
	`Paragraph ${i + 1} about ${word}: this is what ${word} number ${i + 1} looks like when it is told in a sentence that is long enough to be wrapped.`).join('\n\n');
