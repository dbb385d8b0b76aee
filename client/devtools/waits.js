/**
 * What a document waits for, from one reading of the client.
 *
 * @typedef {ReturnType<typeof import('./inspect.js').inspect>['documents'][number]} InspectedDocument
 * @typedef {import('../connection/options.js').ClientState} ClientState
 */

const JOIN = 'the answer of the gateway to its join'
/**
 * Texts by `heldFor`, the reason why events (records, and those of the document) are held.
 * @type {Record<string, string>}
 */
const HOLDERS = {
  joining: JOIN,
  'no listener': 'doc.on(…): the document has no listener yet',
  'load': '`load` to finish',
  resync: 'a listener of `resync` to finish'
}

/** @type {Partial<Record<ClientState, string>>} */
const UNCONNECTED = {
  connecting: 'the first connection',
  reconnecting: 'a new connection',
  refused: 'client.connect(): the gateway refused this client'
}

/**
 * @param {InspectedDocument} document
 * @param {ClientState} state of the client
 * @returns {{ name: string, for: string }[]} name: what waits; two waits of a document differ in name or reason
 */
export function waitsOf ({ status, pending, opened }, state) {
  /** @type {{ name: string, for: string }[]} */
  const waits = []
  if (status === 'idle') waits.push({ name: 'document', for: UNCONNECTED[state] ?? 'its turn to join' })
  if (status === 'joining') waits.push({ name: 'document', for: JOIN })
  if (pending.length > 0) waits.push({ name: 'queued sends', for: 'the gateway to accept them' })
  for (const reason of new Set(opened.flatMap(({ heldFor }) => heldFor)))
    waits.push({ name: 'events', for: HOLDERS[reason] ?? reason })
  return waits
}

/** @param {InspectedDocument} document @returns {string} what its calls wait for */
export const callsWaitFor = ({ status }) => status === 'joined' ? 'the answer of the gateway' : 'the document to be joined'

/** @param {InspectedDocument} document @returns {'idle' | 'joining' | 'loading' | 'live'} */
export function statusOf ({ status, opened }) {
  if (status !== 'joined') return status
  return opened.some((document) => document.status === 'loading') ? 'loading' : 'live'
}
