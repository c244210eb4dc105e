// Live parts, relative times and keyboard shortcuts. Everything else works without this file.

const each = (what, where, then) => { for (const one of where.querySelectorAll(what)) then(one); };

// Relative times; the absolute time is in the title.

const UNITS = [["d", 86400], ["h", 3600], ["m", 60], ["s", 1]];

function span(seconds) {
  if (seconds < 1) return "0 s";
  const at = UNITS.findIndex(([, size]) => seconds >= size);
  const [unit, size] = UNITS[at];
  const [lower, lowerSize] = UNITS[at + 1] ?? [];
  const rest = lower ? Math.floor((seconds % size) / lowerSize) : 0;
  return `${Math.floor(seconds / size)} ${unit}` + (rest ? ` ${rest} ${lower}` : "");
}

// Offset to the server's clock, since this machine's may be wrong.
let ahead = 0;

function showTime(time) {
  const at = Date.parse(time.dateTime);
  const left = Math.round((at - Date.now() - ahead) / 1000);
  time.title ||= time.dateTime;
  const text = "until" in time.dataset
    ? (left > 0 ? `in ${span(left)}` : "now")
    : (left > 1 ? `in ${span(left)}` : `${span(Math.max(0, -left))} ago`);
  if (time.textContent !== text) time.textContent = text;
}

const showTimes = (where = document) => each("time[datetime]", where, showTime);

// Times of charts have the zone of the address: the browser's offset, if the link to local time is used.

const ahead_of_utc = -new Date().getTimezoneOffset();
const two = (number) => String(Math.floor(number)).padStart(2, "0");
const offset = (ahead_of_utc < 0 ? "-" : "+") + two(Math.abs(ahead_of_utc) / 60) + ":" + two(Math.abs(ahead_of_utc) % 60);
each("a[data-local]", document, (link) => {
  link.href = link.dataset.local.replace(encodeURIComponent("+00:00"), encodeURIComponent(offset));
  link.hidden = link.parentElement.querySelector("[data-zone]").dataset.zone === offset;
});

// Live parts: the stream sends those that changed, and each replaces the content of its element.

const mark = document.getElementById("live");
const announcements = document.getElementById("announcements");
let stream, lostAt, retry, waiting = [];
let paused = false;

const isPaused = () => paused || document.querySelector("tbody input:checked") !== null;

function live(state, word, title) {
  if (!mark) return;
  mark.dataset.live = state;
  mark.title = title;
  mark.querySelector(".live-word").textContent = word;
}

function replacePart([id, html]) {
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
  showTimes(place);
}

function take(parts) {
  if (isPaused()) {
    waiting.push(...parts);
    if (waiting.length > 5000) waiting = waiting.slice(-5000);
    return;
  }
  parts.forEach(replacePart);
  document.dispatchEvent(new CustomEvent("parts", { detail: parts }));
}

function resume() {
  document.body.classList.toggle("paused", isPaused());
  if (isPaused()) return live("paused", "paused", "Press p to resume, or clear the selection");
  const parts = waiting;
  waiting = [];
  parts.forEach(replacePart);
  if (stream) live("on", "live", "Live updates");
}

function listen() {
  const address = document.body.dataset.stream;
  if (!address || stream) return;
  clearTimeout(retry);
  stream = new EventSource(address);
  stream.addEventListener("open", () => { lostAt = undefined; live("on", "live", "Live updates"); resume(); });
  stream.addEventListener("parts", (event) => take(JSON.parse(event.data)));
  stream.addEventListener("error", () => {
    stop();
    lostAt ??= new Date();
    live("lost", `disconnected since ${lostAt.toLocaleTimeString()}`, "The server does not answer; retrying");
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
    live("off", "static", "Paused while this tab is hidden");
  } else {
    listen();
  }
});
addEventListener("pagehide", stop);
addEventListener("pageshow", (event) => { if (event.persisted) listen(); });

// Announces one sentence to screen readers, at most every ten seconds.

let lastAnnounced = 0;
document.addEventListener("parts", () => {
  const sentence = document.querySelector("[data-tell]")?.textContent.trim().replace(/\s+/g, " ");
  if (sentence && announcements && Date.now() - lastAnnounced > 10000 && announcements.textContent !== sentence) {
    lastAnnounced = Date.now();
    announcements.textContent = sentence;
  }
});

// Keyboard shortcuts.

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
  p: () => { paused = !paused; resume(); },
  g: () => { going = true; setTimeout(() => { going = false; }, 1500); },
};

document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    const search = document.getElementById("search");
    search?.focus();
    search?.select();
    return;
  }
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

// Forms: the theme applies at once, irreversible actions ask first, and a selection pauses live updates. The server asks with a page,
// unless the form says that it was done.

document.getElementById("theme")?.addEventListener("change", (event) => event.target.form.requestSubmit());

document.addEventListener("submit", (event) => {
  const question = event.submitter?.dataset.ask ?? event.target.dataset.ask;
  each("input[data-asked]", event.target, (field) => field.remove());
  if (!question) return;
  if (!confirm(question.replace("{n}", selected().length))) return event.preventDefault();
  const field = Object.assign(document.createElement("input"), { type: "hidden", name: "confirmed", value: "yes" });
  field.dataset.asked = "";
  event.target.append(field);
});

const selected = () => [...document.querySelectorAll("tbody input[type=checkbox]:checked")];

document.addEventListener("change", (event) => {
  if (!event.target.matches("input[type=checkbox]")) return;
  if (event.target.matches("thead input")) {
    each("tbody input[type=checkbox]", event.target.closest("table"), (box) => { box.checked = event.target.checked; });
  }
  const count = selected().length;
  each("[data-selected-count]", document, (place) => { place.textContent = count; });
  each("[data-needs-selection]", document, (button) => { button.disabled = count === 0; });
  resume();
});
each("[data-needs-selection]", document, (button) => { button.disabled = selected().length === 0; });

// A text file is loaded into a text area.
document.addEventListener("change", async (event) => {
  const { files, dataset } = event.target;
  if (files?.length && dataset.into) document.getElementById(dataset.into).value = await files[0].text();
});

// A slider of times shows the chosen time, and leads there when it is released.
each("input[type=range][data-times]", document, (slider) => {
  const chosen = slider.form.querySelector("output");
  const tell = () => { chosen.textContent = new Date(slider.value * 1000).toLocaleString(); };
  slider.addEventListener("input", tell);
  slider.addEventListener("change", () => slider.form.requestSubmit());
  tell();
});

// Copies to the clipboard, also without a secure context.

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
  if (announcements) announcements.textContent = done ? "Copied" : "Could not copy";
  if (done) { const was = button.textContent; button.textContent = "copied"; setTimeout(() => { button.textContent = was; }, 1200); }
});

// The navigation may be wider than a small screen.
document.querySelector("nav a[aria-current=page]")?.scrollIntoView({ block: "nearest", inline: "nearest" });

const now = document.body.dataset.now;
if (now) ahead = Date.parse(now) - Date.now();
showTimes();
setInterval(showTimes, 1000);
if (!document.hidden) listen();

// Logs are shown from their end.
each("[data-tail]", document, (place) => { place.scrollTop = place.scrollHeight; });
