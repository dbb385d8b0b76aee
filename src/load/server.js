/**
 * What the server says about itself on ADMIN_PORT: CPU and memory of its processes, and receipts.
 *
 * @typedef {{ name: string, cores: number, memory: number }} Usage cores: CPU, 1 is a core; memory: bytes
 * @typedef {Record<string, number>} Receipts clients by result, since the start of the server
 */

const TIMEOUT = 5000

/** @param {{ url: string, token: string | undefined }} admin */
export function createServer ({ url, token }) {
  /** @param {string} path */
  async function read (path) {
    const answer = await fetch(url + path, {
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(TIMEOUT)
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`ADMIN_PORT refuses: status ${answer.status}`)
    return text
  }

  return {
    /** @returns {Promise<Usage[]>} of the last interval that the server has measured; none if it does not respond */
    async usage () {
      try {
        return usageOf(JSON.parse(await read('/status')))
      } catch {
        return []
      }
    },

    /** @returns {Promise<Receipts>} @throws {Error} the server does not respond */
    receipts: async () => receiptsOf(await read('/metrics'))
  }
}

/** Exported for tests: it needs no server. @param {any} status answer of GET /status @returns {Usage[]} */
export function usageOf ({ processes, samples }) {
  const seconds = samples.at(-1)?.seconds
  return processes.map((/** @type {any} */ { name, values }) => ({
    name, cores: seconds > 0 ? values.cpuSeconds / seconds : 0, memory: values.memory
  }))
}

/** Exported for tests: it needs no server. @param {string} metrics in the text format @returns {Receipts} */
export function receiptsOf (metrics) {
  /** @type {Receipts} */
  const receipts = {}
  for (const [, labels, value] of metrics.matchAll(/^inkcast_receipts_total\{(.*)\} (\S+)/gm)) {
    const result = /result="(\w+)"/.exec(labels)?.[1]
    if (result !== undefined) receipts[result] = (receipts[result] ?? 0) + Number(value)
  }
  return receipts
}
