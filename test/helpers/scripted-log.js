import { scriptedClient, settle } from './scripted-socket.js'

/**
 * A gateway with the log of one document, and the service that stores the document, for a client over a scripted
 * socket. The service knows the records up to some place; the log may lose its beginning, or begin again.
 *
 * @param {import('node:test').TestContext} t
 */
export function scriptedLog (t) {
  const { client, socket } = scriptedClient(t)
  /** Payloads of all records there ever were. @type {number[]} */
  const all = []
  /** Records before the current log, its oldest offset, what the service knows of `all`. */
  let base = 0
  let oldest = 1
  let known = 0
  let epoch = 'e0'
  let joined = false
  /** Offsets of records that newer ones of their keys have replaced. @type {Set<number>} */
  const replaced = new Set()
  /** @type {{ resolve: () => void, reject: (error: Error) => void }[]} */
  const loads = []
  /** What the page shows. @type {number[]} */
  let shown = []

  const end = () => all.length - base
  const recordAt = (/** @type {number} */ offset) => {
    let after = offset - 1
    while (replaced.has(after)) after--
    const meta = { guid: 'doc', offset, ...(after < offset - 1 && { after }), traceId: 't', ts: 0 }
    return { event: 'message', payload: all[base + offset - 1], meta }
  }
  const deliver = (/** @type {number} */ offset) => {
    const { payload, meta } = recordAt(offset)
    socket.tells('message', payload, meta)
  }

  function join () {
    const { doc: position } = socket.handshakes.at(-1).documents
    const resumed = position?.epoch === epoch && position.offset >= oldest - 1 && position.offset <= end()
    if (resumed) for (let offset = position.offset + 1; offset <= end(); offset++) deliver(offset)
    else if (position?.epoch !== undefined) {
      const reason = position.epoch === epoch ? 'trimmed' : 'epoch'
      socket.tells('doc:resync', { guid: 'doc', position: { epoch, offset: end() }, reason })
    }
    joined = true
    socket.tells('doc:joined', { guid: 'doc', position: { epoch, offset: end() }, recovered: resumed })
  }

  return {
    client,
    all,
    loads,
    get shown () { return shown },
    get connected () { return joined },
    get known () { return known },
    show: (/** @type {number} */ payload) => { shown.push(payload) },

    /** For `open`: waits until the test answers it. */
    load: (/** @type {{ signal: AbortSignal }} */ { signal }) =>
      new Promise((/** @type {(position: { epoch: string, offset: number }) => void} */ resolve, reject) => {
        const load = {
          resolve () {
            shown = all.slice(0, known)
            resolve(known < base ? { epoch: 'an older log', offset: known } : { epoch, offset: known - base })
          },
          reject
        }
        loads.push(load)
        signal.addEventListener('abort', () => {
          if (loads.includes(load)) loads.splice(loads.indexOf(load), 1)
          reject(signal.reason)
        })
      }),

    connect () {
      client.connect()
      socket.accepts()
      join()
    },

    cut () {
      joined = false
      socket.disconnects('transport close')
    },

    publish () {
      all.push(all.length + 1)
      if (joined) deliver(end())
    },

    /** The service reads further. @param {number} to of `all` */
    serve (to) { known = Math.max(known, to) },

    /** The log forgets its older half. */
    trim () { oldest = Math.max(oldest, Math.ceil(end() / 2)) },

    /** Newer records of their keys replace these. @param {number[]} offsets */
    replace (offsets) { for (const offset of offsets) replaced.add(offset) },

    /** The log is lost. */
    lose () {
      base = all.length
      oldest = 1
      epoch = `e${base}-${Math.random()}`
      if (joined) socket.tells('doc:resync', { guid: 'doc', position: { epoch, offset: 0 }, reason: 'epoch' })
    },

    /** Answers the requests for history. @param {number} limit records per answer */
    answerHistory (limit) {
      for (const { argument, answer } of socket.sent.splice(0).filter(({ event }) => event === 'doc:history')) {
        const last = Math.min(argument.before - 1, end())
        const records = []
        let offset = last
        for (; offset >= oldest && records.length < Math.min(limit, argument.limit); offset--)
          if (!replaced.has(offset)) records.unshift(recordAt(offset))
        answer({ ok: true, records, position: { epoch, offset: end() }, more: offset >= oldest })
      }
    },

    settle
  }
}
