// The pages of `chary review`: JSON from its server in; what a person sees and does out.
//
// Whatever a table holds goes into the page as text (textContent and text nodes), never as markup. Nothing is asked of
// any other server. The shells and most of the words are in templates/; this module fills them, but for the pages that
// the server fills itself. In order: elements and words, the server, what all pages share, then a function for each page.

// ---- Elements and words ----------------------------------------------------------------------------------------------

const $ = (id) => document.getElementById(id);
// Characters that show nothing, or turn or hide others.
const INVISIBLE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

/** An element with attributes and children; strings become text. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

function button(words, kind, act) {
  const element = make("button", { type: "button", class: kind }, words);
  element.addEventListener("click", act);
  return element;
}

/** Text of a table with nothing invisible in it: a character that would turn or hide others is spelled out. */
function seen(text, limit = Infinity) {
  const whole = String(text).replaceAll("\r\n", "\n");
  const short = whole.length > limit ? `${whole.slice(0, limit)}…` : whole;
  return short.replace(INVISIBLE, (c) => `\\u${c.codePointAt(0).toString(16).padStart(4, "0")}`);
}

const count = (n) => n.toLocaleString("en");
const many = (n, one) => `${count(n)} ${one}${n === 1 ? "" : "s"}`;
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

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
    options.method = "POST";
    options.headers = { "Content-Type": "application/json" };
    options.body = JSON.stringify(body);
  }
  let response;
  const start = performance.now();
  try {
    response = await fetch(path, options);
    if (body && performance.now() - start > SLOW) pauseKeys();
  } catch {
    const error = "chary does not answer. Is it still running in the terminal? Your last change may not be saved.";
    throw new Refused(0, { error });
  }
  const content = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refused(response.status, content);
  return content;
}

/** Do something; a refusal of the server is shown in `place`, or passed to it if that is a function. */
async function attempt(act, place) {
  if (typeof place !== "function") say(place);
  try {
    return await act();
  } catch (refused) {
    if (!(refused instanceof Refused)) throw refused;
    return typeof place === "function" ? place(refused) : say(place, seen(refused.message));
  }
}

/** Do one thing at a time: what is asked for meanwhile is not done, and the page says so. */
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

// ---- What all pages share: the state, notices, keys ----------------------------------------------------------------------

const frame = { state: null, seen: new Set(), onState: () => {}, keys: () => false };

/** Ask for the state now and then, and pass it to `onState(state, before)` of the page. */
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
  let words = "";
  if (work.error) words = seen(work.error);
  else if (work.running) words = capital(work.step);
  const line = $("work");
  if (line.dataset.words !== words) {
    line.dataset.words = words; // a screen reader hears the step, not every second of it
    const left = make("span", { "aria-hidden": "true", class: "seconds" });
    const bar = make("progress", { max: 1, "aria-hidden": "true" });
    line.replaceChildren(words, left, bar);
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
  for (const link of document.querySelectorAll(".steps a")) {
    show(link.querySelector(".next"), next.page === link.getAttribute("href"));
  }
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
    if (event.defaultPrevented || event.repeat || help.open) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest?.("input, select, textarea, [contenteditable]")) return;
    const canBePressed = event.target.closest?.("a, button, summary");
    if (canBePressed && ["Enter", " "].includes(event.key)) return;
    if (!on.checked && event.key.length === 1) return;
    if (event.key === "?") help.showModal();
    else if ($("content").hasAttribute("aria-busy")) return tooSoon();
    else if (frame.keys(event)) event.preventDefault();
    else if (event.key === "Enter") nextStep()?.click();
    else return;
    event.preventDefault();
  });
}

function nextStep() {
  const steps = [...document.querySelectorAll("[data-next]")];
  return steps.find((step) => step.checkVisibility() && !step.disabled);
}

// ---- One row and the answers to it: the pages Audit and Review ---------------------------------------------------------

function turnOf({ speaker, text }) {
  const head = make("b", { dir: "auto" }, seen(speaker, 60));
  return make("div", { class: "turn" }, head, make("p", { dir: "auto" }, seen(text)));
}

function fieldOf({ name, text, turns }) {
  let shape = "text";
  if (!text.trim()) shape = "empty";
  else if (text.length > 80 || text.includes("\n")) shape = "long";
  const head = make("dt", { dir: "auto" }, seen(name, 200));
  const cell = make("dd", { dir: "auto" }, shape === "empty" ? "empty" : seen(text));
  if (turns.length) {
    shape = "long turns";
    cell.replaceChildren(...turns.map(turnOf));
  }
  return make("div", { class: shape }, head, cell);
}

const MOST_OPTIONS = 2000; // class names that the box for a name offers

/** Buttons and keys of the classes, and the box for a name; `give(name)` gets the chosen class. */
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
    $("conflict").querySelector("button").addEventListener("click", () => location.reload());
  }

  get byName() {
    return this.keys.some(({ key }) => !key);
  }

  show(keys) {
    if (JSON.stringify(keys) !== JSON.stringify(this.keys)) {
      this.keys = keys;
      this.buttons = new Map();
      for (const { key, name } of keys) {
        if (key) this.buttons.set(key, this.button(key, name));
      }
      $("class-buttons").replaceChildren(...(this.byName ? [] : this.buttons.values()));
      const options = keys.slice(0, MOST_OPTIONS).map(({ name }) => make("option", { value: name }));
      $("typed-list").replaceChildren(...options);
    }
    for (const button of this.buttons.values()) button.classList.remove("chosen");
    say($("answer-error"));
    const typing = $("typed").contains(document.activeElement);
    this.back(false);
    if (this.byName) $("typed-name").focus({ preventScroll: true });
    else if (typing) $("content").focus({ preventScroll: true });
  }

  button(key, name) {
    const element = button(make("kbd", {}, key), "", () => this.give(name));
    element.append(make("span", { dir: "auto" }, seen(name, 80)));
    element.dataset.name = name;
    return element;
  }

  /** Answer if a key stands for a class; return whether it does. */
  press(key) {
    const button = this.byName ? null : this.buttons.get(key.toLowerCase());
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

  /** Show why an answer was not saved. */
  refuse(refused) {
    for (const button of this.buttons?.values() ?? []) button.classList.remove("chosen");
    if (refused.status !== 409) return say($("answer-error"), seen(refused.message));
    const words = `${seen(refused.message)} Your answer was not saved, theirs was kept.`;
    $("conflict").querySelector("p").textContent = words;
    show($("conflict"));
    show($("answers"), false);
    $("conflict").querySelector("button").focus();
  }
}

/**
 * Show rows one by one and send the answers.
 *
 * path: of the server; render(data): shows what the page has around the row; number(row): how people call the row;
 * where(row): how the server knows it; skip(row): asks for the row after it, without an answer.
 */
async function rowPage(path, { render, number, where, skip }) {
  let current = null;
  const history = []; // answers given here, taken back in turn

  const showRow = (data) => {
    current = data;
    const { row, keys } = data;
    for (const name of ["row", "answers"]) show($(name), Boolean(row));
    $("undo").disabled = history.length === 0;
    render(data);
    if (!row) return;
    $("fields").replaceChildren(...row.fields.map(fieldOf));
    answers.show(keys);
    if ($("content").getBoundingClientRect().top < 0) $("content").scrollIntoView({ block: "start" });
  };
  const act = oneAtATime((action) => attempt(action, (refused) => answers.refuse(refused)));
  const send = async (row, answer) => {
    const next = await ask(path, { ...where(row), answer, expected: row.answer });
    history.push({ row, answer });
    showRow(next);
    const words = answer === "?" ? "skipped" : `“${seen(answer, 60)}”`;
    say($("saved"), `Row ${count(number(row))}: ${words}, saved.`);
    watch();
  };
  const takeBack = async () => {
    const { row, answer } = history.at(-1);
    const next = await ask(path, { ...where(row), answer: "", expected: answer });
    history.pop();
    showRow(next);
    say($("saved"), `The answer to row ${count(number(row))} is taken back.`);
  };

  const skipRow = async (row) => {
    if (skip) showRow(await skip(row));
    else await send(row, "?");
  };
  const give = (answer) => current?.row && act(() => send(current.row, answer));
  const pass = () => current?.row && act(() => skipRow(current.row));
  const undo = () => history.length && act(takeBack);
  const answers = new Answers(give);
  onClicks({ skip: pass, undo });
  frame.keys = (event) => {
    if (!$("conflict").hidden) return false;
    if (event.key === "u") return Boolean(undo());
    if (!current?.row) return false;
    if (event.key === "s") pass();
    else if (event.key === "n") answers.open(true);
    else return answers.press(event.key);
    return true;
  };
  showRow(await ask(path));
  return { give, undo, current: () => current, showRow };
}

// ---- Drawing random rows: on the pages Start and Audit -------------------------------------------------------------------

/** The form that draws rows; a sheet that is there is made larger. */
function drawForm(planned, audit) {
  const form = $("draw");
  const rows = $("draw-k");
  rows.max = planned.most;
  rows.min = audit ? audit.drawn + 1 : 1;
  const proposed = audit ? Math.min(planned.most, audit.drawn + 20) : planned.k;
  if (document.activeElement !== rows) rows.value = proposed;
  const limit = planned.most < planned.population ? `, ${count(planned.most)} at most` : "";
  say($("draw-words"), `Out of ${many(planned.population, "row")}${limit}.`);
  say($("draw-button"), audit ? "Draw more rows" : "Draw rows at random");
  show(form.querySelector("fieldset"), !audit);
  form.onsubmit = oneAtATime(async (event) => {
    event.preventDefault();
    await attempt(async () => {
      await ask("/api/audit/draw", { k: Number(rows.value), rule: new FormData(form).get("rule") });
      location.assign("/audit");
    }, form.querySelector(".error"));
  });
  show(form);
}

// ---- Start -----------------------------------------------------------------------------------------------------------

async function startPage() {
  const judged = document.body.dataset.kind === "judge";
  let current = null;

  const render = (data) => {
    current = data;
    const { rows, labelled, values, notes, columns, diagnosis } = data;
    const purpose = judged ? " to be judged." : `. The other ${count(rows - labelled)} are to get one.`;
    say($("read"), `${many(rows, "row")}, ${count(labelled)} of them with a label${purpose}`);
    showValues($("classes"), values);
    // Not while a person chooses: a list that is replaced closes.
    if (!$("slips").contains(document.activeElement)) showSlips(data);
    list($("notes"), notes);
    showHeaderRow(data);
    // Not while a person chooses a kind in the table.
    if (!$("columns").contains(document.activeElement)) {
      $("columns").tBodies[0].replaceChildren(...columns.map(columnRow));
    }
    if (!judged) {
      const used = columns.filter((column) => column.used).length;
      say($("columns-words"), `${count(used)} of ${many(columns.length, "column")} used. Is a kind wrong? Change it here.`);
      showDiagnosis(diagnosis);
    }
    showNext(frame.state);
  };

  const showNext = (state) => {
    if (!state || !current) return;
    const { audit, next } = state;
    show($("go-on"), Boolean(audit));
    if (!audit) {
      if ($("draw").hidden) drawForm(current.planned, null);
      return;
    }
    show($("draw"), false);
    say($("next-title"), "Next");
    const labelled = `${count(audit.answered)} of ${many(audit.drawn, "random row")} labelled`;
    say($("go-on-words"), `${labelled}, ${count(audit.skipped)} skipped.`);
    $("go-on-link").setAttribute("href", next.page);
    $("go-on-link").replaceChildren(`${seen(next.words)} `, make("kbd", {}, "Enter"));
  };

  const columnRow = ({ name, kind, used, note, doubtful, examples, readings, chosen }) => {
    const example = (text) => make("span", { class: "example", dir: "auto" }, seen(text, 80));
    const cells = make("td", {}, ...examples.filter((text) => text !== "").map(example));
    const head = make("th", { scope: "row", dir: "auto" }, seen(name, 120));
    if (judged) return make("tr", {}, head, cells);
    const present = { numeric: "number", categorical: "category" }[kind] ?? kind;
    const asSeen = make("option", { value: "" }, chosen ? "as chary sees it" : present || "being looked at");
    const option = (choice) => make("option", { value: choice, selected: choice === chosen }, choice);
    const choices = current.kinds.filter((choice) => chosen || choice !== present);
    const select = make("select", { "aria-label": `Kind of ${seen(name, 80)}` }, asSeen, ...choices.map(option));
    select.addEventListener("change", () => {
      select.blur();
      attempt(async () => {
        render(await ask("/api/kind", { column: name, kind: select.value || null }));
        watch();
      }, $("columns-error"));
    });
    const prefix = `${used ? "" : "left out: "}${doubtful ? "please check: " : ""}`;
    const ticks = readings.map((reading) => readingTick(name, reading));
    const remark = make("td", { class: doubtful ? "doubtful" : null }, `${prefix}${seen(note, 300)}`, ...ticks);
    return make("tr", { class: used ? null : "soft" }, head, make("td", {}, select), cells, remark);
  };

  // A tick for what the note asks about: a code that means "missing", or another order of dates.
  const readingTick = (column, { option, value, words, chosen }) => {
    const tick = make("input", { type: "checkbox", checked: chosen });
    tick.addEventListener("change", () => {
      tick.blur();
      attempt(async () => {
        render(await ask("/api/reading", { column, option, value, chosen: tick.checked }));
        watch();
      }, $("columns-error"));
    });
    return make("label", { class: "choice" }, tick, make("span", {}, seen(words, 80)));
  };

  const showSlips = ({ slips, values }) => {
    const classes = values.filter((value) => value.is_label).map(({ name }) => name);
    $("slips").replaceChildren(...slips.map(({ label, words, meant, chosen }) => {
      const others = [meant, ...classes.filter((name) => name !== label && name !== meant)];
      const option = (name) => make("option", { value: name, selected: name === chosen }, `the same as ${seen(name, 60)}`);
      const alone = make("option", { value: "" }, "a class of its own");
      const select = make("select", { "aria-label": `${seen(label, 80)} is` }, alone, ...others.map(option));
      select.addEventListener("change", () => {
        select.blur();
        attempt(async () => {
          render(await ask("/api/same", { label, meant: select.value || null }));
          watch();
        }, $("slips-error"));
      });
      return make("li", {}, make("span", { dir: "auto" }, seen(words, 300)), select);
    }));
    show($("slips"), slips.length > 0);
  };

  const showDiagnosis = (diagnosis) => {
    show($("bias-wait"), !diagnosis);
    show($("verdict"), Boolean(diagnosis));
    if (!diagnosis) return;
    $("verdict").className = `verdict ${diagnosis.tone}`;
    $("verdict").querySelector("b").textContent = capital(diagnosis.verdict);
    $("verdict").querySelector("p").textContent = seen(diagnosis.sentence);
  };

  frame.onState = async (state, before) => {
    const isNew = before?.version !== state.version || before.work.running !== state.work.running;
    if (before && isNew) render(await ask("/api/start"));
    showNext(state);
  };
  render(await ask("/api/start"));
}

/** If the column names are not in the first row, a choice of another row, after which the page is read again. */
function showHeaderRow({ header_row: row }) {
  show($("header"), row !== null);
  if (row === null || $("header").contains(document.activeElement)) return;
  const rows = Array.from({ length: Math.max(12, row) }, (_, place) => place + 1);
  $("header-row").replaceChildren(...rows.map((n) => make("option", { value: n, selected: n === row }, `row ${n}`)));
  $("header-row").onchange = () => attempt(async () => {
    await ask("/api/header", { row: Number($("header-row").value) });
    location.reload();
  }, $("header-error"));
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
    const bar = make("progress", { max: most, value: isLabel ? rows : 0, "aria-hidden": "true" });
    const size = make("span", { class: "n" }, many(rows, "row"));
    const line = make("li", { class: isLabel ? null : "soft" }, named, bar, size);
    if (doubtful && onTick) line.append(make("span", { class: "also doubtful" }, "This looks like a missing answer."));
    return line;
  }));
}

// ---- Which column holds the labels, where the command did not say ---------------------------------------------------------

async function choosePage() {
  const form = $("choose");
  let current = null;

  const render = (data) => {
    current = data;
    const { rows, columns, target, values, more } = data;
    say($("read"), `${many(rows, "row")}, ${many(columns.length, "column")}.`);
    list($("notes"), data.notes);
    showHeaderRow(data);
    $("targets").replaceChildren(...columns.map(columnChoice));
    show($("values-part"), Boolean(target));
    showValues($("values"), values, showTask);
    const tooMany = `It has ${many(more, "more value")} than can be classes. Choose a column whose values repeat.`;
    say($("values-words"), more ? tooMany : "");
    form.elements.task.value = data.task;
    showTask();
  };

  const columnChoice = ({ name, about }) => {
    const radio = make("input", { type: "radio", name: "target", value: name, checked: name === current.target });
    const bold = make("b", {}, seen(name, 120));
    const soft = make("span", { class: "soft" }, seen(about, 120));
    return make("label", { class: "choice" }, radio, make("span", { dir: "auto" }, bold, " ", soft));
  };

  const showTask = () => {
    let labelled = 0;
    for (const { rows, is_label: isLabel } of current.values) {
      if (isLabel) labelled += rows;
    }
    const open = current.rows - labelled;
    say($("to-label"), open ? `Label the ${many(open, "row")} that have no label` : "Label rows: none is without a label");
    say($("to-judge"), `Find out how good the ${many(labelled, "label")} are that the column holds`);
    form.elements.task[0].disabled = open === 0;
    if (!open) form.elements.task.value = "judge";
  };

  form.addEventListener("change", async (event) => {
    if (event.target.name === "task") current.task = event.target.value;
    if (event.target.name !== "target") return;
    const { task } = current;
    const query = new URLSearchParams({ target: event.target.value });
    await attempt(async () => {
      const data = await ask(`/api/start?${query}`);
      render({ ...data, task });
    }, $("choose-error"));
  });
  form.addEventListener("submit", oneAtATime(async (event) => {
    event.preventDefault();
    await attempt(async () => {
      const { target, task } = Object.fromEntries(new FormData(form));
      const names = (values) => values.map(({ name }) => name);
      const unlabeled = names(current.values.filter((value) => !value.is_label));
      const classes = names(current.values.filter((value) => value.is_label && value.is_doubtful));
      await ask("/api/labels", { target, task, unlabeled, classes });
      history.scrollRestoration = "manual"; // the next page begins at its top
      location.reload();
    }, $("choose-error"));
  }));
  render(await ask("/api/start"));
}

// ---- Audit -----------------------------------------------------------------------------------------------------------

async function auditPage() {
  const render = (data) => {
    const { drawn, answered, skipped, left, row, interval, planned } = data;
    const isDone = drawn > 0 && !row;
    show($("draw-section"), drawn === 0);
    show($("progress"), drawn > 0);
    $("bar").max = Math.max(1, drawn);
    $("bar").value = drawn - left;
    const place = row ? `Row ${count(row.place)} of ${count(drawn)}: ` : "";
    say($("progress-words"), `${place}${count(answered)} labelled, ${count(skipped)} skipped, ${count(left)} left`);
    show($("interval"), Boolean(interval));
    say($("interval"), seen(interval ?? ""));
    show($("question"), Boolean(row));
    show($("all-done"), isDone);
    if (!isDone) return;
    const hint = skipped ? ": a skipped row counts as wrong" : "";
    say($("all-done-words"), `${count(answered)} labelled, ${count(skipped)} skipped${hint}.`);
    $("undo-last").disabled = $("undo").disabled;
    show($("more-rows"), drawn < planned.most);
    drawForm(planned, data);
  };
  const { undo } = await rowPage("/api/audit", {
    render,
    number: (row) => row.place,
    where: ({ place, row }) => ({ place, row }),
  });
  onClicks({ "undo-last": undo });
}

// ---- Review: doubtful labels -----------------------------------------------------------------------------------------

async function reviewPage() {
  const render = (data) => {
    const { row, left, checked } = data;
    say($("doubt-words"), `${many(left, "row")} left, most doubtful first; ${count(checked)} checked.`);
    show($("empty"), !row);
    if (row) return showProposal(data);
    const learned = Boolean(frame.state?.learned);
    say($("empty-title"), learned ? "No more rows" : "The model is still learning");
    say($("empty-words"), learned ? "You have checked all of them." : "The rows are shown here as soon as they have labels.");
    show($("empty-next"), learned);
  };

  const showProposal = ({ proposed, confidence, source, why, row }) => {
    say($("row-title"), `Row ${count(row.number)} of the table`);
    say($("proposed"), seen(proposed, 80));
    say($("proposed-words"), `${seen(source)}, confidence ${confidence}`);
    say($("answer-now"), row.answer ? `You said “${seen(row.answer, 60)}”.` : "");
    const words = make("span", {}, "Confirm “", make("bdi", {}, seen(proposed, 60)), "”");
    $("confirm-label").replaceChildren(words, make("kbd", {}, "Enter"));
    show($("why-part"), why.length > 0);
    $("why").replaceChildren(...why.map(({ shown, effect }) =>
      make("li", {}, make("span", { dir: "auto" }, seen(shown, 120)), effectOf(effect))));
  };

  const effectOf = (effect) => {
    const side = effect >= 0 ? "for" : "against";
    const dots = Math.min(3, Math.max(1, Math.ceil(Math.abs(effect)))); // one for each unit of log-odds
    return make("span", { class: side }, `${side} it `, "●".repeat(dots));
  };

  const rowAt = (parameters) => ask(`/api/review?${new URLSearchParams(parameters)}`);
  const { give, current, showRow } = await rowPage("/api/review", {
    render,
    number: (row) => row.number,
    where: (row) => ({ row: row.number }),
    skip: (row) => rowAt({ after: row.number }),
  });
  onClicks({ "confirm-label": () => give(current().proposed) });
  frame.onState = async (state, before) => {
    const { row } = current();
    const hasEnded = before?.work.running && !state.work.running;
    if (hasEnded) showRow(await rowAt(row ? { row: row.number } : {}));
  };
}

// ---- Truth, Result: pages that the server fills ------------------------------------------------------------------------

/** Show the page as it is now, with what was said last. */
async function renew(said) {
  const { id } = document.activeElement;
  const response = await fetch(location);
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
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
}, $("refused")));

document.addEventListener("click", ({ target }) => {
  const pressed = target.closest("button[data-post]");
  if (pressed) post(pressed, JSON.parse(pressed.dataset.body ?? "{}"));
});
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.dataset.post) return;
  event.preventDefault();
  const body = {};
  for (const [name, value] of new FormData(form)) body[name] = Number(value);
  post(form, body);
});
if (document.body.dataset.filled) {
  frame.onState = async ({ version, work }) => {
    const isNew = document.body.dataset.filled !== `${version} ${work.running}`;
    // Not while a person fills in a form.
    if (isNew && !document.activeElement.matches("main input")) await renew(frame.said);
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
