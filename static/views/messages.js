// SPDX-License-Identifier: Apache-2.0
// Long texts that open on demand, and the messages of a call of a model.
import { number } from '../format.js';
import { tokens as tokensText } from '../runs.js';
import { html } from '../ui.js';

// note: how long it is, unless given in characters.
export const Folded = ({ title, note, text }) => html`<details><summary>${title} <span class="quiet">
  ${note ?? `${number(text.length)} characters`}</span></summary><pre class="wrap" tabindex="0">${text}</pre>
  </details>`;

// messages: [{role, content}], as they go over the line; the checksum is that of all of them.
export const MessageList = ({ messages, sha256, tokens }) => html`<p class="quiet">${number(messages.length)} messages,
  about ${tokensText(tokens)} tokens, sha256 <code>${sha256}</code></p>
  ${messages.map((m) => html`<${Folded} title=${m.role} text=${m.content || ''} />`)}`;
