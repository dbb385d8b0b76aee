import { openWebSocket } from 'inkcast-load/websocket.js'

/**
 * One guest of the crowd: a real connection that has the document open, reads every record, and resumes from its
 * position after it was disconnected. Bare, because a thousand stock clients would use more CPU than the gateway.
 *
 * @typedef {object} Counts of all guests
 * @property {number} connected
 * @property {number} deliveries records that were received
 * @property {number} lost records that were skipped
 * @property {number} reconnects
 *
 * @typedef {object} Scene what the guests share
 * @property {import('inkcast-load/websocket.js').Target} target
 * @property {string} document
 * @property {string} event of the numbered records
 * @property {Counts} counts
 */

/** Pause before another attempt, ms; doubled with each failure, and random within half of it. */
const RETRY = { min: 300, max: 4000 }
/** For a connection to have the document open, ms. */
const TIMEOUT = 15_000
/** Characters at the end of a record's packet that contain its offset. */
const TAIL = 240
const [OPEN, END, PING, MESSAGE] = Buffer.from('0124')

export class Guest {
  #scene
  #token
  /** @type {import('inkcast-load/websocket.js').Transport | undefined} */
  #transport
  /** @type {{ epoch: string, offset: number } | null} */
  #position = null
  #joined = false
  #wasJoined = false
  #failures = 0
  #gone = false
  /** @type {NodeJS.Timeout | undefined} */
  #timer
  #head

  /** @param {Scene} scene @param {string} [token] */
  constructor (scene, token) {
    this.#scene = scene
    this.#token = token
    this.#head = Buffer.from(`42[${JSON.stringify(scene.event)},`)
  }

  connect () {
    this.#transport = openWebSocket(this.#scene.target, undefined, {
      onMessage: (content) => this.#message(content),
      onEnd: () => this.#end()
    })
    this.#timer = setTimeout(() => this.#fail(), TIMEOUT)
  }

  leave () {
    this.#gone = true
    clearTimeout(this.#timer)
    this.#transport?.close()
    if (this.#joined) this.#scene.counts.connected--
    this.#joined = false
  }

  #fail () {
    this.#transport?.close()
    this.#end()
  }

  #end () {
    if (this.#gone) return
    clearTimeout(this.#timer)
    if (this.#joined) this.#scene.counts.connected--
    else this.#failures++
    this.#joined = false
    const pause = Math.min(RETRY.max, RETRY.min * 2 ** Math.min(this.#failures, 10))
    this.#timer = setTimeout(() => this.connect(), pause * (1 + Math.random()) / 2)
  }

  /** @param {Buffer} content */
  #message (content) {
    if (content[0] === PING) this.#transport?.send('3')
    else if (content[0] === OPEN)
      this.#transport?.send(`40${JSON.stringify({ token: this.#token, documents: { [this.#scene.document]: this.#position } })}`)
    else if (content[0] === END) this.#fail()
    else if (content[0] === MESSAGE) this.#packet(content)
  }

  /** @param {Buffer} content */
  #packet (content) {
    if (content.compare(this.#head, 0, this.#head.length, 0, this.#head.length) === 0) {
      const tail = content.toString('latin1', Math.max(0, content.length - TAIL))
      const offset = /"offset":(\d+)/.exec(tail)?.[1]
      if (offset !== undefined) this.#record(Number(offset))
      return
    }
    // refused, or disconnected by the gateway
    if (content[1] === 0x34 || content[1] === 0x31) return this.#fail()
    if (content[1] !== 0x32) return
    const [event, data, meta] = JSON.parse(content.toString('utf8', content.indexOf('[')))
    if (event === 'doc:joined') this.#onJoined(data.position)
    else if (event === 'doc:resync') this.#skipTo(data.position)
    else if (event === 'doc:refused' || event === 'gateway:disconnect') this.#fail()
    // records up to there were not for this guest
    else if (event === 'doc:position') this.#position = data.position
    else if (meta?.offset !== undefined) this.#record(meta.offset)
  }

  /** @param {{ epoch: string, offset: number }} position */
  #onJoined (position) {
    clearTimeout(this.#timer)
    // the records since its position came before this
    if (this.#position === null) this.#position = position
    else this.#skipTo(position)
    if (this.#joined) return
    this.#joined = true
    this.#failures = 0
    this.#scene.counts.connected++
    if (this.#wasJoined) this.#scene.counts.reconnects++
    this.#wasJoined = true
  }

  /** @param {{ epoch: string, offset: number }} position */
  #skipTo (position) {
    const { epoch, offset } = this.#position ?? position
    if (epoch === position.epoch) this.#scene.counts.lost += Math.max(0, position.offset - offset)
    // a lost log: its end is unknown, and the page would load the document again
    this.#position = epoch === position.epoch
      ? { epoch, offset: Math.max(offset, position.offset) }
      : { ...position }
  }

  /** @param {number} offset */
  #record (offset) {
    const position = this.#position
    // it has arrived before the answer to the first join, or again
    if (position === null || offset <= position.offset) return
    this.#scene.counts.lost += offset - position.offset - 1
    position.offset = offset
    this.#scene.counts.deliveries++
  }
}
