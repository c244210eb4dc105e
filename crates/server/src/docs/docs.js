// The page at /docs: reads /openapi.json and renders it. Its texts are set as text, never as markup.
// A schema is rendered when it is opened, so nested schemas cost nothing before.

const METHODS = ["get", "post", "delete"];
const main = document.getElementById("operations");
const contents = document.getElementById("contents");
const search = document.getElementById("search");
const found = document.getElementById("found");

/** An element with attributes and children; strings become text. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child != null && child !== false));
  return element;
}

/** Text in which only backticks have a meaning: they enclose code. */
function prose(text) {
  return (text ?? "").split("`").map((part, at) => (at % 2 ? make("code", {}, part) : part));
}

function table(headings, rows) {
  const head = make("tr", {}, headings.map((heading) => make("th", { scope: "col" }, heading)));
  return make("div", { class: "scroll" }, make("table", {}, make("thead", {}, head), make("tbody", {}, rows)));
}

/** Reads a description and follows its references. */
class Reader {
  constructor(root) {
    this.root = root;
    this.codes = root.components.schemas.Problem.properties.code.enum;
  }

  /** The target of a reference, merged with the keywords beside the reference. */
  follow(thing) {
    let beside = {};
    while (thing && typeof thing === "object" && thing.$ref) {
      const { $ref, ...rest } = thing;
      beside = { ...rest, ...beside };
      thing = $ref.slice(2).split("/").reduce((at, key) => at?.[key], this.root);
    }
    return Object.keys(beside).length ? { ...thing, ...beside } : (thing ?? {});
  }

  nameOf(thing) {
    return thing?.$ref?.split("/").pop();
  }

  /** The alternatives of a schema, without null; null if it has none. */
  choices(schema) {
    const list = schema.oneOf ?? schema.anyOf;
    return list?.every((one) => one.$ref || one.type || one.const !== undefined) ? list.filter((one) => one.type !== "null") : null;
  }

  /** A schema's type in a few words: `string`, `list of Job`, `Lease or null`. */
  type(given) {
    const schema = this.follow(given);
    const name = this.nameOf(given);
    if (schema.const !== undefined) return JSON.stringify(schema.const);
    const choices = this.choices(schema);
    if (choices && !schema.properties) {
      const nullable = (schema.oneOf ?? schema.anyOf).some((one) => one.type === "null");
      const words = name && choices.length > 1 ? name : choices.map((one) => this.type(one)).join(" or ");
      return nullable ? `${words} or null` : words;
    }
    if (schema.type === "array") return `list of ${this.type(schema.items)}`;
    if (name && (schema.properties || schema.allOf)) return name;
    if (schema.type === "object" && schema.additionalProperties?.$ref) return `map to ${this.type(schema.additionalProperties)}`;
    const types = [schema.type ?? (schema.properties || schema.allOf ? "object" : "any")].flat();
    const words = types.join(" or ");
    return name ? `${name} (${words})` : schema.format ? `${words} (${schema.format})` : words;
  }

  /** The constraints of a value, one phrase each. */
  bounds(given) {
    const s = this.follow(given);
    if (s.const !== undefined) return [];
    const choices = this.choices(s);
    if (choices?.length === 1) return this.bounds(choices[0]);
    const range = (low, high, unit) => {
      if (low == null && high == null) return null;
      const words = high == null ? `from ${low}` : low == null ? `up to ${high}` : `${low} to ${high}`;
      return unit ? `${words} ${unit}` : words;
    };
    const wide = (n) => n?.toLocaleString("en");
    return [
      s.enum && `one of ${s.enum.map((value) => `\`${value}\``).join(", ")}`,
      range(wide(s.minimum), wide(s.maximum)),
      range(wide(s.minLength), wide(s.maxLength), "characters"),
      range(wide(s.minItems), wide(s.maxItems), "items"),
      s.examples && `such as ${s.examples.map((value) => `\`${value}\``).join(", ")}`,
      s.pattern && !s.examples && !s.format && !this.nameOf(given) && `matches \`${s.pattern}\``,
      s.default !== undefined && `default \`${JSON.stringify(s.default)}\``,
    ].filter(Boolean);
  }

  /** The members of an object, including those of `allOf` and of references; later ones win. */
  members(given) {
    const schema = this.follow(given);
    const all = { properties: {}, required: new Set(schema.required) };
    for (const part of schema.allOf ?? []) {
      const { properties, required } = this.members(part);
      for (const [name, one] of Object.entries(properties)) all.properties[name] = { ...this.follow(all.properties[name]), ...one };
      required.forEach((name) => all.required.add(name));
    }
    Object.assign(all.properties, schema.properties);
    return all;
  }

  /** Whether a schema has details to show. */
  hasInside(given) {
    const schema = this.follow(given);
    if (schema.type === "array") return this.hasInside(schema.items);
    if (schema.properties || schema.allOf) return true;
    if (schema.additionalProperties?.$ref && this.hasInside(schema.additionalProperties)) return true;
    return Boolean(this.choices(schema)?.some((one) => this.hasInside(one)));
  }

  /** The table of a schema's members; one table for each alternative. */
  inside(given) {
    const schema = this.follow(given);
    if (schema.type === "array") return this.inside(schema.items);
    if (!schema.properties && !schema.allOf) {
      const choices = (this.choices(schema) ?? [schema.additionalProperties]).filter((one) => this.hasInside(one));
      if (choices.length === 1) return this.inside(choices[0]);
      return make("div", {}, choices.map((one) => this.fold(this.choiceName(one), one)));
    }
    const { properties, required } = this.members(given);
    return table(["member", "type", ""], Object.entries(properties).map(([name, one]) => this.member(name, one, required.has(name))));
  }

  /** The title of an alternative: its name, or its members. */
  choiceName(one) {
    return this.nameOf(one) ?? `{ ${Object.keys(this.members(one).properties).join(", ")} }`;
  }

  member(name, schema, required) {
    const words = this.follow(schema).description;
    return make(
      "tr", {},
      make("th", { scope: "row", class: "name" }, name, required && make("span", { class: "required", title: "always there" }, " *")),
      make("td", { class: "type" }, this.type(schema)),
      make("td", {}, make("p", {}, prose(words)), this.bounds(schema).map((one) => make("span", { class: "bounds" }, prose(one))),
        this.hasInside(schema) && this.fold("members", schema)),
    );
  }

  /** A disclosure with a schema, rendered when it is opened. */
  fold(word, schema, open = false) {
    const box = make("div");
    const draw = () => box.firstChild ?? box.append(this.inside(schema));
    if (open) draw();
    return make("details", { class: "schema", open, toggle: (event) => event.target === event.currentTarget && draw() }, make("summary", {}, word), box);
  }

  content(content, open) {
    return Object.entries(content ?? {}).map(([media, { schema }]) => {
      const type = schema ? this.type(schema) : "";
      const label = [make("code", {}, media), type && ` ${type}`];
      return schema && this.hasInside(schema) ? this.fold(make("span", {}, label), schema, open) : make("p", { class: "type" }, label);
    });
  }
}

/** A curl command for the call. */
function curl(reader, method, path, operation, parameters) {
  const value = (one) => encodeURIComponent(one.example ?? one.name.toUpperCase());
  let url = path.replace(/\{(\w+)\}/g, (_, name) => value(parameters.find((one) => one.in === "path" && one.name === name) ?? { name }));
  const query = parameters.filter((one) => one.in === "query" && one.required).map((one) => `${one.name}=${value(one)}`);
  if (query.length) url += `?${query.join("&")}`;
  const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const words = ["curl"];
  const body = operation.requestBody && Object.entries(reader.follow(operation.requestBody).content)[0];
  if (method !== "get" && !(method === "post" && body)) words.push(`-X ${method.toUpperCase()}`);
  const answers = Object.keys(reader.follow(operation.responses["200"]).content ?? {});
  if (answers[0] === "text/event-stream") words.push("-N");
  if (!operation.security || operation.security.length) words.push('-H "Authorization: Bearer $TENURE_KEY"');
  if (body) words.push(`-H 'Content-Type: ${body[0]}' -d ${quote(JSON.stringify(body[1].example ?? {}))}`);
  words.push(quote(location.origin + url));
  return words.join(" ");
}

function parameterTable(reader, parameters) {
  return table(["parameter", "in", "type", ""], parameters.map((one) => make(
    "tr", {},
    make("th", { scope: "row", class: "name" }, one.name, one.required && make("span", { class: "required", title: "required" }, " *")),
    make("td", { class: "type" }, one.in),
    make("td", { class: "type" }, reader.type(one.schema ?? {})),
    make("td", {}, make("p", {}, prose(one.description)), reader.bounds(one.schema ?? {}).map((bound) => make("span", { class: "bounds" }, prose(bound)))),
  )));
}

function answerRow(reader, status, given) {
  const answer = reader.follow(given);
  const headers = Object.entries(answer.headers ?? {}).map(([name, header]) =>
    make("span", { class: "bounds" }, make("code", {}, name), ": ", prose(reader.follow(header).description)));
  const words = prose(answer.description);
  const codes = status >= 400 ? words.filter((part) => reader.codes.includes(part.textContent)) : [];
  codes.forEach((code) => code.replaceChildren(make("a", { href: `/problems/${code.textContent}` }, code.textContent)));
  return make("tr", {}, make("th", { scope: "row", class: "name" }, status),
    make("td", {}, make("p", {}, words), headers, reader.content(answer.content, false)));
}

function drawInside(reader, method, path, item, operation) {
  const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map((one) => reader.follow(one));
  const body = operation.requestBody && reader.follow(operation.requestBody);
  const line = curl(reader, method, path, operation, parameters);
  const answers = Object.entries(operation.responses).map(([status, answer]) => answerRow(reader, status, answer));
  return make(
    "div", { class: "inside" },
    operation.description && make("p", {}, prose(operation.description)),
    parameters.length > 0 && [make("h3", {}, "Parameters"), parameterTable(reader, parameters)],
    body && [make("h3", {}, body.required ? "Body" : "Body, may be left out"), reader.content(body.content, true)],
    make("h3", {}, "Example"), make("pre", { tabindex: "0" }, make("code", {}, line)),
    make("h3", {}, "Answers"), table(["status", ""], answers),
  );
}

/** One operation, as a disclosure. Returns the text to search in. */
function draw(reader, method, path, item, operation) {
  const box = make(
    "details", { class: "operation", id: operation.operationId },
    make("summary", {}, make("span", { class: `method ${method}` }, method.toUpperCase()), make("span", { class: "path" }, path),
      make("span", { class: "words" }, operation.summary)),
  );
  box.addEventListener("toggle", (event) => {
    if (event.target === box && box.open && box.childElementCount === 1) box.append(drawInside(reader, method, path, item, operation));
  });
  const link = make("li", {}, make("a", { href: `#${operation.operationId}` }, operation.summary));
  const codes = JSON.stringify(Object.values(operation.responses).map((answer) => reader.follow(answer).description));
  const text = `${method} ${path} ${JSON.stringify(operation)} ${codes}`.toLowerCase();
  return { box, link, text };
}

function show(root) {
  const reader = new Reader(root);
  const groups = [];
  for (const tag of root.tags ?? []) {
    const list = [];
    for (const [path, item] of Object.entries(root.paths)) {
      for (const method of METHODS.filter((one) => item[one]?.tags?.includes(tag.name))) {
        list.push(draw(reader, method, path, item, item[method]));
      }
    }
    const section = make("section", {}, make("h2", {}, tag.name), make("p", {}, prose(tag.description)), list.map((one) => one.box));
    const part = make("div", {}, make("h2", {}, tag.name), make("ul", {}, list.map((one) => one.link)));
    groups.push({ section, part, list });
  }
  const about = root.info.description?.split("\n\n").map((text) => make("p", {}, prose(text)));
  main.replaceChildren(make("div", {}, about), ...groups.map((group) => group.section));
  contents.replaceChildren(...groups.map((group) => group.part));
  search.addEventListener("input", () => filter(groups));
  if (search.value) filter(groups);
}

/** Shows only operations that contain every word of the search. */
function filter(groups) {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const { section, part, list } of groups) {
    let any = false;
    for (const { box, link, text } of list) {
      const fits = words.every((word) => text.includes(word));
      box.hidden = link.hidden = !fits;
      any ||= fits;
      count += fits;
    }
    section.hidden = part.hidden = !any;
  }
  found.textContent = words.length ? `${count} found` : "";
}

/** Opens the operation that the address names. */
function goToHash() {
  const target = document.getElementById(location.hash.slice(1));
  if (!target?.classList.contains("operation")) return;
  target.open = true;
  target.scrollIntoView();
  target.querySelector("summary").focus({ preventScroll: true });
}

function keys(event) {
  const typing = event.target.matches?.("input, textarea");
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    search.focus();
    search.select();
  } else if (event.key === "Escape" && event.target === search) {
    search.value = "";
    search.dispatchEvent(new Event("input"));
  } else if (event.key === "Enter" && event.target === search) {
    event.preventDefault();
    main.querySelector(".operation:not([hidden]) > summary")?.focus();
  }
}

try {
  const answer = await fetch("/openapi.json");
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  show(await answer.json());
  document.addEventListener("keydown", keys);
  addEventListener("hashchange", goToHash);
  goToHash();
} catch (error) {
  main.replaceChildren(make("p", { class: "trouble", role: "alert" }, `/openapi.json cannot be shown: ${error.message}`));
}
