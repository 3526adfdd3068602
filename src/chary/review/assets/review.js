// The pages of `chary review`: JSON from its server in; what a person sees and does out.
//
// Whatever a table holds goes into the page as text (textContent and text nodes), never as markup. Nothing is asked of
// any other server. The shells and most of the words are in templates/; this module fills them, but for the pages that
// the server fills itself. In order: elements and words, the server, what all pages share, then a function for each page.

// ---- Elements and words ----------------------------------------------------------------------------------------------

const $ = (id) => document.getElementById(id);
const INVISIBLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

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

// ---- One row and the answers to it: the pages Audit and Review ---------------------------------------------------------

function fieldOf({ name, text }) {
  const empty = !text.trim();
  const shape = empty ? "empty" : text.length > 80 || text.includes("\n") ? "long" : "text";
  return make("div", { class: shape }, make("dt", { dir: "auto" }, seen(name, 200)), make("dd", { dir: "auto" }, empty ? "empty" : seen(text)));
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
    $("conflict").querySelector("button").addEventListener("click", () => location.reload());
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
    const typing = $("typed").contains(document.activeElement);
    this.back(false);
    if (this.byName) $("typed-name").focus({ preventScroll: true });
    else if (typing) $("content").focus({ preventScroll: true });
  }

  button({ key, name }) {
    const made = button(make("kbd", {}, key), "", () => this.give(name));
    made.append(make("span", { dir: "auto" }, seen(name, 80)));
    made.dataset.name = name;
    return made;
  }

  /** Whether a key stood for a class. */
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

  /** What became of an answer that was not saved. */
  refuse(refused) {
    for (const button of this.buttons?.values() ?? []) button.classList.remove("chosen");
    if (refused.status !== 409) return say($("answer-error"), seen(refused.message));
    $("conflict").querySelector("p").textContent = `${seen(refused.message)} Your answer was not saved, theirs was kept.`;
    show($("conflict"));
    show($("answers"), false);
    $("conflict").querySelector("button").focus();
  }
}

/**
 * Rows one by one, from `path` of the server: `render(data)` shows what the page has around the row, `number(row)` is
 * how it is called, `where(row)` says the server which row it is, and `skip(row)` gets what to show in its place.
 */
async function rowPage(path, { render, number, where, skip }) {
  let now = null;
  const given = []; // what was answered here, to be taken back in turn

  const showRow = (data) => {
    now = data;
    const { row, keys } = data;
    for (const name of ["row", "answers"]) show($(name), Boolean(row));
    $("undo").disabled = given.length === 0;
    render(data);
    if (!row) return;
    $("fields").replaceChildren(...row.fields.map(fieldOf));
    answers.show(keys);
    if ($("content").getBoundingClientRect().top < 0) $("content").scrollIntoView({ block: "start" });
  };
  const act = oneAtATime((action) => attempt(action, (refused) => answers.refuse(refused)));
  const send = async (row, answer) => {
    const next = await ask(path, { ...where(row), answer, expected: row.answer });
    given.push({ row, answer });
    showRow(next);
    say($("saved"), `Row ${count(number(row))}: ${answer === "?" ? "skipped" : `“${seen(answer, 60)}”`}, saved.`);
    watch();
  };
  const takeBack = async () => {
    const { row, answer } = given.at(-1);
    const next = await ask(path, { ...where(row), answer: "", expected: answer });
    given.pop();
    showRow(next);
    say($("saved"), `The answer to row ${count(number(row))} is taken back.`);
  };

  const give = (answer) => now?.row && act(() => send(now.row, answer));
  const pass = () => now?.row && act(async () => (skip ? showRow(await skip(now.row)) : send(now.row, "?")));
  const undo = () => given.length && act(takeBack);
  const answers = new Answers(give);
  onClicks({ skip: pass, undo });
  frame.keys = (event) => {
    if (!$("conflict").hidden) return false;
    if (event.key === "u") return Boolean(undo());
    if (!now?.row) return false;
    if (event.key === "s") pass();
    else if (event.key === "n") answers.open(true);
    else return answers.press(event.key);
    return true;
  };
  showRow(await ask(path));
  return { give, undo, current: () => now, showRow };
}

// ---- Drawing random rows: on the pages Start and Audit -------------------------------------------------------------------

/** The form that draws rows; a sheet that is there is made larger. */
function drawForm(planned, audit) {
  const form = $("draw");
  const rows = $("draw-k");
  rows.max = planned.most;
  rows.min = audit ? audit.drawn + 1 : 1;
  if (document.activeElement !== rows) rows.value = audit ? Math.min(planned.most, audit.drawn + 20) : planned.k;
  say($("draw-words"), `Out of ${many(planned.most, "row")}.`);
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
  let now = null;

  const render = (data) => {
    now = data;
    const { rows, labelled, values, notes, columns, diagnosis } = data;
    say($("read"), `${many(rows, "row")}, ${count(labelled)} of them with a label${judged ? " to be judged." : `. The other ${count(rows - labelled)} are to get one.`}`);
    showValues($("classes"), values);
    list($("notes"), notes);
    if (!$("columns").contains(document.activeElement)) $("columns").tBodies[0].replaceChildren(...columns.map(columnRow)); // not under somebody's hand
    if (!judged) {
      const used = columns.filter((column) => column.used).length;
      say($("columns-words"), `${count(used)} of ${many(columns.length, "column")} used. Is a kind wrong? Change it here.`);
      showDiagnosis(diagnosis);
    }
    showNext(frame.state);
  };

  const showNext = (state) => {
    if (!state || !now) return;
    const { audit, next } = state;
    show($("go-on"), Boolean(audit));
    if (!audit) {
      if ($("draw").hidden) drawForm(now.planned, null);
      return;
    }
    show($("draw"), false);
    say($("next-title"), "Next");
    say($("go-on-words"), `${count(audit.answered)} of ${many(audit.drawn, "random row")} labelled, ${count(audit.skipped)} skipped.`);
    $("go-on-link").setAttribute("href", next.page);
    $("go-on-link").replaceChildren(`${seen(next.words)} `, make("kbd", {}, "Enter"));
  };

  const columnRow = ({ name, kind, used, note, doubtful, examples, chosen }) => {
    const cells = make("td", {}, ...examples.filter((text) => text !== "").map((text) => make("span", { class: "example", dir: "auto" }, seen(text, 80))));
    const head = make("th", { scope: "row", dir: "auto" }, seen(name, 120));
    if (judged) return make("tr", {}, head, cells);
    const same = { numeric: "number", categorical: "category", words: "text" }[kind] ?? kind;
    const own = make("option", { value: "" }, chosen ? "as chary sees it" : same || "being looked at");
    const others = now.kinds.filter((choice) => chosen || choice !== same).map((choice) => make("option", { value: choice, selected: choice === chosen }, choice));
    const select = make("select", { "aria-label": `Kind of ${seen(name, 80)}` }, own, ...others);
    select.addEventListener("change", () => {
      select.blur();
      attempt(async () => {
        render(await ask("/api/kind", { column: name, kind: select.value || null }));
        watch();
      }, $("columns-error"));
    });
    return make("tr", { class: used ? null : "soft" }, head, make("td", {}, select), cells,
      make("td", { class: doubtful ? "doubtful" : null }, used ? "" : "left out: ", doubtful ? "please check: " : "", seen(note, 300)));
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
    if (before && (before.version !== state.version || before.work.running !== state.work.running)) render(await ask("/api/start"));
    showNext(state);
  };
  render(await ask("/api/start"));
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
    return make("li", { class: isLabel ? null : "soft" }, named, bar, make("span", { class: "n" }, many(rows, "row")), doubtful && onTick ? make("span", { class: "also doubtful" }, "This looks like a missing answer.") : null);
  }));
}

// ---- Which column holds the labels, where the command did not say ---------------------------------------------------------

async function choosePage() {
  const form = $("choose");
  let now = null;

  const render = (data) => {
    now = data;
    const { rows, columns, target, values, more } = data;
    say($("read"), `${many(rows, "row")}, ${many(columns.length, "column")}.`);
    list($("notes"), data.notes);
    $("targets").replaceChildren(...columns.map(columnChoice));
    show($("values-part"), Boolean(target));
    showValues($("values"), values, showTask);
    say($("values-words"), more ? `It has ${many(more, "more value")} than can be classes. Choose a column whose values repeat.` : "");
    form.elements.task.value = data.task;
    showTask();
  };

  const columnChoice = ({ name, about }) => {
    const radio = make("input", { type: "radio", name: "target", value: name, checked: name === now.target });
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
    const query = new URLSearchParams({ target: event.target.value });
    await attempt(async () => render({ ...(await ask(`/api/start?${query}`)), task }), $("choose-error"));
  });
  form.addEventListener("submit", oneAtATime(async (event) => {
    event.preventDefault();
    await attempt(async () => {
      const { target, task } = Object.fromEntries(new FormData(form));
      const unlabeled = now.values.filter((one) => !one.is_label).map(({ name }) => name);
      const classes = now.values.filter((one) => one.is_label && one.is_doubtful).map(({ name }) => name);
      await ask("/api/labels", { target, task, unlabeled, classes });
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
    say($("all-done-words"), `${count(answered)} labelled, ${count(skipped)} skipped${skipped ? ": a skipped row counts as wrong" : ""}.`);
    $("undo-last").disabled = $("undo").disabled;
    show($("more-rows"), drawn < planned.most);
    drawForm(planned, data);
  };
  const { undo } = await rowPage("/api/audit", { render, number: (row) => row.place, where: ({ place, row }) => ({ place, row }) });
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
    $("confirm-label").replaceChildren(make("span", {}, "Confirm “", make("bdi", {}, seen(proposed, 60)), "”"), make("kbd", {}, "Enter"));
    show($("why-part"), why.length > 0);
    $("why").replaceChildren(...why.map(({ shown, effect }) =>
      make("li", {}, make("span", { dir: "auto" }, seen(shown, 120)), effectOf(effect))));
  };

  const effectOf = (effect) => make("span", { class: effect >= 0 ? "for" : "against" }, effect >= 0 ? "for it " : "against it ", "●".repeat(Math.min(3, Math.max(1, Math.ceil(Math.abs(effect))))));

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
    if (before?.work.running && !state.work.running) showRow(await rowAt(row ? { row: row.number } : {}));
  };
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
}, $("refused")));

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
