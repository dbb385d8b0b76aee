import { createHmac, randomUUID } from 'node:crypto'

/**
 * The part in the gateway, an extension of inkcast (docs/extensions.md): serves documents to pages that have them open,
 * so that pages talk to the gateway only. It needs no settings beside UPLINK_URL and UPLINK_SECRETS. If the uplink goes
 * to another service, URL and SECRET in its own settings are those of this service (EXTENSION_YJS_URL, or by the name
 * of the package).
 */

/** Requests in progress per worker, and those that wait: more get `unavailable`. */
const MAX_REQUESTS = 50
const MAX_WAITING = 2000
/** Timeout of an answer, ms. */
const TIMEOUT = 10_000

/** @param {string} code @param {string} message @param {boolean} [retryable] */
const no = (code, message, retryable = false) => ({ ok: false, error: { code, message, retryable } })

/** At most MAX_REQUESTS at a time. */
class Turns {
  #running = 0
  /** @type {(() => void)[]} */
  #waiting = []

  /** @returns {Promise<boolean>} false: too many wait */
  async begin () {
    if (this.#running >= MAX_REQUESTS) {
      if (this.#waiting.length >= MAX_WAITING) return false
      await new Promise((resolve) => this.#waiting.push(() => resolve(null)))
    } else {
      this.#running++
    }
    return true
  }

  end () {
    const next = this.#waiting.shift()
    if (next === undefined) this.#running--
    else next()
  }
}

/**
 * @param {{ io: any, log: any, config: Readonly<Record<string, string>> }} context
 */
export default function serveDocuments ({ io, log, config }) {
  const { UPLINK_URL, UPLINK_SECRETS } = process.env
  const base = config.URL ?? UPLINK_URL
  const secret = config.SECRET ?? UPLINK_SECRETS?.split(',')[0].trim()
  if (base === undefined || !secret)
    throw new Error('UPLINK_URL and UPLINK_SECRETS are missing: inkcast-yjs-server prints them when it starts')
  const url = new URL('load', base)
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const turns = new Turns()

  /** @param {unknown} request */
  async function load (request) {
    const body = JSON.stringify(request)
    const [id, timestamp] = [`load_${randomUUID()}`, String(Math.floor(Date.now() / 1000))]
    const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
    const response = await fetch(url, {
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/json', 'webhook-id': id, 'webhook-timestamp': timestamp,
        'webhook-signature': `v1,${signature}`
      },
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT)
    })
    if (!response.ok) {
      const reason = await response.text()
      if (response.status === 410) return no('gone', reason, true)
      log.error({ status: response.status, reason: reason.slice(0, 200) }, 'the Yjs service refused to load a document')
      return no('unavailable', 'the document cannot be loaded now', true)
    }
    const { headers } = response
    const [, epoch, offset] = /^(.+):(\d+)$/.exec(headers.get('x-position') ?? '') ?? []
    return {
      ok: true,
      version: headers.get('x-version'),
      size: Number(headers.get('x-size')),
      position: epoch === undefined ? null : { epoch, offset: Number(offset) },
      bytes: Buffer.from(await response.arrayBuffer())
    }
  }

  io.on('connection', (/** @type {any} */ socket) => {
    socket.on('yjs:load', async (/** @type {any} */ request, /** @type {unknown} */ acknowledge) => {
      if (typeof acknowledge !== 'function') return
      const { guid, version, from } = Object(request)
      // the gateway has checked the right to read it
      if (typeof guid !== 'string' || !socket.rooms.has(`doc:${guid}`))
        return acknowledge(no('not_joined', 'open the document first', true))
      if (!await turns.begin()) return acknowledge(no('unavailable', 'too many documents are being loaded', true))
      try {
        acknowledge(await load({ guid, ...(typeof version === 'string' && { version, from: Number(from) }) }))
      } catch (error) {
        log.error({ err: error }, 'the Yjs service does not answer')
        acknowledge(no('unavailable', 'the document cannot be loaded now', true))
      } finally {
        turns.end()
      }
    })
  })
}
