import { RightsChecker } from '../oracle/rights-checker.js'
import { RightsLedger } from '../oracle/rights-ledger.js'
import { MemberPage } from './member-page.js'
import { Service } from './service.js'

/** Between two orders about a user, between two actions of a page, and between two records of a document, ms. */
const PAUSES = { order: 1200, close: 6000, action: 350, record: 400 }
/** Between two probes at the end, ms. */
const PROBE = 800
/** Share of pages on plain WebSockets, where there are any. */
const PLAIN = 0.6

/**
 * @typedef {import('../world/random.js').SeededRandom} SeededRandom
 * @typedef {import('../oracle/rights-ledger.js').OrderKind} OrderKind
 */

/** Path and method of each order. @type {Record<OrderKind, (uid: string, guid: string) => [string, string]>} */
const REQUESTS = {
  'revoke': (_, guid) => ['POST', `/v1/documents/${guid}/revoke`],
  'restore': (_, guid) => ['POST', `/v1/documents/${guid}/restore`],
  'kick': (uid) => ['DELETE', `/v1/users/${uid}/connections`],
  'restore user': (uid) => ['POST', `/v1/users/${uid}/restore`],
  'close': (_, guid) => ['DELETE', `/v1/documents/${guid}/connections?code=moved`],
  'leave': (uid, guid) => ['DELETE', `/v1/users/${uid}/documents/${guid}`],
  'join': (uid, guid) => ['POST', `/v1/users/${uid}/documents/${guid}`]
}

/** How often each order about a user is given, in relation to the others. @type {[OrderKind, number][]} */
const WEIGHTS = [['revoke', 6], ['restore', 4], ['kick', 3], ['restore user', 1], ['leave', 3], ['join', 4]]
const ORDERS = WEIGHTS.flatMap(([kind, weight]) => /** @type {OrderKind[]} */ (Array(weight).fill(kind)))

/**
 * Users with some tabs each, whose rights a service withdraws and gives back all the time, while they open, write and
 * read. Orders about one user follow one another; those about different users do not wait for each other.
 */
export class RightsTraffic {
  /** @type {MemberPage[]} */
  pages = []
  #users
  #guids
  /** Requests of the service that have no answer yet. */
  #waiting = 0
  #records = 0

  /**
   * @param {import('../world/world.js').World} world
   * @param {object} options
   * @param {import('./cluster.js').Cluster} options.cluster
   * @param {SeededRandom} options.drawn
   * @param {SeededRandom} [options.ways] see Service
   * @param {SeededRandom} [options.plain] some pages are on plain WebSockets
   */
  constructor (world, { cluster, drawn, ways, plain }) {
    this.world = world
    this.plain = plain
    this.cluster = cluster
    this.drawn = drawn
    this.ledger = new RightsLedger({ world, cluster })
    this.checker = new RightsChecker({ world, cluster, ledger: this.ledger })
    this.service = new Service(world.process('control', { name: 'control', step: 0 }), ways)
    this.#users = Array.from({ length: drawn.whole(1, 2) }, (_, i) => `member-${i + 1}`)
    this.#guids = Array.from({ length: drawn.whole(1, 2) }, (_, i) => `rights-${i + 1}`)
  }

  /** @param {number} until end of the traffic, virtual ms */
  begin (until) {
    const { world, drawn, cluster } = this
    for (const uid of this.#users) {
      const tabs = drawn.whole(1, 2)
      for (let tab = 1; tab <= tabs; tab++) {
        const name = `page-of-${uid}-${tab}`
        this.pages.push(new MemberPage(world.process(name, { name, step: 0 }), {
          uid, guids: this.#guids, checker: this.checker, isPlain: this.plain?.chance(PLAIN) ?? false,
          // its clock and that of Redis are the same, as docs/auth.md asks for
          issuerTime: () => world.wall + cluster.redis.servers[0].machine.step
        }))
      }
    }
    for (const page of this.pages) this.#act(page, until)
    for (const uid of this.#users)
      this.#repeat(`orders about ${uid}`, until, PAUSES.order, (own) => this.#orderUser(uid, own))
    this.#repeat('orders to close', until, PAUSES.close, (own) => this.#order('close', { guid: own.pick(this.#guids) }))
    for (const guid of this.#guids) this.#repeat(`publish ${guid}`, until, PAUSES.record, () => this.#publish(guid))
  }

  /**
   * @param {string} kind for the trace
   * @param {number} until virtual ms
   * @param {number} middle of the pauses, ms
   * @param {(own: SeededRandom) => Promise<void>} run
   */
  #repeat (kind, until, middle, run) {
    const own = this.drawn.fork()
    const pause = own.duration(middle)
    const { process } = this.service
    process.enter(kind, async () => {
      while (this.world.time < until) {
        await process.clock.sleep(own.duration(pause))
        await run(own)
      }
    })
  }

  /** @param {MemberPage} page @param {number} until */
  #act (page, until) {
    const own = this.drawn.fork()
    const { process } = page
    const pause = own.duration(PAUSES.action)
    const next = () => {
      if (this.world.time >= until) return
      const guid = own.pick(this.#guids)
      const what = own.number()
      if (what < 0.35) page.join(guid)
      else if (what < 0.55) page.send(guid)
      else if (what < 0.7) page.signal(guid)
      else if (what < 0.9) page.history(guid)
      else if (what < 0.93) page.leave(guid)
      else if (what < 0.98) page.refresh()
      else page.again()
      process.clock.timer(own.duration(pause), next)
    }
    process.enter('act', next, own.duration(500))
  }

  /** @param {string} uid @param {SeededRandom} own */
  async #orderUser (uid, own) {
    const guid = own.pick(this.#guids)
    // most of what is withdrawn is given back soon, or nothing would be left to withdraw
    const kind = !this.ledger.isAllowed(uid, guid) && own.chance(0.4) ? 'restore' : own.pick(ORDERS)
    const isTimed = (kind === 'revoke' || kind === 'kick') && own.chance(0.3)
    const isAbout = kind === 'kick' || kind === 'restore user'
    await this.#order(kind, {
      uid, ...isAbout ? {} : { guid }, ...isTimed ? { ttl: own.whole(2, 12) } : {}
    })
    // what follows the answer at once is the hardest case
    for (const page of this.pages.filter((one) => one.uid === uid))
      page.process.enter('after an order', () => own.pick([page.send, page.history, page.join]).call(page, guid))
    await this.#publish(guid)
  }

  /** @param {OrderKind} kind @param {{ uid?: string, guid?: string, ttl?: number }} of */
  async #order (kind, of) {
    const { uid = '', guid = '', ttl } = of
    const order = this.ledger.begin(kind, of)
    const [method, path] = REQUESTS[kind](uid, guid)
    const { attempts } = await this.#request(path, '', {
      ...kind === 'revoke' || kind === 'restore' ? { 'x-uid': uid } : {},
      ...ttl === undefined ? {} : { 'x-ttl': String(ttl) }
    }, method)
    this.ledger.answered(order, attempts === 1)
    this.world.trace.note(this.world.time, `order ${kind} ${uid} ${guid} ${ttl ?? ''}: ${attempts} attempts`)
  }

  /** @param {string} guid */
  async #publish (guid) {
    await this.#request(`/v1/documents/${guid}/broadcast`, JSON.stringify({ begun: this.world.time }), {
      'x-event': 'record', 'idempotency-key': `rights-${++this.#records}`
    }, 'POST')
  }

  /** @param {string} path @param {string} body @param {Record<string, string>} headers @param {string} method */
  async #request (path, body, headers, method) {
    this.#waiting++
    let attempts = 1
    const answer = await this.service.until(path, body, headers, method, () => { attempts++ })
    this.#waiting--
    return { answer, attempts }
  }

  /** @returns {string | undefined} what is missing until the last look may begin */
  missing () {
    if (this.#waiting > 0) return 'orders without an answer'
    const lost = this.pages.find(({ isSettled }) => !isSettled)
    return lost && `${lost.name} is not connected`
  }

  /** The last look begins: each page compares what it has open with what its worker says. */
  last () {
    for (const page of this.pages) {
      const probe = () => {
        page.probe()
        page.process.clock.timer(PROBE, probe)
      }
      page.process.enter('probe', probe)
    }
  }

  /** @returns {string | undefined} what is not as promised yet */
  behind () {
    for (const page of this.pages) {
      if (page.isBanned) continue
      const difference = page.difference()
      if (difference !== undefined) return difference
    }
    return undefined
  }

  /** @returns {Record<string, number>} */
  counts () {
    /** @type {Record<string, number>} */
    const counts = { 'orders over gRPC': this.service.calls }
    for (const { kind } of this.ledger.orders) counts[`orders: ${kind}`] = (counts[`orders: ${kind}`] ?? 0) + 1
    for (const [name, count] of Object.entries(this.checker.counts)) counts[`rights: ${name}`] = count
    return counts
  }
}
