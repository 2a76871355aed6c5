// SPDX-License-Identifier: Apache-2.0
// Charts over numbers with uPlot, drawn in the colours of the theme and again when that changes.
import { html, useEffect, useRef } from './vendor/preact.js';
import { number, share, times } from './format.js';
import uPlot from './vendor/uplot.js';

const stylesheet = Object.assign(document.createElement('link'), { rel: 'stylesheet', href: '/vendor/uplot.css' });
document.head.append(stylesheet);

// The colour that a custom property has now: canvas does not know light-dark().
function ink(name) {
  const probe = document.createElement('i');
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
const faint = (color, alpha) => color.replace('rgb(', 'rgba(').replace(')', `, ${alpha})`);

const HEIGHT = 300;

// draw(): {options, data} of uPlot, and readout(x): what stands below while the pointer is at x, unless it is `mute`.
// Called again when `keys` change or the theme does.
function Chart({ title, label, draw, keys, mute }) {
  const at = useRef(null),
    below = useRef(null);
  useEffect(() => {
    let plot = null;
    const build = () => {
      plot?.destroy();
      const { options, data, readout } = draw();
      const setCursor = (u) => {
        const { left } = u.cursor;
        if (below.current) below.current.textContent = left >= 0 ? readout(u.posToVal(left, 'x')) : '';
      };
      plot = new uPlot(
        {
          width: at.current.clientWidth,
          height: HEIGHT,
          cursor: { y: false, drag: { x: false, y: false } },
          ...options,
          hooks: { ...options.hooks, setCursor: [setCursor] },
        },
        data,
        at.current,
      );
    };
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const watch = new ResizeObserver(() => plot?.setSize({ width: at.current.clientWidth, height: HEIGHT }));
    build();
    watch.observe(at.current);
    dark.addEventListener('change', build);
    addEventListener('themechange', build);
    return () => {
      watch.disconnect();
      dark.removeEventListener('change', build);
      removeEventListener('themechange', build);
      plot.destroy();
    };
  }, keys);
  return html`<figure class="chart"><figcaption>${title}</figcaption><div ref=${at} role="img" aria-label=${label}>
    </div>${!mute && html`<p class="quiet readout" aria-hidden="true" ref=${below}></p>`}</figure>`;
}

function axis(more) {
  return {
    stroke: ink('quiet'),
    font: '12px system-ui, sans-serif',
    labelFont: '12px system-ui, sans-serif',
    labelSize: 22,
    grid: { stroke: ink('line'), width: 1 },
    ticks: { stroke: ink('line') },
    ...more,
  };
}

// A vertical line at x, as a hook of uPlot.
const lineAt = (x, color) => (u) => {
  const left = u.valToPos(x, 'x', true);
  if (left < u.bbox.left || left > u.bbox.left + u.bbox.width) return;
  u.ctx.save();
  u.ctx.strokeStyle = color;
  u.ctx.lineWidth = 2 * devicePixelRatio;
  u.ctx.beginPath();
  u.ctx.moveTo(left, u.bbox.top);
  u.ctx.lineTo(left, u.bbox.top + u.bbox.height);
  u.ctx.stroke();
  u.ctx.restore();
};

// ---- step curves with bands ----

// curves: [{name, colour, p, mean, low, high}], where mean[i] holds from p[i] on. One x axis for all.
export function StepChart({ title, label, curves, keys }) {
  const draw = () => {
    const xs = [...new Set(curves.flatMap((c) => c.p))].sort((a, b) => a - b);
    const most = Math.max(1.05, ...xs);
    if (xs[xs.length - 1] < most) xs.push(most);
    const spread = (c, values) => {
      let i = -1;
      return xs.map((x) => {
        while (i + 1 < c.p.length && c.p[i + 1] <= x) i++;
        return i < 0 ? null : values[i];
      });
    };
    const stepped = uPlot.paths.stepped({ align: 1 });
    const series = [{}],
      data = [xs],
      bands = [];
    for (const c of curves) {
      const color = ink(c.colour);
      bands.push({ series: [series.length, series.length + 1], fill: faint(color, 0.16) });
      for (const edge of [c.high, c.low]) {
        series.push({ stroke: 'transparent', width: 0, paths: stepped, points: { show: false } });
        data.push(spread(c, edge));
      }
      series.push({ label: c.name, stroke: color, width: 2, paths: stepped, points: { show: false } });
      data.push(spread(c, c.mean));
    }
    const valueAt = (c, x) => c.mean[c.p.findLastIndex((p) => p <= x)];
    return {
      data,
      readout: (x) => `p = ${x.toFixed(2)}: ${curves.map((c) => `${c.name} ${share(valueAt(c, x))}`).join(', ')}`,
      options: {
        series,
        bands,
        legend: { show: false },
        scales: { x: { time: false, range: [0, most] }, y: { range: [0, 1] } },
        axes: [
          axis({ label: 'p, speedup over the vendor’s library' }),
          axis({ size: 52, values: (u, v) => v.map((y) => `${Math.round(100 * y)} %`) }),
        ],
        hooks: { draw: [lineAt(1, ink('one'))] },
      },
    };
  };
  return html`<${Chart} ...${{ title, label, draw, keys }} />`;
}

// ---- lines over turns ----

// A horizontal line at y, as a hook of uPlot.
const levelAt = (y, color, dash) => (u) => {
  const top = u.valToPos(y, 'y', true);
  if (top < u.bbox.top || top > u.bbox.top + u.bbox.height) return;
  u.ctx.save();
  u.ctx.strokeStyle = color;
  u.ctx.lineWidth = 2 * devicePixelRatio;
  u.ctx.setLineDash(dash.map((d) => d * devicePixelRatio));
  u.ctx.beginPath();
  u.ctx.moveTo(u.bbox.left, top);
  u.ctx.lineTo(u.bbox.left + u.bbox.width, top);
  u.ctx.stroke();
  u.ctx.restore();
};

// lines: [{name, colour, values}], where values[n] is that of turn n + 1, or null; goal: a level to mark beside 1.
export function TurnLines({ title, label, lines, goal, keys }) {
  const draw = () => {
    const count = Math.max(1, ...lines.map((l) => l.values.length));
    const most = Math.max(goal || 1, 1, ...lines.flatMap((l) => l.values.map((v) => v || 0)));
    const turnAt = (x) => Math.min(count, Math.max(1, Math.round(x)));
    return {
      data: [Array.from({ length: count }, (_, i) => i + 1), ...lines.map((l) => l.values)],
      readout: (x) =>
        `turn ${turnAt(x)}: ${lines.map((l) => `${l.name} ${times(l.values[turnAt(x) - 1])}`).join(', ')}`,
      options: {
        legend: { show: false },
        scales: { x: { time: false, range: [0.7, count + 0.3] }, y: { range: [0, most * 1.08] } },
        axes: [
          axis({ label: 'turn', incrs: [1, 2, 4, 8, 16], values: (u, v) => v.map((x) => (x % 1 ? '' : x)) }),
          axis({ size: 52, values: (u, v) => v.map((y) => `${Number(y.toFixed(2))}×`) }),
        ],
        series: [
          {},
          ...lines.map((l) => ({
            label: l.name,
            stroke: ink(l.colour),
            width: 2.5,
            points: { show: true, size: 8, fill: ink(l.colour) },
          })),
        ],
        hooks: {
          drawClear: [levelAt(1, ink('one'), []), ...(goal && goal !== 1 ? [levelAt(goal, ink('quiet'), [6, 5])] : [])],
        },
      },
    };
  };
  return html`<${Chart} ...${{ title, label, draw, keys }} />`;
}

// ---- histograms ----

export function Histogram({ title, label, series, bins = 60, unit }) {
  const draw = () => {
    const all = series.flatMap((s) => s.values).sort((a, b) => a - b);
    const low = all[0],
      high = all[Math.min(all.length - 1, Math.ceil(all.length * 0.995))];
    const width = (high - low) / bins || 1;
    const xs = Array.from({ length: bins + 1 }, (_, i) => low + i * width);
    const counts = series.map((s) => {
      const n = new Array(bins + 1).fill(0);
      for (const v of s.values) n[Math.min(bins, Math.floor((v - low) / width))]++;
      return n;
    });
    const stepped = uPlot.paths.stepped({ align: 1 });
    const binAt = (x) => Math.min(bins, Math.max(0, Math.floor((x - low) / width)));
    return {
      data: [xs, ...counts],
      readout: (x) => {
        const i = binAt(x);
        const [from, to] = [low + i * width, low + (i + 1) * width].map(number);
        const each = series.map((s, k) => `${counts[k][i]} of ${s.name}`);
        return `${from} to ${i === bins ? 'the last' : to} ${unit}: ${each.join(', ')}`;
      },
      options: {
        legend: { show: false },
        scales: { x: { time: false }, y: { range: (u, a, b) => [0, Math.max(1, b)] } },
        axes: [axis({ label: unit }), axis({ size: 44, label: 'launches' })],
        series: [
          {},
          ...series.map((s) => ({
            label: s.name,
            stroke: ink(s.colour),
            fill: faint(ink(s.colour), 0.25),
            width: 1.5,
            paths: stepped,
            points: { show: false },
          })),
        ],
      },
    };
  };
  return html`<${Chart} ...${{ title, label, draw, keys: [series] }} />`;
}

// ---- the roofline ----

// peak and bandwidth per second; points: [{name, colour, intensity (FLOP/byte), flops (per second)}].
export function Roofline({ title, label, peak, bandwidth, points }) {
  const draw = () => {
    const ridge = peak / bandwidth;
    const low = Math.min(ridge / 16, ...points.map((p) => p.intensity / 4)),
      high = Math.max(ridge * 16, ...points.map((p) => p.intensity * 4));
    const xs = [...new Set([low, ridge, high, ...points.map((p) => p.intensity)])].sort((a, b) => a - b);
    const roof = xs.map((x) => Math.min(peak, x * bandwidth) / 1e12);
    const data = [xs, roof, ...points.map((p) => xs.map((x) => (x === p.intensity ? p.flops / 1e12 : null)))];
    return {
      data,
      options: {
        legend: { show: false },
        scales: {
          x: { time: false, distr: 3 },
          y: { distr: 3, range: (u, a, b) => [10 ** Math.floor(Math.log10(a)), 10 ** Math.ceil(Math.log10(b))] },
        },
        axes: [axis({ label: 'FLOP per byte of memory traffic' }), axis({ size: 54, label: 'TFLOP/s' })],
        series: [
          {},
          { stroke: ink('quiet'), width: 2, points: { show: false } },
          ...points.map((p) => ({
            label: p.name,
            stroke: ink(p.colour),
            points: { show: true, size: p.size, width: 2, fill: p.hollow ? ink('ground') : ink(p.colour) },
            paths: () => null,
          })),
        ],
      },
    };
  };
  return html`<${Chart} ...${{ title, label, draw, keys: [points], mute: true }} />`;
}
