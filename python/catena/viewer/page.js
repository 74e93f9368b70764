// Draws the scene of the page: bodies as instances of few geometries, one frame at a time.
import * as THREE from "three";
import {OrbitControls} from "orbit";

const scene = JSON.parse(document.getElementById("scene").textContent);
const element = id => document.getElementById(id);

// ---- frames ---------------------------------------------------------------------------------

const halfTable = new Float32Array(65536);
for (let h = 0; h < 65536; ++h) {
  const e = (h >> 10) & 31, m = h & 1023, sign = h & 32768 ? -1 : 1;
  halfTable[h] = sign * (e === 0 ? m * 2 ** -24 : e === 31 ? (m ? NaN : Infinity) : (1 + m / 1024) * 2 ** (e - 15));
}

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

async function rawFrame(k) {
  const held = element("frame-" + k);
  if (held) return Uint8Array.from(atob(held.textContent.trim()), c => c.charCodeAt(0));
  const answer = await fetch("frame/" + k);
  if (!answer.ok) throw new Error("frame " + k + ": " + answer.status);
  return new Uint8Array(await answer.arrayBuffer());
}

// A frame as frames.py packs it: counts, then one block after the other, all padded to 4 bytes.
function unpack(buffer) {
  const head = new Uint32Array(buffer, 0, 4);
  const [count, chains] = head;
  let at = 16;
  const take = (type, n) => {
    const block = new type(buffer, at, n);
    at += Math.ceil(block.byteLength / 4) * 4;
    return block;
  };
  const Place = scene.wide ? Uint32Array : Uint16Array, steps = scene.wide ? 4294967295 : 65535;
  const takePlaces = n => {
    const from = take(Place, 3 * n), places = new Float32Array(3 * n);
    for (let i = 0; i < 3 * n; ++i) {
      const c = i % 3;
      places[i] = scene.lower[c] + (scene.upper[c] - scene.lower[c]) * (from[i] / steps);
    }
    return places;
  };
  const frame = {count};
  frame.body = head[2] ? Uint32Array.from({length: count}, (_, i) => i) : take(Uint32Array, count);
  frame.position = takePlaces(count);
  const turns = take(Uint32Array, count);
  frame.turn = new Float32Array(4 * count);  // x, y, z, w
  for (let i = 0; i < count; ++i) unpackTurn(turns[i], frame.turn, 4 * i);
  frame.values = {};
  for (const field of scene.frameFields) {
    const halves = take(Uint16Array, field.width * count);
    const values = new Float32Array(halves.length);
    for (let i = 0; i < halves.length; ++i) values[i] = halfTable[halves[i]] * field.scale;
    frame.values[field.name] = values;
  }
  frame.chainForce = take(Float32Array, chains);
  frame.chainEnds = takePlaces(2 * chains);
  return frame;
}

// Smallest three: two bits say which component is left out, ten bits each hold the others.
function unpackTurn(bits, out, at) {
  const largest = bits >>> 30;
  let sum = 0;
  for (let k = 0, shift = 20; k < 4; ++k) {
    if (k === largest) continue;
    const v = ((((bits >>> shift) & 1023) / 1023) * 2 - 1) * Math.SQRT1_2;
    shift -= 10;
    sum += v * v;
    out[at + (k + 3) % 4] = v;  // packed as w, x, y, z
  }
  out[at + (largest + 3) % 4] = Math.sqrt(Math.max(0, 1 - sum));
}

const cache = new Map();
async function frameOf(k) {
  if (!cache.has(k)) {
    if (cache.size > 24) cache.delete(cache.keys().next().value);
    cache.set(k, rawFrame(k).then(inflate).then(unpack));
  }
  return cache.get(k);
}

// ---- the stage ------------------------------------------------------------------------------

const holder = element("view");
const kFewSpheres = 2000;
const many = scene.bodies.name.length > kFewSpheres;
let shown = null;  // the frame on the stage
const renderer = new THREE.WebGLRenderer({antialias: !many, alpha: true});
holder.append(renderer.domElement);
const stage = new THREE.Scene();
stage.add(new THREE.HemisphereLight(0xffffff, 0x8899aa, 1.6));
const sun = new THREE.DirectionalLight(0xffffff, 1.9);
sun.position.set(0.4, -0.7, 1.2);
stage.add(sun);

const low = new THREE.Vector3(...scene.viewLower), high = new THREE.Vector3(...scene.viewUpper);
const middle = low.clone().add(high).multiplyScalar(0.5);
const reach = Math.max(high.distanceTo(low), 1e-9);
const camera = new THREE.PerspectiveCamera(34, 1, reach * 1e-3, reach * 100);
camera.up.set(0, 0, 1);
const azimuth = -60 * Math.PI / 180, elevation = 20 * Math.PI / 180;
camera.position.set(Math.cos(elevation) * Math.cos(azimuth), Math.cos(elevation) * Math.sin(azimuth), Math.sin(elevation))
  .multiplyScalar(1.6 * reach).add(middle);
const controls = new OrbitControls(camera, renderer.domElement);
controls.target.copy(middle);
controls.addEventListener("change", draw);
controls.addEventListener("end", () => { if (shown) { place(shown); draw(); } });

function fit() {
  const {clientWidth: w, clientHeight: h} = holder;
  if (!w || !h) return;
  renderer.setPixelRatio(window.devicePixelRatio);
  renderer.setSize(w, h);
  camera.aspect = w / h;
  camera.updateProjectionMatrix();
  draw();
}
new ResizeObserver(fit).observe(holder);

let waiting = false;
function draw() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    renderer.render(stage, camera);
    ++window.catena.drawn;
  });
}

const ray = new THREE.Raycaster();

// ---- shapes: one instanced mesh for each geometry ---------------------------------------------

// Axes of capsules and cylinders are z; of three's geometries y.
const upright = geometry => geometry.rotateX(Math.PI / 2);

function polyhedron({points, triangles}) {
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.Float32BufferAttribute(points.flat(), 3));
  geometry.setIndex(triangles.flat());
  const flat = geometry.toNonIndexed();  // one normal a face: edges stay sharp
  flat.computeVertexNormals();
  return flat;
}

function geometryOf(shape) {
  switch (shape.type) {
    case "sphere": return new THREE.IcosahedronGeometry(1, 4);
    case "box": return new THREE.BoxGeometry(1, 1, 1);
    case "tube": return upright(new THREE.CylinderGeometry(1, 1, 1, 24, 1, true));
    case "cylinder": return upright(new THREE.CylinderGeometry(1, 1, 1, 32));
    case "plane": return new THREE.PlaneGeometry(2 * reach, 2 * reach);
    default: return polyhedron(shape);
  }
}

// Many spheres as discs that face the camera, shaded as spheres: a triangle mesh for each takes seconds a
// frame where no graphics card helps.
function sphereCloud(count) {
  const geometry = new THREE.BufferGeometry();
  const attribute = width => new THREE.BufferAttribute(new Float32Array(width * count), width).setUsage(THREE.DynamicDrawUsage);
  geometry.setAttribute("position", attribute(3));
  geometry.setAttribute("radius", attribute(1));
  geometry.setAttribute("color", attribute(3));
  const material = new THREE.ShaderMaterial({
    uniforms: {height: {value: 1}},
    vertexShader: `
      attribute float radius;
      attribute vec3 color;
      uniform float height;
      varying vec3 shade;
      void main() {
        vec4 seen = modelViewMatrix * vec4(position, 1.0);
        gl_Position = projectionMatrix * seen;
        gl_PointSize = height * projectionMatrix[1][1] * radius / gl_Position.w;
        shade = color;
      }`,
    fragmentShader: `
      varying vec3 shade;
      void main() {
        vec2 p = vec2(2.0, -2.0) * (gl_PointCoord - 0.5);
        float z = 1.0 - dot(p, p);
        if (z < 0.0) discard;
        float lit = 0.45 + 0.6 * max(0.0, dot(vec3(p, sqrt(z)), vec3(0.2, 0.6, 0.77)));
        gl_FragColor = vec4(shade * lit, 1.0);
        #include <colorspace_fragment>
      }`});
  const points = new THREE.Points(geometry, material);
  points.frustumCulled = false;
  points.onBeforeRender = drawn => { material.uniforms.height.value = drawn.domElement.height; };
  return points;
}

const turned = new THREE.Quaternion(), placed = new THREE.Vector3(), matrix = new THREE.Matrix4();
const local = new THREE.Matrix4(), sized = new THREE.Vector3();

// Groups of bodies' parts that one object draws. `put` places part p as instance k, `done` ends a frame.
function meshGroup(shape, parts) {
  const glassy = shape.type === "plane" || Boolean(shape.open);
  const material = new THREE.MeshLambertMaterial({
    side: glassy && shape.type !== "plane" ? THREE.DoubleSide : THREE.FrontSide, transparent: glassy, opacity: glassy ? 0.25 : 1, depthWrite: !glassy});
  const mesh = new THREE.InstancedMesh(geometryOf(shape), material, parts.length);
  mesh.frustumCulled = false;
  mesh.count = 0;
  mesh.instanceMatrix.setUsage(THREE.DynamicDrawUsage);
  mesh.instanceColor = new THREE.InstancedBufferAttribute(new Float32Array(3 * parts.length), 3);
  mesh.renderOrder = glassy ? 1 : 0;
  // where each part stands in its body's frame
  const within = parts.map(([, , at, turn, scale]) => new THREE.Matrix4().compose(
    placed.set(...at), turned.set(turn[1], turn[2], turn[3], turn[0]), sized.set(...scale)));
  return {
    object: mesh,
    put(k, p, pose, color) {
      mesh.setMatrixAt(k, local.multiplyMatrices(pose, within[p]));
      color.toArray(mesh.instanceColor.array, 3 * k);
    },
    done(count) {
      mesh.count = count;
      mesh.visible = shape.type !== "plane" || element("planes").checked;
      mesh.instanceMatrix.needsUpdate = mesh.instanceColor.needsUpdate = true;
      mesh.boundingSphere = null;
    },
    hits: () => glassy || !mesh.visible ? [] : ray.intersectObject(mesh).map(h => [h.distance, h.instanceId]),
  };
}

function cloudGroup(parts) {
  const cloud = sphereCloud(parts.length);
  const {position, radius, color: colors} = cloud.geometry.attributes;
  const nearest = new THREE.BufferAttribute(new Uint32Array(parts.length), 1), depth = new Float32Array(parts.length);
  cloud.geometry.setIndex(nearest);
  let used = 0;
  return {
    object: cloud,
    put(k, p, pose, color) {
      placed.set(...parts[p][2]).applyMatrix4(pose).toArray(position.array, 3 * k);
      radius.array[k] = parts[p][4][0];
      color.toArray(colors.array, 3 * k);
    },
    done(count) {
      used = count;
      // the nearest first: what they hide is not shaded
      for (let k = 0; k < count; ++k) depth[k] = placed.fromArray(position.array, 3 * k).distanceToSquared(camera.position);
      nearest.array.subarray(0, count).set(Uint32Array.from({length: count}, (_, k) => k).sort((a, b) => depth[a] - depth[b]));
      cloud.geometry.setDrawRange(0, count);
      nearest.needsUpdate = true;
      position.needsUpdate = radius.needsUpdate = colors.needsUpdate = true;
    },
    hits() {
      const found = [], ball = new THREE.Sphere();
      for (let k = 0; k < used; ++k) {
        ball.center.fromArray(position.array, 3 * k);
        ball.radius = radius.array[k];
        const hit = ray.ray.intersectSphere(ball, placed);
        if (hit) found.push([hit.distanceTo(ray.ray.origin), k]);
      }
      return found;
    },
  };
}

const groups = scene.shapes.map((shape, s) => {
  const parts = scene.parts.filter(p => p[1] === s);
  const group = shape.type === "sphere" && parts.length > kFewSpheres ? cloudGroup(parts) : meshGroup(shape, parts);
  stage.add(group.object);
  return Object.assign(group, {bodies: parts.map(p => p[0]), shown: []});
});

// ---- lines: contact forces and joints ---------------------------------------------------------

function lines(color) {
  const object = new THREE.LineSegments(new THREE.BufferGeometry(),
    new THREE.LineBasicMaterial(color ? {color, depthTest: false} : {vertexColors: true, transparent: true, depthTest: false}));
  object.frustumCulled = false;
  object.renderOrder = 2;
  stage.add(object);
  return object;
}
const forceLines = lines(null), jointLines = lines(0x803010);

function setLines(object, points, colors) {
  object.geometry.dispose();
  object.geometry = new THREE.BufferGeometry();
  object.geometry.setAttribute("position", new THREE.Float32BufferAttribute(points, 3));
  if (colors) object.geometry.setAttribute("color", new THREE.Float32BufferAttribute(colors, 4));
}

// ---- colours ----------------------------------------------------------------------------------

const anchors = [[0.20, 0.28, 0.48], [0.16, 0.50, 0.56], [0.35, 0.72, 0.47], [0.99, 0.88, 0.25]];
const ramp = (x, c) => {
  const s = 3 * Math.min(1, Math.max(0, x)), k = Math.min(2, Math.floor(s));
  return anchors[k][c] + (s - k) * (anchors[k + 1][c] - anchors[k][c]);
};
const distinct = ["#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#edc948", "#76b7b2", "#e15759", "#9c755f"]
  .map(c => new THREE.Color(c));
const still = new THREE.Color("#9aa3ad");

const fields = [
  {name: "speed", unit: "m/s", of: "velocity"},
  {name: "force", unit: "N", of: "force"},
].filter(f => scene.frameFields.some(g => g.name === f.of)).concat([
  {name: "size", unit: "m", fixed: "extent"},
  {name: "material", labels: scene.materials, fixed: "material"},
  {name: "generator", labels: scene.groups, fixed: "group"},
]);

function valueOf(field, frame, i) {
  if (field.fixed) return scene.bodies[field.fixed][frame.body[i]];
  const v = frame.values[field.of];
  if (v.length === frame.count) return v[i];
  return Math.hypot(v[3 * i], v[3 * i + 1], v[3 * i + 2]);
}

function rangeOf(field) {
  if (field.labels) return [0, Math.max(1, field.labels.length - 1)];
  if (field.fixed) return [0, Math.max(...scene.bodies[field.fixed]) || 1];
  return [0, scene.frameFields.find(f => f.name === field.of).largest || 1];
}

function colorOf(field, range, frame, i, out) {
  const b = frame.body[i];
  if (field.labels) out.copy(distinct[valueOf(field, frame, i) % distinct.length]);
  else if (scene.bodies.kind[b] !== 0) out.copy(still);
  else {
    const x = (valueOf(field, frame, i) - range[0]) / (range[1] - range[0]);
    out.setRGB(ramp(x, 0), ramp(x, 1), ramp(x, 2), THREE.SRGBColorSpace);
  }
}

const digits = (x, n = 3) => String(Number(Number(x).toPrecision(n)));
function legend() {
  const field = fields[element("field").selectedIndex], range = rangeOf(field);
  const bar = element("bar").getContext("2d");
  for (let x = 0; x < 200; ++x) {
    const label = field.labels && Math.floor(x / 200 * field.labels.length) % distinct.length;
    bar.fillStyle = field.labels ? "#" + distinct[label].getHexString()
      : "rgb(" + [0, 1, 2].map(c => Math.round(255 * ramp(x / 199, c))) + ")";
    bar.fillRect(x, 0, 1, 12);
  }
  element("low").textContent = field.labels ? field.labels[0] ?? "" : digits(range[0]) + " " + field.unit;
  element("high").textContent = field.labels ? field.labels[field.labels.length - 1] ?? "" : digits(range[1]) + " " + field.unit;
}

// ---- a frame on the stage ---------------------------------------------------------------------

const rowOf = new Int32Array(scene.bodies.name.length);
let current = -1, asked = 0;

function place(frame) {
  const field = fields[element("field").selectedIndex], range = rangeOf(field), color = new THREE.Color();
  rowOf.fill(-1);
  for (let i = 0; i < frame.count; ++i) rowOf[frame.body[i]] = i;
  for (const group of groups) {
    group.shown.length = 0;
    group.bodies.forEach((body, p) => {
      const i = rowOf[body];
      if (i < 0) return;
      matrix.makeRotationFromQuaternion(turned.fromArray(frame.turn, 4 * i));
      matrix.setPosition(frame.position[3 * i], frame.position[3 * i + 1], frame.position[3 * i + 2]);
      colorOf(field, range, frame, i, color);
      group.put(group.shown.push(body) - 1, p, matrix, color);
    });
    group.done(group.shown.length);
  }
  placeForces(frame);
  placeJoints(frame);
}

const at = (frame, body) => {
  const i = rowOf[body];
  return i < 0 ? null : frame.position.subarray(3 * i, 3 * i + 3);
};

function placeForces(frame) {
  forceLines.visible = element("forces").checked;
  if (!forceLines.visible) return;
  const colors = [];
  for (const force of frame.chainForce) {
    const strength = Math.min(1, force / (scene.largestChain || 1));
    for (let end = 0; end < 2; ++end) colors.push(0.75, 0.1 * (1 - strength), 0.1, 0.08 + 0.92 * strength);
  }
  setLines(forceLines, frame.chainEnds, colors);
}

function placeJoints(frame) {
  jointLines.visible = element("joints").checked && scene.joints.length > 0;
  if (!jointLines.visible) return;
  const points = [];
  for (const [a, b] of scene.joints) {
    const p = at(frame, a), q = at(frame, b);
    if (p && q) points.push(...p, ...q);
  }
  setLines(jointLines, points, null);
}

async function show(k) {
  const turn = ++asked;
  const frame = await frameOf(k);
  if (turn !== asked) return;  // another one was asked for meanwhile
  current = k;
  shown = frame;
  place(frame);
  element("slider").value = k;
  element("time").textContent = "t " + digits(scene.times[k], 6) + " s, step " + scene.steps[k] + " (" + (k + 1) + "/" + scene.times.length + ")";
  describe();
  plot();
  draw();
}

// ---- playing ----------------------------------------------------------------------------------

let playing = false;
async function play() {
  playing = !playing;
  element("play").textContent = playing ? "\u25a0" : "\u25b6";
  while (playing) {
    const begun = performance.now();
    await show((current + 1) % scene.times.length);
    frameOf((current + 1) % scene.times.length);
    await new Promise(done => setTimeout(done, Math.max(0, 40 - (performance.now() - begun))));
    await new Promise(requestAnimationFrame);
  }
}
element("play").onclick = play;
element("slider").oninput = () => show(Number(element("slider").value));
window.addEventListener("keydown", event => {
  const typed = ["INPUT", "SELECT", "BUTTON"].includes(event.target.tagName) && event.target.type !== "range";
  if (typed) return;
  if (event.key === " ") { event.preventDefault(); play(); }
});

// ---- picking ----------------------------------------------------------------------------------

let picked = -1, pressed = null;
renderer.domElement.addEventListener("pointerdown", e => { pressed = [e.clientX, e.clientY]; });
renderer.domElement.addEventListener("pointerup", e => {
  if (pressed && Math.hypot(e.clientX - pressed[0], e.clientY - pressed[1]) < 4) pick(e.clientX, e.clientY);
});

function pick(x, y) {
  const box = renderer.domElement.getBoundingClientRect();
  ray.setFromCamera(new THREE.Vector2(2 * (x - box.left) / box.width - 1, 1 - 2 * (y - box.top) / box.height), camera);
  let nearest = Infinity;
  picked = -1;
  for (const group of groups) {
    for (const [distance, k] of group.hits()) {
      if (distance < nearest) { nearest = distance; picked = group.shown[k]; }
    }
  }
  describe();
  return picked < 0 ? null : scene.bodies.name[picked];
}

const vector = (values, i) => "(" + [0, 1, 2].map(c => digits(values[3 * i + c])).join(", ") + ")";
function describe() {
  const panel = element("picked");
  panel.replaceChildren();
  if (picked < 0 || !shown) {
    panel.append(Object.assign(document.createElement("p"), {textContent: "Click a body to see what it is."}));
    return;
  }
  const i = rowOf[picked], rows = [["body", scene.bodies.name[picked]], ["material", scene.materials[scene.bodies.material[picked]]]];
  if (i < 0) rows.push(["", "not there at this time"]);
  else {
    rows.push(["position", vector(shown.position, i) + " m"]);
    const {velocity, force} = shown.values;
    if (velocity) rows.push(["velocity", vector(velocity, i) + " m/s"]);
    if (force) rows.push(["force", digits(force[i]) + " N, sum of its contacts' normal forces"]);
  }
  const table = document.createElement("table");
  for (const row of rows) {
    const line = table.insertRow();
    for (const text of row) line.insertCell().textContent = text;
  }
  panel.append(table);
}

// ---- plots ------------------------------------------------------------------------------------

function plot() {
  if (!scene.plots.length) return;
  const {times, values, unit} = scene.plots[element("column").selectedIndex];
  const canvas = element("plot"), c = canvas.getContext("2d"), w = canvas.width, h = canvas.height;
  const finite = values.filter(Number.isFinite);
  let least = Math.min(...finite), largest = Math.max(...finite);
  if (!(largest > least)) { least -= 0.5; largest += 0.5; }
  const end = times[times.length - 1] || 1;
  const px = t => 8 + (w - 16) * t / end, py = v => h - 18 - (h - 34) * (v - least) / (largest - least);
  c.clearRect(0, 0, w, h);
  c.strokeStyle = "#2f5d8a";
  c.beginPath();
  let down = false;
  values.forEach((v, k) => {
    if (!Number.isFinite(v)) { down = false; return; }
    c[down ? "lineTo" : "moveTo"](px(times[k]), py(v));
    down = true;
  });
  c.stroke();
  c.strokeStyle = "#c0392b";
  c.beginPath();
  c.moveTo(px(scene.times[current]), 12);
  c.lineTo(px(scene.times[current]), h - 16);
  c.stroke();
  c.fillStyle = "#1c2530";
  c.font = "11px system-ui, sans-serif";
  c.fillText(digits(largest) + " " + unit, 8, 11);
  c.fillText(digits(least) + " " + unit, 8, h - 4);
  const last = digits(end) + " s";
  c.fillText(last, w - 8 - c.measureText(last).width, h - 4);
}

// ---- start ------------------------------------------------------------------------------------

element("name").textContent = scene.name;
element("notes").textContent = scene.notes;
for (const field of fields) element("field").add(new Option(field.name));
for (const p of scene.plots) element("column").add(new Option(p.name + (p.unit ? " [" + p.unit + "]" : "")));
element("plots").hidden = !scene.plots.length;
element("with-forces").hidden = !scene.largestChain;
element("with-joints").hidden = !scene.joints.length;
element("with-planes").hidden = !scene.shapes.some(s => s.type === "plane");
element("field").onchange = () => { legend(); if (shown) { place(shown); draw(); } };
for (const id of ["forces", "joints", "planes"]) element(id).onchange = () => { if (shown) { place(shown); draw(); } };
element("column").onchange = plot;

function setTimes(times, steps) {
  scene.times = times;
  scene.steps = steps;
  element("slider").max = Math.max(0, times.length - 1);
}

// A page served from a running case asks for new snapshots.
async function follow() {
  let failures = 0;
  while (failures < 5) {
    await new Promise(done => setTimeout(done, 1000));
    try {
      const news = await (await fetch("times")).json();
      if (news.stale) return location.reload();
      const atEnd = current === scene.times.length - 1;
      const more = news.times.length > scene.times.length;
      setTimes(news.times, news.steps);
      if (more && atEnd && !playing) await show(scene.times.length - 1);
      failures = 0;
    } catch (error) {
      ++failures;
    }
  }
  element("notes").textContent += " The server has ended; what was loaded stays.";
}

window.catena = {drawn: 0, show, pick, get current() { return current; }, ready: false};
setTimes(scene.times, scene.steps);
legend();
fit();
// view.html#12 opens with the snapshot of that number, from 1
const wanted = Number(location.hash.slice(1)) || (scene.live ? scene.times.length : 1);
await show(Math.min(Math.max(wanted, 1), scene.times.length) - 1);
window.catena.ready = true;
if (scene.live) follow();
