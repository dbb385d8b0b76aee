/**
 * Ends what a benchmark started, also when it is stopped by Ctrl-C or SIGTERM.
 */

/**
 * @template R
 * @param {(t: { after: (stop: () => unknown) => void }) => Promise<R>} work registers what is to be stopped, as a test
 *   does
 * @returns {Promise<R>}
 */
export async function scoped (work) {
  /** @type {(() => unknown)[]} */
  const stops = []
  const stop = async () => { for (const one of stops.splice(0)) await one() }
  const interrupted = () => { stop().finally(() => process.exit(130)) }
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, interrupted)
  try {
    return await work({ after: (one) => { stops.unshift(one) } })
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM']) process.removeListener(signal, interrupted)
    await stop()
  }
}
