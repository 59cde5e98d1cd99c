// Runs the player of a page on a canvas that only notes what it is told, and prints that as JSON.
// Usage: node canvas.js player.js content.json
'use strict';
const fs = require('fs');

const noted = {ellipses: [], texts: [], lines: [], calls: 0, markup: []};
let path = [];

const canvas = new Proxy({}, {
  get: (target, name) => (name in target ? target[name] : (...given) => {
    noted.calls += 1;
    if (name === 'beginPath') path = [];
    if (name === 'moveTo' || name === 'lineTo') path.push(given);
    if (name === 'stroke' && path.length) noted.lines.push({colour: target.strokeStyle, path});
    if (name === 'ellipse') {
      if (given[2] < 0 || given[3] < 0) throw new Error('IndexSizeError');
      noted.ellipses.push({colour: target.fillStyle, given});
    }
    if (name === 'fillText') noted.texts.push(given[0]);
    return name === 'measureText' ? {width: 7 * given[0].length} : undefined;
  }),
  set: (target, name, value) => { target[name] = value; return true; },
});

function element(name) {
  const made = {
    name, children: [], attributes: {}, dataset: {}, listeners: {}, style: {}, value: '1', checked: true,
    clientWidth: 900, clientHeight: 500,
    setAttribute(key, value) { this.attributes[key] = String(value); if (key === 'value') this.value = String(value); },
    getAttribute(key) { return this.attributes[key]; },
    append(...children) { this.children.push(...children); },
    addEventListener(event, listener) { this.listeners[event] = listener; },
    getBoundingClientRect: () => ({left: 0, top: 0}),
    setPointerCapture() {},
    getContext: () => canvas, toDataURL: () => `data:image/png;${made.attributes.width}x${made.attributes.height}`,
  };
  for (const name of ['innerHTML', 'outerHTML']) Object.defineProperty(made, name, {set: (text) => noted.markup.push(text)});
  return made;
}

const frames = [], onWindow = {};
const page = {
  document: {createElement: element}, window: {devicePixelRatio: 2, addEventListener: (event, listener) => { onWindow[event] = listener; }}, performance: {now: () => 0},
  requestAnimationFrame: (draw) => frames.push(draw),
  ResizeObserver: class { constructor(draw) { this.draw = draw; } observe() { this.draw(); } },
};
const source = fs.readFileSync(process.argv[2], 'utf8');
const player = new Function(...Object.keys(page), `${source}; return RobotPlayer;`)(...Object.values(page));
const place = element('div');
place.setAttribute('aria-label', 'robot');
player.start(place, JSON.parse(fs.readFileSync(process.argv[3], 'utf8')));
const [view, bar, still] = place.children, [play, slider, clock, speed, ...toggles] = bar.children;
const first = {...noted, ellipses: [...noted.ellipses], lines: [...noted.lines], texts: [...noted.texts], clock: clock.textContent};

// Everything that a person can do, once.
play.listeners.click();
const playing = play.textContent;
for (let k = 1; k < 80 && frames.length; k += 1) frames.shift()(50 * k);
play.listeners.click();
slider.value = '1000';
slider.listeners.input();
const last = clock.textContent;
view.listeners.pointerdown({clientX: 1, clientY: 1, pointerId: 1});
view.listeners.pointermove({clientX: 40, clientY: 30});
view.listeners.pointerup();
for (let x = 0; x < 900; x += 25) for (let y = 0; y < 500; y += 25) view.listeners.pointermove({clientX: x, clientY: y});
view.listeners.wheel({ctrlKey: true, deltaY: 10, preventDefault() {}});
for (const key of ['ArrowLeft', 'ArrowUp', '+', '-', ' ', 'x']) view.listeners.keydown({key, preventDefault() {}});
for (const label of toggles) label.children[0].checked = false;
for (const label of toggles) label.children[0].listeners.change();
const before = noted.ellipses.length;
slider.listeners.input();
onWindow.beforeprint();
console.log(JSON.stringify({
  printed: [place.dataset.still, still.src],
  first, playing, last, shown: place.dataset.shown, hidden: noted.ellipses.length === before,
  texts: [...new Set(noted.texts)], markup: noted.markup,
  names: toggles.map((label) => label.children[2].textContent)}));
