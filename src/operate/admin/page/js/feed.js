import { get } from './api.js'

/**
 * The events of a watch, as they arrive (docs/status.md, Inspector).
 *
 * @typedef {{ uid: string, sid: string, client?: string, ms: number }} Receiver
 * @typedef {{ at: number, hop: string, process: string, host: string, ms?: number, age?: number, operator?: string,
 *   guid?: string, uid?: string, sid?: string, client?: string, traceId?: string, event?: string, epoch?: string,
 *   offset?: number, source?: string, reason?: string, count?: number, clients?: Receiver[], details?:
 *   Record<string, string | number | boolean> }} InspectEvent
 */

/**
 * @param {string} kind `guid`, `uid` or `trace`
 * @param {string} id
 * @param {AbortSignal} signal
 * @param {(events: InspectEvent[]) => void} onEvents
 * @param {() => void} onOpen
 * @returns {Promise<void>} resolves when the server has ended it
 */
export async function follow (kind, id, signal, onEvents, onOpen) {
  const answer = await get(`/inspect?${kind}=${encodeURIComponent(id)}`, signal)
  onOpen()
  const reader = /** @type {ReadableStream<Uint8Array>} */ (answer.body).getReader()
  const decoder = new TextDecoder()
  let rest = ''
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    const lines = (rest + decoder.decode(value, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    onEvents(lines.map((line) => JSON.parse(line)))
  }
}
