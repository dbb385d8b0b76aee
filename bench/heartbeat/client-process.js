/**
 * A process with many idle clients. It takes commands from its parent (clients.js) and ends with it.
 */
import { serve } from '../../packages/load/child.js'
import { openClients } from '../client/open.js'
import { IdleClient } from './client.js'

/** Number of source addresses, for more connections than one address has ports. */
const SOURCES = 16

/** @type {Set<IdleClient>} open */
const clients = new Set()
/**
 * Counters since the last `look`; times of the first and the last end in ms since 1970.
 * @type {{ pings: number, lost: number, foundAfter: number[], firstEnd: number, lastEnd: number }}
 */
const seen = { pings: 0, lost: 0, foundAfter: [], firstEnd: 0, lastEnd: 0 }

/** @param {IdleClient} client */
function onEnd (client) {
  clients.delete(client)
  seen.lastEnd = Date.now()
  seen.firstEnd ||= seen.lastEnd
  if (client.silentSince === 0) seen.lost++
  else seen.foundAfter.push(performance.now() - client.silentSince)
}

const shared = {
  get pings () { return seen.pings },
  set pings (count) { seen.pings = count },
  onEnd
}

const commands = {
  /**
   * @param {{ target: import('../client/websocket-client.js').Target, first: number, count: number, concurrency:
   *   number, documents: number }} options
   */
  async open ({ target, first, count, concurrency, documents }) {
    const { score, clients: opened } = await openClients({
      count,
      concurrency,
      timeoutMs: 20_000,
      onProgress: () => {},
      create: (i, settle) =>
        new IdleClient(
          target,
          { guid: `document-${(first + i) % documents}`, source: `127.0.2.${1 + ((first + i) % SOURCES)}` },
          shared,
          settle
        )
    })
    for (const client of opened.values()) clients.add(client)
    return { ok: score.ok, failures: score.failures }
  },

  /** @param {{ count: number }} options number of clients to die; the oldest first */
  die ({ count }) {
    for (const client of [...clients].slice(0, count)) client.die()
  },

  /** @returns the counters since the last call */
  look () {
    const result = {
      ...seen,
      open: clients.size,
      dead: [...clients].filter(({ silentSince }) => silentSince > 0).length
    }
    Object.assign(seen, { pings: 0, lost: 0, foundAfter: [], firstEnd: 0, lastEnd: 0 })
    return result
  },

  /** @returns number of dead clients that are still connected */
  waiting () { return { dead: [...clients].filter(({ silentSince }) => silentSince > 0).length } }
}

/** @typedef {typeof commands} Commands */

serve(commands)
