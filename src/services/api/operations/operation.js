/**
 * One operation of the api. The server registers it and openapi.js describes it from the same entry.
 *
 * @typedef {object} Operation
 * @property {'GET' | 'POST' | 'DELETE'} method
 * @property {string} path ids as `:guid`, `:uid`, `:sid`, `:device`; they are checked before `handle`
 * @property {string} operation its name in metrics and in the description
 * @property {string} summary
 * @property {Record<string, object>} [query] JSON Schema of each parameter of the query
 * @property {string[]} [headers] headers of a publication that mean something here
 * @property {'value' | Body} [body] 'value': any value, which is passed on untouched; absent: there is none
 * @property {Record<string, object>} [answer] JSON Schema of the answer's fields beside `ok`; absent: a publication's
 * @property {Record<string, object>} [optional] fields that are not always there
 * @property {import('../../../base/common/errors.js').ErrorCode[]} [errors] that this operation adds
 * @property {boolean} [publishes] whether everything it does is a publication, and the caller's rights are those to
 *   publish; default: when there is no `answer`
 * @property {(maxRecordBytes: number) => number} [maxBytes] of the body; default: the limit of a record's value
 * @property {(call: Call) => Promise<object | Buffer>} handle the answer, or its JSON
 */

/**
 * A body that the handler reads itself, JSON.
 *
 * @typedef {object} Body
 * @property {object} schema JSON Schema; the description shows it, the handler checks it
 * @property {string} description
 * @property {boolean} [optional] default false
 * @property {boolean} [batch] it is a list of publications, which a door may decode (`Call.batch`); default false
 */

/**
 * What a handler gets, whichever door the call came through.
 *
 * @typedef {object} Call
 * @property {Record<string, string>} params ids of the path, checked
 * @property {unknown} query checked against the operation's schema
 * @property {(name: string) => string | undefined} header text of a header; throws bad_header if it is not UTF-8
 * @property {Buffer | undefined} body untouched bytes
 * @property {string} caller the caller's name
 * @property {number} now ms since 1970
 * @property {import('../../../wire/headers.js').TraceIdSource} random
 * @property {(name: string, value: string) => void} answerHeader
 * @property {(bytes: number) => void} answering counts the bytes of a large answer while it is made: those of all that
 *   there is of it until now. Throws `unavailable`
 * @property {import('../publish.js').Publish} publish checks that the caller may, and names the caller as the source
 * @property {import('../publish-lane.js').PublishLane} publishLane for publications that `admit` has returned
 * @property {BatchItem[]} [batch] what a door has decoded in place of `body`
 * @property {(publication: import('../../../wire/publication.js').Publication) =>
 *   import('../../../wire/publication.js').Publication} admit the check that the caller may, and that of the
 *   publication
 *   itself, for what is published in another way; throws forbidden, rate_limited, or what is wrong with it. Each call
 *   counts as one publication of the caller's rate
 * @property {<T>(bytes: number, decode: () => T) => T} decoding calls `decode`, and charges the caller its CPU time
 * @property {(count?: number) => void} refused charges the caller for publications that were refused before `admit`
 * @property {Pick<import('../../../log/bus/contract.js').Bus, 'positions' | 'history' | 'cut'>} bus
 * @property {Pick<import('../../../people/presence/contract.js').PresenceStore, 'page'>} presence
 * @property {Pick<import('../../../people/sessions/contract.js').SessionStore,
 *   'sessions' | 'lastSeen' | 'session' | 'documents'>} sessions
 * @property {Pick<import('../../../watch/overview/contract.js').OverviewStore, 'read'>} overview
 */

/**
 * The parts that operations work on, the same for all doors; `publish` is that for any caller.
 * @typedef {Pick<Call, 'publish' | 'publishLane' | 'bus' | 'presence' | 'sessions' | 'overview'>} Backend
 *
 * The request as a door has read it.
 * @typedef {Pick<Call, 'params' | 'query' | 'header' | 'body' | 'batch' | 'answerHeader'>} Given
 */

/**
 * @typedef {object} BatchItem
 * @property {unknown} item see wire/item.js
 * @property {Buffer} [value] its value, untouched; default: what the item says
 */

export {}
