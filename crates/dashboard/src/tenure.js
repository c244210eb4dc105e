// What moves on a page: its parts, its times, its keys. Everything else works without this file.

const each = (what, where, then) => { for (const one of where.querySelectorAll(what)) then(one); };

// Times: how long ago, or how long to go; the time itself is in the title.

const UNITS = [["d", 86400], ["h", 3600], ["m", 60], ["s", 1]];

function span(seconds) {
  if (seconds < 1) return "0 s";
  const at = UNITS.findIndex(([, size]) => seconds >= size);
  const [unit, size] = UNITS[at];
  const [lower, lowerSize] = UNITS[at + 1] ?? [];
  const rest = lower ? Math.floor((seconds % size) / lowerSize) : 0;
  return `${Math.floor(seconds / size)} ${unit}` + (rest ? ` ${rest} ${lower}` : "");
}

// The server's clock counts: this machine's may be wrong.
let ahead = 0;

function say(time) {
  const at = Date.parse(time.dateTime);
  const left = Math.round((at - Date.now() - ahead) / 1000);
  time.title ||= time.dateTime;
  const text = "until" in time.dataset
    ? (left > 0 ? `in ${span(left)}` : "now")
    : (left > 1 ? `in ${span(left)}` : `${span(Math.max(0, -left))} ago`);
  if (time.textContent !== text) time.textContent = text;
}

const sayAll = (where = document) => each("time[datetime]", where, say);

// Parts: the stream says which came out otherwise, and they are put where they were. Nothing else on the page moves.

const mark = document.getElementById("live");
const told = document.getElementById("told");
let stream, lostAt, retry, waiting = [];
let paused = false;

const isHeld = () => paused || document.querySelector("tbody input:checked") !== null;

function live(state, word, title) {
  if (!mark) return;
  mark.dataset.live = state;
  mark.title = title;
  mark.querySelector(".live-word").textContent = word;
}

function put([id, html]) {
  const place = document.getElementById(id);
  if (!place) return;
  if (html === null) return place.classList.add("gone");
  place.classList.remove("gone");
  if (place.dataset.was === undefined && place.innerHTML === html) return;
  if (place.contains(document.activeElement) && place !== document.activeElement && document.activeElement.matches("input, select, textarea")) return;
  const focused = place.contains(document.activeElement) ? document.activeElement.getAttribute("data-focus") : null;
  const open = [...place.querySelectorAll("details")].map((one) => one.open);
  const isAtEnd = place.scrollHeight - place.scrollTop - place.clientHeight < 8;
  const top = place.scrollTop;
  place.innerHTML = html;
  place.dataset.was = "";
  [...place.querySelectorAll("details")].forEach((one, at) => { if (open[at] !== undefined) one.open = open[at]; });
  if (focused) place.querySelector(`[data-focus="${CSS.escape(focused)}"]`)?.focus();
  place.scrollTop = isAtEnd && "tail" in place.dataset ? place.scrollHeight : top;
  sayAll(place);
}

function take(parts) {
  if (isHeld()) {
    waiting.push(...parts);
    if (waiting.length > 5000) waiting = waiting.slice(-5000);
    return;
  }
  parts.forEach(put);
  document.dispatchEvent(new CustomEvent("parts", { detail: parts }));
}

function goOn() {
  document.body.classList.toggle("paused", isHeld());
  if (isHeld()) return live("paused", "paused", "Press p to go on, or clear the selection");
  const parts = waiting;
  waiting = [];
  parts.forEach(put);
  if (stream) live("on", "live", "Numbers move as they change");
}

function listen() {
  const address = document.body.dataset.stream;
  if (!address || stream) return;
  clearTimeout(retry);
  stream = new EventSource(address);
  stream.addEventListener("open", () => { lostAt = undefined; live("on", "live", "Numbers move as they change"); goOn(); });
  stream.addEventListener("parts", (event) => take(JSON.parse(event.data)));
  stream.addEventListener("error", () => {
    stop();
    lostAt ??= new Date();
    live("lost", `not live since ${lostAt.toLocaleTimeString()}`, "The server does not answer; trying again");
    retry = setTimeout(listen, 2000);
  });
}

function stop() {
  stream?.close();
  stream = undefined;
  clearTimeout(retry);
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    stop();
    live("off", "still", "Stopped while this tab is hidden");
  } else {
    listen();
  }
});
addEventListener("pagehide", stop);
addEventListener("pageshow", (event) => { if (event.persisted) listen(); });

// One sentence at most every ten seconds, for those who listen to a page.

let lastTold = 0;
document.addEventListener("parts", () => {
  const sentence = document.querySelector("[data-tell]")?.textContent.trim().replace(/\s+/g, " ");
  if (sentence && told && Date.now() - lastTold > 10000 && told.textContent !== sentence) {
    lastTold = Date.now();
    told.textContent = sentence;
  }
});

// Keys.

const isTyping = (target) => target.closest("input, select, textarea, [contenteditable]");
const rows = () => [...document.querySelectorAll("main tbody tr")].filter((row) => row.querySelector("a[href]"));
let going = false;

function step(by) {
  const all = rows();
  if (!all.length) return;
  const at = all.findIndex((row) => row.classList.contains("at"));
  const next = Math.min(all.length - 1, Math.max(0, at < 0 ? 0 : at + by));
  all[at]?.classList.remove("at");
  all[next].classList.add("at");
  all[next].querySelector("a[href]").focus({ preventScroll: true });
  all[next].scrollIntoView({ block: "nearest" });
}

const KEYS = {
  "/": () => document.getElementById("search")?.focus(),
  "?": () => document.getElementById("keys")?.showModal(),
  j: () => step(1),
  k: () => step(-1),
  x: () => document.querySelector("tr.at input[type=checkbox]")?.click(),
  p: () => { paused = !paused; goOn(); },
  g: () => { going = true; setTimeout(() => { going = false; }, 1500); },
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && isTyping(event.target)) return event.target.blur();
  if (isTyping(event.target) || document.querySelector("dialog[open]")) return;
  if (going) {
    const link = document.querySelector(`nav a[data-key="${CSS.escape(event.key)}"]`);
    going = false;
    if (link) { event.preventDefault(); link.click(); }
  } else if (KEYS[event.key]) {
    event.preventDefault();
    KEYS[event.key]();
  }
});

document.getElementById("help")?.addEventListener("click", () => document.getElementById("keys").showModal());

// Forms: a choice takes effect at once; what cannot be undone asks first; ticked boxes hold the page still.

document.getElementById("theme")?.addEventListener("change", (event) => event.target.form.requestSubmit());

document.addEventListener("submit", (event) => {
  const question = event.submitter?.dataset.ask ?? event.target.dataset.ask;
  if (question && !confirm(question.replace("{n}", ticked().length))) event.preventDefault();
});

const ticked = () => [...document.querySelectorAll("tbody input[type=checkbox]:checked")];

document.addEventListener("change", (event) => {
  if (!event.target.matches("input[type=checkbox]")) return;
  if (event.target.matches("thead input")) {
    each("tbody input[type=checkbox]", event.target.closest("table"), (box) => { box.checked = event.target.checked; });
  }
  const count = ticked().length;
  each("[data-ticked]", document, (place) => { place.textContent = count; });
  each("[data-needs-ticked]", document, (button) => { button.disabled = count === 0; });
  goOn();
});
each("[data-needs-ticked]", document, (button) => { button.disabled = ticked().length === 0; });

// A text to the clipboard, also where there is no secure context.

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const area = Object.assign(document.createElement("textarea"), { value: button.dataset.copy });
  area.className = "unseen";
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  button.focus();
  if (told) told.textContent = done ? "Copied" : "Could not copy";
  if (done) { const was = button.textContent; button.textContent = "copied"; setTimeout(() => { button.textContent = was; }, 1200); }
});

// On a phone the navigation is wider than the screen.
document.querySelector("nav a[aria-current=page]")?.scrollIntoView({ block: "nearest", inline: "nearest" });

const now = document.body.dataset.now;
if (now) ahead = Date.parse(now) - Date.now();
sayAll();
setInterval(sayAll, 1000);
if (!document.hidden) listen();

// A job's log is read from its end.
each("[data-tail]", document, (place) => { place.scrollTop = place.scrollHeight; });
