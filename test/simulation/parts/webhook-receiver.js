import { createHmac } from 'node:crypto'
import http from 'node:http'
import { UplinkChecker } from '../oracle/uplink-checker.js'
import { OwnPage } from './own-page.js'

const KEY = Buffer.from('a key of a simulated receiver, 32').toString('base64')
/** Settings of inkcast for it. */
export const RECEIVER_SETTINGS = { UPLINK_URL: 'http://receiver:4000/events', UPLINK_SECRETS: `whsec_${KEY}` }
/** Of its answers in a bad mood: those that are errors, those that never come, and those that come late, ms. */
const [ERRORS, SILENCE, LATE] = [0.15, 0.03, 400]

/** @typedef {import('../scenario.js').Traffic} Traffic */

/**
 * The service of the application that gets events by webhook, and publishes a record for each message.
 * @implements {Traffic}
 */
export class WebhookReceiver {
  #until = 0
  #errors = 0

  /**
   * @param {import('../world/world.js').World} world
   * @param {object} options
   * @param {() => import('./tabs.js').Tabs} options.tabs
   * @param {() => import('../faults/plan.js').FaultPlan} options.plan
   */
  constructor (world, { tabs, plan }) {
    this.world = world
    this.tabs = tabs
    this.plan = plan
    this.process = world.process('receiver', { name: 'receiver', step: 0 })
    this.process.isClient = true
    this.isMoody = this.process.drawn.chance(0.5)
    this.checker = new UplinkChecker(
      (sentence) => world.violation(sentence), () => plan().mayResync, () => plan().words.length === 0)
    this.process.enter('listen', () => {
      http.createServer((request, response) => this.#read(request, response)).listen(4000, '0.0.0.0')
    })
  }

  /** @param {number} until */
  begin (until) { this.#until = until }

  /** @param {import('node:http').IncomingMessage} request @param {import('node:http').ServerResponse} response */
  #read (request, response) {
    /** @type {Buffer[]} */
    const chunks = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('error', () => {})
    request.on('end', () => this.#handle(request.headers, Buffer.concat(chunks), response))
  }

  /**
   * @param {import('node:http').IncomingHttpHeaders} headers
   * @param {Buffer} body
   * @param {import('node:http').ServerResponse} response
   */
  #handle (headers, body, response) {
    const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.`
    const expected = createHmac('sha256', Buffer.from(KEY, 'base64')).update(signed).update(body).digest('base64')
    if (headers['webhook-signature'] !== `v1,${expected}`) this.world.violation('a webhook with a wrong signature')
    const { drawn, clock } = this.process
    const isBad = this.isMoody && this.world.time < this.#until
    const mood = isBad ? drawn.number() : 1
    if (mood < ERRORS) {
      this.#errors++
      // before or after it has applied them
      if (drawn.chance(0.5)) this.#apply(body)
      if (mood < SILENCE) return
      response.writeHead(503).end()
      return
    }
    const publish = this.#apply(body)
    const answer = () => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ publish }))
    }
    if (isBad) clock.timer(drawn.duration(LATE), answer)
    else answer()
  }

  /** @param {Buffer} body @returns {object[]} publications */
  #apply (body) {
    /** @type {import('../oracle/uplink-checker.js').Event[]} */
    const events = JSON.parse(body.toString())
    if (new Set(events.map(({ source }) => source)).size > 1) this.world.violation('a batch with events of two parts')
    for (const event of events) this.checker.got(event)
    // a queued edit may come a second time as another event (docs/outbox.md)
    return events.filter(({ operator }) => operator === 'message').map(({ id, guid, data, queue, seq }) =>
      ({ guid, event: 'record', value: data, idempotencyKey: queue === undefined ? id : `${queue}-${seq}` }))
  }

  missing () { return undefined }

  behind () {
    const { checker } = this
    if (checker.hasLost()) return undefined
    const { pages, open, uids } = this.tabs()
    for (const page of pages) {
      if (!(page instanceof OwnPage)) continue
      const got = checker.messages.get(page.name) ?? 0
      if (got < page.accepted) return `the webhook has ${got} messages of ${page.name}, of ${page.accepted} accepted`
    }
    for (const uid of uids) {
      const own = open.filter((page) => page.uid === uid)
      const found = this.#differs(uid, own.length > 0 ? 'online' : 'offline')
      if (found !== undefined) return found
      const guids = pages.filter((page) => page.uid === uid).flatMap(({ documents }) => [...documents.keys()])
      for (const guid of new Set(guids)) {
        const isOpen = own.some(({ documents }) => documents.has(guid))
        const wrong = this.#differs(`${uid} in ${guid}`, isOpen ? 'joined' : 'left')
        if (wrong !== undefined) return wrong
      }
    }
    return checker.isCalm() ? this.#openReceipt() : undefined
  }

  /** @param {string} key @param {string} expected */
  #differs (key, expected) {
    const state = this.checker.states.get(key)
    // a page that was closed before it was connected
    if (state === undefined && (expected === 'offline' || expected === 'left')) return undefined
    return state === expected ? undefined : `the webhook has last ${state} of ${key}, and not ${expected}`
  }

  /** @returns {string | undefined} without faults each record has its receipts */
  #openReceipt () {
    for (const [traceId, { asked, perhaps, acknowledged, delivered, receipts }] of this.checker.receipts) {
      if (asked > 0 && receipts === 0) return `${traceId} has no receipt`
      const isWhole = this.tabs().closed > 0
        ? delivered >= asked
        : acknowledged >= asked && acknowledged <= asked + perhaps
      if (!isWhole) return `receipts of ${traceId}: ${acknowledged} of ${delivered}, and ${asked} pages acknowledged`
    }
    return undefined
  }

  counts () {
    const { events, repeated, messages, states, receipts, receiptsTwice } = this.checker
    return {
      'webhook: events': events,
      'webhook: repeated': repeated,
      'webhook: refused': this.#errors,
      'webhook: messages': [...messages.values()].reduce((total, number) => total + number, 0),
      'webhook: states': states.size,
      'webhook: receipts': [...receipts.values()].reduce((total, one) => total + one.receipts, 0),
      'webhook: receipts stored twice': receiptsTwice
    }
  }
}
