'use strict';
// Draws the timelines in #data. Every text out of it is set as text, never as markup.
const data = JSON.parse(document.getElementById('data').textContent);
const LEFT = 72, RIGHT = 12, AXIS = 18;
const HEIGHTS = { iterations: 12, spans: 16, copies: 10, multiplications: 10 };
// How many numbers an item has.
const SIZES = { iterations: 4, spans: 4, copies: 5, multiplications: 5 };
// Narrower copies would be hidden by their ticks.
const TICKED = 3;
const extent = Math.max(data.extent, 1);
const view = { from: 0, to: extent };
const tip = document.getElementById('tip');
const pictures = [];
let pointer = null; // The cycle under the mouse.

function element(name, parent, text) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  parent.append(made);
  return made;
}

for (const group of data.groups) {
  const row = element('div', document.querySelector('main'));
  row.className = 'group';
  for (const picture of group) addPicture(picture, row);
}

function addPicture(picture, parent) {
  const section = element('section', parent);
  element('h2', section, picture.title);
  element('p', section, picture.summary);
  if (picture.cut) {
    const what = `Drawn up to cycle ${picture.cut.at}: the page leaves out ${picture.cut.items} items that begin later.`;
    element('p', section, what).className = 'cut';
  }
  const canvas = element('canvas', section);
  let y = AXIS;
  for (const row of picture.rows) {
    if (row.first) y += 8;
    row.y = y;
    y += row.height = HEIGHTS[row.kind];
    row.size = SIZES[row.kind];
    row.count = row.items.length / row.size;
    // Items begin in order; where they overlap, this is how far those up to each reach.
    row.reach = new Float64Array(row.count);
    for (let i = 0, reach = 0; i < row.count; i++) {
      row.reach[i] = reach = Math.max(reach, row.items[i * row.size + 1]);
    }
  }
  picture.height = y + 4;
  picture.canvas = canvas;
  canvas.style.height = picture.height + 'px';
  listen(picture);
  pictures.push(picture);
}

// The first item of a row that reaches beyond a cycle.
function firstAfter(row, cycle) {
  let low = 0, high = row.count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row.reach[middle] > cycle) high = middle; else low = middle + 1;
  }
  return low;
}

const scaleOf = width => (width - LEFT - RIGHT) / (view.to - view.from);

// The least of 1, 2 and 5 times a power of ten that is at least this.
function round(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  return [1, 2, 5, 10].map(factor => factor * power).find(step => step >= least) || 1;
}

function draw(picture) {
  const { canvas } = picture;
  const width = canvas.clientWidth, ratio = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(picture.height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(picture.height * ratio);
  }
  const pen = canvas.getContext('2d');
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, picture.height);
  pen.font = '11px sans-serif';
  const scale = scaleOf(width);
  const x = cycle => LEFT + (cycle - view.from) * scale;
  drawAxis(pen, x, scale, picture.height);
  pen.fillStyle = '#222';
  for (const row of picture.rows) pen.fillText(row.label, 2, row.y + (row.kind === 'spans' ? 11 : 8), LEFT - 6);
  pen.save();
  pen.beginPath();
  pen.rect(LEFT, 0, width - LEFT - RIGHT, picture.height);
  pen.clip();
  for (const row of picture.rows) drawRow(pen, row, x);
  if (pointer !== null) {
    pen.fillStyle = '#000';
    pen.fillRect(x(pointer), AXIS, 1, picture.height);
  }
  pen.restore();
}

function drawAxis(pen, x, scale, height) {
  pen.fillStyle = '#666';
  pen.fillText('cycle', 2, AXIS - 6);
  const step = round(80 / scale);
  pen.textAlign = 'center';
  for (let tick = Math.ceil(view.from / step) * step; tick <= view.to; tick += step) {
    pen.fillStyle = '#ddd';
    pen.fillRect(x(tick), AXIS - 3, 1, height);
    pen.fillStyle = '#666';
    pen.fillText(String(tick), x(tick), AXIS - 6);
  }
  pen.textAlign = 'left';
}

function drawRow(pen, row, x) {
  const { items, size, kind } = row;
  const numbers = [];
  let covered = -1, free = LEFT;
  for (let i = firstAfter(row, view.from) * size; i < items.length && items[i] < view.to; i += size) {
    const left = Math.max(x(items[i]), LEFT - 1), right = x(items[i + 1]);
    // What covers no pixel that those before it don't is not seen.
    if (Math.floor(right) <= covered) continue;
    covered = Math.floor(right);
    bar(pen, row, left, right, color(row, i));
    if (kind === 'iterations') {
      const text = String(items[i + 3]), room = text.length * 6;
      // In the middle of what is seen of it.
      const middle = Math.max(left, (left + Math.min(right, x(view.to)) - room) / 2);
      if (middle >= free) {
        numbers.push([text, middle]);
        free = middle + room + 6;
      }
    } else if (kind !== 'spans' && right - left >= TICKED) {
      for (const [at, tick] of [[items[i + 3], data.colors.observed], [items[i + 4], data.colors.read]]) {
        if (at === null) continue;
        pen.fillStyle = tick;
        pen.fillRect(x(at), row.y - 1, 2, row.height);
      }
    }
  }
  // On top of the bars, which may be narrower.
  pen.fillStyle = '#222';
  for (const [text, left] of numbers) pen.fillText(text, left, row.y + 9);
}

function color({ kind, items }, i) {
  if (kind === 'spans') return data.kinds[items[i + 2]].color;
  if (kind === 'copies') return data.colors.copy;
  if (kind === 'multiplications') return data.colors.multiplication;
  return items[i + 3] % 2 ? data.colors.odd : data.colors.even;
}

function bar(pen, row, left, right, color) {
  pen.fillStyle = color;
  pen.fillRect(left, row.y, Math.max(right - left, 1), row.height - 2);
}

// What is at a point of a picture, in words; nothing where there is nothing.
function describe(picture, offsetX, offsetY) {
  const row = picture.rows.find(row => row.y <= offsetY && offsetY < row.y + row.height);
  if (!row || offsetX < LEFT) return '';
  const scale = scaleOf(picture.canvas.clientWidth);
  const cycle = view.from + (offsetX - LEFT) / scale, near = 1 / scale;
  // The shortest one there: a long one is easily found elsewhere.
  let found = -1;
  for (let i = firstAfter(row, cycle - near) * row.size; i < row.items.length; i += row.size) {
    if (row.items[i] > cycle + near) break;
    const length = i => row.items[i + 1] - row.items[i];
    if (row.items[i + 1] >= cycle - near && (found < 0 || length(i) < length(found))) found = i;
  }
  return found < 0 ? '' : words(picture, row, found);
}

function words(picture, row, i) {
  const [start, end, ...rest] = row.items.slice(i, i + row.size);
  const when = `cycles ${start} to ${end} (${end - start})`;
  if (row.kind === 'iterations') {
    const [op, location] = picture.loops[rest[0]];
    return `iteration ${rest[1]} of ${op}\n${when}\n${location}`;
  }
  const [op, location, iteration] = picture.places[row.kind === 'spans' ? rest[1] : rest[0]];
  const lines = [iteration === null ? op : `${op}, iteration ${iteration}`];
  if (row.kind === 'spans') {
    lines.unshift(data.kinds[rest[0]].what);
    lines.push(when);
  } else {
    lines.push(`${when}, from issue to ${row.kind === 'copies' ? 'landing' : 'end'}`);
    if (rest[1] !== null) lines.push(`observed ${rest[1]}`);
    if (rest[2] !== null) lines.push(`read first ${rest[2]}`);
  }
  return [...lines, location].join('\n');
}

let asked = false;
function redraw() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => {
    asked = false;
    pictures.forEach(draw);
  });
}

// Shows cycles from `from` on, so many of them, as far as there are any.
function show(from, cycles) {
  const length = Math.min(Math.max(cycles, 10), extent);
  view.from = Math.min(Math.max(from, 0), extent - length);
  view.to = view.from + length;
  // What it says may be elsewhere now.
  tip.hidden = true;
  redraw();
}

function zoom(factor, at) {
  const length = (view.to - view.from) * factor;
  show(at - (at - view.from) * factor, length);
}

function listen(picture) {
  const { canvas } = picture;
  const cycleAt = event => view.from + (event.offsetX - LEFT) / scaleOf(canvas.clientWidth);
  let grabbed = null; // The cycle that is dragged.
  canvas.addEventListener('wheel', event => {
    event.preventDefault();
    zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300))), cycleAt(event));
  }, { passive: false });
  canvas.addEventListener('pointerdown', event => {
    grabbed = cycleAt(event);
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointerup', () => { grabbed = null; });
  canvas.addEventListener('pointermove', event => {
    if (grabbed !== null) show(view.from + grabbed - cycleAt(event), view.to - view.from);
    pointer = event.offsetX < LEFT ? null : cycleAt(event);
    tip.textContent = describe(picture, event.offsetX, event.offsetY);
    tip.hidden = !tip.textContent;
    tip.style.left = Math.min(event.clientX + 12, window.innerWidth - tip.offsetWidth - 8) + 'px';
    tip.style.top = Math.min(event.clientY + 12, window.innerHeight - tip.offsetHeight - 8) + 'px';
    redraw();
  });
  canvas.addEventListener('pointerleave', () => {
    tip.hidden = true;
    pointer = null;
    redraw();
  });
  canvas.addEventListener('dblclick', () => show(0, extent));
}

document.addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const middle = (view.from + view.to) / 2, length = view.to - view.from;
  if (event.key === '0') show(0, extent);
  else if (event.key === '+' || event.key === '=') zoom(0.5, middle);
  else if (event.key === '-') zoom(2, middle);
  else if (event.key === 'ArrowLeft') show(view.from - length / 4, length);
  else if (event.key === 'ArrowRight') show(view.from + length / 4, length);
  else return;
  event.preventDefault();
});

const layout = document.getElementById('layout');
layout.hidden = data.groups.every(group => group.length < 2);
layout.addEventListener('click', () => {
  const stacked = document.body.classList.toggle('stacked');
  layout.textContent = stacked ? 'Side by side' : 'One above the other';
  redraw();
});
window.addEventListener('resize', redraw);
redraw();
