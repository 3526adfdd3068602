// The pages of `chary review`: JSON from its server in; what a person sees and does out.
//
// Whatever a table holds goes into the page as text (textContent and text nodes), never as markup. Nothing is asked of
// any other server. The shells and most of the words are in templates/; this module fills them, but for the pages that
// the server fills itself. In order: elements and words, the server, what all pages share, then a function for each page.

// ---- Elements and words ----------------------------------------------------------------------------------------------

const $ = (id) => document.getElementById(id);
const INVISIBLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;
const LONGEST = 2000; // characters of a cell shown before it is asked for

/** An element with attributes and children; strings become text. */
const make = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);

function fill(element, attributes = {}, children = []) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

/** The same in a picture. */
const svg = (tag, attributes, ...children) => fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

function button(words, kind, act) {
  const made = make("button", { type: "button", class: kind }, words);
  made.addEventListener("click", act);
  return made;
}

/** Text of a table with nothing invisible in it: a character that would turn or hide others is spelled out. */
function seen(text, limit = Infinity) {
  const whole = String(text).replaceAll("\r\n", "\n");
  const short = whole.length > limit ? `${whole.slice(0, limit)}…` : whole;
  return short.replace(INVISIBLE, (c) => `\\u${c.codePointAt(0).toString(16).padStart(4, "0")}`);
}

const count = (n) => n.toLocaleString("en");
const many = (n, one, more = `${one}s`) => `${count(n)} ${n === 1 ? one : more}`;
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** A share in percent, a half rounded up, with a digit more where it is small: as `percent` of _words.py has it. */
function percent(share) {
  const small = share > 0 && share < 0.1;
  const tenths = Math.floor((small ? 1000 : 100) * share + 0.5 + 1e-9);
  return small && tenths < 100 ? `${(tenths / 10).toFixed(1)}%` : `${small ? 10 : tenths}%`;
}

const show = (element, visible = true) => { element.hidden = !visible; };

/** A sentence in place, or none. */
function say(element, words = "") {
  element.textContent = words;
  if (element.classList.contains("error")) show(element, Boolean(words));
}

/** Buttons by their names, and what a click on each does. */
function onClicks(actions) {
  for (const [id, act] of Object.entries(actions)) $(id).addEventListener("click", act);
}

function list(element, sentences) {
  element.replaceChildren(...sentences.map((words) => make("li", {}, seen(words))));
  show(element, sentences.length > 0);
}

// ---- The server ------------------------------------------------------------------------------------------------------

class Refused extends Error {
  constructor(status, body) {
    super(body.error ?? `The server answered with ${status} and no reason.`);
    this.status = status;
    this.now = body.now;
  }
}

const SLOW = 300; // milliseconds

/** A key meant for the row before must not answer the one that a slow answer brings. */
function pauseKeys() {
  $("content").setAttribute("aria-busy", "true");
  setTimeout(() => $("content").removeAttribute("aria-busy"), SLOW);
}

/** What the server answers to a question, or to a body that it is sent. */
async function ask(path, body) {
  const options = { credentials: "same-origin", cache: "no-store" };
  if (body !== undefined) {
    Object.assign(options, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  }
  let answer;
  const asked = performance.now();
  try {
    answer = await fetch(path, options);
    if (body && performance.now() - asked > SLOW) pauseKeys();
  } catch {
    const error = "chary does not answer. Is it still running in the terminal? Your last change may not be saved.";
    throw new Refused(0, { error });
  }
  const found = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(answer.status, found);
  return found;
}

/** Do something; what the server refuses is said in `place`, or told to it if that is a function. */
async function attempt(act, place) {
  if (typeof place !== "function") say(place);
  try {
    return await act();
  } catch (refused) {
    if (!(refused instanceof Refused)) throw refused;
    return typeof place === "function" ? place(refused) : say(place, seen(refused.message));
  }
}

/** The address with those of the parameters that say something. */
function address(path, parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value !== "" && value != null && value !== false);
  return given.length ? `${path}?${new URLSearchParams(given)}` : path;
}

/** One thing at a time: what is asked for while another is under way is left undone, and that is said. */
function oneAtATime(action) {
  let busy = false;
  let missed = false;
  return async (...values) => {
    missed = busy;
    if (busy) return;
    busy = true;
    try {
      await action(...values);
    } finally {
      busy = false;
      if (missed) tooSoon();
    }
  };
}

function tooSoon() {
  if ($("saved")) say($("saved"), "Your last key came too soon and was not used. Press it again.");
}

/** A bar that fills a share of its track. */
function bar(share, kind = "") {
  const width = `${(100 * Math.min(1, Math.max(0, share))).toFixed(1)}%`;
  return svg("svg", { "aria-hidden": "true" },
    svg("rect", { class: "track", width: "100%", height: "100%", rx: 3 }),
    svg("rect", { class: `share-bar ${kind}`, width, height: "100%", rx: 3 }));
}

// ---- What all pages share: the state, notices, keys ----------------------------------------------------------------------

const frame = { state: null, seen: new Set(), onState: () => {}, keys: () => false };

/** Ask for the state now and then; `onState(state, before)` of the page hears of it. */
async function watch() {
  clearTimeout(watch.timer);
  let pause = 5000;
  try {
    const state = await ask("/api/state");
    show($("trouble"), false);
    const before = frame.state;
    frame.state = state;
    showState(state);
    await frame.onState(state, before);
    if (state.work.running) pause = 1000;
  } catch (refused) {
    if (!(refused instanceof Refused)) throw refused;
    say($("trouble"), refused.message);
    show($("trouble"));
    pause = 2000;
  }
  clearTimeout(watch.timer);
  watch.timer = setTimeout(watch, document.hidden ? 3 * pause : pause);
}

function showState({ kind, work, next, notices, stale }) {
  if (kind !== document.body.dataset.kind) return location.assign("/"); // somebody chose another column
  const line = $("work");
  const words = work.error ? seen(work.error) : work.running ? capital(work.step) : "";
  if (line.dataset.words !== words) {
    line.dataset.words = words; // a screen reader hears the step, not every second of it
    line.replaceChildren(words, make("span", { "aria-hidden": "true", class: "seconds" }), make("progress", { max: 1, "aria-hidden": "true" }));
  }
  line.classList.toggle("running", work.running);
  line.classList.toggle("error", Boolean(work.error));
  if (line.lastChild) {
    const [, left, bar] = line.childNodes;
    left.textContent = work.running ? `: ${work.left}. You can go on meanwhile. ` : "";
    bar.value = work.share;
    show(bar, work.running);
  }
  show(line, Boolean(words));
  for (const place of document.querySelectorAll(".waiting")) { // where there is nothing else to see yet
    place.replaceChildren(`${words}: ${work.left} `, make("progress", { max: 1, value: work.share }));
    show(place, work.running);
  }
  for (const link of document.querySelectorAll(".steps a")) show(link.querySelector(".next"), next.page === link.getAttribute("href"));
  show($("stale"), stale && !work.running && document.body.dataset.page !== "audit");
  for (const notice of notices) notify(notice);
}

async function learn() {
  show($("stale"), false);
  await attempt(() => ask("/api/learn", {}), ({ message }) => notify(message));
  watch();
}

/** A sentence at the top of the page, until it is closed. */
function notify(words) {
  if (frame.seen.has(words)) return;
  frame.seen.add(words);
  const line = make("p", {}, make("span", {}, seen(words)), button("Close", "quiet", () => {
    frame.seen.delete(words);
    line.remove();
  }));
  $("notices").append(line);
}

function listenToKeys() {
  const help = $("help");
  const on = $("keys-on");
  on.checked = localStorage.getItem("chary-keys") !== "off";
  on.addEventListener("change", () => localStorage.setItem("chary-keys", on.checked ? "on" : "off"));
  $("help-button").addEventListener("click", () => help.showModal());
  document.addEventListener("keydown", (event) => {
    // A key held down answers once, not thirty times.
    if (event.defaultPrevented || event.repeat || event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    const inPlace = event.target.closest?.("input, select, textarea, [contenteditable]");
    const pressable = event.target.closest?.("a, button, summary");
    if (inPlace || (pressable && ["Enter", " "].includes(event.key)) || (!on.checked && event.key.length === 1)) return;
    if (event.key === "?") help.showModal();
    else if ($("content").hasAttribute("aria-busy")) return tooSoon();
    else if (frame.keys(event)) event.preventDefault();
    else if (event.key === "Enter") nextStep()?.click();
    else return;
    event.preventDefault();
  });
}

const nextStep = () => [...document.querySelectorAll("[data-next]")].find((one) => one.checkVisibility() && !one.disabled);

// ---- One row, laid out for reading, and the answers to it: the pages audit and review ------------------------------------

function showFields(row, askForAll) {
  $("fields").replaceChildren(...row.fields.map(fieldOf));
  const more = $("more-fields");
  more.textContent = `Show the other ${many(row.more, "column")}`;
  more.onclick = askForAll;
  show(more, row.more > 0);
}

function fieldOf({ name, text }) {
  const empty = !text.trim();
  const value = make("dd", { dir: "auto" }, empty ? "empty" : seen(text, LONGEST));
  if (text.length > LONGEST) {
    value.append(" ", button("Show the rest", "quiet", () => {
      value.textContent = seen(text);
      value.classList.add("whole");
      value.tabIndex = 0;
      value.focus();
    }));
  }
  const shape = empty ? "empty" : text.length > 80 || text.includes("\n") ? "long" : "text";
  return make("div", { class: shape }, make("dt", { dir: "auto" }, seen(name, 200)), value);
}

/** Buttons and keys of the classes, and the box for a name; `give(name)` gets what was chosen. */
class Answers {
  constructor(give) {
    this.give = give;
    this.keys = [];
    this.adding = false;
    $("typed").addEventListener("submit", (event) => {
      event.preventDefault();
      this.typed($("typed-name").value.trim());
    });
    $("typed-name").addEventListener("keydown", (event) => event.key === "Escape" && this.back());
    onClicks({ "typed-back": () => this.back(), another: () => this.open(true) });
    $("class-buttons").addEventListener("keydown", moveAlong);
  }

  get byName() {
    return this.keys.some(({ key }) => !key);
  }

  show(keys) {
    if (JSON.stringify(keys) !== JSON.stringify(this.keys)) {
      this.keys = keys;
      this.buttons = new Map(keys.filter(({ key }) => key).map((one) => [one.key, this.button(one)]));
      $("class-buttons").replaceChildren(...(this.byName ? [] : this.buttons.values()));
      $("typed-list").replaceChildren(...keys.slice(0, 2000).map(({ name }) => make("option", { value: name })));
    }
    for (const button of this.buttons.values()) button.classList.remove("chosen");
    say($("answer-error"));
    this.back(false);
    show($("answers"));
  }

  button({ key, name }) {
    const made = button(make("kbd", {}, key), "", () => this.give(name));
    made.append(make("span", { dir: "auto" }, seen(name, 80)));
    made.dataset.name = name;
    return made;
  }

  /** Whether a key stood for a class. */
  press(key) {
    const button = this.byName ? null : this.buttons?.get(key.toLowerCase());
    if (!button) return false;
    button.classList.add("chosen");
    this.give(button.dataset.name);
    return true;
  }

  open(adding) {
    this.adding = adding;
    $("typed-label").textContent = adding ? "A class that is not in the list" : "Class";
    show($("typed-back"), adding);
    show($("typed"));
    $("typed-name").focus();
  }

  back(focus = true) {
    $("typed-name").value = "";
    this.adding = false;
    $("typed-label").textContent = "Class";
    show($("typed"), this.byName);
    show($("typed-back"), false);
    if (focus && !this.byName) $("another").focus();
  }

  typed(text) {
    const names = this.keys.map(({ name }) => name);
    const same = names.filter((name) => name.toLowerCase() === text.toLowerCase());
    if (!text) say($("answer-error"), "Type the name of a class.");
    else if (names.includes(text)) this.give(text);
    else if (same.length === 1) this.give(same[0]);
    else if (same.length > 1) say($("answer-error"), `“${seen(text, 60)}” is more than one class in the list: mind capitals.`);
    else if (this.adding) this.give(text);
    else say($("answer-error"), `“${seen(text, 60)}” is no class in the list. If it should be one, choose “Another class”.`);
  }

  /** What became of an answer that was not saved; `use(now)` shows the row as it is. */
  refuse(refused, use) {
    if (refused.status === 409 && refused.now) return showConflict(refused, use);
    for (const button of this.buttons?.values() ?? []) button.classList.remove("chosen");
    say($("answer-error"), seen(refused.message));
  }
}

/** Arrow keys go from class to class. */
function moveAlong(event) {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  const buttons = [...event.currentTarget.children];
  const place = buttons.indexOf(document.activeElement);
  if (!step || place < 0) return;
  buttons[(place + step + buttons.length) % buttons.length].focus();
  event.preventDefault();
}

/** The first arrow brings the focus to the classes. */
function toTheClasses(event) {
  const first = $("class-buttons").firstElementChild;
  if (!event.key.startsWith("Arrow") || event.key === "ArrowUp" || event.key === "ArrowDown" || !first) return false;
  first.focus();
  return true;
}

/** What somebody else did to the same row meanwhile; `use(now)` shows the row as it is. */
function showConflict(refused, use) {
  const place = $("conflict");
  const [button] = place.getElementsByTagName("button");
  place.querySelector("p").textContent = `${seen(refused.message)} Your answer was not saved, theirs was kept.`;
  button.onclick = () => {
    show(place, false);
    use(refused.now);
  };
  show(place);
  show($("answers"), false);
  button.focus();
}

function toTheTop() {
  if ($("content").getBoundingClientRect().top < 0) $("content").scrollIntoView({ block: "start" });
}

// ---- Drawing random rows: on the pages start and audit -------------------------------------------------------------------

/** The form that draws rows; a sheet that is there is made larger. */
function drawForm({ planned, audit }) {
  const form = $("draw");
  const rows = $("draw-k");
  const [fieldset] = form.getElementsByTagName("fieldset");
  rows.max = planned.most;
  rows.min = audit ? audit.drawn + 1 : 1;
  if (document.activeElement !== rows) rows.value = audit ? Math.min(planned.most, audit.drawn + 20) : planned.k;
  say($("draw-words"), `Out of ${many(planned.most, "row")}.`);
  const sizes = $("draw-sizes");
  show(sizes, planned.sizes.length);
  sizes.querySelector("tbody").replaceChildren(...planned.sizes.map((one) => make("tr", {}, ...[one.rows, one.time, one.interval].map((text) => make("td", {}, String(text))))));
  say($("draw-button"), audit ? "Draw more rows" : "Draw rows at random");
  show(fieldset, !audit);
  form.onsubmit = oneAtATime(async (event) => {
    event.preventDefault();
    const rule = audit?.rule ?? new FormData(form).get("rule");
    await attempt(async () => {
      await ask("/api/audit/draw", { k: Number(rows.value), rule });
      location.assign("/audit");
    }, form.querySelector(".error"));
  });
  show(form);
}

// ---- Start -----------------------------------------------------------------------------------------------------------

const CLASSES_AT_ONCE = 12;
const COLUMNS_AT_ONCE = 60;

async function startPage() {
  const page = { data: null, classes: CLASSES_AT_ONCE, columns: COLUMNS_AT_ONCE };

  const judged = () => document.body.dataset.kind === "judge";

  const render = (data) => {
    page.data = data;
    const { rows, labelled, settings } = data;
    say($("read"), judged() ? `${many(rows, "row")}, ${count(labelled)} of them with a label to be judged.` : `${many(rows, "row")}, ${count(labelled)} of them with a label. The other ${count(rows - labelled)} are to get one.`);
    showClasses();
    list($("notes"), data.notes);
    showColumns();
    if (!judged()) {
      showDiagnosis(data.diagnosis);
      for (const radio of $("aim-form").elements.aim) radio.checked = radio.value === settings.aim;
      if (!$("prior-form").contains(document.activeElement)) showShares(data.classes, settings.class_prior);
    }
    showNext(frame.state);
  };

  const showNext = (state) => {
    if (!state || !page.data) return;
    const { audit, next } = state;
    if (audit) {
      say($("next-title"), "Next");
      say($("go-on-words"), `${count(audit.answered)} of ${many(audit.drawn, "random row")} ${audit.answered === 1 ? "has" : "have"} your label${audit.skipped ? `, ${count(audit.skipped)} skipped` : ""}.`);
      $("go-on-link").setAttribute("href", next.page);
      $("go-on-link").replaceChildren(`${seen(next.words)} `, make("kbd", {}, "Enter"));
      show($("go-on"));
      show($("draw"), false);
    } else {
      show($("go-on"), false);
      if ($("draw").hidden) drawForm({ planned: page.data.planned, audit: null });
    }
  };

  const showClasses = () => {
    const { values, fixed } = page.data;
    showValues($("classes"), values.slice(0, page.classes), !fixed && (() => save(chosenValues(values), null, $("classes-error"), "/api/labels")));
    more($("more-classes"), values.length - page.classes, "value", "values", () => {
      page.classes += 100;
      showClasses();
    });
    if ($("ticks-words")) show($("ticks-words"), !fixed);
    show($("other-column"), !fixed || (judged() && !frame.state?.audit));
  };

  const showColumns = () => {
    const { columns } = page.data;
    if ($("columns").contains(document.activeElement) && page.shownOnce) return; // not under the hand of who is choosing
    page.shownOnce = true;
    const wanted = $("find-column").value.toLowerCase();
    const matching = columns.filter(({ name }) => name.toLowerCase().includes(wanted));
    const used = columns.filter((column) => column.used).length;
    const left = columns.length - used;
    if (!judged()) say($("columns-words"), `${count(used)} of ${many(columns.length, "column")} ${used === 1 ? "is" : "are"} used${left ? `, ${count(left)} left out` : ""}. Is a kind wrong? Change it here.`);
    show($("find-column-field"), columns.length > 20);
    $("columns").tBodies[0].replaceChildren(...matching.slice(0, page.columns).map(columnRow));
    more($("more-columns"), matching.length - page.columns, "column", "columns", () => {
      page.columns += 200;
      showColumns();
    });
  };

  const columnRow = (column) => {
    const { name, kind, used, note, doubtful, examples, choices, chosen } = column;
    const cells = make("td", {}, ...examples.filter((text) => text !== "").map((text) => make("span", { class: "example", dir: "auto" }, seen(text, 80))));
    const head = make("th", { scope: "row", dir: "auto" }, seen(name, 120));
    if (judged()) return make("tr", {}, head, cells);
    const same = { numeric: "number", categorical: "category", words: "text" }[kind] ?? kind;
    const own = make("option", { value: "" }, chosen ? "as chary sees it" : same || "being looked at");
    const others = choices.filter((choice) => chosen || choice !== same).map((choice) => make("option", { value: choice, selected: choice === chosen }, choice));
    const select = make("select", { "aria-label": `Kind of ${seen(name, 80)}`, }, own, ...others);
    select.addEventListener("change", () => choose(name, select.value || null, select));
    return make("tr", { class: used ? null : "soft" }, head, make("td", {}, select), cells,
      make("td", { class: doubtful ? "doubtful" : null }, used ? "" : "left out: ", doubtful ? "please check: " : "", seen(note, 300)));
  };

  const save = (settings, said, error, path = "/api/settings") => attempt(async () => {
    say(error);
    render(await ask(path, settings));
    if (said) say(said, "Saved. The model learns again with it.");
    watch();
  }, async (refused) => {
    if (path === "/api/labels") render(await ask("/api/start"));
    say(error, seen(refused.message));
  });

  const choose = (name, kind, select) => {
    select.blur();
    return save({ kinds: { [name]: kind } }, null, $("columns-error"));
  };

  const shares = () => Object.fromEntries([...$("share-fields").querySelectorAll("input")].map((input) => [input.dataset.name, Number(input.value) / 100]));
  const sum = () => Object.values(shares()).reduce((total, share) => total + share, 0);

  const showShares = (classes, prior) => {
    for (const radio of $("prior-form").elements.known) radio.checked = (radio.value === "yes") === Boolean(prior);
    $("share-fields").replaceChildren(...classes.map((name, i) => {
      const value = prior ? Number((100 * (prior[name] ?? 0)).toFixed(4)) : "";
      const input = make("input", { type: "number", id: `share-${i}`, min: 0, max: 100, step: "any", value, required: true, "data-name": name });
      return make("div", { class: "field" }, make("label", { for: `share-${i}`, dir: "auto" }, `${seen(name, 60)} (%)`), input);
    }));
    showSum();
    show($("shares"), Boolean(prior));
  };

  const showSum = () => say($("share-sum"), `Together ${Number((100 * sum()).toFixed(2))}%; they must make 100%.`);

  const showDiagnosis = (diagnosis) => {
    show($("bias-wait"), !diagnosis);
    show($("verdict"), Boolean(diagnosis));
    if (!diagnosis) return;
    $("verdict").className = `verdict ${diagnosis.level}`;
    $("verdict").querySelector("b").textContent = capital(diagnosis.verdict);
    $("verdict").querySelector("p").textContent = seen(diagnosis.sentence);
    const { contrasts } = diagnosis;
    show($("contrasts"), contrasts.length > 0);
    $("contrasts").querySelector("tbody").replaceChildren(...contrasts.map(({ feature, labeled, unlabeled }) =>
      make("tr", {}, make("th", { scope: "row", dir: "auto" }, seen(feature, 80)), make("td", { class: "n" }, seen(labeled, 40)), make("td", { class: "n" }, seen(unlabeled, 40)))));
  };

  onClicks({ "other-column": () => attempt(async () => {
    await ask("/api/labels", { target: null, unlabeled: [], classes: [] });
    location.reload();
  }, $("classes-error")) });
  $("find-column").addEventListener("input", () => {
    page.columns = COLUMNS_AT_ONCE;
    showColumns();
  });
  if ($("aim-form")) {
    const [aim, prior] = [$("aim-form"), $("prior-form")];
    aim.addEventListener("change", () => save({ aim: new FormData(aim).get("aim") }, aim.querySelector(".said"), prior.querySelector(".error")));
    prior.addEventListener("change", (event) => {
      if (event.target.name !== "known") return;
      const known = event.target.value === "yes";
      show($("shares"), known);
      if (known) $("share-0")?.focus();
      else if (page.data.settings.class_prior) save({ class_prior: null }, prior.querySelector(".said"), prior.querySelector(".error"));
    });
    prior.addEventListener("input", showSum);
    prior.addEventListener("submit", (event) => {
      event.preventDefault();
      save({ class_prior: shares() }, prior.querySelector(".said"), prior.querySelector(".error"));
    });
  }
  frame.onState = async (state, before) => {
    if (before && (before.version !== state.version || before.work.running !== state.work.running)) render(await ask("/api/start"));
    showNext(state);
  };
  render(await ask("/api/start"));
}

function more(button, n, one, others, act) {
  button.textContent = `Show more (${many(n, one, others)} left)`;
  button.onclick = act;
  show(button, n > 0);
}

/** The values of a column that holds labels; with `onTick` each has a tick that says whether it is one. */
function showValues(place, values, onTick) {
  const most = Math.max(1, ...values.map(({ rows }) => rows));
  place.replaceChildren(...values.map((value) => {
    const { name, rows, is_label: isLabel, is_doubtful: doubtful } = value;
    const tick = onTick ? make("input", { type: "checkbox", checked: isLabel }) : null;
    const words = make("span", { dir: "auto" }, seen(name, 80));
    tick?.addEventListener("change", () => {
      value.is_label = tick.checked;
      onTick();
    });
    const named = tick ? make("label", { class: "choice" }, tick, words) : words;
    return make("li", { class: isLabel ? null : "soft" }, named, bar(isLabel ? rows / most : 0, "second"), make("span", { class: "n" }, many(rows, "row")), doubtful && onTick ? make("span", { class: "also doubtful" }, "This looks like a missing answer.") : null);
  }));
}

/** What the ticks say, as the server is told it. */
const chosenValues = (values) => ({
  unlabeled: values.filter((one) => !one.is_label).map(({ name }) => name),
  classes: values.filter((one) => one.is_label && one.is_doubtful).map(({ name }) => name),
});

// ---- Which column holds the labels, where the command did not say ---------------------------------------------------------

const TARGETS_AT_ONCE = 8;

async function choosePage() {
  const form = $("choose");
  let now = null;
  let shown = TARGETS_AT_ONCE;

  const render = (data) => {
    now = data;
    const { rows, columns, target, values, more: others } = data;
    say($("read"), `${many(rows, "row")}, ${many(columns.length, "column")}.`);
    list($("notes"), data.notes);
    const place = columns.findIndex(({ name }) => name === target);
    shown = Math.max(shown, place + 1);
    $("targets").replaceChildren(...columns.slice(0, shown).map(columnChoice));
    more($("more-targets"), columns.length - shown, "column", "columns", () => {
      shown += 50;
      render(now);
    });
    show($("values-part"), Boolean(target));
    showValues($("values"), values, showTask);
    say($("values-words"), others ? `It has ${many(others, "more value")} than can be classes. Choose a column whose values repeat.` : "");
    form.elements.task.value = data.task;
    showTask();
  };

  const columnChoice = ({ name, values, empty, examples }) => {
    const radio = make("input", { type: "radio", name: "target", value: name, checked: name === now.target });
    const about = `${many(values, "value")}${empty ? `, ${percent(empty)} empty` : ", no empty cell"}: ${examples.join(", ")}`;
    return make("label", { class: "choice" }, radio, make("span", { dir: "auto" }, make("b", {}, seen(name, 120)), " ", make("span", { class: "soft" }, seen(about, 120))));
  };

  const showTask = () => {
    const labelled = now.values.reduce((n, { rows, is_label: isLabel }) => n + (isLabel ? rows : 0), 0);
    const open = now.rows - labelled;
    say($("to-label"), open ? `Label the ${many(open, "row")} that have no label` : "Label rows: none is without a label");
    say($("to-judge"), `Find out how good the ${many(labelled, "label")} are that the column holds`);
    form.elements.task[0].disabled = open === 0;
    if (!open) form.elements.task.value = "judge";
  };

  form.addEventListener("change", async (event) => {
    if (event.target.name === "task") now.task = event.target.value;
    if (event.target.name !== "target") return;
    const { task } = now;
    await attempt(async () => render({ ...(await ask(address("/api/start", { target: event.target.value }))), task }), $("choose-error"));
  });
  form.addEventListener("submit", oneAtATime(async (event) => {
    event.preventDefault();
    await attempt(async () => {
      const { target, task } = Object.fromEntries(new FormData(form));
      await ask("/api/labels", { target, task, ...chosenValues(now.values) });
      location.reload();
    }, $("choose-error"));
  }));
  render(await ask("/api/start"));
}

// ---- Audit -----------------------------------------------------------------------------------------------------------

async function auditPage() {
  let now = null;

  const render = (data, focus = false) => {
    now = data;
    const { drawn, answered, skipped, left, row, done } = data;
    show($("draw-section"), drawn === 0);
    show($("progress"), drawn > 0);
    $("bar").max = Math.max(1, drawn);
    $("bar").value = drawn - left;
    const place = row ? `Row ${count(row.place)} of ${count(drawn)}: ` : "";
    say($("progress-words"), `${place}${count(answered)} labelled, ${count(skipped)} skipped, ${count(left)} left`);
    showInterval(data.interval);
    show($("row"), Boolean(row));
    show($("question"), Boolean(row));
    show($("all-done"), done && !row);
    show($("answers"), Boolean(row));
    $("undo").disabled = !data.last;
    show($("undo-last"), Boolean(data.last));
    if (row) {
      showFields(row, async () => render(await ask(address("/api/audit", { place: row.place, all: "true" }))));
      answers.show(data.keys);
      toTheTop();
      if (focus) focusRow();
    } else {
      say($("all-done-words"), `${count(answered)} labelled, ${count(skipped)} skipped${skipped ? ": a skipped row counts as wrong" : ""}.`);
      showDrawing(drawn);
    }
  };

  const focusRow = () => {
    if (answers.byName) $("typed-name").focus({ preventScroll: true });
    else $("content").focus({ preventScroll: true });
  };

  const showDrawing = async (drawn) => {
    const { planned } = await ask("/api/start");
    const audit = drawn ? { drawn, rule: now.rule } : null;
    if (!audit) $("draw-here").append($("draw"));
    show($("more-rows"), drawn < planned.most);
    drawForm({ planned, audit });
  };

  const showInterval = (found) => {
    const place = $("interval");
    show(place, Boolean(found));
    if (!found) return place.replaceChildren();
    place.replaceChildren(make("p", {}, found.enough ? make("b", {}, "Enough rows. ") : "", seen(found.words)));
  };

  const send = oneAtATime((place, answer, expected, words, row) => attempt(async () => {
    const next = await ask("/api/audit", { place, answer, expected, row });
    render(next, $("typed").contains(document.activeElement));
    say($("saved"), words);
  }, (refused) => answers.refuse(refused, (data) => render(data, true))));
  const give = (name) => now?.row && send(now.row.place, name, now.row.answer, `Row ${count(now.row.place)}: ${name === "?" ? "skipped" : `“${seen(name, 60)}”`}, saved.`, now.row.row);
  const skip = () => give("?");
  const undo = () => now?.last && send(now.last.place, "", now.last.answer, `The answer to row ${count(now.last.place)} is taken back.`);

  const answers = new Answers(give);
  onClicks({ skip, undo, "undo-last": undo });
  frame.keys = (event) => {
    if (!$("conflict").hidden) return false;
    if (event.key === "u") return Boolean(undo()) || true;
    if (!now?.row) return false;
    if (event.key === "s") skip();
    else if (event.key === "n") answers.open(true);
    else return answers.press(event.key) || toTheClasses(event);
    return true;
  };
  render(await ask("/api/audit"));
  if (answers.byName && now.row) $("typed-name").focus({ preventScroll: true });
}

// ---- Review: doubtful labels -----------------------------------------------------------------------------------------

async function reviewPage() {
  let now = null;
  let label = ""; // of the rows that are wanted; empty: of all
  const given = []; // what was answered here, to be taken back in turn

  const render = (data) => {
    now = data;
    const { row, left, checked } = data;
    fillSelect($("label"), data.labels);
    say($("doubt-words"), `${many(left, "row")} left, most doubtful first; ${count(checked)} checked.`);
    show($("doubt"), Boolean(row));
    show($("answers"), Boolean(row));
    show($("empty"), !row);
    $("undo").disabled = given.length === 0;
    const learned = frame.state?.learned;
    say($("empty-title"), learned ? "No more rows" : "The model is still learning");
    show($("empty-next"), learned);
    if (!row) return say($("empty-words"), label ? "No row is left with that label." : learned ? "You have checked all of them." : "The rows are shown here as soon as they have labels.");
    say($("row-title"), `Row ${count(row.number)} of the table`);
    showFields(row, async () => render(await ask(address("/api/doubt", { row: row.number, all: "true" }))));
    showProposal(data);
    answers.show(data.keys);
    toTheTop();
  };

  const showProposal = (data) => {
    const { proposed, confidence, runner_up: second, source, why, row } = data;
    say($("proposed"), seen(proposed, 80));
    say($("proposed-words"), `${seen(source)}, confidence ${percent(confidence)}${second ? `; second choice: “${seen(second, 60)}”` : ""}`);
    say($("answer-now"), row.answer ? `You said “${seen(row.answer, 60)}”.` : "");
    show($("answer-now"), Boolean(row.answer));
    $("confirm-label").replaceChildren(make("span", {}, "Confirm “", make("bdi", {}, seen(proposed, 60)), "”"), make("kbd", {}, "Enter"));
    show($("why-part"), why.length > 0);
    $("why").replaceChildren(...why.map(({ shown, effect }) =>
      make("li", {}, make("span", { dir: "auto" }, seen(shown, 120)), effectOf(effect))));
  };

  const effectOf = (effect) => make("span", { class: effect >= 0 ? "for" : "against" }, effect >= 0 ? "for it " : "against it ", "●".repeat(Math.min(3, Math.max(1, Math.ceil(Math.abs(effect))))));

  const refuse = (refused) => answers.refuse(refused, render);
  const move = (parameters) => attempt(async () => render(await ask(address("/api/doubt", { label, ...parameters }))), refuse);

  const send = oneAtATime((row, answer, expected) => attempt(async () => {
    const next = await ask("/api/doubt", { row, answer, expected });
    given.push({ row, answer });
    if (label) await move({ after: row });
    else render(next);
    say($("saved"), `Row ${count(row)}: “${seen(answer, 60)}”, saved.`);
    watch();
  }, refuse));

  const undo = oneAtATime(async () => {
    const last = given.pop();
    if (!last) return;
    await attempt(async () => {
      await ask("/api/doubt", { row: last.row, answer: "", expected: last.answer });
      await move({ row: last.row });
      say($("saved"), `The answer to row ${count(last.row)} is taken back.`);
    }, refuse);
  });

  const give = (name) => now?.row && send(now.row.number, name, now.row.answer);
  const skip = () => now?.row && move({ after: now.row.number });
  const answers = new Answers(give);
  onClicks({ "confirm-label": () => give(now.proposed), skip, undo });
  $("label").addEventListener("change", () => {
    label = $("label").value;
    move({});
  });
  frame.keys = (event) => {
    if (!$("conflict").hidden) return false;
    if (event.key === "u") return Boolean(undo());
    if (!now?.row) return false;
    if (event.key === "s") skip();
    else if (event.key === "n") answers.open(true);
    else if (!answers.press(event.key)) {
      if (event.key !== "a") return toTheClasses(event);
      give(now.proposed);
    }
    return true;
  };
  frame.onState = (state, before) => {
    const learned = before?.work.running && !state.work.running;
    return learned ? move(now?.row ? { row: now.row.number } : {}) : null;
  };
  render(await ask("/api/doubt"));
}

/** Options after the first, kept if they are the same. */
function fillSelect(select, names) {
  const values = [...select.options].slice(1).map((option) => option.value);
  if (JSON.stringify(values) === JSON.stringify(names)) return;
  const { value } = select;
  select.replaceChildren(select.options[0], ...names.map((name) => make("option", { value: name }, seen(name, 60))));
  select.value = names.includes(value) ? value : "";
}

// ---- Truth, Result: pages that the server fills ------------------------------------------------------------------------

/** Show the page as it is now, with what was said last. */
async function renew(said) {
  const { id } = document.activeElement;
  const page = new DOMParser().parseFromString(await (await fetch(location)).text(), "text/html");
  $("content").replaceChildren(...page.getElementById("content").childNodes);
  document.body.dataset.filled = page.body.dataset.filled;
  show($("loading"), false);
  if (id) $(id)?.focus();
  if ($("said")) say($("said"), said);
  if (frame.state) showState(frame.state);
}

/** Send what a button (`data-body`) or a form of numbers holds, and show what became of it. */
const post = oneAtATime((element, body) => attempt(async () => {
  await ask(element.dataset.post, body);
  frame.said = element.dataset.said;
  await renew(frame.said);
  watch();
}, (refused) => {
  say($("refused"), seen(refused.message));
  if ($("overwrite")) show($("overwrite"), refused.status === 409);
}));

document.addEventListener("click", ({ target }) => {
  const pressed = target.closest("button[data-post]");
  if (pressed) post(pressed, JSON.parse(pressed.dataset.body ?? "{}"));
});
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.dataset.post) return;
  event.preventDefault();
  post(form, Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, Number(value)])));
});
if (document.body.dataset.filled) {
  frame.onState = async ({ version, work }) => {
    const isNew = document.body.dataset.filled !== `${version} ${work.running}`;
    if (isNew && !document.activeElement.matches("main input")) await renew(frame.said); // not under somebody's hand
  };
}

// ---- And go ----------------------------------------------------------------------------------------------------------

const PAGES = { choose: choosePage, start: startPage, audit: auditPage, review: reviewPage };

listenToKeys();
onClicks({ learn });
try {
  await watch();
  await PAGES[document.body.dataset.page]?.();
  await frame.onState(frame.state, frame.state);
} catch (refused) {
  if (!(refused instanceof Refused)) throw refused;
  say($("trouble"), `${refused.message} Load this page again.`);
  show($("trouble"));
} finally {
  show($("loading"), false);
  $("content").removeAttribute("aria-busy");
}
