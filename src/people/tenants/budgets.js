import { InkcastError } from '../../base/common/errors.js'
import { toInkcastError } from '../../redis/errors.js'
import { TenantNames } from './names.js'
import { Share } from './share.js'

/** Interval of reports while a tenant is active, ms, and of those that only renew. */
const EVERY = 250
const RENEW = 1000
/** Least time between two reports, ms. */
const SOON = 20
/** Time after which a process that does not report uses nothing any more, ms. */
const LEASE = 5000
/** s */
const KEPT = 86_400
/** Budgets in one call: a call blocks Redis for all. */
const PER_CALL = 200

/** @typedef {{ resolve: () => void, reject: (error: unknown) => void }} Waiter */

/** Use of one tenant's budgets in this process. */
class Tenant {
  /** Admitted connections. */
  connections = 0
  /** Connections that wait for Redis. @type {Waiter[]} */
  waiting = []
  /** Until then there is no room for a connection, monotonic ms. */
  fullUntil = -Infinity
  /** Whether Redis has connections of it that have ended. */
  freed = false

  /** @param {string} name @param {import('../../config/tenants.js').TenantLimits} limits */
  constructor (name, { connections, events, publications }) {
    this.name = name
    this.maxConnections = connections
    this.events = events === undefined ? undefined : new Share(events)
    this.publications = publications === undefined ? undefined : new Share(publications)
  }

  get isActive () {
    return this.waiting.length > 0 || this.connections > 0 || this.freed ||
      Boolean(this.events?.isActive || this.publications?.isActive)
  }

  /** Whether others should know at once. */
  get isBusy () { return this.freed || Boolean(this.events?.isBusy || this.publications?.isBusy) }
}

/**
 * The budgets of tenants (TENANTS), counted over all processes that share a Redis. A connection is admitted by Redis,
 * one call for all that come in the same moment. Events and publications take tokens that this process already has: it
 * gets them by its demand, four times a second (share.js, spend.lua). A process that is gone uses nothing after its
 * lease. Without Redis each process goes on with its last part of a rate, and admits no connection.
 * Why: docs/decisions/0090-limits-of-clients.md
 */
export class TenantBudgets {
  names
  /** Those that this process has met; at most those of TENANTS. @type {Map<string, Tenant>} */
  #met = new Map()
  #settings
  #redis
  #id
  #keys
  #metrics
  #clock
  /** @type {import('../../base/common/clock.js').Timer | undefined} */
  #timer
  /** @type {import('../../base/common/clock.js').Timer | undefined} */
  #soon
  /** @type {Promise<void> | null} */
  #reporting = null
  #reportedAt
  #hasReported = false
  #stopped = false

  /**
   * @param {object} parts
   * @param {import('../../config/tenants.js').TenantSettings} parts.settings
   * @param {Pick<import('../../redis/client.js').RedisConnection, 'scripts' | 'keys'>} parts.redis
   * @param {import('../../observe/metrics/metrics.js').Metrics} parts.metrics
   * @param {import('../../base/common/clock.js').Clock} parts.clock
   * @param {Pick<import('../../base/common/random.js').Random, 'uuid'>} parts.random
   */
  constructor ({ settings, redis, metrics, clock, random }) {
    this.names = new TenantNames(settings)
    this.#settings = settings
    this.#redis = redis
    this.#id = random.uuid()
    const { seen, sums, tokens, of } = redis.keys.tenants
    this.#keys = [seen, sums, tokens, of + this.#id]
    this.#metrics = metrics
    this.#clock = clock
    this.#reportedAt = clock.monotonic()
    metrics.onCollect(() => {
      for (const { name, connections } of this.#met.values())
        metrics.tenant_connections.set({ tenant: name }, connections)
    })
  }

  start () {
    this.#stopped = false
    this.#timer ??= this.#clock.every(EVERY, () => { this.#report() }).unref()
  }

  /** Gives everything back. */
  async stop () {
    this.#stopped = true
    this.#timer?.stop()
    this.#soon?.stop()
    this.#timer = this.#soon = undefined
    await this.#reporting
    for (const tenant of this.#met.values())
      for (const { reject } of tenant.waiting.splice(0)) reject(new InkcastError('draining'))
    // it ends with its lease
    if (this.#hasReported) await this.#redis.scripts.spend(this.#keys, [this.#id, LEASE, KEPT]).catch(() => {})
  }

  /** @param {string | undefined} name @returns {Tenant | undefined} */
  #tenant (name) {
    if (name === undefined) return undefined
    let tenant = this.#met.get(name)
    if (tenant === undefined) {
      const limits = this.#settings.get(name)
      if (limits === undefined) return undefined
      this.#met.set(name, tenant = new Tenant(name, limits))
    }
    return tenant
  }

  /**
   * Counts a connection of a user, until `disconnected`.
   * @param {string} uid
   * @returns {Promise<void> | undefined} undefined: admitted, or a user of no tenant
   * @throws {InkcastError} (or rejects with) too_many_connections; unavailable
   */
  connected (uid) {
    const tenant = this.#tenant(this.names.of(uid))
    if (tenant === undefined) return undefined
    const { maxConnections, waiting, name } = tenant
    if (maxConnections === undefined) {
      tenant.connections++
      this.#metrics.tenant_admitted.count(name, 'connections')
      if (tenant.events !== undefined) this.#reportSoon()
      return undefined
    }
    if (tenant.fullUntil > this.#clock.monotonic() || waiting.length >= maxConnections)
      throw this.#refuseConnection(name)
    return new Promise((resolve, reject) => {
      waiting.push({ resolve, reject })
      this.#reportSoon()
    })
  }

  /** @param {string} uid whose connection has ended, or could not be registered */
  disconnected (uid) {
    const tenant = this.#tenant(this.names.of(uid))
    if (tenant === undefined) return
    tenant.connections--
    tenant.freed = tenant.maxConnections !== undefined
  }

  /** @param {string} uid @returns {boolean} whether one more event of the user may be handled */
  event (uid) {
    const tenant = this.#tenant(this.names.of(uid))
    return tenant === undefined || this.#take(tenant, tenant.events, 'events')
  }

  /**
   * @param {string} uid
   * @returns {InkcastError | undefined} why its events are refused; undefined: not because of its tenant
   */
  refusalOf (uid) {
    const tenant = this.#tenant(this.names.of(uid))
    return tenant?.events?.exhausted ? overBudget(tenant.name, 'sends') : undefined
  }

  /** @param {string | undefined} name of the caller's tenant @throws {InkcastError} rate_limited */
  publishes (name) {
    const tenant = this.#tenant(name)
    if (tenant !== undefined && !this.#take(tenant, tenant.publications, 'publications'))
      throw overBudget(tenant.name, 'publishes')
  }

  /** @param {Tenant} tenant @param {Share | undefined} share @param {'events' | 'publications'} budget */
  #take ({ name }, share, budget) {
    const isThere = share === undefined || share.take()
    this.#metrics[isThere ? 'tenant_admitted' : 'tenant_refused'].count(name, budget)
    if (share?.isShort) this.#reportSoon()
    return isThere
  }

  /** @param {string} name */
  #refuseConnection (name) {
    this.#metrics.tenant_refused.count(name, 'connections')
    return new InkcastError('too_many_connections', `the tenant ${name} has all connections of its budget`)
  }

  #reportSoon () {
    if (this.#soon !== undefined || this.#stopped) return
    const wait = Math.max(0, this.#reportedAt + SOON - this.#clock.monotonic())
    this.#soon = this.#clock.timer(wait, () => {
      this.#soon = undefined
      this.#report(true)
    })
  }

  /** @param {boolean} [now] something waits for it */
  #report (now = false) {
    // a process without a tenant's client never calls Redis
    const active = [...this.#met.values()].filter((tenant) => tenant.isActive)
    if (active.length === 0) return
    const due = now || this.#clock.monotonic() - this.#reportedAt >= RENEW ||
      active.some((tenant) => tenant.isBusy)
    if (!due) return
    if (this.#reporting !== null) return void (now && this.#reporting.then(() => this.#reportSoon()))
    this.#reporting = this.#reportAll(active).finally(() => { this.#reporting = null })
  }

  /** @param {Tenant[]} tenants */
  async #reportAll (tenants) {
    const at = this.#clock.monotonic()
    const seconds = (at - this.#reportedAt) / 1000
    this.#reportedAt = at
    const lines = tenants.flatMap((tenant) => this.#linesOf(tenant, seconds))
    for (let i = 0; i < lines.length; i += PER_CALL) {
      const some = lines.slice(i, i + PER_CALL)
      try {
        this.#hasReported = true
        const [processes, ...answers] = await this.#redis.scripts.spend(
          this.#keys, [this.#id, LEASE, KEPT, ...some.flatMap(({ args }) => args)]
        )
        for (const [j, { answered }] of some.entries())
          answered(Number(answers[2 * j]), Number(answers[2 * j + 1]), Number(processes))
      } catch (error) {
        for (const { failed } of some) failed(error)
      }
    }
  }

  /**
   * @param {Tenant} tenant
   * @param {number} seconds since the last report
   * @returns {{ args: (string | number)[], answered: (given: number, total: number, processes: number) => void,
   *   failed: (error: unknown) => void }[]}
   */
  #linesOf (tenant, seconds) {
    const { name, maxConnections } = tenant
    const stays = tenant.connections + tenant.waiting.length > 0
    const lines = []
    if (maxConnections !== undefined) {
      const waiting = tenant.waiting.splice(0)
      tenant.freed = false
      lines.push({
        args: [`c${name}`, maxConnections, tenant.connections, waiting.length],
        answered: (/** @type {number} */ given) => this.#admit(tenant, waiting, given),
        failed: (/** @type {unknown} */ error) => { for (const { reject } of waiting) reject(toInkcastError(error)) }
      })
    }
    for (const [kind, share] of /** @type {const} */ ([['e', tenant.events], ['p', tenant.publications]])) {
      if (share === undefined) continue
      const { demand, want } = share.report(seconds, kind === 'e' && stays)
      lines.push({
        args: [`r${kind}${name}`, share.limit, demand.toFixed(3), want.toFixed(3)],
        answered: share.answered.bind(share),
        failed: () => share.alone(seconds)
      })
    }
    return lines
  }

  /** @param {Tenant} tenant @param {Waiter[]} waiting @param {number} given */
  #admit (tenant, waiting, given) {
    tenant.connections += given
    for (const [i, { resolve, reject }] of waiting.entries()) {
      if (i >= given) {
        reject(this.#refuseConnection(tenant.name))
        continue
      }
      this.#metrics.tenant_admitted.count(tenant.name, 'connections')
      resolve()
    }
    if (given < waiting.length) tenant.fullUntil = this.#clock.monotonic() + EVERY
  }
}

/** @param {string} tenant @param {string} does */
const overBudget = (tenant, does) =>
  new InkcastError('rate_limited', `the tenant ${tenant} ${does} more per second than its budget`, { retryInMs: EVERY })
