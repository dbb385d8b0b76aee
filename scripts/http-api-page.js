/**
 * Writes docs/http-api.md: the description of the api (OpenAPI) as a page, whose text the search of the site finds, and
 * which needs no script. Why no renderer: docs/internals/decisions/0140-docs.md
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
  const common = commonOf(all.map(({ operation }) => operation))
  return [
    '# HTTP api: operations',
    '<!-- Generated from src/services/api/operations by "npm run docs": do not edit. -->',
    `${description.info.description} [HTTP api](api.md) explains the operations; [callers](callers.md) says who may call which one. The ` +
    `same description is served as OpenAPI ${description.openapi} at \`/openapi.json\`, ` +
    'and in development at `http://localhost:3001/docs/`, as a page on which you can try the operations. ' +
    'Properties that an example explains are in OpenAPI only.',
    '## Authorization',
    ...Object.entries(description.components.securitySchemes).map(([name, scheme]) => `- **${name}**: ` +
      `${/** @type {any} */ (scheme).description}`),
    ...tags.flatMap(({ name, description: about }) => {
      const own = all.filter(({ operation }) => operation.tags[0] === name)
      if (own.length === 0) return []
      return [`## ${capital(name)}`, ...own.length > 1 ? [`${about}.`] : [], ...own.flatMap((one) => render(one, common))]
    }),
    '## Common parameters',
    'Ids in paths have at most 256 bytes of UTF-8, and no control characters. ' +
    `Every operation that publishes takes ${common.always.map((name) => `\`${name}\``).join(', ')}.`,
    markdownTable(['parameter', 'in', 'type', 'meaning'], common.parameters.map(parameterRow)),
    '## Answer of a publication',
    markdownTable(['property', 'type', 'meaning'], common.answer),
    '## Error answers',
    `Every operation may answer ${codeList(common.errors)}. Operations that publish may also answer ${codeList(common.publishing)}, ` +
    `and operations with a body ${codeList(common.withBody)}. ` +
    '[Errors](errors.md) says what to do about each.',
    'Further codes stand with their operation after "Also".',
    'Errors are answered with `{ "ok": false, "error": { "code", "message", "retryable" } }`, and with `retryInMs` if the ' +
    'time is known.',
    markdownTable(['property', 'type', 'meaning'], rows(description.components.schemas.Error).filter(isShown))
  ].join('\n\n') + '\n'
}

/**
 * @typedef {{ parameters: Parameter[], always: string[], answer: string[][], errors: string[], publishing: string[],
 *   withBody: string[] }} Common what the page says once; `always`: names of parameters of every publication
 */

/** @param {Described[]} operations @returns {Common} */
function commonOf (operations) {
  const publishing = operations.filter(({ parameters = [] }) => parameters.some(({ name }) => name === 'idempotency-key'))
  const named = operations.flatMap(({ parameters = [] }) => parameters)
  const parameters = named.filter((one, i) => named.findIndex((other) => isSame(one, other)) === i)
    .filter((one) => one.in !== 'path' && named.filter((other) => isSame(one, other)).length >= 3)
  const always = parameters.map(({ name }) => name)
    .filter((name) => publishing.every(({ parameters: own = [] }) => own.some((one) => one.name === name)))
  const bodies = operations.filter(({ requestBody }) => requestBody)
  const errors = codesOf(operations[0]).filter((code) => operations.every((one) => codesOf(one).includes(code)))
  return {
    parameters,
    always,
    answer: answerRows(publishing[0]),
    errors,
    publishing: codesOf(publishing[0])
      .filter((code) => !errors.includes(code) && publishing.every((one) => codesOf(one).includes(code))),
    withBody: codesOf(bodies[0]).filter((code) => bodies.every((one) => codesOf(one).includes(code)) &&
      operations.every((one) => bodies.includes(one) || !codesOf(one).includes(code)))
  }
}

/** @param {unknown} one @param {unknown} other */
const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other)

/** @param {Described} operation @returns {string[]} codes of its errors, by status */
const codesOf = ({ responses }) => [...new Set(Object.entries(responses)
  .filter(([code]) => !code.startsWith('2'))
  .flatMap(([, { description }]) => [...description.matchAll(/`([a-z_]+)`/g)].map(([, code]) => code)))]
  .sort((a, b) => statusOf(a) - statusOf(b))

/** @param {string[]} codes */
const codeList = (codes) => codes.map((code) => `\`${code}\` (${statusOf(code)})`).join(', ')

/** @param {Described} operation @returns {[string, Body]} */
const answerOf = ({ responses }) =>
  /** @type {[string, Body]} */ (Object.entries(responses).find(([code]) => code.startsWith('2')))

/** @param {Described} operation @returns {string[][]} */
const answerRows = (operation) => rows(answerOf(operation)[1].content?.['application/json']?.schema ?? {})
  .filter(isShown)

/**
 * A property without a meaning, a mark "optional" or a choice of values is clear from the example.
 * @param {string[]} row
 */
function isShown ([name, type, text]) {
  return text !== '' || name.includes('(optional)') || type.includes(', ')
}

/** @param {Parameter} one */
const parameterRow = (one) => [
  `\`${one.name}\`${one.required ? ' (required)' : ''}`, one.in, typeOf(one.schema), meaning(one.description, one.schema)
]

/** @param {{ path: string, method: string, operation: Described }} one @param {Common} common @returns {string[]} */
function render ({ path, method, operation }, common) {
  const { summary, operationId, parameters = [], requestBody } = operation
  const [status, answer] = answerOf(operation)
  const content = answer.content?.['application/json']
  const answered = answerRows(operation)
  const also = parameters.filter((one) => common.parameters.some((other) => isSame(one, other)))
  const own = parameters.filter((one) => one.in !== 'path' && !also.includes(one))
  const more = also.map(({ name }) => name).filter((name) => !common.always.includes(name))
  const codes = codesOf(operation)
    .filter((code) => ![...common.errors, ...common.publishing, ...common.withBody].includes(code))
  return [
    `### ${operationId}`,
    `\`${METHODS[method]} ${path}\``,
    `${capital(summary)}${/[.]$/.test(summary) ? '' : '.'}`,
    ...own.length > 0 ? [markdownTable(['parameter', 'in', 'type', 'meaning'], own.map(parameterRow))] : [],
    ...more.length > 0 ? [`And ${more.map((name) => `\`${name}\``).join(', ')} ([common parameters](#common-parameters)).`] : [],
    ...requestBody ? [
      '**Body** ' +
      `(${Object.keys(requestBody.content ?? {}).map((type) => `\`${type}\``).join(' or ')}${requestBody.required ? '' : ', optional'}): ` +
      `${requestBody.description}`,
      ...bodyRows(requestBody)
    ] : [],
    ...example(path, method, operation),
    ...isSame(answered, common.answer)
      ? [`**Answer** \`${status}\` ([properties](#answer-of-a-publication))`]
      : [`**Answer** \`${status}\``, ...answered.length > 0 ? [markdownTable(['property', 'type', 'meaning'], answered)] : []],
    ...content?.example === undefined ? [] : [fence('json', JSON.stringify(content.example))],
    ...codes.length > 0 ? [`**Also** ${codeList(codes)}`] : []
  ]
}

/** @param {string} code */
const statusOf = (code) => /** @type {Record<string, { status: number }>} */ (ERRORS)[code].status

/** @param {Body} body @returns {string[]} */
function bodyRows (body) {
  const found = rows(Object.values(body.content ?? {})[0]?.schema ?? {}).filter(isShown)
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
