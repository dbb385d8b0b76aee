import { KafkaError } from './errors.js'

/** Time after which a silent member is dropped, and for which a rebalance waits for members, ms. */
const SESSION_TIMEOUT = 10_000

/**
 * @typedef {import('../../../../src/kafka/contract.js').CommittedOffset} CommittedOffset
 * @typedef {{ generation: number, memberId: string, leader: boolean }} Joined
 *
 * @typedef {object} Member
 * @property {string} id
 * @property {string} topic
 * @property {number} heardAt ms
 * @property {((error: KafkaError | undefined, joined?: Joined) => void) | undefined} join it waits for the others
 * @property {((error: KafkaError | undefined, partitions?: number[]) => void) | undefined} sync
 * @property {number[]} partitions
 */

/** A consumer group, as its coordinator keeps it. */
export class Group {
  /** @type {'empty' | 'preparing' | 'completing' | 'stable'} */
  state = 'empty'
  generation = 0
  /** @type {Map<string, Member>} */
  members = new Map()
  /** By topic and partition. @type {Map<string, Map<number, CommittedOffset>>} */
  committed = new Map()
  /** @type {string | undefined} */
  #leader
  #round = 0
  /** Ids of members to come. @type {Set<string>} */
  #offered = new Set()

  /** @param {import('../broker.js').Broker} broker */
  constructor (broker) { this.broker = broker }

  /** @returns {string} id of a new member (KIP-394), so that a lost answer leaves no member that nobody is */
  offerId () {
    const id = this.broker.random.uuid()
    this.#offered.add(id)
    return id
  }

  /** @param {string} id @param {string} topic @param {NonNullable<Member['join']>} reply */
  join (id, topic, reply) {
    const isNew = this.#offered.delete(id)
    if (!isNew && !this.members.has(id)) return reply(new KafkaError('UNKNOWN_MEMBER_ID'))
    const member = this.members.get(id) ??
      { id, topic, heardAt: 0, join: undefined, sync: undefined, partitions: [] }
    member.heardAt = this.broker.world.time
    if (isNew) {
      this.members.set(id, member)
      this.#watch(member)
    } else if (this.state === 'stable' && id !== this.#leader) {
      return reply(undefined, { generation: this.generation, memberId: id, leader: false })
    }
    member.join = reply
    this.#prepare()
    this.#complete(false)
  }

  /** All members have to join again. */
  rebalance () { if (this.members.size > 0) this.#prepare() }

  #prepare () {
    if (this.state === 'preparing') return
    this.state = 'preparing'
    for (const member of this.members.values()) {
      member.sync?.(new KafkaError('REBALANCE_IN_PROGRESS'))
      member.sync = undefined
    }
    const round = ++this.#round
    const look = () => {
      if (round !== this.#round || this.state !== 'preparing') return
      if (this.broker.isAway) this.broker.world.schedule(SESSION_TIMEOUT, 'kafka rebalance', look, null)
      else this.#complete(true)
    }
    this.broker.world.schedule(SESSION_TIMEOUT, 'kafka rebalance', look, null)
  }

  /** @param {boolean} isLate those that have not joined are dropped */
  #complete (isLate) {
    if (this.state !== 'preparing') return
    const all = [...this.members.values()]
    if (!isLate && all.some(({ join }) => join === undefined)) return
    for (const { id, join } of all) if (join === undefined) this.members.delete(id)
    const joined = [...this.members.values()]
    this.generation++
    this.state = joined.length === 0 ? 'empty' : 'completing'
    if (this.#leader === undefined || !this.members.has(this.#leader)) this.#leader = joined[0]?.id
    for (const member of joined) {
      const { id, join } = member
      member.join = undefined
      member.heardAt = this.broker.world.time
      join?.(undefined, { generation: this.generation, memberId: id, leader: id === this.#leader })
    }
  }

  /** @param {string} id @param {number} generation @param {NonNullable<Member['sync']>} reply */
  sync (id, generation, reply) {
    const refused = this.#refuses(id, generation)
    if (refused !== undefined) return reply(refused)
    const member = /** @type {Member} */ (this.members.get(id))
    if (this.state === 'preparing') return reply(new KafkaError('REBALANCE_IN_PROGRESS'))
    if (this.state === 'stable') return reply(undefined, member.partitions)
    member.sync = reply
    if (id !== this.#leader) return
    this.#assign()
    this.state = 'stable'
    for (const other of this.members.values()) {
      other.sync?.(undefined, other.partitions)
      other.sync = undefined
    }
  }

  /** As kafkajs: one after the other, in the order of their ids. */
  #assign () {
    const members = [...this.members.values()].sort((a, b) => a.id < b.id ? -1 : 1)
    for (const member of members) member.partitions = []
    const topic = members[0].topic
    this.broker.topics.get(topic)?.partitions.forEach(({ number }, i) =>
      members[i % members.length].partitions.push(number))
  }

  /** @param {string} id @param {number} generation @returns {KafkaError | undefined} */
  #refuses (id, generation) {
    const member = this.members.get(id)
    if (member === undefined) return new KafkaError('UNKNOWN_MEMBER_ID')
    if (generation !== this.generation) return new KafkaError('ILLEGAL_GENERATION')
    member.heardAt = this.broker.world.time
    return undefined
  }

  /** @param {string} id @param {number} generation @returns {KafkaError | undefined} */
  heartbeat (id, generation) {
    const refused = this.#refuses(id, generation)
    return refused ?? (this.state === 'preparing' ? new KafkaError('REBALANCE_IN_PROGRESS') : undefined)
  }

  /**
   * @param {string} id
   * @param {number} generation
   * @param {string} topic
   * @param {CommittedOffset[]} offsets
   * @returns {KafkaError | undefined}
   */
  commit (id, generation, topic, offsets) {
    const refused = this.#refuses(id, generation)
    if (refused !== undefined) return refused
    if (this.state === 'completing') return new KafkaError('REBALANCE_IN_PROGRESS')
    const committed = this.committed.get(topic) ?? new Map()
    this.committed.set(topic, committed)
    for (const each of offsets) committed.set(each.partition, { ...each })
    return undefined
  }

  /** @param {string} id */
  leave (id) {
    if (!this.members.delete(id)) return
    if (this.members.size > 0) {
      this.#prepare()
      this.#complete(false)
      return
    }
    this.state = 'empty'
    this.#leader = undefined
    this.#round++
  }

  /** @param {Member} member is dropped when it is silent for too long */
  #watch (member) {
    const { broker } = this
    const { world } = broker
    const look = () => {
      if (this.members.get(member.id) !== member) return
      // a coordinator that begins gives each member its whole time again
      if (broker.isAway || member.join !== undefined) member.heardAt = world.time
      const left = member.heardAt + SESSION_TIMEOUT - world.time
      if (left > 0) return void world.schedule(left, 'kafka session', look, null)
      world.trace.note(world.time, `kafka: a member of a group is silent and is dropped`)
      this.leave(member.id)
    }
    world.schedule(SESSION_TIMEOUT, 'kafka session', look, null)
  }
}
