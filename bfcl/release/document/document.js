"use strict";
// What the pages share: nodes, and a list of records that can be searched, filtered, paged and addressed. Texts come
// from packs and models, so they only ever become text nodes and attribute values.

const at = (id) => document.getElementById(id);
const node = (name, attributes, ...children) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};
const number = (value) => value.toLocaleString("en");
const count = (value, noun) => `${number(value)} ${noun}${value === 1 ? "" : "s"}`;
// Written alike, typed without marks: "chuyen" finds "chuyển".
const folded = (text) => text.toLowerCase().normalize("NFKD").replace(/[\u0300-\u036f]/g, "").replaceAll("đ", "d");
// JSON reads from the left, whatever words it holds.
const pre = (text) => node("pre", { dir: "ltr" }, text);
const speech = (who, text, language) =>
  node("div", { class: `turn ${who}` }, node("span", { class: "who" }, who),
    node("p", { class: "said", ...(language ? { lang: language } : {}), dir: "auto" }, text ?? ""));

// The records of the page. Each is an entry of a list: found by its words, kept by its fields, opened by its key.
//   fields   names of the filters; each is a <select> of the form
//   section  id of the section that has the list
//   results  id of the list (optional)
//   noun     what one record is
//   absent   what cannot be seen where this script fails
//   read     takes what is packed in the page, gives the records
//   key      a record's name in the address
//   words    the text to search in
//   summary  nodes of the entry's head
//   whole    the node that opens below it
//   fits, options   change what a filter keeps and offers (optional)
//   order    values of a filter in their order, by name (optional)
//   arrange  puts entries under headings (optional)
const listing = (own) => {
  const PAGE = 25;
  const SLICE = 2000; // rows searched between two breaths
  const NONE = "(none)";
  const form = at("filters");
  const results = at(own.results ?? "results");
  let rows = [];
  let found = [];
  let state = { q: "", page: 1, task: "" };
  let turn = 0; // of the newest search: older ones stop
  const texts = new Map();

  const valueOf = (row, field) => row[field] ?? NONE;
  const fits = own.fits ?? ((row, field, value) => valueOf(row, field) === value);
  const words = (row) => {
    if (!texts.has(row)) texts.set(row, folded(own.words(row)));
    return texts.get(row);
  };
  const matches = (row, wanted, terms) =>
    own.fields.every((field) => !wanted[field] || fits(row, field, wanted[field]))
    && terms.every((term) => words(row).includes(term));
  const breath = () => new Promise((resolve) => { setTimeout(resolve, 0); });

  const search = async () => {
    const mine = ++turn;
    const terms = folded(state.q).split(/\s+/).filter(Boolean);
    const kept = [];
    for (let start = 0; start < rows.length; start += SLICE) {
      if (start) await breath();
      if (mine !== turn) return;
      for (const row of rows.slice(start, start + SLICE)) if (matches(row, state, terms)) kept.push(row);
    }
    found = kept;
    show();
  };

  const show = () => {
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    const index = state.task ? found.findIndex((row) => own.key(row) === state.task) : -1;
    if (index >= 0) state.page = Math.floor(index / PAGE) + 1;
    state.page = Math.min(Math.max(1, state.page), pages);
    const start = (state.page - 1) * PAGE;
    at("count").textContent = `${number(found.length)} of ${count(rows.length, own.noun)}`;
    at("page").textContent = `Page ${number(state.page)} of ${number(pages)}`;
    at("pager").hidden = pages === 1;
    at("previous").disabled = state.page === 1;
    at("next").disabled = state.page === pages;
    const shown = found.slice(start, start + PAGE);
    if (own.arrange) results.replaceChildren(...own.arrange(shown, item, start, found));
    else {
      results.replaceChildren(...shown.map(item));
      results.setAttribute("start", start + 1);
    }
  };

  const item = (row) => {
    const details = node("details", { "data-task": own.key(row) }, node("summary", {}, ...own.summary(row)));
    details.addEventListener("toggle", () => {
      if (details.open && details.childElementCount === 1) details.append(own.whole(row));
    });
    details.open = own.key(row) === state.task || found.length === 1;
    return node("li", {}, details);
  };

  const fill = (field) => {
    const counts = new Map();
    for (const row of rows) counts.set(valueOf(row, field), (counts.get(valueOf(row, field)) ?? 0) + 1);
    const values = own.order?.[field] ?? [...counts.keys()].sort();
    const options = values.filter((value) => counts.has(value)).map((value) => [value, counts.get(value)]);
    own.options?.(field, options, counts, rows.length);
    const all = node("option", { value: "" }, "all");
    const made = options.map(([value, many]) => node("option", { value }, `${value} (${number(many)})`));
    form.elements[field].replaceChildren(all, ...made);
  };

  // The address tells what is shown, so that it can be handed on: #q=…&policy=…&task=…
  const fromAddress = () => {
    const given = new URLSearchParams(location.hash.slice(1));
    state = { q: given.get("q") ?? "", page: Number.parseInt(given.get("page") ?? "1", 10) || 1, task: given.get("task") ?? "" };
    form.elements.q.value = state.q;
    for (const field of own.fields) {
      form.elements[field].value = given.get(field) ?? "";
      // A value that no row has selects nothing: then the filter is off, and says so.
      if (form.elements[field].selectedIndex < 0) form.elements[field].value = "";
      state[field] = form.elements[field].value;
    }
  };
  const toAddress = () => {
    const kept = Object.entries(state).filter(([key, value]) => value && !(key === "page" && value === 1));
    history.replaceState(null, "", "#" + (kept.length ? new URLSearchParams(kept) : own.section));
  };
  const fromForm = () => {
    state = { q: form.elements.q.value, page: 1, task: "" };
    for (const field of own.fields) state[field] = form.elements[field].value;
    toAddress();
    search();
  };
  const speaks = () => location.hash.includes("=");
  const follow = () => {
    fromAddress();
    search();
    at(own.section).scrollIntoView({ behavior: "instant" });
  };
  const go = (step) => {
    state.page += step;
    state.task = "";
    toAddress();
    show();
    at("count").scrollIntoView({ behavior: "instant" });
  };

  const unpack = async () => {
    const bytes = Uint8Array.from(atob(at("rows").textContent.trim()), (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  };

  const start = async () => {
    if (typeof DecompressionStream === "undefined") throw new Error("this browser cannot unpack gzip (DecompressionStream)");
    rows = own.read(await unpack());
    own.fields.forEach(fill);
    let waiting = 0;
    form.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(fromForm, 120);
    });
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(fromForm, 0));
    at("previous").addEventListener("click", () => go(-1));
    at("next").addEventListener("click", () => go(1));
    addEventListener("hashchange", () => { if (speaks()) follow(); });
    form.hidden = false;
    if (speaks()) follow();
    else { fromAddress(); search(); }
  };

  start().catch((error) => {
    at("notice").hidden = false;
    at("notice").textContent = `${own.absent} cannot be shown: ${error.message}. Charts and tables are complete.`;
  });
};
