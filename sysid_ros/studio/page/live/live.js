// The stop, the hold and the traces of a page of a robot. They wait for nothing that is being drawn.
(() => {
  'use strict';
  const OFTEN = 100, SELDOM = 250, HIDDEN = 1000; // between two looks, in ms
  const LOST = 1500, BEAT = 100, PATIENCE = 1200, TRIES = 5; // in ms, and times a stop is sent
  const SECONDS = 10, MARGIN = { left: 58, right: 8, top: 8, bottom: 20 };
  // Okabe and Ito's colours, told apart by the colour-blind; dashes tell what is beyond.
  const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#000000', '#56b4e9', '#a67c00'];
  const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3]];
  const INPUTS = 'textarea, select, [contenteditable=""], [contenteditable="true"], ' +
    'input:not([type=checkbox]):not([type=button])';
  const CONTROLS = `${INPUTS}, button, a[href], summary, input, [role=checkbox], [role=option], ` +
    '[role=combobox], [role=button]';

  let known = { moving: true, armed: true, held: false };
  let heard = performance.now();
  let joints = [], points = [], next = 0;
  let held = null;

  const page = () => document.getElementById('live-bar')?.dataset.page || '';

  const ask = async (path, options = {}) => {
    const answer = await fetch(path, {
      cache: 'no-store', credentials: 'same-origin', signal: AbortSignal.timeout(PATIENCE),
      ...options });
    if (!answer.ok) throw Object.assign(new Error(answer.statusText), { status: answer.status });
    return answer.json();
  };
  const post = (path, body = '') => ask(path, { method: 'POST', body, keepalive: true });

  // The stop

  const say = (words, bad) => {
    let place = document.getElementById('live-said');
    if (!place) {
      place = document.createElement('div');
      place.id = 'live-said';
      place.setAttribute('role', 'alert');
      document.body.append(place);
    }
    place.className = bad ? 'said bad' : 'said';
    place.textContent = words;
    clearTimeout(place.timer);
    place.timer = setTimeout(() => place.remove(), bad ? 20000 : 4000);
  };

  const stop = async () => {
    held = null;
    for (let number = 0; number < TRIES; number += 1) {
      try {
        say((await post('/live/stop')).said);
        return;
      } catch {
        say('The stop is not delivered yet: use the emergency stop.', true);
        await new Promise((wake) => setTimeout(wake, 100));
      }
    }
    say('THE STOP WAS NOT DELIVERED: use the emergency stop.', true);
  };

  const within = (event, selector) => event.target.closest?.(selector);

  window.addEventListener('pointerdown', (event) => {
    if (within(event, '[data-stop]')) stop();
  }, true);
  // The keyboard, a screen reader or a program pressed it.
  window.addEventListener('click', (event) => {
    if (within(event, '[data-stop]') && event.detail === 0) stop();
  }, true);

  const stops = (event) => {
    if (event.code !== 'Space' || event.ctrlKey || event.altKey || event.metaKey) return false;
    if (known.moving || known.armed || held || performance.now() - heard > LOST) return true;
    // Nothing moves: a space is written, and a focused button is pressed.
    return !within(event, CONTROLS);
  };
  let space = false;
  window.addEventListener('keydown', (event) => {
    if (!stops(event)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    space = true;
    if (!event.repeat) stop();
  }, true);
  window.addEventListener('keyup', (event) => {
    if (event.code !== 'Space' || !space) return;
    // A button would be pressed by it.
    event.preventDefault();
    event.stopImmediatePropagation();
    space = false;
  }, true);

  // Hold to run

  const beat = async (mine) => {
    if (mine !== held) return;
    try {
      const answer = await post('/live/hold/beat', page());
      if (!answer.held && mine === held) held = null;
    } catch { /* The next one may come through; if none does, the motion is stopped. */ }
  };
  const hold = async () => {
    const mine = held = {};
    try {
      const answer = await post('/live/hold/begin', page());
      if (!answer.held) {
        if (answer.error) say(answer.error, true);
        if (mine === held) held = null;
        return;
      }
      if (mine !== held) { post('/live/hold/end', page()).catch(stop); return; }
      const timer = setInterval(() => {
        if (mine === held) beat(mine); else clearInterval(timer);
      }, BEAT);
    } catch {
      held = null;
      say('The panel was not reached: nothing was begun.', true);
    }
  };
  const release = () => {
    if (!held) return;
    held = null;
    post('/live/hold/end', page()).catch(stop);
  };
  const allowed = (button) => button && button.getAttribute('aria-disabled') !== 'true';
  window.addEventListener('pointerdown', (event) => {
    if (!held && event.button === 0 && allowed(within(event, '[data-hold]'))) hold();
  }, true);
  window.addEventListener('keydown', (event) => {
    if (event.code === 'Enter' && !event.repeat && !held && allowed(
      within(event, '[data-hold]'))) hold();
  }, true);
  for (const kind of ['pointerup', 'pointercancel', 'blur', 'pagehide']) {
    window.addEventListener(kind, (event) => {
      if (kind !== 'blur' || event.target === window) release();
    }, true);
  }
  window.addEventListener('keyup', (event) => { if (event.code === 'Enter') release(); }, true);
  document.addEventListener('visibilitychange', () => { if (document.hidden) release(); });
  window.addEventListener('contextmenu', (event) => {
    if (within(event, '[data-hold]')) event.preventDefault();
  }, true);

  // What the page hears of the panel

  const lost = (is, words = '') => {
    const card = document.getElementById('live-lost');
    if (!card) return;
    card.classList.toggle('hidden', !is);
    document.querySelectorAll('[data-stop]').forEach((one) => one.classList.toggle('lost', is));
    const line = card.querySelector('p');
    if (line && words && line.textContent !== words) line.textContent = words;
  };

  const look = async () => {
    const canvases = document.querySelectorAll('canvas[data-trace]');
    try {
      const answer = await ask(`/live/state?after=${canvases.length ? next : -1}`);
      known = answer;
      heard = performance.now();
      lost(false);
      if (answer.traces) take(answer.traces);
    } catch (error) {
      if (error.status === 401 || error.status === 403) {
        lost(true, 'The panel was started anew, with another token: open the address that it ' +
          'printed. STOP does not reach the robot from here: use the emergency stop.');
      } else if (performance.now() - heard > LOST) lost(true);
    }
    if (canvases.length) { legend(); canvases.forEach(draw); }
    setTimeout(look, document.hidden ? HIDDEN : canvases.length ? OFTEN : SELDOM);
  };

  // Traces

  const take = (traces) => {
    const now = performance.now() / 1000;
    if (traces.next < next) points = [];
    joints = traces.joints;
    for (const [index, age, ...rows] of traces.points) {
      while (points.length && points[points.length - 1].index >= index) points.pop();
      points.push({ index, time: now - age, rows });
    }
    next = traces.next;
    while (points.length && now - points[0].time > SECONDS + 1) points.shift();
  };

  const legend = () => {
    const list = document.getElementById('live-legend');
    if (!list || list.dataset.joints === JSON.stringify(joints)) return;
    list.dataset.joints = JSON.stringify(joints);
    list.replaceChildren(...joints.map((name, number) => {
      const item = document.createElement('li');
      const line = document.createElement('canvas');
      Object.assign(line, { width: 56, height: 8 });
      line.setAttribute('aria-hidden', 'true');
      const pen = line.getContext('2d');
      style(pen, number, 2);
      pen.beginPath(); pen.moveTo(0, 4); pen.lineTo(56, 4); pen.stroke();
      item.append(line, ` ${name}`);
      return item;
    }));
  };
  const style = (pen, number, scale) => {
    pen.strokeStyle = COLOURS[number % COLOURS.length];
    pen.lineWidth = 1.6 * scale;
    const dashes = DASHES[Math.floor(number / COLOURS.length) % DASHES.length];
    pen.setLineDash(dashes.map((length) => length * scale));
  };

  const range = (row) => {
    let low = Infinity, high = -Infinity;
    for (const point of points) {
      for (const value of point.rows[row] || []) {
        if (value !== null) { low = Math.min(low, value); high = Math.max(high, value); }
      }
    }
    if (low > high) return null;
    const margin = Math.max((high - low) * 0.06, Math.abs(high) * 1e-3, 1e-6);
    return [low - margin, high + margin];
  };

  const draw = (canvas) => {
    const row = Number(canvas.dataset.trace), scale = window.devicePixelRatio || 1;
    const width = canvas.clientWidth, height = canvas.clientHeight;
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(
      height * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
    }
    const pen = canvas.getContext('2d');
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = '12px system-ui, sans-serif';
    pen.fillStyle = '#565656';
    const between = range(row);
    if (!between) {
      pen.fillText('nothing is heard', MARGIN.left, height / 2);
      return;
    }
    const [low, high] = between, now = performance.now() / 1000;
    const x = (time) => MARGIN.left + (1 - (now - time) / SECONDS) *
      (width - MARGIN.left - MARGIN.right);
    const y = (value) => height - MARGIN.bottom - (value - low) / (high - low) *
      (height - MARGIN.top - MARGIN.bottom);
    axes(pen, low, high, x, y, now, width);
    pen.save();
    pen.beginPath();
    pen.rect(MARGIN.left, 0, width - MARGIN.left - MARGIN.right, height);
    pen.clip();
    joints.forEach((_, joint) => {
      style(pen, joint, 1);
      pen.beginPath();
      let down = false;
      for (const point of points) {
        const value = point.rows[row]?.[joint];
        if (value === null || value === undefined) { down = false; continue; }
        if (down) pen.lineTo(x(point.time), y(value)); else pen.moveTo(x(point.time), y(value));
        down = true;
      }
      pen.stroke();
    });
    pen.restore();
  };

  const axes = (pen, low, high, x, y, now, width) => {
    const step = 10 ** Math.floor(Math.log10((high - low) / 2));
    const stride = step * ((high - low) / step > 10 ? 5 : (high - low) / step > 5 ? 2 : 1);
    pen.strokeStyle = '#d4d4d4';
    pen.lineWidth = 1;
    pen.setLineDash([]);
    pen.textAlign = 'right';
    pen.textBaseline = 'middle';
    for (let tick = Math.ceil(low / stride) * stride; tick <= high; tick += stride) {
      const place = Math.round(y(tick)) + 0.5;
      pen.beginPath(); pen.moveTo(MARGIN.left, place); pen.lineTo(width - MARGIN.right, place);
      pen.stroke();
      pen.fillText(String(Number(tick.toPrecision(4))), MARGIN.left - 6, place);
    }
    pen.textAlign = 'center';
    pen.textBaseline = 'bottom';
    for (let ago = 0; ago <= SECONDS; ago += 2) {
      pen.fillText(ago ? `−${ago} s` : 'now', Math.min(x(now - ago), width - 16),
        y(low) + MARGIN.bottom - 2);
    }
  };

  look();
})();
