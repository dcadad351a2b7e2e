// Improves pages that work without it: copy buttons, a filter as you type, and one submit per form.
"use strict";

const announcer = document.createElement("p");
announcer.className = "visually-hidden";
announcer.setAttribute("role", "status");
document.body.append(announcer);

function selectText(element) {
  if (element.select) return element.select();
  const range = document.createRange();
  range.selectNodeContents(element);
  getSelection().removeAllRanges();
  getSelection().addRange(range);
}

async function copy(button) {
  const code = document.getElementById(button.dataset.copies);
  const label = button.querySelector("span");
  const text = label.textContent;
  let result = "Copied";
  try {
    await navigator.clipboard.writeText(code.value ?? code.textContent);
  } catch {
    selectText(code); // The clipboard is only available over HTTPS and on this computer.
    result = "Selected";
  }
  label.textContent = announcer.textContent = result;
  setTimeout(() => {
    label.textContent = text;
    announcer.textContent = "";
  }, 2000);
}

for (const button of document.querySelectorAll("button[data-copies]")) {
  button.hidden = false;
  button.addEventListener("click", () => copy(button));
}

// A submitted form sends nothing again until the page is shown anew.
document.addEventListener("submit", ({ target, submitter }) => {
  const isRepeatable = [target, submitter].some((each) => each && "repeatable" in each.dataset);
  if (target.method !== "post" || isRepeatable || submitter?.formTarget) return;
  // The browser has to collect the pressed button's name first.
  setTimeout(() => {
    for (const button of target.elements) if (button.type === "submit") button.disabled = true;
    showWorking(submitter);
    if (target.dataset.busy) showProgress(target.dataset.busy);
  });
});
addEventListener("pageshow", ({ persisted }) => {
  if (!persisted) return;
  for (const button of document.querySelectorAll("form button")) {
    button.disabled = false;
    button.classList.remove("working");
  }
  for (const progress of document.querySelectorAll(".progress")) progress.hidden = true;
});

// Enter presses the first button of a form. In a value of a list, it adds another one.
for (const button of document.querySelectorAll("button[data-enter]")) {
  button.addEventListener("click", () => {
    const isInList = document.activeElement.name === button.dataset.enter;
    button.value = isInList ? "add" : "save";
  });
}

// The server can close the connection during a larger upload, and the browser shows no reason.
document.addEventListener("change", ({ target }) => {
  if (!target.dataset.maxSize) return;
  const isTooLarge = target.files[0]?.size > target.dataset.maxSize;
  target.setCustomValidity(isTooLarge ? "Choose a smaller file." : "");
  target.reportValidity();
});

// What takes longer than 0.3 s shows that it works. Returns a function that ends this.
function showWorking(button) {
  const timer = setTimeout(() => {
    button?.classList.add("working");
    announcer.textContent = "Working…";
  }, 300);
  return () => {
    clearTimeout(timer);
    button?.classList.remove("working");
    announcer.textContent = "";
  };
}

// The response to a form reports no progress, so the page shows for how long it has been waiting.
function showProgress(text) {
  const progress = document.getElementById("progress");
  const [label, elapsed] = progress.querySelectorAll("p");
  const start = Date.now();
  const tick = () => (elapsed.textContent = `${Math.round((Date.now() - start) / 1000)} s`);
  label.textContent = announcer.textContent = text;
  progress.hidden = false;
  tick();
  setInterval(tick, 1000);
}

// A page that is shown once is the response to a form. Reloading it opens the list instead.
const shownOnce = document.querySelector("[data-path]");
if (shownOnce) history.replaceState(null, "", shownOnce.dataset.path);

// Without a script, the administrator presses the button.
document.querySelector("form[data-continues]")?.requestSubmit();

const summary = document.querySelector(".errors[tabindex]");
if (summary) summary.focus();

const result = document.querySelector("#result[data-shown]");
if (result) result.focus({ preventScroll: location.hash === "#result" });

const email = document.querySelector("form.content");
if (email) {
  const source = email.elements.content;
  // What was typed stays in this browser, for this person and organization.
  const draft = `content ${email.elements.by.value} ${email.dataset.draft}`;
  const isKept = ({ name }) => name && !["csrf", "form", "by", "find"].includes(name);
  const keep = () => {
    const inputs = [...email.elements].filter((each) => isKept(each) && each.type !== "submit");
    const kept = inputs.map(({ name, type, value, checked }) =>
      [name, value, type === "radio" || type === "checkbox" ? checked : null]);
    try {
      localStorage.setItem(draft, JSON.stringify(kept));
    } catch {} // The storage is full, or the browser has none.
  };
  const restore = () => {
    for (const [name, value, checked] of JSON.parse(localStorage.getItem(draft) ?? "[]")) {
      const inputs = [...email.querySelectorAll(`[name="${CSS.escape(name)}"]`)];
      const input = checked === null ? inputs[0] : inputs.find((each) => each.value === value);
      if (!input) {
        if (!name.startsWith("value.")) continue;
        const hidden = Object.assign(document.createElement("input"), { type: "hidden", name, value });
        email.append(hidden);
      } else if (checked === null) input.value = value;
      else input.checked = checked;
    }
  };
  if (!source.value) restore();
  else keep();
  email.addEventListener("input", keep);
  email.addEventListener("submit", keep);
  email.querySelector("[data-clears]").addEventListener("click", () => localStorage.removeItem(draft));

  for (const link of email.querySelectorAll("[data-line]")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const lines = source.value.split("\n");
      const start = lines.slice(0, link.dataset.line - 1).join("\n").length + (link.dataset.line > 1);
      source.setSelectionRange(start, start);
      source.blur();
      source.focus(); // The browser scrolls to the cursor.
      source.setSelectionRange(start, start + lines[link.dataset.line - 1].length);
    });
  }

  // A click inserts at the cursor. A condition is put around the selection.
  const menu = email.querySelector(".insert");
  const insert = (before, after) => {
    const selected = source.value.slice(source.selectionStart, source.selectionEnd);
    menu.open = false;
    source.focus();
    document.execCommand("insertText", false, before + (after ? selected + after : ""));
    if (after && !selected) source.selectionEnd = source.selectionStart -= after.length;
  };
  const button = (label, ...codes) => {
    const made = Object.assign(document.createElement("button"), { type: "button" });
    made.append(...label);
    made.addEventListener("click", () => insert(...codes));
    return made;
  };
  for (const item of email.querySelectorAll("[data-inserts]")) {
    const { inserts, condition } = item.dataset;
    const name = item.querySelector("bdi").textContent;
    if (inserts) item.append(button(item.childNodes, inserts));
    if (!condition) continue;
    item.append(button(["If…"], condition, "{{else}}{{/if}}"));
    item.lastChild.ariaLabel = `If ${name}…`;
    item.lastChild.title = condition;
  }
  const search = email.elements.find;
  const searchButton = email.querySelector(".find button");
  searchButton.hidden = "onlyWithoutScript" in searchButton.dataset;
  search.addEventListener("input", () => {
    const text = search.value.toLowerCase();
    for (const item of menu.querySelectorAll("li")) {
      item.hidden = !item.textContent.toLowerCase().includes(text);
    }
  });
  menu.addEventListener("toggle", () => menu.open && search.focus());
  menu.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
    if (event.key === "Enter" && event.target === search && searchButton.hidden) {
      event.preventDefault();
      menu.querySelector("li:not([hidden]) button")?.click();
    }
  });

  const previews = email.querySelector("[data-previews]");
  if (previews) {
    previews.hidden = true;
    email.requestSubmit(previews);
    email.addEventListener("change", ({ target }) => {
      if (target.name === "view" || target.name.startsWith("value.")) email.requestSubmit(previews);
    });
  }
}

// The file of a list is chosen once: the report is replaced, and the form stays.
const list = document.querySelector("form#check");
if (list) {
  document.body.classList.add("with-script");
  list.addEventListener("submit", async (event) => {
    const { submitter } = event;
    if (submitter?.value === "rejects") return;
    event.preventDefault();
    if (list.dataset.running) return;
    list.dataset.running = "true";
    const stopWorking = showWorking(submitter);
    try {
      const response = await fetch(location.pathname, { method: "POST", body: new FormData(list, submitter) });
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const found = page.getElementById("report");
      if (!found) return location.reload(); // Signed out, for example.
      document.getElementById("report").replaceWith(found);
      for (const input of page.querySelectorAll("#check :is(select, :checked)")) {
        const own = list.elements[input.name];
        if (own && input.type !== "file") own.value = input.value;
      }
      found.focus();
    } finally {
      delete list.dataset.running;
      stopWorking();
    }
  });
}

// The key that the server will derive from the name, unless the name needs a key of its own.
const shownKey = document.querySelector("[data-key]");
if (shownKey) {
  const { name, key } = shownKey.closest("form").elements;
  const show = () => {
    const letters = name.value.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replace(/ß/g, "ss");
    const hasOthers = /[^\x00-\x7f]/.test(letters.replace(/[^\p{L}\p{N}]/gu, ""));
    const snake = letters.replace(/[^a-z0-9]+/g, "_").replace(/^_+|_+$/g, "");
    const derived = hasOthers ? "" : snake.replace(/^(?=\d)/, "f_").slice(0, 63).replace(/_+$/, "");
    shownKey.querySelector("code").textContent = `{{recipient.${key.value || derived}}}`;
    shownKey.hidden = !(key.value || derived);
  };
  shownKey.closest("form").addEventListener("input", show);
  show();
}

// The next person in this browser finds nothing of the one before.
const person = document.querySelector("input[name=by]")?.value;
if (person) {
  for (const key of Object.keys(localStorage)) {
    if (/^content \d/.test(key) && !key.startsWith(`content ${person} `)) localStorage.removeItem(key);
  }
}

const filters = document.querySelector("form[data-filter]");
if (filters) {
  let timer, pending;
  const load = async () => {
    const url = new URL(filters.action);
    for (const [name, value] of new FormData(filters)) if (value) url.searchParams.set(name, value);
    pending?.abort();
    pending = new AbortController();
    const results = document.getElementById("results");
    results.classList.add("busy");
    try {
      const response = await fetch(url, { signal: pending.signal });
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const found = page.getElementById("results");
      if (!response.ok || !found) return location.assign(url); // Signed out, for example.
      results.replaceWith(found);
      history.replaceState(null, "", url);
      announcer.textContent = found.dataset.summary;
    } catch (error) {
      if (error.name !== "AbortError") location.assign(url);
    }
  };
  filters.querySelector("button").hidden = true;
  filters.addEventListener("input", ({ target }) => {
    clearTimeout(timer);
    timer = setTimeout(load, target.type === "search" ? 250 : 0);
  });
  filters.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(timer);
    load();
  });
}
