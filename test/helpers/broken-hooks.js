import { createRequire } from 'node:module'

const load = createRequire(import.meta.url)
const { Sender } = load('ws')
const { Socket } = load('engine.io')
const { WebSocket } = createRequire(load.resolve('engine.io'))('./transports/websocket.js')

/**
 * @param {any} owner
 * @param {string} name
 * @param {(stock: Function) => Function} make
 * @returns {() => void} restores it
 */
function replace (owner, name, make) {
  const stock = owner[name]
  owner[name] = make(stock)
  return () => { owner[name] = stock }
}

/** Turns ready frames into garbage. Frames from ws and Socket.IO themselves have separate header and payload. */
export const breakSendFrame = () => replaceSendFrame((list) => [Buffer.from(list[0]).fill(7)])

/** @param {(list: Buffer[]) => Buffer[]} change applied to ready frames */
const replaceSendFrame = (change) =>
  replace(
    Sender.prototype,
    'sendFrame',
    (stock) =>
      /** @this {any} @param {Buffer[]} list @param {Function} done */ function (list, done) {
        return stock.call(this, isReady(list) ? change(list) : list, done)
      }
  )

/**
 * Tells ready frames from those of the test's clients, which run in the same process and mask their frames (RFC 6455,
 * section 5.3).
 * @param {Buffer[]} list
 */
const isReady = ([frame, ...others]) => others.length === 0 && (frame[1] & 0x80) === 0

/** Ways to break a hook, as a library update could. @type {Record<string, () => () => void>} */
export const BREAKS = {
  'sendFrame writes garbage': breakSendFrame,
  'sendFrame truncates frames': () => replaceSendFrame(([frame]) => [frame.subarray(0, frame.length - 1)]),
  'sendFrame writes twice': () => replaceSendFrame(([frame]) => [Buffer.concat([frame, frame])]),
  'sendFrame writes later': () =>
    replace(
      Sender.prototype,
      'sendFrame',
      (stock) =>
        /** @this {any} @param {unknown[]} args */ function (...args) {
          if (isReady(/** @type {Buffer[]} */ (args[0]))) setTimeout(() => stock.apply(this, args), 5)
          else stock.apply(this, args)
        }
    ),
  'sendFrame throws': () =>
    replaceSendFrame(() => {
      throw new Error('no such call')
    }),
  'pre-encoded frames are rejected': () =>
    replace(WebSocket.prototype, '_canSendPreEncodedFrame', () => () => false),
  'the ping timer has another name': () =>
    replace(
      Socket.prototype,
      'schedulePing',
      () =>
        /** @this {any} */ function () {
          this.pingTimer = setTimeout(() => {}, 60_000).unref()
        }
    )
}
