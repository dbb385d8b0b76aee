import { KafkaError } from './errors.js'
import { PATIENT } from './link.js'

/** As the driver for kafkajs has them, ms. */
const HEARTBEAT_INTERVAL = 1000
const MAX_WAIT = 500
const CLOSE_TIMEOUT = 3000
const JOIN_TIMEOUT = 15_000
/** Batches that are handled at the same time. */
const CONCURRENCY = 8

/**
 * @typedef {import('../../../../src/kafka/contract.js').Subscription} Subscription
 * @typedef {import('../../../../src/kafka/contract.js').CommittedOffset} CommittedOffset
 * @typedef {import('./fetches.js').FetchedBatch} FetchedBatch
 */

/**
 * A member of a consumer group, which does what the driver for kafkajs does: it fetches from one node of the broker
 * after its deliveries from that node have ended.
 * @implements {Subscription}
 */
export class SimSubscription {
  #memberId = ''
  #generation = -1
  /**
   * Offset of the next record of each assigned partition; undefined: as committed.
   * @type {Map<number, number | undefined>}
   */
  #positions = new Map()
  /** @type {Map<number, number>} */
  #seeks = new Map()
  /** @type {Set<number>} */
  #paused = new Set()
  #isClosed = false
  /** Since when it keeps its place in the group, and gets no record any more, ms. @type {number | undefined} */
  wedgedAt
  #lastHeartbeat = 0
  /** @type {Promise<void> | undefined} */
  #beating
  /** @type {Promise<void> | undefined} */
  #joining
  /** @type {Promise<void>} */
  #consuming = Promise.resolve()

  /**
   * @param {import('../broker.js').Broker} broker
   * @param {import('../../world/sim-process.js').SimProcess} process
   * @param {{ topic: string, groupId: string }} options
   * @param {import('../../../../src/kafka/contract.js').SubscriptionHandlers} handlers
   */
  constructor (broker, process, { topic, groupId }, handlers) {
    this.broker = broker
    this.topic = topic
    this.groupId = groupId
    this.handlers = handlers
    this.link = broker.link(process)
    /** Fetches, which have connections of their own. */
    this.fetches = Array.from({ length: broker.nodes }, () => broker.link(process))
  }

  /** @returns {import('./group.js').Group} as the broker knows it */
  get #group () { return this.broker.group(this.groupId) }

  async start () {
    await this.link.retried(() => this.link.ask('connect', (reply) =>
      reply(this.broker.topics.has(this.topic) ? undefined : new KafkaError('UNKNOWN_TOPIC_OR_PARTITION'))),
    { isOver: () => this.#isClosed })
    if (this.#isClosed) return
    this.broker.subscriptions.add(this)
    this.#consuming = this.#consume()
  }

  async #consume () {
    try {
      await this.#join()
      for (let failures = 0; !this.#isClosed;) {
        const before = this.#lastHeartbeat
        try {
          await this.#fetchAll()
        } catch (error) {
          if (this.#isClosed) return
          if (this.#lastHeartbeat !== before) failures = 0
          if (error instanceof KafkaError && error.isRebalancing) {
            this.handlers.onRebalance()
            await this.#join()
          } else if (error instanceof KafkaError && error.type === 'UNKNOWN_MEMBER_ID') {
            this.#memberId = ''
            await this.#join()
          } else {
            if (++failures > PATIENT) throw error
            await this.link.sleep(100 * Math.min(10, failures))
            if (!(error instanceof KafkaError)) await this.#join()
          }
        }
      }
    } catch (error) {
      if (!this.#isClosed) this.handlers.onFailure(/** @type {Error} */ (error))
    }
  }

  /** Several nodes' fetches may find at the same time that it has to join. */
  #join () { return this.#joining ??= this.#joinNow().finally(() => { this.#joining = undefined }) }

  async #joinNow () {
    const { link, topic, handlers } = this
    for (let tries = PATIENT; !this.#isClosed; tries--) {
      try {
        if (this.#memberId === '')
          this.#memberId = await link.ask('member id', (reply) => reply(undefined, this.#group.offerId()))
        const joined = await link.ask('join',
          (/** @type {import('./link.js').Reply<import('./group.js').Joined>} */ reply) =>
            this.#group.join(this.#memberId, topic, reply),
          { timeout: JOIN_TIMEOUT })
        const partitions = await link.ask('sync',
          (/** @type {import('./link.js').Reply<number[]>} */ reply) =>
            this.#group.sync(joined.memberId, joined.generation, reply),
          { timeout: JOIN_TIMEOUT })
        this.#generation = joined.generation
        this.#positions = new Map(partitions.map((partition) => [partition, undefined]))
        this.#lastHeartbeat = this.broker.world.time
        if (!this.#isClosed) handlers.onJoined({ partitions: [...partitions], leader: joined.leader })
        return
      } catch (error) {
        if (!(error instanceof KafkaError) || tries <= 1) throw error
        if (error.type === 'UNKNOWN_MEMBER_ID') this.#memberId = ''
        else if (!error.isRebalancing && !error.retriable) throw error
        await link.sleep(100)
      }
    }
  }

  /** Until one of the nodes' fetches fails, or the subscription is closed. */
  async #fetchAll () {
    const loops = { hasFailed: false }
    const results = await Promise.allSettled(this.fetches.map((link, node) => this.#fetchFrom(link, node, loops)))
    const failed = results.find((result) => result.status === 'rejected')
    if (failed !== undefined) throw failed.reason
  }

  /** @param {import('./link.js').Link} link @param {number} node @param {{ hasFailed: boolean }} loops */
  async #fetchFrom (link, node, loops) {
    try {
      while (!this.#isClosed && !loops.hasFailed) {
        const batches = await this.#fetch(link, node)
        if (this.#isClosed) return
        this.handlers.onResponse()
        if (batches.length === 0) await this.#heartbeat()
        else if (!loops.hasFailed) await this.#handleAll(batches)
      }
    } catch (error) {
      loops.hasFailed = true
      throw error
    }
  }

  /** @param {import('./link.js').Link} link @param {number} node @returns {Promise<FetchedBatch[]>} */
  async #fetch (link, node) {
    const { broker, topic } = this
    const own = [...this.#positions.keys()].filter((partition) => broker.nodeOf(partition) === node)
    for (const partition of own) {
      const sought = this.#seeks.get(partition)
      if (sought !== undefined) this.#positions.set(partition, sought)
      this.#seeks.delete(partition)
    }
    try {
      const unknown = own.filter((partition) => this.#positions.get(partition) === undefined)
      if (unknown.length > 0) await this.#resolve(unknown)
      const wanted = own.filter((partition) => !this.#paused.has(partition))
        .map((partition) => ({ partition, offset: this.#positions.get(partition) ?? 0 }))
      if (wanted.length === 0 || this.wedgedAt !== undefined) {
        await link.sleep(MAX_WAIT)
        return []
      }
      const batches = await link.ask('fetch',
        (/** @type {import('./link.js').Reply<FetchedBatch[]>} */ reply) =>
          broker.fetches.fetch(topic, wanted, MAX_WAIT, reply))
      return batches.filter(({ partition }) => !this.#seeks.has(partition) && !this.#paused.has(partition))
    } catch (error) {
      await this.#recover(/** @type {KafkaError & { partition?: number }} */ (error))
      return []
    }
  }

  /** @param {number[]} partitions begin where the group has committed, or at the first record */
  async #resolve (partitions) {
    const positions = this.#positions
    const found = await this.link.ask('offsets', (reply) => reply(undefined, this.#startOf(partitions)))
    for (const [partition, offset] of found)
      if (positions.get(partition) === undefined) positions.set(partition, offset)
  }

  /** @param {number[]} partitions @returns {Map<number, number>} */
  #startOf (partitions) {
    const committed = this.#group.committed.get(this.topic)
    const logs = this.broker.topics.get(this.topic)?.partitions ?? []
    return new Map(partitions.map((partition) =>
      [partition, committed?.get(partition)?.offset ?? logs[partition]?.low ?? 0]))
  }

  /** @param {KafkaError & { partition?: number }} error of a fetch */
  async #recover (error) {
    const { type, partition } = error
    if (type === 'OFFSET_OUT_OF_RANGE' && partition !== undefined) {
      await this.link.ask('reset', (reply) => {
        this.#group.committed.get(this.topic)?.delete(partition)
        reply(undefined)
      })
      this.#positions.set(partition, undefined)
    } else if (type === 'UNKNOWN_TOPIC_OR_PARTITION' || type === 'NOT_LEADER_FOR_PARTITION') {
      await this.link.retried(() => this.link.ask('metadata', (reply) =>
        reply(this.broker.topics.has(this.topic) ? undefined : new KafkaError('UNKNOWN_TOPIC_OR_PARTITION'))),
      { isOver: () => this.#isClosed })
      await this.#join()
    } else if (type === 'CONNECTION') {
      await this.link.sleep(100)
    } else {
      throw error
    }
  }

  /** @param {FetchedBatch[]} batches */
  async #handleAll (batches) {
    const waiting = [...batches]
    const work = async () => {
      for (let batch = waiting.shift(); batch !== undefined; batch = waiting.shift()) await this.#handle(batch)
    }
    const results = await Promise.allSettled(Array.from({ length: Math.min(CONCURRENCY, batches.length) }, work))
    const failed = results.find((result) => result.status === 'rejected')
    if (failed !== undefined) throw failed.reason
  }

  /** @param {FetchedBatch} batch */
  async #handle (batch) {
    if (this.#isClosed) return
    const { partition, messages, end } = batch
    if (messages.length === 0) {
      this.#done(partition, end)
      this.handlers.onSkip(partition, end)
    } else {
      await this.handlers.handle({
        ...batch,
        isCurrent: () => !this.#isClosed && !this.#seeks.has(partition),
        heartbeat: () => this.#heartbeat(),
        resolve: (offset) => this.#done(partition, offset === messages.at(-1)?.offset ? end : Number(offset) + 1),
        pause: () => {
          this.#paused.add(partition)
          return () => { this.#paused.delete(partition) }
        },
        commit: (offsets) => this.#commit(offsets)
      })
    }
    await this.#heartbeat()
  }

  /** @param {number} partition @param {number} next */
  #done (partition, next) { if (this.#positions.has(partition)) this.#positions.set(partition, next) }

  /** At most one in HEARTBEAT_INTERVAL. */
  async #heartbeat () {
    const { world } = this.broker
    if (this.#memberId === '' || world.time < this.#lastHeartbeat + HEARTBEAT_INTERVAL) return
    this.#beating ??= this.link.ask('heartbeat',
      (reply) => reply(this.#group.heartbeat(this.#memberId, this.#generation))
    ).then(() => { this.#lastHeartbeat = world.time }).finally(() => { this.#beating = undefined })
    await this.#beating
  }

  /** @param {CommittedOffset[]} offsets @returns {Promise<void>} */
  #commit (offsets) {
    const { topic, link } = this
    const [memberId, generation] = [this.#memberId, this.#generation]
    return link.ask('commit', (reply) => reply(this.#group.commit(memberId, generation, topic, offsets)), {
      writes: true
    })
  }

  /** @param {CommittedOffset[]} offsets */
  async commit (offsets) {
    if (this.#isClosed) return
    await this.link.retried(() => this.#commit(offsets), { isOver: () => this.#isClosed })
  }

  /** @param {number} partition @param {number} offset */
  seek (partition, offset) { this.#seeks.set(partition, offset) }

  async close () {
    this.#isClosed = true
    const { link } = this
    this.broker.closed(this)
    const leave = async () => {
      await this.#consuming
      const memberId = this.#memberId
      if (memberId !== '') await link.ask('leave', (reply) => {
        this.#group.leave(memberId)
        reply(undefined)
      })
      this.#memberId = ''
      return true
    }
    return await Promise.race([leave().catch(() => true), link.sleep(CLOSE_TIMEOUT).then(() => false)])
  }
}
