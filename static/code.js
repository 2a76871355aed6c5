// SPDX-License-Identifier: Apache-2.0
// Source text as coloured lines. highlight.js only names the parts; they become elements with text children.
import hljs from './vendor/highlight.js';
import cpp from './vendor/highlight-cpp.js';
import { useEffect, useMemo } from './vendor/preact.js';
import { html } from './ui.js';

// One of some words, as a regular expression.
const anyOf = (words) => `(?:${words.split(' ').join('|')})`;

// CUDA is C++ with a few words more.
const QUALIFIERS = anyOf(
  'global device host shared constant grid_constant restrict launch_bounds cluster_dims forceinline noinline',
);

hljs.registerLanguage('cuda', (h) => {
  const language = cpp(h);
  language.contains.unshift(
    { scope: 'keyword', begin: `\\b__${QUALIFIERS}__\\b` },
    { scope: 'built_in', begin: /\b(?:threadIdx|blockIdx|blockDim|gridDim|warpSize|__syncthreads|__syncwarp)\b/ },
  );
  return language;
});

// Words of PTX (ISA 9.0).
const DIRECTIVES = anyOf(
  'version target address_size visible extern weak func entry param reg shared global const local align ' +
  'maxntid reqntid minnctapersm maxnreg loc file section pragma explicitcluster reqnctapercluster ' +
  'maxclusterrank',
);
const INSTRUCTIONS = anyOf(
  'abs add addc and atom bar barrier bfe bfi bfind bra brkpt call clz cnot copysign cos cp createpolicy cvt ' +
  'cvta discard div elect ex2 exit fence fma fns getctarank griddepcontrol isspacep ld ldmatrix ldu lg2 lop3 ' +
  'mad madc mapa match max mbarrier membar min mma mov movmatrix mul multimem nanosleep neg not or popc ' +
  'prefetch prefetchu prmt rcp red redux rem ret rsqrt sad selp set setmaxnreg setp shf shfl shl shr sin slct ' +
  'sqrt st stmatrix sub subc suld sust szext tanh tcgen05 testp trap vote wgmma xor',
);

hljs.registerLanguage('ptx', (h) => ({
  contains: [
    h.C_LINE_COMMENT_MODE,
    h.C_BLOCK_COMMENT_MODE,
    h.QUOTE_STRING_MODE,
    { scope: 'meta', begin: `\\.${DIRECTIVES}\\b` },
    { scope: 'keyword', begin: `\\b${INSTRUCTIONS}(?:[.:]{1,2}[A-Za-z0-9_]+)*\\b` },
    { scope: 'type', begin: /\.(?:pred|[bsuf](?:8|16|32|64|128)|f16x2|bf16|bf16x2|tf32|e4m3|e5m2)\b/ },
    { scope: 'variable', begin: /%[A-Za-z_][\w.]*/ },
    { scope: 'symbol', begin: /^\s*[$\w]+:/ },
    { scope: 'number', begin: /\b(?:0[xX][0-9a-fA-F]+U?|0[fFdD][0-9a-fA-F]+|\d+(?:\.\d+)?U?)\b/ },
  ],
}));

// What highlight.js calls while it reads: collects [scope, text] by line instead of HTML.
class Lines {
  constructor() {
    this.lines = [[]];
    this.scopes = [];
  }
  addText(text) {
    const scope = this.scopes[this.scopes.length - 1];
    text.split('\n').forEach((part, i) => {
      if (i) this.lines.push([]);
      if (part) this.lines[this.lines.length - 1].push([scope, part]);
    });
  }
  startScope(scope) {
    this.scopes.push(scope.split('.')[0]);
  }
  endScope() {
    this.scopes.pop();
  }
  openNode(scope) {
    this.startScope(scope);
  }
  closeNode() {
    this.endScope();
  }
  __addSublanguage(other) {
    other.lines.forEach((l, i) => {
      if (i) this.lines.push([]);
      this.lines[this.lines.length - 1].push(...l);
    });
  }
  closeAllNodes() {
    this.scopes = [];
  }
  finalize() {
    this.closeAllNodes();
  }
  toHTML() {
    return '';
  }
}
hljs.configure({ __emitter: Lines });

const MOST = 400e3; // characters: more is shown without colours

// [[ [scope, text], … ], …]: one list per line.
export function lines(text, language) {
  const plain = () => text.split('\n').map((l) => [[undefined, l]]);
  if (text.length > MOST) return plain();
  try {
    return hljs.highlight(text, { language: language === 'ptx' ? 'ptx' : 'cuda', ignoreIllegals: true })._emitter.lines;
  } catch {
    return plain();
  }
}

export const Line = ({ parts }) =>
  parts.map(([scope, text]) => (scope ? html`<span class=${`h-${scope}`}>${text}</span>` : text));

// notes: [{line, text, bad}] are shown below their line, which #L12 also names.
export function Source({ text, language, notes = [], name = 'Source' }) {
  const parts = useMemo(() => lines(text.replace(/\n$/, ''), language), [text, language]);
  const byLine = new Map();
  for (const n of notes) byLine.set(n.line, [...(byLine.get(n.line) || []), n]);
  useEffect(() => {
    if (/^#L\d+$/.test(location.hash)) document.querySelector(location.hash)?.scrollIntoView({ block: 'center' });
  }, [text]);
  return html`<div class="source" tabindex="0" role="region" aria-label=${name}><ol>${parts.map(
    (p, i) => html`
    <li id=${`L${i + 1}`} class=${byLine.has(i + 1) ? 'marked' : undefined}><a class="n" href=${`#L${i + 1}`}
      aria-label=${`Line ${i + 1}`} tabindex="-1">${i + 1}</a><${Line} parts=${p} /></li>
    ${byLine.get(i + 1)?.map((n) => html`<li class="note ${n.bad ? 'bad' : ''}">${n.text}</li>`)}`,
  )}</ol></div>`;
}
