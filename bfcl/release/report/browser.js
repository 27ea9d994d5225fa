// The conversations of a run.
(() => {
  const STATUSES = ["passed", "failed", "error", "not_applicable"];
  let systems = [];

  const words = (row) => {
    const parts = [row.id, row.intent ?? "", row.why ?? ""];
    for (const [who, what] of row.turns) {
      if (who !== "calls") parts.push(what);
      else for (const [name, args, result] of what) parts.push(name, ...args.flat(), result ?? "");
    }
    return parts.join("\n");
  };

  const summary = (row) => {
    const said = row.turns.find(([who]) => who === "user");
    const about = [row.template, row.policy, row.category, row.difficulty].filter(Boolean).join(" · ");
    const first = node("bdi", { class: "first", lang: row.language, dir: "auto" }, said ? said[1] : row.id);
    const made = [first, node("span", { class: "about" }, about)];
    if (row.outcome !== "published") made.push(node("span", { class: "about lost" }, ` · lost: ${row.outcome}`));
    return made;
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

  const checks = (assertions) =>
    node("ul", { class: "checks", "aria-label": "Assertions" }, ...assertions.map(([name, status, detail]) =>
      node("li", { class: `status ${STATUSES.includes(status) ? status : ""}` },
        `${name} ${status}${detail ? `: ${detail}` : ""}`)));

  listing({
    section: "conversations",
    fields: ["outcome", "template", "policy", "category", "difficulty", "language"],
    noun: "task",
    absent: "Conversations",
    read: (packed) => {
      systems = packed.systems;
      return packed.rows;
    },
    key: (row) => row.id,
    words,
    summary,
    whole: conversation,
    fits: (row, field, value) => (row[field] ?? "(none)") === value
      || (field === "outcome" && value === "lost" && row.outcome !== "published"),
    options: (field, options, counts, all) => {
      const lost = all - (counts.get("published") ?? 0);
      if (field === "outcome" && lost) options.unshift(["lost", lost]);
    },
  });
})();
