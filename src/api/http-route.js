/**
 * One operation of the HTTP api. The server registers it and openapi.js describes it from the same entry.
 *
 * @typedef {object} Route
 * @property {'GET' | 'POST' | 'DELETE'} method
 * @property {string} path ids as `:guid`, `:uid`, `:sid`; they are checked before `handle`
 * @property {string} operation its name in metrics and in the description
 * @property {string} summary
 * @property {Record<string, object>} [query] JSON Schema of each parameter of the query
 * @property {string[]} [headers] headers of a publication that mean something here
 * @property {'value' | 'revoke' | 'position'} [value] what the body is: any value, the user of a revoke, or a position;
 *   absent: there is none
 * @property {Record<string, object>} [answer] JSON Schema of the answer's fields beside `ok`; absent: a publication's
 * @property {Record<string, object>} [optional] fields that are not always there
 * @property {(call: Call) => Promise<object | Buffer>} handle the answer, or its JSON
 */

/**
 * What a handler gets.
 *
 * @typedef {object} Call
 * @property {Record<string, string>} params ids of the path, checked
 * @property {unknown} query checked against the route's schema
 * @property {import('node:http').IncomingHttpHeaders} headers
 * @property {Buffer | undefined} body untouched bytes
 * @property {string} caller the caller's name
 * @property {number} now ms since 1970
 * @property {(name: string, value: string) => void} answerHeader
 * @property {import('./publish.js').Publish} publish
 * @property {Pick<import('../bus/contract.js').Bus, 'positions' | 'history' | 'cut'>} bus
 * @property {Pick<import('../presence/contract.js').PresenceStore, 'page'>} presence
 * @property {Pick<import('../sessions/contract.js').SessionStore, 'sessions'>} sessions
 */

export {}
