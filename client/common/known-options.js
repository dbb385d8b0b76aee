/** Options by the call that takes them. */
const KNOWN = {
  connect: ['token', 'id', 'storage', 'outbox', 'log', 'shared', 'transports', 'parser', 'socket', 'io'],
  outbox: ['user', 'store'],
  open: ['position', 'load', 'last', 'presence', 'state', 'echo', 'offline', 'onReason', 'signal', 'timeout'],
  send: ['event', 'timeout', 'signal', 'queue', 'traceparent']
}

/** @typedef {keyof typeof KNOWN} Call */

/** Maximum names that are remembered. */
const MAX_WARNED = 100
/** Warnings that were given already. @type {Set<string>} */
const warned = new Set()

/**
 * Warns about options that a call does not have, each once.
 * @param {Call} call
 * @param {object} options
 */
export function warnOfUnknown (call, options) {
  const known = KNOWN[call]
  for (const name of Object.keys(options)) {
    const key = `${call} ${name}`
    if (known.includes(name) || warned.has(key) || warned.size >= MAX_WARNED) continue
    warned.add(key)
    const similar = known.find((option) => isSimilar(option.toLowerCase(), name.toLowerCase()))
    console.warn(`inkcast: \`${call}\` has no option \`${name}\`` +
      (similar === undefined ? `; its options are ${known.join(', ')}` : `: did you mean \`${similar}\`?`))
  }
}

/** @param {string} one @param {string} other @returns {boolean} whether at most two letters differ */
function isSimilar (one, other) {
  let row = Array.from({ length: other.length + 1 }, (_, i) => i)
  for (let i = 1; i <= one.length; i++) {
    const next = [i]
    for (let j = 1; j <= other.length; j++)
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (one[i - 1] === other[j - 1] ? 0 : 1))
    row = next
  }
  return row[other.length] <= Math.min(2, one.length / 2)
}
