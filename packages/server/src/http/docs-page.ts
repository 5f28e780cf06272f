/**
 * The page /docs shows the contract to people. It is HTML without scripts, made from the OpenAPI document at the first request. A viewer
 * library would need megabytes of JavaScript, external fonts and a weaker Content-Security-Policy (docs/decisions/0008).
 */
// biome-ignore lint/suspicious/noExplicitAny: the document is JSON of this service, and only displayed.
type Json = any;

/** Returns the HTML page for an OpenAPI document. */
export function docsPage(document: Json): string {
  const entries = Object.entries<Json>(document.paths);
  const operations = entries.flatMap(([path, { post }]) => (post === undefined ? [] : [{ path, ...post }]));
  const sections = document.tags.map((tag: Json) => ({
    tag,
    operations: operations.filter(({ tags }: Json) => tags.includes(tag.name)),
  }));
  const readEndpoints = entries.flatMap(([path, { get }]) => (get === undefined ? [] : [{ path, ...get }]));
  const schemas = Object.entries<Json>(document.components.schemas);
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${escapeHtml(document.info.title)} ${document.info.version}</title><style>${STYLE}</style></head><body>
<nav><h1>${escapeHtml(document.info.title)}</h1><p>version ${document.info.version} · <a href="/openapi.json">openapi.json</a></p>
${sections.map(({ tag, operations }: Json) => `<h2>${tag.name}</h2>${linksTo(operations)}`).join('')}
<h2>Reading</h2>${linksTo(readEndpoints)}
<h2>Schemas</h2><ul>${schemas.map(([name]) => `<li><a href="#schema-${name}">${name}</a></li>`).join('')}</ul></nav>
<main><p class="lead">${escapeHtml(document.info.description)}</p>
<p>Send the key as <code>Authorization: Bearer &lt;key&gt;</code>, or as <code>X-Service-Key</code>. Bodies under <code>/api/</code> are JSON.</p>
${sections.map(({ tag, operations }: Json) => `<h2>${tag.name}</h2>${paragraphs(tag.description)}${operations.map(operationSection).join('')}`).join('')}<h2>Reading</h2><p>For auditors and automation, with a read token (<code>Authorization: Bearer aa_read_…</code>): it can read, but not write.</p>
${readEndpoints.map(readEndpointSection).join('')}<h2>Schemas</h2>${schemas.map(([name, schema]) => schemaSection(name, schema)).join('')}</main></body></html>`;
}

const linksTo = (endpoints: readonly Json[]): string =>
  `<ul>${endpoints.map(({ operationId, path }) => `<li><a href="#${operationId}">${escapeHtml(path)}</a></li>`).join('')}</ul>`;

function operationSection({ operationId, path, summary, description, parameters = [], requestBody, responses }: Json): string {
  const { schema, examples = {} } = requestBody.content['application/json'];
  const response = responses[200].content['application/json'];
  const exampleSections = Object.keys(examples).map((name) => exampleSection(path, examples[name], response.examples[name]));
  const types = Object.keys(requestBody.content);
  const mediaTypeNote =
    types.length === 1
      ? ''
      : ` Sent as ${types.map((type) => `<code>${type}</code>`).join(' or ')}; the response has the same type.`;
  return `<section id="${operationId}"><h3><span class="method">POST</span> ${escapeHtml(path)}</h3><p>${escapeHtml(summary)}.</p>${paragraphs(description)}
<p>Body: ${(schema.anyOf ?? [schema]).map(({ allOf: [reference] = [], ...schema }: Json) => typeOf(reference ?? schema)).join(' or ')}. Response: ${typeOf(response.schema)}.${mediaTypeNote}</p>${exampleSections.join('')}
${parameters.length === 0 ? '' : `<h4>Request headers</h4>${parameterTable(parameters)}`}${responseHeaders(responses)}
<details><summary>Errors</summary><table><tbody>${Object.entries<Json>(responses)
    .filter(([status]) => status !== '200')
    .map(([status, response]) => `<tr><th scope="row">${status}</th><td>${paragraphs(response.description)}</td></tr>`)
    .join('')}</tbody></table></details></section>`;
}

function readEndpointSection({ operationId, path, summary, description, parameters = [], responses }: Json): string {
  const table = parameters.length === 0 ? '' : parameterTable(parameters);
  return `<section id="${operationId}"><h3><span class="method">GET</span> ${escapeHtml(path)}</h3><p>${escapeHtml(summary)}.</p>${paragraphs(description)}
${table}<p>Response: ${Object.keys(responses[200].content).join(' or ')}.</p>${responseHeaders(responses)}</section>`;
}

/** A table of parameters or headers with their types and meanings. */
function parameterTable(parameters: readonly Json[]): string {
  const rows = parameters.map(
    ({ name, required = false, schema, description }: Json) =>
      `<tr><th scope="row"><code>${name}</code></th><td>${typeOf(schema)}${required ? ' <b>required</b>' : ''}</td><td>${paragraphs(description)}</td></tr>`,
  );
  return `<div class="wide"><table><tbody>${rows.join('')}</tbody></table></div>`;
}

function responseHeaders(responses: Json): string {
  const headers = Object.entries<Json>(responses[200].headers).map(([name, header]) => ({ name, ...header }));
  return `<details><summary>Response headers</summary>${parameterTable(headers)}</details>`;
}

function exampleSection(path: string, request: Json, response: Json): string {
  return `<h4>${escapeHtml(request.summary)}</h4>${pre(`POST ${path}\n${JSON.stringify(request.value, null, 2)}`)}${pre(`200\n${JSON.stringify(response.value, null, 2)}`)}`;
}

function schemaSection(name: string, schema: Json): string {
  return `<section id="schema-${name}"><h3>${name}</h3><p>${escapeHtml(schema.description ?? '')}</p><div class="wide"><table><thead><tr><th>member</th><th>type</th><th>meaning</th></tr></thead><tbody>${memberRows(schema)}</tbody></table></div></section>`;
}

/** The rows of an object's members. The members of a nested object follow it, with its name as prefix. */
function memberRows({ properties = {}, required = [] }: Json, prefix = ''): string {
  return Object.entries<Json>(properties)
    .map(([member, property]) => {
      const isRequired = required.includes(member);
      const type = `${typeOf(property)}${canBeNull(property, isRequired || prefix !== '') ? ' or null' : ''}`;
      return `<tr><th scope="row"><code>${prefix}${member}</code></th><td>${type}${isRequired ? ' <b>required</b>' : ''}</td><td>${escapeHtml(property.description ?? '')}${bounds(property)}</td></tr>${memberRows(property, `${prefix}${member}.`)}`;
    })
    .join('');
}

/** Whether null is a distinct value. In an optional member of a request, null means that the member is absent. */
const canBeNull = ({ type }: Json, isPresent: boolean): boolean => isPresent && Array.isArray(type) && type.includes('null');

function typeOf(schema: Json): string {
  if (schema.$ref !== undefined) {
    const name = String(schema.$ref).split('/').at(-1)!;
    return `<a href="#schema-${name}">${name}</a>`;
  }
  if (schema.anyOf !== undefined)
    return schema.anyOf
      .filter(({ type }: Json) => type !== 'null')
      .map(typeOf)
      .join(' or ');
  const types = (Array.isArray(schema.type) ? schema.type : [schema.type ?? 'any']).filter((type: string) => type !== 'null');
  const item = schema.items === undefined ? '' : ` of ${typeOf(schema.items)}`;
  const format = schema.format === undefined || NUMBER_FORMATS.has(schema.format) ? '' : ` (${schema.format})`;
  return `${types.join(' or ')}${item}${format}`;
}

/** Formats for generators of clients. The page leaves them out. */
const NUMBER_FORMATS: ReadonlySet<string> = new Set(['int32', 'int64', 'double']);

function bounds(schema: Json): string {
  const rules = [
    schema.enum && `one of ${schema.enum.filter((value: unknown) => value !== null).join(', ')}`,
    schema.default !== undefined && `default ${JSON.stringify(schema.default)}`,
    schema.minimum !== undefined && `from ${schema.minimum}`,
    schema.maximum !== undefined && `to ${schema.maximum}`,
    schema.maxLength !== undefined && `at most ${schema.maxLength} characters`,
    schema.maxItems !== undefined && `at most ${schema.maxItems} items`,
  ].filter(Boolean);
  return rules.length === 0 ? '' : ` <small>${escapeHtml(rules.join(', '))}</small>`;
}

const paragraphs = (text: string): string =>
  text
    .split('\n\n')
    .map((paragraph) => `<p>${escapeHtml(paragraph).replace(/`([^`]+)`/g, '<code>$1</code>')}</p>`)
    .join('');
const pre = (text: string): string => `<pre tabindex="0">${escapeHtml(text)}</pre>`;
const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

const STYLE = `:root{color-scheme:light dark;--line:light-dark(#d8dee6,#333b46);--soft:light-dark(#f4f6f9,#1a1f26);--link:light-dark(#0b5cad,#7db8ff)}
body{font:16px/1.55 system-ui,sans-serif;margin:0;display:grid;grid-template-columns:minmax(15rem,20rem) minmax(0,1fr)}
nav{padding:1.5rem;border-right:1px solid var(--line);position:sticky;top:0;height:100vh;overflow:auto;box-sizing:border-box;font-size:.875rem}
nav ul{list-style:none;padding:0}nav li{margin:.35rem 0;overflow-wrap:anywhere}nav h1{margin:0}
main{padding:1.5rem clamp(1rem,4vw,3rem);max-width:64rem}a{color:var(--link)}.lead{font-size:1.15rem}h2{margin-top:2.5rem;overflow-wrap:anywhere}
.method{font-size:.75em;padding:.15em .5em;border-radius:.3em;background:light-dark(#0b5cad,#7db8ff);color:light-dark(#fff,#0d1117)}
pre,code{font-family:ui-monospace,monospace;font-size:.875em}pre{background:var(--soft);border:1px solid var(--line);border-radius:.4rem;padding:1rem;overflow:auto;max-height:28rem}
table{border-collapse:collapse;width:100%;font-size:.9rem}th,td{text-align:left;vertical-align:top;padding:.4rem .8rem .4rem 0;border-bottom:1px solid var(--line)}td p{margin:0 0 .4rem}
.wide{overflow-x:auto}small{opacity:.75}summary{cursor:pointer;font-weight:600;margin:1rem 0}
@media(max-width:48rem){body{grid-template-columns:minmax(0,1fr)}nav{position:static;height:auto;border-right:0;border-bottom:1px solid var(--line)}}`;
