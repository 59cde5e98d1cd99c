'use strict';
// A robot in motion on a canvas: lines between joints, shapes of links, ellipsoids of inertia, centres
// of mass, and paths, seen from far away (orthographically). Poses between frames are interpolated. Everything
// is drawn as strokes, fills and text of the canvas: no text becomes a part of the page.
const RobotPlayer = (() => {
  const numbers = (values) => Float64Array.from(values, (value) => (value === null ? NaN : value));
  const INK = '#222222', GROUND = '#e4e4e4', PATH = '#009e73', BOX = '#cc79a7', SOFT = '#5a5a5a';
  const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 5];
  // Where the base is.
  const FOOT = {origin: [0, 0, 0], turn: [1, 0, 0, 0, 1, 0, 0, 0, 1]};
  // Pixels of a printed picture for one of the screen.
  const PRINTED = 3;

  function rotation(x, y, z, w) {
    return [
      1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w),
      2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
      2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)];
  }
  const times = (A, B) => Array.from({length: 9}, (_, k) => {
    const i = 3 * Math.floor(k / 3), j = k % 3;
    return A[i] * B[j] + A[i + 1] * B[3 + j] + A[i + 2] * B[6 + j];
  });
  const transposed = (A) => [A[0], A[3], A[6], A[1], A[4], A[7], A[2], A[5], A[8]];
  const turned = (A, p) => [0, 3, 6].map((i) => A[i] * p[0] + A[i + 1] * p[1] + A[i + 2] * p[2]);

  // Frames before and after a time in [s], and the share of the second.
  function framesAt(t, time) {
    const last = t.length - 1;
    let k = 0;
    while (k < last - 1 && t[k + 1] <= time) k += 1;
    const next = Math.min(k + 1, last), length = t[next] - t[k];
    return [k, next, length > 0 ? Math.min(Math.max((time - t[k]) / length, 0), 1) : 0];
  }

  // Poses of all bodies at a time in [s].
  function poseAt(motion, time) {
    const {t, origin, turn, parent} = motion, [k, next, share] = framesAt(t, time);
    return Array.from(parent, (_, body) => {
      const a = k * parent.length + body, b = next * parent.length + body;
      let alike = 0;
      for (let i = 0; i < 4; i += 1) alike += turn[4 * a + i] * turn[4 * b + i];
      const sign = alike < 0 ? -1 : 1;
      const mix = (values, width, i, s) => (1 - share) * values[width * a + i] + s * share * values[width * b + i];
      const quaternion = [0, 1, 2, 3].map((i) => mix(turn, 4, i, sign)), size = Math.hypot(...quaternion);
      return {
        origin: [0, 1, 2].map((i) => mix(origin, 3, i, 1)),
        turn: rotation(...quaternion.map((value) => value / size))};
    });
  }

  // Origins of all bodies at a time in [s], of another motion of the same robot.
  function originsAt(motion, origin, time) {
    const [k, next, share] = framesAt(motion.t, time), bodies = motion.parent.length;
    return motion.parent.map((_, body) => [0, 1, 2].map((i) =>
      (1 - share) * origin[3 * (k * bodies + body) + i] + share * origin[3 * (next * bodies + body) + i]));
  }

  // Ellipsoids in the frames of their bodies, from those in the frame that is shown.
  function localSolids(motion, layer, pose) {
    return layer.solids.map((solid) => {
      const {origin, turn} = pose[solid.body], back = transposed(turn);
      const centre = numbers(solid.centre);
      return {
        body: solid.body, label: solid.label,
        centre: turned(back, [0, 1, 2].map((i) => centre[i] - origin[i])),
        shape: times(times(back, numbers(solid.shape)), turn)};
    });
  }

  // The corners of a shape as points.
  function cornersOf(hull) {
    const values = numbers(hull.corners);
    return {body: hull.body, corners: Array.from({length: values.length / 3}, (_, k) => Array.from(values.subarray(3 * k, 3 * k + 3)))};
  }

  // Middle and radius of all joints at any time, and of what moves along as far as it is no larger.
  function extent(motion) {
    const low = [0, 0, 0], high = [0, 0, 0];
    const add = (p, reach) => {
      for (let i = 0; i < 3; i += 1) {
        if (!Number.isFinite(p[i] + reach)) continue;
        low[i] = Math.min(low[i], p[i] - reach);
        high[i] = Math.max(high[i], p[i] + reach);
      }
    };
    const radius = () => 0.5 * Math.hypot(...low.map((value, i) => high[i] - value));
    for (let k = 0; k < motion.origin.length; k += 3) add(motion.origin.subarray(k, k + 3), 0);
    const joints = radius() || Infinity;
    for (const {origin} of motion.layers.filter((layer) => layer.origin)) {
      // A simulated robot stays in the picture unless it goes astray.
      for (let k = 0; k < origin.length; k += 3) if (Math.hypot(...origin.subarray(k, k + 3)) < 2 * joints) add(origin.subarray(k, k + 3), 0);
    }
    const pose = poseAt(motion, motion.t[motion.shown] || 0);
    for (const solid of motion.layers.flatMap((layer) => layer.solids)) {
      const {origin, turn} = pose[solid.body], c = turned(turn, solid.centre);
      const reach = Math.sqrt(Math.max(solid.shape[0], solid.shape[4], solid.shape[8], 0));
      // What nobody could measure may be as large as a house.
      if (Math.hypot(...c) < joints) add([0, 1, 2].map((i) => c[i] + origin[i]), Math.min(reach, 0.4 * joints));
    }
    for (const {body, corners} of motion.layers.flatMap((layer) => layer.hulls)) {
      const {origin, turn} = body < 0 ? FOOT : pose[body];
      for (const corner of corners) {
        const p = turned(turn, corner).map((value, i) => value + origin[i]);
        if (Math.hypot(...p) < 2 * joints) add(p, 0);
      }
    }
    return {middle: low.map((value, i) => 0.5 * (value + high[i])), radius: radius() || 1, low, high};
  }

  function camera(view, seen, width, height) {
    const [ca, sa, ce, se] = [Math.cos(view.azimuth), Math.sin(view.azimuth), Math.cos(view.elevation), Math.sin(view.elevation)];
    const right = [-sa, ca, 0], up = [-se * ca, -se * sa, ce], back = [ce * ca, ce * sa, se];
    const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    const scale = view.zoom * 0.55 * Math.min(width, height) / seen.radius;
    return {
      scale, large: scale * seen.radius,
      at: (p) => {
        const d = [0, 1, 2].map((i) => p[i] - seen.middle[i]);
        return [0.5 * width + scale * dot(right, d), 0.5 * height - scale * dot(up, d), dot(back, d)];
      },
      // The outline of an ellipsoid: semi-axes in pixels, and the angle of the first.
      outline: (S) => {
        const quadratic = (a, b) => dot(a, turned(S, b));
        const [xx, xy, yy] = [quadratic(right, right), -quadratic(right, up), quadratic(up, up)];
        const mean = 0.5 * (xx + yy), apart = Math.hypot(0.5 * (xx - yy), xy);
        return [scale * Math.sqrt(Math.max(mean + apart, 0)), scale * Math.sqrt(Math.max(mean - apart, 0)),
          0.5 * Math.atan2(2 * xy, xx - yy)];
      }};
  }

  function polyline(ctx, points, colour, width) {
    ctx.strokeStyle = colour;
    ctx.lineWidth = width;
    ctx.beginPath();
    let down = false;
    for (const [x, y] of points) {
      if (!Number.isFinite(x + y)) down = false;
      else if (down) ctx.lineTo(x, y);
      else { ctx.moveTo(x, y); down = true; }
    }
    ctx.stroke();
  }

  // A round length near a part of the extent.
  function roundLength(value) {
    const power = 10 ** Math.floor(Math.log10(value));
    return power * ([5, 2, 1].find((factor) => factor * power <= value) || 1);
  }

  function drawGround(ctx, seen, cam) {
    const step = roundLength(0.4 * seen.radius);
    const [x0, x1] = [Math.floor(seen.low[0] / step), Math.ceil(seen.high[0] / step)];
    const [y0, y1] = [Math.floor(seen.low[1] / step), Math.ceil(seen.high[1] / step)];
    for (let x = x0; x <= x1; x += 1) polyline(ctx, [cam.at([x * step, y0 * step, 0]), cam.at([x * step, y1 * step, 0])], GROUND, 1);
    for (let y = y0; y <= y1; y += 1) polyline(ctx, [cam.at([x0 * step, y * step, 0]), cam.at([x1 * step, y * step, 0])], GROUND, 1);
    const length = 0.18 * seen.radius, foot = cam.at([0, 0, 0]);
    ['x', 'y', 'z'].forEach((name, i) => {
      const tip = cam.at([0, 1, 2].map((j) => (i === j ? length : 0)));
      polyline(ctx, [foot, tip], SOFT, 1);
      ctx.fillStyle = SOFT;
      ctx.fillText(name, tip[0] + 3, tip[1] - 3);
    });
    return step;
  }

  // Twelve edges: those between corners that differ in one coordinate.
  function drawBox(ctx, cam, box) {
    const corner = (bits) => cam.at([0, 1, 2].map((i) => box.corners[(bits >> i) & 1][i]));
    for (let bits = 0; bits < 8; bits += 1) {
      for (const bit of [1, 2, 4]) if (!(bits & bit)) polyline(ctx, [corner(bits), corner(bits | bit)], BOX, 1);
    }
    const [x, y] = corner(7);
    ctx.fillStyle = BOX;
    ctx.fillText(box.label, x + 3, y - 3);
  }

  function drawScale(ctx, step, cam, height) {
    const y = height - 14;
    polyline(ctx, [[12, y - 4], [12, y], [12 + step * cam.scale, y], [12 + step * cam.scale, y - 4]], SOFT, 1);
    ctx.fillStyle = SOFT;
    ctx.fillText(`${+step.toPrecision(2)} m`, 14, y - 6);
  }

  function drawSolid(ctx, cam, solid) {
    const {colour, at: [x, y], outline: [a, b, angle]} = solid;
    if (!Number.isFinite(x + y + a + b + angle)) return;
    ctx.beginPath();
    ctx.ellipse(x, y, a, b, angle, 0, 2 * Math.PI);
    // One that is larger than the robot would colour everything.
    ctx.globalAlpha = a > cam.large ? 0.04 : 0.22;
    ctx.fillStyle = colour;
    ctx.fill();
    ctx.globalAlpha = 0.9;
    ctx.strokeStyle = colour;
    ctx.lineWidth = 1.2;
    ctx.stroke();
    ctx.globalAlpha = 1;
    ctx.beginPath();
    ctx.arc(x, y, 3, 0, 2 * Math.PI);
    ctx.fill();
  }

  function drawSkeleton(ctx, cam, parents, origins, colour) {
    parents.forEach((parent, body) => {
      const start = cam.at(parent < 0 ? [0, 0, 0] : origins[parent]), end = cam.at(origins[body]);
      if (!Number.isFinite(start[0] + start[1] + end[0] + end[1])) return;
      polyline(ctx, [start, end], colour, 3);
      ctx.fillStyle = '#ffffff';
      ctx.beginPath();
      ctx.arc(end[0], end[1], 3, 0, 2 * Math.PI);
      ctx.fill();
      ctx.strokeStyle = colour;
      ctx.lineWidth = 1.5;
      ctx.stroke();
    });
  }

  // The corners of the convex hull of points of the picture, in their order around it (Andrew's
  // monotone chain).
  function hullOf(points) {
    const sorted = points.filter(([x, y]) => Number.isFinite(x + y)).sort((one, other) => one[0] - other[0] || one[1] - other[1]);
    const isRight = (a, b, c) => (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]) <= 0;
    const chain = (way) => {
      const corners = [];
      for (const point of way) {
        while (corners.length > 1 && isRight(corners[corners.length - 2], corners[corners.length - 1], point)) corners.pop();
        corners.push(point);
      }
      return corners.slice(0, -1);
    };
    return [...chain(sorted), ...chain([...sorted].reverse())];
  }

  // Shapes of links, those behind first: the outline of a convex body is the hull of its corners.
  function drawHulls(ctx, cam, hulls, pose, colour) {
    const seen = hulls.map((hull) => {
      const {origin, turn} = hull.body < 0 ? FOOT : pose[hull.body];
      const points = hull.corners.map((corner) => cam.at(turned(turn, corner).map((value, i) => value + origin[i])));
      return {points, depth: points.reduce((sum, point) => sum + point[2], 0) / points.length};
    }).sort((one, other) => one.depth - other.depth);
    for (const {points} of seen) {
      const outline = hullOf(points);
      if (outline.length < 3) continue;
      ctx.beginPath();
      outline.forEach(([x, y], k) => (k ? ctx.lineTo(x, y) : ctx.moveTo(x, y)));
      ctx.closePath();
      ctx.fillStyle = colour;
      ctx.strokeStyle = colour;
      ctx.lineWidth = 1;
      ctx.globalAlpha = 0.3;
      ctx.fill();
      ctx.globalAlpha = 0.8;
      ctx.stroke();
      ctx.globalAlpha = 1;
    }
  }

  // How far the joint is off that is farthest, in words.
  function gap(measured, simulated) {
    const away = Math.max(...measured.map((p, body) => Math.hypot(...p.map((value, i) => value - simulated[body][i]))));
    return Number.isFinite(away) ? `${+(1000 * away).toPrecision(2)} mm off` : 'gone astray';
  }

  // Draws one instant; returns centres of mass on the canvas with their labels.
  function drawScene(ctx, motion, view, time, width, height) {
    const seen = motion.seen, cam = camera(view, seen, width, height), pose = poseAt(motion, time);
    ctx.clearRect(0, 0, width, height);
    ctx.font = '12px system-ui, sans-serif';
    const step = drawGround(ctx, seen, cam);
    for (const path of motion.paths) {
      polyline(ctx, Array.from(path[0], (_, k) => cam.at([path[0][k], path[1][k], path[2][k]])), PATH, 1);
    }
    motion.boxes.forEach((box) => drawBox(ctx, cam, box));
    motion.layers.forEach((layer) => { if (!layer.hidden) drawHulls(ctx, cam, layer.hulls, pose, layer.colour); });
    const solids = motion.layers.flatMap((layer) => (layer.hidden ? [] : layer.solids.map((solid) => {
      const {origin, turn} = pose[solid.body], c = turned(turn, solid.centre);
      const centre = [0, 1, 2].map((i) => c[i] + origin[i]);
      return {
        colour: layer.colour, label: `${solid.label}, ${layer.name}`, at: cam.at(centre),
        outline: cam.outline(times(times(turn, solid.shape), transposed(turn)))};
    })));
    const large = (solid) => Number(solid.outline[0] > cam.large);
    solids.sort((one, other) => large(other) - large(one) || one.at[2] - other.at[2]);
    solids.forEach((solid) => drawSolid(ctx, cam, solid));
    const measured = pose.map((each) => each.origin);
    motion.layers.filter((layer) => layer.origin && !layer.hidden).forEach((layer, k) => {
      const simulated = originsAt(motion, layer.origin, time);
      drawSkeleton(ctx, cam, motion.parent, simulated, layer.colour);
      ctx.fillStyle = layer.colour;
      ctx.fillText(`${layer.name}: ${gap(measured, simulated)}`, 12, 20 + 16 * k);
    });
    drawSkeleton(ctx, cam, motion.parent, measured, INK);
    drawScale(ctx, step, cam, height);
    return solids;
  }

  function drawLabel(ctx, solids, pointer, width) {
    if (!pointer) return;
    const near = solids.map((solid) => ({solid, away: Math.hypot(solid.at[0] - pointer[0], solid.at[1] - pointer[1])}))
      .filter((each) => each.away < 18).sort((one, other) => one.away - other.away)[0];
    if (!near) return;
    const [x, y] = near.solid.at, length = ctx.measureText(near.solid.label).width + 12;
    const left = Math.max(Math.min(x + 8, width - length), 0);
    ctx.fillStyle = '#ffffff';
    ctx.fillRect(left, y - 26, length, 20);
    ctx.strokeStyle = near.solid.colour;
    ctx.strokeRect(left, y - 26, length, 20);
    ctx.fillStyle = INK;
    ctx.fillText(near.solid.label, left + 6, y - 12);
  }

  function prepare(content) {
    const motion = {
      t: numbers(content.time), origin: numbers(content.origin), turn: numbers(content.turn),
      parent: content.parent, shown: content.shown, paths: content.paths.map((path) => path.map(numbers)),
      boxes: content.boxes.map((box) => ({label: box.label, corners: box.corners.map(numbers)}))};
    const pose = poseAt(motion, motion.t[motion.shown] || 0);
    motion.layers = content.layers.map((layer) => ({
      name: layer.name, colour: layer.colour, hidden: false, solids: localSolids(motion, layer, pose),
      origin: layer.origin && numbers(layer.origin), hulls: (layer.hulls || []).map(cornersOf)}));
    motion.seen = extent(motion);
    return motion;
  }

  function element(name, attributes, text) {
    const made = document.createElement(name);
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function controls(motion) {
    const bar = element('div', {class: 'controls'});
    const play = element('button', {type: 'button', class: 'play'}, 'Play');
    const slider = element('input', {type: 'range', min: 0, max: 1000, step: 1, value: 0, 'aria-label': 'time'});
    const clock = element('output', {});
    const speed = element('select', {'aria-label': 'speed'});
    SPEEDS.forEach((factor) => speed.append(element('option', {value: factor, ...(factor === 1 ? {selected: ''} : {})}, `${factor} ×`)));
    bar.append(play, slider, clock, speed);
    const toggles = motion.layers.map((layer) => {
      const name = element('label', {}), box = element('input', {type: 'checkbox', checked: ''});
      const mark = element('span', {class: 'swatch', style: `background:${layer.colour}`, 'aria-hidden': 'true'});
      name.append(box, mark, element('span', {}, layer.name));
      bar.append(name);
      return box;
    });
    return {bar, play, slider, clock, speed, toggles};
  }

  // Fill a place of the page with a player.
  function start(place, content) {
    const motion = prepare(content), parts = controls(motion), canvas = element('canvas', {tabindex: 0, role: 'img', 'aria-label': place.getAttribute('aria-label')});
    place.append(canvas, parts.bar);
    const ctx = canvas.getContext('2d'), end = motion.t[motion.t.length - 1] || 0;
    const view = {azimuth: 0.8, elevation: 0.45, zoom: 1};
    let time = motion.t[motion.shown] || 0, playing = false, before = 0, pointer = null, dragged = null;

    function draw() {
      const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
      if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
        canvas.width = Math.round(width * ratio);
        canvas.height = Math.round(height * ratio);
      }
      ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
      drawLabel(ctx, drawScene(ctx, motion, view, time, width, height), pointer, width);
      parts.slider.value = end > 0 ? Math.round(1000 * time / end) : 0;
      parts.clock.textContent = `${time.toFixed(2)} s of ${end.toFixed(2)} s`;
    }
    function tick(now) {
      if (!playing) return;
      time += 0.001 * (now - before) * Number(parts.speed.value);
      before = now;
      if (time >= end) time = end > 0 ? time % end : 0;
      draw();
      requestAnimationFrame(tick);
    }
    function setPlaying(value) {
      playing = value && end > 0;
      parts.play.textContent = playing ? 'Pause' : 'Play';
      if (playing) {
        before = performance.now();
        requestAnimationFrame(tick);
      }
    }
    function turn(azimuth, elevation) {
      view.azimuth -= azimuth;
      view.elevation = Math.min(Math.max(view.elevation + elevation, -1.57), 1.57);
      draw();
    }
    function magnify(factor) {
      view.zoom = Math.min(Math.max(view.zoom * factor, 0.2), 20);
      draw();
    }
    parts.play.addEventListener('click', () => setPlaying(!playing));
    parts.slider.addEventListener('input', () => { setPlaying(false); time = end * Number(parts.slider.value) / 1000; draw(); });
    parts.toggles.forEach((box, k) => box.addEventListener('change', () => { motion.layers[k].hidden = !box.checked; draw(); }));
    canvas.addEventListener('pointerdown', (event) => { dragged = [event.clientX, event.clientY]; canvas.setPointerCapture(event.pointerId); });
    canvas.addEventListener('pointerup', () => { dragged = null; });
    canvas.addEventListener('pointercancel', () => { dragged = null; });
    canvas.addEventListener('pointerleave', () => { pointer = null; draw(); });
    canvas.addEventListener('pointermove', (event) => {
      const box = canvas.getBoundingClientRect();
      pointer = [event.clientX - box.left, event.clientY - box.top];
      if (dragged) {
        const [x, y] = dragged;
        dragged = [event.clientX, event.clientY];
        turn(0.008 * (event.clientX - x), 0.008 * (event.clientY - y));
      } else if (!playing) draw();
    });
    // The wheel alone scrolls the page.
    canvas.addEventListener('wheel', (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      magnify(Math.exp(-0.002 * event.deltaY));
    }, {passive: false});
    const keys = {
      ArrowLeft: () => turn(-0.1, 0), ArrowRight: () => turn(0.1, 0), ArrowUp: () => turn(0, 0.1), ArrowDown: () => turn(0, -0.1),
      '+': () => magnify(1.2), '-': () => magnify(1 / 1.2), ' ': () => setPlaying(!playing)};
    canvas.addEventListener('keydown', (event) => {
      if (!(event.key in keys)) return;
      event.preventDefault();
      keys[event.key]();
    });
    // Paper takes a picture of what is shown: a canvas would be stretched to its width.
    const still = element('img', {class: 'still', alt: place.getAttribute('aria-label')});
    place.append(still);
    window.addEventListener('beforeprint', () => {
      const [width, height] = [canvas.clientWidth, canvas.clientHeight];
      if (!(width > 0 && height > 0)) return;
      const paper = element('canvas', {width: PRINTED * width, height: PRINTED * height});
      const drawn = paper.getContext('2d');
      drawn.setTransform(PRINTED, 0, 0, PRINTED, 0, 0);
      drawScene(drawn, motion, view, time, width, height);
      still.src = paper.toDataURL();
      place.dataset.still = 'yes';
    });
    new ResizeObserver(draw).observe(canvas);
    draw();
    place.dataset.shown = 'yes';
  }

  return {start, prepare, poseAt, drawScene};
})();
