/**
 * A progress bar on stderr, if it is a terminal.
 */
const WIDTH = 30

/** @param {NodeJS.WriteStream} [stream] */
export function createProgress (stream = process.stderr) {
  let last = ''
  return {
    /**
     * @param {string} label
     * @param {number} share done, 0 to 1
     */
    show (label, share) {
      if (!stream.isTTY) return
      const filled = Math.round(Math.min(1, share) * WIDTH)
      const line = `${'█'.repeat(filled)}${'░'.repeat(WIDTH - filled)} ${String(Math.round(share * 100)).padStart(3)} % ${label}`
      if (line !== last) stream.write(`\r\x1b[K${line}`)
      last = line
    },

    /** Removes the bar, so that other output can be written. */
    clear () {
      if (stream.isTTY && last !== '') stream.write('\r\x1b[K')
      last = ''
    }
  }
}
