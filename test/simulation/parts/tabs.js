import { DevicePage } from './device-page.js'
import { MqttPage } from './mqtt-page.js'
import { OutboxStores } from './outbox-store.js'
import { OwnPage } from './own-page.js'
import { PlainPage } from './plain-page.js'
import { StockPage } from './stock-page.js'

/** Between a closed tab and the next one of its user, and between two closed tabs, ms. */
const [NEXT, CLOSING] = [1500, 9000]
/** Share of pages on plain WebSockets, where there are any. */
const PLAIN = 0.6
/** Share of pages that are devices on MQTT, where there are any. */
const MQTT = 0.4

/**
 * @typedef {import('./page.js').Page} Page
 * @typedef {import('../world/world.js').World} World
 * @typedef {import('../scenario.js').Traffic} Traffic
 */

/**
 * The tabs of users. Some users have several, of which some are closed, in order or not, and opened again; pages edit a
 * document through the outbox of their browser.
 * @implements {Traffic}
 */
export class Tabs {
  /** Without open tabs that were closed. @type {Page[]} */
  pages = []
  closed = 0
  #numbers = 0
  #stores = new OutboxStores()

  /**
   * @param {World} world
   * @param {object} options
   * @param {number} options.count at the beginning
   * @param {string[]} options.guids
   * @param {string[]} options.edited
   * @param {import('./service.js').Service} options.service
   * @param {import('../oracle/answers.js').Answers} options.answers
   * @param {() => boolean} options.mayResync
   * @param {boolean} options.areSlow some pages read too little
   * @param {(guid: string, writer: string, number: number) => boolean} options.isLost by Kafka
   * @param {(guid: string) => boolean} options.mayComeAgain as of pages
   * @param {import('../oracle/uplink-checker.js').UplinkChecker | undefined} options.receipts gets acknowledgements
   * @param {import('../world/random.js').SeededRandom | undefined} options.plain some pages are on plain WebSockets
   * @param {import('../world/random.js').SeededRandom | undefined} options.mqtt some are devices on MQTT
   */
  constructor (world, options) {
    const { count, guids, edited, service, answers, mayResync } = options
    const { areSlow, isLost, mayComeAgain, receipts, plain, mqtt } = options
    this.world = world
    this.plain = plain
    this.mqtt = mqtt
    const drawn = this.drawn = world.random.fork()
    this.count = count
    this.guids = guids
    this.edited = edited
    this.service = service
    this.answers = answers
    this.mayResync = mayResync
    this.areSlow = areSlow
    this.isLost = isLost
    this.mayComeAgain = mayComeAgain
    this.receipts = receipts
    const users = drawn.chance(0.5) ? count : drawn.whole(1, count)
    this.uids = Array.from({ length: users }, (_, i) => `user-${i + 1}`)
    this.areClosed = drawn.chance(0.6)
    /** Documents with presence, and users whose log is read: none in some worlds. */
    this.present = drawn.chance(0.75) ? guids.filter(() => drawn.chance(0.6)) : []
    this.readsLogs = drawn.chance(0.75)
  }

  /** Pages whose tab is open. */
  get open () { return this.pages.filter(({ process }) => process.isAlive) }

  get own () { return this.pages.filter((page) => page instanceof OwnPage) }

  /** @param {number} until */
  begin (until) {
    for (let i = 0; i < this.count; i++) {
      const Kind = this.drawn.chance(0.5) ? StockPage : OwnPage
      const plain = this.plain?.chance(PLAIN) ? this.plain.pick([PlainPage, DevicePage]) : undefined
      const device = this.mqtt?.chance(MQTT) ? MqttPage : undefined
      this.#openPage(this.uids[i % this.uids.length], device ?? plain ?? Kind, until)
    }
    if (this.areClosed) this.#closeSome(until)
  }

  /**
   * @param {string} uid
   * @param {typeof StockPage | typeof OwnPage | typeof DevicePage | typeof MqttPage} Kind
   * @param {number} until
   */
  #openPage (uid, Kind, until) {
    const { world, drawn, service } = this
    const name = `page-${++this.#numbers}`
    const process = world.process(name, { name, step: 0 })
    const page = new Kind(process, {
      uid,
      guids: [...this.guids.filter(() => drawn.chance(0.7)), ...this.edited],
      edited: this.edited,
      present: new Set(this.present.filter(() => drawn.chance(0.8))),
      readsLog: this.readsLogs && drawn.chance(0.7),
      stores: this.#stores,
      answers: this.answers,
      mayResync: this.mayResync,
      isSlow: this.areSlow,
      isLost: this.isLost,
      mayComeAgain: this.mayComeAgain,
      acknowledged: (traceId) => this.receipts?.acknowledged(traceId),
      taken: (traceId) => this.receipts?.taken(traceId),
      load: (log) => {
        const number = service.written.get(log)
        return number === undefined ? [] : [[service.process.name, number]]
      }
    })
    this.pages.push(page)
    if (page instanceof OwnPage) this.#edit(page, until)
  }

  /** @param {OwnPage} page @param {number} until */
  #edit (page, until) {
    const { world, drawn } = this
    const pause = drawn.duration(900)
    const own = drawn.fork()
    const next = () => {
      if (world.time >= until) return
      page.edit()
      page.process.clock.timer(own.duration(pause), next)
    }
    page.process.enter('edit', next, own.duration(1000))
  }

  /** @param {number} until */
  #closeSome (until) {
    const { world } = this
    const drawn = this.drawn.fork()
    const next = () => {
      if (world.time >= until) return
      world.schedule(drawn.duration(CLOSING), 'close a tab', next, null)
      const page = drawn.pick(this.open)
      if (this.open.length < 2) return
      this.closed++
      const { process, uid } = page
      const Kind = /** @type {typeof StockPage} */ (page.constructor)
      const opensAgain = drawn.chance(0.8)
      world.trace.note(world.time, `${page.name} of ${uid} is closed`)
      if (drawn.chance(0.4)) {
        process.enter('close', () => page.close())
        process.enter('closed', () => process.end(0), 1)
      } else process.end(null)
      if (opensAgain && drawn.chance(0.8))
        world.schedule(drawn.duration(NEXT), 'open a tab', () => this.#openPage(uid, Kind, until), null)
    }
    world.schedule(drawn.duration(CLOSING), 'close a tab', next, null)
  }

  missing () {
    for (const page of this.open) {
      if (!page.isConnected) return `${page.name} is not connected`
      if (page instanceof OwnPage && page.accepted < page.made) return `${page.name}: edits without an answer`
    }
    return undefined
  }

  /** Open pages on MQTT. */
  get #devices () { return this.open.filter((page) => page instanceof MqttPage) }

  behind () {
    const { service } = this
    // also of a tab that was opened meanwhile
    for (const page of this.#devices)
      if (!page.isCalm && page.isConnected) page.process.enter('take over', () => page.lastTakeover())
    const device = this.#devices.find((page) => !page.isReplaced || !page.isConnected)
    if (device !== undefined) return `${device.name} is not connected, or has two connections`
    const newest = (/** @type {string} */ log) =>
      Math.max(...this.open.map((page) => new Map(page.logs).get(log)?.position?.offset ?? 0))
    for (const page of this.open) {
      for (const [log, { last, position }] of page.logs) {
        const accepted = service.accepted.get(log)
        const has = last.get(service.process.name)
        // a page that was opened after the last record has none
        if (has === undefined && position?.offset === newest(log)) continue
        if (accepted !== undefined && has !== accepted) return `${page.name} has record ${has} of ${log}, and not ${accepted}`
      }
      const unwaved = this.guids.find((guid) => page.documents.has(guid) && !page.waved.has(guid))
      if (unwaved !== undefined) return `${page.name} got no record of ${unwaved} that no log keeps`
      const missing = this.#missingEdit(page)
      if (missing !== undefined) return missing
    }
    return undefined
  }

  /**
   * Edits that a browser has kept are accepted, when their user has a page: once and in order, which DocumentChecker
   * sees.
   * @param {Page} page
   */
  #missingEdit (page) {
    // Redis may have lost them
    if (this.mayResync()) return undefined
    for (const { name, uid, stored } of this.own) {
      if (!this.open.some((other) => other instanceof OwnPage && other.uid === uid)) continue
      const [guid] = this.edited
      const has = page.documents.get(guid)?.last.get(name)
      if (has !== undefined && has < stored && !this.isLost(guid, name, stored))
        return `${page.name} has edit ${has} of ${name}, and not ${stored}`
    }
    return undefined
  }

  counts () {
    const sum = (/** @type {(page: Page) => number} */ of) => this.pages.reduce((total, page) => total + of(page), 0)
    const ofDocuments = (/** @type {'received' | 'resyncs'} */ what) =>
      sum(({ documents }) => [...documents.values()].reduce((total, checker) => total + checker[what], 0))
    return {
      'pages': this.pages.length,
      'pages on plain WebSockets': this.pages.filter(({ isPlain }) => isPlain).length,
      'devices on MQTT': this.pages.filter(({ isMqtt }) => isMqtt).length,
      'takeovers': sum((page) => page instanceof MqttPage ? page.takeovers : 0),
      'records repeated': sum((page) => page instanceof MqttPage ? page.repeated : 0),
      'tabs closed': this.closed,
      'records received': ofDocuments('received'),
      'resyncs': ofDocuments('resyncs'),
      'edits accepted': this.own.reduce((total, { accepted }) => total + accepted, 0),
      'edits left by closed tabs': this.own.reduce((total, { stored, accepted, process }) =>
        total + (process.isAlive ? 0 : stored - accepted), 0),
      'records of users received': sum(({ log }) => log?.received ?? 0),
      'resyncs of users': sum(({ log }) => log?.resyncs ?? 0)
    }
  }
}
