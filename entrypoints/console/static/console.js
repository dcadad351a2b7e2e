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
    await navigator.clipboard.writeText(code.textContent);
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
document.addEventListener("submit", ({ target }) => {
  if (target.method !== "post" || "repeatable" in target.dataset) return;
  // The browser has to collect the pressed button's name first.
  setTimeout(() => {
    for (const button of target.querySelectorAll("button")) button.disabled = true;
    if (target.dataset.busy) showProgress(target.dataset.busy);
  });
});
addEventListener("pageshow", ({ persisted }) => {
  if (!persisted) return;
  for (const button of document.querySelectorAll("form button")) button.disabled = false;
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
