
"use strict";
// Finds and shows conversations. Texts come from packs, so they only ever become text nodes and attribute values.
(() => {
  const PAGE = 25;
  const SLICE = 2000; // rows searched between two breaths
  const FIELDS = ["outcome", "template", "policy", "category", "difficulty", "language"];
  const NONE = "(none)";
  const STATUSES = ["passed", "failed", "error", "not_applicable"];

  const at = (id) => document.getElementById(id);
  const form = at("filters");
  let rows = [];
  let systems = [];
  let found = [];
  let state = { q: "", page: 1, task: "" };
  let turn = 0; // of the newest search: older ones stop

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
  const valueOf = (row, field) => row[field] ?? NONE;

  const words = (row) => {
    if (row.folded === undefined) {
      const parts = [row.id, row.intent ?? "", row.why ?? ""];
      for (const [who, what] of row.turns) {
        if (who !== "calls") parts.push(what);
        else for (const [name, args, result] of what) parts.push(name, ...args.flat(), result ?? "");
      }
      row.folded = folded(parts.join("\n"));
    }
    return row.folded;
  };

  const matches = (row, wanted, terms) => {
    for (const field of FIELDS) {
      const value = wanted[field];
      if (!value) continue;
      const own = valueOf(row, field);
      if (own !== value && !(field === "outcome" && value === "lost" && own !== "published")) return false;
    }
    return terms.every((term) => words(row).includes(term));
  };

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
    const index = state.task ? found.findIndex((row) => row.id === state.task) : -1;
    if (index >= 0) state.page = Math.floor(index / PAGE) + 1;
    state.page = Math.min(Math.max(1, state.page), pages);
    const start = (state.page - 1) * PAGE;
    at("count").textContent = `${number(found.length)} of ${count(rows.length, "task")}`;
    at("page").textContent = `Page ${number(state.page)} of ${number(pages)}`;
    at("pager").hidden = pages === 1;
    at("previous").disabled = state.page === 1;
    at("next").disabled = state.page === pages;
    at("results").replaceChildren(...found.slice(start, start + PAGE).map(item));
    at("results").setAttribute("start", start + 1);
  };

  const item = (row) => {
    const said = row.turns.find(([who]) => who === "user");
    const about = [row.template, row.policy, row.category, row.difficulty].filter(Boolean).join(" · ");
    const first = node("bdi", { class: "first", lang: row.language, dir: "auto" }, said ? said[1] : row.id);
    const summary = node("summary", {}, first, node("span", { class: "about" }, about));
    if (row.outcome !== "published") summary.append(node("span", { class: "about lost" }, ` · lost: ${row.outcome}`));
    const details = node("details", { "data-task": row.id }, summary);
    details.addEventListener("toggle", () => {
      if (details.open && details.childElementCount === 1) details.append(conversation(row));
    });
    details.open = row.id === state.task || found.length === 1;
    return node("li", {}, details);
  };

  const conversation = (row) => {
    const link = node("a", { href: "#" + new URLSearchParams({ task: row.id }) }, row.id);
    const about = [row.intent && `intent ${row.intent}`, `language ${row.language}`].filter(Boolean).join(" · ");
    const shown = node("div", { class: "task" }, node("p", { class: "about" }, link, ` · ${about}`));
    if (row.outcome !== "published") {
      shown.append(node("p", { class: "notice" }, `Not published: lost by ${row.outcome}: `, node("bdi", {}, row.why ?? "")));
    }
    if (row.system !== null) {
      const prompt = node("p", { class: "said", lang: row.language, dir: "auto" }, systems[row.system]);
      shown.append(node("details", { class: "turn" }, node("summary", { class: "who" }, "system prompt"), prompt));
    }
    for (const [who, what] of row.turns) shown.append(who === "calls" ? calls(what) : speech(who, what, row.language));
    shown.append(checks(row.assertions));
    return shown;
  };

  const speech = (who, text, language) =>
    node("div", { class: `turn ${who}` }, node("span", { class: "who" }, who),
      node("p", { class: "said", lang: language, dir: "auto" }, text ?? ""));

  const calls = (batch) => {
    const head = ["expected call", "tool result"].map((text) => node("th", { scope: "col" }, text));
    const body = batch.map(([name, args, result]) => {
      const named = args.flatMap(([key, value]) => [node("dt", {}, key), node("dd", {}, pre(value))]);
      const call = node("td", {}, node("code", {}, node("strong", {}, name)), node("dl", { class: "arguments" }, ...named));
      return node("tr", {}, call, node("td", {}, result === null ? "no result" : pre(result)));
    });
    if (!batch.length) body.push(node("tr", {}, node("td", { colspan: 2 }, "no calls derived")));
    const table = node("table", {}, node("caption", { class: "hidden" }, count(batch.length, "expected call")),
      node("thead", {}, node("tr", {}, ...head)), node("tbody", {}, ...body));
    return node("div", { class: "turn calls" }, table);
  };

  // JSON reads from the left, whatever words it holds.
  const pre = (text) => node("pre", { dir: "ltr" }, text);

  const checks = (assertions) =>
    node("ul", { class: "checks", "aria-label": "Assertions" }, ...assertions.map(([name, status, detail]) =>
      node("li", { class: `status ${STATUSES.includes(status) ? status : ""}` },
        `${name} ${status}${detail ? `: ${detail}` : ""}`)));

  const fill = (field) => {
    const counts = new Map();
    for (const row of rows) counts.set(valueOf(row, field), (counts.get(valueOf(row, field)) ?? 0) + 1);
    const options = [...counts].sort(([one], [other]) => (one < other ? -1 : 1));
    const lost = rows.length - (counts.get("published") ?? 0);
    if (field === "outcome" && lost) options.unshift(["lost", lost]);
    const all = node("option", { value: "" }, "all");
    const made = options.map(([value, many]) => node("option", { value }, `${value} (${number(many)})`));
    form.elements[field].replaceChildren(all, ...made);
  };

  // The address tells what is shown, so that it can be handed on: #q=…&policy=…&task=…
  const fromAddress = () => {
    const given = new URLSearchParams(location.hash.slice(1));
    state = { q: given.get("q") ?? "", page: Number.parseInt(given.get("page") ?? "1", 10) || 1, task: given.get("task") ?? "" };
    form.elements.q.value = state.q;
    for (const field of FIELDS) {
      form.elements[field].value = given.get(field) ?? "";
      // A value that no row has selects nothing: then the filter is off, and says so.
      if (form.elements[field].selectedIndex < 0) form.elements[field].value = "";
      state[field] = form.elements[field].value;
    }
  };
  const toAddress = () => {
    const kept = Object.entries(state).filter(([key, value]) => value && !(key === "page" && value === 1));
    history.replaceState(null, "", "#" + (kept.length ? new URLSearchParams(kept) : "conversations"));
  };
  const fromForm = () => {
    state = { q: form.elements.q.value, page: 1, task: "" };
    for (const field of FIELDS) state[field] = form.elements[field].value;
    toAddress();
    search();
  };
  const speaks = () => location.hash.includes("=");
  const follow = () => {
    fromAddress();
    search();
    at("conversations").scrollIntoView({ behavior: "instant" });
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
    ({ rows, systems } = await unpack());
    FIELDS.forEach(fill);
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
    at("notice").textContent = `Conversations cannot be shown: ${error.message}. Charts and tables are complete.`;
  });
})();
