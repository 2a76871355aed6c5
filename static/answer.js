// SPDX-License-Identifier: Apache-2.0
// A model's answer taken apart for reading: text and fenced blocks. Which block is the kernel, the server says; this
// finds it again, by the rules of core/extract.h.

const FENCE = /^\s*(`{3,}|~{3,})\s*(.*?)\s*$/;

// [{kind: 'text' | 'code', text, info, closed}], in order; nothing is lost but the fences. A fence with an info string
// inside a block begins another: the one before was never closed.
export function splitAnswer(answer) {
  const parts = [];
  let now = { kind: 'text', lines: [] };
  const end = (closed) => {
    const text = now.lines.join('\n');
    if (now.kind === 'code') parts.push({ kind: 'code', text, info: now.info, closed });
    else if (text.trim()) parts.push({ kind: 'text', text });
  };
  const begin = (mark, info) => (now = { kind: 'code', mark, info, lines: [] });
  for (const line of answer.replaceAll('\r\n', '\n').split('\n')) {
    const [, mark, info] = FENCE.exec(line) || [];
    const fence = mark && !(mark[0] === '`' && info.includes('`'));
    if (!fence) now.lines.push(line);
    else if (now.kind === 'text') {
      end();
      begin(mark, info);
    } else if (mark[0] !== now.mark[0] || mark.length < now.mark.length) now.lines.push(line);
    else {
      end(!info);
      if (info) begin(mark, info);
      else now = { kind: 'text', lines: [] };
    }
  }
  end(false);
  return parts;
}

const isKernel = (text) => text.includes('__global__') || (/^\s*\.version\b/m.test(text) && /\.entry\b/.test(text));

// The place of the kernel in the parts, or -1: the last closed block that holds one.
export const kernelAt = (parts) => parts.findLastIndex((p) => p.kind === 'code' && p.closed && isKernel(p.text));

export const languageOf = (text) => (/^\s*\.version\b/m.test(text) && !text.includes('__global__') ? 'ptx' : 'cuda');

// What was thought aloud before the answer began, and the answer.
export function splitThought(answer) {
  const at = answer.lastIndexOf('</think>');
  return at < 0 ? ['', answer] : [answer.slice(0, at).replace(/^\s*<think>/, ''), answer.slice(at + '</think>'.length)];
}
