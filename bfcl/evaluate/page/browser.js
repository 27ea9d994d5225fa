// The failed tasks of evaluations.
(() => {
  const GATES = ["tool_selection", "arguments", "schema_valid", "call_grouping", "call_ordering", "text_turn",
    "trace_completion", "oracle_execution", "dependency_resolution", "commit_state_known", "assertions",
    "executable_completion"];
  // A list may end with the number of entries that were cut off.
  const whole = (list) => list.filter((entry) => typeof entry !== "number");
  const left = (list) => list.find((entry) => typeof entry === "number") ?? 0;
  const more = (list, noun) => (left(list) ? [node("p", { class: "quiet" }, `And ${count(left(list), noun)} more.`)] : []);

  const words = (row) => {
    const parts = [row.task, row.candidate, row.reason, row.wrong, row.last_attempt, row.detail, row.content, row.expected_text,
      ...row.failed];
    const gather = (value) => {
      if (Array.isArray(value)) value.forEach(gather);
      else if (typeof value === "string") parts.push(value);
    };
    [row.before ?? [], row.calls, row.executions, row.assertions, row.state ?? []].forEach(gather);
    return parts.filter(Boolean).join("\n");
  };

  const summary = (row) => {
    const said = (row.before ?? []).find(([who]) => who === "user");
    const made = [node("bdi", { class: "first", dir: "auto" }, said ? said[1] ?? "" : row.task)];
    const about = [row.candidate, row.template, row.policy, `ended as ${row.status}`, `answerable: ${row.answerable}`];
    made.push(node("span", { class: "about" }, about.filter(Boolean).join(" · ")));
    if (row.near) made.push(node("span", { class: "about" }, " · "), node("span", { class: "about tag" }, `near miss: ${row.near}`));
    made.push(node("span", { class: "about wrong" }, `went wrong first: ${row.wrong}`));
    return made;
  };

  const facts = (pairs) => node("dl", { class: "facts" },
    ...pairs.flatMap(([name, ...value]) => [node("dt", {}, name), node("dd", {}, ...value)]));

  const failure = (row) => {
    const shown = node("div", { class: "task" });
    shown.append(facts([
      ["task", node("a", { href: "#" + new URLSearchParams({ task: row.id }) }, node("bdi", {}, row.task))],
      ["went wrong first", row.wrong],
      ["first failing gate", row.reason ? `${row.gate} (${row.reason})` : row.gate],
      ...(row.remark ? [["why that gate", row.remark]] : []),
      ["failed gates", row.failed.join(", ") || "none"],
      ["answerable", row.answerable],
      ["episode ended as", row.status],
      ...(row.near ? [["near miss", row.near]] : []),
      ...(row.detail ? [["detail", node("bdi", { dir: "auto" }, row.detail)]] : []),
    ]));
    shown.append(...conversation(row));
    shown.append(...turn(row));
    return shown;
  };

  const conversation = (row) => {
    const made = [heading("Conversation so far")];
    if (row.before === null) return [...made, node("p", { class: "quiet" }, row.turn === null ? "No turn was asked." : "Nobody kept what was sent.")];
    for (const text of row.systems) {
      const prompt = node("p", { class: "said", dir: "auto" }, text);
      made.push(node("details", { class: "turn" }, node("summary", { class: "who" }, "system prompt"), prompt));
    }
    if (left(row.before)) made.push(node("p", { class: "quiet" }, `${count(left(row.before), "message")} before these.`));
    for (const [who, what] of whole(row.before)) made.push(who === "calls" ? calls(what) : speech(who, what, row.language));
    return made;
  };

  const heading = (text) => node("h5", {}, text);

  const calls = (batch) => {
    const head = ["call that was made", "tool result"].map((text) => node("th", { scope: "col" }, text));
    const body = whole(batch).map(([name, args, result]) => node("tr", {},
      node("td", {}, node("code", {}, node("strong", {}, name)), pre(args ?? "")),
      node("td", {}, result === null ? "no result" : pre(result))));
    const table = node("table", {}, node("caption", { class: "hidden" }, count(batch.length, "call")),
      node("thead", {}, node("tr", {}, ...head)), node("tbody", {}, ...body));
    return node("div", { class: "turn calls" }, table, ...more(batch, "call"));
  };

  const turn = (row) => {
    if (row.turn === null) return [...assertions(row), ...state(row)];
    const made = [heading(`Assistant turn ${number(row.turn + 1)}: expected and actual`)];
    if (row.call_status !== "completed") made.push(node("p", { class: "notice" }, `No usable reply: ${row.call_status}.`));
    if (row.last_attempt) made.push(node("p", {}, "The endpoint: ", node("bdi", { dir: "auto" }, row.last_attempt), "."));
    if (row.finish) made.push(node("p", { class: "quiet" }, `The reply finished as ${row.finish}.`));
    if (row.words_expected) {
      made.push(node("p", {}, "Expected: words, and no call."));
      if (row.expected_text) made.push(quoted("recorded wording", row.expected_text, row));
    }
    if (row.content !== null) made.push(quoted("what the candidate said", row.content, row));
    else if (row.words_expected && row.call_status === "completed") made.push(node("p", {}, "The candidate said nothing."));
    made.push(...whole(row.calls).map(diff), ...more(row.calls, "call"));
    return [...made, ...executions(row), ...assertions(row), ...state(row)];
  };

  const quoted = (who, text, row) => {
    const made = speech("assistant", text, row.language);
    made.querySelector(".who").textContent = who;
    return made;
  };

  const VERDICTS = ["fits", "missing", "unexpected", "differs"];

  const titled = (expected, actual, fits) => {
    if (expected === null) return ["Unexpected call: ", node("code", {}, node("strong", {}, actual))];
    const name = node("code", {}, node("strong", {}, expected));
    if (actual === null) return ["Call that was not made: ", name];
    if (expected === actual) return [fits ? "Call that fits: " : "Call that departs: ", name];
    return ["Expected ", name, ", called ", node("code", {}, node("strong", {}, actual))];
  };

  const diff = ([expected, actual, args, reasons, unreadable, fits]) => {
    const side = (name, text) => node("td", { "data-side": name }, text === null ? "not stated" : pre(text));
    const body = whole(args).map(([name, verdict, one, other]) => node("tr", verdict === "fits" ? {} : { class: "departs" },
      node("th", { scope: "row" }, node("code", {}, name)), side("expected", one), side("actual", other),
      node("td", { class: `verdict ${VERDICTS.includes(verdict) ? verdict : ""}` }, verdict)));
    if (!body.length) body.push(node("tr", {}, node("td", { colspan: 4 }, "no argument on either side")));
    const head = ["argument", "expected", "actual", "verdict"].map((text) => node("th", { scope: "col" }, text));
    const table = node("table", { class: "diff" }, node("caption", {}, ...titled(expected, actual, fits)),
      node("thead", {}, node("tr", {}, ...head)), node("tbody", {}, ...body));
    const made = [table, ...more(args, "argument")];
    if (reasons.length) made.push(node("p", { class: "quiet" }, `Not well formed: ${reasons.join(", ")}.`));
    if (unreadable !== null) made.push(node("p", { class: "quiet" }, "Arguments as sent, which are no object:"), pre(unreadable));
    return node("div", { class: "turn calls" }, ...made);
  };

  const executions = (row) => {
    if (!row.executions.length) return [];
    const head = ["call", "what became of it", "result"].map((text) => node("th", { scope: "col" }, text));
    const body = whole(row.executions).map(([tool, status, reason, commit, result, detail]) => node("tr", {},
      node("th", { scope: "row" }, node("code", {}, tool)),
      node("td", {}, [reason ? `${status}: ${reason}` : status, `state: ${commit}`, detail].filter(Boolean).join("; ")),
      node("td", {}, result === null ? "no result" : pre(result))));
    const table = node("table", {}, node("caption", { class: "hidden" }, "What the oracle did with the calls"),
      node("thead", {}, node("tr", {}, ...head)), node("tbody", {}, ...body));
    return [heading("What the oracle did with the calls"), node("div", { class: "turn calls" }, table), ...more(row.executions, "call")];
  };

  const assertions = (row) => {
    if (!row.assertions.length) return [];
    const made = whole(row.assertions).map(([name, category, verdict, message]) =>
      node("li", { class: `status ${verdict === "failed" ? "failed" : "error"}` },
        `${name} (${category}) ${verdict}${message ? `: ${message}` : ""}`));
    return [heading("Assertions that did not pass"), node("ul", { class: "checks" }, ...made), ...more(row.assertions, "assertion")];
  };

  const state = (row) => {
    if (row.state === null) return [];
    const [reference, total, differences] = row.state;
    if (!total) return [heading("Final state"), node("p", {}, `The same as that of ${reference}, which passed.`)];
    const head = ["where", "expected", "actual"].map((text) => node("th", { scope: "col" }, text));
    const body = differences.map(([path, one, other]) => node("tr", {},
      node("th", { scope: "row" }, node("code", {}, path || "the whole")),
      node("td", { "data-side": "expected" }, pre(one)), node("td", { "data-side": "actual" }, pre(other))));
    const table = node("table", { class: "diff" },
      node("caption", {}, `${count(total, "difference")} from the final state of ${reference}, which passed`),
      node("thead", {}, node("tr", {}, ...head)), node("tbody", {}, ...body));
    return [heading("Final state"), node("div", { class: "turn calls" }, table)];
  };

  const FIELDS = ["candidate", "gate", "what", "answerable", "near", "status", "policy", "category", "difficulty", "language", "template"];
  const form = at("filters");
  let total = 0;

  // The list drops a filter whose value no record has, and would show all of them: with an option of its own it keeps it.
  const offerAddressed = () => {
    const given = new URLSearchParams(location.hash.slice(1));
    for (const field of FIELDS) {
      const value = given.get(field);
      const select = form.elements[field];
      if (value && select.options.length && ![...select.options].some((option) => option.value === value)) {
        select.append(node("option", { value }, `${value} (0)`));
      }
    }
  };

  const none = () => {
    if (!total) return [];
    const chosen = [...form.elements].filter((each) => each.name && each.value);
    const told = chosen.map((each) => `${each.labels[0].firstChild.data.trim().toLowerCase()}: ${each.value}`);
    const all = node("button", { type: "button" }, "Show all failed tasks");
    all.addEventListener("click", () => form.reset());
    return [node("p", {}, `No failed task on this page has ${told.join("; ")}.`), all];
  };

  // Entries under the gate that failed first; the heading counts all that were found, not this page's.
  const arrange = (rows, item, start, found) => {
    if (!rows.length) return none();
    const made = [];
    let last = null;
    let list = null;
    for (const [place, row] of rows.entries()) {
      if (row.gate !== last) {
        last = row.gate;
        list = node("ol", { class: "entries", start: start + place + 1 });
        const many = found.filter((each) => each.gate === last).length;
        made.push(node("h3", {}, `${last}: ${count(many, "failed task")}`), list);
      }
      list.append(item(row));
    }
    return made;
  };

  const rank = (row) => GATES.indexOf(row.gate);

  // Before the list's own listener, which reads the address.
  addEventListener("hashchange", offerAddressed);

  listing({
    section: "failures",
    results: "results-list",
    fields: FIELDS,
    noun: "failed task",
    absent: "Failed tasks",
    read: (packed) => {
      total = packed.rows.length;
      return packed.rows.sort((one, other) => rank(one) - rank(other));
    },
    key: (row) => row.id,
    words,
    summary,
    whole: failure,
    arrange,
    order: { gate: GATES },
    options: (field, options) => {
      const value = new URLSearchParams(location.hash.slice(1)).get(field);
      if (value && !options.some(([each]) => each === value)) options.push([value, 0]);
    },
  });

  at("unfold").addEventListener("click", () => {
    for (const details of at("results-list").querySelectorAll("details[data-task]")) details.open = true;
  });
})();
