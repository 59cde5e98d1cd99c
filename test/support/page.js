// Runs the script of a page on a document that has what it asks for, and prints what it did.
// Usage: node page.js page.html
'use strict';
const fs = require('fs');
const html = fs.readFileSync(process.argv[2], 'utf8');
const inside = (pattern) => [...html.matchAll(pattern)].map((match) => match[1]);
const packed = (id) => html.match(new RegExp(`<script type="text/plain" id="${id}">([^<]*)</script>`))[1];
const script = html.match(/<script nonce="[^"]*">([\s\S]*)<\/script>/)[1];
const drawn = [], scripts = [];
const ignored = new Proxy({}, {get: (target, name) => (name in target ? target[name] : (text) => (name === 'measureText' ? {width: 7 * text.length} : undefined)), set: (target, name, value) => { target[name] = value; return true; }});

const element = (dataset = {}) => ({
  dataset, children: [], style: {}, clientWidth: 800, clientHeight: 400, value: '1', listeners: {},
  append(...children) { this.children.push(...children); }, setAttribute() {}, getAttribute: () => '',
  addEventListener(name, listener) { this.listeners[name] = listener; }, on() {}, closest: () => null,
  querySelectorAll: () => [], getContext: () => ignored, getBoundingClientRect: () => ({left: 0, top: 0}),
});
const plots = inside(/data-figure="([^"]*)"/g).map((figure) => element({figure}));
const players = inside(/data-player="([^"]*)"/g).map((player) => element({player}));
const problem = element();
const page = {
  document: {
    currentScript: {nonce: 'own'}, documentElement: element(), head: {append: (each) => scripts.push(each)},
    createElement: () => element(), addEventListener() {},
    getElementById: (id) => (id === 'problem' ? problem : {textContent: packed(id)}),
    querySelectorAll: (what) => ({'.plot': plots, '.player': players}[what] || []),
  },
  window: {devicePixelRatio: 1, addEventListener() {}}, location: {hash: ''}, performance: {now: () => 0}, requestAnimationFrame() {},
  ResizeObserver: class { observe() {} },
  Plotly: {newPlot: async (place, data, layout) => drawn.push([place.dataset.figure, data.length, layout.height])},
};
new Function(...Object.keys(page), script)(...Object.values(page));
setTimeout(() => console.log(JSON.stringify({
  drawn, figures: plots.map((each) => each.dataset.drawn), players: players.map((each) => each.dataset.shown),
  ready: page.document.documentElement.dataset.ready, problem: problem.textContent,
  nonces: scripts.map((each) => each.nonce), library: scripts.map((each) => each.textContent.length)})), 3000);
