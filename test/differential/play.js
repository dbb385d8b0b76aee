import { HOSTILE } from './draw.js'
import { Peer } from './peer.js'
import { chunks, lifetime, parseMessages, show } from './resp.js'
import { CONNECTIONS } from './sequence.js'
import { ALL, OTHERS } from './world.js'

/**
 * How a key's value is read, by its type; a read of another type is an error.
 * @type {Record<string, (key: string) => string[]>}
 */
const READ = {
  string: (key) => ['GET', key],
  hash: (key) => ['HGETALL', key],
  list: (key) => ['LRANGE', key, '0', '-1'],
  set: (key) => ['SMEMBERS', key],
  zset: (key) => ['ZRANGE', key, '0', '-1', 'WITHSCORES'],
  stream: (key) => ['XRANGE', key, '-', '+']
}

/** @type {import('./sequence.js').Step[]} */
const ENDING = [{ on: 0, args: ['RESET'] }, { on: 0, args: ['KEYS', '*'], unordered: 'list' }]

/**
 * The bytes that a connection received up to the reply of its last command.
 * @typedef {{ steps: import('./sequence.js').Step[], bytes: string }} Exchange
 */

/** Plays sequences on one server, which must be used by nothing else. */
export class Player {
  #server
  #peers
  #keeper

  /** @param {import('./peer.js').Server} server */
  constructor (server) {
    this.#server = server
    this.#peers = Array.from({ length: CONNECTIONS }, () => new Peer(server))
    this.#keeper = new Peer(server)
  }

  /**
   * @param {import('./sequence.js').Sequence} sequence
   * @returns {Promise<{ exchanges: Exchange[], keys: string[] }>} keys: each key with its type, lifetime and value
   */
  async play ({ start, steps }) {
    this.#server.setTime(start)
    /** @type {Exchange[]} */
    const exchanges = []
    let us = start
    /** @type {import('./sequence.js').Step[]} */
    let batch = []
    const send = async () => {
      if (batch.length === 0) return
      const sent = batch
      batch = []
      exchanges.push({ steps: sent, bytes: await this.#peers[sent[0].on].send(sent.map(({ args }) => args)) })
    }
    for (const step of steps) {
      if ('pass' in step) {
        await send()
        // keys that have expired are gone, also if Redis would find them only later
        if (step.pass < 0) await this.#keeper.send([['EXISTS', ...ALL, ...OTHERS, ...HOSTILE]])
        this.#server.setTime(us += step.pass)
        continue
      }
      if (batch.length > 0 && (step.alone || batch[0].alone || batch[0].on !== step.on)) await send()
      batch.push(step)
    }
    await send()
    // with the pushes of the last steps; the next sequence finds connections and keys as they were
    const [first] = this.#peers
    const ends = await Promise.all(this.#peers.map((peer) => peer.send([['RESET'], ['KEYS', '*']])))
    const [found] = ends.map((bytes) => /** @type {import('./resp.js').Message} */ (parseMessages(bytes).at(-1)))
    for (const bytes of ends) exchanges.push({ steps: ENDING, bytes })
    return { exchanges, keys: await this.#keySpace(first, found) }
  }

  /** @param {Peer} peer @param {import('./resp.js').Message} found @returns {Promise<string[]>} */
  async #keySpace (peer, found) {
    if (!('items' in found)) return [show(found)]
    const keys = found.items.map((key) => 'text' in key ? key.text : '').sort()
    const types = parseMessages(await peer.send(keys.map((key) => ['TYPE', key]))).map((type) => show(type).slice(1))
    // only by the command of its type: most of the time would go into errors
    const reads = keys.flatMap((key, i) => [['PTTL', key], (READ[types[i]] ?? READ.string)(key)])
    const replies = chunks(parseMessages(await peer.send([...reads, ['FLUSHALL']])), 2)
    return keys.map((key, i) => {
      const [left, value] = replies[i]
      const name = types[i]
      const shown = 'items' in value && (name === 'hash' || name === 'set')
        ? chunks(value.items.map(show), name === 'hash' ? 2 : 1).sort().join('; ')
        : show(value)
      return `${JSON.stringify(key)} ${name} ${lifetime(left)} ${shown}`
    })
  }

  close () {
    for (const peer of [...this.#peers, this.#keeper]) peer.close()
  }
}
