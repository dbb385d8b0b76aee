/**
 * An example of every operation, for the description of the api. A test runs each and compares its answer.
 *
 * @typedef {object} Example
 * @property {Record<string, string>} [ids] of the path
 * @property {Record<string, unknown>} [query]
 * @property {unknown} [body] JSON
 * @property {object} answer
 */

const GUID = 'minutes'
const UID = 'ada'
const DEVICE = 'board-1'
const SID = 'AAaGgsx1uAABr3Q9kPz7'
const TRACE = 'JxH2dM0nQvK8wz5c'
const POSITION = { epoch: 'k3JxT9aQ', offset: 42 }
const ACCEPTED = { ok: true, traceId: TRACE }
/** Of an order: the connections that it was carried out for, and their workers. A restore concerns none. */
const CARRIED_OUT = { ...ACCEPTED, connections: 2, workers: 1 }
const RESTORED = { ...ACCEPTED, connections: 0, workers: 0 }
const CONNECTION = {
  sid: SID, worker: 0, client: 'tab-7', transport: 'websocket', listener: 'socketio', lastSeen: 1767225660000, documents: [GUID],
  connectedAt: 1767225600000
}
const RECORD = {
  offset: 42, event: 'edit', traceId: TRACE, timestamp: 1767225600000, source: 'editor',
  contentType: 'application/json', value: { text: 'hello' }
}
const FAREWELL = { code: 'archived', reason: 'This document was archived' }

/** @type {Record<string, Example>} by operation */
export const EXAMPLES = {
  broadcast: { ids: { guid: GUID }, body: { text: 'hello' }, answer: { ...ACCEPTED, position: POSITION } },
  sendToUser: { ids: { uid: UID }, body: { title: 'You were mentioned' }, answer: ACCEPTED },
  sendToDevice: { ids: { device: DEVICE }, body: { reboot: true }, answer: ACCEPTED },
  sendToSocket: { ids: { sid: SID }, body: { saved: true }, answer: ACCEPTED },
  sendToEveryone: { body: { maintenance: '2026-01-01T00:00:00Z' }, answer: ACCEPTED },
  publishBatch: {
    body: {
      publications: [
        { guid: GUID, event: 'edit', value: { text: 'hello' } },
        { operator: 'user', uid: UID, value: { title: 'You were mentioned' } }
      ]
    },
    answer: { ok: true, failed: 0, results: [{ ...ACCEPTED, position: POSITION }, ACCEPTED] }
  },
  kickUser: { ids: { uid: UID }, answer: CARRIED_OUT },
  kickDevice: { ids: { device: DEVICE }, answer: { ...CARRIED_OUT, connections: 1 } },
  kickSocket: { ids: { sid: SID }, answer: { ...CARRIED_OUT, connections: 1 } },
  restoreUser: { ids: { uid: UID }, answer: RESTORED },
  revoke: { ids: { guid: GUID }, body: { uid: UID }, answer: CARRIED_OUT },
  restore: { ids: { guid: GUID }, body: { uid: UID }, answer: RESTORED },
  close: { ids: { guid: GUID }, query: FAREWELL, answer: CARRIED_OUT },
  join: { ids: { uid: UID, guid: GUID }, answer: CARRIED_OUT },
  leave: { ids: { uid: UID, guid: GUID }, query: FAREWELL, answer: CARRIED_OUT },
  presence: {
    ids: { guid: GUID },
    query: { limit: 100 },
    answer: {
      ok: true, guid: GUID, members: [{ uid: UID, id: SID, name: 'Ada', state: { cursor: 7 } }], count: 1, version: 3
    }
  },
  position: { ids: { guid: GUID }, answer: { ok: true, guid: GUID, position: POSITION } },
  history: {
    ids: { guid: GUID },
    query: { epoch: POSITION.epoch, offset: 41, limit: 100 },
    answer: { ok: true, guid: GUID, position: POSITION, gap: null, records: [RECORD] }
  },
  cut: { ids: { guid: GUID }, body: POSITION, answer: { ok: true, guid: GUID, position: POSITION, removed: 41 } },
  sessions: { ids: { uid: UID }, answer: { ok: true, uid: UID, sessions: [CONNECTION] } },
  device: {
    ids: { device: DEVICE }, query: { uid: UID },
    answer: {
      ok: true, uid: UID, device: DEVICE, online: true, lastSeen: CONNECTION.lastSeen,
      sessions: [{ ...CONNECTION, client: DEVICE, listener: 'ws:/websocket/handshake' }]
    }
  },
  session: { ids: { sid: SID }, answer: { ok: true, uid: UID, session: CONNECTION } },
  user: { ids: { uid: UID }, answer: { ok: true, uid: UID, online: false, connections: 0, lastSeen: 1763750042000 } },
  userHistory: {
    ids: { uid: UID },
    query: { limit: 100 },
    answer: { ok: true, uid: UID, position: POSITION, gap: null, records: [RECORD] }
  },
  documents: {
    query: { prefix: 'min', limit: 100 },
    answer: { ok: true, documents: [{ guid: GUID, members: 12, position: POSITION }] }
  },
  overview: {
    answer: {
      ok: true, workers: 1, connections: 2, documents: 1, lag: 0,
      processes: [{
        name: 'gateway-0', host: 'inkcast-1', version: '1.0.0', startedAt: 1767225600000, notReady: [], connections: 2,
        documents: 1, lag: 0, worker: 0
      }]
    }
  }
}
