import { documentTopic, GATEWAY, readTopic, USER } from '../../../src/wire/mqtt-topic.js'
import { SessionChecker } from '../oracle/session-checker.js'
import { MqttLine } from './mqtt-line.js'
import { Page, tokenOf } from './page.js'

/** Until it connects again, and until it subscribes again after a refusal, ms. */
const AGAIN = { least: 500, more: 4000 }
const SUBSCRIBE_AGAIN = 500
/** Time until a client has handled a record, of those that take some, ms; less with one record at a time. */
const SLOWEST = 400
const SLOWEST_OF_ONE = 100
/** Between two connections with the same id, and until the client gives the one before up, ms. */
const TAKE_OVER = 9000
const GIVE_UP = 20_000
/** Without faults the connection before ends within this time, ms. */
const REPLACED_WITHIN = 10_000
/** Reason codes of version 5, and return codes of 3.1.1, after which a client tries again. */
const RETRY = new Set([0x80, 0x88, 0x89, 0x8b, 0x97, 0x9c, 0x9f, 3])
const TAKEN_OVER = 0x8e
const REFUSED = 0x80

/**
 * A device with a client of MQTT 3.1.1 or 5, quality of service 1 and a session that continues. At times it opens
 * another connection with its id, while it has one.
 */
export class MqttPage extends Page {
  isMqtt = true
  takeovers = 0
  /** @type {MqttLine | undefined} */
  #line
  /** Topics that its session has, as a SUBACK said. @type {Set<string>} */
  #granted = new Set()
  /** Whether a SUBACK is awaited. */
  #isAsking = false
  #isClosed = false
  #options

  /** @param {import('../world/sim-process.js').SimProcess} process @param {import('./page.js').PageOptions} options */
  constructor (process, options) {
    super(process, { ...options, present: new Set() })
    const { drawn } = process
    const version = drawn.pick(/** @type {const} */ ([4, 5]))
    const receiveMaximum = drawn.pick([undefined, 1, 3, 20])
    /** @type {import('./mqtt-line.js').LineOptions} */
    this.#options = {
      version, client: this.name, token: tokenOf(this.uid), receiveMaximum,
      // records of its documents must not come faster
      handlesAfter: drawn.chance(0.4) ? drawn.whole(1, receiveMaximum === 1 ? SLOWEST_OF_ONE : SLOWEST) : 0
    }
    process.enter('open device', () => {
      this.#connect()
      this.#takeOverAgain()
    })
  }

  /** @override @param {string} name @param {string} log */
  checkerOf (name, log) {
    const { mayResync, load, isLost, mayComeAgain } = this.options
    return new SessionChecker(name, this.violation, mayResync, () => load(log),
      (writer, number) => isLost(log, writer, number), () => mayComeAgain(log))
  }

  get isConnected () { return this.#line?.isAdmitted === true && this.#missing().length === 0 }

  /** It does not learn the id of its connection: services know it by its client id, too. */
  get connectionId () { return this.name }

  members () { return [] }

  close () {
    this.#isClosed = true
    this.#line?.leave()
  }

  get repeated () { return this.#checkers.reduce((total, [, { repeated }]) => total + repeated, 0) }

  /** @returns {[topic: string, checker: SessionChecker][]} */
  get #checkers () {
    const documents = [...this.documents].map(([guid, checker]) => [documentTopic(guid), checker])
    return /** @type {any} */ (this.log === undefined ? documents : [...documents, [USER, this.log]])
  }

  /** @returns {string[]} topics without a SUBACK */
  #missing () {
    return [GATEWAY, ...this.#checkers.map(([topic]) => topic)].filter((topic) => !this.#granted.has(topic))
  }

  #connect () {
    const line = this.#line = new MqttLine(this.process, this.#options)
    this.#isAsking = false
    const ofThis = (/** @type {(packet: any) => void} */ run) => (/** @type {any} */ packet) => {
      if (line === this.#line) run(packet)
    }
    line.on('connack', ofThis((packet) => this.#answered(packet)))
    line.on('suback', ofThis((packet) => this.#subscribed(packet)))
    line.on('publish', ofThis((packet) => this.#received(line, packet)))
    line.on('end', ofThis(() => {
      this.#line = undefined
      const { clock, drawn } = this.process
      clock.timer(AGAIN.least + AGAIN.more * drawn.number(), () => {
        if (this.#line === undefined && !this.#isClosed) this.#connect()
      })
    }))
    return line
  }

  /** @param {any} packet CONNACK */
  #answered ({ reasonCode, returnCode, sessionPresent }) {
    const code = reasonCode ?? returnCode
    if (code !== 0) {
      if (!RETRY.has(code)) this.violation(`${this.name}: CONNECT is refused with ${code}`)
      return
    }
    for (const [topic, checker] of this.#checkers) {
      const hadOne = this.#granted.has(topic)
      checker.begins(sessionPresent)
      if (!sessionPresent || !hadOne) checker.loads(hadOne)
    }
    if (!sessionPresent) this.#granted.clear()
    this.#subscribe()
  }

  #subscribe () {
    const topics = this.#missing()
    const line = this.#line
    if (topics.length === 0 || this.#isAsking || !line?.isAdmitted) return
    this.#isAsking = true
    this.#asked = topics
    line.subscribe(topics)
  }

  /** Topics of the SUBSCRIBE without an answer. @type {string[]} */
  #asked = []

  /** @param {any} packet SUBACK */
  #subscribed ({ granted }) {
    this.#isAsking = false
    for (const [i, code] of granted.entries()) {
      if (code < REFUSED) this.#granted.add(this.#asked[i])
      else if (!RETRY.has(code)) this.violation(`${this.name}: ${this.#asked[i]} is refused with ${code}`)
    }
    if (this.#missing().length > 0) this.process.clock.timer(SUBSCRIBE_AGAIN, () => this.#subscribe())
  }

  /** @param {MqttLine} line @param {any} packet PUBLISH */
  #received (line, packet) {
    const { topic, payload, qos, properties } = packet
    const value = JSON.parse(payload.toString())
    if (topic === GATEWAY) return this.#told(value)
    const own = properties?.userProperties ?? {}
    const checker = new Map(this.#checkers).get(topic)
    const to = readTopic(topic)
    if (qos === 0) {
      // a record of a log may come with quality 0 only if no log keeps it
      if (to?.kind === 'document') this.waved.add(to.guid)
      return
    }
    // it acknowledges records from the log, too, which ask for nothing
    if (to?.kind === 'document') this.options.taken(own['x-trace-id'] ?? `${to.guid}-${value.number}`)
    line.acknowledge(packet)
    if (checker === undefined) return this.violation(`${this.name}: ${topic} without a subscription`)
    // 3.1.1 cannot leave out the newest record, which it loads
    if (packet.retain) return
    checker.got(value.writer, value.number, own['x-offset'] === undefined ? undefined : Number(own['x-offset']))
  }

  /** @param {{ event: string, payload: any }} message */
  #told ({ event, payload }) {
    if (event === 'doc:resync') this.documents.get(payload.guid)?.resync(payload.position, payload.reason)
    else if (event === 'gateway:resync') this.log?.resync(payload.position, payload.reason)
  }

  #takeOverAgain () {
    const { clock, drawn } = this.process
    clock.timer(drawn.duration(TAKE_OVER), () => {
      if (!this.isCalm && this.#line?.isAdmitted) this.#takeOver()
      if (!this.isCalm) this.#takeOverAgain()
    })
  }

  /** Another connection with its id, while it has one. @returns {MqttLine | undefined} the one before */
  #takeOver () {
    const before = this.#line
    this.takeovers++
    this.#connect()
    this.process.clock.timer(GIVE_UP, () => before?.destroy())
    return before
  }

  /** Whether the last takeover has begun. */
  isCalm = false

  /** There are no more faults: the connection before ends within a bound, with its reason. In a turn of the page. */
  lastTakeover () {
    if (this.isCalm || !this.isConnected) return
    this.isCalm = true
    const before = /** @type {MqttLine} */ (this.#takeOver())
    this.process.clock.timer(REPLACED_WITHIN, () => {
      if (before.isOpen && !before.isDead)
        this.violation(`${this.name}: two connections of one id for ${REPLACED_WITHIN / 1000} s`)
      else if (this.#options.version === 5 && before.reason !== TAKEN_OVER && !before.isDead)
        this.violation(`${this.name}: the connection before has ended with ${before.reason}, not with the reason that it is replaced`)
      this.isReplaced = true
    })
  }

  /** Whether the last takeover has been checked. */
  isReplaced = false
}
