/**
 * Writes docs/http-api.md: the description of the api (OpenAPI) as a page, whose text the search of the site finds, and
 * which needs no script. Why no renderer: docs/decisions/0140-docs.md
 */
import { openapi } from '../src/services/api/http/openapi.js'
import { operations } from '../src/services/api/operations/index.js'
import { ERRORS } from '../src/base/common/errors.js'
import { limits } from '../src/config/limit-settings.js'
import { markdownTable } from './markdown-table.js'

/**
 * @typedef {{ type?: string, enum?: unknown[], const?: unknown, default?: unknown, description?: string,
 *   minimum?: number, maximum?: number, minLength?: number, maxLength?: number, pattern?: string, required?: string[],
 *   properties?: Record<string, Schema>, items?: Schema, anyOf?: Schema[], oneOf?: Schema[],
 *   additionalProperties?: Schema | boolean }} Schema
 * @typedef {{ name: string, in: string, required: boolean, schema: Schema, description?: string,
 *   example?: unknown }} Parameter
 * @typedef {{ schema: Schema, example?: unknown }} Content
 * @typedef {{ description: string, content?: Record<string, Content> }} Body
 * @typedef {{ operationId: string, summary: string, tags: string[], parameters?: Parameter[],
 *   requestBody?: Body & { required: boolean }, responses: Record<string, Body> }} Described
 */

const METHODS = /** @type {Record<string, string>} */ ({ get: 'GET', post: 'POST', put: 'PUT', delete: 'DELETE' })

/** @returns {string} the page */
export function httpApiPage () {
  const maxRecordBytes = Number(limits.settings.MAX_RECORD_BYTES.default)
  const description = /** @type {any} */ (openapi(operations, { maxRecordBytes }))
  /** @type {{ path: string, method: string, operation: Described }[]} */
  const all = Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })))
  const tags = /** @type {{ name: string, description: string }[]} */ (description.tags)
  return [
    '# HTTP api: operations',
    '<!-- Generated from src/services/api/operations by "npm run docs": do not edit. -->',
    `${description.info.description} [HTTP api](api.md) explains the operations; [callers](callers.md) says who may call which one. The ` +
    `same description is served as OpenAPI ${description.openapi} at \`/openapi.json\`, ` +
    'and in development at `http://localhost:3001/docs/`, as a page on which you can try the operations.',
    '## Authorization',
    ...Object.entries(description.components.securitySchemes).map(([name, scheme]) => `- **${name}**: ` +
      `${/** @type {any} */ (scheme).description}`),
    ...tags.flatMap(({ name, description: about }) => {
      const own = all.filter(({ operation }) => operation.tags[0] === name)
      return own.length === 0 ? [] : [`## ${capital(name)}`, `${about}.`, ...own.flatMap(render)]
    }),
    '## Error answers',
    'Every operation answers errors with `{ "ok": false, "error": { "code", "message", "retryable" } }`, and with `retryInMs` if the ' +
    'time is known.',
    markdownTable(['property', 'type', 'meaning'], rows(description.components.schemas.Error))
  ].join('\n\n') + '\n'
}

/** @param {{ path: string, method: string, operation: Described }} one @returns {string[]} */
function render ({ path, method, operation }) {
  const { summary, operationId, parameters = [], requestBody, responses } = operation
  const answers = Object.entries(responses)
  const [status, answer] = /** @type {[string, Body]} */ (answers.find(([code]) => code.startsWith('2')))
  const codes = answers
    .filter(([code]) => !code.startsWith('2'))
    .flatMap(([, { description }]) => [...description.matchAll(/`([a-z_]+)`/g)].map(([, code]) => code))
  const content = answer.content?.['application/json']
  const answered = content === undefined ? [] : rows(content.schema)
  return [
    `### ${operationId}`,
    `\`${METHODS[method]} ${path}\``,
    `${capital(summary)}${/[.]$/.test(summary) ? '' : '.'}`,
    ...parameters.length > 0 ? [markdownTable(['parameter', 'in', 'type', 'meaning'], parameters.map((one) => [
      `\`${one.name}\`${one.required ? ' (required)' : ''}`, one.in, typeOf(one.schema), meaning(one.description, one.schema)
    ]))] : [],
    ...requestBody ? [
      '**Body** ' +
      `(${Object.keys(requestBody.content ?? {}).map((type) => `\`${type}\``).join(' or ')}${requestBody.required ? '' : ', optional'}): ` +
      `${requestBody.description}`,
      ...bodyRows(requestBody)
    ] : [],
    ...example(path, method, operation),
    `**Answer** \`${status}\``,
    ...answered.length > 0 ? [markdownTable(['property', 'type', 'meaning'], answered)] : [],
    ...content?.example === undefined ? [] : [fence('json', JSON.stringify(content.example, null, 2))],
    '**Errors**: ' +
    `${[...new Set(codes)].sort((a, b) => statusOf(a) - statusOf(b)).map((code) => `\`${code}\` (${statusOf(code)})`).join(', ')}. ` +
    '[Errors](errors.md) says what to do about each.'
  ]
}

/** @param {string} code */
const statusOf = (code) => /** @type {Record<string, { status: number }>} */ (ERRORS)[code].status

/** @param {Body} body @returns {string[]} */
function bodyRows (body) {
  const found = rows(Object.values(body.content ?? {})[0]?.schema ?? {})
  return found.length > 0 ? [markdownTable(['property', 'type', 'meaning'], found)] : []
}

/** @param {string} path @param {string} method @param {Described} operation @returns {string[]} a command line */
function example (path, method, { parameters = [], requestBody }) {
  const url = path.replaceAll(
    /\{(\w+)\}/g, (_, name) => encodeURIComponent(String(parameters.find((one) => one.name === name)?.example ?? name))
  )
  const query = new URLSearchParams(parameters
    .filter((one) => one.in === 'query' && one.example !== undefined)
    .map((one) => [one.name, String(one.example)]))
  const sent = requestBody?.content?.['application/json']?.example
  return [fence('text', [
    `curl ${method === 'get' ? '' : `-X ${METHODS[method]} `}'http://localhost:3001${url}${query.size > 0 ? `?${query}` : ''}'`,
    ...sent === undefined ? [] : ['-H \'content-type: application/json\'', `-d '${JSON.stringify(sent)}'`]
  ].join(' \\\n  '))]
}

/** @param {Schema} schema @param {string} [prefix] @returns {string[][]} a row per property, also of nested ones */
function rows (schema, prefix = '') {
  const required = schema.required ?? []
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const path = `${prefix}${name}`
    return [
      [
        `\`${path}\`${required.length > 0 && !required.includes(name) ? ' (optional)' : ''}`, typeOf(property),
        meaning(undefined, property)
      ],
      ...rows(property, `${path}.`),
      ...rows(property.items ?? {}, `${path}[].`)
    ]
  })
}

/** @param {Schema} schema @returns {string} */
function typeOf (schema) {
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``
  if (schema.enum !== undefined) return schema.enum.length > 12 ? 'a code' : schema.enum.map((value) => `\`${value}\``).join(', ')
  const one = schema.anyOf ?? schema.oneOf
  if (one !== undefined) return one.map(typeOf).join(' or ')
  if (schema.type === 'array') return `array of ${typeOf(schema.items ?? {})}`
  return Array.isArray(schema.type) ? schema.type.join(' or ') : schema.type ?? 'any'
}

/** @param {string | undefined} description @param {Schema} schema */
function meaning (description, schema) {
  const bounds = [
    schema.minimum !== undefined && schema.maximum !== undefined
      ? `${schema.minimum} to ${schema.maximum}`
      : schema.minimum !== undefined ? `at least ${schema.minimum}` : '',
    schema.default === undefined ? '' : `default \`${schema.default}\``
  ].filter(Boolean).join('; ')
  return [description ?? schema.description ?? '', bounds].filter(Boolean).join('. ')
}

/** @param {string} text */
const capital = (text) => text[0].toUpperCase() + text.slice(1)

/** @param {string} language @param {string} text */
const fence = (language, text) => `\`\`\`${language}\n${text}\n\`\`\``
