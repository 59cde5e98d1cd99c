'use strict';
(() => {
  const own = document.currentScript;
  let figures = {};
  const options = {responsive: true, displayModeBar: false};

  async function unpack(id) {
    const packed = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Response(stream).text();
  }

  async function load() {
    figures = JSON.parse(await unpack('figures'));
    const script = document.createElement('script');
    script.nonce = own.nonce;
    script.textContent = await unpack('plotly');
    document.head.append(script);
  }

  // Paper is narrower than most screens: with a view box the drawing shrinks with its place.
  function scaleInPrint(place) {
    const [width, height] = [place.clientWidth, place.clientHeight];
    place.style.aspectRatio = `${width} / ${height}`;
    for (const svg of place.querySelectorAll('.main-svg')) svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
  }

  async function draw(place) {
    if (place.dataset.drawn) return;
    place.dataset.drawn = 'begun';
    const {data, layout} = figures[place.dataset.figure];
    try {
      await Plotly.newPlot(place, data, {...layout, height: place.clientHeight}, options);
      place.on('plotly_afterplot', () => scaleInPrint(place));
      scaleInPrint(place);
      place.dataset.drawn = 'yes';
    } catch (error) {
      place.dataset.drawn = 'no';
      place.textContent = 'This figure cannot be drawn here: ' + error.message;
    }
  }

  const hidden = (place) => place.closest('details:not([open])') !== null;
  const places = (root) => [...root.querySelectorAll('.plot')];

  function startPlayers() {
    for (const place of document.querySelectorAll('.player')) {
      try {
        RobotPlayer.start(place, figures[place.dataset.player]);
      } catch (error) {
        place.dataset.shown = 'no';
        place.textContent = 'This motion cannot be played here: ' + error.message;
      }
    }
  }

  const pause = () => new Promise((resolve) => setTimeout(resolve));

  async function drawShown(root) {
    for (const place of places(root)) {
      if (!hidden(place)) {
        await draw(place);
        await pause();
      }
    }
  }

  load().then(async () => {
    document.addEventListener('toggle', (event) => {
      if (event.target.open) drawShown(event.target);
    }, true);
    if (location.hash === '#all') document.querySelectorAll('details').forEach((each) => { each.open = true; });
    startPlayers();
    await drawShown(document);
    document.documentElement.dataset.ready = 'yes';
  }).catch((error) => {
    const problem = document.getElementById('problem');
    problem.hidden = false;
    problem.textContent = 'Figures cannot be drawn by this browser (' + error.message + '). Text and tables are complete.';
  });
})();
