import { SimSocket, WINDOW } from './sim-socket.js'

/** Time after which a connect that gets no answer fails, ms. */
const CONNECT_TIMEOUT = 20_000
/** Between two looks whether a way is open again, ms. */
const LOOK = 100
/** Share of the turns with several writes to a connection in which each of them arrives by itself. */
const IN_PIECES = 0.1
/** Latencies, ms: within a machine, between machines of the cluster, and to clients. */
const LATENCY = { near: 0.06, cluster: 0.3, client: 15 }

/**
 * @typedef {import('./sim-process.js').SimProcess} SimProcess
 *
 * @typedef {Buffer | null | 'reset'} Sent null: the end
 * @typedef {{ what: Sent, at: number, message?: import('./trace.js').MessageEvent }} Underway at: when it arrives
 *
 * A connection. @typedef {object} Line
 * @property {SimSocket[]} ends the client's one first
 * @property {number} latency ms
 * @property {boolean} isDead nothing passes it any more
 * @property {(end: SimSocket) => string} addressOf
 * @property {(end: SimSocket) => number} portOf
 *
 * @typedef {object} Listener
 * @property {SimProcess} process
 * @property {(socket: SimSocket) => void} accept
 * @property {boolean} allowHalfOpen
 *
 * A failure of the network between two sets of processes. @typedef {object} Block
 * @property {(a: SimProcess, b: SimProcess) => boolean} between
 * @property {number} until ms
 */

/** Connections between the processes of a world: their latency, their order, and their end when something fails. */
export class Network {
  /** @type {Map<string, Set<Listener>>} by address */
  #listeners = new Map()
  /** Written in this turn. @type {{ from: SimSocket, what: Sent }[]} */
  #sent = []
  /** @type {Set<SimSocket>} */
  #sockets = new Set()
  /** Of processes that have ended. @type {SimSocket[]} */
  #left = []
  /** @type {Block[]} */
  #blocks = []
  #ports = 40_000
  /** @type {Map<string, () => string[]>} */
  #aliases = new Map()
  /** Bytes that the kernels take for a client before a writer has to wait. */
  clientWindow = WINDOW
  /** Bytes delivered. */
  delivered = 0

  /** @param {import('./world.js').World} world */
  constructor (world) { this.world = world }

  /** @returns {SimSocket[]} the client's ends of all open connections */
  get lines () {
    return [...this.#sockets].filter((socket) =>
      socket.line.ends[0] === socket && socket.peer !== undefined && !socket.line.isDead)
  }

  /** A port that nobody has. */
  freePort () { return ++this.#ports }

  /**
   * @param {SimProcess} process
   * @param {string} address several processes of a machine may share one; the network then chooses
   * @param {(socket: SimSocket) => void} accept
   * @param {{ allowHalfOpen?: boolean }} [options]
   * @returns {() => void} stops listening
   */
  listen (process, address, accept, { allowHalfOpen = false } = {}) {
    const listener = { process, accept, allowHalfOpen }
    const all = this.#listeners.get(address) ?? new Set()
    this.#listeners.set(address, all.add(listener))
    return () => {
      all.delete(listener)
      if (all.size === 0 && this.#listeners.get(address) === all) this.#listeners.delete(address)
    }
  }

  /** @param {string} address @returns {number} */
  listenersAt (address) { return this.#listeners.get(address)?.size ?? 0 }

  /** @param {import('./sim-process.js').Machine} machine @param {string} directory @returns {string[]} unix sockets */
  socketsIn (machine, directory) {
    const prefix = `unix:${machine.name}:${directory}/`
    return [...this.#listeners.keys()].filter((address) => address.startsWith(prefix))
      .map((address) => address.slice(prefix.length))
  }

  /**
   * Connections to an address are passed to one of others that is open, as by a balancer.
   * @param {string} address
   * @param {() => string[]} others
   */
  alias (address, others) { this.#aliases.set(address, others) }

  /** @param {string} address @returns {string} */
  #resolve (address) {
    const others = this.#aliases.get(address)?.()
    if (others === undefined) return address
    const open = others.filter((other) => this.listenersAt(other) > 0)
    return this.world.random.pick(open.length > 0 ? open : others)
  }

  /**
   * @param {SimProcess} process
   * @param {string} name
   * @returns {SimSocket}
   */
  connect (process, name) {
    const { world } = this
    const address = this.#resolve(name)
    const latency = this.#latency(process, address)
    const clientPort = this.freePort()
    const began = world.time
    /** @type {Line} */
    const line = {
      ends: [], latency, isDead: false,
      addressOf: (end) => end === line.ends[0] ? addressOf(process) : addressOf(end.owner),
      portOf: (end) => end === line.ends[0] ? clientPort : Number(address.split(':').at(-1)) || 0
    }
    const client = new SimSocket(this, process, line)
    this.#sockets.add(client)
    const refuse = (/** @type {string} */ code, /** @type {number} */ delay) =>
      world.schedule(delay, 'refused', () => client.broken(code), process)
    const late = world.schedule(CONNECT_TIMEOUT, 'connect timeout', () => client.broken('ETIMEDOUT'), process)
    const arrive = () => {
      if (client.destroyed) return
      const listeners = [...this.#listeners.get(address) ?? []]
      if (listeners.length === 0) {
        late.canceled = true
        return void refuse('ECONNREFUSED', latency)
      }
      const listener = listeners.length === 1 ? listeners[0] : world.random.pick(listeners)
      const wait = this.blockedUntil(process, listener.process)
      if (wait > world.time) return void world.schedule(wait - world.time, 'connect', arrive, null)
      const server = new SimSocket(this, listener.process, line, listener)
      this.#sockets.add(server)
      const message = world.trace.sent(began, process, listener.process, 'connect')
      if (message !== undefined) message.until = world.time
      server.peer = client
      server.connecting = false
      world.schedule(0, 'accept', () => listener.accept(server), listener.process)
      // the answer finds no one who wants the connection
      const gone = () => {
        client.peer = server
        this.#depart(client, 'reset')
      }
      world.schedule(latency, 'connected', () => {
        late.canceled = true
        if (client.destroyed) gone()
        else client.opened(server)
      }, process, gone)
    }
    world.schedule(latency, 'connect', arrive, null)
    return client
  }

  /** @param {SimProcess} process @param {string} address */
  #latency (process, address) {
    const { random } = this.world
    const middle = process.isClient ? LATENCY.client
      : address.startsWith('unix:') || address.startsWith(`${process.machine.name}:`) ? LATENCY.near : LATENCY.cluster
    return random.duration(middle)
  }

  /** @param {SimSocket} from @param {Sent} what */
  send (from, what) {
    const { world } = this
    const { owner } = from
    // its process has ended itself in this turn
    if (!owner.isAlive) return
    if (owner !== world.current)
      world.violation(`${world.current?.name ?? 'the world'} writes to a connection of ${owner.name}`)
    this.#sent.push({ from, what })
  }

  /** The turn has ended: what was written leaves, of a process that dies in this turn only the first part. */
  flush () {
    if (this.#sent.length === 0) return
    const share = this.world.current?.lastShare ?? 1
    const sent = share === 1 && this.#sent.length > 1 && !this.world.random.chance(IN_PIECES)
      ? joined(this.#sent) : this.#sent
    this.#sent = []
    const bytes = sent.reduce((sum, { what }) => sum + sizeOf(what), 0)
    let left = share === 1 ? Infinity : Math.floor(share * bytes)
    for (const { from, what } of sent) {
      if (left <= 0) return
      const size = sizeOf(what)
      this.#depart(from, size > left ? /** @type {Buffer} */ (what).subarray(0, left) : what)
      left -= size
    }
  }

  /** @param {SimSocket} from @param {Sent} what */
  #depart (from, what) {
    const { world } = this
    const { peer, line } = from
    if (peer === undefined || line.isDead) return
    const jitter = world.random.number() ** 4 * line.latency
    const at = world.time + line.latency + jitter
    const message = world.trace.sent(world.time, from.owner, peer.owner, what ?? 'end')
    from.underway.push({ what, at, message })
    if (from.underway.length === 1) this.#arriveNext(from, peer)
  }

  /**
   * The first of what is under way arrives, and then the next: nothing overtakes, also where something blocked the way
   * for a time.
   * @param {SimSocket} from
   * @param {SimSocket} to
   */
  #arriveNext (from, to) {
    const { world } = this
    const [{ what, at }] = from.underway
    world.schedule(Math.max(0, at - world.time), what === null ? 'end' : what === 'reset' ? 'reset' : 'bytes', () => {
      if (to.line.isDead) return
      if (this.blockedUntil(from.owner, to.owner) > world.time) {
        from.underway[0].at = world.time + LOOK
        return this.#arriveNext(from, to)
      }
      const first = from.underway.shift()
      if (first?.message !== undefined) first.message.until = world.time
      if (from.underway.length > 0) this.#arriveNext(from, to)
      this.#arrived(from, to, what)
    }, to.owner, () => this.#unwanted(from, to))
  }

  /** @param {SimSocket} from @param {SimSocket} to @param {Sent} what */
  #arrived (from, to, what) {
    if (what === 'reset') return to.broken('ECONNRESET')
    if (to.destroyed) {
      if (what !== null) this.#unwanted(from, to)
      return
    }
    if (what !== null) {
      this.delivered += what.length
      this.world.trace.bytes(what)
    }
    to.arrive(what)
  }

  /** A kernel answers bytes for a connection that it no longer has. @param {SimSocket} from @param {SimSocket} to */
  #unwanted (from, to) {
    if (!from.destroyed && from.owner.isAlive) this.#depart(to, 'reset')
  }

  /** @param {SimSocket} socket destroyed by its owner */
  closed (socket) {
    if (!this.#sockets.delete(socket) || !socket.owner.isAlive) return
    // with the writes of the same turn before it
    if (socket.resets) this.send(socket, 'reset')
    else if (!socket.writableFinished) this.send(socket, null)
  }

  /** The kernel closes the connections of a process that has ended. @param {SimProcess} process */
  processEnded (process) {
    for (const [address, all] of this.#listeners) {
      for (const listener of all) if (listener.process === process) all.delete(listener)
      if (all.size === 0) this.#listeners.delete(address)
    }
    for (const socket of [...this.#sockets]) {
      if (socket.owner !== process) continue
      this.#sockets.delete(socket)
      this.#left.push(socket)
      this.#depart(socket, this.world.random.chance(0.5) ? 'reset' : null)
    }
  }

  /** No turn follows: Node's HTTP parsers, which are outside of its heap, would keep the world in memory. */
  end () {
    for (const socket of [...this.#sockets, ...this.#left]) /** @type {any} */ (socket).parser?.close()
    this.#sockets.clear()
    this.#left = []
  }

  /**
   * The connection breaks: what is on its way is lost, and each end learns of it at a time of its own.
   * @param {SimSocket} socket
   * @param {{ here: number, there: number }} after ms; Infinity: never
   */
  cut (socket, { here, there }) {
    const { line, peer } = socket
    line.isDead = true
    for (const [end, delay] of /** @type {const} */ ([[socket, here], [peer, there]])) {
      if (end !== undefined && delay !== Infinity)
        this.world.schedule(delay, 'cut', () => end.broken('ECONNRESET'), end.owner)
    }
  }

  /**
   * Nothing passes between some processes for a time; their connections stay open.
   * @param {(a: SimProcess, b: SimProcess) => boolean} between asked in both orders
   * @param {number} ms
   */
  block (between, ms) { this.#blocks.push({ between, until: this.world.time + ms }) }

  /** Ends all blocks. */
  unblock () { for (const block of this.#blocks) block.until = Math.min(block.until, this.world.time) }

  /** @param {SimProcess} a @param {SimProcess} b @returns {number} ms */
  blockedUntil (a, b) {
    if (this.#blocks.length === 0) return 0
    const now = this.world.time
    this.#blocks = this.#blocks.filter(({ until }) => until > now)
    let until = 0
    for (const block of this.#blocks)
      if (block.between(a, b) || block.between(b, a)) until = Math.max(until, block.until)
    return until
  }
}

/**
 * Joins the writes of one turn to each connection: they arrive at once.
 * @param {{ from: SimSocket, what: Sent }[]} sent
 */
function joined (sent) {
  /** @type {Map<SimSocket, { from: SimSocket, what: Sent, pieces: Buffer[] }>} the last bytes of each connection */
  const last = new Map()
  const result = []
  for (const { from, what } of sent) {
    const before = last.get(from)
    if (what !== null && what !== 'reset' && before !== undefined) {
      before.pieces.push(what)
      continue
    }
    const one = { from, what, pieces: what === null || what === 'reset' ? [] : [what] }
    result.push(one)
    if (one.pieces.length === 0) last.delete(from)
    else last.set(from, one)
  }
  for (const one of result) if (one.pieces.length > 1) one.what = Buffer.concat(one.pieces)
  return result
}

/** @param {SimProcess} process */
const addressOf = ({ pid }) => `10.0.${pid >> 8 & 255}.${pid & 255}`

/** @param {Sent} what @returns {number} bytes */
const sizeOf = (what) => what === null || what === 'reset' ? 0 : what.length
