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

  let after = 0
  let measured = 0
  let cpu = 0

  return {
    /**
     * @returns {Promise<{ usage: Usage[], cpu: number, measured: number }>} usage: of the last interval that the server
     *   has measured; none if it does not respond; cpu: of all processes since the first call, s; measured: intervals
     */
    async usage () {
      try {
        const status = JSON.parse(await read(`/status?after=${after}`))
        // what was before the first call is not of this run
        if (after > 0) for (const { values } of status.samples) cpu += values.cpuSeconds
        after = status.samples.at(-1)?.at ?? after
        measured += status.samples.length
        return { usage: usageOf(status), cpu, measured }
      } catch {
        return { usage: [], cpu, measured }
      }
    },

    /** @returns {Promise<Receipts>} @throws {Error} the server does not respond */
    receipts: async () => receiptsOf(await read('/metrics'))
  }
}

/** Exported for tests: it needs no server. @param {any} status answer of GET /status @returns {Usage[]} */
export function usageOf ({ processes }) {
  return processes.map((/** @type {any} */ { name, seconds, values }) => ({
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
